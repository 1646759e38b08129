"""The common prefix of the tokens of a task's attempts, derived from the task's setup alone.

``whesl exec`` and the isolator therefore derive the same prefix independently. Standard library only.
"""

from __future__ import annotations

from whesl.model.digest import hexdigest


def token_prefix(salt: str, task: str) -> str:
    """Return the common prefix of the tokens of a task's attempts, by which the task's agents fence.

    Args:
        salt: the task's random salt.
        task: the task's id.
    """
    return hexdigest(f"{salt}/{task}".encode(), 16) + "."
