#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh: what of te.ko the runs on um-kasan went through, as they left it in
# build/coverage/raw.* (guest/detectors.sh): a line per file and the total, then
# each label in the rooms that face processes and peers that was never jumped
# to, since a label is where an error is undone. Annotated sources are left in
# build/coverage/. Fails when there is no data.

set -eu
cd "$(dirname "$0")/.."
objects=build/um-kasan
all=build/coverage
labelled='chardev|mem|session|wire'

# Sums the runs, one folder at a time.
merge()
{
	local run
	rm -rf "$all/sum"
	for run in "$all"/raw.*; do
		[ -d "$run" ] || continue
		if [ -d "$all/sum" ]; then
			gcov-tool merge -o "$all/next" "$all/sum" "$run" 2>/dev/null
			rm -rf "$all/sum"
			mv "$all/next" "$all/sum"
		else
			cp -r "$run" "$all/sum"
		fi
	done
	[ -d "$all/sum" ] || { echo "# no coverage data"; exit 1; }
}

# gcov wants notes and counters side by side, and writes where it is run.
annotate()
{
	local data notes
	rm -f "$all"/*.gcov
	find "$all/sum" -name '*.gcda' | while IFS= read -r data; do
		case $data in */tests/* | */fault/*) continue ;; esac
		notes=$objects/${data#"$all/sum/"}
		cp "${notes%.gcda}.gcno" "${data%.gcda}.gcno"
		(cd "$all" && gcov -p "../../$data" >/dev/null 2>&1)
	done
}

# A line of gcov's is "count:line:text"; count is - for no code, ##### or =====
# for code that was not run. A file included by several objects (headers) has
# several tables; only .c files are told of here.
table()
{
	awk -F: -v labelled="^kmod/($labelled)/" '
	FNR == 1 {
		name = FILENAME
		gsub("#", "/", name)
		sub(/^.*\/kmod\//, "kmod/", name)
		sub(/\.gcov$/, "", name)
		wanted = name ~ /^kmod\/.*\.c$/
		label = ""
		if (wanted)
			names[++n] = name
	}
	!wanted { next }
	{
		count = $1
		gsub(/[ *]/, "", count)
		text = $3
		gsub(/^[\t ]+|[\t ]+$/, "", text)
		if (count ~ /^[0-9#=]/) {
			lines[name]++
			run = count ~ /^[0-9]/
			hit[name] += run
			if (label != "" && !run)
				missed[++m] = name ": " label
			label = ""
		}
		if (name ~ labelled && NF == 4 && $4 == "" &&
		    text ~ /^(err|out|undo)[a-z_]*$/) {
			labels++
			label = text
		}
	}
	END {
		for (i = 1; i <= n; i++) {
			name = names[i]
			printf "# %-34s %5d of %5d lines  %5.1f %%\n", name,
				hit[name], lines[name],
				100 * hit[name] / lines[name]
			sum += hit[name]; of += lines[name]
		}
		printf "# %-34s %5d of %5d lines  %5.1f %%\n", "te.ko", sum, of,
			100 * sum / of
		printf "# error labels of %s: %d, not reached: %d\n",
			labelled, labels, m
		for (i = 1; i <= m; i++)
			print "#   " missed[i]
	}' "$all"/*.gcov
}

merge
annotate
table
