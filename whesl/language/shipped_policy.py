"""The policy that ships with WHESL, for ``-e default``. Standard library only."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "default"
_FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "policies")  # noqa: PTH118, PTH120
FILE = os.path.join(_FOLDER, f"{NAME}.esl")  # noqa: PTH118
WITH_FILESYSTEM = os.path.join(_FOLDER, f"{NAME}-with-filesystem.esl")  # noqa: PTH118
OBSERVED = "WHESL_DEFAULT_OBSERVES"
FILESYSTEM, OF = "WHESL_DEFAULT_FILESYSTEM", "WHESL_DEFAULT_FILESYSTEM_OF"


def place(rules: str) -> str:
    """Return the file of rules: for ``default`` a shipped policy, unless a file has that name."""
    if rules != NAME or os.path.exists(rules):  # noqa: PTH110
        return rules
    return WITH_FILESYSTEM if os.environ.get(FILESYSTEM) and os.environ.get(OF) else FILE


def observed(rules: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether the shipped policy is among the rules and the site's variable makes it observe only.

    Args:
        rules: the names of rules that the user gave.
        environment: the variables, with the site's ``WHESL_DEFAULT_OBSERVES``.
    """
    return any(place(name) in (FILE, WITH_FILESYSTEM) for name in rules) and environment.get(OBSERVED) == "1"
