#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh quick|full|debug [SUITE]...: every test of te, in guests.
#
#   quick  all suites on User Mode Linux: the inner loop
#   full   lint, builds for all kernels, the harness's own tests, all suites on
#          User Mode Linux and on 6.12 with two CPUs, a smaller round on 6.1,
#          some over soft-iWARP, and two guests joined by a wire
#   debug  all suites on User Mode Linux with KASAN, lockdep and their like, those
#          that need two CPUs on a kernel with KASAN in QEMU, stress on one with
#          KCSAN; then what of te was covered
#
# With SUITEs (uapi, xfer/align ...) only those, on the same kernels. What is
# printed is kept in build/selftests/log.*, the last ten of them. The last line is
# "N passed, N failed, N skipped"; status 0 only if all is well. A skip is not:
# what a kernel lacks is not even started there, see guest.sh.

set -u
cd "$(dirname "$0")/.." || exit 1
out=build/selftests
log=''
transport=''
vm=selftests/vm
suites='uapi mem xfer ring life peer tcp tool'
forced='fault/race_ctx fault/race_mr fault/race_peer fault/race_evict
	fault/race_dev fault/race_exit fault/race_lane fault/limits fault/fallback'
pid=''

usage()
{
	echo "usage: run.sh quick|full|debug [SUITE]..." >&2
	exit 2
}

mode=${1-}
case $mode in quick | full | debug) shift ;; *) usage ;; esac

