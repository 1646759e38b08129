"""Evaluation of many cases under all schedulers, in processes; resumable from a file of finished cases."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whesl.cloud import prices as price_files
from whesl.cloud.core import plan_menu
from whesl.cloud.core import uncertainty as uncertainty
from whesl.cloud.core.plan_records import HOUR, PriceList, Settings
from whesl.cloud.core.profile_estimation import complete
from whesl.cloud.core.stage_speed import paces
from whesl.files.whole_file import write_text
from whesl.lab.execution import worker_processes
from whesl.lab.execution.progress_interface import Progress
from whesl.lab.simulators.cloud import background_jobs, simulate, workload
from whesl.lab.simulators.cloud.background_jobs import Trace
from whesl.lab.simulators.cloud.simulate import Case, Outcome, World
from whesl.model.errors import UsageError, WheslError

ADAPTIVE, BICER, PARSL, CLOUD, OURS = "Pred+Adap", "Bicer", "Parsl-HPC", "cloud only", "ours"
WITHOUT = {
    "without preloading": Settings(preload=False),
    "without rebalancing": Settings(rebalance=False),
    "without backup": Settings(backup=0.0),
}
DOCUMENT = (ADAPTIVE, BICER, PARSL, CLOUD, *WITHOUT)
ASKED = 0.9
# Number of random courses that compare the plans of each case of the calibration.
COURSES = 100


@dataclass(frozen=True, slots=True)
class Plan:
    """The size of an evaluation.

    Attributes:
        cases: number of cases of each workflow.
        nodes: number of nodes of the cluster.
        variants: names of the schedulers.
        data: the directory of traces; None for a generated log.
        seed: random seed of the cases.
        jobs: number of processes.
        workflows: names of the workflows.
    """

    cases: int = 1000
    nodes: int = 795
    variants: tuple[str, ...] = DOCUMENT
    data: Path | None = None
    seed: int = 1
    jobs: int = 2
    workflows: tuple[str, ...] = ("OAI", "RNASEQ")


class Row(Outcome, frozen=True, kw_only=True):
    """The result of one case under one scheduler, with what identifies them."""

    workflow: str
    scheduler: str
    inputs: int
    deadline: int
    trace: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A finished case in the file: the case's key and rows."""

    key: str
    rows: list[Row]


def load_traces(plan: Plan) -> list[Trace]:
    """Return the logs of an evaluation, or a generated log if the plan has no traces."""
    if plan.data is None:
        return [background_jobs.generated(plan.nodes, 120, plan.seed)]
    found = []
    for name, (file, _, _) in background_jobs.LOGS.items():
        path = plan.data / file
        if not path.exists():
            raise UsageError(f"{path} is not there", hint="--data DIR names the directory of traces")
        found.append(background_jobs.from_log(path, name, plan.nodes))
    return found


def cases(plan: Plan, logs: Sequence[Trace]) -> list[Case]:
    """Draw the test cases of Table 3.3: workflows, inputs, deadlines and starts.

    Args:
        plan: the size of the evaluation.
        logs: the traces.
    """
    found: list[list[Case]] = []
    for number, name in enumerate(plan.workflows):
        # A longer list of cases begins with the cases of a shorter list, so a larger run can resume a smaller
        # run.
        source = np.random.default_rng((plan.seed, number) if number else plan.seed)
        drawn: list[Case] = []
        low, high = workload.INPUTS[name]
        if plan.nodes < 400:  # the smaller cluster of Figure 3.5a gets proportionally fewer inputs
            low, high = low * plan.nodes // 795, high * plan.nodes // 795
        for _ in range(plan.cases):
            deadline = int(source.choice(workload.DEADLINES))
            trace = int(source.integers(len(logs)))
            hour = int(source.choice(logs[trace].usable(deadline * HOUR)))
            inputs = int(source.integers(low, high + 1))
            drawn.append(Case(name, inputs, deadline, trace, hour, int(source.integers(2**31))))
        found.append(drawn)
    return [case for group in zip(*found, strict=True) for case in group]


