"""The errors that cross rooms. Each says what happened, where, and what the user can do."""

from __future__ import annotations


class WheslError(Exception):
    """Base of all errors that are shown to users, without a traceback.

    Args:
        message: what happened and where, one sentence.
        hint: what the user can do about it, or an empty string.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class UsageError(WheslError):
    """The command or a request is malformed; correct it and call again."""

    exit_code = 2


class CouldNotObserveError(WheslError):
    """A state could not be observed. The error never means that a thing is gone; look again later."""


class TransientError(WheslError):
    """A call failed for now; the same call may work later."""


class RefusedError(WheslError):
    """The program that was asked refused; the same call will be refused later, too."""


def missing(error: ModuleNotFoundError, what: str, extra: str) -> UsageError:
    """Return the error that tells a user which library is missing, and how it is installed.

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
