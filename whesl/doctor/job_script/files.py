"""Checks of files that rules read or promise: what the script writes, moves, removes, or never writes.

The arguments of a check are those of ``script.DetectionCheck``.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NamedTuple

from whesl.doctor.job_script.commands import Command
from whesl.doctor.job_script.facts import said
from whesl.doctor.job_script.script import OF_NODE, JobScript, Unfit, Watch, inner, value
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.detections.base import Broken, Promise
from whesl.language.pattern_and_stream_records import Stream

_CONTAINED = {"--contain", "-c", "--containall", "-C"}
_BINDS = ("-B", "--bind", "-v", "--volume", "--mount")


class Log(NamedTuple):
    """The log file of a program, and the options that name another one.

    Attributes:
        program: expression of the program's name.
        file: name of its log without such an option.
        options: the options whose value is the log's name.
        stem: the option whose value is the log's name without ``.log``, "" for none.
    """

    program: str
    file: str
    options: tuple[str, ...]
    stem: str = ""


# Words in a Python program that gets names of files from its environment, input or configuration.
_TOLD = re.compile(
    r"environ|getenv|stdin|\binput\b|toml|yaml|configparser|ElementTree|\.load|\.read|glob|chdir|uuid|"
    r"listdir|scandir|iterdir|walk|strftime|date|host|open\([^,()]*(?:, 'r\w*')?[,)](?! *'[wax])"
)
# Sources: the manuals of LAMMPS (command-line options), GROMACS (gmx mdrun) and NWChem, and nohup(1).
_LOGS = (
    Log(r"lmp\w*|lammps", "log.lammps", ("-log", "-l")),
    Log(r"gmx\w*|mdrun\w*", "md.log", ("-g",), "-deffnm"),
)


def written_elsewhere(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find files that the script writes under a name or in a directory that is another, much like it."""
    path = _path(watch)
    if path is None:
        return
    name = posixpath.basename(path)
    output = script.option("output")
    if fnmatchcase(name, "slurm-*.out") and output and not fnmatchcase(name, re.sub(r"%\d*\w", "*", output)):
        message = f"the script's output comes to {output} (#SBATCH --output)"
        hint = "write stdout, or the file that its program writes"
        yield Unfit("ESL081", message, hint, watch.span, _said(watch))
        return
    told = next((told for log in _LOGS for told in _told(script, log, name)), None)
    if told is not None:
        yield Unfit("ESL081", told, "watch the file that it writes", watch.span, _said(watch))
        return
    dead = {sink.file for each in script.facts.dead for sink in each.place.output if not sink.own}
    if path in dead - {*script.facts.written}:
        message = f"{path} is written behind an exit that always runs"
        yield Unfit("ESL081", message, "take that exit out", watch.span, _said(watch))
        return
    written = [
        file
        for file in script.facts.written
        if file.startswith("$(mktemp") or not re.search(r"^/|\$(?!SLURM_JOB_ID\b)", file)
    ]
    if path.startswith(("/", "~", "$")) or not written or writes(script, path) or set("*?[$") & set(path):
        return
    same = [file for file in written if posixpath.basename(file) == name]
    stem = [file for file in written if posixpath.splitext(file)[0] == posixpath.splitext(path)[0]]
    near = same or stem or difflib.get_close_matches(path, written, n=1, cutoff=0.75)
    if near and not any(name in ast.unparse(source.tree) for source in script.python):
        message = f"the script writes {near[0]}, and nothing in it writes {path}"
        hint = "cd to a directory of a fixed name" if "$(" in near[0] else f"did you mean {near[0]}?"
        yield Unfit("ESL081", message, hint, watch.span, _said(watch))


def writes(script: JobScript, path: str) -> bool:
    """Whether the script itself writes a file of this path, or it or its program makes the directory.

    Args:
        script: the script.
        path: as the rule has it.
    """
    place = posixpath.normpath(path)
    made = {posixpath.normpath(text) for source in script.python for text in _texts(source.tree)}
    known = {*script.facts.made, *made, *map(posixpath.dirname, made)} - {"", "."}
    return place in script.facts.written or posixpath.dirname(place) in known


