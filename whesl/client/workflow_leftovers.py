"""What the workflows of a home have left, and which of it may go."""

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

_NAMED = 3  # tasks that a sentence names


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What one workflow has left. ``why`` says why all of it stays, empty when it may go."""

    workflow: str
    leftovers: tuple[Leftover, ...]
    why: str = ""

    @property
    def changed(self) -> float:
        """When something of it was last written, seconds since the epoch."""
        return max((item.changed for item in self.leftovers), default=0.0)

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(item.size for item in self.leftovers)

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(item.files for item in self.leftovers)

    @property
    def reported(self) -> bool:
        """Whether a report is possible afterwards: the coordinator's journal has the tasks' records."""
        return all(item.reported for item in self.leftovers)


def survey(
    home: Path,
    states: Mapping[str, TaskState],
    wanted: Sequence[str] = (),
    tell: Callable[[int], object] = lambda _: None,
) -> list[Found]:
    """Return what the workflows of a home have left, in the order of their names.

    Args:
        home: the WHESL home.
        states: of all tasks that the coordinator knows, by id.
        wanted: the workflows to look at, all when empty.
        tell: called with 1 after each task, for a display of progress.

    Raises UsageError for a workflow that has left nothing.
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
    """Return which workflows go and which stay; those that stay say why. Pure.

    Commands of ``whesl exec`` have nothing to do with each other: each of them goes or stays alone.

    Args:
        everything: what there is.
        before: workflows that were written to later than this stay, seconds since the epoch.
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
    """Return the first reasons in one sentence, and how many more there are."""
    more = f", and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
