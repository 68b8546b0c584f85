#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh: boots one guest, or two joined by a wire, loads te, runs a command in
# each and exits with the command's status. Status 125 with one line of reason
# is the harness's own: the kernel complained, the time was up, the guest died,
# te could not be unloaded or left something behind. See README.md.

set -eu
. "$(dirname "$0")/lib.sh"
. "$VM_DIR/verdict.sh"

FAIL=125

usage()
{
	cat >&2 <<'USAGE'
usage: run.sh [OPTION]... -- COMMAND [ARG]...
       run.sh [OPTION]... --shell
  --kernel um|6.12|6.1|um-kasan|kasan|kcsan  (um)
  --net none|loop|wire|rails|pair (none); pair: two guests, not with um
        loop-siw|wire-siw         soft-iWARP instead of rxe; not with 6.1
  --smp N                         CPUs of a guest (2; pair and um: 1)
  --mem MiB                       memory of a guest (1024)
  --time SECONDS                  limit for everything, boot included (300)
  --module FILE|none              te.ko (build/KERNEL/te.ko if it is there)
  --param 'NAME=VALUE ...'        parameters for te
  --b COMMAND                     pair: for sh -c on node b (same as on a)
  --shell                         an interactive shell instead of a command
USAGE
	exit "$FAIL"
}

# refuse WORDS: ends the run with the harness's own status
refuse()
{
	log "$*"
	exit "$FAIL"
}

