"""How fast the lab simulates a cluster: beside a bare counting loop, and other simulators in the same run.

    python benchmarks/lab.py [--quick] [--json FILE] [--only WORD] [--log SWF --processors N]
        [--data DIR] [--pyss DIR --python2 PYTHON] [--accasim PYTHON]

Without a log a trace is generated (54,034 jobs on 128 nodes, offered load 0.85): synthetic. pyss is a
checkout of algo74/predictsim with a Python 2.7, AccaSim the Python (3.9 at most) of an environment in
which accasim 1.1.3 is installed; what is not given is said to be missing. Repetitions of what is compared
are interleaved; the best of each counts. Simulations, the way from a packed log to written results and peers
are measured in processor time, other commands by the wall clock, which says nothing on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from counting_loop import counting
from measure import Figure, NotHereError, run_parts, scratch
from numpy.typing import NDArray

from whesl.lab.readers import swf
from whesl.lab.simulators.cluster import python_event_loop, simulation_records
from whesl.lab.simulators.cluster.simulation import simulate
from whesl.lab.simulators.cluster.simulation_records import Workload
from whesl.placement.policies.easy import Easy
from whesl.prediction.failures.failure_history import History, merged

YEAR = 365 * 86400.0
JOBS = 54034
ACCASIM = """
import sys
from accasim.base.simulator_class import Simulator
from accasim.base.scheduler_class import EASYBackfilling
from accasim.base.allocator_class import FirstFit
simulator = Simulator(sys.argv[1], sys.argv[2], EASYBackfilling(FirstFit()), statistics_output=False,
                      show_statistics=False, scheduling_output=True)
simulator.start_simulation()
"""


def generated(count: int, nodes: int, load: float, seed: int = 1) -> Workload:
    """Make a synthetic workload: log-normal run times, sizes by powers of two, too long estimates."""
    rng = np.random.default_rng(seed)
    run = np.ceil(np.clip(rng.lognormal(6.5, 2.0, count), 1, 2 * 86400))
    size = np.minimum(2 ** rng.integers(0, 8, count), max(1, nodes // 2)).astype(np.int64)
    gap = float((run * size).sum()) / (load * nodes * count)
    submit = np.floor(np.cumsum(rng.exponential(gap, count)))
    estimate = np.ceil(run * rng.choice([1.0, 2.0, 5.0, 20.0], count))
    return Workload(np.arange(count), submit, size, run, estimate, np.full(count, np.inf))


def failing(work: Workload, nodes: int) -> History:
    """Make failures: a year between two of a node, four hours of repair."""
    rng = np.random.default_rng(2)
    first, last = float(work.submit[0]), float(work.submit[-1])
    count = rng.poisson((last - first) * nodes / YEAR)
    times = rng.uniform(first, last, count).tolist()
    rows = [(int(rng.integers(nodes)), at, at + 4 * 3600.0) for at in times]
    return merged(nodes, first, last, rows)


def best(
    repetitions: int, *measured: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Return the least time of each in seconds, of interleaved repetitions after a first one."""
    found = [np.inf] * len(measured)
    for repetition in range(repetitions + 1):
        for index, function in enumerate(measured):
            begun = clock()
            function()
            if repetition:
                found[index] = min(found[index], clock() - begun)
    return found


