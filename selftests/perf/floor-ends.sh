#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# floor-ends.sh: the bare loop's module, in a guest on `wire` without te: it moves
# right bytes (it compares them itself), refuses what it cannot do, and gives
# everything back when its run ends early. For kernels that watch. Prints KTAP.

set -u
cd "$(dirname "$0")/../.." || exit 1
file=/sys/kernel/debug/te_floor/run
count=0
failed=0

# result NAME: of the command before it
result()
{
	local status=$?
	count=$((count + 1))
	if [ "$status" = 0 ]; then
		echo "ok $count $1"
	else
		echo "not ok $count $1"
		failed=1
	fi
}

# shellcheck disable=SC2016 # for the inner shell
writer=(bash -c 'echo "$@" >"$0" 2>/dev/null' "$file")

run()
{
	"${writer[@]}" "$@" 2>/dev/null
}

tcp()
{
	bash -c 'echo "$@" >"$0" 2>/dev/null' "${file%run}tcp" "$@" 2>/dev/null
}

fails()
{
	! "$@"
}

# What side B's device holds.
held()
{
	rdma resource show | grep " $TE_DEV_B:"
}

running()
{
	local try
	for ((try = 0; try < 300; try++)); do
		[ "$(held)" = "$before" ] || return 0
		sleep 0.1
	done
	return 1
}

killed()
{
	local pid
	"${writer[@]}" write 65536 65536 2 128 600000 &
	pid=$!
	running && kill -KILL "$pid" && ! wait "$pid" && [ "$(held)" = "$before" ]
}

# The devices go while it runs: the run ends first.
device_goes()
{
	local pid
	"${writer[@]}" read 64 64 2 128 600000 &
	pid=$!
	running && rdma link delete "$TE_DEV_A" && ! wait "$pid" &&
		[ "$(held)" = "$before" ]
}

echo "# begin $TE_KERNEL/$TE_NET perf/floor"
echo "1..22"
before=$(held)
fails insmod "build/floor/$TE_KERNEL/te_floor.ko" addr_a="$TE_ADDR_A" 2>/dev/null
result "no address"
insmod "build/floor/$TE_KERNEL/te_floor.ko" addr_a="$TE_ADDR_A" \
	addr_b="$TE_ADDR_B"
result "load"
for words in "write 64 64 1 16 100" "read 1048576 65536 2 128 100" \
	"write 4194304 262144 1 16 100"; do
	# shellcheck disable=SC2086 # several words
	run $words && grep -q '^requests [1-9]' "$file"
	result "$words"
done
for words in "" "write 64 64 1 16" "erase 64 64 1 16 100" \
	"write 65536 131072 1 16 100" "write 64 64 5 16 100" \
	"write 64 64 1 17 100"; do
	# shellcheck disable=SC2086 # several words
	fails run $words
	result "refused: $words"
done
for words in "splice 4096 4 100" "copy 65536 1 100" "copy 1048576 16 100"; do
	# shellcheck disable=SC2086 # several words
	tcp $words && grep -q '^requests [1-9]' "$file"
	result "tcp $words"
done
for words in "" "send 65536 1 100" "copy 65535 1 100" "copy 65536 17 100" \
	"copy 65536 1 60001"; do
	# shellcheck disable=SC2086 # several words
	fails tcp $words
	result "refused: tcp $words"
done
killed
result "its process is killed"
device_goes
result "a device goes"
fails run write 64 64 1 16 100 && rmmod te_floor && [ "$(held)" = "$before" ]
result "no device, unload"
echo "# end $TE_KERNEL/$TE_NET perf/floor $failed"
exit "$failed"
