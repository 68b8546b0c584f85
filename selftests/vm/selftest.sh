#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# selftest.sh: proves that run.sh tells the truth. Commits every fault it
# promises to notice, with faulty/ in te's place, on UML for speed; then one
# boot of 6.12 with what UML cannot have, and one pair. Prints KTAP.

set -eu
. "$(dirname "$0")/lib.sh"
. "$VM_DIR/verdict.sh"

work=$(mktemp -d)
background=''
count=0
failed=0

# shellcheck disable=SC2317 # called by the trap
cleanup()
{
	[ -z "$background" ] || kill "$background" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# Without te, unless a case names a module: this is about the harness.
run()
{
	"$VM_DIR/run.sh" --module none --time 60 "$@"
}

# result STATUS NAME: STATUS is 0 for ok
result()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count $2"
		return
	fi
	failed=$((failed + 1))
	echo "# stdout:"; sed 's/^/# /' "$work/out"
	echo "# stderr:"; tail -n 20 "$work/err" | sed 's/^/# /'
	echo "not ok $count $2"
}

# build_faulty KERNEL: prints the module's path
build_faulty()
{
	local dir=$TE_BUILD/vm/faulty-$1
	mkdir -p "$dir"
	cp -u "$VM_DIR"/faulty/* "$dir"
	make -s -C "$("$VM_DIR/kernel.sh" kdir "$1")" M="$dir" \
		ARCH="$("$VM_DIR/kernel.sh" arch "$1")" modules >&2
	echo "$dir/te.ko"
}

# expect NAME STATUS REASON ARG...: run.sh ARG... must end with STATUS and with
# a last line on stderr that matches REASON ("" for none at all).
expect()
{
	local name=$1 status=$2 reason=$3 got=0 bad=0
	shift 3
	run "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
	if [ "$got" != "$status" ]; then
		echo "# status $got, not $status"
		bad=1
	fi
	if [ -z "$reason" ]; then
		[ ! -s "$work/err" ] || bad=1
	else
		tail -n 1 "$work/err" | grep -q -E "$reason" || bad=1
	fi
	result "$bad" "$name"
}

# fault NAME REASON [BEFORE]: faulty/ commits NAME on UML
fault()
{
	expect "um: $1" 125 "$2" --module "$faulty_um" -- sh -c \
		"${3:-:}; echo $1 >/sys/module/te/parameters/fault"
}

# Lines that no guest here can be made to say by itself.
patterns()
{
	local line bad=0
	while read -r line; do
		echo "[   12.345678] $line" >"$work/klog"
		klog_complaint "$work/klog" >/dev/null || {
			echo "# not noticed: $line"
			bad=1
		}
	done <<-'LINES'
		WARNING: possible circular locking dependency detected
		WARNING: inconsistent lock state
		BUG: KASAN: slab-use-after-free in te_mr_put+0x1/0x2 [te]
		BUG: sleeping function called from invalid context at x.c:1
		BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0
		UBSAN: array-index-out-of-bounds in x.c:1:2
		te: unreferenced object 0x6e193000 (size 1024):
		watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [sh:1]
		rcu: INFO: rcu_preempt self-detected stall on CPU
		rcu: INFO: rcu_sched detected stalls on CPUs/tasks:
		INFO: task te_worker:77 blocked for more than 30 seconds.
		refcount_t: underflow; use-after-free.
		list_del corruption. prev->next should be x, but was y
		usercopy: Kernel memory exposure attempt detected
		ODEBUG: free active (active state 0) object: x
		Oops: general protection fault, probably for x: 0000 [#1]
		unregister_netdevice: waiting for va to become free.
		Out of memory: Killed process 77 (sh) total-vm:1kB
		Memory cgroup out of memory: Killed process 77 (sh)
		    not ok 3 ring_wraps
	LINES
	cat >"$work/klog" <<-'LINES'
		[    1.000000] te: 3 sessions, a warning is not a WARN
		[    2.000000] ==================================================================
		[    2.000000] BUG: KCSAN: data-race in one_of_the_core / another
		[    2.000000]  process_one_work+0x1/0x2
		[    2.000000] Workqueue: te_rdma conn_close_work [te]
		[    2.000000] ==================================================================
	LINES
	! klog_complaint "$work/klog" >/dev/null || bad=1
	sed -i 's/process_one_work.*/& [te]/' "$work/klog"
	[[ $(klog_complaint "$work/klog") == 3:*KCSAN* ]] || bad=1
	sed -i 's/another/timekeeping_update/' "$work/klog"
	! klog_complaint "$work/klog" >/dev/null || bad=1
	echo "[    2.3] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI" >"$work/klog"
	fell_to_a_patch "$work/klog" "$work/not-there" || bad=1
	# what has booted is not to be booted again
	! fell_to_a_patch "$work/klog" "$work/klog" || bad=1
	echo "[    2.3] Oops: 0000 [#1] PREEMPT SMP NOPTI" >"$work/klog"
	! fell_to_a_patch "$work/klog" "$work/not-there" || bad=1
	: >"$work/out"; : >"$work/err"
	result "$bad" "every kind of complaint is known, harmless lines are not"
}

# Bytes must come through as they are, and at once.
output()
{
	local bad=0
	run -- sh -c 'printf "a\r\nb\tc\n\n\033[1m\377 no newline"' \
		>"$work/out" 2>"$work/err" || bad=1
	printf 'a\r\nb\tc\n\n\033[1m\377 no newline' | cmp - "$work/out" || bad=1
	result "$bad" "um: output is exact"
}

