# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Runs the command of this node and records its exit status. In a pair the two
# start together, each waits until the other has ended, and one that fails takes
# the other down after a grace. Sourced by guest.sh.

grace=5		# seconds the other command may go on after one has failed

other=b
[ "$TE_NODE" = a ] || other=a

wait_for()
{
	until [ -e "$1" ]; do sleep 0.2; done
}

# Opens what the command talks to as fd 3: UML's first console (a raw tty whose
# output end is run.sh's pipe), or QEMU's serial port named "out".
open_output()
{
	local port
	if [ "$te_backend" = um ]; then
		exec 3>/dev/tty0
		stty raw -echo <&3
		return
	fi
	[ -z "$te_modules" ] || modprobe virtio_console
	for port in /sys/class/virtio-ports/*; do
		[ "$(cat "$port/name")" = out ] && exec 3>"/dev/${port##*/}"
	done
}

# What every process does in the kernel, te's threads included.
stacks()
{
	local dir comm
	for dir in /proc/[0-9]*; do
		comm=$(cat "$dir/comm")
		# kernel threads have no command line
		[ -n "$(tr -d '\0' <"$dir/cmdline")" ] ||
			[[ $comm == te[-_/]* ]] || continue
		echo "te: pid ${dir#/proc/} $comm:"
		sed '/syscall_64\|SYSCALL/d; s/^/te:   /' "$dir/stack"
	done 2>/dev/null
}

# A hang is easier to understand with the stacks of those who sleep: have them
# in the log before run.sh ends us at the time limit.
warn_before_limit()
{
	local uptime
	[ "$te_limit" -gt 15 ] || return 0
	read -r uptime _ </proc/uptime
	(
		sleep $((te_limit - ${uptime%.*} - 5))
		echo "te: the time limit is near, blocked tasks:" >/dev/kmsg
		echo w >/proc/sysrq-trigger
		stacks | while IFS= read -r line; do
			echo "$line" >/dev/kmsg
		done
	) &
	watch=$!
}

# Both commands of a pair must end; status "N stopped" means we ended it.
watch_other()
{
	wait_for "$job/status.$other"
	[ "$(cat "$job/status.$other")" != 0 ] || return 0
	sleep "$grace"
	touch /run/stopped
	kill -TERM -- "-$1"
	sleep 2
	kill -KILL -- "-$1"
}

record_status()
{
	[ ! -e /run/stopped ] || set -- "$1 stopped"
	echo "$1" >"$job/status.$TE_NODE.part"
	mv "$job/status.$TE_NODE.part" "$job/status.$TE_NODE"
}

# An interactive shell on a tty of its own.
shell_run()
{
	local tty=/dev/tty0
	[ "$te_backend" = um ] || tty=/dev/hvc0
	[ -z "$te_modules" ] || modprobe virtio_console
	# shellcheck disable=SC2086
	[ -z "$te_stty" ] || stty $te_stty <"$tty"
	setsid -w -c bash "$job/cmd.$TE_NODE" <>"$tty" >&0 2>&1
}

command_run()
{
	local pid watch='' ret=0
	touch "$job/ready.$TE_NODE"
	if [ "$TE_NET" = pair ]; then
		export TE_PAUSE=$job/pause.$other
		wait_for "$job/ready.$other"
	fi
	if [ -n "$te_shell" ]; then
		shell_run || ret=$?
		record_status "$ret"
		return
	fi
	open_output
	warn_before_limit
	setsid bash "$job/cmd.$TE_NODE" </dev/null >&3 2>&1 3>&- &
	pid=$!
	[ "$TE_NET" != pair ] || watch_other "$pid" 2>/dev/null &
	wait "$pid" || ret=$?
	record_status "$ret"
	[ -z "$watch" ] || kill "$watch"
	[ "$TE_NET" != pair ] || wait_for "$job/status.$other"
}
