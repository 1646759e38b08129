"""A stream of jobs on a real Slurm whose nodes really die: placement off, observing, and acting.

    python benchmarks/placement.py [--failures FILE --system ID] [--jobs N] [--modes off,exact] [--json FILE]

16 slurmd, each a namespace that is killed with all its processes and started again when its repair is over.
The failures are generated (skewed by node, bursts), or a window of a failure log in compressed time, such as
LANL's system 16. The same jobs are submitted at the same times in each mode; one that was killed is submitted
again at its old priority and starts anew. Beside each mode stands the lab's simulation of the same jobs and
failures.

Slurm is told of each death at once: its own time-outs do not shrink with the compressed time.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from whesl.lab.cluster.simulation import simulate
from whesl.lab.cluster.trace import Workload
from whesl.lab.readers import failures as readers
from whesl.model.evidence import PredictedFailure
from whesl.predict.accuracy import Given, exact, of_accuracy
from whesl.predict.history import History, merged
from whesl.predict.survival import fit
from whesl.site.history.model import About, SiteModel, save
from whesl.testing.slurmbed import SlurmBed

NODES = 16
LIMIT = 60.0  # Slurm's shortest time limit, in seconds: the estimate of all jobs
SPAN = 120.0  # seconds in which jobs arrive
SHARE = 0.25
PATIENCE = 600.0
MODES = ("off", "observing", "exact", "AOA 50 %", "learned")


class Stream(NamedTuple):
    """Jobs in order of submission: seconds, nodes, seconds."""

    submit: np.ndarray
    size: np.ndarray
    run: np.ndarray


def stream(jobs: int, seed: int) -> Stream:
    """Return a stream of jobs."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.uniform(0.0, SPAN * 0.8, jobs))
    submit[0] = 0.0
    size = rng.choice([1, 2, 3, 4, 6], jobs, p=[0.25, 0.25, 0.2, 0.2, 0.1])
    return Stream(submit, size, rng.uniform(6.0, 30.0, jobs).round(1))


def generated(seed: int) -> History:
    """Return failures of 16 nodes, most of them of a few; times in seconds from -20 x SPAN."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.5, 2.0, NODES) / (SPAN * 1.2)
    found = []
    for node in range(NODES):
        at = -20 * SPAN + rng.exponential(1.0 / rate[node])
        while at < 2 * SPAN:
            down = rng.lognormal(1.2, 0.6)
            found.append((node, at, at + down))
            at += down + rng.weibull(0.7) / rate[node]
    return named(merged(NODES, -20 * SPAN, 2 * SPAN, found))


def logged(path: Path, system: str | None) -> History:
    """Return a log's failures with its densest days as the stream's time."""
    whole = readers.read(path, system=system).history
    node, start, end = whole.node, whole.start, whole.end
    # As many failures as 16 nodes stand: about one in eight seconds.
    count = int(SPAN / 8)
    rest = np.flatnonzero((node < NODES) & (start > whole.begin + (whole.finish - whole.begin) / 2))
    first = int(np.argmin(start[rest][count:] - start[rest][:-count]))
    begin = float(start[rest][first])
    scale = SPAN / float(start[rest][first + count] - begin)
    known = [
        (
            int(node[at]),
            float((start[at] - begin) * scale),
            float((start[at] - begin) * scale + down(end[at] - start[at], scale)),
        )
        for at in np.flatnonzero(node < NODES)
        if (start[at] - begin) * scale < 2 * SPAN
    ]
    print(f"one second is {1 / scale / 3600:.2f} hours of the log")
    return named(merged(NODES, float((whole.begin - begin) * scale), 2 * SPAN, known))


def down(seconds: float, scale: float) -> float:
    """Return how long a node is down in the stream's time: no slurmd comes back in no time."""
    return float(min(max(seconds * scale, 2.0), 20.0))


def named(history: History) -> History:
    """Return the same history with the bed's names."""
    from dataclasses import replace

    return replace(history, names=tuple(f"n{at:02d}" for at in range(1, NODES + 1)))


