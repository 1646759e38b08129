"""The shell text around a task: what fluxification puts in, and how it is found and taken out again.

A wrapped script hands its own former text to ``whesl exec`` through a quoted here-document, so nothing in
it is expanded twice. The call stands in a short loop: a keeper that was killed (status 137) is called
again and attaches to the isolator that lives on (docs/design/launch.md, "Keeper").
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from whesl.model.errors import UsageError

BEGIN = "#WHESL begin 1 (`whesl fluxify --undo` removes it)"
END = "#WHESL end"
_WAS = "#WHESL was: "
_BEGIN = re.compile(r"#WHESL begin \d+\b")
_CALL = re.compile(r"""--script -(?: -- "\$@")? <<'(\w+)'""")
_TERMINATOR = "WHESL_TASK"
# A keeper that is killed once costs nothing; one that is killed over and over has a reason that this
# loop does not mend, and a task that itself ends with 137 must come to an end.
_CALLS = "1 2 3 4 5"
# Shells in which the loop and the here-document mean what they say.
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "ksh93", "mksh", "zsh", "ash", "busybox"})


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
        """Return what the tasks of a step are told, with fields of their own."""
        alike = {name: getattr(self, name) for name in Wrapping.__struct_fields__}
        return TaskCall(step=step, **alike, **own)


class TaskCall(Wrapping, frozen=True, kw_only=True):
    """What a wrapped script tells ``whesl exec``.

    ``instance`` and ``nodes`` may hold the workflow manager's tokens, which it expands later.
    ``instance_expression`` and ``workspace`` are shell words, written as they are. ``arguments``
    passes the outer script's own arguments on. ``tasks`` and ``gpus`` are what the whole job asked for
    before nodes for the spares were added; the script is to see them and not the larger numbers.
    """

    step: str
    instance: str = ""
    instance_expression: str = ""
    workspace: str = '"$PWD"'
    nodes: str = ""
    spares: int = 0
    arguments: bool = False
    tasks: str = ""
    gpus: str = ""


def is_shell(interpreter: str) -> bool:
    """Whether a ``#!`` line's text (or a shell's path) names a shell that can run the wrapped script."""
    words = interpreter.removeprefix("#!").split()
    if words and words[0].rsplit("/", 1)[-1] == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return bool(words) and words[0].rsplit("/", 1)[-1] in _SHELLS


def is_wrapped(text: str) -> bool:
    """Whether a script carries our marker."""
    return any(_BEGIN.match(line) for line in text.splitlines())


def terminator(text: str) -> str:
    """Return a here-document terminator that is no line of the text."""
    lines = {line.strip() for line in text.splitlines()}
    word, number = _TERMINATOR, 0
    while word in lines:
        number += 1
        word = f"{_TERMINATOR}_{number}"
    return word


def around(call: TaskCall, text: str, *, interpreter: str, was: str = "") -> tuple[list[str], list[str]]:
    """Return the lines to put before and after a script's text.

    Args:
        call: what to tell ``whesl exec``.
        text: the script as it was (its terminator is chosen by it).
        interpreter: what runs the text, with its arguments: ``/bin/bash``.
        was: source text that cannot be seen from the result any more, kept for ``unwrap``.
    """
    end = terminator(text)
    before = [BEGIN]
    if was:
        # A dollar sign would be a token of the workflow manager, even in a comment.
        before.append(_WAS + json.dumps(was, ensure_ascii=True).replace("$", "\\u0024"))
    before += [
        f"for whesl_call in {_CALLS}; do",
        f"{_command(call)} <<'{end}' && whesl_status=0 || whesl_status=$?",
        f"#!{interpreter}",
    ]
    after = [
        end,
        '[ "$whesl_status" -eq 137 ] || break',
        "done",
        'exit "$whesl_status"',
        END,
    ]
    return before, after


def wrap(call: TaskCall, text: str, *, interpreter: str, was: str = "") -> str:
    """Return a script wrapped; the arguments are those of ``around``."""
    before, after = around(call, text, interpreter=interpreter, was=was)
    body = text if text.endswith("\n") or not text else text + "\n"
    return "\n".join(before) + "\n" + body + "\n".join(after) + "\n"


