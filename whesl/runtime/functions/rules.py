"""The specification of a function's options: rules of the same kind as for any task. Pure."""

from __future__ import annotations

import json

from whesl.model.outcomes import FUNCTION_RAISED
from whesl.runtime.functions.options import Options

# Exit status of a function's process after an exception with another attempt: a number that hardly any
# program uses. The next line has a shell's statuses for a program that cannot be started.
AGAIN = 213
_NOT_STARTED = (126, 127)
EXCEPTION = "CALL_FAILED"
# Variable with the call's directory, and name of the file there that ``whesl.progress`` writes.
DIRECTORY = "WHESL_CALL"
PROGRESS = "progress"


def specification(options: Options) -> str:
    """Return the specification (ESL) of a function's options; empty where they need no rule.

    Args:
        options: the function's options.
    """
    seen = []
    if options.retries:
        seen.append(f"EXIT CODE {AGAIN}")
    if options.retries_deaths:
        seen.append(f"EXIT ANY EXCEPT CODE {', '.join(map(str, (*_NOT_STARTED, AGAIN, FUNCTION_RAISED)))}")
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
    """Return variables with ``${`` escaped, which would begin a placeholder in a specification."""
    return {name: text.replace("${", "$${") for name, text in environment.items()}


def _number(seconds: float) -> str:
    return f"{seconds:.3f}".rstrip("0").rstrip(".")
