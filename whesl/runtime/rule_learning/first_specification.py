"""A first specification for a workflow, every line with its reason. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import msgspec

from whesl.model.workflow import Workflow
from whesl.runtime.diagnose.rule import quoted
from whesl.runtime.rule_learning.run_records import LearnedTimer

_SHOWN = 6  # number of jobs' names in a comment
_WIDTH = 100  # characters of a comment's line


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Facts on a workflow and on this host.

    Attributes:
        workflow: the workflow.
        source: the workflow's file.
        trains: whether several processes train together, and go on from checkpoints.
        here: the directory that its tasks write to; "" where it is not known.
        other: a directory of another file system with more free space, "" for none.
        free: the free space of ``other``, bytes.
        timer: the hang timer learned from good runs; None without.
        why_no_timer: the reason for a missing timer.
    """

    workflow: Workflow
    source: str
    trains: bool = False
    here: str = ""
    other: str = ""
    free: int = 0
    timer: LearnedTimer | None = None
    why_no_timer: str = ""


def first_specification(found: Found) -> str:
    """Return the first specification as ESL text."""
    parts = [_head(found), _nodes(found), _again(), _space(found), _hangs(found), _never(found)]
    if found.trains:
        parts.append(_training())
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _because(text: str) -> list[str]:
    """Return a text as comment lines of ESL."""
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def _head(found: Found) -> Iterator[str]:
    tasks = found.workflow.tasks
    steps = list(dict.fromkeys(task.step for task in tasks))
    named = ", ".join(steps[:_SHOWN]) + (f" and {len(steps) - _SHOWN} more" if len(steps) > _SHOWN else "")
    yield from _because(
        f"A first specification for {found.source}: {len(tasks)} task{'s' * (len(tasks) != 1)} ({named}). "
        "CAUSE acts on what a failed task's own output says that it died of: `whesl why LOG` says it of an "
        "old run. "
        "`whesl explain` says each rule in sentences."
    )
    yield "DECLARE ENTITY JOB"
    yield f"DECLARE EXCEPTION_TYPE JOB_LEVEL{', WORKFLOW_LEVEL' if found.other else ''}"
    yield "DECLARE RESOURCE JOB[REPLACE]"
    yield "DECLARE RESOURCE NODE[REPLACE]"
    if found.other:
        yield "DECLARE RESOURCE FILESYSTEM[REPLACE]"


def _nodes(found: Found) -> Iterator[str]:
    most = max((task.nodes for task in found.workflow.tasks), default=1)
    yield from _because(
        "Broken hardware and lost nodes: a spare takes the node's place. The largest task has "
        f"{most} node{'s' * (most != 1)}, and `whesl run --spares 1` asks for {most + 1}, "
        f"{1 / most:.0%} more; with --spares 0 these rules only let the task fail."
    )
    yield "DECLARE EXCEPTION BAD_NODE JOB_LEVEL JOB [*] LIMIT 2 ELSE FAIL"
    yield "EXCEPTION DETECTION BAD_NODE NODE DOWN"
    yield "EXCEPTION DETECTION BAD_NODE CAUSE gpu-hardware, network-fabric, node-lost CONFIDENCE 0.6"
    yield 'EXCEPTION RECOVERY STEP BAD_NODE JOB NODE.REPLACE {"unknown": "fail"}'


def _again() -> Iterator[str]:
    yield from _because("What passes by itself, or does not: few times, with a pause that doubles.")
    yield "DECLARE EXCEPTION PASSING JOB_LEVEL JOB [*] LIMIT 2 BACKOFF 60 ELSE FAIL"
    yield "EXCEPTION DETECTION PASSING CAUSE filesystem-error, launcher/rendezvous CONFIDENCE 0.6"
    yield "EXCEPTION DETECTION PASSING CAUSE hang/collective-timeout CONFIDENCE 0.6"
    yield "EXCEPTION RECOVERY STEP PASSING JOB JOB.REPLACE"


