#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # te_* come from the kernel command line
#
# PID 1 of every guest once its root is in place. Mounts what user space
# expects, brings the network up, loads te, runs the command, unloads te,
# checks that nothing is left, reports and powers off.
#
# Talks to run.sh through files in the job folder ($te_job):
#   env, cmd.NODE   from run.sh: settings, and the command as a script
#   up.NODE         the kernel has booted
#   ready.NODE      network up, te loaded (a pair waits for each other)
#   pause.NODE      the other node's command wants this one to stand still
#   status.NODE     the command's exit status, "stopped" added if we stopped it
#   done.NODE       "ok", or one line that says what the guest found wrong

set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root TE_NODE=$te_node
job=$te_job

# shellcheck source=/dev/null
. "$job/env"
: >"$job/up.$TE_NODE"
# shellcheck source=module.sh
. "$te_vm/guest/module.sh"
# shellcheck source=command.sh
. "$te_vm/guest/command.sh"
# shellcheck source=detectors.sh
. "$te_vm/guest/detectors.sh"

power_off()
{
	sync
	# A QEMU guest runs with -no-reboot, so b is the quickest way out. UML
	# would start itself again.
	if [ "$te_backend" = um ]; then
		echo o >/proc/sysrq-trigger
	else
		echo b >/proc/sysrq-trigger
	fi
	sleep 100
}

# finish WORDS: the guest's verdict, "ok" or what is wrong
finish()
{
	echo "te: guest $te_node: $*" >/dev/kmsg
	echo "$*" >"$job/done.$te_node.part"
	mv "$job/done.$te_node.part" "$job/done.$te_node"
	power_off
}

mounts()
{
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mountpoint -q /dev || mount -t devtmpfs dev /dev
	mkdir -p /dev/pts /dev/shm
	mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
	mount -t tmpfs shm /dev/shm
	mount -t tmpfs run /run
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing
	ln -sfn /proc/self/fd /dev/fd
	ln -sfn fd/0 /dev/stdin
	ln -sfn fd/1 /dev/stdout
	ln -sfn fd/2 /dev/stderr
	if [ "$te_backend" = um ]; then
		# perftest wants the "cpu MHz" line that UML does not have
		mount --bind "$job/cpuinfo" /proc/cpuinfo
	elif [ -n "$te_modules" ]; then
		mkdir -p "/lib/modules/$(uname -r)"
		mount --bind "$te_modules" "/lib/modules/$(uname -r)"
	fi
	echo "te-$te_node" >/proc/sys/kernel/hostname
	# everything but debug: te's own words belong in the log
	echo 7 >/proc/sys/kernel/printk
}

# Sets and exports TE_ADDR_* and TE_DEV_* from what the script prints.
network()
{
	local vars
	ip link set lo up
	vars=$("$te_vm/net/$TE_NET.sh" up 2>"$job/net.$te_node") ||
		finish "network $TE_NET: $(tail -n 1 "$job/net.$te_node")"
	set -a
	eval "$vars"
	set +a
}

mounts
cd "$te_root" || finish "no $te_root in the guest"
[ "$(nproc)" = "$te_smp" ] || finish "$(nproc) CPUs instead of $te_smp"
export TE_VM=1 TE_KERNEL TE_NET
network
module_load
command_run
module_unload
coverage_keep
detectors_ask
finish ok
