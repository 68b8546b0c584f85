#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rounds.sh: the measurement of bench.sh, inside a guest. Each round runs te, the
# bare loop and the rival, each with one QP and with two; then te where only one NIC
# may carry, and two rivals at once, one from each NIC to the other; after the rounds
# come the medians. Anything that fails ends it: a number that is missing is not a
# result. At the end, growth.c.

set -eu
cd "$(dirname "$0")/../.."
protocol=rdma
depth=128
topo=build/tools/te-topo/te-topo
slice=65536	# te cuts requests there, so the bare loop does
# shellcheck source=selftests/perf/measure.sh
. selftests/perf/measure.sh

# te OP SIZE QPS [WRAPPER...]: see te_bench()
te()
{
	te_load num_qp="$3"
	te_bench "$1" "$2" "${@:4}"
}

# te_nics OP SIZE 1: the same, as it is, over the first NIC alone
te_nics()
{
	te_load num_qp="$default"
	echo "{\"*\": [[\"$TE_DEV_A\"], []]}" | "$topo" load - || die "no matrix"
	te_bench "$1" "$2"
	"$topo" clear || die "the matrix stays"
}

# perftest_server DEV PORT ARG...: sets server; it listens when it has made its QPs
perftest_server()
{
	local dev=$1 port=$2 try
	shift 2
	"ib_${op}_bw" -d "$dev" -p "$port" "$@" >"$dir/server.$port" 2>&1 &
	server=$!
	pids+=("$server")
	for ((try = 0; try < 100; try++)); do
		! ss -ltn | grep -q ":$port " || break
		sleep 0.1
	done
}

# perftest_said FILE: what was completed: iterations
perftest_said()
{
	local line
	# bytes iterations peak average message-rate
	line=$(grep -E '^ *[0-9]+ +[0-9]+ ' "$dir/$1" | tail -n 1)
	[ -n "$line" ] || die "ib_${op}_bw $size: no result"
	awk '{ print $2 }' <<<"$line"
}

# rival OP SIZE QPS [WRAPPER...]: the same. Perftest turns cycles into time by a
# clock that it measures, badly in a guest: count what it completed in the time
# that it was given, which is right.
rival()
{
	local op=$1 size=$2 qps=$3 server
	local args=(-s "$size" -q "$qps" -t "$depth" -D "$secs" -f 0 -F)
	shift 3
	perftest_server "$TE_DEV_B" 18515 "${args[@]}"
	"$@" "ib_${op}_bw" -d "$TE_DEV_A" "${args[@]}" "$TE_ADDR_B" \
		>"$dir/out" 2>"$dir/err" || die "ib_${op}_bw $size: status $?"
	wait "$server" || die "ib_${op}_bw $size: server's status $?"
	requests=$(perftest_said out)
	bytes=$((requests * size))
	rate=$(awk -v b="$bytes" -v t="$secs" 'BEGIN { print b / t / 1e6 }')
}

# rival_nics OP SIZE 2: two at once, there and back, each with as many QPs as te has
rival_nics()
{
	local op=$1 size=$2 server first second asks
	local args=(-s "$size" -q "$default" -t "$depth" -D "$secs" -f 0 -F)
	perftest_server "$TE_DEV_B" 18515 "${args[@]}"
	first=$server
	perftest_server "$TE_DEV_A" 18516 "${args[@]}"
	second=$server
	"ib_${op}_bw" -d "$TE_DEV_B" -p 18516 "${args[@]}" "$TE_ADDR_A" \
		>"$dir/back" 2>&1 &
	asks=$!
	pids+=("$asks")
	"ib_${op}_bw" -d "$TE_DEV_A" "${args[@]}" "$TE_ADDR_B" \
		>"$dir/out" 2>"$dir/err" || die "ib_${op}_bw $size: status $?"
	wait "$asks" "$first" "$second" || die "ib_${op}_bw $size back: status $?"
	requests=$(($(perftest_said out) + $(perftest_said back)))
	bytes=$((requests * size))
	rate=$(awk -v b="$bytes" -v t="$secs" 'BEGIN { print b / t / 1e6 }')
}

# bare OP SIZE QPS: the same, by the loop in floor/.
bare()
{
	local op=$1 size=$2 qps=$3 ns
	echo "$op $size $((size < slice ? size : slice)) $qps $depth" \
		"$((secs * 1000))" >"$floor/run" || die "bare loop $op $size"
	read -r _ requests _ bytes _ ns <"$floor/run"
	rate=$(awk -v b="$bytes" -v t="$ns" 'BEGIN { print b * 1e3 / t }')
}

# best WHO: the number of QPs that is better for it
best()
{
	awk -v a="$(median "$1.1")" -v b="$(median "$1.2")" \
		'BEGIN { print (a > b) ? 1 : 2 }'
}

# compare OP SIZE
compare()
{
	local op=$1 size=$2 name i qps rounds=${ROUNDS:-5} t b r
	name=$TE_KERNEL/$op/$(name_of "$size")
	rm -f "$dir"/*.[12]*
	for ((i = 0; i < rounds; i++)); do
		for qps in 1 2; do
			measured te "$op" "$size" "$qps"
			measured bare "$op" "$size" "$qps"
			measured rival "$op" "$size" "$qps"
		done
		measured te_nics "$op" "$size" 1
		measured rival_nics "$op" "$size" 2
	done
	t=$(best te) b=$(best bare) r=$(best rival)
	line ratio "$name" "$(median "te.$default")" "$(median "rival.$r")"
	line floor "$name" "$(median "te.$default")" "$(median "bare.$default")"
	line ratio-best "$name/te-$t-rival-$r" "$(median "te.$t")" \
		"$(median "rival.$r")"
	line floor-best "$name/te-$t-floor-$b" "$(median "te.$t")" \
		"$(median "bare.$b")"
	line ratio-1nic "$name" "$(median te_nics.1)" "$(median "rival.$r")"
	line ratio-2nics "$name" "$(median "te.$default")" \
		"$(median rival_nics.2)"
	line floor-1nic "$name" "$(median te_nics.1)" "$(median "bare.$default")"
	line te-2nics "$name" "$(median "te.$default")" "$(median te_nics.1)"
	printf 'cpu %s %.2f %.2f %.2f\n' "$name" "$(median "te.$default.cpu")" \
		"$(median "rival.$r.cpu")" "$(median "bare.$default.cpu")"
}

calls()
{
	local op=$1 size=$2 te
	te_load num_qp="$default"
	te=$(calls_of te "$op" "$size" "$default")
	echo "calls $TE_KERNEL/$op/$(name_of "$size") $te" \
		"$(calls_of rival "$op" "$size" 1)"
}

# Emulated, a second is not much.
secs=4
[ "$TE_KERNEL" != um ] || secs=2
secs=${SECS:-$secs}
default=$(cat /sys/module/te/parameters/num_qp)
insmod "build/floor/$TE_KERNEL/te_floor.ko" addr_a="$TE_ADDR_A" \
	addr_b="$TE_ADDR_B" || die "no bare loop"
[ "$(nproc)" -gt 1 ] ||
	echo "# one CPU for both NICs, and for all else: two carry no more than one"
if [ "$TE_KERNEL" = um ]; then
	echo "# User Mode Linux makes system calls dearer than metal does, which" \
		"hurts rivals in user space: te/floor is the fair measure."
fi

sweep 64 4096 65536 1048576
count_calls 4096
te_load num_qp="$default"
target_stop
build/selftests/perf/growth
