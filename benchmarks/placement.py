"""A stream of jobs on a real Slurm whose nodes really die: placement off, observing, and acting.

    python benchmarks/placement.py [--failures FILE --system ID] [--seeds 1-5] [--modes off,...] [--out FILE]

16 slurmd, each a namespace that is killed with all its processes and started again when its repair is
over. The stream is ``placement_stream.py``'s: the same jobs are submitted at the same times in each mode;
one that was killed is submitted again at its old priority and starts anew. Beside each mode stands the
lab's simulation of the same jobs and failures.

Slurm is told of each death at once: its own time-outs do not shrink with the compressed time.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import msgspec
from placement_stream import LIMIT, NODES, SHARE, Attempt, RunError, Stream, given, learned, parser, run_all

from tests.equipment.install_slurm import SlurmBedError
from tests.equipment.slurmbed import SlurmBed
from whesl.model.evidence import PredictedFailure
from whesl.placement.site.history.model import About, SiteModel, save
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.given_accuracy_predictors import Given

PATIENCE = 900.0


class Run:
    """One mode on one cluster."""

    def __init__(self, bed: SlurmBed, mode: str, jobs: Stream, truth: History, seed: int) -> None:
        self.bed, self.mode, self.jobs, self.truth, self.seed = bed, mode, jobs, truth, seed
        self.directory = Path(tempfile.mkdtemp(prefix="whesl-placement-")) / "placement"
        self.predictions = self.directory.parent / "predictions.jsonl"
        self.predictions.touch()
        self.model = self.directory.parent / "model"
        self.names: dict[str, int] = {}
        self.attempts: list[Attempt] = []
        self.service: subprocess.Popen[bytes] | None = None

    def go(self) -> list[Attempt]:
        """Return the attempts: job, start, end, killed. Raises RunError."""
        try:
            return self._go()
        finally:
            self._end_service()
            shutil.rmtree(self.directory.parent, ignore_errors=True)

    def _go(self) -> list[Attempt]:
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
                raise RunError(f"{self.mode}: not done within {PATIENCE:g} s\n{self.bed.log()}")
            time.sleep(0.02)
            if self.service is not None and self.service.poll() is not None:
                log = (self.directory.parent / "log").read_text(errors="replace")
                raise RunError(f"the service has ended: {log[-500:]}")
        return self.attempts

    def _end_service(self) -> None:
        if self.service is None:
            return
        self.service.send_signal(signal.SIGTERM)
        try:
            self.service.wait(60)
        except subprocess.TimeoutExpired:
            self.service.kill()
            self.service.wait()

    def _install(self) -> None:
        self.directory.mkdir(mode=0o750)
        done = self.bed.run(
            sys.executable, "-m", "whesl", "placement", "install", "--yes", "--dir", str(self.directory)
        )
        if done.returncode:
            raise RunError(done.stderr)
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
            # Minutes of history have no verdict; what the predictor does is what is measured.
            command += ["--model", str(self.model), "--despite", "not-positive"]
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
            raise RunError(done.stderr)
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
        shifted = self.truth.until(now)
        moved = replace(
            shifted, begin=shifted.begin + self.zero, finish=shifted.finish + self.zero,
            start=shifted.start + self.zero, end=shifted.end + self.zero,
        )  # fmt: skip
        predictor = learned(self.truth).observe(moved)
        about = About(learned=self.zero, begin=moved.begin, finish=moved.finish, failures=len(moved))
        save(SiteModel(predictor, self.truth.names, about), self.model)


def main() -> None:
    """Run the modes of each seed, and print a table."""

    def run(mode: str, jobs: Stream, truth: History, seed: int) -> list[Attempt]:
        settings = {"SchedulerParameters": "batch_sched_delay=0,sched_min_interval=0,bf_interval=1"}
        try:
            with SlurmBed(nodes=NODES, settings=settings) as bed:
                return Run(bed, mode, jobs, truth, seed).go()
        except SlurmBedError as error:
            raise RunError(str(error)) from error

    run_all(parser(__doc__).parse_args(), "slurm", run)


if __name__ == "__main__":
    main()
