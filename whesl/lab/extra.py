"""What is said where a library of an extra is missing."""

from __future__ import annotations

from whesl.model.errors import UsageError


def missing(error: ModuleNotFoundError, what: str = "the lab", extra: str = "whesl[lab]") -> UsageError:
    """Return the error for users instead of a library's absence.

    Args:
        error: as the import raised it.
        what: what needs it.
        extra: what has to be installed.

    Raises:
        ModuleNotFoundError: the module that is missing is one of WHESL: a defect, not a missing extra.
    """
    name = (error.name or "").partition(".")[0]
    if name in ("", "whesl"):
        raise error
    return UsageError(f"{what} needs {name}, which is not installed", hint=f"pip install '{extra}'")