# shellcheck disable=SC2317 # called by the trap
stop()
{
	[ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null
	exit 130
}
trap stop INT TERM HUP

# say WORDS: to the reader and to the tally
say()
{
	echo "$*" | tee -a "$log"
}

# logged COMMAND...: its output goes where say's does, and is there when it returns, with
# the command's status. Should somebody that it has left behind hold the pipe, that is not
# waited for for long.
logged()
{
	local pipe tee status _
	exec {pipe}> >(exec tee -a "$log")
	tee=$!
	"$@" >&"$pipe" 2>&1 {pipe}>&- &
	pid=$!
	exec {pipe}>&-
	wait "$pid"
	status=$?
	pid=''
	for _ in {1..100}; do
		kill -0 "$tee" 2>/dev/null || break
		sleep 0.05
	done
	return "$status"
}

# step NAME COMMAND...: one test that runs on this machine
step()
{
	local name=$1 from=$SECONDS verdict=ok
	shift
	say "# begin host $name"
	say "1..1"
	logged "$@" || verdict="not ok"
	say "$verdict 1 $name"
	say "# end host $name 0"
	say "# $name: $((SECONDS - from)) s"
	[ "$verdict" = ok ]
}

# guest NAME SECONDS OPTION... -- COMMAND...: a guest whose command prints KTAP;
# the harness's own verdict on it is one more test
guest()
{
	local name=$1 limit=$2 from=$SECONDS status=0 verdict="ok 1 guest"
	shift 2
	logged "$vm/run.sh" --time "$limit" "$@" || status=$?
	# 1 to 99 is the command's own status, which it has explained
	say "# begin $name guest"
	say "1..1"
	[ "$status" -lt 100 ] || verdict="not ok 1 guest ($status)"
	say "$verdict"
	say "# end $name guest 0"
	say "# $name: $((SECONDS - from)) s"
}

# round KERNEL NET SECONDS SUITE...
round()
{
	local kernel=$1 net=$2 limit=$3
	shift 3
	guest "$kernel/$net" "$limit" --kernel "$kernel" --net "$net" \
		-- selftests/guest.sh "$@"
}

# over TRANSPORT[+crc] KERNEL SECONDS SUITE...: not by RDMA; with checksums
over()
{
	local transport=$1 kernel=$2 limit=$3 param=()
	shift 3
	[[ $transport != *+crc ]] || param=(--param tcp_crc=1)
	guest "$kernel/$transport" "$limit" --kernel "$kernel" --net wire \
		"${param[@]}" -- \
		env TE_TRANSPORT="${transport%+crc}" selftests/guest.sh "$@"
}

# test_build SUITE...: on plain User Mode Linux, with te built for tests
test_build()
{
	guest um-test/wire 600 --kernel um --net wire \
		--module build/um-test/te.ko -- \
		env TE_MODULE=build/um-test/te.ko selftests/guest.sh "$@"
}

# The same over TCP, what is not of RDMA alone.
test_build_tcp()
{
	guest um-test/tcp 300 --kernel um --net wire \
		--module build/um-test/te.ko -- \
		env TE_MODULE=build/um-test/te.ko TE_TRANSPORT=tcp \
		selftests/guest.sh fault/race_ctx fault/race_mr
}

# pair KERNEL PARAM TEST...: two guests
pair()
{
	local kernel=$1 params=$2
	shift 2
	guest "pair-$kernel/$1" 400 --kernel "$kernel" --net pair \
		--param "$params" --smp 1 --b "build/selftests/pair/target $#" -- \
		env TE_TEST_ARGS="${*/#/-t }" selftests/guest.sh pair/initiator
}

build()
{
	# Another run may be building the same files.
	exec {lock}>"$out/lock" && flock "$lock" &&
		"$vm/packages.sh" build-essential gcc-multilib iproute2 &&
		make -s --no-print-directory "$@" &&
		make -s --no-print-directory -C selftests -j"$(nproc)"
}

# checked SANITIZERS: the programs with checks of their own, see sanitize.mk
checked()
{
	make -s --no-print-directory -C selftests -j"$(nproc)" SANITIZE="$1"
}

# libte_alone [SANITIZERS]: what libte decides without a kernel, on this machine
libte_alone()
{
	local built=build${1:+/${1//,/-}}/libte
	step "build-libte${1:+-${1//,/-}}" make -s --no-print-directory -C libte \
		O="$PWD/$built" ${1:+SANITIZE="$1"} tests || return
	say "# begin host libte"
	logged "$built/libte_test"
	say "# end host libte $?"
}

quick()
{
	step build build modules-um modules-um-test || return
	if [ $# -gt 0 ]; then
		round um wire 900 "$@"
		return
	fi
	# shellcheck disable=SC2086 # a list
	round um wire 900 $suites
	round um loop 300 xfer
	round um rails 600 rail
	# shellcheck disable=SC2086 # a list
	test_build kunit $forced fault/events fault/race_sleep
}

chosen()
{
	local kernel
	step build build modules-um modules-6.12 modules-6.1 || return
	for kernel in um 6.12 6.1; do
		round "$kernel" wire 2400 "$@"
	done
}

full()
{
	step lint selftests/lint.sh
	step build-um build modules-um modules-um-test || return
	step build-6.12 build modules-6.12 || return
	step build-6.1 build modules-6.1 || return
	step build-floor build floor-um floor-6.12 floor-6.1 || return
	say "# begin host vm"
	logged "$vm/selftest.sh"
	say "# end host vm $?"
	libte_alone || return
	# shellcheck disable=SC2086 # a list
	round um wire 900 $suites
	round um loop 300 xfer
	round um rails 600 rail
	# shellcheck disable=SC2086 # a list
	test_build kunit $forced fault/events fault/race_sleep
	# shellcheck disable=SC2086 # a list
	round 6.12 wire 2400 uapi32 $suites
	round 6.12 rails 600 rail/failover rail/reach rail/near
	round 6.1 wire 900 uapi uapi32 mem xfer ring
	round 6.1 rails 600 rail/failover rail/reach
	# no RoCE: nothing may depend on it
	round um wire-siw 600 xfer peer
	test_build_tcp
	over tcp um 900 mem xfer ring life peer/many peer/death peer/gone \
		peer/unreachable peer/again peer/middle
	over tcp+crc um 300 xfer
	over local um 600 mem xfer ring life
	over tcp 6.12 600 xfer/batch xfer/lengths xfer/end
	over local 6.12 600 xfer/batch
	over tcp+crc 6.1 600 xfer/batch xfer/lengths
	round 6.12 wire-siw 600 xfer/batch xfer/lengths peer/nic
	pair 6.12 insecure=1 transfers local lossy
	# needs a node without connections for data
	pair 6.12 insecure=1 killed
	pair 6.12 'insecure=1 qp_timeout=20' quiet
	pair 6.12 insecure=0 refused
	pair 6.1 insecure=1 lossy
}

# watched KERNEL NET SECONDS SUITE...: shadow memory and slow frees need room. A
# kernel so slow may leave a packet without an answer for longer than 67 ms, and
# what rxe then sends again only makes it slower: it waits for longer.
watched()
{
	local kernel=$1 net=$2 limit=$3 checks=address-undefined
	shift 3
	# AddressSanitizer needs more addresses than UML gives a process
	[ "$kernel" != um-kasan ] || checks=undefined
	guest "$kernel/${transport:-$net}" "$limit" --kernel "$kernel" \
		--net "$net" --mem 2048 --param qp_timeout=20 -- \
		env TE_TEST_BIN="build/$checks/selftests" \
		${transport:+TE_TRANSPORT="$transport"} selftests/guest.sh "$@"
}

# watched_over TRANSPORT KERNEL SECONDS SUITE...: not by RDMA
watched_over()
{
	local transport=$1 kernel=$2
	shift 2
	watched "$kernel" wire "$@"
}

debug()
{
	local kernel
	for kernel in um-kasan kasan kcsan; do
		step "build-$kernel" build "modules-$kernel" || return
	done
	step build-floor build floor-um-kasan || return
	step build-undefined checked undefined || return
	step build-address checked address,undefined || return
	libte_alone address,undefined || return
	if [ $# -gt 0 ]; then
		for kernel in um-kasan kasan kcsan; do
			watched "$kernel" wire 1800 "$@"
		done
		return
	fi
	rm -rf build/coverage
	mkdir -p build/coverage
	# shellcheck disable=SC2086 # a list
	watched um-kasan wire 1800 kunit $suites
	watched um-kasan wire 1200 fault
	watched um-kasan loop 600 xfer
	watched_over tcp um-kasan 1500 mem xfer ring life peer/gone peer/death \
		fault/race_ctx fault/race_mr
	watched_over local um-kasan 1200 mem xfer ring life
	watched um-kasan rails 900 rail/failover rail/reach
	# no more: siw reads from behind a page, siw_try_1seg()
	watched um-kasan wire-siw 600 xfer/batch xfer/lengths
	guest um-kasan/floor 300 --kernel um-kasan --net wire --module none -- \
		selftests/perf/floor-ends.sh
	# what two CPUs can make go wrong; emulated, so no more than that
	# shellcheck disable=SC2086 # a list
	watched kasan wire 2400 kunit ring life/race life/kill peer/death $forced
	watched_over tcp kasan 900 life/race life/cpus fault/race_ctx \
		fault/race_mr
	watched kcsan wire 900 ring/threads life/race fault/race_ctx
	watched_over tcp kcsan 600 ring/threads life/race fault/race_lane
	step coverage selftests/coverage.sh
}

mkdir -p "$out"
# shellcheck disable=SC2012 # our own names, nothing odd in them
ls -t "$out"/log.* 2>/dev/null | tail -n +10 | xargs -r rm -f
log=$(mktemp "$out/log.XXXXXX")
case $mode:$# in
quick:*)	quick "$@" ;;
full:0)		full ;;
full:*)		chosen "$@" ;;
debug:*)	debug "$@" ;;
esac
# tee may still be writing the last lines
sleep 0.2
awk -f selftests/tally.awk "$log"