def promised_otherwise(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find promised files that the script writes under another name of nearly the same letters."""
    promise = watch.detection.promised()
    if promise is None or set("*?[$~") & set(promise.path) or posixpath.basename(promise.path) in script.text:
        return
    near = difflib.get_close_matches(posixpath.normpath(promise.path), script.facts.written, n=1, cutoff=0.85)
    if near and re.sub(r"\d", "", near[0]) != re.sub(r"\d", "", promise.path) and "$" not in near[0]:
        message = f"the script writes {near[0]}, and nothing in it writes {promise.path}"
        yield Unfit("ESL081", message, f"did you mean {near[0]}?", watch.span, promise.path)


def never_named(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find promised files in a directory of which neither the script nor its only program knows the name."""
    promise = watch.detection.promised()
    first, *rest = posixpath.normpath(promise.path).split("/") if promise is not None else [""]
    if promise is None or not rest or not first or not script.known or set("*?[$~") & set(first):
        return
    words = [word for each in script.programs for word in each.words] + [*script.facts.made]
    texts = [each for source in script.python for each in _texts(source.tree)]
    parts = [part for text in (*words, *texts) for part in text.split("/") if part.strip(".")]
    near = any(first.startswith(part) or first.endswith(part) or part == first for part in parts)
    if not near and not _TOLD.search(script.known) and not any("$" in word for word in words):
        message = f"neither the script nor its program names {first}/, and nothing is written there"
        yield Unfit("ESL081", message, "name the file that the program writes", watch.span, promise.path)


def _texts(tree: ast.AST) -> list[str]:
    """Return the texts that stand in a Python program."""
    found = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]
    return [each for each in found if isinstance(each, str)]


