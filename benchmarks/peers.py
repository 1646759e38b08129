"""A crash, a hang and a full disk on the same real Slurm and study: what three peers make of them, and this.

    python benchmarks/peers.py [--quick] [--json FILE] [--only WORD]

The study has three steps: prepare (1 node), simulate (2 nodes, two ranks in step, checkpoints) and
analyse. The fault comes once, in the same cycle of simulate. Everyone restarts from the same checkpoints,
looks at its jobs as often as it allows to, and gets what its users write by hand: scripts that go on in
the second file system when they are started again, and a dependent that looks into both. ``peerstudy.py``
has all the files.

Makespan: from the command's begin to the last instruction of analyse, measured without waits in the queue.
With waits it is computed: each job of the chain waits every time that it is put into the queue, first
times included. That this adds up is measured with real holds of 20 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from accounting import lost_work, saved, with_waits
from measure import Figure, NotHereError, arguments, run_parts, scratch, stamps, until
from peerstudy import APPROACHES, FAULTS, Run, Timing, commands, hold_plugin, mount

from tests.equipment.install_slurm import missing
from tests.equipment.slurmbed import SlurmBed

WAITS = (0, 1, 10)  # minutes in the queue
HOLD = 20  # seconds, for the wait that is measured
NODES = 8  # two for each of the runs of an approach, which go side by side
APART = 7.0  # seconds between their begins
LIMIT = 600.0  # of one run, seconds
SNAKEMAKE = ("snakemake==9.27.1", "snakemake-executor-plugin-cluster-generic==1.0.9")
_MADE: dict[tuple[str, str], tuple[float, int]] = {}  # approach and fault: makespan and passes


def main() -> None:
    """Measure."""
    parts = [(name, lambda quick, name=name: _approach(name, quick)) for name in APPROACHES]
    run_parts(arguments(__doc__ or ""), [*parts, ("saved", _saved)])


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


@contextmanager
def _cluster() -> Iterator[tuple[SlurmBed, Path]]:
    if os.geteuid() != 0:
        raise NotHereError("a real Slurm has to be started by root")
    if lacking := missing():
        raise NotHereError(f"not installed: {', '.join(lacking)}")
    settings = {"JobSubmitPlugins": "lua", "MinJobAge": "3600"}
    with scratch() as place:
        place.chmod(0o755)
        directory = place / "slurm"
        hold_plugin(directory / "etc", place / "hold")
        with mount(place) as small, SlurmBed(NODES, "pid", settings=settings, directory=directory) as bed:
            assert small
            yield bed, place


def _approach(name: str, quick: bool) -> list[Figure]:
    timing = Timing(cycles=12, fault_cycle=8) if quick else Timing()
    faults = ("none", "crash") if quick else FAULTS
    if quick and name not in ("Maestro", "WHESL"):
        raise NotHereError("--quick: it takes minutes (to install; to be held by Slurm after a requeue)")
    figures: list[Figure] = []
    with _tools(name) as tools, _cluster() as (bed, place):
        attempts = []
        with ThreadPoolExecutor(len(faults)) as pool:
            for fault in faults:
                run = Run(place, name, fault, timing)
                attempts.append((run, pool.submit(_attempt, bed, run, tools)))
                time.sleep(APART)
        for run, attempt in attempts:
            if (made := attempt.result()) is None:
                continue
            makespan, passes = _MADE[name, run.fault] = made
            lost = lost_work(stamps(run.stamps("simulate")))
            for wait in WAITS:
                seconds = with_waits(makespan, passes, wait * 60)
                what = "" if wait == 0 else "computed, "
                note = f"{what}{passes} passes through the queue, lost work {lost:.1f} s"
                figures.append(Figure(f"{run.fault}, {name}, wait {wait} min", seconds, "s", note=note))
        if name in ("Maestro", "WHESL") and not quick:
            figures += _held(bed, place, name, timing, tools)
    return figures


def _held(bed: SlurmBed, place: Path, name: str, timing: Timing, tools: Path) -> list[Figure]:
    """Measure one run with a real wait, against what is computed from the one without."""
    if (name, "crash") not in _MADE:
        return []
    (place / "hold").write_text(str(HOLD))
    try:
        made = _attempt(bed, Run(place, name, "crash", timing, hold=True), tools)
    finally:
        (place / "hold").unlink()
    if made is None:
        return []
    makespan, _ = made
    computed = with_waits(*_MADE[name, "crash"], HOLD)
    return [
        Figure(f"crash, {name}, real waits of {HOLD} s", makespan, "s", note=f"computed {computed:.1f} s")
    ]


def _attempt(bed: SlurmBed, run: Run, tools: Path) -> tuple[float, int] | None:
    """Return a run's makespan and its passes through the queue; None when it did not end as it should."""
    name = f"{run.approach}, {run.fault}{', held' if run.hold else ''}"
    _say(f"{name} ...")
    run.prepare()
    begun = time.time()
    try:
        _carry_out(run, bed, tools)
        makespan = max(when for when, word in stamps(run.stamps("analyse")) if word == "end") - begun
        run.check()
    except (RuntimeError, TimeoutError, ValueError, subprocess.SubprocessError, OSError) as error:
        print(f"{name}: did not end: {error}\n{run.evidence()}", file=sys.stderr, flush=True)
        return None
    finally:
        mine = _jobs(bed, run.place)
        if mine:
            bed.run("scancel", *mine)
    passes = len(mine) + sum(mine.values())
    _say(f"{name}: {makespan:.1f} s, {passes} passes")
    return makespan, passes


