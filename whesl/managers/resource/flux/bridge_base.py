"""Base of the bridge's far end, which exchanges JSON lines with ``bridge_client``. Standard library only.

A request is ``{"id": N, "op": NAME, ...}``; its answer ``{"id": N, "ok": ...}`` or ``{"id": N, "errno": N,
"error": TEXT}``; an unrequested message is ``{"event": NAME, ...}``.
"""

# Flux's own Python, which may be an older version, also runs this module.
from __future__ import annotations

import json
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LATER = object()
# Name of the environment variable with an attempt's token.
ATTEMPT = "WHESL_ATTEMPT_TOKEN"


class FarEnd:
    """Answers requests; a derived class has a method ``_op_NAME`` for each operation."""

    def __init__(self) -> None:
        self._buffer = b""
        self._writing = threading.Lock()

    def say(self, **message: Any) -> None:
        """Write a message as one line. A full pipe blocks only briefly: the client reads continuously."""
        data = (json.dumps(message) + "\n").encode()
        with self._writing:
            while data:
                data = data[os.write(1, data) :]

    def requests(self) -> list[dict[str, Any]] | None:
        """Return the requests that have arrived on standard input, None at its end."""
        data = os.read(0, 1 << 20)
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def perform(self, request: dict[str, Any]) -> None:
        """Carry out a request and answer it, unless the operation answers later by itself."""
        number = request.pop("id")
        try:
            operation = getattr(self, "_op_" + request.pop("op"))
            answer = operation(number, **request)
        except Exception as error:
            self.fail(number, error)
            return
        if answer is not LATER:
            self.say(id=number, ok=answer)

    def fail(self, number: int, error: Exception) -> None:
        """Answer a request with an error: with Flux's errno, or 0 for an error that is not Flux's.

        Args:
            number: the request's id.
            error: the exception that the operation raised.
        """
        code = error.errno if isinstance(error, OSError) and error.errno else 0
        text = (code and error.strerror) or f"{type(error).__name__}: {error}"  # type: ignore[attr-defined]
        self.say(id=number, errno=code, error=text)

    def exception(self, job: str, when: float, context: Any, attempt: str | None = None) -> None:
        """Send an event for an exception on a job (RFC 21).

        Args:
            job: the job's id.
            when: seconds since the epoch.
            context: the exception's type, severity and note.
            attempt: token of the job's attempt; empty for no attempt, None when unknown.
        """
        self.say(
            event="exception",
            job=job,
            time=when,
            type=str(context.get("type", "")),
            severity=int(context.get("severity", 0)),
            note=str(context.get("note", "")),
            attempt=attempt,
        )


def raised_in(eventlog: str, kind: str, note: str) -> bool:
    """Return whether a job's eventlog (RFC 18: one object a line) has an exception of a kind and note.

    Args:
        eventlog: the eventlog's text.
        kind: the exception's type.
        note: the exception's note.
    """
    for line in eventlog.splitlines():
        try:
            entry = json.loads(line)
            shown = entry["context"] if entry["name"] == "exception" else {}
            if (shown.get("type"), shown.get("note")) == (kind, note):
                return True
        except (ValueError, TypeError, LookupError, AttributeError):
            continue
    return False


def attempt_in(jobspec: Any) -> str:
    """Return the attempt's token from the environment in a jobspec (RFC 14); empty for none."""
    environment = jobspec["attributes"]["system"].get("environment") or {}
    return str(environment.get(ATTEMPT, ""))


def token_in(jobspec: Any) -> str:
    """Return the submission token in the user's part of a jobspec (RFC 14); empty for none."""
    user = jobspec.get("attributes", {}).get("user", {})
    ours = user.get("whesl", {}) if isinstance(user, dict) else {}
    return str(ours.get("token", "")) if isinstance(ours, dict) else ""
