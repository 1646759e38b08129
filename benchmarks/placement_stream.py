"""The stream of jobs and failures that ``placement.py`` and ``placement_flux.py`` run, and what came of it.

    python benchmarks/placement_stream.py RESULTS.jsonl ...      # a table of what runs have written
    python benchmarks/placement_stream.py --lab --failures FILE --system 16 --seeds 1-20   # the lab alone

16 nodes have work for 62 % of the time, so that there is a choice of nodes. Each seed has jobs and a
window of failures of its own: of the log's second half, compressed so that 15 failures come in the time
of the stream; the learned predictor knows what came before. Modes are compared within a seed: the table
has the mean over seeds of the difference to the mode *off*, with Student's 95 % interval.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whesl.lab.readers import failures as readers
from whesl.lab.simulators.cluster.simulation import simulate
from whesl.lab.simulators.cluster.simulation_records import Workload
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.given_accuracy_predictors import exact, of_accuracy
from whesl.prediction.failures.survival import fit

NODES = 16
LIMIT = 60.0  # Slurm's shortest time limit, in seconds: the estimate of all jobs
SPAN = 180.0  # seconds in which jobs arrive
FAILURES = 15  # in this time
SHARE = 0.375
JOBS = 26
MODES = ("off", "observing", "exact", "AOA 50 %", "learned")
MEASURES = ("kills", "lost", "makespan", "wait")
Attempt = tuple[int, float, float, bool]


class RunError(Exception):
    """A run that did not come to its end: it counts for nothing, and is run again."""


class Stream(NamedTuple):
    """Jobs in order of submission: seconds, nodes, seconds."""

    submit: np.ndarray
    size: np.ndarray
    run: np.ndarray


def stream(jobs: int, seed: int) -> Stream:
    """Return a stream of jobs."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.uniform(0.0, SPAN, jobs))
    submit[0] = 0.0
    size = rng.choice([1, 2, 3, 4], jobs, p=[0.3, 0.3, 0.2, 0.2])
    return Stream(submit, size, rng.uniform(15.0, 45.0, jobs).round(1))


def failures(path: Path | None, system: str | None, seed: int) -> History:
    """Return the failures of a seed: a window of a log, or generated ones."""
    return logged(path, system, seed) if path else generated(seed)


def generated(seed: int) -> History:
    """Return failures of 16 nodes, most of them of a few; times in seconds from -20 x SPAN."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.5, 2.0, NODES) / (SPAN * 1.2)
    found = []
    for node in range(NODES):
        at = -20 * SPAN + rng.exponential(1.0 / rate[node])
        while at < 3 * SPAN:
            down = rng.lognormal(1.2, 0.6)
            found.append((node, at, at + down))
            at += down + rng.weibull(0.7) / rate[node]
    return named(merged(NODES, -20 * SPAN, 3 * SPAN, found))


def logged(path: Path, system: str | None, seed: int) -> History:
    """Return a log's failures with a window of its second half as the stream's time."""
    whole = readers.read(path, system=system).history
    node, start, end = whole.node, whole.start, whole.end
    rest = np.flatnonzero((node < NODES) & (start > whole.begin + (whole.finish - whole.begin) / 2))
    first = int(np.random.default_rng(seed).integers(0, len(rest) - 3 * FAILURES))
    begin = float(start[rest][first]) - 1.0
    scale = SPAN / float(start[rest][first + FAILURES] - begin)
    known = [
        (
            int(node[at]),
            float((start[at] - begin) * scale),
            float((start[at] - begin) * scale + down(end[at] - start[at], scale)),
        )
        for at in np.flatnonzero(node < NODES)
        if (start[at] - begin) * scale < 3 * SPAN
    ]
    return named(merged(NODES, float((whole.begin - begin) * scale), 3 * SPAN, known))


def down(seconds: float, scale: float) -> float:
    """Return how long a node is down in the stream's time: no daemon comes back in no time."""
    return float(min(max(seconds * scale, 2.0), 20.0))


