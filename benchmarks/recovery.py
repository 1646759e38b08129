"""How long recoveries take: after an exception, after the death of a node, after a cut of its network.

    python benchmarks/recovery.py [--quick] [--json FILE] [--only WORD]

Every time ends at the first instruction of the restarted program, which reads the clock itself.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from measure import (
    CLUSTERS,
    RULES,
    Cluster,
    Figure,
    NotHereError,
    Part,
    Protected,
    arguments,
    median,
    run_parts,
    scratch,
    slurm,
    stamps,
    until,
)

_EXIT_RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app] LIMIT 1000
EXCEPTION DETECTION CRASH EXIT ANY
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE {"environment": {"AFTER_CRASH": "1"}}
"""
# One rank: the clock first. In the attempts that are to fail the first rank says so and waits for its end, or
# all of them end by themselves.
_RANK = """\
#!/bin/bash
now=$EPOCHREALTIME
echo "$now ${WHESL_RESTART_COUNT:-bare}.${SLURMD_NODENAME:-${FLUX_TASK_RANK:-$(hostname)}}" >> {place}/stamps
[ -n "$BARE" ] && exit 0
if [ -n "$DIE_AT" ]; then
  left=$((DIE_AT - ${EPOCHREALTIME/./}))
  [ "$left" -gt 0 ] && sleep "$(printf '%d.%06d' $((left / 1000000)) $((left % 1000000)))"
  echo "$EPOCHREALTIME killed" >> {place}/killed
  kill -9 $$
fi
rank=${SLURM_PROCID:-${FLUX_TASK_RANK:-0}}
if [ "$WHESL_RESTART_COUNT" -lt {failures} ] && { [ -n "{exits}" ] || [ "$rank" = 0 ]; }; then
  # When all ranks run, and at first also the agents on the nodes.
  [ "$WHESL_RESTART_COUNT" = 0 ] && sleep 2
  sleep 0.4
  [ -n "{exits}" ] && exit 3
  echo "bench: boom"
fi
if [ "$WHESL_RESTART_COUNT" -lt {failures} ] || [ -n "{wait}" ]; then
  for i in $(seq 2400); do [ -e {place}/done ] && exit 0; sleep 0.05; done
  exit 1
fi
"""
# What users write: a script that calls a launcher.
_SCRIPT = """\
#!/bin/bash
echo "$EPOCHREALTIME script" >> {place}/scripts
{launcher} {place}/rank
"""
# The same command again and again in the same allocation, as a user's own loop would restart it.
_BARE = """\
sleep 1
for i in $(seq {times}); do
  echo "$EPOCHREALTIME begin" >> {place}/bare
  BARE=1 bash {place}/script > /dev/null 2>&1
done
"""
# The same with what a recovery cannot do without: all ranks are killed (by themselves, in the same moment),
# the launcher ends by itself, and only then the command is started again.
_KILLED = """\
for i in $(seq {times}); do
  DIE_AT=$((${EPOCHREALTIME/./} + 600000)) bash {place}/script > /dev/null 2>&1
  BARE=1 bash {place}/script > /dev/null 2>&1
done
"""


def main() -> None:
    """Measure."""
    options = arguments("How long recoveries take.")
    parts: list[Part] = [("exception, host", _exception_on_the_host)]
    for name in CLUSTERS:
        parts.append((f"exception, {name}", partial(_exception, name)))
    parts.append(("least, Slurm", _least))
    for name in CLUSTERS:
        parts.append((f"exit, {name}", partial(_exception, name, exits=True)))
    for name in CLUSTERS:
        parts.append((f"node killed, {name}", partial(_node_killed, name)))
    parts.append(("network cut, Slurm", _cut))
    run_parts(options, parts)


def _write(place: Path, launcher: str, *, failures: int, wait: bool = False, exits: bool = False) -> Path:
    rank, script = place / "rank", place / "script"
    text = _RANK.replace("{place}", str(place)).replace("{failures}", str(failures))
    rank.write_text(text.replace("{wait}", "1" if wait else "").replace("{exits}", "1" if exits else ""))
    script.write_text(_SCRIPT.replace("{place}", str(place)).replace("{launcher}", launcher))
    rank.chmod(0o755)
    script.chmod(0o755)
    return script


