# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Loads te before the command, unloads it afterwards, and checks that te left no
# RDMA object behind. Sourced by guest.sh, which provides finish().

# What the RDMA core knows of, without what changes by itself. Its own objects
# (one GSI QP with CQ and PD per device) come and go with the devices.
resources()
{
	printf 'resource show %s\n' qp cq pd mr cm_id ctx srq |
		rdma -f -b - 2>/dev/null |
		grep -v -E 'comm \[?ib_core\]?' |
		sed -E 's/ (sq-psn|rq-psn|users|state|path-mig-state|cqe) [^ ]+//g' |
		sort
}

module_load()
{
	local dep error
	# In UML all of these are built in.
	[ "$TE_KERNEL" = um ] ||
		modprobe -a ib_core ib_uverbs rdma_cm rdma_ucm crc32_generic \
			2>/dev/null
	[ -n "$te_module" ] || return 0
	[ "$TE_KERNEL" = um ] ||
		for dep in $(modinfo -F depends "$te_module" | tr , ' '); do
			modprobe "$dep" || finish "te.ko needs $dep"
		done
	resources >/run/resources
	# shellcheck disable=SC2086 # several parameters are several words
	error=$(insmod "$te_module" $te_param 2>&1) || finish "insmod te: $error"
}

te_loaded()
{
	grep -q '^te ' /proc/modules
}

# Who has the device open, for the message when rmmod is refused.
te_holders()
{
	local fd pid
	for fd in /proc/[0-9]*/fd/*; do
		[ "$(readlink "$fd")" = /dev/te ] || continue
		pid=${fd#/proc/} pid=${pid%%/*}
		echo "pid $pid ($(tr '\0' ' ' <"/proc/$pid/cmdline"))"
	done 2>/dev/null | sort -u | tr '\n' ' '
}

module_unload()
{
	local error='' left
	[ -n "$te_module" ] || return 0
	# The command may have unloaded te itself. A process it killed may still
	# be on its way out: 3 seconds for that.
	for _ in {1..30}; do
		te_loaded || break
		error=$(rmmod te 2>&1) && break
		sleep 0.1
	done
	! te_loaded || finish "rmmod te: $error $(te_holders)"
	resources >/run/resources.after
	left=$(comm -13 /run/resources /run/resources.after | head -n 3)
	[ -z "$left" ] || finish "left behind by te: ${left//$'\n'/; }"
}
