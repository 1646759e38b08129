"""Scripts that any program submits: the ``sbatch`` in front wraps each of them while it submits it.

Each job is a task of its own, whose step is the job's name and whose instance is the job's id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from whesl.language.rules_file import load_rules
from whesl.managers.resource.granted_spares_and_requeue import ANY_STEP
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.batch.script import parse_script
from whesl.managers.workflow.port import keeping_steps, spares_by_step, with_isolators_node
from whesl.managers.workflow.prepare import program
from whesl.managers.workflow.script_wrapping import TaskCall, WrappedScript
from whesl.managers.workflow.submission.file_in_place import ScriptInPlace
from whesl.managers.workflow.submission.sbatch_options import Call, without
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow

_VARIABLE = "WHESL_FRONT"


class Front(msgspec.Struct, frozen=True, kw_only=True):
    """How jobs are protected: their rules, and the spare nodes of each job whose recovery may take one."""

    rules: str
    spares: int
    own_node: bool = True
    observe: bool = False

    def told(self) -> dict[str, str]:
        """Return the variable that tells the ``sbatch`` in front."""
        return {_VARIABLE: msgspec.json.encode(self).decode()}


def front(environment: Mapping[str, str]) -> Front | None:
    """Return how the jobs that a process submits are protected, None where nothing is told.

    Raises UsageError for a damaged variable.
    """
    said = environment.get(_VARIABLE, "")
    try:
        return msgspec.json.decode(said, type=Front) if said else None
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"{_VARIABLE}={said!r} does not tell how to protect the job: {error}",
            hint="start the program that submits it by whesl front, or unset the variable",
        ) from None


def wrapped(
    call: Call, text: str, how: Front, environment: Mapping[str, str], copy: ScriptInPlace
) -> tuple[Call, str, WrappedScript, Callable[[Mapping[str, str]], None]]:
    """Return the call of a wrapped script, the script's text, and what its job needs.

    The last value returned puts the wrapped script in place, whose job then has the variables that it is
    given: the script holds them, because sbatch's ``--export=NONE`` keeps those of its own environment from
    the job. sbatch reads the word of ``--wrap`` as it reads a script on standard input.

    Args:
        call: the call of sbatch; its script may be a file, the word of ``--wrap``, or standard input.
        text: the text of the script.
        how: how the job is protected.
        environment: the environment of the call.
        copy: takes the wrapped script.

    Raises UsageError for a text that is no script, or rules with errors.
    """
    home = places.chosen(environment)
    command = call.last("wrap")
    # sbatch names jobs after their files, and these two so.
    name = Path(call.script).name or ("wrap" if command is not None else "sbatch")
    if command is not None:
        text = f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n"
        named = call.last("job-name") is not None or "SBATCH_JOB_NAME" in environment
        call = without(call, "wrap", () if named else ("--job-name=wrap",))
    spec = load_rules((how.rules,), places.rules_cache(Path(home)), any_job=False)
    assert spec is not None
    script = parse_script(text, Path(name))
    step = call.last("job-name") or script.step
    task = Workflow(id="", name="", wms="", root="", tasks=(Task(id=step, step=step),))
    spares = {} if how.observe else spares_by_step(spec, task, how.spares)
    if not how.own_node and not how.observe:
        spares = with_isolators_node(spares, task)
    copy.put(text)  # ``sbatch --test-only`` reads it

    def write(told: Mapping[str, str]) -> None:
        made = script_wrapping.program_for(
            TaskCall(
                program=program(),
                workflow="",
                spec=how.rules,
                home=home,
                observe=how.observe,
                own_node=how.own_node,
                step="",
                of_job=True,
                told=tuple(f"{name}={value}" for name, value in told.items()),
            ),
            text.split("\n", 1)[0],
            call.script or name,
            str(places.interpreters(Path(home))),
        )
        made.write()
        copy.put(script_wrapping.wrap(text, made))

    needs = WrappedScript(
        workflow="",
        step=ANY_STEP,
        spares=spares.get(step, 0),
        observe=how.observe,
        keeps=not how.observe and step in keeping_steps(spec, task) and not script.outlives,
    )
    return call, text, needs, write
