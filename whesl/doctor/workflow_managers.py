"""Probes of workflow managers: the installed ones, and those that ``whesl run`` supports."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from whesl.doctor.probe_runner import Finding, State, ask, last_word, one
from whesl.doctor.software import installed

GROUP = "workflow managers"
_NXF = re.compile(rb"NXF_VER=\$\{NXF_VER:-'?([0-9][0-9A-Za-z.-]*)'?\}")
_NO_ADAPTER = "has no adapter in this version: wrap its commands with whesl exec"


def maestro() -> list[Finding]:
    """Look for Maestro, which ``whesl run`` runs studies with."""
    version = installed("maestrowf")
    # The program beside this interpreter comes first, whether or not its environment is activated.
    program = shutil.which("maestro", path=str(Path(sys.executable).parent))
    program = program or shutil.which("maestro")
    if program is None:
        detail = f"maestrowf {version} is installed, but no maestro command is on PATH" if version else ""
        return one(State.MISSING, detail, "pip install 'whesl[maestro]'")
    return one(State.OK, program, version=version or last_word(ask(program, "--version")))


def batch() -> list[Finding]:
    """Batch scripts need nothing but a resource manager."""
    return one(State.OK, "sbatch scripts as they are")


def cylc() -> list[Finding]:
    """Look for Cylc, which ``whesl run`` plays flows with."""
    return _other("Cylc", "cylc-flow", "cylc", "whesl run reads its flows")


def makeflow() -> list[Finding]:
    """Look for Makeflow, which ``whesl run`` runs workflows in JSON with."""
    program = shutil.which("makeflow")
    return one(State.OK, f"{program}: whesl run reads its workflows in JSON") if program else []


def snakemake() -> list[Finding]:
    """Look for Snakemake."""
    return _other("Snakemake", "snakemake", "snakemake", "whesl run reads its Snakefiles")


def parsl() -> list[Finding]:
    """Look for Parsl, which is a library."""
    version = installed("parsl")
    return [Finding(state=State.OK, version=version, detail=_NO_ADAPTER)] if version else []


def nextflow() -> list[Finding]:
    """Look for Nextflow; its launcher is read and not run, since it would download missing parts."""
    place = shutil.which("nextflow")
    if place is None:
        return []
    try:
        with Path(place).open("rb") as script:
            match = _NXF.search(script.read(64 * 1024))
    except OSError:
        match = None
    version = match.group(1).decode() if match else ""
    return one(State.OK, _NO_ADAPTER, version=version)


def _other(name: str, package: str, command: str, detail: str = _NO_ADAPTER) -> list[Finding]:
    version = installed(package)
    if not version:
        answer = ask(command, "--version")
        if answer is None:
            return []
        # Its imports may take longer than the probe waits; the program exists in any case.
        version = last_word(answer)
    return one(State.OK, detail, name=name, version=version)