def _space(found: Found) -> Iterator[str]:
    if not found.other:
        yield from _because(
            "A full file system: no other one with more room was found here, so the task fails. "
            "If you know one, name it with `whesl init --other DIR`."
        )
        yield "DECLARE EXCEPTION NO_SPACE JOB_LEVEL JOB [*] ELSE FAIL"
        yield "EXCEPTION DETECTION NO_SPACE CAUSE filesystem-full, quota"
        return
    yield from _because(
        f"A full file system: {found.other} is on another one, with {found.free / 2**30:.0f} GiB free "
        "when this was written. The task goes on there, and the tasks that read from it are told."
    )
    places = f'"filesystem": {quoted(found.other)}, "defaultpath": {quoted(found.here)}'
    yield "DECLARE EXCEPTION NO_SPACE WORKFLOW_LEVEL JOB [*] LIMIT 1 ELSE FAIL"
    yield "EXCEPTION DETECTION NO_SPACE CAUSE filesystem-full, quota"
    yield f"EXCEPTION RECOVERY STEP NO_SPACE JOB FILESYSTEM.REPLACE {{{places}}}"


def _hangs(found: Found) -> Iterator[str]:
    timer = found.timer
    if timer is None:
        yield from _because(
            f"Hangs: no timer, since {found.why_no_timer}. "
            "With logs of good runs: whesl init --log 'runs/*.log'."
        )
        return
    false = next((each for each in timer.choices if each.seconds == timer.chosen), timer.choices[-1])
    yield from _because(
        f"Hangs: two of these lines were at most {timer.longest:g} s apart in {timer.runs_past} good runs, "
        f"and half as long again is waited. False alarms: {false.false_past} in these runs, "
        f"{false.false_future} in {timer.runs_future} after them."
    )
    yield "DECLARE EXCEPTION STOOD_STILL JOB_LEVEL JOB [*] LIMIT 1 ELSE FAIL"
    yield f"EXCEPTION DETECTION STOOD_STILL LOG {quoted(timer.text)} output TIMEOUT {timer.chosen:g}"
    yield "EXCEPTION RECOVERY STEP STOOD_STILL JOB JOB.REPLACE"


def _never(found: Found) -> Iterator[str]:
    small, wrong = ["time-limit"], ["missing-dependency", "licence", "container", "numerical"]
    if not found.trains:
        small += ["out-of-memory-host", "out-of-memory-gpu"]
        wrong += ["segfault/app-bug", "input/config-error"]
    yield from _because("Nothing is tried again that ends in the same way.")
    yield "DECLARE EXCEPTION MEND_FIRST JOB_LEVEL JOB [*] ELSE FAIL"
    yield f"EXCEPTION DETECTION MEND_FIRST CAUSE {', '.join(small)}"
    yield f"EXCEPTION DETECTION MEND_FIRST CAUSE {', '.join(wrong)}"


def _training() -> Iterator[str]:
    yield from _because(
        "Training goes on from its last checkpoint: whatever else ends it is tried again while it gets "
        "further, and the same error is met twice. A task that srun tells of is enough: others may wait for "
        "it. A rank that hangs ends when the time limit of PyTorch's collectives has passed; a shorter "
        'one is PROGRESS "^step (\\d+)" output TIMEOUT 300 WARMUP 900, with your own line of a step.'
    )
    yield "DECLARE EXCEPTION ENDED JOB_LEVEL JOB [*] LIMIT 3 WITHOUT PROGRESS ELSE FAIL"
    yield r'EXCEPTION DETECTION ENDED MATCH "srun: error: \S+: tasks? [\d,-]+: " output'
    yield "EXCEPTION DETECTION ENDED EXIT ANY EXCEPT CODE 2, 126, 127"
    yield "EXCEPTION RECOVERY STEP ENDED JOB JOB.REPLACE"
