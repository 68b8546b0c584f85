#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lint.sh: style and house rules that a program can check. Silent when all is
# well; otherwise names each check that found something, with what it found, and
# exits with 1.
#
# shellcheck disable=SC2317  # the checks are run by check()

set -u
cd "$(dirname "$0")/.." || exit 1
VM=selftests/vm
"$VM/packages.sh" build-essential cppcheck git perl shellcheck sparse || exit 1
KSRC=$("$VM/kernel.sh" source) || exit 1

# Who may include whom: a room may include those on lines below its own. Rooms
# on one line do not know each other. A room with a * is included by main alone.
ARROWS='
chardev netlink
monitor
session
worker
rdma* tcp* local*
endpoint
core
xport
mem wire ring
peer topo sock
event trace fault compat
'

# What has its room: a pattern, then the files that may hold it (from kmod/ on).
PLACES='
LINUX_VERSION_CODE|KERNEL_VERSION	compat/
copy_(from|to)_user|copy_struct_from_user|(get|put)_user|u64_to_user_ptr|__user	chardev/ compat/ fault/
(ib|rdma)_[a-z0-9_]+	rdma/
struct socket|sock_[a-z]+|kernel_(send|recv)[a-z]+	sock/ tcp/ session/ compat/
kthread_(create|run)[a-z_]*	worker/ monitor/
module_param[a-z_]*	main.c
BUG_ON|BUG\(\)|panic	nowhere
'

bad=0

# check NAME COMMAND...: whatever it prints, and a failure, is a finding
check()
{
	local name=$1 found status=0
	shift
	found=$("$@" 2>&1) || status=$?
	[ "$status" -ne 0 ] || [ -n "$found" ] || return 0
	echo "lint: $name"
	if [ -n "$found" ]; then
		echo "${found//"$PWD/"/}"
	else
		echo "exit status $status"
	fi
	bad=1
}

# Tracked files and new ones that are not ignored; those that are still there.
files()
{
	local file
	git ls-files --cached --others --exclude-standard -- "$@" |
	while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

# BIT(), u32 and ARRAY_SIZE() are not for user space, PRIu64 and _Static_assert
# are not CamelCase of ours; the version macros stand on the left.
check_style()
{
	local user=BIT_MACRO,CAMELCASE,ARRAY_SIZE,PREFER_KERNEL_TYPES
	user+=,PREFER_DEFINED_ATTRIBUTE_MACRO

	files 'kmod/*.[ch]' 'selftests/perf/floor/*.[ch]' |
	checkpatch LINUX_VERSION_CODE,CONSTANT_COMPARISON
	files 'uapi/*.h' 'libte/*.[ch]' 'tools/*.[ch]' | checkpatch "$user"
}

# It reads include/ under its root for names, and leaves a cache where it is run.
checkpatch()
{
	mkdir -p "$TMP/include"
	sed "s,^,$PWD/," |
	(
		cd "$TMP" || exit
		xargs -r perl "$KSRC/scripts/checkpatch.pl" --strict --no-tree \
			--root=. --terse --quiet --no-summary --ignore "$1" -f
	)
}

check_sparse()
{
	make -s modules-6.12 floor-6.12 C=2 CF=-D__CHECK_ENDIAN__ 2>&1 |
	grep -E ': (warning|error|fatal error):|^(WARNING|ERROR)|\*\*\*'
	return $((PIPESTATUS[0]))
}

check_kernel_doc()
{
	files 'kmod/*.h' 'uapi/*.h' 'libte/*.h' 'tools/*.h' \
		'selftests/perf/floor/*.h' |
	xargs -r perl "$KSRC/scripts/kernel-doc" -none -Wall
}

# Lines "room other-room" of what ARROWS allows.
allowed_includes()
{
	awk 'NF {
		for (i = 1; i <= NF; i++) {
			room[++n] = $i; line[n] = NR
		}
	} END {
		for (i = 1; i <= n; i++) {
			to = room[i]; private = sub(/\*/, "", to)
			print to, to; print "main", to
			for (j = 1; j < i; j++) {
				from = room[j]; sub(/\*/, "", from)
				if (line[j] < line[i] && !private)
					print from, to
			}
		}
	}' <<<"$ARROWS"
}

check_arrows()
{
	files 'kmod/*.[ch]' | xargs -r grep -HE '^#include "[a-z]+/' /dev/null |
	sed -E 's,^kmod/((main)\.c|([a-z]+)/[^:]*):#include "([a-z]+)/.*,& \2\3 \4,' |
	awk 'NR == FNR { ok[$1, $2] = 1; next }
	     !(($(NF-1), $NF) in ok) { print $1, $2 ": not allowed" }' \
		<(allowed_includes) -
}

# Comments may speak of anything, so they go first.
check_places()
{
	local file pattern allowed room
	files 'kmod/*.[ch]' | while read -r file; do
		gcc -fpreprocessed -dD -E -w -x c "$file" |
		grep -v '^#include' >"$TMP/code"
		while IFS=$'\t' read -r pattern allowed; do
			[ -n "$pattern" ] || continue
			for room in $allowed; do
				[[ $file != kmod/$room* ]] || continue 2
			done
			grep -owE "$pattern" "$TMP/code" | sort -u |
			sed "s,^,$file: not allowed here: ,"
		done <<<"$PLACES"
	done
}

check_spdx()
{
	local file
	files ':!LICENSES' ':!*.md' ':!.gitignore' | while read -r file; do
		head -3 "$file" | grep -q 'SPDX-License-Identifier: ' ||
			echo "$file: no SPDX line"
	done
}

# What te.h declares and what libte.map exports.
check_exports()
{
	diff <(sed -n 's/^\(int\|void\) \(te_[a-z_]*\)(.*/\2/p' libte/include/te.h) \
		<(sed -n 's/^\t\(te_[a-z_]*\);$/\1/p' libte/libte.map)
}

check_scripts()
{
	files | while read -r file; do
		if [[ $file == *.sh ]] || head -1 "$file" | grep -qE '^#!.*sh$'; then
			echo "$file"
		fi
	done | xargs -r shellcheck -x -P SCRIPTDIR
}

# It takes x = f() ?: x for x = x. Without the harness's header it reads tests as
# functions all the same, in a hundredth of the time.
check_cppcheck()
{
	files 'libte/*.c' 'tools/*.c' 'selftests/*.c' \
		':!selftests/perf/floor' |
	xargs -r cppcheck -q --enable=warning,performance,portability \
		--suppress=selfAssignment -Iuapi -Ilibte/include \
		-Itools/common -Iselftests
}

# Each still breaks what it was to break, see mutants.sh.
check_mutants()
{
	local patch
	for patch in selftests/fault/mutants/*.patch; do
		git apply --check "$patch" || return
	done
}

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

check 'style (checkpatch)' check_style
check 'sparse and compiler' check_sparse
check 'kernel-doc' check_kernel_doc
check 'who includes whom' check_arrows
check 'what has its room' check_places
check 'SPDX lines' check_spdx
check 'exported calls' check_exports
check 'scripts (shellcheck)' check_scripts
check 'cppcheck' check_cppcheck
check 'mutants apply' check_mutants
exit "$bad"
