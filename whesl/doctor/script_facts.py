"""What a shell script does with its programs' output and exit status, as far as its text tells. Pure.

Only commands that always run are read: what stands in branches, loops, functions and sub-shells, and behind
``&&`` and ``||``, counts for nothing. tree-sitter's grammar of bash reads the script; a script in which it
finds an error has no facts, so that no warning stands on a guess.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import tree_sitter
import tree_sitter_bash

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
_SHELL = re.compile(r"#!\s*\S*/(?:env\s+)?(?:ba|da|k)?sh(?:\s+(.*))?")
_LAUNCHERS = {
    "srun",
    "mpirun",
    "mpiexec",
    "jsrun",
    "aprun",
    "torchrun",
    "python",
    "python3",
    "julia",
    "Rscript",
}
# Commands before the name of a program.
_BEFORE = {"exec", "time", "nohup", "command", "env"}
# Commands that hardly fail: a script that ends with one ends with status 0.
_SOUND = {"echo", "printf", "date", "sleep", "wait", "true", ":", "ls", "touch", "hostname"}
_ERREXIT = re.compile(r"^\s*set\s.*(?:-\w*e\w*\b|errexit)", re.MULTILINE)
_PIPEFAIL = re.compile(r"^\s*set\s.*pipefail", re.MULTILINE)
# A script that looks at the status of a command, or decides on its own.
_ASKS = re.compile(r"\$\?|PIPESTATUS|\btrap\b|^\s*exit\b|\bwait\s+[-\"$%\d]", re.MULTILINE)


class Output(NamedTuple):
    """Where standard output and error go: a file, "" for the job's own, ``&2`` for its standard error."""

    stdout: str = ""
    stderr: str = ""


class Command(NamedTuple):
    """A command that always runs: its words, its output, and what hides its status where that is sure."""

    words: tuple[str, ...]
    output: Output
    hidden_by: str = ""

    @property
    def program(self) -> bool:
        """Whether it is a program of the user's, or starts one."""
        name = self.words[0] if self.words else ""
        return name in _LAUNCHERS or ("/" in name and not name.startswith(("/bin/", "/usr/bin/")))


class ScriptFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a script.

    Attributes:
        printed: the beginnings of lines that it always prints on standard output.
        written: the files to which it sends output, from the job's first directory on.
        program: the first words of the last program that always runs; "" without one.
        output: the files to which all its programs send their output; those of the last one.
        hidden_by: the command that hides the failures of its programs from the script's status, "" for none.
    """

    printed: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    program: str = ""
    output: Output = Output()
    hidden_by: str = ""


def read(text: str) -> ScriptFacts:
    """Return what is known of a script; nothing of one that no shell like sh and bash runs.

    Args:
        text: the script.
    """
    shell = _SHELL.fullmatch(text.partition("\n")[0].rstrip())
    if shell is None:
        return ScriptFacts()
    root = _PARSER.parse(text.encode(errors="surrogateescape")).root_node
    if root.has_error:
        return ScriptFacts()
    statements = [each for each in root.named_children if each.type != "comment"]
    pipefail = bool(_PIPEFAIL.search(text))
    commands = list(_placed([each for one in statements for each in _always(one, pipefail, Output())]))
    programs = [each for each in commands if each.program]
    if not programs:
        return ScriptFacts(printed=_printed(commands), written=_written(commands))
    last = _words(statements[-1])[:1] if statements[-1].type == "command" else ()
    stops = _ERREXIT.search(text) or re.search(r"-\w*e", shell[1] or "") or _ASKS.search(text)
    ends = last[0] if last and last[0] in _SOUND and not stops else ""
    hidden = [each.hidden_by or ends for each in programs]
    return ScriptFacts(
        printed=_printed(commands),
        written=_written(commands),
        program=" ".join(programs[-1].words[:2]),
        output=Output(*(_together(files) for files in zip(*(each.output for each in programs), strict=True))),
        hidden_by=hidden[-1] if all(hidden) and not _ASKS.search(text) else "",
    )


def _always(node: tree_sitter.Node, pipefail: bool, output: Output) -> Iterator[Command]:
    """Yield the commands of a statement that always run.

    Args:
        node: the statement.
        pipefail: whether a pipe ends with the status of a command in it that failed.
        output: where the output goes that the statement does not send elsewhere.
    """
    first = node.named_children[0] if node.named_children else None
    if node.type == "command":
        yield Command(_words(node), output)
    elif node.type == "redirected_statement" and (body := node.child_by_field_name("body")) is not None:
        yield from _always(body, pipefail, _redirected(node, output))
    elif node.type == "pipeline":
        stages = node.named_children
        for stage, reader in zip(stages, (*stages[1:], None), strict=True):
            for each in _always(stage, pipefail, output):
                by = "" if reader is None or pipefail else " ".join(_words(reader)[:1])
                yield each._replace(hidden_by=by or each.hidden_by)
    elif node.type == "list" and first is not None:
        behind = node.named_children[-1]
        harmless = node.children[1].type == "||" and _words(behind)[:1] in (("true",), (":",), ("echo",))
        for each in _always(first, pipefail, output):
            yield each._replace(hidden_by=f"|| {_words(behind)[0]}") if harmless else each


def _words(node: tree_sitter.Node) -> tuple[str, ...]:
    """Return the words of a command or redirected command, from the program's name on."""
    if node.type == "redirected_statement" and (body := node.child_by_field_name("body")) is not None:
        return _words(body)
    if node.type != "command":
        return ()
    fields = [*node.children_by_field_name("name"), *node.children_by_field_name("argument")]
    words = [_text(each) for each in fields]
    while words and (words[0] in _BEFORE or re.match(r"\w+=", words[0])) and len(words) > 1:
        del words[0]
    return tuple(words)


