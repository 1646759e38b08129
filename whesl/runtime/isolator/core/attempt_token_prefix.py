"""What the tokens of a task's attempts begin with: it follows from the task's setup alone.

So ``whesl exec`` and the isolator come to the same without telling each other. Standard library only.
"""

from __future__ import annotations

from whesl.model.digest import hexdigest


def token_prefix(salt: str, task: str) -> str:
    """Return what the tokens of all attempts of a task begin with: what its agents fence by.

    Args:
        salt: drawn for the task.
        task: its id.
    """
    return hexdigest(f"{salt}/{task}".encode(), 16) + "."