def unwritten(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find timers on a file whose lines the script prints on standard output."""
    reads, path = watch.detection.reads(), _path(watch)
    if reads is None or path is None or watch.detection.timer() is None or set("*?[$~") & set(path):
        return
    said = [x for x in script.samples if x.loop and any(found_in(p, x.text) for p in reads.patterns)]
    own = all(each.command.place.output.stdout.own for each in said)
    if said and own and posixpath.basename(path) not in script.text:
        message = f"the script prints {said[0].written[:40]!r} on stdout, and nothing in it writes {path}"
        yield Unfit("ESL096", message, "write stdout", watch.span, _said(watch))


def said_elsewhere(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find promised lines that the script writes to another file of the same stem."""
    promise = watch.detection.promised()
    if promise is None or promise.pattern is None:
        return
    path, pattern = posixpath.normpath(promise.path), promise.pattern
    files = [each.command.place.output.stdout.file for each in script.samples if found_in(pattern, each.text)]
    near = [each for each in files if posixpath.splitext(each)[0] == posixpath.splitext(path)[0]]
    if near and path not in files:
        yield Unfit("ESL096", f"the script writes this to {near[0]}", f"name {near[0]}", watch.span, path)


def of_another_step(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find files that only another step writes, in its own directory."""
    promise, path = watch.detection.promised(), _path(watch)
    path = posixpath.normpath(promise.path) if promise is not None else path
    own = re.compile(rf"(?<![\w./-]){re.escape(path or '')}")
    if path is None or path[0] in "/~$" or own.search(script.text):
        return
    for other in watch.others:
        if path in other.facts.written:
            message = f"{path} is written by the step {other.step}, which is another job"
            hint = f"declare the exception for {other.step}"
            yield Unfit("ESL096", message, hint, watch.span, path)
            return


def out_of_sight(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find files below ``/tmp`` that are in a container's own, or are another node's."""
    path = _path(watch)
    if path is None or not path.startswith("/"):
        return
    for each in script.commands:
        line = " ".join(each.words)
        words = inner(each, "apptainer", "singularity")
        if words and _CONTAINED & {*words} and OF_NODE.match(path):
            binds = " ".join(value(words, option) or "" for option in _BINDS)
            at = re.search(r"(?:^|[ ,:=])/(?:tmp|var/tmp|dev/shm)\b", binds)
            if not at and path in line:
                option = min(_CONTAINED & {*words})
                message = f"{words[0]} {option} gives the program another {posixpath.dirname(path)}"
                hint = "write the file below the directory that --bind names"
                yield Unfit("ESL096", message, hint, watch.span, _said(watch))
                return
        remote = inner(each, "srun") and any(
            re.match(r"(?:-w|--nodelist|-r|--relative)", word) for word in each.words
        )
        if OF_NODE.match(path) and (remote or each.name == "ssh") and path in line:
            message = (
                f"this node's {posixpath.dirname(path)} is read, and {each.words[0]} writes another node's"
            )
            hint = "write the file in a directory that all nodes share"
            yield Unfit("ESL096", message, hint, watch.span, _said(watch))
            return


def spoilt(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find promised files that the script itself moves, removes, empties or makes newer at its end."""
    promise = watch.detection.promised()
    if promise is None:
        return
    last = max((n for n, each in enumerate(script.always) if each.program), default=-1)
    for each in script.always[last + 1 :]:
        why = _spoils(each, promise)
        if why:
            message = f"{' '.join(each.words[:3])[:60]} in the script {why}"
            yield Unfit("ESL096", message, "promise what is there at its end", watch.span, promise.path)
            return
    before = itertools.takewhile(lambda each: not each.program, script.commands)
    for each in (one for one in before if one.place.always):
        begun = each.place.output.stdout.file if said(each) else ""
        files = each.words[1:] if each.name == "touch" and promise.broken is Broken.MISSING else (begun,)
        if promise.broken in (Broken.EMPTY, Broken.MISSING) and any(_is(x, promise.path) for x in files if x):
            message = f"{each.name} in the script makes it before any program begins"
            hint = "look for a line that the program writes"
            yield Unfit("ESL096", message, hint, watch.span, promise.path)
            return


def _spoils(command: Command, promise: Promise) -> str:
    """Return what a command does to a promised file so that the promise is always broken, or ""."""
    files = [word for word in command.words[1:] if not word.startswith("-")]
    old, new = (files[:-1], files[-1:]) if command.name in ("mv", "cp") else (files, [])
    gone = command.name in ("mv", "rm", "gzip", "bzip2", "xz", "zstd", "unlink")
    above = PurePosixPath(promise.path).parents if command.name == "rm" else ()
    gone = gone and any(_is(word, str(path)) for word in old for path in (promise.path, *above))
    if gone and not any(_is(word, promise.path) for word in new) and promise.broken is not Broken.OLDER:
        return "takes the file away before the end"
    if promise.broken is Broken.EMPTY and command.name == "touch":
        return "makes it, always empty" if any(_is(word, promise.path) for word in files) else ""
    written = [sink.file for sink in command.place.output if not sink.own]
    old, new = [*old, *written], [*new, *written]
    later = (command.name in ("cp", "touch") or written) and promise.broken is Broken.OLDER and promise.than
    if later and any(_is(word, promise.than or "") for word in new or old):
        return f"makes {promise.than} newer each time"
    return ""


def _is(word: str, glob: str) -> bool:
    return fnmatchcase(posixpath.normpath(word), posixpath.normpath(glob))


def _told(script: JobScript, log: Log, name: str) -> Iterator[str]:
    """Yield the sentence on a program that writes its log under another name than the watched one."""
    for each in script.commands:
        words = inner(each, log.program)
        given, stem = value(words, *log.options), value(words, log.stem) if log.stem else None
        file = given if given is not None else f"{stem}.log" if stem is not None else None
        if words and file is not None and name == log.file and posixpath.basename(file) != name:
            made = "no log" if file == "none" else posixpath.basename(file)
            yield f"{words[0]} is told to write {made}, not {name}"


def _path(watch: Watch) -> str | None:
    """Return the path of the file that a detection reads, None where it reads none."""
    reads = watch.detection.reads()
    if reads is None or reads.source.stream is not Stream.FILE or reads.source.path is None:
        return None
    return posixpath.normpath(reads.source.path)


def _said(watch: Watch) -> str:
    reads = watch.detection.reads()
    return reads.source.path or "" if reads is not None else ""


def named_words(commands: Sequence[Command]) -> set[str]:
    """Return the words of commands, as paths without ``./``."""
    return {
        posixpath.normpath(word.rpartition("=")[2] or ".") for each in commands for word in each.words[1:]
    }
