"""whesl doctor: the software and services of this machine, whether they work, and advice for the others."""

from __future__ import annotations

import click
import msgspec
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from whesl import __version__
from whesl.cli.broken_pipe import Screen
from whesl.cli.options import PRINT_JSON
from whesl.cli.parameters import option, parameters
from whesl.doctor import home_filesystem
from whesl.doctor.probe_registry import PROBES
from whesl.doctor.probe_runner import Finding, State, examine

_STYLES = {State.OK: "green", State.WARN: "yellow", State.MISSING: "dim", State.FAILED: "bold red"}


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """All findings; ``healthy`` if no check has failed."""

    whesl: str
    healthy: bool
    findings: tuple[Finding, ...]


@click.command()
@parameters
def doctor(
    *,
    as_json: bool = PRINT_JSON,
    compute: bool = option(False, "Also try the home from a compute node, in a job of one node."),
) -> int:
    """Look at what WHESL needs and can use here: software, resource managers, launchers, files.

    Changes nothing, and starts no job without --compute. Exit status 0: all that is here and needed works
    (what is optional may be missing); 1: something has failed.
    """
    findings = tuple(examine(PROBES))
    findings += tuple(home_filesystem.compute() if compute else home_filesystem.pointer())
    healthy = all(finding.state is not State.FAILED for finding in findings)
    if as_json:
        body = Diagnosis(whesl=__version__, healthy=healthy, findings=findings)
        click.echo(msgspec.json.encode(body).decode())
    else:
        _show(findings, healthy=healthy)
    return 0 if healthy else 1


def _show(findings: tuple[Finding, ...], *, healthy: bool) -> None:
    # On a terminal long findings are folded at words; into a pipe each finding is one line.
    screen = Screen(soft_wrap=not Screen().is_terminal, highlight=False)
    width = max((len(finding.name) for finding in findings), default=0)
    for group in dict.fromkeys(finding.group for finding in findings):
        screen.print(Text(group, style="bold"))
        for finding in (item for item in findings if item.group == group):
            said = " ".join(part for part in (finding.version, finding.detail) if part)
            line = Text(f"{finding.state.value:<8}", style=_STYLES[finding.state])
            line.append(f"{finding.name:<{width}}  ", style="default")
            _print(screen, line, 2, Text(said))
            if finding.advice and finding.state is not State.OK:
                _print(screen, Text(), width + 12, Text(f"-> {finding.advice}", style="dim"))
    failed = [finding.name for finding in findings if finding.state is State.FAILED]
    screen.print("everything that is needed works" if healthy else f"failed: {', '.join(failed)}")


def _print(screen: Screen, first: Text, indent: int, said: Text) -> None:
    """Print text after the beginning of its line, with indented further lines."""
    if screen.is_terminal:
        row = Table.grid()
        row.add_column(no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(first, said)
        screen.print(Padding(row, (0, 0, 0, indent)))
        return
    line = Text(" " * indent).append_text(first).append_text(said)
    line.rstrip()
    screen.print(line)
