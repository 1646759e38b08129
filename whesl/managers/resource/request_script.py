"""The text of a request's batch script, for schedulers that take the text and not a path."""

from __future__ import annotations

from pathlib import Path

from whesl.managers.resource.port import JobRequest
from whesl.model.errors import UsageError


def script_text(request: JobRequest, errors: str = "strict") -> str:
    """Return the script's text. Raises UsageError for a script that is unreadable or names no program.

    Args:
        request: the request.
        errors: how to read bytes that are not UTF-8, as ``bytes.decode`` takes it.
    """
    try:
        text = request.text or Path(request.script).read_text(errors=errors)
    except (OSError, ValueError) as error:
        raise UsageError(f"the script cannot be read: {request.script}: {error}") from None
    if not text.startswith("#!"):
        raise UsageError(f"the script does not begin with #!: {request.script}")
    return text
