"""How long it takes from a line in the task's log to the exception raised.

    python benchmarks/detection.py [--quick] [--json FILE] [--only WORD]

The program reads the clock, prints the line with that time in it, and goes on; the isolator's journal has the
time at which the exception was raised. Each line is one attempt of its own.
"""

from __future__ import annotations

import subprocess

from measure import Figure, Protected, arguments, percentile, run_parts, scratch

# Lines are written one by one, as programs do. A quiet log has nothing else in it; in a busy one about
# a megabyte a second of other lines comes before and meanwhile.
_PROGRAM = """\
#!/bin/bash
[ "$WHESL_RESTART_COUNT" -ge {times} ] && exit 0
if [ -n "{busy}" ]; then
  {{ for i in $(seq 400); do
    for j in $(seq 100); do echo "step $i of a solver: residual 0.000123, norm 1.2345, time $j.25 s"; done
  done; sleep 60; }} &
fi
sleep 0.1$((RANDOM % 10))
echo "bench: boom $EPOCHREALTIME"
sleep 60
"""


def main() -> None:
    """Measure."""
    parts = [("quiet log", lambda quick: _detect("quiet", quick))]
    parts.append(("busy log", lambda quick: _detect("busy", quick)))
    run_parts(arguments("From a line in the log to the exception raised."), parts)


def _detect(kind: str, quick: bool) -> list[Figure]:
    times = 20 if quick else 200
    with scratch() as place:
        script = place / "program"
        script.write_text(_PROGRAM.format(times=times, busy="1" if kind == "busy" else ""))
        made = Protected(place)
        with (place / "out").open("wb") as out:
            subprocess.run(made.command(script), check=True, cwd=place, stdout=out, stderr=subprocess.DEVNULL)
        delays = []
        for record, data, when in made.records():
            if record == "raised":
                line = data["raised"]["evidence"][-1]["line"]
                delays.append((when - float(line.rpartition(" ")[2])) * 1e3)
    note = f"of {len(delays)}"
    return [
        Figure(f"line to exception, {kind} log, p50", percentile(delays, 0.5), "ms", 3.0, note=note),
        Figure(f"line to exception, {kind} log, p99", percentile(delays, 0.99), "ms", 20.0, note=note),
    ]


if __name__ == "__main__":
    main()
