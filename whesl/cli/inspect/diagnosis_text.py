"""Prints a diagnosis on a terminal, or as plain text."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from whesl.runtime.diagnose.anomalous_lines import SHOWN
from whesl.runtime.diagnose.diagnosis_records import Candidate, Diagnosis, Finding
from whesl.runtime.diagnose.log_reader import lines_of
from whesl.runtime.diagnose.rule import rule

_AROUND = 3  # shown lines before and after the decisive one
_HELPS = {
    "same-nodes": "the same again, on the same nodes",
    "other-nodes": "the same again, on other nodes",
    "other-resources": "again with other resources: more memory, more time, another file system",
    "none": "nothing before what is named here is mended: a restart would end in the same way",
    "unknown": "not known",
}


def show(diagnosis: Diagnosis, everything: bool) -> None:
    """Print a diagnosis.

    Args:
        diagnosis: the diagnosis.
        everything: whether to list all candidates with their reasons.
    """
    console = Console(highlight=False, soft_wrap=True)
    cause = diagnosis.cause
    if cause is None:
        _show_without_cause(console, diagnosis)
    else:
        _show_cause(console, diagnosis, cause)
    if diagnosis.told:
        console.print(f"\nThe resource manager says: {diagnosis.told}", markup=False)
    if everything and diagnosis.candidates:
        console.print("\nCandidates, the best first:")
        for candidate in diagnosis.candidates:
            console.print(
                f"  {candidate.score:>3}  {_at(candidate.finding)}  ",
                _cut(candidate.finding.text),
                markup=False,
            )
            for reason in candidate.reasons:
                console.print(f"         - {reason}", markup=False, style="dim")


def _show_without_cause(console: Console, diagnosis: Diagnosis) -> None:
    if diagnosis.outcome.value == "ended-well":
        console.print("ended well", style="bold green")
        return
    console.print("cause not known", style="bold yellow")
    for file, line in diagnosis.working[:SHOWN]:
        told = f"{file}:{line} is a step of work, and the last line: the program was ended from outside,"
        console.print(told, "hangs, or kept its last output back.", markup=False)
    if not diagnosis.unusual and not diagnosis.working:
        console.print("Nothing that can be told from: the logs are empty, or all their lines are alike.")
    if diagnosis.unusual:
        console.print(
            "These lines are unlike the job's other lines; --good LOG leaves out those of a good run:"
        )
    for file, line, text in diagnosis.unusual:
        console.print(f"  {file}:{line}: {_cut(text)}", markup=False)


def _show_cause(console: Console, diagnosis: Diagnosis, cause: Candidate) -> None:
    finding = cause.finding
    assert finding.entry.cause_class is not None
    console.print(f"{finding.entry.cause_class.value}: ", style="bold red", end="", markup=False)
    console.print(finding.entry.means, markup=False)
    if finding.line:
        console.print(f"\n  {_at(finding)}", style="bold", markup=False)
    for number, text in _around(finding):
        mark, style = (">", "bold") if number == finding.line else (" ", "dim")
        console.print(f"  {mark} {number:>7}  {_cut(text)}", style=style, markup=False)
    console.print()
    places = (
        ("node", finding.node),
        ("rank", finding.rank),
        ("device", finding.device),
        ("path", finding.path),
    )
    where = ", ".join(f"{name} {value}" for name, value in places if value is not None)
    if where:
        console.print(f"  Where:       {where}", markup=False)
    console.print(f"  What helps:  {_HELPS[diagnosis.advice.value]}", markup=False)
    console.print(f"  How sure:    {diagnosis.sure:.0%}", markup=False)
    for line in _folded(diagnosis):
        console.print(f"  Followed by: {line}", markup=False)
    console.print("\n  A rule for it:\n", markup=False)
    for line in rule(finding, diagnosis.advice).splitlines():
        console.print(f"    {line}", markup=False, style="cyan")


def _folded(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the number of consequences, and the most frequent kinds, a line each."""
    if not diagnosis.consequences:
        return
    ranks = {finding.rank for finding in diagnosis.consequences if finding.rank is not None}
    of = f" of {len(ranks)} ranks" if len(ranks) > 1 else ""
    count = len(diagnosis.consequences)
    yield f"{'at least ' if diagnosis.more else ''}{count} line{'s' if count != 1 else ''}{of}"
    kinds = Counter(finding.entry.means for finding in diagnosis.consequences)
    for means, times in kinds.most_common(3):
        yield f"{times} x {means}"


def _around(finding: Finding) -> Iterator[tuple[int, str]]:
    """Yield the lines around the decisive one; only the decisive one where the log cannot be read again."""
    if not finding.line:
        return
    if finding.file != "-" and Path(finding.file).is_file():
        yield from lines_of(finding.file, finding.line - _AROUND, finding.line + _AROUND)
    else:
        yield finding.line, finding.text


def _at(finding: Finding) -> str:
    return f"{finding.file}:{finding.line}" if finding.file != "-" else f"line {finding.line}"


def _cut(text: str) -> str:
    width = 200 if not sys.stdout.isatty() else 160
    shown = text if len(text) <= width else f"{text[:width]}..."
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in shown)
