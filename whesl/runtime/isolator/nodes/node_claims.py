"""One allocation's account of its nodes: which task uses which. Standard library only.

Several tasks may run in one allocation (pilots, ``whesl exec ... &``). Those that take a part of the nodes
write down which, so that they take different ones as long as there are enough, and no two take one spare.
The account is a table, a file for each change of it: ``NUMBER`` can be made once by link(2), by one of all
processes of all hosts, and the highest number counts. A process that was slower reads again. A claim is over
with its
task: when that has a result, or nobody holds its lock. So a task that is killed has nothing to give back.
"""

from __future__ import annotations

import contextlib
import json
import os

from whesl.files import file_retry
from whesl.runtime.locking import takeover_lock

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Table = dict[str, list[str]]
_FOLDER = "allocations"
_TRIES = 1000  # how often a change is tried again since another task was faster
_KEPT = 64  # newest states that are kept, so that none of their numbers can be made twice


def account(home: str, rjms: str, job: str, restarts: int) -> str:
    """Return the directory of an allocation's account.

    Args:
        home: the WHESL home.
        rjms, job: the resource manager and its job.
        restarts: how often the job ran again; each run has other nodes.
    """
    return f"{home}/{_FOLDER}/{rjms}-{job.replace('/', '_')}.{restarts}"


def claim(
    directory: str, task: str, choose: Callable[[frozenset[str], Sequence[str]], Sequence[str]]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Write down which nodes a task uses, in the place of those that it has used before.

    Args:
        directory: the account; made when missing.
        task: the task's directory.
        choose: returns the nodes that the task is to use; it is given those that other tasks use, and those
            that the task has claimed before. It may be called several times, since others claim meanwhile.

    Returns the chosen nodes, and those that other tasks use. Raises OSError.
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
    """Claim nodes in the place of those that a task has, unless a new one of them is another task's.

    Args:
        directory: the account.
        task: the task's directory.
        wanted: the nodes that it is to use.
        shared: those of them that other tasks may use, too.

    Returns the nodes for which the claim is refused (then nothing has changed), and all that other tasks use.
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
    """Return the number and the content of the account, 0 and nothing without one. Raises OSError."""
    while True:
        names = file_retry.retried(lambda: os.listdir(directory))  # noqa: PTH208
        numbers = [int(name) for name in names if name.isdecimal()]
        if not numbers:
            return 0, {}
        content = file_retry.content(f"{directory}/{max(numbers)}")
        if content is not None:  # else there is a newer one by now
            return max(numbers), _decoded(content)


def _decoded(content: bytes) -> Table:
    try:
        said = json.loads(content)
    except ValueError:  # damaged: each task in it claims its nodes again with its next attempt
        return {}
    pairs: Mapping[str, object] = said if isinstance(said, dict) else {}
    return {
        task: [node for node in nodes if isinstance(node, str)]
        for task, nodes in pairs.items()
        if isinstance(nodes, list)
    }


def _written(directory: str, number: int, table: Table) -> bool:
    """Write the account's next state; False when another one was faster."""
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
    # A process may have slept since a state so old that its number was free again: its change does not count.
    return newest(directory)[0] < number + _KEPT // 2


def lives(task: str) -> bool:
    """Whether a task is still run: it has no result, and somebody holds its lock as far as can be told."""
    if file_retry.exists(f"{task}/result.json"):
        return False
    return takeover_lock.holder(f"{task}/lock") is not None


def neighbours(directory: str, task: str) -> bool:
    """Whether other tasks run in an allocation. Raises OSError.

    Args:
        directory: the account.
        task: the directory of the task that asks.
    """
    return any(lives(whose) for whose in newest(directory)[1] if whose != task)


def forget(home: str, before: float) -> None:
    """Remove the accounts that no task uses any more and that have not changed since.

    Args:
        home: the WHESL home.
        before: seconds since the epoch; a task of an account that is changed later may be beginning.
    """
    with contextlib.suppress(OSError), os.scandir(f"{home}/{_FOLDER}") as accounts:
        for account in accounts:
            with contextlib.suppress(OSError):  # an account that cannot be read is left alone
                old = account.is_dir(follow_symlinks=False) and account.stat().st_mtime < before
                if old and not any(map(lives, newest(account.path)[1])):
                    for name in os.listdir(account.path):  # noqa: PTH208
                        os.unlink(f"{account.path}/{name}")  # noqa: PTH108
                    os.rmdir(account.path)  # noqa: PTH106
