"""Reproduction of FLAW's worked example and figures."""

from __future__ import annotations

from whesl.lab.readers.failures import read
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.reproductions.workflow.example import example
from whesl.lab.reproductions.workflow.failure_aware_evaluation import Plan, Row, one_window, windows
from whesl.lab.reproductions.workflow.figures import report
from whesl.lab.results.report_tables import Table
from whesl.lab.simulators.workflow.audit import audit
from whesl.lab.simulators.workflow.generate import Shape
from whesl.lab.simulators.workflow.simulate import simulate
from whesl.placement.policies.list_scheduling import FLAW, RANK_HYBD

_DOCUMENT = "FLAW"
_PRINTED = {"RANK_HYBD": (155, 30, 4), "FLAW": (150, 20, 1)}
_NAMES = ("makespan", "loss", "reschedulings")


@experiment("flaw-example", _DOCUMENT, "the worked example of three nodes and five tasks, to the number")
def flaw_example(given: Inputs) -> Report:
    """Run the worked example of Figures 4 to 8, which needs no traces."""
    tasks, truth, predictions = example()
    findings = []
    values: dict[str, dict[str, float]] = {}
    rows = []
    for policy in (RANK_HYBD, FLAW):
        outcome = simulate(tasks, policy, truth, predictions)
        audit(tasks, truth, outcome)
        here = (round(outcome.makespan[0]), round(outcome.loss), outcome.reschedulings)
        values[policy.name] = dict(zip(_NAMES, here, strict=True))
        for name, printed, measured in zip(_NAMES, _PRINTED[policy.name], here, strict=True):
            findings.append(
                Finding(
                    f"{policy.name}, {name}",
                    f"{_DOCUMENT}, Figs 4 to 8",
                    f"{policy.name} ends with a {name} of {printed}",
                    str(printed),
                    str(measured),
                    measured == printed,
                    f"{measured - printed:+d}" if measured != printed else "",
                )
            )
        for task, node, start, end, completed in outcome.attempts.rows():
            rows.append(
                (policy.name, f"T{task}", f"P{node}", start, end, "ends" if completed else "is killed")
            )
    right = round(outcome.aaa * outcome.asked)
    until_no = f"{round(outcome.aaa_asked * outcome.questions)} of {outcome.questions}"
    values["FLAW"] |= {"aaa": outcome.aaa, "right": right, "queries": outcome.asked}
    findings.append(
        Finding(
            "FLAW, AAA",
            f"{_DOCUMENT}, section IV.D",
            "one false negative in 10 queries",
            "9 of 10",
            f"{right} of {outcome.asked}",
            (right, outcome.asked) == (9, 10),
            why="each free node is asked about once at each scheduling event with a ready task; asked as in"
            f" Fig. 3, until the first no, it is {until_no}",
        )
    )
    trace = Table(
        "trace",
        "Attempts in the order of their ends",
        ("policy", "task", "node", "start", "end", "what"),
        rows,
    )
    return Report(findings, [trace], values=values)


_RECORDS = "lanl/LA-UR-05-7318-failure-data-1996-2005.csv.xz"
_QUICK = Plan(
    windows=3, traces=1, mixes=3, concurrent=(1, 3), shape=Shape(tasks=(40, 60), layers=(4, 8)), seed=1
)


@experiment("flaw", _DOCUMENT, "Figures 9 to 15: makespan, loss and AAA against the accuracy of predictions")
def flaw(given: Inputs) -> Report:
    """Run FLAW's evaluation on the failures of LANL's cluster 2 with generated workflows."""
    plan = _QUICK if given.quick else Plan()
    loaded = read(given.trace(_RECORDS), "lanl", system="2")
    rows: list[Row] = []
    with given.progress.stage("windows of failures", plan.windows) as advance:
        for number, (truth, graphs, seed) in enumerate(windows(loaded.history, plan)):
            rows += one_window(number, truth, graphs, seed, plan)
            advance(1)
    return report(rows, plan, f"LANL cluster 2, {plan.nodes} of {loaded.history.nodes} nodes")
