"""The outcome of a Flux job, from ``flux jobs --json`` and the job's jobspec."""

from __future__ import annotations

import base64
import json
import math
import os
import re
from typing import Any

from whesl.managers.resource.outcomes.record import JobOutcome, Run
from whesl.model.errors import WheslError

# A job's id (RFC 19 of flux-framework): ƒ or f, then F58; decimal; hexadecimal, also with dots.
JOB = re.compile(r"[ƒf][1-9A-HJ-NP-Za-km-z]{2,12}|\d{7,20}|0x[0-9a-f]{1,16}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){3}")
_STATES = {
    "CANCELED": "CANCELLED",
    "RUN": "RUNNING",
    "CLEANUP": "RUNNING",
    "DEPEND": "PENDING",
    "PRIORITY": "PENDING",
    "SCHED": "PENDING",
}
_LOST = re.compile(r"(?:node failure|lost contact) on (\S+)|\b(\S+) \(rank \d+\) (?:failed|lost)")


def outcome(job: str, run: Run) -> JobOutcome | None:
    """Return Flux's report on a job, None when Flux does not know the job.

    Args:
        job: the job's id in any of its forms.
        run: runs Flux's commands.

    Raises:
        WheslError: Flux does not answer, or refuses.
    """
    try:
        told: dict[str, Any] = json.loads(run("flux", "jobs", "--json", job))
        spec: dict[str, Any] = json.loads(run("flux", "job", "info", job, "jobspec"))
    except json.JSONDecodeError:
        return None
    raised = told.get("exception") or {}
    note = str(raised.get("note") or "")
    lost = _LOST.search(note)
    status = told.get("status", "")
    state = "NODE_FAIL" if lost is not None else _STATES.get(status, status)
    files = _files(spec, job, str(told.get("id", "")), str(told.get("cwd", "")))
    words = {
        "status": status,
        "exit status": told.get("returncode"),
        "exception": f"{raised.get('type')}: {note}".rstrip(": ") if raised.get("occurred") else None,
        "nodes": told.get("nodelist"),
    }
    return JobOutcome(
        state=state,
        status=told.get("returncode"),
        node=(lost[1] or lost[2]) if lost is not None else None,
        told=", ".join(f"{name} {value}" for name, value in words.items() if value not in (None, "")),
        files=files,
        since=float(told.get("t_run") or math.inf),
        text=None if files else _kept(job, run),
    )


def _files(spec: dict[str, Any], job: str, number: str, folder: str) -> tuple[str, ...]:
    output = spec["attributes"]["system"].get("shell", {}).get("options", {}).get("output", {})
    named = [output[stream]["path"] for stream in ("stdout", "stderr") if output.get(stream, {}).get("path")]
    values = {"{{id}}": job, "{{jobid}}": job, "{{id.f58}}": job, "{{id.dec}}": number}
    meant = [re.sub(r"\{\{[\w.]+\}\}", lambda m: values.get(m[0], m[0]), name) for name in named]
    return tuple(dict.fromkeys(os.path.join(folder, name) for name in meant))  # noqa: PTH118  # an absolute name stays as it is


def _kept(job: str, run: Run) -> str | None:
    """Return a job's output that Flux keeps itself, in order of arrival (RFC 24 of flux-framework)."""
    try:
        text = run("flux", "job", "eventlog", "--path=guest.output", "--format=json", job)
        events = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (WheslError, json.JSONDecodeError):
        return None
    parts = [event["context"] for event in events if event.get("name") == "data"]
    several = len({part.get("rank") for part in parts}) > 1
    return "".join(_labelled(_data(part), f"{part.get('rank')}: " if several else "") for part in parts)


def _data(part: dict[str, Any]) -> str:
    data = str(part.get("data", ""))
    return base64.b64decode(data).decode("utf-8", "replace") if part.get("encoding") == "base64" else data


def _labelled(text: str, label: str) -> str:
    return "".join(label + line for line in text.splitlines(keepends=True)) if label else text