def extent(lines: Sequence[str]) -> tuple[int, int, int, int] | None:
    """Return (first added line, first and past-last line of the text, past-last added line), or None.

    Raises UsageError when the marker's end is missing: somebody edited the lines between.
    """
    begin = next((index for index, line in enumerate(lines) if _BEGIN.match(line.strip())), None)
    if begin is None:
        return None
    here = next(
        (
            index
            for index in range(begin, len(lines))
            if _CALL.search(lines[index]) and not lines[index].lstrip().startswith("#")
        ),
        None,
    )
    if here is not None:
        found = _CALL.search(lines[here])
        word = found.group(1) if found else ""
        close = next((i for i in range(here + 1, len(lines)) if lines[i].strip() == word), None)
        last = close and next((i for i in range(close, len(lines)) if lines[i].strip() == END), None)
        if close is not None and last is not None:
            return begin, here + 2, close, last + 1
    raise UsageError(
        "the lines that fluxify put in were changed, so they cannot be taken out safely",
        hint="restore the original file, or remove the lines from '#WHESL begin' to '#WHESL end' by hand",
    )


def unwrap(text: str) -> tuple[str, str]:
    """Return a wrapped script's former text and its kept source ('' when none was kept)."""
    lines = text.splitlines(keepends=True)
    found = extent([line.rstrip("\r\n") for line in lines])
    if found is None:
        return text, ""
    begin, first, last, end = found
    return "".join((*lines[:begin], *lines[first:last], *lines[end:])), kept_source(lines[begin:first])


def kept_source(lines: Sequence[str]) -> str:
    """Return what ``around`` was given as ``was``, from the lines it made."""
    for line in lines:
        if line.strip().startswith(_WAS):
            try:
                return msgspec.json.decode(line.strip().removeprefix(_WAS), type=str)
            except msgspec.DecodeError:
                raise UsageError(
                    "the line '#WHESL was:' was changed", hint="restore the original file"
                ) from None
    return ""


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

    @property
    def task(self) -> str:
        """The task's id; for a job array, that of the step (one submission, many tasks)."""
        name = f"{self.step}_{self.instance}" if self.instance else self.step
        return f"{self.workflow}/{name}"


def read_wrapped(text: str) -> WrappedScript | None:
    """Return what a wrapped script says, or None for one that is not wrapped."""
    lines = text.splitlines()
    found = extent([line.rstrip("\r") for line in lines])
    if found is None:
        return None
    command = lines[found[1] - 2].split(" <<'")[0]
    words = shlex.split(command)
    values: dict[str, str] = {}
    for word, following in itertools.pairwise(words):
        if word.startswith("--") or word == "-e":
            values[word] = following
    variables = dict(word.split("=", 1) for word in words[: words.index("exec")] if "=" in word)
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
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _command(call: TaskCall) -> str:
    for what, value in (("step", call.step), ("instance", call.instance)):
        if "\n" in value:
            raise UsageError(f"the {what} {value!r} contains a line break and cannot name a task")
    words = [f"WHESL_HOME={shlex.quote(call.home)}"] if call.home else []
    if call.placement:
        words.append(f"WHESL_PLACEMENT={shlex.quote(call.placement)}")
    if call.spares and call.tasks:
        words += [f"{name}={shlex.quote(call.tasks)}" for name in ("SLURM_NTASKS", "SLURM_NPROCS")]
    if call.spares and call.gpus:
        words.append(f"SLURM_GPUS={shlex.quote(call.gpus)}")
    words += [shlex.quote(word) for word in call.program]
    words += ["exec", "--workflow", shlex.quote(call.workflow), "--step", shlex.quote(call.step)]
    if call.instance_expression:
        words += ["--instance", call.instance_expression]
    elif call.instance:
        words += ["--instance", shlex.quote(call.instance)]
    words += ["--workspace", call.workspace, "-e", shlex.quote(call.spec)]
    if call.nodes:
        words += ["--nodes", shlex.quote(call.nodes)]
    if call.spares:
        words += ["--spares", str(call.spares)]
    if call.observe:
        words.append("--observe")
    if call.inner != "auto":
        words += ["--inner", call.inner]
    if not call.own_node:
        words.append("--no-own-node")
    if call.heartbeat_limit is not None:
        words += ["--heartbeat-limit", f"{call.heartbeat_limit:g}"]
    words += ["--script", "-"]
    if call.arguments:
        words += ["--", '"$@"']
    return " ".join(words)