def named(history: History) -> History:
    """Return the same history with the bed's names."""
    return replace(history, names=tuple(f"n{at:02d}" for at in range(1, NODES + 1)))


def without_the_leader(truth: History) -> History:
    """Return the failures of all nodes but the first from the stream's begin on."""
    kept = (truth.node != 0) | (truth.start < 0)
    return replace(
        truth, node=truth.node[kept], start=truth.start[kept], end=truth.end[kept], cause=truth.cause[kept]
    )


def learned(truth: History) -> Any:
    """Return the survival model with a rate for each node, fitted to what is before the stream."""
    fitted = fit(truth.until(0.0), ("weibull",), frailty=True)
    nodes = np.arange(NODES)
    chances = fitted.probability(nodes, np.zeros(NODES), np.full(NODES, LIMIT))
    return fitted.at_threshold(float(np.quantile(chances, 1 - SHARE)))


def given(mode: str, truth: History, seed: int) -> Any:
    """Return a mode's predictor; None where there is none to ask."""
    if mode in ("exact", "observing"):
        return exact(truth)
    if mode == "AOA 50 %":
        return of_accuracy(truth, 0.5, 0.5, seed)
    return learned(truth).observe(truth) if mode == "learned" else None


def figures(jobs: Stream, attempts: Sequence[Attempt]) -> dict[str, float]:
    """Return kills, node-seconds lost, makespan and mean wait until the last start."""
    last = {at: start for at, start, _, killed in attempts if not killed}
    lost = sum((end - start) * float(jobs.size[at]) for at, start, end, killed in attempts if killed)
    waits = [max(0.0, last[at] - float(jobs.submit[at])) for at in last]
    return {
        "kills": sum(killed for *_, killed in attempts),
        "lost": round(lost, 1),
        "makespan": round(max(end for _, _, end, killed in attempts if not killed), 1),
        "wait": round(float(np.mean(waits)), 1),
    }


