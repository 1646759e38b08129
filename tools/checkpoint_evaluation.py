"""Write docs/results/checkpoint-models.md: the dissertation's evaluation of checkpoint models, run again.

python tools/checkpoint_evaluation.py --data DIR   (DIR: where lanl/ with the failure records is)
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from whesl.lab.execution.progress_interface import Silent
from whesl.lab.reproductions import registry
from whesl.lab.results.report_tables import markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whesl.lab.reproductions.registry import Finding, Report

PAGE = Path(__file__).parent.parent / "docs" / "results" / "checkpoint-models.md"
HOLDS = {True: "yes", False: "**no**", None: "-"}


def _findings(report: Report) -> str:
    lines = ["| statement | printed | here | holds |", "| --- | --- | --- | --- |"]
    for finding in report.findings:
        lines.append(
            f"| {finding.statement} ({finding.source}) | {finding.printed} | {finding.measured} | "
            f"{HOLDS[finding.holds]} |"
        )
    return "\n".join(lines) + "\n"


def _reasons(findings: Sequence[Finding]) -> str:
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        if finding.holds is False:
            reasons.setdefault(finding.why, []).append(finding.name)
    lines = (f"{', '.join(names)}: {why}." for why, names in reasons.items())
    return "\n".join(f"- {_wrapped(line, 2)}" for line in lines) + "\n"


def _wrapped(text: str, indent: int) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + 1 > 116 - indent:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return ("\n" + " " * indent).join(lines)


def _part(text: str, **values: str) -> str:
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


TEXT = """# Measured: checkpoint models beside the dissertation

This page is written by `python tools/checkpoint_evaluation.py --data DIR`; its figures are those of that
run ({runs} runs of each setting, seed 20260101). `whesl lab reproduce ckpt-ratios ckpt-overheads
ckpt-observations ckpt-alpha ckpt-lanl` prints every finding below. The models are explained on
[the page of the command](../lab/checkpoints.md).

What the dissertation leaves open and this model decides: after a prioritized checkpoint the application
computes on until the failure, and loses what it did since; vulnerable nodes write one after the other; a
prediction in the second phase makes that node next; a migration is aborted by a prediction with a shorter
lead; a failure before the drain has ended falls back to the checkpoint before; the failure rate starts as
the distribution's and follows what is observed. Migration costs nothing unless `runtime_share` says so.
Lead times and the matrix of bandwidths are pictures in the dissertation:
`whesl/lab/simulators/checkpoints/data/summit.toml` says of each figure whether it is printed, derived or
chosen.

## Failures met in time

A failure is met when its node's checkpoint is written, or its processes have moved, before it fails. Recall
and lead times are calibrated on the rows 0 % and -10 % of Tables 2.2 and 2.4 alone; the other three rows
(36 cells) are predicted.

{ratios}
{ratio_table}
## Overheads

Percent by which a model's overhead (checkpoints, recomputation, recovery) is below that of B, least and
most of the six applications. A range counts as holding where both ends are within 5 points.

{overheads}
{overhead_table}
## Observations

{observations}
## Migration against prioritized checkpoints: equations (2.7) and (2.8)

{alpha}
{alpha_table}
## On recorded failures

{lanl}
## Why what does not hold does not

{reasons}
"""


def main() -> None:
    """Run the experiments and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="where the failure records are")
    parser.add_argument("--quick", action="store_true", help="100 runs of each setting instead of 1,000")
    given = parser.parse_args()
    reports = {}
    for name in ("ckpt-ratios", "ckpt-overheads", "ckpt-observations", "ckpt-alpha", "ckpt-lanl"):
        begun = time.monotonic()
        reports[name] = registry.load(name).run(registry.Inputs(Silent(), given.data, given.quick))
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    findings = [finding for report in reports.values() for finding in report.findings]
    text = _part(
        TEXT,
        runs="100" if given.quick else "1,000",
        ratios=_findings(reports["ckpt-ratios"]),
        ratio_table=markdown(reports["ckpt-ratios"].tables[0]),
        overheads=_findings(reports["ckpt-overheads"]),
        overhead_table=markdown(reports["ckpt-overheads"].tables[0]),
        observations=_findings(reports["ckpt-observations"]),
        alpha=_findings(reports["ckpt-alpha"]),
        alpha_table=markdown(reports["ckpt-alpha"].tables[0]),
        lanl=_findings(reports["ckpt-lanl"]),
        reasons=_reasons(findings),
    )
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
