"""Pages of the experiments' results: one page per experiment, and an overview."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from whesl.lab.reproductions.registry import Finding
from whesl.lab.reproductions.runner import Outcome, summed
from whesl.lab.results.report_page import Lines, Page, Part, Section, write_page
from whesl.lab.results.report_tables import Table

HOLDS = {True: "holds", False: "does not hold", None: "cannot be shown here"}


def write(out: Path, outcomes: Sequence[Outcome], *, quick: bool) -> None:
    """Write OUT/NAME/index.html for each experiment that has run, and the overview OUT/index.html.

    Args:
        out: the directory of results.
        outcomes: outcomes of the experiments, in the order of the overview.
        quick: whether the runs were the smaller versions.

    Raises:
        WheslError: a page cannot be written.
    """
    for outcome in outcomes:
        if outcome.report is not None:
            write_page(out / outcome.name / "index.html", page(outcome, quick=quick))
    write_page(out / "index.html", overview(outcomes, quick=quick))


def page(outcome: Outcome, *, quick: bool) -> Page:
    """Return the page of one experiment.

    Args:
        outcome: the experiment's outcome.
        quick: whether the run was the smaller version.
    """
    report = outcome.report
    assert report is not None
    parts: list[Part] = [findings(report.findings)] if report.findings else ["No finding is stated for it."]
    sections = [Section("Findings", parts)]
    if report.figures:
        sections.append(Section("Figures", report.figures))
    if report.tables:
        sections.append(Section("Tables", report.tables))
    facts = [outcome.source, f"ran {outcome.seconds:.1f} s", *(["quick: smaller runs"] if quick else [])]
    said, tone = _verdict(report.findings)
    return Page(
        "WHESL lab: reproduction", f"{outcome.name}: {outcome.about}", said, tone, facts, (), sections
    )


def overview(outcomes: Sequence[Outcome], *, quick: bool) -> Page:
    """Return the page of all experiments.

    Args:
        outcomes: outcomes of the experiments, in the order of the page.
        quick: whether the runs were the smaller versions.
    """
    done = [outcome for outcome in outcomes if outcome.report is not None]
    every = [finding for outcome in done if outcome.report is not None for finding in outcome.report.findings]
    rows = []
    for outcome in outcomes:
        own = () if outcome.report is None else outcome.report.findings
        rows.append(
            (outcome.name, outcome.about, outcome.source, *summed(own), outcome.error.partition("\n")[0])
        )
    columns = ("experiment", "about", "source", "holds", "does not", "cannot be shown", "not run because")
    failing = [finding for finding in every if finding.holds is False]
    sections = [Section("Experiments", [Table("experiments", "", columns, rows)])]
    if failing:
        sections.append(Section("What does not hold here", [findings(failing)]))
    unknown = [
        f"{finding.statement} ({finding.source}): {finding.why}" for finding in every if finding.holds is None
    ]
    if unknown:
        sections.append(Section("What these traces cannot show", [Lines(unknown)]))
    said, tone = _verdict(every)
    facts = [f"{len(done)} of {len(outcomes)} experiments ran", *(["quick: smaller runs"] if quick else [])]
    return Page("WHESL lab: reproduction", "Published results, run again", said, tone, facts, (), sections)


def findings(found: Sequence[Finding]) -> Table:
    """Return findings as a table."""
    columns = ("finding", "source", "printed", "here", "", "by how much", "why")
    rows = [
        (
            one.statement,
            one.source,
            one.printed,
            one.measured,
            HOLDS[one.holds],
            one.difference or "-",
            one.why or "-",
        )
        for one in found
    ]
    return Table("findings", "", columns, rows)


def _verdict(found: Sequence[Finding]) -> tuple[str, Literal["good", "warn", "calm"]]:
    hold, fail, unknown = summed(found)
    said = f"{hold} of {len(found)} findings hold here, {fail} do not"
    said += f", {unknown} cannot be shown with these traces." if unknown else "."
    return said, "warn" if fail else "good" if hold else "calm"
