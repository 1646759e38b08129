"""What Flux's commands print, read. Pure; standard library only.

Sources: flux-lsattr(1), flux-overlay(1), flux-kvs(1), flux-job(1), flux-event(1), flux-exec(1) of flux-core
0.88.0; RFC 18 (eventlogs), 19 (ids of jobs), 20 (R), 21 (states of jobs), 22 (idsets).
"""

from __future__ import annotations

import errno
import json
import os
import re

from whesl.rjms.hostlist import MAX_HOSTS, expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

STATES = {1: "NEW", 2: "DEPEND", 4: "PRIORITY", 8: "SCHED", 16: "RUN", 32: "CLEANUP", 64: "INACTIVE"}
RESULTS = {1: "COMPLETED", 2: "FAILED", 4: "CANCELED", 8: "TIMEOUT"}
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_LARGEST = 1 << 64
# What the kernel and Flux's services say by number; commands print the number's text.
_CODES = (
    errno.EPERM,
    errno.EACCES,
    errno.ENOENT,
    errno.EAGAIN,
    errno.EBUSY,
    errno.EHOSTUNREACH,
    errno.ETIMEDOUT,
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EPIPE,
    errno.ENOSYS,
    errno.EINVAL,
)
_PREFIX = re.compile(r"^flux(-[\w-]+)?: ")
# The job-manager's words for what is somebody else's.
_GUEST = re.compile(r"guests? (can|may) only|own jobs|instance owner")
_UNREACHED = re.compile(r"\bflux_open\b|broker socket")
_RANK = re.compile(r"^(\d{1,9}) (.*): (full|partial|degraded|lost|offline)\b")
_LOST = re.compile(r"\brank (\d{1,9}): .*" + re.escape(os.strerror(errno.EHOSTUNREACH)))
_EVENTLOG = re.compile(r"job((?:\.[0-9a-f]{4}){4})\.eventlog")


def failure(text: str) -> tuple[int, str]:
    """Return the errno and the message in what a command wrote before it failed; 0: neither's word."""
    lines = text.strip().splitlines()
    last = _PREFIX.sub("", lines[-1].strip()) if lines else ""
    if not last:
        return 0, ""
    if _UNREACHED.search(last):
        return errno.ECONNREFUSED, last
    if _GUEST.search(last):
        return errno.EPERM, last
    for code in _CODES:
        if last.endswith(os.strerror(code)):
            return code, last
    return errno.EINVAL, last


def attributes(text: str) -> dict[str, str]:
    """Return the broker attributes that ``flux lsattr -v`` prints; those without a value are left out."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.strip() not in ("", "-"):
            found[name] = value.strip()
    return found


def hosts(resources: str) -> dict[str, str]:
    """Return host names by rank of an R as ``flux kvs get resource.R`` prints it. Raises ValueError."""
    execution = json.loads(resources)["execution"]
    names = [name for part in execution["nodelist"] for name in expand(part)]
    ranks = sorted(rank for entry in execution["R_lite"] for rank in idset(entry["rank"]))
    return {str(rank): name for rank, name in zip(ranks, names)}  # noqa: B905 - excluded ranks have no name


def idset(text: object) -> list[int]:
    """Return the members of an idset (RFC 22, with or without brackets). Raises ValueError."""
    found: list[int] = []
    for part in str(text if text is not None else "").strip("[]").split(","):
        if not part:
            continue
        low, dash, high = part.partition("-")
        first, last = int(low), int(high if dash else low)
        if not 0 <= last - first <= MAX_HOSTS:
            raise ValueError(f"not an idset: {str(text)[:80]!r}")
        found += range(first, last + 1)
    return found


def overlay(text: str) -> dict[int, bool]:
    """Return whether each broker is connected, of ``flux overlay status --no-pretty``."""
    found = {}
    for line in text.splitlines():
        if match := _RANK.match(line.strip()):
            found[int(match[1])] = match[3] not in ("lost", "offline")
    return found


def lost_rank(line: str) -> int | None:
    """Return the rank that a line of ``flux exec`` says it cannot reach any more."""
    match = _LOST.search(line)
    return int(match[1]) if match else None


def events(text: str) -> Iterator[dict[str, Any]]:
    """Return the entries of an eventlog (RFC 18), without damaged ones."""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            entry["timestamp"] = float(entry["timestamp"])
            entry["name"] = str(entry["name"])
            entry["context"] = dict(entry.get("context") or {})
        except (ValueError, TypeError, LookupError, AttributeError):
            continue
        yield entry


def eventlogs(text: str) -> dict[int, list[dict[str, Any]]]:
    """Return the eventlogs that ``flux kvs get --label KEY...`` prints, by the numbers of their jobs."""
    found: dict[int, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        key, equals, rest = line.partition("=")
        match = _EVENTLOG.fullmatch(key) if equals else None
        if match:
            lines = found.setdefault(int(match[1].replace(".", ""), 16), [])
            line = rest
        lines.append(line)
    return {job: list(events("\n".join(lines))) for job, lines in found.items()}


def drained(text: str) -> dict[str, str]:
    """Return the reasons of drained ranks, of the resource service's eventlog."""
    found: dict[str, str] = {}
    for entry in events(text):
        if entry["name"] not in ("drain", "undrain"):
            continue
        for rank in idset(entry["context"].get("idset")):
            if entry["name"] == "undrain":
                found.pop(str(rank), None)
            else:
                found[str(rank)] = str(entry["context"].get("reason") or found.get(str(rank), ""))
    return found


