"""Real logs and their templates, where they lie beside the project."""

from __future__ import annotations

import csv
import io
import lzma
from pathlib import Path

import pytest

LOGS = Path(__file__).resolve().parents[4] / "shared" / "data" / "syslog"


def path(name: str) -> Path:
    """Return a file of the collection; the test is skipped where it is not there."""
    if not (LOGS / name).exists():
        pytest.skip(f"no {name}: the logs of loghub are not here")
    return LOGS / name


def structured(log: str) -> tuple[list[bytes], list[str]]:
    """Return a log's lines, and their messages as loghub took them apart."""
    lines = lzma.decompress(path(f"{log}_2k.log.xz").read_bytes()).splitlines()
    return lines, [row["Content"] for row in _rows(f"{log}_2k.log_structured.csv.xz")]


def templates(*logs: str) -> list[str]:
    """Return the templates of logs."""
    return [row["EventTemplate"] for log in logs for row in _rows(f"{log}_2k.log_templates.csv.xz")]


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(lzma.decompress(path(name).read_bytes()).decode(), newline="")))
