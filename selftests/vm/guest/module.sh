# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# Loads te before the command, unloads it afterwards, and checks that te left no
# RDMA object behind. Sourced by guest.sh, which provides finish().

# How many objects of each kind the RDMA core holds, "rxe_a: pd 1 cq 1 qp 1 ...".
# Counts and no more: a list names the owner of each object, and the name of a
# module that is gone is a wild pointer.
resources()
{
	rdma resource show | sed 's/^[0-9]*: //'
}

# What is more than it was, as "rxe_a pd 2 (was 1)". A device that the command
# made is not known from before, and not looked at.
resources_left()
{
	resources | awk '
		NR == FNR { for (i = 2; i < NF; i += 2) was[$1 $i] = $(i + 1); next }
		{
			for (i = 2; i < NF; i += 2)
				if ($1 $i in was && $(i + 1) > was[$1 $i])
					printf "%s %s %d (was %d) ", $1, $i,
						$(i + 1), was[$1 $i]
		}' /run/resources -
}

kunit_filter=/sys/module/kunit/parameters/filter_glob

module_load()
{
	local dep error
	# A kernel of our own has all of these built in.
	[ -z "$te_modules" ] ||
		modprobe -a ib_core ib_uverbs rdma_cm rdma_ucm crc32_generic \
			2>/dev/null
	[ -n "$te_module" ] || return 0
	[ -z "$te_modules" ] ||
		for dep in $(modinfo -F depends "$te_module" | tr , ' '); do
			modprobe "$dep" || finish "te.ko needs $dep"
		done
	resources >/run/resources
	# shellcheck disable=SC2086 # several parameters are several words
	error=$(insmod "$te_module" $te_param 2>&1) || finish "insmod te: $error"
	# A test build has run its KUnit suites: not again if a test reloads it.
	[ ! -e "$kunit_filter" ] || echo none >"$kunit_filter"
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
	left=$(resources_left)
	[ -z "$left" ] || finish "left behind by te: $left"
}
