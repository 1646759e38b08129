"""Environments that have workflow managers and nothing of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def with_packages(place: Path, *packages: str) -> Path:
    """Make an environment with packages from PyPI, and return its ``bin``."""
    for command in (
        [sys.executable, "-m", "venv", str(place)],
        [str(place / "bin" / "python"), "-m", "pip", "install", "-q", *packages],
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=280)
    return place / "bin"