def _carry_out(run: Run, bed: SlurmBed, tools: Path) -> None:
    path = f"{tools}:{Path(sys.executable).parent}:{bed.environment['PATH']}"
    environment = {**bed.environment, "PATH": path, "USER": os.environ.get("USER", "root")}
    environment["WHESL_HOME"] = str(run.home)
    environment["HOME"] = str(run.place)
    with run.log.open("ab") as log:
        for command in commands(run):
            done = subprocess.run(
                command, env=environment, cwd=run.place, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                timeout=LIMIT, check=False,
            )  # fmt: skip
            if done.returncode == 0 and run.ended():
                break

        if run.approach == "Slurm":  # the commands have only submitted
            until(run.ended, "the end of the last job", LIMIT)
        if run.approach == "WHESL":
            stop = [sys.executable, "-m", "whesl", "coordinator", "stop"]
            subprocess.run(stop, env=environment, stdout=log, stderr=log, timeout=60, check=False)


def _jobs(bed: SlurmBed, place: Path) -> dict[str, int]:
    """Return a run's jobs, which name its directory, and how often each was put into the queue again."""
    jobs = {}
    for line in bed.run("scontrol", "--oneliner", "show", "job").stdout.splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if "JobId" in words and f"{place}/" in line:
            jobs[words["JobId"]] = int(words.get("Restarts", "0"))
    return jobs


@contextmanager
def _tools(name: str) -> Iterator[Path]:
    """Give the directory of a peer's commands; Snakemake is installed for the time of the measurement.

    ``WHESL_BENCH_SNAKEMAKE`` may name the directory of one that is installed already.
    """
    if not name.startswith("Snakemake"):
        yield Path(sys.executable).parent
    elif given := os.environ.get("WHESL_BENCH_SNAKEMAKE"):
        yield Path(given)
    else:
        with scratch() as place:
            _say(f"installing {' '.join(SNAKEMAKE)} ...")
            place.chmod(0o755)
            pip = [str(place / "venv" / "bin" / "pip"), "install", "--quiet", *SNAKEMAKE]
            for command in ([sys.executable, "-m", "venv", str(place / "venv")], pip):
                done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
                if done.returncode != 0:
                    raise NotHereError(f"Snakemake could not be installed: {done.stderr[-300:].strip()}")
            yield place / "venv" / "bin"


def _saved(quick: bool) -> list[Figure]:
    """Compare with each peer what was measured before."""
    figures = []
    for fault in FAULTS[1:]:
        for peer in APPROACHES[:-1]:
            if (peer, fault) not in _MADE or ("WHESL", fault) not in _MADE:
                continue
            for wait in WAITS:
                ours, theirs = (with_waits(*_MADE[who, fault], wait * 60) for who in ("WHESL", peer))
                what = f"{fault}: makespan saved against {peer}, wait {wait} min"
                figures.append(Figure(what, saved(ours, theirs), "%"))
    return figures


if __name__ == "__main__":
    main()
