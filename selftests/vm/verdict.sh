# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What counts as a complaint in a kernel log. Sourced.

# One pattern a line, extended regular expressions.
complaints=$(cat <<'PATTERNS'
WARNING: 
BUG: 
kernel BUG at
Oops
Internal error
general protection fault
Kernel panic
KASAN: 
KCSAN: 
UBSAN: 
KFENCE: 
ODEBUG: 
DEBUG_LOCKS_WARN_ON
INFO: task .* blocked for more than
INFO: trying to register non-static key
rcu.*detected.* stall
rcu: INFO: 
soft lockup
hard LOCKUP
workqueue lockup
refcount_t: 
scheduling while atomic
sleeping function called from invalid context
possible (recursive|circular|irq lock inversion|deadlock)
suspicious RCU usage
(list_add|list_del) corruption
unreferenced object 0x
Objects remaining
detected buffer overflow
usercopy: Kernel memory
unregister_netdevice: waiting for
(Out of memory|Memory cgroup out of memory): Killed process
] +not ok [0-9]+ 
PATTERNS
)

# Of the races that KCSAN reports, those that te is not part of are not its own:
# it is in none of the stacks. What was queued ("Workqueue:") says nothing: the
# workqueue's own counters race. Nor does who asks what time it is: the kernel's clock is
# read while it is set, and again if that mattered (ktime_get_mono_fast_ns()). Blanks
# them, so that line numbers stay.
without_foreign_races()
{
	awk '
	/KCSAN: / { inside = 1; ours = 0; n = 0; clock = / timekeeping_update[[:space:]]*$/ }
	!inside { print; next }
	{ held[++n] = $0; ours = ours || (/\[te\]/ && !/Workqueue: / && !clock) }
	/] =======/ { flush() }
	END { flush() }
	function flush(i)
	{
		for (i = 1; i <= n; i++)
			print ours ? held[i] : ""
		inside = n = 0
	}' "$1"
}

# klog_complaint FILE: prints the first complaint as LINE:TEXT; status 1 if none
klog_complaint()
{
	without_foreign_races "$1" |
	grep -a -n -m 1 -E -f <(printf '%s\n' "$complaints")
}

# fell_to_a_patch KLOG UP: the kernel died of an int3 before there was the file UP
fell_to_a_patch()
{
	[ ! -e "$2" ] && grep -a -q 'Oops: int3: ' "$1"
}
