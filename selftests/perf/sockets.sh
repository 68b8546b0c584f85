#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# sockets.sh: the measurement of bench.sh for what needs no NIC, inside a guest: te
# over TCP, plain and with checksums, iperf3 and bare loops over the same lo, and te's
# copies within the node and memcpy(). One after the other in each round; after the
# rounds come the medians. te copies what is short on its way in, like the loop that
# copies, and sends the pages of what is not, like the other one.

set -eu
cd "$(dirname "$0")/../.."
protocol=tcp
depth=32
lanes=4
iperf_host=127.0.0.1
# shellcheck source=selftests/perf/measure.sh
. selftests/perf/measure.sh

# tcp OP SIZE WAY [PARAM...]; see te_bench()
tcp()
{
	te_load tcp_lanes=$lanes "${@:4}"
	protocol=tcp te_bench "$1" "$2"
}

crc()
{
	tcp "$1" "$2" crc tcp_crc=1
}

near()
{
	te_load tcp_lanes=$lanes
	protocol=local te_bench "$1" "$2"
}

# bare OP SIZE splice|copy: the loop of floor/; both ways are one
bare()
{
	local ns
	echo "$3 $2 $lanes $((secs * 1000))" >"$floor/tcp" ||
		die "bare loop $3 $2"
	read -r _ _ _ bytes _ ns <"$floor/tcp"
	rate=$(awk -v b="$bytes" -v t="$ns" 'BEGIN { print b * 1e3 / t }')
}

# memory OP SIZE: memcpy() from one shared mapping to another
memory()
{
	build/selftests/perf/memcpy "$2" $((secs * 1000)) >"$dir/out" ||
		die "memcpy $2"
	read -r bytes rate <"$dir/out"
}

compare()
{
	local op=$1 size=$2 name i best
	name=$TE_KERNEL/$op/$(name_of "$size")
	rm -f "$dir"/*.[0-9a-z]*
	for ((i = 0; i < ${ROUNDS:-5}; i++)); do
		measured tcp "$op" "$size" plain
		measured iperf "$op" "$size" 1
		measured bare "$op" "$size" copy
		measured iperf "$op" "$size" $lanes
		[ "$splice" = no ] || measured bare "$op" "$size" splice
		measured iperf "$op" "$size" ${lanes}z
		measured near "$op" "$size" local
		measured memory "$op" "$size" copy
		measured crc "$op" "$size" plain
	done
	best=$(better 1 $lanes ${lanes}z)
	line tcp-iperf3 "$name/iperf3-${best#* }" "$(median tcp.plain)" \
		"${best% *}"
	line tcp-floor-copy "$name" "$(median tcp.plain)" "$(median bare.copy)"
	[ "$splice" = no ] || line tcp-floor-splice "$name" \
		"$(median tcp.plain)" "$(median bare.splice)"
	line tcp-crc "$name" "$(median crc.plain)" "$(median tcp.plain)"
	line local-memcpy "$name" "$(median near.local)" "$(median memory.copy)"
	printf 'cpu %s tcp %.2f iperf3 %.2f floor %.2f crc %.2f local %.2f memcpy %.2f\n' \
		"$name" "$(median tcp.plain.cpu)" "$(median "iperf.${best#* }.cpu")" \
		"$(median bare.copy.cpu)" "$(median crc.plain.cpu)" \
		"$(median near.local.cpu)" "$(median memory.copy.cpu)"
}

# Of who asks, by TCP.
calls()
{
	local op=$1 size=$2 te
	te_load tcp_lanes=$lanes
	te=$(calls_of te_bench "$op" "$size")
	echo "calls $TE_KERNEL-tcp/$op/$(name_of "$size") $te" \
		"$(calls_of iperf "$op" "$size" 1)"
}

secs=4
[ "$TE_KERNEL" != um ] || secs=2
secs=${SECS:-$secs}
insmod "build/floor/$TE_KERNEL/te_floor.ko" addr_a="$TE_ADDR_A" \
	addr_b="$TE_ADDR_B" || die "no bare loop"
splice=yes
echo "splice 65536 1 10" >"$floor/tcp" 2>/dev/null || splice=no
iperf3 -s >"$dir/server" 2>&1 &
pids+=("$!")
for ((try = 0; try < 100; try++)); do
	! ss -ltn | grep -q ':5201 ' || break
	sleep 0.1
done
sweep 4096 65536 1048576
count_calls 4096 65536
target_stop
