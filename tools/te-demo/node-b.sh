#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# node-b.sh FILE: the demo's holding side, run in guest b: a te-bench target and
# te-demo's server, which ends when node a says bye; see demo.sh.

set -eu
out=/run/te-bench.out

build/tools/te-bench/te-bench --mode=target --verify >"$out" &
target=$!
trap 'kill "$target" 2>/dev/null || true' EXIT

until grep -q '^ready' "$out"; do
	kill -0 "$target" 2>/dev/null || exit 1
	sleep 0.1
done
build/tools/te-demo/te-demo serve "$1"

kill "$target"
status=0
wait "$target" || status=$?
cat "$out"
exit "$status"
