#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh SUITE...: runs the programs of suites inside a guest, one after the
# other, and after each suite looks whether te holds nothing, the RDMA devices
# hold what they did, and the kernel log is clean. A suite is a folder, or one
# program: xfer, xfer/align; or kunit: what te's KUnit suites said when a test
# build of te was loaded. Also what to run by hand on bare metal, as root, with te
# loaded and the environment of vm/README.md.
#
# Each program's output is KTAP between two marks that tally.awk reads.
# TE_TEST_BIN: folder of the programs, such as one that sanitize.mk made: there
# a report ends the program that it is about, so that its test fails.

set -u
cd "$(dirname "$0")/.." || exit 1
bin=${TE_TEST_BIN-build/selftests}
where=${TE_KERNEL-host}/${TE_NET-none}
state=$(mktemp)
trap 'rm -f "$state"' EXIT
ulimit -c 0
export ASAN_OPTIONS=abort_on_error=1
export UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1
export TE_MODULE=${TE_MODULE-build/${TE_KERNEL-host}/te.ko}

# shellcheck source=vm/verdict.sh
. selftests/vm/verdict.sh

# What a kernel cannot have is not run there, so that a skip is never normal.
# UML has no huge pages, no [vvar], no second CPU and no 32-bit programs. Our own kernels have
# no hugetlbfs or same page merging. The control port is TCP: siw has no part in it,
# and what strangers do there is a minute of waiting. A WRITE that siw refuses completes
# well, and what a program posts behind it never.
lacks()
{
	case $1:${TE_NET-none} in
	peer/hostile:wire-siw | peer/inside:wire-siw) return 0 ;;
	esac
	case $1:${TE_KERNEL-host} in
	uapi32/*:um* | life/cpus:um*) return 0 ;;
	mem/special:* | mem/move:*)
		case ${TE_KERNEL-host} in
		um* | kasan | kcsan) return 0 ;;
		esac ;;
	esac
	return 1
}

# run NAME COMMAND...
run()
{
	local name=$1 status=0 from=$SECONDS
	shift
	echo "# begin $where $name"
	"$@" </dev/null 2>&1 || status=$?
	echo "# end $where $name $status after $((SECONDS - from)) s"
	[ "$status" = 0 ] || failed=1
}

# shellcheck disable=SC2317 # called through run
log_is_clean()
{
	local log complaint
	log=$(mktemp)
	dmesg >"$log"
	complaint=$(klog_complaint "$log")
	rm -f "$log"
	echo "TAP version 13"
	echo "1..1"
	[ -z "$complaint" ] || { echo "# ${complaint#*:}"; echo -n "not "; }
	echo "ok 1 kernel log is clean"
	[ -z "$complaint" ]
}

# KUnit keeps results as nested KTAP: here each test case is one of the top
# level, and below it stands what it has to say if it failed. None is a failure.
# shellcheck disable=SC2317 # called through run
kunit_results()
{
	echo "TAP version 13"
	cat /sys/kernel/debug/kunit/te_*/results 2>/dev/null | awk '
		/^    # Subtest: / { suite = $3; next }
		/^    (not )?ok / {
			verdict = $1 == "not" ? "not ok" : "ok"
			sub(/^ *(not )?ok [0-9]+ /, "")
			print verdict, ++n, suite "." $0
			if (verdict != "ok") { bad = 1; printf "%s", said }
			said = ""
			next
		}
		/^ +(KTAP version|# Subtest|# module|1\.\.|ok )/ { next }
		/^ / { said = said "# " $0 "\n" }
		END { print "1.." n + 0; exit bad || !n }'
}

# programs SUITE: its programs, as names under $bin
programs()
{
	local file
	if [ -x "$bin/$1" ] && [ ! -d "$bin/$1" ]; then
		echo "$1"
		return
	fi
	for file in "$bin/$1"/*; do
		[ -x "$file" ] && [ ! -d "$file" ] && echo "${file#"$bin/"}"
	done
}

failed=0
if [ "${TE_NET-none}" != pair ] && ! "$bin/idle" record "$state"; then
	exit 1
fi
for suite in "$@"; do
	found=''
	[ "$suite" != kunit ] || { found=1; run kunit kunit_results; }
	for prog in $(programs "$suite"); do
		found=1
		# shellcheck disable=SC2086 # several arguments
		if lacks "$prog"; then
			echo "# not run here: $prog"
		else
			run "$prog" "$bin/$prog" ${TE_TEST_ARGS-}
		fi
	done
	[ -n "$found" ] || { echo "# no suite $suite"; failed=1; }
	[ "${TE_NET-none}" = pair ] ||
		run "$suite/objects" "$bin/idle" check "$state"
	run "$suite/log" log_is_clean
done
exit "$failed"
