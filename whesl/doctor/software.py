"""Probes of Python, of needed libraries, of the pattern engine, and of the programs that read stacks."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

from whesl.doctor.probe_runner import Finding, State, ask, one

GROUP = "software"
_NAME = re.compile(r"[A-Za-z0-9._-]+")
# One pattern engine is enough, so packages of others may be missing; ``engine`` finds one that loads.
_ENGINES = {
    "hyperscan": "import hyperscan; from whesl.runtime.detect.engines import sound; "
    "assert sound(), 'it misses matches at the end of a line'",
    "google-re2": "import re2",
}
_PTRACE = Path("/proc/sys/kernel/yama/ptrace_scope")


def python() -> list[Finding]:
    """Look at the interpreter."""
    return one(State.OK, sys.executable, version=platform.python_version())


def libraries() -> list[Finding]:
    """Check the libraries that the installed package names; all good ones share one finding."""
    try:
        required = metadata.requires("whesl") or []
    except metadata.PackageNotFoundError:
        return one(
            State.WARN,
            "WHESL is not installed as a package, so what it needs is not known",
            "pip install whesl",
        )
    found: list[str] = []
    missing: list[Finding] = []
    for requirement in required:
        match = _NAME.match(requirement)
        if match is None or "extra ==" in requirement or match.group() in _ENGINES:
            continue
        try:
            found.append(f"{match.group()} {metadata.version(match.group())}")
        except metadata.PackageNotFoundError:
            advice = f"pip install '{requirement.partition(';')[0].strip()}'"
            missing += one(State.FAILED, "not installed", advice, name=match.group())
    if missing:
        return missing
    return one(State.OK, ", ".join(found))


def engine() -> list[Finding]:
    """Find a loadable pattern engine, in a separate process, since compiled code may crash."""
    why: list[str] = []
    late = False
    for package, program in _ENGINES.items():
        answer = ask(sys.executable, "-c", program)
        if answer is not None and answer.status == 0:
            return one(State.OK, "; not the faster ".join([package, *why]), version=installed(package))
        late = late or (answer is not None and answer.late)
        why.append(f"{package}: {answer.why.rpartition('Error: ')[2] if answer is not None else 'no Python'}")
    return one(State.WARN if late else State.FAILED, "; ".join(why), "pip install google-re2")


def installed(package: str) -> str:
    """Return the version of an installed package, an empty string for none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def stacks() -> list[Finding]:
    """Look for the programs that read the stacks of hung processes (py-spy, gdb)."""
    places = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    tools = [name for name in ("py-spy", "gdb") if shutil.which(name, path=places)]
    try:
        scope = int(_PTRACE.read_text())
    except (OSError, ValueError):
        scope = 0
    if not tools:
        return one(
            State.MISSING,
            "neither py-spy nor gdb is on PATH: of a hung program only the kernel's view is kept",
            "pip install 'whesl[stacks]'",
        )
    if scope > 0:
        return one(
            State.WARN,
            f"{', '.join(tools)}, but the kernel lets only root look into other processes"
            f" (ptrace_scope {scope})",
            "have kernel.yama.ptrace_scope set to 0 on compute nodes, or do without these stacks",
        )
    return one(State.OK, ", ".join(tools))