# killed NAME HOW STATUS REASON: runs sleep in a guest, does HOW, then nothing
# of the run may be left: neither process nor job folder.
killed()
{
	local guest job bad=0 status=0
	# A shell starts background jobs with SIGINT ignored.
	env --default-signal=INT "$VM_DIR/run.sh" --module none -- sleep 50 \
		>"$work/out" 2>"$work/err" </dev/null &
	background=$!
	until guest=$(pgrep -P "$background" -f te_node=a); do sleep 0.1; done
	job=$(tr '\0' '\n' <"/proc/$guest/cmdline" | sed -n 's/^te_job=//p')
	sleep 1
	"$2"
	wait "$background" 2>/dev/null || status=$?
	background=''
	[ "$status" = "$3" ] || { echo "# status $status, not $3"; bad=1; }
	[ -z "$4" ] || tail -n 1 "$work/err" | grep -q "$4" || bad=1
	[ ! -e "$job" ] || { echo "# $job is left"; bad=1; }
	pgrep -f "te_job=$job( |$)" >"$work/left" && bad=1
	result "$bad" "$1"
}

# shellcheck disable=SC2317,SC2154 # called by killed, whose variable it is
{
interrupt()	{ kill -INT "$background"; }
terminate()	{ kill -TERM "$background"; }
kill_guest()	{ kill -KILL "$guest"; }
}

# Two at a time must not disturb each other.
together()
{
	local bad=0 first
	run --net wire -- sh -c 'sleep 1; exit 4' >"$work/out" 2>"$work/err" &
	first=$!
	run --net wire -- sh -c 'sleep 1; exit 5' >"$work/out" 2>"$work/err" ||
		[ $? = 5 ] || bad=1
	wait "$first" || [ $? = 4 ] || bad=1
	result "$bad" "um: two runs at a time"
}

# shellcheck disable=SC2016 # for the guest's shell
# The devices of a network are there and reach each other.
network='rdma link show "$TE_DEV_A/1" | grep -q ACTIVE &&
	rdma link show "$TE_DEV_B/1" | grep -q ACTIVE &&
	ping -q -c 1 -I "$TE_ADDR_A" "$TE_ADDR_B" >/dev/null'

# Real bytes by rdma_cm and verbs, back and forth, both ends verify. Seeing the last
# of them counts, not how rping ends: one of its threads may trip over what another
# has closed by then.
# shellcheck disable=SC2016
server='rping -s -a "$TE_ADDR_B" -C 20 -V -v | grep -o "^server.*rdma-ping-19:"'
# shellcheck disable=SC2016
client='rping -c -a "$TE_ADDR_B" -I "$TE_ADDR_A" -C 20 -V -v | grep -o "^ping.*rdma-ping-19:"'

echo "KTAP version 1"
"$VM_DIR/packages.sh" rdmacm-utils rdma-core ibverbs-providers procps
faulty_um=$(build_faulty um)

patterns
output
expect "um: exit status" 3 '' -- sh -c 'exit 3'
expect "um: te loaded and unloaded" 0 '' --module "$faulty_um" -- \
	grep -q '^te ' /proc/modules
expect "um: loop network" 0 '' --net loop -- sh -c "$network"
expect "um: wire network" 0 '' --net wire -- sh -c "$network || exit; $server & sleep 1; $client && wait \$!"
expect "um: loop-siw network" 0 '' --net loop-siw -- sh -c "$network"
expect "um: wire-siw network" 0 '' --net wire-siw -- sh -c "$network"
expect "um: build/ is writable, the rest is not" 0 '' -- sh -c \
	"touch build/vm/selftest.$$ && touch README.selftest.$$"
rm "$TE_BUILD/vm/selftest.$$"
together
fault warn 'kernel log: .*WARNING: '
fault bug 'kernel log: .*(BUG|Kernel panic)'
fault oops 'kernel log: '
fault refcount 'kernel log: .*(refcount_t: |WARNING: )'
fault atomic 'kernel log: .*scheduling while atomic'
fault hung 'kernel log: .*blocked for more than' \
	'echo 2 >/proc/sys/kernel/hung_task_timeout_secs'
fault softlockup 'kernel log: .*soft lockup' \
	'echo 1 >/proc/sys/kernel/watchdog_thresh'
fault busy 'rmmod te: .*in use'
expect "um: leak" 125 'left behind by te: rxe_a: pd 2 .was 1.' --net loop \
	--module "$faulty_um" -- \
	sh -c 'echo leak >/sys/module/te/parameters/fault'
expect "um: module that cannot be loaded" 125 'insmod te: ' \
	--module "$VM_DIR/faulty/faulty.c" -- true
expect "um: panic" 125 'kernel log: ' -- sh -c 'echo c >/proc/sysrq-trigger'
expect "um: power off" 125 'the guest died' -- sh -c 'echo o >/proc/sysrq-trigger; sleep 9'
expect "um: time limit" 125 'time limit of 4 s exceeded' --time 4 -- sleep 20
killed "um: killed guest" kill_guest 125 'the guest died'
killed "um: Ctrl-C leaves nothing behind" interrupt 130 ''
killed "um: TERM leaves nothing behind" terminate 143 ''

# The limit holds for grace periods that start later, hence the sleep.
expect "6.12: RCU stall" 125 'kernel log: .*(stall|rcu)' --kernel 6.12 --smp 2 \
	--time 180 --module "$(build_faulty 6.12)" -- sh -c '
	echo 3 >/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
	sleep 2
	echo rcu >/sys/module/te/parameters/fault'
expect "6.12: pair, exit status of the one that fails" 7 '' \
	--kernel 6.12 --net pair --time 180 --module "$TE_BUILD/vm/faulty-6.12/te.ko" \
	--b "$server && exit 7" -- sh -c "sleep 3; $client && sleep 60"

echo "1..$count"
echo "# $((count - failed)) passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
