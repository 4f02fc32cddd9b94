# SPDX-License-Identifier: GPL-2.0
#
# Counts the results in KTAP output and shows those that are not passes
#
# usage: awk [-v suite=NAME] -f ktap.awk FILE
#
# With "suite", FILE is a kernel log and only that KUnit suite counts.  Prints
# "PASSED FAILED SKIPPED" as the last line.  A plan that is not fulfilled, no
# plan at all, and a suite that is not there, each are a failure.

function complain(what) {
	print "\t" what
}

function plan_done() {
	if (suite == "" && planned >= 0 && results != planned) {
		complain("planned " planned " tests, found " results)
		failed++
	}
	planned = -1
	results = 0
}

BEGIN {
	planned = -1
	inside = suite == ""
}

suite != "" {
	sub(/^(<[0-9]+>)?\[ *[0-9.]+\] /, "")
	if ($0 ~ "# Subtest: " suite "$")
		inside = found = 1
	else if ($0 ~ "^(not )?ok [0-9]+ " suite "$")
		inside = 0
}

!inside { next }

/^ *1\.\.[0-9]+/ && suite == "" {
	plan_done()
	found = 1
	split($1, part, ".")
	planned = part[3] + 0
	if (planned == 0) {
		complain($0)
		skipped++
	}
	next
}

/^Bail out!/ { complain($0); failed++ }

/^ *ok [0-9]+ .*# SKIP/ { results++; skipped++; next }
/^ *ok [0-9]+ / { results++; passed++; next }
/^ *not ok [0-9]+ / {
	results++
	failed++
	complain($0)
	for (i = 1; i <= held; i++)
		complain(hold[i])
}

# What a test says before its result may be why it failed.
/^ *#/ {
	if (held < 20)
		hold[++held] = $0
	next
}

{ held = 0 }

END {
	plan_done()
	if (!found) {
		complain("no results")
		failed++
	}
	print passed + 0, failed + 0, skipped + 0
}
