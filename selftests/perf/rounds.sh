#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rounds.sh: the measurement of bench.sh, inside a guest. Each round runs te,
# then the rival with one QP, then with two; after the rounds come the medians.
# Anything that fails ends it: a number that is missing is not a result.

set -eu
cd "$(dirname "$0")/../.."
bench=build/tools/te-bench/te-bench
depth=128
dir=$(mktemp -d)
pids=()

cleanup()
{
	local pid
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	wait
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

# te OP SIZE SECONDS [WRAPPER...]: sets bytes, requests, rate (MB/s). Its memory
# is as much as perftest's, which sends one block over and over: with more, the
# two would differ by what the caches hold, not by who posts.
te()
{
	local op=$1 size=$2 secs=$3
	shift 3
	"$@" "$bench" --mode=initiator --operation="$op" --block_size="$size" \
		--segment_id="$TE_ADDR_B/bench" --batch_size=$depth \
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

# measured FILE COMMAND...: appends rate, and CPU seconds per GiB to FILE.cpu
measured()
{
	local file=$dir/$1 before after
	shift
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

name_of()
{
	[ "$1" -ge 1048576 ] && echo "$(($1 / 1048576))MiB" ||
		echo "$(($1 / 1024))KiB"
}

# compare OP SIZE
compare()
{
	local op=$1 size=$2 name te q best=0 cpu='' i rounds=${ROUNDS:-5}
	name=$TE_KERNEL/$op/$(name_of "$size")
	rm -f "$dir"/t "$dir"/q[12] "$dir"/*.cpu
	for ((i = 0; i < rounds; i++)); do
		measured t te "$op" "$size" "$secs"
		measured q1 rival "$op" "$size" 1
		measured q2 rival "$op" "$size" 2
	done
	for q in 1 2; do
		rate=$(median q$q)
		if awk "BEGIN { exit !($rate > $best) }"; then
			best=$rate cpu=$(median q$q.cpu)
		fi
	done
	te=$(median t)
	awk -v n="$name" -v t="$te" -v r="$best" 'BEGIN {
		printf "ratio %s %.1f %.1f %.2f\n", n, t, r, t / r }'
	printf 'cpu %s %.2f %.2f\n' "$name" "$(median t.cpu)" "$cpu"
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
	te=$(calls_of te "$op" "$size" "$secs")
	echo "calls $TE_KERNEL/$op/$(name_of "$size") $te" \
		"$(calls_of rival "$op" "$size" 1)"
}

# Emulated, a second is not much.
secs=4
[ "$TE_KERNEL" != um ] || secs=2
secs=${SECS:-$secs}
"$bench" --mode=target --segment_name=bench --buffer_size=256M \
	>"$dir/target" 2>&1 &
pids+=($!)
for ((try = 0; try < 100; try++)); do
	! ss -ltn | grep -q ':29797 ' || break
	sleep 0.1
done

for op in ${OPS:-write read}; do
	for size in ${SIZES:-4096 65536 1048576}; do
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