class Run:
    """One mode on one cluster."""

    def __init__(self, bed: SlurmBed, mode: str, jobs: Stream, truth: History, seed: int) -> None:
        self.bed, self.mode, self.jobs, self.truth, self.seed = bed, mode, jobs, truth, seed
        self.directory = Path(tempfile.mkdtemp(prefix="whesl-placement-")) / "placement"
        self.predictions = self.directory.parent / "predictions.jsonl"
        self.predictions.touch()
        self.model = self.directory.parent / "model"
        self.names: dict[str, int] = {}
        self.attempts: list[tuple[int, float, float, bool]] = []
        self.service: subprocess.Popen[bytes] | None = None

    def go(self) -> list[tuple[int, float, float, bool]]:
        """Return the attempts: job, start, end, killed."""
        later = self.truth.start >= 0
        events = [
            (float(t), "down", int(n))
            for t, n in zip(self.truth.start[later], self.truth.node[later], strict=True)
        ]
        events += [
            (float(t), "up", int(n))
            for t, n in zip(self.truth.end[later], self.truth.node[later], strict=True)
        ]
        events += [(float(t), "job", at) for at, t in enumerate(self.jobs.submit)]
        events.sort()
        if self.mode != "off":
            self._install()
        self.zero = time.time() + (4.0 if self.mode != "off" else 0.5)
        self._serve()
        while time.time() < self.zero:
            time.sleep(0.01)
        until = time.monotonic() + PATIENCE
        looked = fed = 0.0
        while len({at for at, _, _, killed in self.attempts if not killed}) < len(self.jobs.size):
            now = time.time() - self.zero
            while events and events[0][0] <= now:
                self._event(*events.pop(0)[1:])
            if now - fed >= 0.5:
                self._feed(now)
                fed = now
            if now - looked >= 0.5:
                self._look()
                looked = now
            if time.monotonic() > until:
                raise SystemExit(f"{self.mode}: not done within {PATIENCE:g} s\n{self.bed.log()}")
            time.sleep(0.02)
        if self.service is not None:
            self.service.send_signal(signal.SIGTERM)
            self.service.wait(60)
        return self.attempts

    def _install(self) -> None:
        self.directory.mkdir(mode=0o750)
        done = self.bed.run(
            sys.executable, "-m", "whesl", "placement", "install", "--yes", "--dir", str(self.directory)
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        self.bed.run("scontrol", "reconfigure")

    def _serve(self) -> None:
        if self.mode == "off":
            return
        command = [sys.executable, "-m", "whesl", "placement", "serve", "--dir", str(self.directory)]
        command += ["--period", "1", "--settle", "0", "--share", str(SHARE), "--drain-above", "2"]
        command += [
            "--horizons",
            str(LIMIT),
            "--within",
            str(LIMIT),
            "--active" if self.mode != "observing" else "--observe",
        ]
        if self.mode == "learned":
            self._learn(0.0)
            command += ["--model", str(self.model)]
        else:
            command += ["--predictions", str(self.predictions)]
        log = (self.directory.parent / "log").open("wb")
        self.service = subprocess.Popen(command, env=self.bed.environment, stdout=log, stderr=log)

    def _event(self, what: str, which: int) -> None:
        if what == "job":
            self._submit(which)
            return
        node = self.bed.nodes[which]
        if what == "down":
            self.bed.kill_node(node)
            self.bed.run("scontrol", "update", f"nodename={node}", "state=down", "reason=it died")
            if self.mode == "learned":
                self._learn(time.time() - self.zero)
        elif f"slurmd.{node}" not in self.bed._daemons:
            self.bed.start_node(node)

    def _submit(self, at: int) -> None:
        done = self.bed.run(
            "sbatch",
            "--parsable",
            "--no-requeue",
            "--exclusive",
            f"--nodes={self.jobs.size[at]}",
            "--time=1",
            f"--priority={1_000_000 - at}",
            "--output=/dev/null",
            "--wrap",
            f"exec sleep {self.jobs.run[at]}",
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        self.names[done.stdout.strip()] = at

    def _look(self) -> None:
        shown = self.bed.run("squeue", "-h", "-t", "all", "-o", "%i %T %S %e", SLURM_TIME_FORMAT="%s").stdout
        for line in shown.splitlines():
            name, state, start, end = line.split()
            if name in self.names and state not in ("PENDING", "RUNNING", "COMPLETING"):
                at = self.names.pop(name)
                killed = state != "COMPLETED"
                if start.isdecimal() and end.isdecimal() and int(start) > 0:
                    self.attempts.append((at, int(start) - self.zero, int(end) - self.zero, killed))
                if killed:
                    self._submit(at)

    def _feed(self, now: float) -> None:
        predictor = given(self.mode, self.truth, self.seed)
        if not isinstance(predictor, Given):
            return
        coming = (predictor.time > now) & (predictor.time < now + LIMIT)
        lines = [
            msgspec.json.encode(
                PredictedFailure(
                    node=self.truth.names[node], time=time.time(), lead=float(at - now), source=self.mode
                )
            )
            for node, at in zip(predictor.node[coming], predictor.time[coming], strict=True)
        ]
        beside = self.predictions.with_suffix(".new")
        beside.write_bytes(b"".join(line + b"\n" for line in lines))
        beside.replace(self.predictions)

    def _learn(self, now: float) -> None:
        """Fit once, on what was known before the stream, and add each failure that was seen since."""
        from dataclasses import replace

        shifted = self.truth.until(now)
        moved = replace(
            shifted, begin=shifted.begin + self.zero, finish=shifted.finish + self.zero,
            start=shifted.start + self.zero, end=shifted.end + self.zero,
        )  # fmt: skip
        predictor = learned(self.truth).observe(moved)
        about = About(learned=self.zero, begin=moved.begin, finish=moved.finish, failures=len(moved))
        save(SiteModel(predictor, self.truth.names, about), self.model)


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


def figures(jobs: Stream, attempts: list[tuple[int, float, float, bool]]) -> dict[str, float]:
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
    later = truth.until(np.inf)
    found = simulate(work, NODES, policy, history=later, predictor=predictor).measures
    return {
        "kills": found["kills"],
        "lost": round(float(found["node_hours_lost"]) * 3600, 1),
        "makespan": round(float(found["makespan"]), 1),
        "wait": round(float(found["mean_wait"]), 1),
    }


def main() -> None:
    """Run the modes and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failures", type=Path)
    parser.add_argument("--system")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--simulate-only", action="store_true")
    options = parser.parse_args()
    jobs = stream(options.jobs, options.seed)
    truth = logged(options.failures, options.system) if options.failures else generated(options.seed)
    inside = (truth.start >= 0) & (truth.start < SPAN)
    print(
        f"{len(jobs.size)} jobs, {int(inside.sum())} failures of {len(set(truth.node[inside].tolist()))} "
        f"nodes in {SPAN:g} s"
    )
    results: dict[str, dict[str, dict[str, float]]] = {}
    for mode in options.modes.split(","):
        expected = simulated(mode, jobs, truth, options.seed)
        real: dict[str, float] = {}
        if not options.simulate_only:
            with SlurmBed(
                nodes=NODES,
                settings={"SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,bf_interval=1"},
            ) as bed:
                real = figures(jobs, Run(bed, mode, jobs, truth, options.seed).go())
        results[mode] = {"slurm": real, "lab": expected}
        print(f"{mode:10} Slurm {real}\n{'':10} lab   {expected}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
