#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh [NAME]...: proves that the tests can fail. Each patch in
# fault/mutants/ breaks te in one way; a module built with it must make a run go
# red, for the reason that the patch names in its head. What runs on a kernel must
# be green there without any patch, or red would prove nothing.
#
#	Kernel: um-kasan	which kernel it is built for and run on
#	Suites: life/close	what is run
#	Expect: REGEX		a line of the output, or of the kernel log: the test
#				that fails, or what the detector says
#	Time: SECONDS		how long it may take, 300 if it does not say
#
# Prints KTAP. Sources are changed in a copy only, under build/mutants/.

set -u
cd "$(dirname "$0")/.." || exit 1
here=selftests/fault/mutants
vm=selftests/vm
work=build/mutants
count=0
failed=0

# field PATCH NAME
field()
{
	sed -n "/^---/q; s/^$2: *//p" "$1"
}

# build KERNEL LOG: compiles what has changed in the copy
build()
{
	local kdir arch flags
	kdir=$("$vm/kernel.sh" kdir "$1") && arch=$("$vm/kernel.sh" arch "$1") &&
		flags=$("$vm/kernel.sh" flags "$1") || return
	# shellcheck disable=SC2086 # several words
	make -s -C "$kdir" M="$PWD/$work/$1" ARCH="$arch" CONFIG_TE_TEST=y \
		$flags modules >"$2" 2>&1
}

# fresh KERNEL: the copy is as the sources are; only what differs is touched, so
# that little is compiled
fresh()
{
	mkdir -p "$work/$1"
	rsync -rc --delete-after --exclude '*.o' --exclude '*.ko' \
		--exclude '.*' --exclude '*.mod*' --exclude '*.gcno' \
		--exclude Module.symvers --exclude modules.order \
		Kbuild kmod uapi "$work/$1/"
}

# ran KERNEL SECONDS LOG SUITE...: the copy's module, also for tests that load it
# again; the run's status
ran()
{
	local kernel=$1 limit=$2 log=$3
	shift 3
	"$vm/run.sh" --kernel "$kernel" --net wire --mem 2048 \
		--param qp_timeout=20 \
		--time "$limit" --module "$work/$kernel/te.ko" -- \
		env TE_MODULE="$work/$kernel/te.ko" selftests/guest.sh "$@" \
		>"$log" 2>&1
}

# sound KERNEL LOG: whether all that its patches run is green without them
sound()
{
	local kernel=$1 log=$2 patch suites=''
	for patch in "${patches[@]}"; do
		[ "$(field "$patch" Kernel)" != "$kernel" ] ||
			suites+=" $(field "$patch" Suites)"
	done
	# KUnit first: what it says is gone with the module that a test loads anew.
	# shellcheck disable=SC2086 # several words
	suites=$(printf '%s\n' $suites | sed 's/^kunit$/1 &/' | sort -u |
		sed 's/^1 //')
	# shellcheck disable=SC2086 # several words
	fresh "$kernel" && build "$kernel" "$log" &&
		ran "$kernel" 600 "$log" $suites
}

# survives PATCH LOG: 0 if the mutant lives, or never lived; says why in LOG
survives()
{
	local patch=$1 log=$2 kernel suites expect limit matches status=0
	kernel=$(field "$patch" Kernel)
	suites=$(field "$patch" Suites)
	expect=$(field "$patch" Expect)
	limit=$(field "$patch" Time)
	fresh "$kernel" || return 0
	if ! patch -s -p1 -d "$work/$kernel" <"$patch" >"$log" 2>&1; then
		echo "does not apply" >>"$log"
		return 0
	fi
	if ! build "$kernel" "$log"; then
		echo "does not build" >>"$log"
		return 0
	fi
	# shellcheck disable=SC2086 # several words
	ran "$kernel" "${limit:-300}" "$log" $suites || status=$?
	[ "$status" = 0 ] && echo "the run is green" >>"$log" && return 0
	# A complaint may end the guest before the program has said anything.
	matches=$({
		cat "$log"
		sed -n 's/^vm: the whole log: //p' "$log" | xargs -r cat
	} | grep -acE -- "$expect")
	[ "$matches" = 0 ]
}

mkdir -p "$work"
"$vm/packages.sh" build-essential patch rsync || exit 1
patches=("$here"/*.patch)
[ $# -eq 0 ] || patches=("${@/#/$here/}")
[ $# -eq 0 ] || patches=("${patches[@]/%/.patch}")
kernels=$(for patch in "${patches[@]}"; do field "$patch" Kernel; done | sort -u)
# shellcheck disable=SC2206 # several words
kernels=($kernels)
echo "1..$((${#kernels[@]} + ${#patches[@]}))"
for kernel in "${kernels[@]}"; do
	count=$((count + 1))
	if sound "$kernel" "$work/$kernel.log"; then
		echo "ok $count $kernel without a patch"
	else
		tail -n 30 "$work/$kernel.log" | sed 's/^/# /'
		echo "not ok $count $kernel without a patch"
		failed=1
	fi
done
for patch in "${patches[@]}"; do
	name=$(basename "$patch" .patch)
	count=$((count + 1))
	if survives "$patch" "$work/$name.log"; then
		tail -n 30 "$work/$name.log" | sed 's/^/# /'
		echo "not ok $count $name"
		failed=1
	else
		echo "ok $count $name"
	fi
done
exit "$failed"
