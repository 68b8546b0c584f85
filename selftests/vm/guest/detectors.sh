# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2154
#
# What a debug kernel knows at the end of a run but does not say by itself. Each
# does nothing on a kernel without that detector. Sourced by guest.sh, which
# provides finish().

debugfs=/sys/kernel/debug

# A leaked object shows in the second scan, once it is older than 5 seconds. KUnit
# 6.12 leaks each mm that kunit_vm_mmap() makes: kthread_use_mm() takes a reference
# that the end of the thread does not drop. And the kernel leaks the name of a cache
# that it has no memory to show in sysfs: sysfs_slab_add() does not put the kobject.
leaks_ask()
{
	local file=$debugfs/kmemleak
	[ -e "$file" ] || return 0
	# One that has switched itself off refuses, and would show no leak.
	{ echo scan >"$file" && sleep 6 && echo scan >"$file"; } ||
		finish "kmemleak does not scan"
	awk '/^unreferenced/ { if (!known) printf "%s", object
			       object = ""; known = 0 }
	     /kunit_vm_mmap_init|sysfs_slab_add/ { known = 1 }
	     { object = object $0 "\n" }
	     END { if (!known) printf "%s", object }' "$file" >/run/leaks
	[ -s /run/leaks ] || return 0
	head -n 60 /run/leaks | while IFS= read -r line; do
		echo "te: $line" >/dev/kmsg
	done
	finish "kmemleak: $(grep -c '^unreferenced' /run/leaks) objects"
}

# lockdep switches itself off at its first report, and says nothing ever after.
lockdep_ask()
{
	[ -e /proc/lockdep_stats ] || return 0
	grep -q 'debug_locks: *1$' /proc/lockdep_stats ||
		finish "lockdep has switched itself off"
}

detectors_ask()
{
	lockdep_ask
	leaks_ask
}

# The kernel keeps the counters of te.ko after it is unloaded, under the path
# that it was built in.
coverage_keep()
{
	local from=$debugfs/gcov$te_build/$TE_KERNEL to
	[ -d "$from" ] || return 0
	[ -d "$te_build/coverage" ] || return 0	# nobody asked
	to=$(mktemp -d "$te_build/coverage/raw.XXXXXX") || return 0
	(
		cd "$from" || exit
		find . -name '*.gcda' | while IFS= read -r file; do
			mkdir -p "$to/${file%/*}"
			cat "$file" >"$to/$file"
		done
	)
}
