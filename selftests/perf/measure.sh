# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # for and from who sources it
#
# measure.sh: what rounds.sh, sockets.sh and pair.sh have in common: how te-bench and
# iperf3 are run, and what is made of numbers. Sourced, never run, inside a guest. Anything that fails
# ends it: a number that is missing is not a result.
#
# From who sources it: protocol, depth (requests of a batch), secs, iperf_host.

bench=build/tools/te-bench/te-bench
floor=/sys/kernel/debug/te_floor
dir=$(mktemp -d)
pids=()
target=''
loaded=none

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

# te_load PARAM...: te with these parameters, and a target.
te_load()
{
	local try error=''
	[ "$loaded" != "$*" ] || return 0
	target_stop
	for ((try = 0; try < 100; try++)); do
		grep -q '^te ' /proc/modules || break
		error=$(rmmod te 2>&1) || sleep 0.1
	done
	insmod "build/$TE_KERNEL/te.ko" "$@" || die "load te: $error"
	loaded=$*
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

# te_bench OP SIZE [WRAPPER...]: sets bytes, requests, rate (MB/s). Its memory is
# as much as that of rivals that send one block over and over: with more, the two
# would differ by what the caches hold, not by who posts.
te_bench()
{
	local op=$1 size=$2
	shift 2
	"$@" "$bench" --mode=initiator --operation="$op" --block_size="$size" \
		--segment_id="$TE_ADDR_B/bench" --protocol="$protocol" \
		--batch_size="$depth" \
		--buffer_size="$((size < 65536 ? 65536 : size))" --share \
		--duration="$secs" --json \
		>"$dir/out" 2>"$dir/err" || die "te-bench $op $size: status $?"
	bytes=$(json bytes) requests=$(json requests) rate=$(json mb_per_s)
	[ "${rate:-none}:$(json failed)" = "$rate:0" ] || die "te-bench $op $size"
}

# iperf OP SIZE CONNECTIONS[z] [WRAPPER...]: the same; z: without a copy to send
iperf()
{
	local op=$1 size=$2 args=(-P "${3%z}")
	[ "$op" = write ] || args+=(-R)
	[ "$3" = "${3%z}" ] || args+=(-Z)
	shift 3
	"$@" iperf3 -c "$iperf_host" -l "$size" -t "$secs" -O 0 -J "${args[@]}" \
		>"$dir/out" 2>"$dir/err" || die "iperf3 $op $size: status $?"
	rate=$(sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[^0-9]*\([0-9.e+]*\).*/\1/p' \
		"$dir/out" | awk '{ print $1 / 8e6 }')
	bytes=$(sed -n '/"sum_received"/,/}/s/.*"bytes":[^0-9]*\([0-9]*\).*/\1/p' \
		"$dir/out")
	[[ -n $rate && -n $bytes ]] || die "iperf3 $op $size: no result"
	requests=$((bytes / size))
}

# measured WHO OP SIZE WAY: appends rate, and CPU seconds per GiB, to files.
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

# better WAY WAY...: of iperf3's, the best one's median
better()
{
	local way
	for way; do
		echo "$(median "iperf.$way") $way"
	done | sort -g | tail -n 1
}

# line WORD NAME A B: with their ratio
line()
{
	awk -v w="$1" -v n="$2" -v a="$3" -v b="$4" 'BEGIN {
		printf "%s %s %.1f %.1f %.2f\n", w, n, a, b, a / b }'
}

# sweep SIZE...: compare, of who sources this, for each operation and size
sweep()
{
	local op size
	for op in ${OPS:-write read}; do
		for size in ${SIZES:-"$@"}; do
			compare "$op" "$size"
		done
	done
}

# calls_of COMMAND...: system calls per 1000 requests
calls_of()
{
	"$@" strace -f -c -o "$dir/calls"
	awk -v n="$requests" \
		'$NF == "total" { printf "%.1f\n", $4 * 1000 / n }' "$dir/calls"
}

# count_calls SIZE...: calls, of who sources this, for each operation and size
count_calls()
{
	local op size
	if ! strace -o /dev/null true 2>/dev/null; then
		echo "# no strace on $TE_KERNEL: system calls are counted elsewhere"
		return
	fi
	for op in ${OPS:-write read}; do
		for size; do
			calls "$op" "$size"
		done
	done
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
