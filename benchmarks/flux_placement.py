"""Jobs that Flux's scheduler places in a second, by itself and by predictions.

    python benchmarks/flux_placement.py [--quick] [--json FILE]

One broker that claims 16 nodes, 1,024 or 10,000; jobs of one whole node whose run is simulated for a
millisecond (``exec.test.run_duration``), so that the time is the scheduler's and the job manager's. A
stopped queue is filled, and the time counts from its start to the end of the last job; the processor time
of the scheduler's own process for each job stands beside it, as it depends less on what else the machine
does. The schedulers take turns; each figure is the median of its turns, and so is the share of a bare
scheduler in the same turn: of its jobs in a second, and of the processor time for a job (how many jobs
ours would place while a bare one places one, if a scheduler's own process were all that a job takes).
Bare are flux-core's own ``sched-simple`` and the shortest scheduler on its Python class (the example of
flux-core's guide); ours has predictions for every node.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import measure
import numpy as np
import psutil
from measure import Figure

from whesl.files import file_retry
from whesl.placement.site import plugin_paths
from whesl.placement.site.flux import module_loading
from whesl.placement.site.history.model import About, SiteModel, save
from whesl.placement.site.publish import risk_table
from whesl.prediction.failures.failure_history import merged
from whesl.prediction.failures.survival import fit

JOBS = 200
TURNS = 5
LEAST = 0.8
BARE = """\
import heapq
from flux.resource import InfeasibleRequest, InsufficientResources
from flux.scheduler import Scheduler

class Bare(Scheduler):
    def schedule(self):
        while self._queue:
            job = self._queue[0]
            try:
                alloc = self.resources.alloc(job.jobid, job.resource_request)
            except InsufficientResources:
                break
            except InfeasibleRequest as error:
                job.request.deny(str(error))
            else:
                job.request.success(alloc)
            heapq.heappop(self._queue)
            yield

def mod_main(h, *args):
    Bare(h, *args).run()
"""


def predictions(place: Path, names: list[str]) -> dict[str, Path]:
    """Write a table and a model for nodes of which some have failed often."""
    draw, now = np.random.default_rng(1), time.time()
    rows = []
    for node in range(len(names)):
        for _ in range(int(draw.integers(0, 6))):
            start = now - float(draw.uniform(0, 3e7))
            rows.append((node, start, start + 3600.0))
    history = replace(merged(len(names), now - 3e7, now, rows), names=tuple(names))
    model = SiteModel(
        fit(history, frailty=True),
        history.names,
        About(learned=now, begin=history.begin, finish=now, failures=len(rows)),
    )
    save(model, place / "model.npz")
    made = risk_table.make(model.predictor, names, now, valid_for=86400.0)
    file_retry.replace(place / "table.json", risk_table.encode(made))
    return {"table": place / "table.json", "model": place / "model.npz"}


@contextlib.contextmanager
def instance(place: Path, nodes: int) -> Iterator[dict[str, str]]:
    """Start an instance of one broker that claims so many nodes; yields the environment that reaches it."""
    told = place / "uri"
    script = (
        "set -e; flux module remove sched-simple; "
        f"flux R encode -r 0-{nodes - 1} -c 0-3 -H 'n[0001-{nodes:04d}]' >R; flux resource reload -f R; "
        "flux module reload -f resource noverify monitor-force-up; flux module load sched-simple; "
        f"printenv FLUX_URI >{told}.new; mv {told}.new {told}; while [ -e {told} ]; do sleep 0.2; done"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FLUX_", "PYTHON"))}
    clean["HOME"] = str(place)  # Flux's scripts read the user's start files
    process = subprocess.Popen(
        ["flux", "start", "--test-size=1", "sh", "-c", script], cwd=place, env=clean, start_new_session=True
    )
    try:
        measure.until(told.exists, "the instance is up")
        yield {**clean, "FLUX_URI": told.read_text().strip()}
    finally:
        told.unlink(missing_ok=True)  # its program ends, and the instance in order
        process.wait(60)


def turn(environment: dict[str, str], module: tuple[str, ...], jobs: int) -> tuple[float, float]:
    """Load a scheduler and let it place jobs.

    Returns:
        How many in a second, and the milliseconds of processor time of its process for each.
    """

    def flux(*words: str) -> None:
        subprocess.run(["flux", *words], env=environment, check=True, capture_output=True, timeout=600)

    before = module_loading.scheduler(environment)
    if before:
        flux("module", "remove", before)
    flux("module", "load", *module)
    flux("module", "stats", Path(module[0]).stem)  # it answers when it has begun
    flux("queue", "stop", "--all")
    simulated = "--setattr=exec.test.run_duration=1ms"
    flux("submit", f"--cc=1-{jobs}", "--quiet", "-N1", "-x", "-t", "1h", simulated, "true")
    mine = process(environment, Path(module[0]).stem)
    begin, used = time.perf_counter(), processor(mine)
    flux("queue", "start", "--all")
    flux("queue", "drain")
    return jobs / (time.perf_counter() - begin), 1e-6 * (processor(mine) - used) / jobs


def processor(process: int) -> int:
    """Return the nanoseconds that a process's threads have run; its times have steps of 10 ms."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads)


