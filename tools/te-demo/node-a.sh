#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# node-a.sh ROWS: the demo's moving side, run in guest a. Appends one row for each
# step to the file ROWS; see demo.sh.

set -eu
rows=$1
host=$TE_ADDR_B
demo=build/tools/te-demo/te-demo

# te-demo's lines, those that begin with "row" into the table
fetch()
{
	local status=0
	"$demo" fetch "$host" /run/te-demo.tar >/run/te-demo.out || status=$?
	sed -n 's/^row //p' /run/te-demo.out >>"$rows"
	sed '/^row /d' /run/te-demo.out
	return "$status"
}

# field NAME: of the JSON on one line in $result
field()
{
	sed -E "s/.*\"$1\":\"?([^,\"}]*).*/\1/" <<<"$result"
}

# bench rdma|tcp read|write
bench()
{
	local result protocol=$1
	shift
	result=$(build/tools/te-bench/te-bench --segment_id="$host/te-bench" \
		--protocol="$protocol" --operation="$1" --duration=5 --verify --json)
	echo "$result"
	printf '%s;%s;%.2f;%.1f;%s\n' "te-bench $1, 64 KiB, $protocol" \
		"$(field bytes)" "$(field seconds)" "$(field mb_per_s)" \
		"both sides $(field verify)" >>"$rows"
}

fetch
bench rdma read
bench rdma write
bench tcp read
bench tcp write
"$demo" bye "$host"
