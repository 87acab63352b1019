# Counts test cases in ctest's LastTest.log and prints "passed failed skipped".
#
# A Catch2 program (the command's last word ends in _test) counts by its closing line; one that has none died or left early, and counts
# as one failure, whatever its exit status. Any other test counts as one case. A case that cannot run here prints
# "skipped: why" on a line of its own.

function close_test() {
  if (!inside) return
  if (catch2 && !closed) bad++
  if (catch2 && closed && !ended_well && cases_bad == 0) bad++
  if (!catch2 && ended_well) ok++
  if (!catch2 && !ended_well) bad++
  inside = 0
}

/^Unable to find executable/ { unfound = 1 }

/^Command: / {
  close_test()
  inside = 1
  catch2 = ($NF ~ /_test"$/)
  closed = cases_bad = 0
  ended_well = 0
}

/^All tests passed \(/ {
  closed = 1
  for (i = 2; i <= NF; i++) if ($i == "test" && $(i - 1) ~ /^[0-9]+$/) ok += $(i - 1)
}

/^test cases: / {
  closed = 1
  for (i = 3; i <= NF; i++) {
    if ($i == "passed") ok += $(i - 1)
    if ($i == "failed") { bad += $(i - 1); cases_bad += $(i - 1) }
  }
}

/^[ \t]*skipped: / { skip++ }

/^Test Passed\./ { ended_well = !unfound; unfound = 0 }

END {
  close_test()
  ok -= skip
  printf "%d %d %d\n", ok < 0 ? 0 : ok, bad, skip
}