kernel=um net=none smp='' mem=1024 limit=300 module='' param='' cmd_b='' shell=''
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=${2-} ;;
	--net)	net=${2-} ;;
	--smp)	smp=${2-} ;;
	--mem)	mem=${2-} ;;
	--time)	limit=${2-} ;;
	--module) module=${2-} ;;
	--param) param=${2-} ;;
	--b)	cmd_b=${2-} ;;
	--shell) shell=1; shift; continue ;;
	--)	shift; break ;;
	*)	usage ;;
	esac
	[ $# -ge 2 ] || usage
	shift 2
done

case $kernel in
um | um-kasan) backend=um ;;
6.12 | 6.1 | kasan | kcsan) backend=qemu ;;
*) usage ;;
esac
case $net in
none | loop | wire | rails | loop-siw | wire-siw) nodes=(a) ;;
pair) nodes=(a b) ;;
*) usage ;;
esac
[[ $smp$mem$limit =~ ^[0-9]+$ ]] || usage
[ -n "$shell" ] || [ $# -gt 0 ] || usage
[ -z "$shell" ] || limit=''
[ -z "$shell" ] || [ "$net" != pair ] || refuse "--shell takes one guest"
# Paths travel on the kernel's command line.
[[ $TE_ROOT != *[[:space:]\"]* ]] || refuse "no white space in $TE_ROOT, please"

if [ "$module" = none ]; then
	module=''
elif [ -n "$module" ]; then
	[ -e "$module" ] || refuse "no $module"
	module=$(realpath "$module")
elif [ -e "$TE_BUILD/$kernel/te.ko" ]; then
	module=$TE_BUILD/$kernel/te.ko
fi

guests=() ended_because=() filters=() job='' terminal=''

# Ends only what this run started. Every guest is a process group of its own
# (UML is many processes), named by the pid of its first process.
# shellcheck disable=SC2317 # called by the trap
cleanup()
{
	local pid
	trap '' INT TERM HUP
	for pid in "${guests[@]}"; do
		kill -KILL -- "-$pid" 2>/dev/null || true
	done
	for pid in "${filters[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	[ -z "$terminal" ] || stty "$terminal"
	[ -z "$job" ] || rm -rf "$job"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# shellcheck source=boot-um.sh
. "$VM_DIR/boot-$backend.sh"
"$VM_DIR/packages.sh" iproute2 iputils-ping kmod util-linux
image=$("$VM_DIR/kernel.sh" image "$kernel") || refuse "no kernel $kernel"
siw=''
case $kernel:$net in
6.*:*-siw) siw=$("$VM_DIR/kernel.sh" siw "$kernel") ||
		refuse "no siw for $kernel" ;;
esac
mkdir -p "$TE_BUILD/vm/run" "$TE_BUILD/vm/log"
job=$(mktemp -d "$TE_BUILD/vm/run/XXXXXX")

# quoted WORDS: as a shell would read them again
quoted()
{
	printf '%q ' "$@"
	echo
}

# Settings as shell assignments, and the commands as scripts; see guest.sh.
write_job()
{
	{
		printf '%s=%q\n' TE_KERNEL "$kernel" TE_NET "$net" \
			te_backend "$backend" te_smp "$smp" \
			te_module "$module" te_param "$param" \
			te_limit "$limit" te_shell "$shell" te_stty "$1" \
			te_modules "${modules-}"
		printf 'export TERM=%q\n' "${TERM:-dumb}"
		[ -z "$siw" ] || printf 'export TE_SIW=%q\n' "$siw"
	} >"$job/env"
	if [ -n "$shell" ] && [ $# -eq 1 ]; then
		set -- "$1" bash -i
	fi
	quoted exec "${@:2}" >"$job/cmd.a"
	cp "$job/cmd.a" "$job/cmd.b"
	[ -z "$cmd_b" ] || quoted exec sh -c "$cmd_b" >"$job/cmd.b"
}

# start NODE: the guest's output goes through a pipe, so that it may be a file,
# a pipe or a terminal, and lines of two guests can be told apart.
start()
{
	local node=$1
	touch "$job/klog.$node"
	if [ -n "$shell" ]; then
		boot "$node" <&0 &
		guests+=($!)
		return
	fi
	mkfifo "$job/out.$node"
	if [ "$net" = pair ]; then
		sed -u "s/^/$node| /" <"$job/out.$node" &
	else
		cat <"$job/out.$node" &
	fi
	filters+=($!)
	boot "$node" </dev/null >"$job/out.$node" &
	guests+=($!)
}

# Ends the guests still running, because of WORDS.
end_guests()
{
	local i
	for i in "${!live[@]}"; do
		kill -KILL -- "-${live[i]}" 2>/dev/null || true
		ended_because[i]=$*
	done
	live=()
}

# A guest stands still while there is a file pause.NODE in the job folder; then
# pause.NODE.done is there too.
pause_or_go_on()
{
	local i pause
	for i in "${!live[@]}"; do
		pause=$job/pause.${nodes[i]}
		if [ -e "$pause" ] && [ ! -e "$pause.done" ]; then
			kill -STOP -- "-${live[i]}" && : >"$pause.done"
		elif [ ! -e "$pause" ] && [ -e "$pause.done" ]; then
			kill -CONT -- "-${live[i]}" && rm "$pause.done"
		fi
	done
}

# Waits for all guests to end and ends them at the time limit. Both guests of a
# pair end at about the same time, see guest/command.sh: one that goes on alone
# is ended after a grace, a short one if the other has died.
#
# Looks 20 times a second, by builtins only. `wait -n` would be shorter, but bash
# forgets a child that ends at the wrong moment, and then waits for ever.
watch()
{
	local live=("${guests[@]}") tick i grace_end=''
	mkfifo "$job/tick"
	exec {tick}<>"$job/tick"
	while [ ${#live[@]} -gt 0 ]; do
		if [ -n "$limit" ] && [ "$SECONDS" -ge "$limit" ]; then
			end_guests "time limit of $limit s exceeded"
		elif [ -n "$grace_end" ] && [ "$SECONDS" -ge "$grace_end" ]; then
			end_guests "the other guest ended"
		fi
		for i in "${!live[@]}"; do
			! kill -0 "${live[i]}" 2>/dev/null || continue
			unset "live[i]"
			grace_end=$((SECONDS + 5))
			[ ! -e "$job/done.${nodes[i]}" ] ||
				grace_end=$((SECONDS + 30))
		done
		pause_or_go_on
		read -r -t 0.05 -u "$tick" || true
	done
	exec {tick}>&-
	# bash has words to say about a guest that was killed
	wait "${guests[@]}" "${filters[@]}" 2>/dev/null || true
}

# Keeps the kernel log of NODE beyond the job; the 20 newest stay.
keep_log()
{
	klog=$TE_BUILD/vm/log/$kernel-$net-$$-$1.log
	mv "$job/klog.$1" "$klog"
	# shellcheck disable=SC2012 # our own names, nothing odd in them
	ls -t "$TE_BUILD/vm/log/"*.log | tail -n +21 | xargs -r rm -f
}

# what_went_wrong I: of guest I sets reason and excerpt (of $klog), or leaves
# reason empty. The kernel's own words come first: they explain the rest; but
# the stacks at a time limit are no complaint.
what_went_wrong()
{
	local line report
	reason=${ended_because[$1]-} excerpt=(tail -n 60 "$klog")
	[[ $reason != time* ]] || return 0
	report=$(cat "$job/done.${nodes[$1]}" 2>/dev/null) || report=''
	if line=$(klog_complaint "$klog"); then
		reason="kernel log: ${line#*:}"
		excerpt=(tail -n "+${line%%:*}" "$klog")
	elif [ -n "$reason" ]; then
		excerpt=(true)
	elif [ -z "$report" ]; then
		reason="the guest died"
	elif [ "$report" != ok ]; then
		reason=$report
	fi
}

# Sets ret: 125 if anything is wrong with a guest, else the status of the
# command that failed by itself, not of the one stopped for its sake.
judge()
{
	local i status word own='' stopped='' failed=''
	for i in "${!nodes[@]}"; do
		keep_log "${nodes[i]}"
		what_went_wrong "$i"
		if [ -n "$reason" ]; then
			{ "${excerpt[@]}" | head -n 60 | tr -d '\r'; } >&2
			log "the whole log: $klog"
			[ "$net" != pair ] || reason="node ${nodes[i]}: $reason"
			# the last line on stderr names the cause
			if [ "${ended_because[i]-}" = "the other guest ended" ]; then
				log "$reason"
			else
				failed="${failed:+$failed; }$reason"
			fi
			continue
		fi
		read -r status word <"$job/status.${nodes[i]}"
		[ "$status" != 0 ] || continue
		[ -n "$word" ] || : "${own:=$status}"
		: "${stopped:=$status}"
	done
	[ -z "$failed" ] || refuse "$failed"
	ret=${own:-${stopped:-0}}
}

# With a thread for each CPU the emulator may run an int3 that another CPU has taken away
# again, by which a kernel patches itself, most of all while it boots. Nothing of what is to
# be run has begun then.
fell_while_booting()
{
	local node
	for node in "${nodes[@]}"; do
		! fell_to_a_patch "$job/klog.$node" "$job/up.$node" || return 0
	done
	return 1
}

# As it was before the guests were started.
again()
{
	for node in "${nodes[@]}"; do
		keep_log "$node"
	done
	guests=() filters=() ended_because=()
	rm -f "$job"/{out,up,ready,status,done}.? "$job/tick" "$job/wire"
}

boot_prepare
size=''
if [ -n "$shell" ] && [ -t 0 ]; then
	# the guest makes the terminal raw; cleanup puts it back
	terminal=$(stty -g)
	size=$(stty size)
	size="rows ${size% *} cols ${size#* }"
fi
write_job "$size" "$@"
SECONDS=0	# what was made above, once, does not count
for boots in 1 2 3; do
	for node in "${nodes[@]}"; do
		start "$node"
	done
	watch
	[ "$boots" -lt 3 ] || break
	fell_while_booting || break
	log "the emulator let a kernel fall while it booted: once more"
	again
done
judge
exit "$ret"