def _after(times: list[float], stamped: list[tuple[float, str]]) -> list[float]:
    """Return how long after each time the next stamp was made."""
    return [min(stamp for stamp, _ in stamped if stamp > time) - time for time in times]


# Exceptions -----------------------------------------------------------------------------------------


def _exception_on_the_host(quick: bool) -> list[Figure]:
    times = 5 if quick else 30
    with scratch() as place:
        script = _write(place, "", failures=times)
        made = Protected(place)
        subprocess.run(
            made.command(script), check=True, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        taken = _after(made.times("raised"), stamps(place / "stamps"))
        subprocess.run(["bash", "-c", _BARE.format(place=place, times=times)], check=True, cwd=place)
        bare = _bare(place)
    return _compared("exception", "host", taken, bare, target=None)


def _exception(name: str, quick: bool, *, exits: bool = False) -> list[Figure]:
    """Measure a step's restart; ``exits``: its ranks end by themselves, and nothing has to be killed."""
    times = 5 if quick else 30
    with CLUSTERS[name](3) as (cluster, place):
        script = _write(place, cluster.launcher, failures=times, exits=exits)
        made = Protected(place, _EXIT_RULES if exits else RULES)
        line = made.line(script, "--nodes", "2", *cluster.options)
        job = f"#!/bin/bash\ncd {place}\n{line} > {place}/out 2> {place}/err\n"
        job += _BARE.format(place=place, times=times)
        if not exits:
            job += _KILLED.replace("{place}", str(place)).replace("{times}", str(times))
        cluster.submit(f"{job}touch {place}/over\n", 3)
        until((place / "over").exists, f"{name}: the end of the job", 40 + 8 * times)
        taken = _after(made.times("raised"), stamps(place / "stamps"))
        bare, killed = _bare(place), _killed(place)
    what = "exception after an exit" if exits else "exception"
    figures = _compared(what, name, taken, bare, target=None if "Flux" in name else 1.3)
    if exits:
        return figures
    floor = median(killed)
    return [
        *figures,
        Figure(f"ranks killed, and a bare relaunch after, {name}, median", floor * 1e3, "ms"),
        Figure(f"exception as a multiple of that, {name}", median(taken) / floor, "x"),
    ]


def _least(quick: bool) -> list[Figure]:
    """Measure a supervisor that only kills, waits, looks once more and starts (``supervisor.py``)."""
    times = 5 if quick else 30
    with slurm(3) as (cluster, place):
        script = _write(place, cluster.launcher, failures=times)
        program = Path(__file__).with_name("supervisor.py")
        line = shlex.join([sys.executable, str(program), str(script), str(times), str(place / "raised")])
        bare = _BARE.format(place=place, times=times)
        cluster.submit(f"#!/bin/bash\ncd {place}\n{line} 2> {place}/err\n{bare}touch {place}/over\n", 3)
        until((place / "over").exists, "the end of the job", 40 + 8 * times)
        raised = [float(time) for time in (place / "raised").read_text().split()]
        taken, floor = _after(raised, stamps(place / "stamps")), _bare(place)
    return _compared("least sound recovery", "Slurm", taken, floor, target=None)


def _bare(place: Path) -> list[float]:
    begun = [time for time, _ in stamps(place / "bare")]
    first = [time for time, word in stamps(place / "stamps") if word.startswith("bare")]
    return [min(stamp for stamp in first if stamp > time) - time for time in begun]


def _killed(place: Path) -> list[float]:
    """Return how long after the last rank's death the program ran again."""
    died = sorted(time for time, _ in stamps(place / "killed"))
    first = [time for time, word in stamps(place / "stamps") if word.startswith("bare")]
    # Two ranks each; both have ended before the next start.
    return [min(stamp for stamp in first if stamp > time) - time for time in died[1::2]]


def _compared(
    what: str, name: str, taken: list[float], bare: list[float], *, target: float | None
) -> list[Figure]:
    floor = median(bare)
    multiple = f"{what} as a multiple of the bare relaunch, {name}"
    return [
        Figure(f"bare relaunch to first instruction, {name}, median", floor * 1e3, "ms"),
        Figure(
            f"{what} raised to first instruction, {name}, median",
            median(taken) * 1e3,
            "ms",
            floor=floor * 1e3,
            note=f"worst {max(taken) * 1e3:.0f} ms of {len(taken)}",
        ),
        Figure(multiple, median(taken) / floor, "x", target),
    ]


# Nodes ----------------------------------------------------------------------------------------------

_LIMITS = {
    "local": (None, None),
    "Slurm": (0.5, 1.5),
    "Slurm with Flux inside": (0.5, 1.5),
    "Flux": (0.25, None),
}


def _node_killed(name: str, quick: bool) -> list[Figure]:
    """Kill a node of two under a program, several times in one allocation, which has that many spares."""
    times, each = (3, 3) if quick else (20, 5)
    taken: list[float] = []
    bare: list[float] = []
    while len(taken) < times:
        with CLUSTERS[name](2 + each) as (cluster, place):
            taken += _kills(cluster, place, each)
            bare += _bare(place)
    middle, worst = _LIMITS[name]
    what = f"node killed to running on the spare, {name}"
    return [
        Figure(f"{what}, median", median(taken), "s", middle, floor=median(bare)),
        Figure(f"{what}, worst of {len(taken)}", max(taken), "s", worst, floor=max(bare)),
    ]


def _kills(cluster: Cluster, place: Path, times: int, limit: float = 3.0) -> list[float]:
    made = _protect(cluster, place, times, limit)
    taken = []
    for number in range(times):
        active = _active(made)
        begun = time.time()
        cluster.kill(active[1])
        ranks = until(partial(_ranks, place, number + 1), f"{cluster.name}: ranks on the spare")
        taken.append(max(ranks) - begun)
        if "--timeline" in sys.argv or "-v" in sys.argv:
            _show(made, place, begun)
    (place / "done").touch()
    until(lambda: "ended" in made.kinds() or (made.directory.result_file).exists(), "the end")
    return taken


def _protect(cluster: Cluster, place: Path, spares: int, limit: float) -> Protected:
    script = _write(place, cluster.launcher, failures=0, wait=True)
    made = Protected(place, RULES)
    line = made.line(script, "--nodes", "2", "--heartbeat-limit", str(limit), *cluster.options)
    # The floor first, while all nodes live: the launcher by itself.
    bare = _BARE.format(place=place, times=5)
    cluster.submit(f"#!/bin/bash\ncd {place}\n{bare}{line} > {place}/out 2> {place}/err\n", 2 + spares)
    until(lambda: _ranks(place, 0), f"{cluster.name}: both ranks")
    until(lambda: len(set(_agents(made))) == 1 + spares, f"{cluster.name}: the agents")
    time.sleep(1.0)
    return made


def _agents(made: Protected) -> list[str]:
    return [data["node"] for kind, data, _ in made.records() if kind == "agent"]


def _active(made: Protected) -> list[str]:
    nodes: list[str] = [data["nodes"] for kind, data, _ in made.records() if kind == "attempt"][-1]
    return nodes


def _ranks(place: Path, attempt: int) -> list[float]:
    """Return when the two ranks of an attempt began, nothing before both have."""
    found = [time for time, word in stamps(place / "stamps") if word.startswith(f"{attempt}.")]
    return found if len(found) == 2 else []


def _show(made: Protected, place: Path, begun: float) -> None:
    """Print when what happened after a node's death, ms."""
    happened = [(when, kind) for kind, _, when in made.records() if when > begun]
    happened += [item for item in (*stamps(place / "scripts"), *stamps(place / "stamps")) if item[0] > begun]
    print("   ", ", ".join(f"{what} {(when - begun) * 1e3:.0f}" for when, what in sorted(happened)))


def _cut(quick: bool) -> list[Figure]:
    """Cut a node's network: nobody can know more than that it is silent, so its lease has to run out."""
    limit = 3.0
    taken = []
    for _ in range(1 if quick else 3):
        with slurm(4, "net") as (cluster, place):
            made = _protect(cluster, place, 2, limit)
            begun = time.time()
            cluster.bed.cut(_active(made)[1])  # type: ignore[attr-defined]
            taken.append(max(until(lambda: _ranks(place, 1), "ranks on the spare")) - begun)
            (place / "done").touch()
    return [
        Figure(
            "node cut off to running on the spare, Slurm, worst",
            max(taken),
            "s",
            limit + 1.0,
            floor=limit,
            note=f"heartbeat limit {limit:g} s",
        )
    ]


if __name__ == "__main__":
    try:
        main()
    except NotHereError as error:
        sys.exit(str(error))
