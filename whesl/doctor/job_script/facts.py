"""What a shell script does with its programs' output, as far as its text tells. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

import msgspec

from whesl.doctor.job_script import commands as script_commands
from whesl.doctor.job_script.commands import UNKNOWN, Command, Output, Sink

_SHELL = re.compile(r"#!\s*\S*/(?:env\s+)?(?:ba|da|k)?sh(?:\s.*)?")
_LONGEST = 200  # characters of a path that is looked for among a script's words


class ScriptFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a script.

    Attributes:
        commands: all its commands, those of functions where they are called.
        dead: those that stand behind an ``exit`` that always runs, and are not among ``commands``.
        written: the files to which it sends output, from the job's first directory on.
        made: the directories that it makes, or names to its programs.
        program: the last program that always runs, as its first two words; "" when no program always runs.
        output: where all its programs send their output; ``UNKNOWN`` where they differ.
    """

    commands: tuple[Command, ...] = ()
    dead: tuple[Command, ...] = ()
    written: tuple[str, ...] = ()
    made: frozenset[str] = frozenset()
    program: str = ""
    output: Output = Output()


def read(text: str) -> ScriptFacts:
    """Return what is known of a script; nothing of one that no shell like sh and bash runs.

    Args:
        text: the script.
    """
    shell = _SHELL.fullmatch(text.partition("\n")[0].rstrip())
    script = script_commands.read(text) if shell is not None else None
    if script is None:
        return ScriptFacts()
    commands = tuple(each for each in script if not each.place.dead)
    always = [each for each in commands if each.place.always]
    programs = [each for each in always if each.program]
    facts = ScriptFacts(
        commands=commands,
        dead=tuple(each for each in script if each.place.dead),
        written=_written(always),
        made=frozenset(_made(commands)),
    )
    if not programs:
        return facts
    seen = [each.place.output for each in programs if not each.place.captured]
    return msgspec.structs.replace(
        facts,
        program=" ".join(programs[-1].words[:2]),
        output=Output(*(_together(sinks) for sinks in zip(*seen, strict=True))) if seen else Output(),
    )


def _together(sinks: Sequence[Sink]) -> Sink:
    """Return the last of sinks that are all files, or all the same; else ``UNKNOWN``."""
    files = all(not each.own and each.file != UNKNOWN and not each.through for each in sinks)
    return sinks[-1] if files or len(set(sinks)) == 1 else Sink(UNKNOWN)


def _written(commands: Sequence[Command]) -> tuple[str, ...]:
    files = [sink.file for each in commands for sink in each.place.output if not sink.own]
    files += [file for each in commands if each.name == "tee" for file in each.words[1:] if file[:1] != "-"]
    return tuple(dict.fromkeys(file for file in files if file not in (UNKNOWN, "/dev/null")))


def _made(commands: Sequence[Command]) -> Iterator[str]:
    """Yield the directories, and those above them, that commands make or that are among their words."""
    for each in commands:
        for word in each.words[1:]:
            path = posixpath.normpath(word.rpartition("=")[2] or ".")
            while path.strip("/.") and len(path) < _LONGEST:  # the directory of // is // itself
                yield path
                path = posixpath.dirname(path)


def said(command: Command, script: str = "") -> list[str]:
    """Return the lines that a command prints by its words: those of echo, printf and cat.

    Args:
        command: the command.
        script: the script's text, which ``cat $0`` prints.
    """
    if command.name in ("echo", "printf"):
        return [" ".join(word for word in command.words[1:] if not re.fullmatch("-[neE]+", word))]
    if command.name == "cat":
        return (script if command.words[1:2] in (("$0",), ("${0}",)) else command.given).splitlines()
    return []
