"""Where everything lies below WHESL_HOME, each path once.

Little is imported: what starts a task loads this before the task runs. Paths are given for ``home`` as a
``Path``, or as text where that is what the caller has.
"""

from __future__ import annotations

import os

from whesl.model.digest import file_name

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VARIABLE = "WHESL_HOME"
_USUAL = "~/.whesl"
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def chosen(environment: Mapping[str, str] = os.environ, otherwise: str = "") -> str:
    """Return the home that an environment names, as it is written there.

    Args:
        environment: the one with ``WHESL_HOME``.
        otherwise: what counts where it names none; without it ``~/.whesl``.
    """
    return environment.get(VARIABLE) or otherwise or os.path.expanduser(_USUAL)  # noqa: PTH111


def coordinator(home: Path) -> Path:
    """Return the coordinator's directory."""
    return home / "coordinator"


def coordinator_journal(home: Path) -> Path:
    """Return the coordinator's journal."""
    return coordinator(home) / "journal.db"


def coordinator_lock(home: Path) -> Path:
    """Return the lock that the one coordinator of a user holds."""
    return coordinator(home) / "lock"


def coordinator_log(home: Path) -> Path:
    """Return where the coordinator says what it does."""
    return coordinator(home) / "log"


def endpoint(home: Path) -> Path:
    """Return the file that says where the coordinator listens."""
    return coordinator(home) / "endpoint.json"


def spool(home: Path) -> Path:
    """Return the directory of messages for a coordinator that is away."""
    return coordinator(home) / "spool"


def bad_nodes(home: Path) -> Path:
    """Return the list of nodes to avoid, for submission commands."""
    return coordinator(home) / "bad-nodes.json"


def keys(home: Path) -> Path:
    """Return the directory of the user's keys."""
    return home / "keys"


def rules_cache(home: Path) -> Path:
    """Return the directory of rules that were checked before."""
    return home / "cache"


def workflows(home: Path) -> Path:
    """Return the directory with one directory for each registered workflow."""
    return home / "workflows"


def workflow(home: Path, workflow_id: str) -> Path:
    """Return a workflow's directory.

    Args:
        home: the WHESL home.
        workflow_id: the workflow's id, which is the name of its directory.
    """
    return workflows(home) / workflow_id


def workflow_file(home: Path, workflow_id: str) -> Path:
    """Return the file that holds a workflow as it was registered.

    Args:
        home: the WHESL home.
        workflow_id: the workflow's id, which is the name of its directory.
    """
    return workflow(home, workflow_id) / "workflow.json"


def submissions(home: Path, workflow_id: str) -> Path:
    """Return the directory of a workflow's submissions to the scheduler.

    Args:
        home: the WHESL home.
        workflow_id: the workflow's id, which is the name of its directory.
    """
    return workflow(home, workflow_id) / "submissions"


def tasks(home: Path) -> Path:
    """Return the directory of the tasks' directories: ``WORKFLOW/TASK``, both quoted."""
    return home / "tasks"


def task(home: str, name: str) -> str:
    """Return a task's directory.

    Args:
        home: the WHESL home.
        name: the task's id, ``WORKFLOW/TASK``.
    """
    workflow_id, _, own = name.partition("/")
    return f"{home}/tasks/{_quoted(workflow_id, '')}/{file_name(_quoted(own, ' +,=@:'))}"


def _quoted(text: str, safe: str) -> str:
    if _UNRESERVED.issuperset(text.translate(dict.fromkeys(map(ord, safe)))):
        return text
    from urllib.parse import quote  # a slow import, and most names are plain

    return quote(text, safe=safe)


def interpreters(home: Path) -> Path:
    """Return where programs stand that are the interpreters of scripts wrapped by `whesl fluxify`."""
    return home / "interpreters"


def ckpt(home: Path) -> Path:
    """Return the directory of programs that write prioritized checkpoints."""
    return home / "ckpt"
