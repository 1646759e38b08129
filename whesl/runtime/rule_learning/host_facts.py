"""Facts of this host for a workflow's first specification: logs of good runs, another file system."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.model.errors import UsageError
from whesl.model.workflow import Workflow
from whesl.runtime.rule_learning.first_specification import Found
from whesl.runtime.rule_learning.learn import learn
from whesl.runtime.rule_learning.run_log_reader import run_of

# Words of scripts and programs in which several processes train together, and go on from checkpoints.
_TRAINS = re.compile(
    r"\b(?:torchrun|torch\.distributed|init_process_group|accelerate|deepspeed|(?:pytorch_)?lightning|MASTER_ADDR"
    r"|jax\.distributed|horovod(?:run)?|ray\.train)\b"
)
_PROGRAM = re.compile(r"[\w./-]+\.(?:py|sh)\b|(?<= -m )[\w.]+")  # a file, or a module
_PROGRAMS = 20  # programs of a script that are read at most
_SPACES = ("SCRATCH", "WORK", "PROJECT")  # variables with a user's own directories at many sites


def found(
    workflow: Workflow, study: Path, logs: Sequence[str], other: Path | None, environment: Mapping[str, str]
) -> Found:
    """Return the facts on a workflow and on this host.

    Args:
        workflow: the workflow.
        study: the workflow's file.
        logs: the logs of good runs.
        other: a directory of another file system; None to search for one.
        environment: the variables, in which sites name directories.

    Raises UsageError where ``other`` is no directory.
    """
    learned = learn([run_of([name], good=True) for name in logs]) if logs else None
    root = Path(workflow.root)
    here = root if root.is_dir() else root.parent  # the workflow manager makes ``root`` at each run
    place, free = _other(here, other, environment)
    why = "no logs were given" if learned is None else "; ".join(learned.too_little[1:])
    return Found(
        workflow=workflow,
        source=study.name,
        trains=_trains(study),
        here=str(here),
        other=place,
        free=free,
        timer=learned.timer if learned is not None else None,
        why_no_timer=why or "no line with time stamps is printed again and again in all of these logs",
    )


def _trains(study: Path) -> bool:
    """Whether a script, or a program that it starts, trains on several processes."""
    files = [study]
    for file in files:  # the list grows
        text = file.read_text(errors="replace")
        if _TRAINS.search(text):
            return True
        found = (_program(study.parent, name) for name in _PROGRAM.findall(text))
        files += [each for each in dict.fromkeys(found) if each is not None and each not in files]
        del files[_PROGRAMS:]
    return False


def _program(directory: Path, name: str) -> Path | None:
    """Return the file of a program or module, None where it is not in a directory.

    A name that begins with a variable, or with a directory of a container, counts by its last part.
    """
    module = directory / f"{name.replace('.', '/')}.py"
    places = (directory / name, directory / Path(name).name, module)
    return next((place for place in places if place.is_file()), None)


def _other(here: Path, given: Path | None, environment: Mapping[str, str]) -> tuple[str, int]:
    """Return a directory of a file system with more free space than ``here``'s, and that space, or ""."""
    if given is not None:
        if not given.is_dir():
            raise UsageError(f"{given} is no directory", hint="make it first, on another file system")
        return str(given.absolute()), shutil.disk_usage(given).free
    while not here.exists():
        here = here.parent
    places = (Path(value) for name in _SPACES if (value := environment.get(name, "")).startswith("/"))
    for place in places:
        if place.is_dir() and os.access(place, os.W_OK) and place.stat().st_dev != here.stat().st_dev:
            free = shutil.disk_usage(place).free
            if free > shutil.disk_usage(here).free:
                return str(place), free
    return "", 0
