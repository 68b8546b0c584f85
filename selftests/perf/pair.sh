#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# pair.sh: the measurement of bench.sh between two guests, see vm/README.md: te over
# TCP, and iperf3, in turns. Node b answers until node a is done. Each guest has one
# emulated CPU and a virtual NIC: what is compared is what either makes of those.

set -eu
cd "$(dirname "$0")/../.."
depth=32
# shellcheck source=selftests/perf/measure.sh
. selftests/perf/measure.sh
ended=${TE_PAUSE%/*}/bench.ended

if [ "$TE_NODE" = b ]; then
	"$bench" --mode=target --segment_name=bench --buffer_size=4M &
	pids+=("$!")
	iperf3 -s >/dev/null &
	pids+=("$!")
	until [ -e "$ended" ]; do
		sleep 1
	done
	exit
fi
trap 'touch "$ended"; cleanup' EXIT

tcp()
{
	protocol=tcp te_bench "$1" "$2"
}

compare()
{
	local op=$1 size=$2 name i best
	name=$TE_KERNEL-pair/$op/$(name_of "$size")
	rm -f "$dir"/*.[0-9a-z]*
	for ((i = 0; i < ${ROUNDS:-5}; i++)); do
		measured tcp "$op" "$size" plain
		measured iperf "$op" "$size" 1
		measured iperf "$op" "$size" 4
		measured iperf "$op" "$size" 4z
	done
	best=$(better 1 4 4z)
	line tcp-iperf3 "$name/iperf3-${best#* }" "$(median tcp.plain)" \
		"${best% *}"
	printf 'cpu %s tcp %.2f iperf3 %.2f\n' "$name" \
		"$(median tcp.plain.cpu)" "$(median "iperf.${best#* }.cpu")"
}

secs=${SECS:-4}
iperf_host=$TE_ADDR_B
answers()
{
	secs=1
	tcp write 4096
	iperf write 4096 1
}

for ((try = 0; try < 300; try++)); do
	! (answers) >/dev/null || break
	sleep 0.2
done
sweep 4096 65536 1048576
