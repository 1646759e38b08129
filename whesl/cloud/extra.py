"""What is said where a library of the extra ``cloud`` is missing."""

from __future__ import annotations

from whesl.model.errors import UsageError


def missing(error: ModuleNotFoundError) -> UsageError:
    """Return the error for users instead of a library's absence.

    Args:
        error: as the import raised it.

    Raises:
        ModuleNotFoundError: the module that is missing is one of WHESL: a defect, not a missing extra.
    """
    name = (error.name or "").partition(".")[0]
    if name in ("", "whesl"):
        raise error
    return UsageError(f"this command needs {name}, which is not installed", hint="pip install 'whesl[cloud]'")
