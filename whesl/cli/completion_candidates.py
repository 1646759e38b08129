"""Candidates for a shell's completion: workflows, tasks, nodes, schedulers, clouds, runs.

No function here may fail or print, since the user is in the middle of a line, or start a process.
click calls each public function with three arguments: the context of the incomplete command line, with the
options read so far; the parameter that is completed; and the begin of the word, '' for none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import click

from whesl.model.errors import WheslError
from whesl.model.states import TaskState

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from whesl.runtime.coordinator.core.state import State, TaskEntry

# Greatest number of candidates: more do not help, and are slow in some shells.
_MOST = 200
# The values of ``whesl.cloud.runner.site_file.Provided``, whose import is slower.
CLOUDS = ("ec2", "processes", "slurm")
_FIT: dict[str, Callable[[TaskState], bool]] = {
    "resume": lambda state: state is TaskState.PAUSED,
    "pause": lambda state: not state.final and state is not TaskState.PAUSED,
    "cancel": lambda state: not state.final,
    "raise": lambda state: not state.final,
}


def workflows(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the workflows whose name begins with the incomplete word."""
    try:
        known = _known()
    except (WheslError, OSError):
        return []
    names = {task.workflow for task in known.values()}
    return _beginning(names, incomplete)


def tasks(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the tasks whose id or name begins with the incomplete word and whose state fits the command.

    Args:
        context: the incomplete command line, with the options read so far.
        incomplete: the begin of the word; '' for none.
    """
    fit = _FIT.get(context.info_name or "")
    try:
        found = [task.id for task in _known().values() if fit is None or fit(task.state)]
    except (WheslError, OSError):
        return []
    ids = _beginning(found, incomplete)
    return ids or _beginning((name.partition("/")[2] for name in found), incomplete)


def tasks_or_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the tasks whose id or name begins with the incomplete word, and a request for files.

    Args:
        context: the incomplete command line, with the options read so far.
        parameter: the parameter that is completed.
        incomplete: the begin of the word; '' for none.
    """
    from click.shell_completion import CompletionItem

    found = [CompletionItem(name) for name in tasks(context, parameter, incomplete)]
    return [*found, CompletionItem(incomplete, type="file")]


def bad_nodes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the avoided nodes whose name begins with the incomplete word."""
    try:
        return _beginning(_state().bad_nodes, incomplete)
    except (WheslError, OSError):
        return []


def exceptions(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the exceptions in running tasks' rules whose name begins with the incomplete word."""
    from whesl.runtime.coordinator.core.external_exceptions import declared

    try:
        state = _state()
    except (WheslError, OSError):
        return []
    names = {name for task in state.live for name in declared(state, state.tasks[task])}
    return _beginning(names, incomplete)


def nodes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the nodes of running tasks whose name begins with the incomplete word."""
    found = (node for task in _running() for node in (task.uses or task.nodes))
    return _beginning(found, incomplete)


def jobs(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the jobs of running tasks whose id begins with the incomplete word."""
    return _beginning((task.job_id for task in _running() if task.job_id), incomplete)


def schedulers(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the supported schedulers whose name begins with the incomplete word."""
    from whesl.managers.resource import SCHEDULERS

    return _beginning(SCHEDULERS, incomplete)


def clouds(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the clouds whose name begins with the incomplete word."""
    return _beginning(CLOUDS, incomplete)


def platforms(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return a list of platforms with its last name completed from the platforms of the prices.

    Args:
        context: the incomplete command line, with the options read so far.
        incomplete: the begin of the list; '' for none.
    """
    try:
        from whesl.cloud.prices import load

        known = load(context.params.get("prices")).platforms
    except (WheslError, ImportError, OSError):
        return []
    others, comma, begun = incomplete.rpartition(",")
    taken = others.split(",")
    names = (one.name for one in known if one.name not in taken)
    return [f"{others}{comma}{name}" for name in _beginning(names, begun)]


def cloud_runs(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the directories with a run of `whesl cloud` that complete the word; without one, all."""
    from click.shell_completion import CompletionItem

    above, slash, begun = incomplete.rpartition("/")
    try:
        entries = [one.name for one in os.scandir(f"{above}{slash}" or ".") if _holds_run(one)]
    except OSError:
        entries = []
    found = [CompletionItem(f"{above}{slash}{name}") for name in _beginning(entries, begun)]
    return found or [CompletionItem(incomplete, type="dir")]


def _holds_run(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and os.path.exists(os.path.join(entry.path, "run.json"))  # noqa: PTH110, PTH118 - as given


def _running() -> list[TaskEntry]:
    try:
        state = _state()
    except (WheslError, OSError):
        return []
    return [state.tasks[task] for task in state.live]


def _known() -> Mapping[str, TaskEntry]:
    return _state().tasks


def _state() -> State:
    from whesl.runtime.coordinator.client.journal_state import known_state
    from whesl.runtime.wire import keys

    return known_state(keys.home()).state


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})[:_MOST]
