#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh [NAME]...: proves that the tests can fail. Each patch in
# fault/mutants/ breaks te in one way; a module built with it must make a run go
# red, for the reason that the patch names in its head:
#
#	Kernel: um-kasan	which kernel it is built for and run on
#	Suites: life/close	what is run
#	Expect: REGEX		a line of the output, or of the kernel log's excerpt
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

# survives PATCH LOG: 0 if the mutant lives, or never lived; says why in LOG
survives()
{
	local patch=$1 log=$2 kernel suites expect limit status=0
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
	"$vm/run.sh" --kernel "$kernel" --net wire --mem 2048 \
		--param qp_timeout=20 \
		--time "${limit:-300}" --module "$work/$kernel/te.ko" -- selftests/guest.sh $suites \
		>"$log" 2>&1 || status=$?
	[ "$status" = 0 ] && echo "the run is green" >>"$log" && return 0
	! grep -qE -- "$expect" "$log"
}

mkdir -p "$work"
"$vm/packages.sh" build-essential patch rsync || exit 1
patches=("$here"/*.patch)
[ $# -eq 0 ] || patches=("${@/#/$here/}")
[ $# -eq 0 ] || patches=("${patches[@]/%/.patch}")
echo "1..${#patches[@]}"
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
