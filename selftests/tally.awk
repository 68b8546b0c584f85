# SPDX-License-Identifier: GPL-2.0-only
#
# tally: reads the output of guest.sh and run.sh and says what it comes to. A
# program that ends before its plan is done, has no plan or ends badly without
# having said why counts as failed: silence is not success. What a test says before it
# fails stands with its name, as a log may be cut before it is read. The last line is
# "N passed, N failed, N skipped"; status 0 if nothing failed or was skipped.

function fail(what)
{
	failed++
	print "# failed: " name ": " what
}

# The last lines that it printed, a few.
function explain(	i)
{
	for (i = lines > 8 ? lines - 8 : 0; i < lines; i++)
		print "#   " said[i]
}

function finish(status)
{
	if (!planned && !seen)
		fail("has no tests")
	else if (seen < planned)
		fail(planned - seen " of " planned " tests did not run")
	else if (status != 0 && status != 4 && !bad)
		fail("ended with status " status)
	name = ""
}

{
	sub(/\r$/, "")
	sub(/^[ab]\| /, "")	# node of a pair
}

/^# begin / {
	if (name != "")
		finish("none")
	name = $3 " " $4
	planned = seen = bad = lines = 0
}

/^# end / && name == $3 " " $4 { finish($5) }

/^# / && !/^# +(RUN|OK|FAIL|PASSED|Starting|begin|end) / { said[lines++] = substr($0, 3) }

/^1\.\.[0-9]+/ { planned += substr($0, 4) + 0 }

/^ok / {
	seen++
	lines = 0
	if (toupper($0) ~ /# SKIP/) {
		skipped++
		print "# skipped: " name ": " $0
	} else {
		passed++
	}
}

/^not ok / {
	seen++
	bad++
	fail(substr($0, 8))
	explain()
	lines = 0
}

END {
	if (name != "")
		finish("none")
	if (!passed && !failed)
		failed = 1
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed || skipped
}
