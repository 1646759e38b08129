"""The evaluation's simulator beside real runs of the same plan: ``python -m benchmarks.cloud_simulator``.

A workflow of two stages and one that gathers is really run by ``whesl cloud run``'s own runner on an embedded
cluster and on instances that are processes. The same plan is then simulated, with the mean time that a task
of each stage took on each side and with the time that instances took to start, as the source's Figure 3.5a
does with traced times, and goes on until its last task is done, as a run does. An hour of the plan is some
minutes of the real run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from whesl.cloud import plan_inputs as planning
from whesl.cloud.core import plan_menu
from whesl.cloud.core.plan_records import HOUR, Domain, Measurement, Plan, Profile
from whesl.cloud.runner import run_lifecycle as runs
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.events_and_commands import Limits
from whesl.cloud.runner.plan_choice import choose, slowed
from whesl.cloud.runner.site_file import Cloud, Cluster, Processes, Site
from whesl.cloud.runner.state import LEAST_BILLED
from whesl.lab.simulators.cloud import cluster as machine
from whesl.lab.simulators.cloud import simulate
from whesl.lab.simulators.cloud.background_jobs import Trace
from whesl.runtime.journal.store import Journal

TABLE = """\
[[stage]]
name = "first"
tasks = {tasks}
seconds = {seconds}
input = "1 kB"
output = "1 kB"
command = ["sh", "-c", "sleep {work}; echo {{index}} > first-{{index}}"]
writes = ["first-{{index}}"]
[[stage]]
name = "second"
tasks = {tasks}
after = ["first"]
seconds = {seconds}
input = "1 kB"
output = "1 kB"
command = ["sh", "-c", "sleep {work}; cat first-{{index}} > second-{{index}}"]
writes = ["second-{{index}}"]
[[stage]]
name = "gather"
tasks = 1
after_all = ["second"]
seconds = {seconds}
input = "1 kB"
output = "1 kB"
command = ["sh", "-c", "cat second-* > all"]
writes = ["all"]
"""
KIND = "c5a.4xlarge"


def limited(case: plan_menu.Case, most: int) -> plan_menu.Case:
    """Return a case whose plans know how many instances there are."""
    paces = tuple(
        pace
        if pace.platform is None
        else msgspec.structs.replace(pace, platform=msgspec.structs.replace(pace.platform, limit=most))
        for pace in case.paces
    )
    return msgspec.structs.replace(case, paces=paces)


def real(place: Path, cluster: Path, given: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Run the workflow; return its plan, what was measured, its end and its cost."""
    place.mkdir(parents=True)
    flow = place / "flow.toml"
    flow.write_text(TABLE.format(tasks=given.tasks, seconds=seconds, work=given.work))
    now = time.time()
    case = limited(planning.case(flow, now, forecast=plan_menu.constant([given.nodes], now)), given.instances)
    deadline = now + max(given.share * (2 * given.tasks + 1) * seconds, 6 * seconds + 20)
    chosen = choose(case, deadline, hour=given.hour)
    site = Site(
        cluster=Cluster(scheduler="local", directory=str(cluster)),
        cloud=Cloud(processes=Processes(start_delay=1.0, capacity=given.instances)),
        poll=0.2,
        again=0.5,
    )
    runs.begin(place / "run", case.workflow, chosen.initial, Limits(platforms=chosen.platforms), site)
    state = runs.carry_out(place / "run")
    assert state.ended is not None and state.ended.complete, state.ended
    taken: dict[tuple[str, Domain], list[float]] = {}
    given_at: dict[str, tuple[float, str]] = {}
    asked: dict[str, tuple[Domain, float]] = {}
    starts: dict[Domain, list[float]] = {side: [] for side in Domain}
    last = 0.0
    stage_of = {task.name: task.stage for task in case.workflow.tasks}
    with Journal(place / "run" / "journal.db", read_only=True) as journal:
        for entry in journal.read():
            kind = r.KINDS.get(entry.kind)
            if kind is None:
                continue
            record = msgspec.json.decode(bytes(entry.content), type=kind)
            if isinstance(record, r.ExecutorAsked):
                asked[record.id] = record.domain, entry.time
            elif isinstance(record, r.ExecutorSeen) and record.state is r.ExecutorState.UP:
                if record.id in asked:
                    side, since = asked.pop(record.id)
                    starts[side].append(entry.time - since)
            elif isinstance(record, r.Assigned):
                given_at[record.task] = entry.time, record.executor
            elif isinstance(record, r.TaskDone):
                began, executor = given_at[record.task]
                side = state.executors[executor].domain
                taken.setdefault((stage_of[record.task], side), []).append(entry.time - began)
                last = entry.time
    return {
        "case": case,
        "deadline": deadline,
        "seconds": last - state.begun,
        "cost": state.cost(time.time()),
        "taken": {key: fmean(times) for key, times in taken.items()},
        "starts": {side: fmean(times) if times else 1.0 for side, times in starts.items()},
        "cloud": sum(len(times) for (_, side), times in taken.items() if side is Domain.CLOUD),
    }


