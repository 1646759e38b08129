"""Many tasks through isolators in one Flux instance, against the same jobs without them.

    python benchmarks/flux_scale.py [--quick] [--json FILE]

Every task is a Flux job of one core that runs ``true``; 1,000 of them on 16 nodes (100 with ``--quick``).
It is the worst case: nothing but the isolator's start and end. What is left of KVS watches afterwards is
compared with what was there before, on every broker.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import measure
import psutil
from measure import RULES, Figure

from tests.equipment.fluxbed import FluxBed
from whesl.testing.processes import running

NODES = 16
CORES = 2
TASKS = 1000
PATIENCE = 1800.0


class _Memory:
    """Resident memory of isolators, each with its child that talks to Flux; looked at every second."""

    def __init__(self) -> None:
        self.isolator = self.child = self.all = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            isolators = list(self._sizes("whesl.runtime.isolator"))
            children = list(self._sizes("bridge_program.py"))
            self.isolator = max([self.isolator, *isolators])
            self.child = max([self.child, *children])
            self.all = max(self.all, sum(isolators) + sum(children))

    @staticmethod
    def _sizes(word: str) -> Iterator[float]:
        for process in running():
            with suppress(psutil.Error):
                if any(part.endswith(word) for part in process.cmdline()):
                    yield process.memory_info().rss / 2**20

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at it while the block runs."""
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()


def _jobs(bed: FluxBed, count: int, command: list[str], home: Path) -> float:
    """Run so many jobs to their ends and return the seconds that it took; says which failed."""
    start = time.perf_counter()
    output = f"--output={home}/{{{{id}}}}.out"
    submit = ["flux", "submit", f"--cc=1-{count}", "--quiet", output, "--wait", *command]
    bed.run(*submit, timeout=PATIENCE, WHESL_HOME=str(home))
    seconds = time.perf_counter() - start
    listed = bed.run("flux", "jobs", "--filter=failed,timeout", "--no-header", "--format={id} {returncode}")
    for job, _, status in (line.partition(" ") for line in listed.stdout.splitlines()):
        said = Path(f"{home}/{job}.out").read_text(errors="replace")[-2000:]
        print(f"job {job} ended with {status}: {said}", file=sys.stderr)
    return seconds


def _watchers(bed: FluxBed) -> int:
    """Return the KVS watches that all brokers hold."""
    stats = ("flux", "module", "stats", "kvs-watch")
    return sum(int(json.loads(bed.run(*stats, FLUX_URI=bed.uri_of(n)).stdout)["watchers"]) for n in bed.nodes)


def _broker(bed: FluxBed) -> float:
    return float(bed.broker(bed.nodes[0]).memory_info().rss / 2**20)


def scale(quick: bool) -> list[Figure]:
    """Measure both and compare."""
    if shutil.which("flux") is None:
        raise measure.NotHereError("there is no flux on PATH")
    count = 100 if quick else TASKS
    with measure.scratch() as place, FluxBed(NODES, cores=CORES) as bed:
        home = place / "home"
        home.mkdir(mode=0o700)
        rules = place / "rules.esl"
        rules.write_text(RULES)
        bare = count / _jobs(bed, count, ["true"], home)
        before, memory = _watchers(bed), _broker(bed)
        whesl = shlex.join([sys.executable, "-m", "whesl", "exec", "--no-coordinator", "-e", str(rules)])
        line = f'{whesl} --workflow wf --step app --instance "$FLUX_JOB_CC" --quiet -- true'
        watch = _Memory()
        with watch.watched():
            protected = count / _jobs(bed, count, ["sh", "-c", line], home)
        results = [json.loads(path.read_text()) for path in home.glob("tasks/*/*/result.json")]
        completed = sum(result["state"] == "completed" for result in results)
        left = _watchers(bed) - before
        return [
            Figure(f"{count} tasks completed", completed, "tasks", count, at_most=False),
            Figure("bare flux submit", bare, "jobs/s"),
            Figure("through isolators", protected, "jobs/s", floor=bare),
            Figure("an isolator's memory, largest seen", watch.isolator, "MiB"),
            Figure("its child's that talks to Flux, largest seen", watch.child, "MiB"),
            Figure(f"of all that ran at once (at most {NODES * CORES})", watch.all, "MiB"),
            Figure("leader broker's growth per 1000 tasks", (_broker(bed) - memory) * 1000 / count, "MiB"),
            Figure("KVS watches left", left, "", 0),
        ]


if __name__ == "__main__":
    with suppress(subprocess.SubprocessError):
        measure.run_parts(measure.arguments(__doc__ or ""), [("scale", scale)])