def evaluate(plan: Plan, progress: Progress, keep: Path | None = None) -> list[Row]:
    """Evaluate all cases under all schedulers, and return their rows.

    Args:
        plan: the size of the evaluation.
        progress: progress display, advanced with each case.
        keep: a file of finished cases, from which a later call resumes; None to keep nothing.

    Raises:
        UsageError: the traces are missing.
        WheslError: the file cannot be written.
    """
    logs = load_traces(plan)
    drawn = cases(plan, logs)
    done = _kept(keep)
    rows: list[Row] = []
    left = []
    for case in drawn:
        key = _key(case, plan)
        if key in done:
            rows += done[key]
        else:
            left.append(case)
    with progress.stage("cases", len(left)) as advance:
        for case, found in _results(plan, logs, left):
            rows += found
            if keep is not None:
                line = msgspec.json.encode(Line(key=_key(case, plan), rows=found))

                _append(keep, line)
            advance(1)
    return rows


def _results(plan: Plan, logs: Sequence[Trace], left: Sequence[Case]) -> Any:
    prices = price_files.load()
    if plan.jobs == 1 or len(left) < 4:
        for case in left:
            yield case, judged(case, plan, logs, prices)
        return
    hint = "was there too little memory? Call again, with fewer --jobs and the same --out"
    with worker_processes.pool(plan.jobs, _begin, plan, hint=hint) as pool:
        waiting = {pool.submit(_elsewhere, case): case for case in left}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


_own: dict[str, Any] = {}


def _begin(plan: Plan) -> None:
    _own.update(plan=plan, logs=load_traces(plan), prices=price_files.load())


def _elsewhere(case: Case) -> list[Row]:
    return judged(case, _own["plan"], _own["logs"], _own["prices"])


def judged(case: Case, plan: Plan, logs: Sequence[Trace], prices: PriceList) -> list[Row]:
    """Return the row of one case under each scheduler of a plan.

    Args:
        case: the case.
        plan: the size of the evaluation, with the schedulers.
        logs: the traces.
        prices: the cloud's prices.
    """
    trace = logs[case.trace]
    one = simulate.world(case, trace, prices)
    rows = []
    for name in plan.variants:
        if name == OURS:
            made, found = ours(one)
            outcome = simulate.run(one, "adaptive", made, found)
        else:
            settings = WITHOUT.get(name, Settings())
            made, found = simulate.planned(one, settings, cloud_alone=name == CLOUD)
            kind = {BICER: "bicer", PARSL: "parsl"}.get(name, "adaptive")
            outcome = simulate.run(one, kind, made, found)
        rows.append(_row(case, trace.name, name, outcome))
    return rows


def ours(one: World) -> Any:
    """Return the cheapest plan that meets the deadline with probability ``ASKED``, and the stages' speeds."""
    # As in `whesl cloud plan`: the default of five minutes serves only for a stage without any measurement.
    measured = tuple(entry for entry in one.profile.measurements if entry.count)
    known = msgspec.structs.replace(one.profile, measurements=measured)
    profile = complete(one.flow, known, (*one.prices.platforms, workload.CLUSTER))
    found = paces(one.flow, profile, one.prices, workload.CLUSTER)
    begin, deadline = one.start + one.profile.seconds, one.start + one.case.deadline * HOUR
    case = plan_menu.Case(
        workflow=one.flow,
        profile=profile,
        prices=one.prices,
        forecast=one.forecast,
        paces=found,
        start=begin,
    )
    hours = int(np.ceil((deadline - begin) / HOUR))
    drawn = uncertainty.draws(found, profile, hours, COURSES, one.case.seed)
    return plan_menu.cheapest(case, deadline, ASKED, drawn).plan, found


def _row(case: Case, trace: str, name: str, outcome: Outcome) -> Row:
    return Row(
        workflow=case.workflow,
        scheduler=name,
        inputs=case.inputs,
        deadline=case.deadline,
        trace=trace,
        **msgspec.structs.asdict(outcome),
    )


def _key(case: Case, plan: Plan) -> str:
    logs = "log" if plan.data is not None else "generated"
    return "/".join(map(str, (*case, plan.nodes, logs, ",".join(plan.variants))))


def _kept(keep: Path | None) -> dict[str, list[Row]]:
    if keep is None or not keep.exists():
        return {}
    found = {}
    for text in keep.read_bytes().splitlines():
        try:
            line = msgspec.json.decode(text, type=Line)
        except msgspec.MsgspecError:
            continue  # line cut off when an earlier run was killed; the case runs again
        found[line.key] = line.rows
    return found


def _append(keep: Path, line: bytes) -> None:
    try:
        if not keep.exists():
            write_text(keep, "")
        with keep.open("ab") as file:
            file.write(line + b"\n")
    except OSError as error:
        raise WheslError(f"cannot write {keep}: {error.strerror or error}") from error
