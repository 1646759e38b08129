"""What one placement decision costs slurmctld, at 10,000 nodes in the table.

    python benchmarks/placement_cost.py [--jobs N] [--modes bare,observing] [--json FILE]

Clusters side by side, each with 10,000 nodes in slurm.conf besides the real one: without the plugin, with a
script that does nothing, with the table observed, and with it acted on. Held jobs, each with another size
and limit, go to all of them in turn, as fast as ``sbatch`` in four processes can, so that what else runs on
the machine slows all of them alike. The cost is slurmctld's processor time for each, the least of three
rounds: with so many nodes it sometimes works for itself for seconds. What it counts itself (sdiag, waits
for a processor included) and what ``sbatch`` takes, by the fastest tenth and the median, stand beside it.
``--modes bare`` says how many submissions one controller without the plugin takes in a second. Each
slurmctld keeps 10,000 threads, which ask for nodes that are not there: with four of them at once the last
one is refused threads where kernel.pid_max is 32,768, so that two are compared unless more are asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import psutil

from tests.equipment.slurmbed import SlurmBed
from whesl.files import file_retry
from whesl.placement.site.publish import plugin_file
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.risk_table import HORIZONS, NodeRisk, Table

COUNT = 10_000
AT_RISK = 3000
WORKERS = 4
ROUNDS = 3
MODES = ("bare", "empty script", "observing", "acting")
TARGET = 1.0  # milliseconds that a decision may add
_SERVED = re.compile(r"REQUEST_SUBMIT_BATCH_JOB.*count:(\d+).*total_time:(\d+)")
EMPTY = """\
function slurm_job_submit(job, parts, uid) return slurm.SUCCESS end
function slurm_job_modify(job, record, parts, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""


def published(*, active: bool) -> tuple[Table, list[Node]]:
    """Return a table of 10,000 nodes, 3,000 of them at risk at one horizon or another."""
    rng = random.Random(1)
    names = [f"c{at:05d}" for at in range(1, COUNT + 1)]
    machine = [
        Node(name=name, flags=frozenset({"idle"}), partitions=("big",), cpus=2, memory=1000) for name in names
    ]
    bad = set(rng.sample(names, AT_RISK))
    rows = []
    for name in names:
        first = rng.randrange(len(HORIZONS)) if name in bad else len(HORIZONS)
        rows.append(
            NodeRisk(
                node=name, probability=tuple(0.9 if at >= first else 0.01 for at in range(len(HORIZONS)))
            )
        )
    now = time.time()
    made = Table(
        written=now,
        valid_until=now + 3600,
        horizons=HORIZONS,
        nodes=tuple(rows),
        source="x",
        thresholds=(0.5,) * len(HORIZONS),
        active=active,
    )
    return made, machine


def counted(bed: SlurmBed) -> tuple[int, int]:
    """Return how many submissions slurmctld has served, and the microseconds of all of them."""
    for line in bed.run("sdiag").stdout.splitlines():
        if found := _SERVED.search(line):
            return int(found[1]), int(found[2])
    return 0, 0


def submit(beds: dict[str, SlurmBed], jobs: int) -> tuple[float, dict[str, list[float]]]:
    """Submit jobs to all clusters in turn; return their rate together, and the milliseconds of each."""
    took: dict[str, list[float]] = {mode: [] for mode in beds}
    script = next(iter(beds.values())).script("true")
    refused: list[str] = []

    def some(worker: int) -> None:
        rng = random.Random(worker)
        for _ in range(jobs // WORKERS):
            options = [f"-N{rng.randint(1, 4000)}", f"--time={rng.randint(10, 20000)}"]
            command = ["sbatch", "-H", "-p", "big", "-o/dev/null", *options, str(script)]
            for mode, bed in beds.items():
                start = time.perf_counter()
                done = subprocess.run(
                    command, env=bed.environment, capture_output=True, text=True, check=False
                )
                if done.returncode:
                    refused.append(f"{mode}: {done.stderr.strip()}\n{bed.log()[-2000:]}")
                    return
                took[mode].append((time.perf_counter() - start) * 1000)

    begun = time.monotonic()
    threads = [threading.Thread(target=some, args=(number,)) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if refused:
        raise SystemExit("a submission was refused: nothing was measured\n" + refused[0])
    return jobs * len(beds) / (time.monotonic() - begun), took


def prepare(bed: SlurmBed, mode: str) -> None:
    """Give a cluster its 10,000 nodes and its plugin."""
    directory = Path(tempfile.mkdtemp(prefix="whesl-cost-")) / "placement"
    directory.mkdir(mode=0o750)
    with bed.conf.open("a") as conf:
        conf.write(f"NodeName=c[00001-{COUNT:05d}] NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000\n")
        conf.write(f"PartitionName=big Nodes=c[00001-{COUNT:05d}] MaxTime=INFINITE State=UP\n")
        if mode == "empty script":
            conf.write("JobSubmitPlugins=lua\n")
    if mode == "empty script":
        (bed.conf.parent / "job_submit.lua").write_text(EMPTY)
    elif mode != "bare":
        command = (sys.executable, "-m", "whesl", "placement", "install", "--yes", "--dir", str(directory))
        done = bed.run(*command)
        if done.returncode:
            raise SystemExit(done.stderr)
        made, machine = published(active=mode == "acting")
        content = plugin_file.encode(plugin_file.make(made, machine, share=0.1))
        file_retry.replace(directory / "slurm.table", content)
    bed.end_controller()
    bed.restart_controller()
    bed.wait_for(lambda: "up" in bed.run("sinfo", "-h", "-p", "big", "-o", "%a").stdout, "slurmctld answers")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=240)
    parser.add_argument("--modes", default="bare,acting", help=f"of {', '.join(MODES)}")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        beds = {}
        for mode in options.modes.split(","):
            bed = SlurmBed(nodes=1, mode="host", slurmd_timeout=0, settings={"MaxJobCount": "20000"})
            beds[mode] = stack.enter_context(bed)
            prepare(bed, mode)
        submit(beds, 80)
        processes = {mode: psutil.Process(bed.pid("slurmctld")) for mode, bed in beds.items()}
        for _ in range(ROUNDS):
            before = {
                mode: (counted(bed), sum(processes[mode].cpu_times()[:2])) for mode, bed in beds.items()
            }
            rate, took = submit(beds, options.jobs)
            for mode, bed in beds.items():
                (count, spent), used = before[mode]
                later, all_spent = counted(bed)
                processor = (sum(processes[mode].cpu_times()[:2]) - used) / (later - count) * 1000
                figures = {
                    "processor_ms": processor,
                    "served_ms": (all_spent - spent) / (later - count) / 1000,
                    "sbatch_tenth_ms": statistics.quantiles(took[mode], n=10)[0],
                    "sbatch_median_ms": statistics.median(took[mode]),
                }
                least = found.setdefault(mode, figures)
                found[mode] = {name: min(value, least[name]) for name, value in figures.items()}
            print(
                f"{rate:.0f} submissions/s to all of them together, load {os.getloadavg()[0]:.1f}", flush=True
            )
    for mode, figures in found.items():
        print(f"{mode:13} " + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()))
    if {"bare", "acting"} <= found.keys():
        for name in ("processor_ms", "served_ms"):
            more = found["acting"][name] - found["bare"][name]
            says = "holds" if more <= TARGET else "missed"
            print(f"a decision adds {more:.2f} ms by {name}; target: at most {TARGET:g} ms: {says}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