def simulated(mode: str, jobs: Stream, truth: History, seed: int) -> dict[str, float]:
    """Return the same figures from the lab."""
    count = len(jobs.size)
    work = Workload(
        np.arange(count), jobs.submit.astype(float), jobs.size.astype(np.int64), jobs.run.astype(float),
        np.full(count, LIMIT), np.full(count, np.inf),
    )  # fmt: skip
    predictor = given(mode, truth, seed) if mode not in ("off", "observing") else None
    policy = "easy" if predictor is None else "reliable"
    found = simulate(work, NODES, policy, history=truth.until(np.inf), predictor=predictor).measures
    return {
        "kills": found["kills"],
        "lost": round(float(found["node_hours_lost"]) * 3600, 1),
        "makespan": round(float(found["makespan"]), 1),
        "wait": round(float(found["mean_wait"]), 1),
    }


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return the options that both benchmarks have."""
    made = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    made.add_argument("--failures", type=Path, help="a failure log, such as LANL's")
    made.add_argument("--system", help="of the log")
    made.add_argument("--jobs", type=int, default=JOBS)
    made.add_argument("--seeds", default="1", help="such as 1-5")
    made.add_argument("--modes", default=",".join(MODES))
    made.add_argument(
        "--out", type=Path, help="a line of JSON for each run is added; what is there is not run again"
    )
    return made


def run_all(
    options: argparse.Namespace,
    manager: str,
    run: Callable[[str, Stream, History, int], Sequence[Attempt]] | None,
    prepared: Callable[[History], History] = lambda truth: truth,
) -> None:
    """Run each mode of each seed, and say what came of it.

    Args:
        options: of ``parser``.
        manager: what is compared with the lab.
        run: returns the attempts of one run; None to ask the lab alone.
        prepared: what is done to the failures first.
    """
    asked = {"jobs": options.jobs, "log": f"{options.failures or 'generated'} {options.system or ''}".strip()}
    rows = read(options.out) if options.out and options.out.exists() else []
    rows = [row for row in rows if all(row.get(key) == value for key, value in asked.items())]
    done = {(row["seed"], row["mode"]) for row in rows}
    failed = []
    low, _, high = options.seeds.partition("-")
    for seed in range(int(low), int(high or low) + 1):
        jobs = stream(options.jobs, seed)
        truth = prepared(failures(options.failures, options.system, seed))
        for mode in options.modes.split(","):
            if (seed, mode) in done:
                continue
            row = {"seed": seed, "mode": mode, "manager": manager, **asked}
            row["lab"] = simulated(mode, jobs, truth, seed)
            if run is not None:
                before = os.getloadavg()[0]
                try:
                    row["real"] = figures(jobs, run(mode, jobs, truth, seed))
                except (RunError, subprocess.TimeoutExpired, OSError) as error:
                    failed.append(f"seed {seed}, {mode}: {error}")
                    print(failed[-1], file=sys.stderr, flush=True)
                    continue
                row["load"] = [round(before, 1), round(os.getloadavg()[0], 1)]
                print(json.dumps(row), flush=True)
            rows.append(row)
            if options.out:
                add(options.out, row)
    print(summary(rows))
    if failed:
        raise SystemExit("not done, the same command runs them again:\n" + "\n".join(failed))


def add(path: Path, row: dict[str, Any]) -> None:
    """Add a run to a file, in a line of its own also after one that was not written to its end."""
    with path.open("ab+") as file:
        file.seek(max(0, file.tell() - 1))
        torn = file.read() not in (b"", b"\n")
        file.write((b"\n" if torn else b"") + json.dumps(row).encode() + b"\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the runs of a file; a line that was not written to its end is a run that is not done."""
    rows = []
    for line in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            rows.append(json.loads(line))
    return rows


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Return a table: each mode's means, and what it differs from *off* in the same seeds.

    Args:
        rows: of ``run_all``.
    """
    lines = []
    for side in ("real", "lab"):
        found = {(row["mode"], row["seed"]): row[side] for row in rows if side in row}
        if not found:
            continue
        lines.append(f"| {side} | seeds | " + " | ".join(MEASURES) + " |")
        lines.append("| --- " * (2 + len(MEASURES)) + "|")
        for mode in MODES:
            seeds = sorted(seed for one, seed in found if one == mode)
            paired = [seed for seed in seeds if ("off", seed) in found]
            cells = []
            for what in MEASURES:
                values = np.array([found[mode, seed][what] for seed in seeds])
                text = f"{values.mean():.1f}" if seeds else ""
                if mode != "off" and len(paired) > 1:
                    apart = [found[mode, seed][what] - found["off", seed][what] for seed in paired]
                    text += f" ({interval(apart)})"
                cells.append(text)
            if seeds:
                lines.append(f"| {mode} | {len(seeds)} | " + " | ".join(cells) + " |")
    both = [row for row in rows if "real" in row]
    if len(both) > 1:
        gaps = {what: [row["real"][what] - row["lab"][what] for row in both] for what in MEASURES}
        said = ", ".join(f"{what} {interval(values)}" for what, values in gaps.items())
        lines.append(f"real less lab, over all runs: {said}")
    return "\n".join(lines)


def interval(values: Sequence[float]) -> str:
    """Return a mean with Student's 95 % interval."""
    from scipy.stats import t

    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / len(values) ** 0.5
    return f"{mean:+.1f} ± {t.ppf(0.975, len(values) - 1) * error:.1f}"


def main() -> None:
    """Print what runs have written, or what the lab says."""
    made = parser(__doc__)
    made.add_argument("results", nargs="*", type=Path)
    made.add_argument("--lab", action="store_true")
    options = made.parse_args()
    if options.lab:
        run_all(options, "", None)
    else:
        print(summary([row for path in options.results for row in read(path)]))


if __name__ == "__main__":
    main()
