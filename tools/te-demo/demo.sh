#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh: two guests on stock 6.12, joined by a wire with soft-RoCE at both ends.
# Node B holds an archive of kernel modules, at least 64 MiB; node A brings it
# with one batch of READs, writes it to disk, compares, and WRITEs it back, where
# B compares; then te-bench both ways. Ends with a table. Exit status 0 only if
# every byte was right and both kernels were content.

set -eu
cd "$(dirname "$0")/../.."
vm=selftests/vm
out=build/demo
archive=$out/archive.tar
ROWS=6

# The first modules by name, until there are 64 MiB.
make_archive()
{
	local modules
	[ ! -s "$archive" ] || return 0
	modules=$("$vm/kernel.sh" modules 6.12)
	find "$modules" -type f -name '*.ko*' -printf '%s %P\n' | sort -k 2 |
	awk '{ print $2; sum += $1 } sum >= 64 * 1024 * 1024 { exit }' \
		>"$out/list"
	tar -C "$modules" -T "$out/list" -cf "$archive.part"
	mv "$archive.part" "$archive"
}

# Rows are "what;bytes;seconds;MB/s;words".
print_table()
{
	local what bytes seconds rate words
	printf '\n%-28s %14s %9s %9s  %s\n' what bytes seconds MB/s check
	while IFS=';' read -r what bytes seconds rate words; do
		printf '%-28s %14s %9s %9s  %s\n' "$what" "$bytes" \
			"$seconds" "$rate" "$words"
	done <"$out/rows"
}

"$vm/packages.sh" build-essential libssl-dev tar
make -s --no-print-directory modules-6.12 te-demo
mkdir -p "$out"
make_archive
: >"$out/rows"

status=0
"$vm/run.sh" --kernel 6.12 --net pair --time 900 --param insecure=1 \
	--b "tools/te-demo/node-b.sh $archive" -- \
	tools/te-demo/node-a.sh "$out/rows" || status=$?

print_table
if [ "$status" = 0 ] && [ "$(wc -l <"$out/rows")" = "$ROWS" ] &&
   ! grep -q DIFFERS "$out/rows"; then
	echo "demo: all checks good"
else
	echo "demo: FAILED (guests ended with status $status)"
	exit 1
fi
