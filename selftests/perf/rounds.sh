#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rounds.sh: the measurement of bench.sh, inside a guest. Each round runs te, the
# bare loop and the rival, each with one QP and with two; after the rounds come
# the medians. Anything that fails ends it: a number that is missing is not a
# result. At the end, growth.c.

set -eu
cd "$(dirname "$0")/../.."
bench=build/tools/te-bench/te-bench
depth=128
slice=65536	# te cuts requests there, so the bare loop does
floor=/sys/kernel/debug/te_floor/run
dir=$(mktemp -d)
pids=()
target=''
loaded=''

cleanup()
{
	local pid
	for pid in "${pids[@]}" ${target:+"$target"}; do
		kill "$pid" 2>/dev/null || true
	done
	wait
	rmmod te_floor 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT

die()
{
	echo "# $*"
	cat "$dir/out" "$dir/err" 2>/dev/null | sed 's/^/# /' | tail -n 20
	exit 1
}

# json KEY: of the object in $dir/out
json()
{
	sed -n "s/.*\"$1\": *\"\{0,1\}\([^,\"}]*\).*/\1/p" "$dir/out" | head -n 1
}

# Ticks of all CPUs that were not idle.
busy()
{
	awk '/^cpu / { print $2 + $3 + $4 + $7 + $8; exit }' /proc/stat
}

target_stop()
{
	[ -n "$target" ] || return 0
	kill "$target"
	wait "$target" || true
	target=''
}

# te_load QPS: te with so many QPs for each endpoint, and a target.
te_load()
{
	local try error=''
	[ "$loaded" != "$1" ] || return 0
	target_stop
	for ((try = 0; try < 100; try++)); do
		grep -q '^te ' /proc/modules || break
		error=$(rmmod te 2>&1) || sleep 0.1
	done
	insmod "build/$TE_KERNEL/te.ko" num_qp="$1" || die "load te: $error"
	loaded=$1
	rm -f "$dir/target"
	"$bench" --mode=target --segment_name=bench --buffer_size=4M \
		>"$dir/target" 2>&1 &
	target=$!
	for ((try = 0; try < 100; try++)); do
		! grep -qs '^ready' "$dir/target" || return 0
		sleep 0.1
	done
	cat "$dir/target"
	die "the target is not ready"
}

# te OP SIZE QPS [WRAPPER...]: sets bytes, requests, rate (MB/s). Its memory is
# as much as perftest's, which sends one block over and over: with more, the
# two would differ by what the caches hold, not by who posts.
te()
{
	local op=$1 size=$2 qps=$3
	shift 3
	te_load "$qps"
	"$@" "$bench" --mode=initiator --operation="$op" --block_size="$size" \
		--segment_id="$TE_ADDR_B/bench" --protocol=rdma \
		--batch_size=$depth \
		--buffer_size="$((size < 65536 ? 65536 : size))" --share \
		--duration="$secs" --json \
		>"$dir/out" 2>"$dir/err" || die "te-bench $op $size: status $?"
	bytes=$(json bytes) requests=$(json requests) rate=$(json mb_per_s)
	[ "${rate:-none}:$(json failed)" = "$rate:0" ] || die "te-bench $op $size"
}

# rival OP SIZE QPS [WRAPPER...]: the same. Perftest turns cycles into time by a
# clock that it measures, badly in a guest: count what it completed in the time
# that it was given, which is right.
rival()
{
	local op=$1 size=$2 qps=$3 server line try
	local args=(-s "$size" -q "$qps" -t "$depth" -D "$secs" -f 0 -F)
	shift 3
	"ib_${op}_bw" -d "$TE_DEV_B" "${args[@]}" >"$dir/server" 2>&1 &
	server=$!
	pids+=("$server")
	# It listens when it has made its QPs.
	for ((try = 0; try < 100; try++)); do
		! ss -ltn | grep -q ':18515 ' || break
		sleep 0.1
	done
	"$@" "ib_${op}_bw" -d "$TE_DEV_A" "${args[@]}" "$TE_ADDR_B" \
		>"$dir/out" 2>"$dir/err" || die "ib_${op}_bw $size: status $?"
	wait "$server" || die "ib_${op}_bw $size: server's status $?"
	# bytes iterations peak average message-rate
	line=$(grep -E '^ *[0-9]+ +[0-9]+ ' "$dir/out" | tail -n 1)
	[ -n "$line" ] || die "ib_${op}_bw $size: no result"
	requests=$(awk '{ print $2 }' <<<"$line")
	bytes=$((requests * size))
	rate=$(awk -v b="$bytes" -v t="$secs" 'BEGIN { print b / t / 1e6 }')
}

# bare OP SIZE QPS: the same, by the loop in floor/.
bare()
{
	local op=$1 size=$2 qps=$3 ns
	echo "$op $size $((size < slice ? size : slice)) $qps $depth" \
		"$((secs * 1000))" >"$floor" || die "bare loop $op $size"
	read -r _ requests _ bytes _ ns <"$floor"
	rate=$(awk -v b="$bytes" -v t="$ns" 'BEGIN { print b * 1e3 / t }')
}

# measured WHO OP SIZE QPS: appends rate, and CPU seconds per GiB, to files.
measured()
{
	local file=$dir/$1.$4 before after
	before=$(busy)
	"$@"
	after=$(busy)
	echo "$rate" >>"$file"
	awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v b="$bytes" \
		'BEGIN { print t / hz / (b / 1073741824) }' >>"$file.cpu"
}

median()
{
	sort -g "$dir/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# best WHO: the number of QPs that is better for it
best()
{
	awk -v a="$(median "$1.1")" -v b="$(median "$1.2")" \
		'BEGIN { print (a > b) ? 1 : 2 }'
}

# line WORD NAME A B: with their ratio
line()
{
	awk -v w="$1" -v n="$2" -v a="$3" -v b="$4" 'BEGIN {
		printf "%s %s %.1f %.1f %.2f\n", w, n, a, b, a / b }'
}

name_of()
{
	if [ "$1" -ge 1048576 ]; then
		echo "$(($1 / 1048576))MiB"
	elif [ "$1" -ge 1024 ]; then
		echo "$(($1 / 1024))KiB"
	else
		echo "$1B"
	fi
}

# compare OP SIZE
compare()
{
	local op=$1 size=$2 name i qps rounds=${ROUNDS:-5} t b r
	name=$TE_KERNEL/$op/$(name_of "$size")
	rm -f "$dir"/te.[12]* "$dir"/bare.[12]* "$dir"/rival.[12]*
	for ((i = 0; i < rounds; i++)); do
		for qps in 1 2; do
			measured te "$op" "$size" "$qps"
			measured bare "$op" "$size" "$qps"
			measured rival "$op" "$size" "$qps"
		done
	done
	t=$(best te) b=$(best bare) r=$(best rival)
	line ratio "$name" "$(median "te.$default")" "$(median "rival.$r")"
	line floor "$name" "$(median "te.$default")" "$(median "bare.$default")"
	line ratio-best "$name/te-$t-rival-$r" "$(median "te.$t")" \
		"$(median "rival.$r")"
	line floor-best "$name/te-$t-floor-$b" "$(median "te.$t")" \
		"$(median "bare.$b")"
	printf 'cpu %s %.2f %.2f %.2f\n' "$name" "$(median "te.$default.cpu")" \
		"$(median "rival.$r.cpu")" "$(median "bare.$default.cpu")"
}

# calls_of COMMAND...: system calls per 1000 requests
calls_of()
{
	"$@" strace -f -c -o "$dir/calls"
	awk -v n="$requests" \
		'$NF == "total" { printf "%.1f\n", $4 * 1000 / n }' "$dir/calls"
}

calls()
{
	local op=$1 size=$2 te
	te_load "$default"
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
if [ "$TE_KERNEL" = um ]; then
	echo "# User Mode Linux makes system calls dearer than metal does, which" \
		"hurts rivals in user space: te/floor is the fair measure."
fi

for op in ${OPS:-write read}; do
	for size in ${SIZES:-64 4096 65536 1048576}; do
		compare "$op" "$size"
	done
done
if strace -o /dev/null true 2>/dev/null; then
	for op in ${OPS:-write read}; do
		calls "$op" 4096
	done
else
	echo "# no strace on $TE_KERNEL: system calls are counted elsewhere"
fi
te_load "$default"
target_stop
build/selftests/perf/growth
