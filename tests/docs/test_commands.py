"""What the documents and the manual pages say of commands is what the commands say of themselves."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from whesl.cli.commands import COMMANDS
from whesl.cli.group import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "lab").glob("*.md")),
]
MANUAL = ROOT / "docs" / "man"
CONTEXT = click.Context(cli, info_name="whesl", **cli.context_settings)


def command(name: str) -> click.Command:
    found = cli.get_command(CONTEXT, name)
    assert found is not None
    return found


def inside(name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and those inside it, by what is typed after ``whesl``."""
    yield from _below(name, command(name), CONTEXT)


def _below(typed: str, found: click.Command, parent: click.Context) -> Iterator[tuple[str, click.Command]]:
    yield typed, found
    if isinstance(found, click.Group):
        context = click.Context(found, info_name=typed.split()[-1], parent=parent)
        for each in found.list_commands(context):
            one = found.get_command(context, each)
            assert one is not None
            yield from _below(f"{typed} {each}", one, context)


EVERY = [pair for name in COMMANDS for pair in inside(name)]
OPTIONS = {
    typed: {opt for parameter in one.params for opt in (*parameter.opts, *parameter.secondary_opts)}
    | {"-h", "--help"}
    for typed, one in EVERY
}


@pytest.mark.parametrize("typed", [typed for typed, _ in EVERY])
def test_help_fits_a_terminal_and_says_what_a_value_is(typed: str) -> None:
    one = dict(EVERY)[typed]
    shown = one.get_help(click.Context(one, info_name=f"whesl {typed}", terminal_width=80))
    assert max(map(len, shown.splitlines())) <= 80
    assert not re.search(r"\b(?:RANGE|INTEGER|FLOAT)\b", shown)
    # Words of a list may go on; a summary of one line that is cut ends so.
    assert not re.search(r"[a-z.]\.\.\.$", shown, re.MULTILINE), "a summary is cut"


# The documents -------------------------------------------------------------------------------------------


def said(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each call of whesl in a page, in code or in a block: the command, and what follows it."""
    text = page.read_text()
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    blocks = [block for kind, block in fenced if kind in ("", "console", "sh")]
    lines = [line for block in blocks for line in re.findall(r"\bwhesl [a-z](?:(?!\$ ).)*", block)]
    spans = re.findall(r"`(whesl [a-z][^`]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for line in (*lines, *spans):
        words = line.split("#")[0].split(" | ")[0].replace("$(", "").split()[1:]
        typed = [" ".join(words[:count]) for count in (3, 2, 1)]
        if known := [one for one in typed if one in OPTIONS]:
            yield known[0], line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_in_documents_exist(page: Path) -> None:
    for typed, line in said(page):
        # What stands behind a bare -- is not ours.
        own = line.split("#")[0].split(" -- ")[0].split(" | ")[0]
        for option in re.findall(r"(?<![\w/-])(--[a-z][a-z-]*)", own):
            known = OPTIONS[typed] | OPTIONS[typed.split()[0]]
            assert option in known, f"{page.name}: whesl {typed} has no {option}, in: {line}"


def test_every_command_is_listed() -> None:
    """With the words that ``whesl --help`` has for it."""
    page = (ROOT / "docs" / "commands.md").read_text()
    section = page.split("\n## All commands\n", 1)[1].split("\n## ", 1)[0]
    listed = re.findall(r"^\| `whesl ([a-z]+)` \| (.*) \|$", section, re.MULTILINE)
    assert listed == [(name, text) for name, (_, text) in COMMANDS.items()]


def test_help_lists_them_too() -> None:
    shown = " ".join(cli.get_help(CONTEXT).split())
    for name, (_, text) in COMMANDS.items():
        assert f" {name} {text}" in shown


# The manual ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = ROOT / "tools" / "manpages.py"
    found = importlib.util.spec_from_file_location("manpages", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_there_is_a_page_for_each_command() -> None:
    pages = {path.name for path in MANUAL.glob("*")}
    assert pages == {"whesl.1", *(f"whesl-{name}.1" for name in COMMANDS)}, "make man"


def test_the_page_of_all_commands(generator: ModuleType) -> None:
    text = (MANUAL / "whesl.1").read_text()
    for heading in ("Exit status", "Variables"):
        rows = generator.table(heading)
        assert len(rows) > 3
        for key, words in rows:
            wanted = f"{generator.from_markdown(key)}\n{generator.from_markdown(words)}\n"
            assert f".TP\n{wanted}" in text, "make man"
    for name, (_, words) in COMMANDS.items():
        assert f"{generator.roff(words)}\n" in text, f"whesl {name}: make man"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_page_says_what_the_help_says(generator: ModuleType, name: str) -> None:
    """Each option with its words, and none that is no more; ``make man`` writes the pages anew."""
    text = (MANUAL / f"whesl-{name}.1").read_text()
    assert text.startswith(f'.TH "WHESL\\-{name.upper()}" "1"')
    known: set[str] = set()
    for _, one in inside(name):
        for parameter in one.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                known.update((*parameter.opts, *parameter.secondary_opts))
                words = generator.roff(" ".join((parameter.help or "").split()))
                assert words in text, f"whesl {name} {parameter.opts}: make man"
        paragraph = generator.roff(" ".join((one.help or "").split("\n\n")[0].split()))
        assert paragraph in text, f"whesl {name}: make man"
    described = re.findall(r"\.TP\n\\fB(\\-[^\n]*)\\fP\n", text)
    named = {word for line in described for word in re.findall(r"--?[a-zA-Z][\w-]*", line.replace("\\", ""))}
    metavars = {word for word in named if word not in known | {"-h", "--help"}}
    assert not {word for word in metavars if word.startswith("--")}, f"whesl {name}: make man"


def test_pages_do_not_depend_on_the_day(generator: ModuleType) -> None:
    assert generator.pages() == generator.pages()
    assert "/root" not in "".join(generator.pages().values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a-b", "a\\-b"),
        (".TH x", "\\&.TH x"),
        ("'x\n.y", "\\&'x\n\\&.y"),
        ("back\\slash", "back\\eslash"),
        ("~^`", "\\(ti\\(ha\\(ga"),
    ],
)
def test_nothing_in_a_text_is_a_request(generator: ModuleType, text: str, expected: str) -> None:
    assert generator.roff(text) == expected


def test_a_table_of_a_document(generator: ModuleType) -> None:
    rows = dict(generator.table("Exit status"))
    assert rows["`whesl coordinator status`"] == "0 it runs, 1 it does not"
    assert generator.from_markdown("`| head`, [here](x.md)") == "\\fB| head\\fP, here"
    assert "(\\fB| head\\fP)" in (MANUAL / "whesl.1").read_text(), "an escaped bar parts no cells"


@pytest.mark.parametrize("page", sorted(MANUAL.glob("*.1")), ids=lambda page: page.name)
def test_groff_has_nothing_to_say(page: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    # Lines that cannot be filled well are no mistake of the page.
    words = shlex.split("groff -man -Tutf8 -ww -Wbreak")
    done = subprocess.run([*words, str(page)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert "SYNOPSIS" in re.sub(".\x08", "", done.stdout), "bold is struck over"
