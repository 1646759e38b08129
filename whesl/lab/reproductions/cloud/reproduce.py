"""Experiments: the evaluation of section 3.5.2, and the calibration of the stated probabilities."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from whesl.lab.reproductions.cloud import observation_checks, probability_calibration
from whesl.lab.reproductions.cloud.observation_checks import Rows
from whesl.lab.reproductions.cloud.verdicts import verdicts
from whesl.lab.reproductions.registry import Finding, Inputs, Report, experiment
from whesl.lab.simulators.cloud.evaluate import ADAPTIVE, OURS, Plan, Row, evaluate

_QUICK = 6


@experiment("cloud-observations", "HPC+Cloud", "Observations 1 to 8 and Table 3.4 at 795 nodes' scale")
def large(given: Inputs) -> Report:
    """Run 1,000 cases of each workflow at full scale; without traces, on a generated (synthetic) log."""
    return document(evaluate(Plan(data=given.data, cases=_QUICK if given.quick else 1000), given.progress))


@experiment("cloud-small", "HPC+Cloud", "The same at the scale of the cluster of Figure 3.5a, 80 nodes")
def small(given: Inputs) -> Report:
    """Run 1,000 cases of each workflow on 80 nodes, with the work scaled down in proportion."""
    return document(
        evaluate(Plan(data=given.data, nodes=80, cases=_QUICK if given.quick else 1000), given.progress)
    )


@experiment("cloud-calibration", "WHESL", "Of plans that say 90 %, how many meet their deadline")
def calibrated(given: Inputs) -> Report:
    """Plan and run 500 cases of each workflow, to calibrate the stated probabilities."""
    plan = Plan(data=given.data, cases=_QUICK if given.quick else 500, variants=(OURS, ADAPTIVE))
    return stated(evaluate(plan, given.progress))


def document(found: list[Row]) -> Report:
    """Return the report of an evaluation of the document's schedulers, with verdicts checked by bootstrap."""
    return _report(observation_checks, found, verdicts(found, observation_checks.findings))


def stated(found: list[Row]) -> Report:
    """Return the report of the evaluation of the stated probabilities."""
    return _report(probability_calibration, found, probability_calibration.findings(Rows(found)))


def _report(checks: ModuleType, found: list[Row], findings: list[Finding]) -> Report:
    rows = Rows(found)
    return Report(findings, checks.tables(rows), checks.figures(rows), _values(rows))


def _values(rows: Rows) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in rows.names:
        for who in (ADAPTIVE, OURS):
            if own := rows.of(name, who):
                found[f"{name}, {who}"] = {
                    "cases": len(own),
                    "all tasks done": sum(row.finished is not None for row in own) / len(own),
                    "mean cost": sum(row.cost for row in own) / len(own),
                }
    return found
