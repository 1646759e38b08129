"""Wraps scripts: ``whesl exec`` becomes a script's interpreter, and every other byte stays unchanged.

The wrapped script's first line names a program that WHESL makes for the task: a few lines of ``sh`` that
become ``whesl exec`` with its options, the script's own interpreter, and the words that the kernel adds
(``execve(2)``, "Interpreter scripts"). So the resource manager starts, signals and reports on WHESL's keeper
as the job's process, and the script itself runs under its own name, with its own line numbers.
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

from whesl import ASIDE, TAKEN
from whesl.files import file_retry
from whesl.managers.resource import wrapped_script
from whesl.model.errors import UsageError
from whesl.model.printable import visible

# The bytes that every kernel reads of a first line (BINPRM_BUF_SIZE of Linux before 5.1, less its last byte).
LONGEST_LINE = 127
# Comments in an interpreter program of WHESL, each followed by a JSON string.
_WAS = "# Its first line was: "
_SOURCE = "# A copy of: "
_BLANK = re.compile(r"\s")
# The signals that are blocked while WHESL loads, so that they reach the script: all signals that a keeper
# passes on (``runtime/isolator/launch/signal_delivery.py``). An env(1) of coreutils before 8.31 cannot block
# signals.
_HELD = (*range(1, 4), 5, 6, 10, 12, *range(14, 17), 18, *range(20, 32), *range(34, 65))
_HOLD = (
    "while read -r WHESL_K WHESL_V; do case $WHESL_K in SigBlk:) WHESL_B=$WHESL_V;;"
    ' SigIgn:) export WHESL_CALLER_SIGNALS="$WHESL_V $WHESL_B";; esac; done < /proc/$$/status',
    f'WHESL_HOLD="/usr/bin/env --block-signal={",".join(map(str, _HELD))}"',
    "$WHESL_HOLD /bin/true 2>/dev/null || WHESL_HOLD=",
    # bash sets SHLVL to 1 at its start and to 0 at its exec where its caller has 0, and where it has none.
    '[ "${BASH_VERSION:+$SHLVL}" != 1 ] || grep -qsz ^SHLVL= /proc/$$/environ || '
    'WHESL_HOLD="${WHESL_HOLD:-/usr/bin/env} -u SHLVL"',
)
# Lines of bash. It sets PWD where its caller has none, or a wrong one, as a node's daemon has: others do not.
_AS_GIVEN = (
    "unset PWD; while IFS= read -r -d '' WHESL_V; do"
    ' case $WHESL_V in PWD=*) export "$WHESL_V";; esac; done < /proc/$$/environ',
    f'for WHESL_V in "${{!PYTHON@}}"; do case $WHESL_V in PYTHON|PYTHON_*|{"|".join(sorted(TAKEN))}) ;;'
    f' *) export "{ASIDE}$WHESL_V=${{!WHESL_V}}"; unset "$WHESL_V";; esac; done',
)
# The job's own output files are appended to, and those of its steps are not: srun reads SLURM_OPEN_MODE.
# With ``--export=NONE`` sbatch hands on only variables with names of Slurm's.
APPENDS = "SLURM_WHESL_APPENDS"
# The variable that names the running interpreter program and its job. A script that calls itself (``exec
# "$0"``) in the same job is then run by its own interpreter, within the task.
_WITHIN = "WHESL_SCRIPT"
_WHICH = "$0 $SLURM_JOB_ID$FLUX_JOB_ID$PBS_JOBID"
# The directory for interpreter programs where the path of WHESL_HOME is too long.
_SHORT = "~/.whesl"


class Wrapping(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``whesl exec`` that are the same for all tasks of a workflow.

    ``program`` is the command that starts WHESL on a compute node, ``spec`` the specification's path,
    ``home`` WHESL_HOME ('' leaves it to the job's environment). ``inner`` is the manager of the tasks' steps
    (``whesl exec --inner``). With ``own_node``, the isolator's node serves the task, too. ``heartbeat_limit``
    is in seconds, None for the default.
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
        """Return the options for a step's tasks, with the given fields of ``TaskCall``."""
        alike = {name: getattr(self, name) for name in Wrapping.__struct_fields__}
        return TaskCall(step=step, **alike, **own)


class TaskCall(Wrapping, frozen=True, kw_only=True):
    """Options of ``whesl exec`` in a wrapped script.

    ``step`` is '' where the script's last line names the task. ``instance``, ``workspace`` and ``nodes`` may
    hold the workflow manager's tokens, which the manager expands later. With ``array``, the instance is the
    index of the job array's element. ``tasks`` and ``gpus`` are the whole job's numbers without spare nodes,
    which the script sees instead of the larger numbers. With ``keeps``, the task's rules act on lost nodes,
    so the job keeps its other nodes. ``source`` is the original file of a wrapped copy. With ``of_job``, the
    job's name is the step and the job's id the instance. ``told`` are further variables, as ``NAME=VALUE``.
    """

    step: str
    instance: str = ""
    array: bool = False
    of_job: bool = False
    workspace: str = ""
    nodes: str = ""
    spares: int = 0
    tasks: str = ""
    gpus: str = ""
    keeps: bool = False
    source: str = ""
    told: tuple[str, ...] = ()


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program that replaces a script's interpreter: its path and its text."""

    path: str
    text: str

    def write(self) -> None:
        """Write the program to its path. Raises OSError."""
        path = Path(self.path)
        path.parents[2].mkdir(mode=0o700, parents=True, exist_ok=True)
        # Each directory by itself: mkdir(parents=True) would give parents another mode.
        for directory in (path.parents[1], path.parent):
            directory.mkdir(mode=0o700, exist_ok=True)
        file_retry.replace(path, os.fsencode(self.text), mode=0o700)


