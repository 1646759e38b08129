"""Packages from PyPI that only some tests need, apart from the environment of the tests.

Each set is installed once on a machine, whichever process needs it first, and kept below ``build/``.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).resolve().parents[1] / "build" / "environments"
# Workflow managers, and what Flux's own bindings import.
MANAGERS: tuple[str, ...] = (
    "snakemake==9.27.1",
    "snakemake-executor-plugin-slurm==2.8.0",
    "snakemake-executor-plugin-flux",
    "parsl==2026.10.26",
    "cffi",
    "ply",
)
if sys.version_info < (3, 11):  # Snakemake 9 needs Python 3.11
    MANAGERS = ("snakemake", "snakemake-executor-plugin-flux", "cffi", "ply")


def environment(*packages: str) -> Path:
    """Return the ``bin`` of an environment that has these packages and nothing of ours."""
    return _made("environment", packages) / "bin"


def directory(*packages: str) -> Path:
    """Return a directory for PYTHONPATH that has these packages."""
    return _made("directory", packages)


def _made(kind: str, packages: tuple[str, ...]) -> Path:
    key = repr((sys.version, sys.executable, kind, packages)).encode()
    place = PLACE / hashlib.sha256(key).hexdigest()[:16]
    whole = place / "whole"
    PLACE.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        if whole.exists():
            return place
        shutil.rmtree(place, ignore_errors=True)
        if kind == "environment":
            _run("-m", "venv", "--without-pip", str(place))
        _install(kind, place, packages)
        whole.touch()
    return place


def _install(kind: str, place: Path, packages: tuple[str, ...]) -> None:
    """Install by uv in a fifth of pip's time; by pip where uv cannot be had, or reaches no index.

    uv reads no pip.conf. Bytecode is made of what is imported, and kept.
    """
    interpreter = ("--python", str(place / "bin" / "python"))
    where = ("--target", str(place)) if kind == "directory" else interpreter
    try:
        _run("-m", "uv", "pip", "install", "--no-cache", *where, *packages)
    except subprocess.CalledProcessError:
        install = ("install", "-q", "--disable-pip-version-check", "--no-compile")
        # pip takes the interpreter before its command, and the directory after it.
        words = (*install, *where) if kind == "directory" else (*where, *install)
        _run("-m", "pip", *words, *packages)


def _run(*words: str) -> None:
    subprocess.run([sys.executable, *words], check=True, capture_output=True, timeout=280)