def simulated(found: dict[str, Any], given: argparse.Namespace) -> tuple[float, float, float]:
    """Return the end in seconds, the cost, and the share of the tasks in the cloud of the simulated plan."""
    case: plan_menu.Case = found["case"]
    times = HOUR / given.hour
    slow = slowed(case, given.hour)
    begin = case.start
    deadline = begin + (found["deadline"] - begin) * times
    plan: Plan = plan_menu.menu(slow, [deadline])[0].plan
    paces = tuple(
        pace
        if pace.platform is None
        else msgspec.structs.replace(
            pace, platform=msgspec.structs.replace(pace.platform, start=found["starts"][Domain.CLOUD] * times)
        )
        for pace in slow.paces
    )
    empty = machine.Jobs(*(np.zeros(0) for _ in range(4)))
    trace = Trace("empty", given.nodes, empty, np.zeros(0), begin, np.full(48, float(given.nodes)))
    taken: dict[tuple[str, Domain], float] = found["taken"]

    def seconds(stage: str, platform: str) -> float:
        side = Domain.HPC if platform == "cluster" else Domain.CLOUD
        own: float = taken.get((stage, side)) or next(
            time for (name, _), time in taken.items() if name == stage
        )
        return float(own * times)

    flow = case.workflow
    profile = Profile(
        workflow=flow.name,
        measurements=tuple(
            Measurement(stage=pace.stage.name, platform=KIND, seconds=pace.best, count=1) for pace in paces
        ),
    )
    drawn = simulate.Case("table", given.tasks, 0, 0, 0, 0)
    prices = msgspec.structs.replace(case.prices, least=LEAST_BILLED * times)
    world = simulate.World(
        drawn,
        flow,
        trace,
        prices,
        begin,
        profile,
        case.forecast,
        np.ones(1),
        seconds=seconds,
        starting=found["starts"][Domain.HPC] * times,
        beyond=24 * HOUR,
    )
    outcome = simulate.run(world, "adaptive", plan, paces)
    finished = math.inf if outcome.finished is None else outcome.finished
    return finished * HOUR / times, outcome.cost, 1 - outcome.by_cluster


def _percent(value: float, real: float) -> float | None:
    return round(100 * (value / real - 1), 1) if real else None


def main() -> int:
    """Run and simulate; print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=24, help="of each of two stages [24]")
    parser.add_argument("--work", type=float, default=2.0, help="seconds of a task [2]")
    parser.add_argument("--nodes", type=int, default=2, help="of the cluster [2]")
    parser.add_argument("--instances", type=int, default=8, help="at most [8]")
    parser.add_argument("--share", type=float, default=0.3, help="of the whole work, as deadline [0.3]")
    parser.add_argument("--hour", type=float, default=120.0, help="seconds of the plan's hours [120]")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="whesl-simulator-"))
    os.environ["WHESL_HOME"] = str(root / "home")
    environ = {**os.environ, "WHESL_LOCAL": str(root / "cluster")}
    local = [sys.executable, "-m", "whesl", "local"]
    subprocess.run(
        [*local, "start", "--nodes", str(given.nodes)], env=environ, check=True, capture_output=True
    )
    rows = []
    seconds = given.work + 2.0
    try:
        for number in range(given.runs):
            found = real(root / str(number), root / "cluster", given, seconds)
            # The next plan counts on what tasks have really taken.
            seconds = round(fmean(found["taken"].values()), 2)
            end, cost, cloud = simulated(found, given)
            rows.append(
                {
                    "tasks": 2 * given.tasks + 1,
                    "real_seconds": round(found["seconds"], 1),
                    "simulated_seconds": round(end, 1),
                    "error_percent": round(100 * (end / found["seconds"] - 1), 1),
                    "real_cost": round(found["cost"], 3),
                    "simulated_cost": round(cost, 3),
                    "cost_error_percent": _percent(cost, found["cost"]),
                    "real_in_cloud": round(found["cloud"] / (2 * given.tasks + 1), 2),
                    "simulated_in_cloud": round(cloud, 2),
                    "task_seconds": seconds,
                }
            )
            print(json.dumps(rows[-1]), flush=True)
    finally:
        subprocess.run([*local, "stop"], env=environ, check=False, capture_output=True)
        if not given.keep:
            shutil.rmtree(root, ignore_errors=True)
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
