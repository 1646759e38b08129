"""An allocation's account of the nodes that each task uses (docs/design/jobs.md). Standard library only.

The account is a table, with a file ``NUMBER`` for each change: by link(2), only one process of all hosts can
make a file of that name, and the highest number counts. A slower process reads the table again.
"""

from __future__ import annotations

import contextlib
import json
import os

from whesl.files import file_retry
from whesl.runtime.locking import takeover_lock

TYPE_CHECKING = False  # importing typing and collections.abc costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Table = dict[str, list[str]]
_FOLDER = "allocations"
_TRIES = 1000  # tries to change the account while other tasks are faster
_KEPT = 64  # number of newest states that are kept, so that their numbers cannot be used twice


def account(home: str, rjms: str, job: str, restarts: int) -> str:
    """Return the directory of an allocation's account.

    Args:
        home: the WHESL home.
        rjms, job: the resource manager and the job's id.
        restarts: number of requeues of the job, since each run has other nodes.
    """
    return f"{home}/{_FOLDER}/{rjms}-{job.replace('/', '_')}.{restarts}"


def claim(
    directory: str, task: str, choose: Callable[[frozenset[str], Sequence[str]], Sequence[str]]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Claim nodes for a task in place of the nodes that the task has claimed before.

    Args:
        directory: the account; made when missing.
        task: the task's directory.
        choose: returns the nodes that the task will use, given the nodes of other tasks and the nodes that
            the task has claimed before; called again when another task claims nodes meanwhile.

    Returns the chosen nodes, and the nodes of other tasks. Raises OSError.
    """
    file_retry.make_directory(os.path.dirname(directory))  # noqa: PTH120 - pathlib costs milliseconds
    file_retry.make_directory(directory)
    for _ in range(_TRIES):
        number, table = newest(directory)
        living = {whose: nodes for whose, nodes in table.items() if whose != task and lives(whose)}
        used = frozenset(node for nodes in living.values() for node in nodes)
        chosen = tuple(choose(used, table.get(task, ())))
        if _written(directory, number + 1, {**living, task: list(chosen)}):
            return chosen, used
    raise OSError(f"{directory} changes too fast")


def exchange(
    directory: str, task: str, wanted: Sequence[str], shared: frozenset[str] = frozenset()
) -> tuple[frozenset[str], frozenset[str]]:
    """Claim nodes in place of a task's nodes, unless another task uses one of the new nodes.

    Args:
        directory: the account.
        task: the task's directory.
        wanted: the nodes that the task will use.
        shared: those of the wanted nodes that other tasks may use, too.

    Returns the refused nodes (if there are any, the claim is unchanged), and all nodes of other tasks.
    Raises OSError.
    """
    refused = frozenset[str]()

    def choose(used: frozenset[str], own: Sequence[str]) -> Sequence[str]:
        nonlocal refused
        refused = used & frozenset(wanted) - frozenset(own) - shared
        return own if refused else wanted

    _, used = claim(directory, task, choose)
    return refused, used


def newest(directory: str) -> tuple[int, Table]:
    """Return the newest state's number and table, 0 and {} for an empty account. Raises OSError."""
    while True:
        names = file_retry.retried(lambda: os.listdir(directory))  # noqa: PTH208
        numbers = [int(name) for name in names if name.isdecimal()]
        if not numbers:
            return 0, {}
        content = file_retry.content(f"{directory}/{max(numbers)}")
        if content is not None:  # else a newer state has replaced this one
            return max(numbers), _decoded(content)


def _decoded(content: bytes) -> Table:
    try:
        said = json.loads(content)
    except ValueError:  # a damaged table: each task claims its nodes again with its next attempt
        return {}
    pairs: Mapping[str, object] = said if isinstance(said, dict) else {}
    return {
        task: [node for node in nodes if isinstance(node, str)]
        for task, nodes in pairs.items()
        if isinstance(nodes, list)
    }


def _written(directory: str, number: int, table: Table) -> bool:
    """Write the account's next state; return False when another process was faster."""
    beside = f"{directory}/.{os.urandom(8).hex()}"
    file_retry.replace(beside, json.dumps(table).encode())
    try:
        os.link(beside, f"{directory}/{number}")
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
    with contextlib.suppress(OSError):
        os.unlink(f"{directory}/{number - _KEPT}")  # noqa: PTH108
    # A stopped process may return when its number was removed and free again: its change does not count.
    return newest(directory)[0] < number + _KEPT // 2


def lives(task: str) -> bool:
    """Whether a task still runs: it has no result, and a process holds its lock."""
    if file_retry.exists(f"{task}/result.json"):
        return False
    return takeover_lock.holder(f"{task}/lock") is not None


def neighbours(directory: str, task: str) -> tuple[bool, bool]:
    """Return whether other tasks have used an allocation, and whether some of them run now. Raises OSError.

    Of the tasks that have ended, those count that ran when the account last changed.

    Args:
        directory: the account.
        task: the directory of the asking task, which does not count.
    """
    others = [whose for whose in newest(directory)[1] if whose != task]
    return bool(others), any(map(lives, others))


def forget(home: str, before: float) -> None:
    """Remove the accounts that no task uses any more, and that are older than ``before``.

    Args:
        home: the WHESL home.
        before: seconds since the epoch; a task of an account with a later change may be starting.
    """
    with contextlib.suppress(OSError), os.scandir(f"{home}/{_FOLDER}") as accounts:
        for account in accounts:
            with contextlib.suppress(OSError):  # an account that cannot be read is left alone
                old = account.is_dir(follow_symlinks=False) and account.stat().st_mtime < before
                if old and not any(map(lives, newest(account.path)[1])):
                    for name in os.listdir(account.path):  # noqa: PTH208
                        os.unlink(f"{account.path}/{name}")  # noqa: PTH108
                    os.rmdir(account.path)  # noqa: PTH106