def process(environment: dict[str, str], module: str) -> int:
    """Return the id of the process of a module that is written in Python."""
    asked = ["flux", "getattr", "broker.pid"]
    broker = subprocess.run(asked, env=environment, check=True, capture_output=True, text=True).stdout
    for child in psutil.Process(int(broker)).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(Path(word).stem == module and word.endswith(".py") for word in child.cmdline()):
                return child.pid
    raise measure.NotHereError(f"{module} has no process")


def throughput(nodes: int, quick: bool) -> list[Figure]:
    """Compare all schedulers on an instance that claims so many nodes."""
    if shutil.which("flux") is None:
        raise measure.NotHereError("there is no flux on PATH")
    jobs = 100 if quick else JOBS
    with measure.scratch() as place:
        names = [f"n{number:04d}" for number in range(1, nodes + 1)]
        files = predictions(place, names)
        bare = place / "sched-bare.py"
        bare.write_text(BARE)
        ours = str(plugin_paths.find("flux/sched-whesl.py"))
        modules: dict[str, tuple[str, ...]] = {
            "sched-simple": ("sched-simple",),
            "bare Python class": (str(bare),),
        }
        for kind, file in files.items():
            for acts in (False, True)[kind == "model" :]:
                options = module_loading.Options(predictions=str(file), acts=acts)
                name = f"{'acts' if acts else 'observes'}, {kind}"
                modules[name] = (ours, *module_loading.arguments(options, "fifo"))
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in modules}
        with instance(place, nodes) as environment:
            for number in range(1 if quick else TURNS):
                order = list(modules) if number % 2 == 0 else list(reversed(modules))
                for name in order:
                    found[name].append(turn(environment, modules[name], jobs))
    figures = []
    median = {
        name: tuple(measure.median(column) for column in zip(*rows, strict=True))
        for name, rows in found.items()
    }
    for name, (rate, used) in median.items():
        figures.append(
            Figure(f"{nodes} nodes, {name}", rate, "jobs/s", note=f"its process takes {used:.2f} ms a job")
        )
        if not name.startswith(("acts", "observes")):
            continue
        for other in ("sched-simple", "bare Python class"):
            pairs = list(zip(found[name], found[other], strict=True))
            rates = measure.median([mine[0] / bare[0] for mine, bare in pairs])
            costs = measure.median([bare[1] / mine[1] for mine, bare in pairs])
            of = f"{nodes} nodes, {name}: of {other}'s"
            figures.append(Figure(f"{of} jobs", rates, "", LEAST, at_most=False))
            figures.append(Figure(f"{of} processor time", costs, "", LEAST, at_most=False))
    return figures


if __name__ == "__main__":
    parts = [
        (f"{nodes} nodes", lambda quick, nodes=nodes: throughput(nodes, quick))
        for nodes in (16, 1024, 10_000)
    ]
    measure.run_parts(measure.arguments(__doc__ or ""), parts)