class Parts:
    """The parts, on one log."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.nodes = options.processors
        if options.log is not None:
            self.work, _ = simulation_records.workload(swf.read(options.log), self.nodes)
            self.about = options.log.name
        else:
            self.work = generated(JOBS, self.nodes, 0.85)
            self.about = "synthetic"

    def compiling(self, quick: bool) -> list[Figure]:
        """Measure the first call: compiled, and out of the cache."""
        code = (
            "import time; begun = time.perf_counter()\n"
            "from whesl.lab.simulators.cluster import simulation, simulation_records\n"
            "import numpy as np\n"
            "loaded = time.perf_counter()\n"
            "one = np.ones(1)\n"
            "sizes = np.ones(1, dtype=np.int64)\n"
            "work = simulation_records.Workload(np.arange(1), one, sizes, one, one, one)\n"
            "simulation.simulate(work, 1)\n"
            "print(loaded - begun, time.perf_counter() - loaded)"
        )
        figures = []
        with scratch() as place:
            for name in ("compiled", "from the cache"):
                printed = subprocess.run(
                    [sys.executable, "-c", code],
                    env={**os.environ, "XDG_CACHE_HOME": str(place)},
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.split()
                figures.append(
                    Figure(
                        f"first simulation of a process, {name}",
                        float(printed[1]),
                        "s",
                        note=f"import {printed[0]}",
                    )
                )
        return figures

    def starting(self, quick: bool) -> list[Figure]:
        """Measure the start of the command."""
        command = [sys.executable, "-m", "whesl", "lab", "--help"]
        (took,) = best(
            3 if quick else 10,
            lambda: subprocess.run(command, check=True, capture_output=True),
            clock=time.perf_counter,
        )
        return [Figure("whesl lab --help", took, "s", 0.3)]

    def flaw(self, quick: bool) -> list[Figure]:
        """Measure the whole evaluation of FLAW, 10 minutes at most."""
        if self.options.data is None:
            raise NotHereError("--data is not given")
        command = [sys.executable, "-m", "whesl", "lab", "reproduce", "flaw", "--jobs", "2", "--quiet"]
        command += ["--data", str(self.options.data), *(["--quick"] if quick else [])]
        begun = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return [Figure("FLAW's whole evaluation", time.perf_counter() - begun, "s", 600.0)]

    def policies(self, quick: bool) -> list[Figure]:
        """Measure each policy beside the counting loop."""
        work, nodes = self.work, self.nodes
        history = failing(work, nodes)
        bare, easy, failed, fcfs, conservative = best(
            3 if quick else 15,
            lambda: counting(work.submit, work.size, work.run, work.estimate, nodes),
            lambda: simulate(work, nodes, "easy"),
            lambda: simulate(work, nodes, "easy", history=history),
            lambda: simulate(work, nodes, "fcfs"),
            lambda: simulate(work, nodes, "conservative"),
        )
        (policy,) = best(1, lambda: python_event_loop.simulate(work, nodes, Easy()))
        count, note = len(work.job), f"{self.about}, {len(work.job)} jobs"
        return [
            Figure("EASY, bare counting loop", count / bare, "jobs/s", note=note),
            Figure("EASY with nodes and records", count / easy, "jobs/s", floor=count / bare),
            Figure("EASY with nodes and records / counting loop", easy / bare, "x", 8.0),
            Figure(
                "the same with failures / without", failed / easy, "x", 1.3, note=f"{len(history)} failures"
            ),
            Figure("FCFS with nodes and records", count / fcfs, "jobs/s"),
            Figure("conservative", count / conservative, "jobs/s", 250e3, at_most=False),
            Figure("EASY as a policy of one's own", count / policy, "jobs/s", 5e3, at_most=False),
        ]

    def ends(self, quick: bool) -> list[Figure]:
        """Measure from the packed log to written results."""
        from whesl.cli.lab.schedule import schedule

        with scratch() as place:
            packed = self._packed(place)
            arguments = ["--log", str(packed), "--processors", str(self.nodes), "--out", str(place / "out")]
            with (place / "said").open("w") as said:
                (warm,) = best(3, lambda: _quietly(said, lambda: schedule(arguments, standalone_mode=False)))
            (cold,) = best(
                2,
                lambda: subprocess.run(
                    [sys.executable, "-m", "whesl", "lab", "schedule", *arguments],
                    check=True,
                    capture_output=True,
                ),
                clock=_children,
            )
        return [
            Figure("packed log to written results, warm", warm, "s"),
            Figure("the same, whole command", cold, "s"),
        ]

    def million(self, quick: bool) -> list[Figure]:
        """Measure a million jobs on 10,000 nodes with failures."""
        count = 100_000 if quick else 1_000_000
        work = generated(count, 10_000, 0.8)
        history = failing(work, 10_000)
        (took,) = best(1, lambda: simulate(work, 10_000, "easy", history=history))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        return [
            Figure(
                f"{count} jobs, 10,000 nodes, EASY with failures",
                count / took,
                "jobs/s",
                150e3,
                at_most=False,
                note=f"{len(history)} failures",
            ),
            Figure("peak memory of this process", memory, "GiB", 2.0),
        ]

    def growth(self, quick: bool) -> list[Figure]:
        """Measure how the time grows."""
        figures = []
        for count in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
            for nodes in (100, 1_000, 10_000):
                work = generated(count, nodes, 0.8)
                (took,) = best(1, lambda work=work, nodes=nodes: simulate(work, nodes, "easy"))  # type: ignore[misc]
                figures.append(
                    Figure(f"EASY, {count} jobs, {nodes} nodes", took, "s", note=f"{count / took:.0f} jobs/s")
                )
        return figures

    def peers(self, quick: bool) -> list[Figure]:
        """Run the peers on the same jobs, and compare start times with pyss."""
        work, nodes, options = self.work, self.nodes, self.options
        if options.pyss is None and options.accasim is None:
            raise NotHereError("neither --pyss nor --accasim is given")
        figures = []
        with scratch() as place:
            log = place / "jobs.swf"
            log.write_text("".join(_lines(work)))
            # Peers are commands of their own: a simulation here is compared with theirs by processor time.
            (ours,) = best(5, lambda: simulate(work, nodes, "easy"))
            packed = self._packed(place)
            with (place / "said").open("w") as said:
                from whesl.cli.lab.schedule import schedule

                arguments = ["--log", str(packed), "--processors", str(nodes), "--out", str(place / "out")]
                (whole,) = best(3, lambda: _quietly(said, lambda: schedule(arguments, standalone_mode=False)))
            if options.pyss is not None:
                took, same = _pyss(options, place, log, simulate(work, nodes, "easy").outcome.start, nodes)
                figures.append(Figure("pyss", took, "s", note=f"{same} of {len(work.job)} start times equal"))
                figures.append(Figure("pyss / EASY here", took / ours, "x"))
            else:
                print("peers: pyss is missing (--pyss)")
            if options.accasim is not None:
                took = _accasim(options, place, log, nodes)
                figures.append(Figure("AccaSim", took, "s"))
                figures.append(Figure("AccaSim / EASY here", took / ours, "x", 200.0, at_most=False))
                figures.append(
                    Figure("AccaSim / packed log to results", took / whole, "x", 75.0, at_most=False)
                )
            else:
                print("peers: AccaSim is missing (--accasim)")
        return figures

    def _packed(self, place: Path) -> Path:
        if self.options.log is not None:
            return Path(self.options.log)
        packed = place / "packed.swf.xz"
        packed.write_bytes(lzma.compress("".join(_lines(self.work)).encode()))
        return packed


def _quietly(said: object, function: Callable[[], object]) -> None:
    import contextlib

    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):  # type: ignore[type-var]
        function()


def _lines(work: Workload) -> list[str]:
    """Return SWF lines with places for ids, as whole seconds."""
    columns = (work.submit, work.run, work.size, work.estimate)
    rows = zip(*(values.astype(int).tolist() for values in columns), strict=True)
    return [
        f"{place} {submit} -1 {run} {size} -1 -1 {size} {estimate} -1 1 1 1 1 1 1 -1 -1\n"
        for place, (submit, run, size, estimate) in enumerate(rows)
    ]


def _pyss(
    options: argparse.Namespace, place: Path, log: Path, start: NDArray[np.float64], nodes: int
) -> tuple[float, int]:
    config = place / "config.py"
    config.write_text(
        'scheduler = {"name": "easy_backfill_scheduler", "progressbar": False}\n'
        f"num_processors = {nodes}\nstats = False\n"
    )
    begun = _children()
    subprocess.run(
        [options.python2, "run_simulator.py", log, config, place / "pyss.swf"],
        cwd=options.pyss / "pyss",
        check=True,
        capture_output=True,
    )
    took = _children() - begun
    same = 0
    for line in (place / "pyss.swf").read_text().splitlines():
        if not line.startswith(";"):
            fields = line.split()
            same += start[int(fields[0])] == int(fields[1]) + int(fields[2])
    return took, same


def _accasim(options: argparse.Namespace, place: Path, log: Path, nodes: int) -> float:
    system = place / "system.json"
    described = {
        "groups": {"g0": {"core": 1}},
        "resources": {"g0": nodes},
        "equivalence": {"processor": {"core": 1}},
        "start_time": 0,
    }
    system.write_text(json.dumps(described))
    begun = _children()
    subprocess.run([options.accasim, "-c", ACCASIM, log, system], cwd=place, check=True, capture_output=True)
    return _children() - begun


def _children() -> float:
    """Return the processor time of all processes that this one has waited for, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description="The lab's simulations of a cluster.")
    parser.add_argument("--quick", action="store_true", help="few repetitions, to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    parser.add_argument("--only", default="", help="a word that the names of the parts to run contain")
    parser.add_argument("--log", type=Path, metavar="SWF", help="a job log; without it a synthetic one")
    parser.add_argument("--processors", type=int, default=128, metavar="N", help="of its machine [128]")
    parser.add_argument("--data", type=Path, metavar="DIR", help="traces, for FLAW's evaluation")
    parser.add_argument("--pyss", type=Path, metavar="DIR", help="a checkout of algo74/predictsim")
    parser.add_argument("--python2", default="python2.7", metavar="PYTHON", help="that runs it [python2.7]")
    parser.add_argument("--accasim", metavar="PYTHON", help="that has accasim 1.1.3")
    options = parser.parse_args()
    parts = Parts(options)
    run_parts(
        options,
        [
            ("starting", parts.starting),
            ("compiling", parts.compiling),
            ("policies", parts.policies),
            ("ends", parts.ends),
            ("million", parts.million),
            ("growth", parts.growth),
            ("peers", parts.peers),
            ("flaw", parts.flaw),
        ],
    )


if __name__ == "__main__":
    main()
