"""Exceptions that a call of a protected function raises besides the function's own. Standard library only."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any


class FunctionError(RuntimeError):
    """A call of a protected function has no result.

    Args:
        message: the event, with the function's name.
        record: the directory with the call's journal and output; empty where there is none.
    """

    def __init__(self, message: str, record: str = "") -> None:
        super().__init__(message)
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.record)


class FunctionDiedError(FunctionError):
    """The function's process ended without a result: by a signal, or by ``os._exit``.

    Args:
        message: the event, with the function's name.
        record: the directory with the call's journal and output.
        status: the process's exit status as a shell gives it: 128 + n for one that died of signal n.
    """

    def __init__(self, message: str, record: str = "", status: int = 0) -> None:
        super().__init__(message, record)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.record, self.status)


class FunctionSilentError(FunctionError, TimeoutError):
    """The function printed nothing for ``silence`` seconds, and was ended."""


class FunctionStalledError(FunctionError, TimeoutError):
    """The number for ``whesl.progress`` did not rise for ``no_progress`` seconds; the function was ended."""


class InputMissingError(FunctionError, FileNotFoundError):
    """A file of ``inputs`` is missing."""

    def __str__(self) -> str:
        return str(self.args[0])


class OutputMissingError(FunctionError):
    """The function returned, and a file of ``outputs`` is missing or older than its inputs."""


class UnpicklableError(FunctionError):
    """An argument, a result or an exception cannot be passed between processes."""


class RemoteTracebackError(Exception):
    """The traceback of an exception in the function's process: the ``__cause__`` of what a call raises."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'