def _text(node: tree_sitter.Node) -> str:
    """Return a word without its quotation marks."""
    text = (node.text or b"").decode(errors="surrogateescape")
    return text[1:-1] if node.type in ("string", "raw_string") and len(text) > 1 else text


def _redirected(node: tree_sitter.Node, output: Output) -> Output:
    """Return where the output of a redirected statement goes, read from left to right as the shell does."""
    stdout, stderr = output
    for each in node.children_by_field_name("redirect"):
        target = each.child_by_field_name("destination")
        if each.type != "file_redirect" or target is None:
            continue
        descriptor = each.child_by_field_name("descriptor")
        number = _text(descriptor) if descriptor is not None else "1"
        operator, file = next((_text(c) for c in each.children if not c.is_named), ""), _text(target)
        if operator == ">&" and file in ("1", "2"):
            stdout, stderr = (stderr or "&2", stderr) if number == "1" else (stdout, stdout)
        elif operator in ("&>", "&>>", ">&"):
            stdout = stderr = file
        elif operator in (">", ">>", ">|"):
            stdout, stderr = (file, stderr) if number == "1" else (stdout, file if number == "2" else stderr)
    return Output(stdout, stderr)


def _placed(commands: Sequence[Command]) -> Iterator[Command]:
    """Yield the commands with their files from the job's first directory on, after ``exec`` and ``cd``."""
    directory, default = "", Output()
    for each in commands:
        name = each.words[0] if each.words else ""
        made = Output(*(_joined(directory, file) for file in each.output))
        if name == "cd" and len(each.words) == 2:
            directory = _joined(directory, each.words[1])
        elif each.words == ("exec",):
            default = Output(made.stdout or default.stdout, made.stderr or default.stderr)
        elif each.words:
            yield each._replace(output=Output(made.stdout or default.stdout, made.stderr or default.stderr))


def _joined(directory: str, file: str) -> str:
    return posixpath.normpath(posixpath.join(directory, file)) if file and file != "&2" else file


def _together(files: Sequence[str]) -> str:
    """Return the last file of streams that all go to files, else ""."""
    return files[-1] if all(file and file != "&2" for file in files) else ""


def _written(commands: Sequence[Command]) -> tuple[str, ...]:
    files = [file for each in commands for file in each.output if file not in ("", "&2", "/dev/null")]
    files += [
        file for each in commands if each.words[0] == "tee" for file in each.words[1:] if file[:1] != "-"
    ]
    return tuple(dict.fromkeys(files))


def _printed(commands: Sequence[Command]) -> tuple[str, ...]:
    """Return the texts of echo and printf on standard output, up to the first that the shell replaces."""
    lines: list[str] = []
    for each in commands:
        if each.words[0] in ("echo", "printf") and not each.output.stdout:
            said = " ".join(word for word in each.words[1:] if not re.fullmatch("-[neE]+", word))
            lines.append(re.split(r"[$`\\]|%[-\d.]*\w", said)[0])
        elif each.words[0] == "trap" and {"EXIT", "0"} & set(each.words[2:]):
            lines += read(f"#!/bin/sh\n{each.words[1]}\n").printed
    return tuple(filter(None, lines))
