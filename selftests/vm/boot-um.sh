# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2054
#
# Starts a User Mode Linux guest for run.sh, which sources this and sets image,
# job, smp, mem and the rest.

boot_prepare()
{
	[ "$net" != pair ] || refuse "um boots one guest, a pair needs 6.12 or 6.1"
	[ "${smp:=1}" = 1 ] || refuse "um has one CPU"
	# The guest's own cpuinfo has no MHz, see guest.sh
	cp /proc/cpuinfo "$job/cpuinfo"
}

# boot NODE: becomes the guest. tty0 is the command's, on stdin and stdout; the
# kernel log goes to tty1, whose output end is the log file on stderr.
boot()
{
	local console=con0=null,fd:1 args
	[ -z "$shell" ] || console=con0=fd:0,fd:1
	args=(
		"mem=${mem}M" root=/dev/root rootfstype=hostfs rootflags=/ ro
		"init=$VM_DIR/guest/init-um.sh"
		con=null ssl=null "$console" con1=null,fd:2 console=tty1
		panic_on_warn=1 printk.time=1 loglevel=5
		# Sockets of the management console: in the job folder, or a
		# killed guest would leave them in the home folder.
		"uml_dir=$job/uml/" "umid=$1"
		"te_node=$1" "te_job=$job" "te_vm=$VM_DIR" "te_root=$TE_ROOT"
		"te_build=$TE_BUILD"
	)
	# A panic ends in abort(), which need not leave a core. Memory is a file
	# of $mem MiB in TMPDIR; unset, UML takes /dev/shm, which is fast.
	ulimit -c 0
	unset TMP TEMP TMPDIR
	room /dev/shm "$mem" || export TMPDIR=$TE_BUILD/vm
	exec setsid setpriv --pdeathsig KILL taskset -c "$(a_cpu)" \
		"$image" "${args[@]}" 2>"$job/klog.$1"
}

# One CPU for the guest: its kernel and its programs are processes that take
# turns, thousands of times a second. On two CPUs each turn waits for the other
# one to wake up, which made everything five times as slow on an idle machine.
a_cpu()
{
	local range cpus=()
	for range in $(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status |
		tr , ' '); do
		mapfile -t -O "${#cpus[@]}" cpus < <(seq "${range%-*}" "${range#*-}")
	done
	echo "${cpus[RANDOM % ${#cpus[@]}]}"
}

# room DIR MIB: is there so much space
room()
{
	local free
	free=$(df --output=avail -m "$1" 2>/dev/null | tail -n 1)
	[ "${free:-0}" -gt "$2" ]
}
