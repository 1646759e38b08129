"""Writes the manual pages, docs/man/*.1, from the commands themselves: python tools/manpages.py

One page for each command and one for all of them. Names, arguments, options and their words are those of
``--help``; exit statuses and variables are the tables of docs/commands.md. Nothing in a page depends on the
day or the machine, so a test can say whether they are up to date.

(click-man, the generator at hand, knows no commands that are imported when they are called, escapes only the
hyphens of options, and has no place for statuses and variables.)
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from whesl import __version__
from whesl.cli.commands import COMMANDS
from whesl.cli.group import cli

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "man"
DOCUMENT = ROOT / "docs" / "commands.md"


def roff(text: str) -> str:
    """Return text as roff prints it: nothing in it is a request or an escape.

    Args:
        text: one or more lines of plain text.
    """
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    escaped = escaped.replace("`", "\\(ga")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in escaped.split("\n"))


def bold(text: str) -> str:
    """Return text in bold."""
    return f"\\fB{roff(text)}\\fP"


def from_markdown(text: str) -> str:
    """Return a line of our documents as roff: code in bold, links as their words."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text.replace("\\|", "|"))
    parts = text.split("`")
    return "".join(bold(part) if number % 2 else roff(part) for number, part in enumerate(parts))


def table(heading: str) -> list[tuple[str, str]]:
    """Return the rows of the table below a heading of docs/commands.md."""
    section = DOCUMENT.read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in section.splitlines() if line.startswith("|")]
    return [(first.strip(), second.strip()) for first, second in rows[2:]]


def paragraphs(text: str) -> Iterator[str]:
    """Yield a help text's paragraphs; those that click would not fill are not filled here either."""
    for number, block in enumerate(inspect.cleandoc(text).split("\n\n")):
        if number:
            yield ".PP"
        if block.startswith("\b"):
            yield from (".nf", roff(block.lstrip("\b").lstrip("\n")), ".fi")
        else:
            yield roff(" ".join(block.split()))


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield a command's options."""
    for parameter in command.get_params(context):
        if "--help" in parameter.opts and context.parent is not None and context.parent.parent is not None:
            continue  # said once for the command that it belongs to
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            names, words = record
            yield from (".TP", bold(names), roff(" ".join(words.split())) or "\\&")


def synopsis(command: click.Command, context: click.Context) -> str:
    """Return how a command is called, in one line."""
    return f"{bold(context.command_path)} {roff(' '.join(command.collect_usage_pieces(context)))}"


def _root() -> click.Context:
    return click.Context(cli, info_name="whesl", **cli.context_settings)


def page(name: str) -> str:
    """Return the page of one command."""
    context = _root()
    command = cli.get_command(context, name)
    assert command is not None
    own = click.Context(command, info_name=name, parent=context)
    lines = [
        title(f"whesl-{name}"),
        ".SH NAME",
        f"{roff(f'whesl-{name}')} \\- {roff(COMMANDS[name][1].rstrip('.'))}",
    ]
    lines += [".SH SYNOPSIS", synopsis(command, own)]
    inside = _inside(command, own)
    for one, its in inside:
        lines += [".br", synopsis(one, its)]
    lines += [".SH DESCRIPTION", *paragraphs(command.help or "")]
    lines += [".SH OPTIONS", *options(command, own)]
    for one, its in inside:
        lines += [f".SS {roff(its.command_path)}", *paragraphs(one.help or ""), *options(one, its)]
    statuses = [(key, text) for key, text in table("Exit status") if _about(key, name)]
    lines += [".SH EXIT STATUS", *_listed(statuses)]
    lines += [".SH SEE ALSO", f"{bold('whesl')}(1)"]
    return "\n".join(lines) + "\n"


def overview() -> str:
    """Return the page of all commands."""
    context = _root()
    lines = [title("whesl"), ".SH NAME", f"whesl \\- {roff((cli.help or '').rstrip('.'))}"]
    lines += [".SH SYNOPSIS", synopsis(cli, context), ".SH DESCRIPTION", *paragraphs(cli.help or "")]
    lines += [".PP", from_markdown(_INTRODUCTION), ".SH OPTIONS", *options(cli, context), ".SH COMMANDS"]
    for name, (_, text) in COMMANDS.items():
        lines += [".TP", f"{bold(f'whesl-{name}')}(1)", roff(text)]
    lines += [".SH EXIT STATUS", *_listed(table("Exit status"))]
    lines += [".SH ENVIRONMENT", *_listed(table("Variables"))]
    lines += [".SH FILES", *_listed(_FILES), ".SH SEE ALSO"]
    lines.append(",\n".join(f"{bold(f'whesl-{name}')}(1)" for name in COMMANDS))
    return "\n".join(lines) + "\n"


_INTRODUCTION = (
    "A specification says which log lines, exits, silences and lost nodes are exceptions, and what is done"
    " about each; `whesl check` and `whesl explain` read it. `whesl run` runs a workflow under its own"
    " manager with every task protected, `whesl exec` one command. `whesl status`, `whesl events` and"
    " `whesl report` tell what happened."
)
_FILES = [
    ("`~/.whesl`", "keys, journals and records of all tasks, or the directory in `WHESL_HOME`"),
    ("`~/.whesl/coordinator/log`", "what the coordinator says of itself"),
    ("`~/.whesl/tasks/WORKFLOW/TASK/log`", "what a task's isolator says of itself"),
]


def title(name: str) -> str:
    """Return a page's first line."""
    return f'.TH "{roff(name.upper())}" "1" "" "WHESL {__version__}" "WHESL"'


def _inside(command: click.Command, context: click.Context) -> list[tuple[click.Command, click.Context]]:
    if not isinstance(command, click.Group):
        return []
    found = []
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        assert one is not None
        own = click.Context(one, info_name=name, parent=context)
        found += [(one, own), *_inside(one, own)]
    return found


def _about(key: str, name: str) -> bool:
    return key == "every command" or re.match(rf"`whesl {name}\b", key) is not None


def _listed(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for key, text in rows:
        yield from (".TP", from_markdown(key), from_markdown(text))


def pages() -> dict[str, str]:
    """Return every page's text by its file's name."""
    return {"whesl.1": overview(), **{f"whesl-{name}.1": page(name) for name in COMMANDS}}


def main() -> int:
    """Write the pages; remove those of commands that are no more."""
    TARGET.mkdir(exist_ok=True)
    made = pages()
    for old in TARGET.glob("*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (TARGET / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} pages in {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
