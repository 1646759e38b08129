"""The policy that ships with WHESL, which ``-e default`` stands for. Standard library only."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "default"
FILE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "policies", f"{NAME}.esl")  # noqa: PTH118, PTH120
OBSERVED = "WHESL_DEFAULT_OBSERVES"


def place(rules: str) -> str:
    """Return the file that rules are in: of ``default`` the shipped one, where no file has that name."""
    return FILE if rules == NAME and not os.path.exists(rules) else rules  # noqa: PTH110


def observed(rules: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a site wants the shipped policy to observe first, and nothing else is asked for.

    Args:
        rules: names of rules, as they were given.
        environment: where the site says so.
    """
    return any(place(name) == FILE for name in rules) and environment.get(OBSERVED) == "1"