class WrappedScript(msgspec.Struct, frozen=True, kw_only=True):
    """The options in a wrapped script, after its workflow manager has expanded tokens."""

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
        """The task's id; for a job array, the id of the step (one submission for many tasks)."""
        name = f"{self.step}_{self.instance}" if self.instance else self.step
        return f"{self.workflow}/{name}"


def interpreter(text: str, path: str) -> tuple[str, str]:
    """Return the interpreter in a script's first line, as the kernel reads it, and its argument or ''.

    Args:
        text: the script's text.
        path: the script, for messages.

    Raises UsageError for a first line without an absolute path of a program.
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


def faithful_shell() -> str:
    """Return a shell, as in a first line, that hands its environment on as it is.

    dash drops functions that bash exports, and all other names that are none of a shell's variables; bash -p
    reads neither these functions nor BASH_ENV.
    """
    return "/bin/bash -p" if os.access("/bin/bash", os.X_OK) else "/bin/sh"


def is_wrapped(text: str) -> bool:
    """Whether a script's interpreter is a program of WHESL."""
    return bool(wrapped_script.program(text))


def program_for(call: TaskCall, line: str, path: str, place: str, was: str | None = None) -> Program:
    """Return the program that replaces the interpreter in a script's first line.

    Args:
        call: the options of ``whesl exec``.
        line: the script's first line.
        path: the script, for messages.
        place: a directory that all nodes share.
        was: the original text that the program keeps for ``former_line``; the first line by default.

    Raises UsageError where the program's path is too long or has blanks, so that a kernel would not find it.
    """
    name, argument = interpreter(line, path)
    base = name.rsplit("/", 1)[1]
    shell = f"{name} -p" if base == "bash" else faithful_shell()
    words = [
        f"#!{shell}",
        f"# Takes the place of {name} for a script that WHESL looks after.",
        _WAS + json.dumps(line if was is None else was),
        *((_SOURCE + json.dumps(call.source),) if call.source else ()),
        f'[ "${_WITHIN}" != "{_WHICH}" ] || exec {shlex.quote(name)} "$@"',
        f'export {_WITHIN}="{_WHICH}"',
        *_setting(call),
        f'[ -z "${APPENDS}" ] || unset {APPENDS} SLURM_OPEN_MODE',
        *(_AS_GIVEN if "/bash" in shell else ()),
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
    """Return a script with a program as the interpreter in its first line.

    Args:
        text: the script's text.
        program: the program.
    """
    first, end, rest = text.partition("\n")
    name, _ = interpreter(first, "")
    before, _, after = first.partition(name)
    return f"{before}{program.path}{after}{end}{rest}"


def unwrap(text: str, path: str) -> str:
    """Return the original of a wrapped script.

    Args:
        text: the wrapped script's text.
        path: the script, for messages.

    Raises UsageError where the program with the original first line is gone or damaged.
    """
    return "\n".join((former_line(wrapped_script.program(text), path), *text.split("\n")[1:]))


def former_line(program: str, path: str) -> str:
    """Return the original text that an interpreter program of WHESL replaces, most often a first line.

    Args:
        program: the program's path.
        path: the script, for messages.

    Raises UsageError where the program is gone or damaged.
    """
    found = _said(_content(program, path).splitlines(), _WAS)
    if not found:
        raise _damaged(program, path)
    return found


def task_line(call: TaskCall) -> str:
    """Return the last line of a script, which names its task. Raises UsageError for a tab or line break."""
    words = [*_variables(call), *_own(call)]
    for word in words:
        if re.search(r"[\t\r\n]", word):
            raise UsageError(f"{word!r} contains a tab or a line break and cannot name a task")
    return wrapped_script.TASK + "\t".join(words)


def read_wrapped(text: str, path: str = "the script") -> WrappedScript | None:
    """Return the options in a wrapped script, None for a script that is not wrapped.

    Args:
        text: the script's text.
        path: the script, for messages.

    Raises UsageError when the program in the script's first line is gone or damaged.
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
        # The instance of a job array's task is known only inside that task.
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
    """Return the text in a comment of an interpreter program, '' for a missing or damaged comment."""
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
    """Return the lines of sh that set a task's variables."""
    values = [f"WHESL_HOME={call.home}"] if call.home else []
    if call.placement:
        values.append(f"WHESL_PLACEMENT={call.placement}")
    values += _variables(call) if call.step else []
    values += call.told
    return [f"export {shlex.join(values)}"] if values else []


def _variables(call: TaskCall) -> list[str]:
    """Return a task's variables as ``NAME=VALUE``."""
    shown = [f"{wrapped_script.KEEPS}=1"] if call.keeps else []
    if call.spares and call.tasks:
        shown += [f"{name}={call.tasks}" for name in ("SLURM_NTASKS", "SLURM_NPROCS")]
    if call.spares and call.gpus:
        shown.append(f"SLURM_GPUS={call.gpus}")
    return shown


def _own(call: TaskCall) -> list[str]:
    """Return the options of ``whesl exec`` that differ from task to task."""
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
    """Return the words to put before a task's command, for managers whose tasks are commands, not scripts.

    Raises UsageError for a name with a line break.
    """
    return (*_words(call), "--")


def _command(call: TaskCall, name: str, argument: str) -> str:
    words = _words(call, wrapped_script.OPTION, "2" if argument else "1")
    own = ' --instance "${SLURM_ARRAY_TASK_ID:-$PBS_ARRAY_INDEX}"' if call.array else ""
    if call.of_job:
        own = ' --step "$SLURM_JOB_NAME" --instance "$SLURM_JOB_ID"'
    return f'{shlex.join(words)}{own} -- {shlex.quote(name)} "$@"'


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