def changed_jobs(line: str) -> set[int]:
    """Return the jobs that a line of ``flux event sub`` says something of.

    Exceptions that somebody raises are published; others can be known by the change of the job's eventlog.
    """
    topic, _, payload = line.partition("\t")
    try:
        if topic == "job-exception":
            return {int(json.loads(payload)["id"])}
        if topic.endswith("-setroot"):
            keys = json.loads(payload).get("keys") or ()
            matches = (_EVENTLOG.fullmatch(key) for key in keys)
            return {int(match[1].replace(".", ""), 16) for match in matches if match}
    except (ValueError, TypeError, LookupError, AttributeError):
        pass
    return set()


def jobs(text: str) -> Iterator[dict[str, Any]]:
    """Return the jobs that ``flux job list``, ``list-inactive`` and ``list-ids`` print."""
    for line in text.splitlines():
        try:
            job = json.loads(line)
            int(job["id"])
        except (ValueError, TypeError, LookupError):
            continue
        yield job


def worded(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return a job with words for its state and result, and its id in the form that fits everywhere."""
    found = {**job, "id": job_id(int(job["id"])), "state": STATES.get(job.get("state", 0), "UNKNOWN")}
    if "result" in job:
        found["result"] = RESULTS.get(job["result"], "UNKNOWN")
    return found


def job_id(number: int) -> str:
    """Return a job's id in base 58 and ASCII (RFC 19)."""
    digits = ""
    while number:
        number, digit = divmod(number, len(_BASE58))
        digits = _BASE58[digit] + digits
    return "f" + (digits or _BASE58[0])


def job_number(text: str) -> int | None:
    """Return the number of a job's id in base 58, decimal or hexadecimal; None for what is none."""
    text = text.replace("\N{LATIN SMALL LETTER F WITH HOOK}", "f")
    number = 0
    try:
        if text[:1] == "f":
            for letter in text[1:]:
                number = number * len(_BASE58) + _BASE58.index(letter)
            known = len(text) > 1
        else:
            number = int(text, 16) if text[:2] in ("0x", "0X") else int(text)
            known = text.isascii() and text.isalnum()
    except ValueError:
        return None
    return number if known and number < _LARGEST else None


def eventlog_key(job: int) -> str:
    """Return the KVS key of a job's eventlog (flux-job(1), "id --to=kvs")."""
    digits = f"{job:016x}"
    return f"job.{digits[:4]}.{digits[4:8]}.{digits[8:12]}.{digits[12:]}.eventlog"
