"""What the options of a function mean as a specification: the same rules as of any task. Pure."""

from __future__ import annotations

import json

from whesl.runtime.functions.options import Options

# The exit status of a function's process whose exception is to be followed by another attempt, and of one
# whose exception is not: numbers that hardly any program uses. Then a shell's for what cannot be started.
AGAIN, RAISED = 213, 214
_NOT_STARTED = (126, 127)
EXCEPTION = "CALL_FAILED"
# The variable with the call's directory, and the file there that ``whesl.progress`` writes to.
DIRECTORY = "WHESL_CALL"
PROGRESS = "progress"


def specification(options: Options) -> str:
    """Return the specification (ESL) of a function's options; empty where they ask for nothing.

    Args:
        options: the function's.
    """
    seen = []
    if options.retries:
        seen.append(f"EXIT CODE {AGAIN}")
    if options.retries_deaths:
        seen.append(f"EXIT ANY EXCEPT CODE {', '.join(map(str, (*_NOT_STARTED, AGAIN, RAISED)))}")
    if options.silence is not None:
        seen.append(f"SILENCE TIMEOUT {_number(options.silence)}")
    if options.no_progress is not None:
        file = f'file "${DIRECTORY}/{PROGRESS}"'
        seen.append(f'PROGRESS "^([0-9.]+)$" {file} TIMEOUT {_number(options.no_progress)}')
    if not seen:
        return ""
    limit = f" LIMIT {options.retries}" if options.retries else ""
    limit += " WITHOUT PROGRESS" if limit and options.no_progress is not None else ""
    backoff = f" BACKOFF {_number(options.backoff)}" if options.backoff else ""
    lines = [
        f"# The options of {options.name}, as its author has written them for @whesl.task.",
        "DECLARE ENTITY JOB",
        "DECLARE EXCEPTION_TYPE JOB_LEVEL",
        f"DECLARE EXCEPTION {EXCEPTION} JOB_LEVEL JOB [*]{limit}{backoff} ELSE FAIL",
        *(f"EXCEPTION DETECTION {EXCEPTION} {one}" for one in seen),
    ]
    if options.retries:
        lines.insert(3, "DECLARE RESOURCE JOB[REPLACE]")
        lines.append(f"EXCEPTION RECOVERY STEP {EXCEPTION} JOB JOB.REPLACE{_arguments(options)}")
    return "".join(f"{line}\n" for line in lines)


def _arguments(options: Options) -> str:
    changes = [{"environment": _kept(one.get("environment", {}))} for one in options.attempts]
    return f" {json.dumps({'attempts': changes})}" if any(one["environment"] for one in changes) else ""


def _kept(environment: dict[str, str]) -> dict[str, str]:
    """Return variables as they are: in a specification, ``${`` would begin the name of something else."""
    return {name: text.replace("${", "$${") for name, text in environment.items()}


def _number(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".")
