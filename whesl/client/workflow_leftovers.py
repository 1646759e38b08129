"""The directories that the workflows of a home have left, and the choice of those to remove."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec

from whesl.client import ended_task_removal
from whesl.client.ended_task_removal import Leftover
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.model.printable import visible
from whesl.model.states import TaskState
from whesl.runtime.isolator.launch.setup_json import WITHOUT_WORKFLOW

_NAMED = 3  # greatest number of tasks named in a sentence


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The directories left by one workflow. ``why`` says why they stay, empty when they may be removed."""

    workflow: str
    leftovers: tuple[Leftover, ...]
    why: str = ""

    @property
    def changed(self) -> float:
        """Time of the last write to the directories, seconds since the epoch."""
        return max((item.changed for item in self.leftovers), default=0.0)

    @property
    def size(self) -> int:
        """Size of the directories on the disk, bytes."""
        return sum(item.size for item in self.leftovers)

    @property
    def files(self) -> int:
        """Number of files in the directories."""
        return sum(item.files for item in self.leftovers)

    @property
    def reported(self) -> bool:
        """Whether a report is possible after a removal: the coordinator's journal has the tasks' records."""
        return all(item.reported for item in self.leftovers)


def survey(
    home: Path,
    states: Mapping[str, TaskState],
    wanted: Sequence[str] = (),
    tell: Callable[[int], object] = lambda _: None,
) -> list[Found]:
    """Return the directories left by the workflows of a home, in the order of the workflows' names.

    Args:
        home: the WHESL home.
        states: the states of all tasks that the coordinator knows, by id.
        wanted: the names of the workflows to look at; empty for all.
        tell: called with 1 after each task, for a display of progress.

    Raises UsageError for a wanted workflow without directories.
    """
    present = {unquote(path.name): path for path in sorted(places.tasks(home).glob("*")) if path.is_dir()}
    if missing := [name for name in wanted if name not in present]:
        named = ", ".join(f"'{visible(name)}'" for name in missing)
        known = (
            f"these have: {', '.join(list(present)[-5:])}" if present else f"nothing lies below {home}/tasks"
        )
        raise UsageError(f"no files are left of {named}", hint=known)
    living: dict[str, list[str]] = {}
    for task, state in states.items():
        if not state.final:
            living.setdefault(task.partition("/")[0], []).append(f"{task} is {state.value}")
    found = []
    for name in dict.fromkeys(wanted) or present:
        items = []
        for path in sorted(path for path in present[name].iterdir() if path.is_dir()):
            items.append(ended_task_removal.look(path, states))
            tell(1)
        alive = living.get(name) or [f"{item.task}: {item.why}" for item in items if item.why]
        found.append(Found(workflow=name, leftovers=tuple(items), why=some(alive)))
    return found


def choose(everything: Sequence[Found], before: float) -> tuple[list[Found], list[Found]]:
    """Return the workflows to remove and the workflows that stay, with the reason. Pure.

    Commands of ``whesl exec`` are independent of each other, so that each one is removed or stays alone.

    Args:
        everything: the directories of all workflows.
        before: workflows with a later write stay, seconds since the epoch.
    """
    going, staying = [], []
    for found in everything:
        if found.workflow == WITHOUT_WORKFLOW:
            over = tuple(item for item in found.leftovers if not item.why and item.changed <= before)
            rest = tuple(item for item in found.leftovers if item.why or item.changed > before)
            if over:
                going.append(msgspec.structs.replace(found, leftovers=over, why=""))
            if not rest:
                continue
            why = some([f"{item.task}: {item.why}" for item in rest if item.why])
            found = msgspec.structs.replace(found, leftovers=rest, why=why)
        if found.why:
            staying.append(found)
        elif found.changed > before:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.changed))
            staying.append(msgspec.structs.replace(found, why=f"written to on {when}"))
        else:
            going.append(found)
    return going, staying


def some(words: Sequence[str]) -> str:
    """Return the first reasons in one sentence, with the number of further reasons."""
    more = f", and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
