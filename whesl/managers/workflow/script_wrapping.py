"""Wrapping a script: its interpreter becomes ``whesl exec``, and every other byte stays as it is.

The first line names a program that is made for the task: a few lines of ``sh`` that become ``whesl exec``
with what it is to know, the script's own interpreter, and the words that the kernel adds (``execve(2)``,
"Interpreter scripts"). So the process that the resource manager starts, signals and reports on is WHESL's
keeper, and what runs is the very script, by its own name and with its own line numbers.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import wrapped_script
from whesl.model.errors import UsageError
from whesl.model.printable import visible

# What every kernel reads of a first line (BINPRM_BUF_SIZE of Linux before 5.1, less its last byte).
LONGEST_LINE = 127
# Comments of a program of ours, each with a string of JSON behind it.
_WAS = "# Its first line was: "
_SOURCE = "# A copy of: "
_BLANK = re.compile(r"\s")
# Signals wait while WHESL loads, for the program that they are meant for: all that a keeper passes on
# (``runtime/isolator/launch/signal_delivery.py``). An env(1) that does not know how (coreutils before 8.31)
# holds none.
_HELD = (*range(1, 4), 5, 6, 10, 12, *range(14, 17), 18, *range(20, 32), *range(34, 65))
_HOLD = (
    f'WHESL_HOLD="/usr/bin/env --block-signal={",".join(map(str, _HELD))}"',
    "$WHESL_HOLD /bin/true 2>/dev/null || WHESL_HOLD=",
)
# A script that calls itself by its name (``exec "$0"``) is run by its own interpreter, within the task: this
# variable says that this very program runs in this very job. A job that the script submits is another one.
_WITHIN = "WHESL_SCRIPT"
_WHICH = "$0 $SLURM_JOB_ID$FLUX_JOB_ID$PBS_JOBID"
# A place in the user's home directory, for where WHESL_HOME has too long a name.
_SHORT = "~/.whesl"


class Wrapping(msgspec.Struct, frozen=True, kw_only=True):
    """What all wrapped tasks of a workflow are told alike.

    ``program`` is the command that starts WHESL on a compute node, ``spec`` the specification's path,
    ``home`` WHESL_HOME ('' leaves it to the job's environment). ``inner`` is what runs the tasks' steps
    (``whesl exec --inner``), and ``own_node`` says whether the isolator's node serves the task too.
    ``heartbeat_limit`` is in seconds, None for the usual one.
    """

    program: tuple[str, ...]
    workflow: str
    spec: str
    home: str = ""
    observe: bool = False
    inner: str = "auto"
    own_node: bool = True
    heartbeat_limit: float | None = None
    placement: str = ""

    def call(self, step: str, **own: Any) -> TaskCall:
        """Return the variables of a step's tasks, with the fields that each task fills in."""
        alike = {name: getattr(self, name) for name in Wrapping.__struct_fields__}
        return TaskCall(step=step, **alike, **own)


class TaskCall(Wrapping, frozen=True, kw_only=True):
    """What a wrapped script tells ``whesl exec``.

    ``step`` is '' where the script's last line names the task. ``instance``, ``workspace`` and ``nodes`` may
    hold the workflow manager's tokens, which it expands later. ``array`` says that the element of a job array
    is the instance. ``tasks`` and ``gpus`` are what the whole job asked for before nodes for the spares were
    added; the script is to see them and not the larger numbers. ``keeps``: its rules act on lost nodes, so
    the job is to keep the others. ``source`` is the file whose copy is wrapped.
    """

    step: str
    instance: str = ""
    array: bool = False
    workspace: str = ""
    nodes: str = ""
    spares: int = 0
    tasks: str = ""
    gpus: str = ""
    keeps: bool = False
    source: str = ""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program that takes the place of an interpreter: where it has to stand, and its text."""

    path: str
    text: str

    def write(self) -> None:
        """Write it where it has to stand, unless it stands there. Raises OSError."""
        path = Path(self.path)
        path.parents[2].mkdir(mode=0o700, parents=True, exist_ok=True)
        for directory in (path.parents[1], path.parent):  # mkdir(parents=True) gives parents another mode
            directory.mkdir(mode=0o700, exist_ok=True)
        file_retry.replace(path, os.fsencode(self.text), mode=0o700)


class WrappedScript(msgspec.Struct, frozen=True, kw_only=True):
    """What a wrapped script says of itself, after its workflow manager expanded it."""

    workflow: str
    step: str
    instance: str = ""
    nodes: int = 0
    spares: int = 0
    observe: bool = False
    home: str = ""
    tasks: str = ""
    gpus: str = ""
    keeps: bool = False
    source: str = ""

    @property
    def task(self) -> str:
        """The task's id; for a job array, that of the step (one submission, many tasks)."""
        name = f"{self.step}_{self.instance}" if self.instance else self.step
        return f"{self.workflow}/{name}"


def interpreter(text: str, path: str) -> tuple[str, str]:
    """Return what a script's first line names as the kernel reads it: a program, and its one argument or ''.

    Raises UsageError when it names nothing, or no path that means the same everywhere.
    """
    first = text.split("\n", 1)[0].rstrip("\r")
    words = first[2:].strip(" \t").split(None, 1) if first.startswith("#!") else []
    if not words:
        raise UsageError(
            f"{path} is no batch script: its first line has to name an interpreter ('#!/bin/sh')"
        )
    if "\0" in first:
        raise UsageError(f"{path} is no batch script: its first line has a byte of zeros, as no text has")
    if words[0].endswith("/"):
        raise UsageError(f"{path} is no batch script: its first line names a directory, {words[0]}")
    if not words[0].startswith("/"):
        raise UsageError(
            f"{path}: the interpreter {words[0]} has no whole path; which one it is depends on"
            " the directory in which the job starts",
            hint="write its whole path into the first line",
        )
    return words[0], words[1] if len(words) > 1 else ""


def is_wrapped(text: str) -> bool:
    """Whether a script's interpreter is a program of ours."""
    return bool(wrapped_script.program(text))


def program_for(call: TaskCall, line: str, path: str, place: str, was: str | None = None) -> Program:
    """Return the program that takes the place of the interpreter in a script's first line.

    Args:
        call: what ``whesl exec`` is told.
        line: the script's first line.
        path: the script, for messages.
        place: a directory that all nodes share.
        was: what stands in the place of which the program is put; the line by default.

    Raises UsageError where no kernel would find the program.
    """
    name, argument = interpreter(line, path)
    base = name.rsplit("/", 1)[1]
    words = [
        # dash would drop the functions that bash exports; -p keeps bash from reading them, and BASH_ENV.
        f"#!{name} -p" if base == "bash" else "#!/bin/sh",
        f"# Takes the place of {name} for a script that WHESL looks after.",
        _WAS + json.dumps(line if was is None else was),
        *((_SOURCE + json.dumps(call.source),) if call.source else ()),
        f'[ "${_WITHIN}" != "{_WHICH}" ] || exec {shlex.quote(name)} "$@"',
        f'export {_WITHIN}="{_WHICH}"',
        *_setting(call),
        *_HOLD,
        f"exec $WHESL_HOLD {_command(call, name, argument)}",
    ]
    text = "\n".join(words) + "\n"
    digest = hashlib.sha256(os.fsencode(text)).hexdigest()[:10]
    behind = len(os.fsencode(f" {argument}")) if argument else 0
    tried = []
    for directory in (place, os.path.expanduser(_SHORT)):  # noqa: PTH111 - a string
        found = f"{directory}/{wrapped_script.DIRECTORY}/{digest}/{base}"
        length = len(os.fsencode(f"#!{found}")) + behind
        if length <= LONGEST_LINE and not _BLANK.search(found):
            return Program(path=found, text=text)
        tried.append(f"'{visible(found)}' ({length} bytes)")
    raise UsageError(
        f"{path}: the kernel reads {LONGEST_LINE} bytes of a script's first line, and no blank in a program's"
        f" name; its interpreter would be {' or '.join(tried)}",
        hint="choose a WHESL_HOME with a shorter name, without blanks",
    )


def wrap(text: str, program: Program) -> str:
    """Return a script with another program in its first line."""
    first, end, rest = text.partition("\n")
    name, _ = interpreter(first, "")
    before, _, after = first.partition(name)
    return f"{before}{program.path}{after}{end}{rest}"


def unwrap(text: str, path: str) -> str:
    """Return a wrapped script as it was before. Raises UsageError where that is not known any more."""
    return "\n".join((former_line(wrapped_script.program(text), path), *text.split("\n")[1:]))


def former_line(program: str, path: str) -> str:
    """Return the first line in the place of which a program of ours stands, or what else it stands for."""
    found = _said(_content(program, path).splitlines(), _WAS)
    if not found:
        raise _damaged(program, path)
    return found


def task_line(call: TaskCall) -> str:
    """Return a script's last line that names its task. Raises UsageError for what cannot stand in a line."""
    words = [*_variables(call), *_own(call)]
    for word in words:
        if re.search(r"[\t\r\n]", word):
            raise UsageError(f"{word!r} contains a tab or a line break and cannot name a task")
    return wrapped_script.TASK + "\t".join(words)


def read_wrapped(text: str, path: str = "the script") -> WrappedScript | None:
    """Return what a wrapped script says, None for one that is not wrapped.

    Raises UsageError when the program in its first line is gone, or not as it was made.
    """
    program = wrapped_script.program(text)
    if not program:
        return None
    lines = _content(program, path).splitlines()
    words = shlex.split(next((line for line in lines if line.startswith("exec ")), ""))
    if wrapped_script.OPTION not in words:
        raise _damaged(program, path)
    words = words[: words.index("--")]
    of_task = wrapped_script.task_words(text)
    values = {
        word: following
        for word, following in itertools.pairwise((*words, *of_task))
        if word.startswith("--") or word == "-e"
    }
    settings = [
        *of_task,
        *(word for line in lines if line.startswith("export ") for word in shlex.split(line)[1:]),
    ]
    variables = dict(word.split("=", 1) for word in settings if "=" in word and not word.startswith("-"))
    instance = values.get("--instance", "")
    return WrappedScript(
        workflow=values.get("--workflow", ""),
        step=values.get("--step", ""),
        # An array's instance is known only inside each of its tasks.
        instance="" if "$" in instance else instance,
        nodes=_number(values.get("--nodes", "")),
        spares=_number(values.get("--spares", "")),
        observe="--observe" in words,
        home=variables.get("WHESL_HOME", ""),
        tasks=variables.get("SLURM_NTASKS", ""),
        gpus=variables.get("SLURM_GPUS", ""),
        keeps=bool(variables.get(wrapped_script.KEEPS)),
        source=_said(lines, _SOURCE),
    )


def _content(program: str, path: str, read: Callable[[str], bytes | None] = file_retry.content) -> str:
    try:
        found = read(program)
    except OSError as error:
        raise UsageError(f"{path}: its interpreter {program} cannot be read: {error.strerror}") from None
    if found is None:
        raise _damaged(program, path)
    return os.fsdecode(found)


def _said(lines: Sequence[str], what: str) -> str:
    """Return what a comment of a program of ours says, '' where there is none that can be read."""
    try:
        return next((str(json.loads(line.removeprefix(what))) for line in lines if line.startswith(what)), "")
    except ValueError:
        return ""


def _damaged(program: str, path: str) -> UsageError:
    return UsageError(
        f"{path}: the program {program} in its first line is gone, or not as WHESL made it",
        hint="wrap the original file again, or write its own interpreter into the first line",
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _setting(call: TaskCall) -> list[str]:
    """Return the lines that set variables."""
    values = [f"WHESL_HOME={call.home}"] if call.home else []
    if call.placement:
        values.append(f"WHESL_PLACEMENT={call.placement}")
    values += _variables(call) if call.step else []
    return [f"export {shlex.join(values)}"] if values else []


def _variables(call: TaskCall) -> list[str]:
    """Return a task's variables, some of which its script sees."""
    shown = [f"{wrapped_script.KEEPS}=1"] if call.keeps else []
    if call.spares and call.tasks:
        shown += [f"{name}={call.tasks}" for name in ("SLURM_NTASKS", "SLURM_NPROCS")]
    if call.spares and call.gpus:
        shown.append(f"SLURM_GPUS={call.gpus}")
    return shown


def _own(call: TaskCall) -> list[str]:
    """Return the options that differ from task to task."""
    words = ["--step", call.step]
    if call.instance:
        words += ["--instance", call.instance]
    if call.workspace:
        words += ["--workspace", call.workspace]
    if call.nodes:
        words += ["--nodes", call.nodes]
    if call.spares:
        words += ["--spares", str(call.spares)]
    return words


def task_command(call: TaskCall) -> tuple[str, ...]:
    """Return the words before a task's command, for managers that are told commands and no scripts.

    Raises UsageError for a name with a line break.
    """
    return (*_words(call), "--")


def _command(call: TaskCall, name: str, argument: str) -> str:
    words = _words(call, wrapped_script.OPTION, "2" if argument else "1")
    element = ' --instance "${SLURM_ARRAY_TASK_ID:-$PBS_ARRAY_INDEX}"' if call.array else ""
    return f'{shlex.join(words)}{element} -- {shlex.quote(name)} "$@"'


def _words(call: TaskCall, *first: str) -> list[str]:
    for what, value in (("step", call.step), ("instance", call.instance)):
        if "\n" in value:
            raise UsageError(f"the {what} {value!r} contains a line break and cannot name a task")
    words = [*call.program, "exec", *first, "--workflow", call.workflow, "-e", call.spec]
    words += _own(call) if call.step else []
    if call.observe:
        words.append("--observe")
    if call.inner != "auto":
        words += ["--inner", call.inner]
    if not call.own_node:
        words.append("--no-own-node")
    if call.heartbeat_limit is not None:
        words += ["--heartbeat-limit", f"{call.heartbeat_limit:g}"]
    return words
