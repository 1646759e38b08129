"""Probes of Flux: its commands, an instance around this process, and its Python bindings."""

from __future__ import annotations

import json
import os
from pathlib import Path

from whesl.doctor.probe_runner import Finding, State, ask, one, version_tuple

GROUP = "resource managers"
# The version of Flux that the tests run with (docs/flux.md).
TESTED = (0, 88)
# Prints Python's version and the missing modules among those that report events.
_IMPORTS = """\
import importlib, sys
import flux, flux.job, flux.kvs
print(sys.version.split()[0])
for name in ("flux.job.journal", "flux.resource.journal"):
    try:
        importlib.import_module(name)
    except ImportError:
        print(name)
"""


def commands() -> list[Finding]:
    """Look for the flux command and its version."""
    answer = ask("flux", "--version")
    if answer is None:
        return one(State.MISSING, "no flux command is on PATH")
    version = version_of(answer.output)
    if answer.status != 0 or not version:
        return one(
            answer.bad,
            f"flux --version: {answer.why or 'tells no version'}",
            "load the Flux module again, or ask the site",
        )
    tested = ".".join(map(str, TESTED))
    if version_tuple(version)[:2] < TESTED:
        return one(
            State.WARN,
            f"older than {tested}, which WHESL is tested with",
            "see docs/flux.md; use a newer flux-core if anything about nodes or exceptions fails",
            version=version,
        )
    return one(State.OK, version=version)


def version_of(text: str) -> str:
    """Return the version in the output of ``flux --version``, "" when the output has none."""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "commands" and value.strip():
            return value.split()[0]
    return ""


def instance() -> list[Finding]:
    """Check whether this process is in a Flux instance, and whether the instance answers."""
    answer = ask("flux", "getattr", "size")
    if answer is None:
        return []
    if answer.status == 0:
        parent = ask("flux", "getattr", "instance-level")
        level = parent.output.strip() if parent is not None and parent.status == 0 else "?"
        return one(State.OK, f"{answer.output.strip()} nodes, level {level} (the first is 0)")
    if os.environ.get("FLUX_URI"):
        return one(
            State.FAILED,
            f"FLUX_URI is set, but its broker does not answer: {answer.why}",
            "unset FLUX_URI, or start a new shell: that instance has ended",
        )
    return one(
        State.MISSING,
        "this shell is in none, and there is no instance of the system",
        "flux start, or flux alloc inside another instance",
    )


def bindings() -> list[Finding]:
    """Check whether the Python of Flux can connect to Flux."""
    answer = ask("flux", "python", "-c", _IMPORTS)
    if answer is None:
        return []
    if answer.status != 0:
        # The last line of a traceback names the error.
        last = (answer.error.strip().splitlines() or [answer.why])[-1].rpartition("Error: ")[2]
        why = f"flux python cannot import flux: {last[:200] or answer.why}"
        advice = "install the Python bindings of this very flux-core, with cffi and pyyaml"
        return one(answer.bad, why, advice)
    version, *lacking = answer.output.split() or ["?"]
    detail = f"flux python runs Python {version}"
    if lacking:
        return one(
            State.WARN,
            f"{detail}; without {', '.join(lacking)}: Flux is asked every few seconds",
            "a newer flux-core tells of lost nodes and exceptions as they happen",
        )
    return one(State.OK, detail)


def placement() -> list[Finding]:
    """Look at the scheduler module of placement, in Flux's configuration and in the instance here."""
    return [*_installed(), *_loaded()]


def _installed() -> list[Finding]:
    answer = ask("flux", "config", "builtin", "confdir")
    if answer is None or answer.status != 0:
        return []
    file = Path(answer.output.strip()) / "modprobe" / "modprobe.d" / "whesl-placement.toml"
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return []
    named = next((line.partition("=")[2].strip() for line in lines if line.startswith("module =")), "")
    name = "Flux placement, installed"
    if Path(named.strip('"')).is_file():
        return one(State.OK, str(file), name=name)
    return one(
        State.FAILED,
        f"{file} names {named or 'no module'}, which is not there: no instance starts with it",
        "whesl placement remove --flux, or install it again",
        name=name,
    )


def _loaded() -> list[Finding]:
    modules = ask("flux", "module", "list")
    if modules is None or modules.status != 0 or "sched-whesl" not in modules.output:
        return []
    name = "Flux placement, loaded"
    answer = ask("flux", "module", "stats", "sched-whesl")
    try:
        said = json.loads(answer.output if answer is not None else "")["placement"]
        mode, predictor, problem = said["mode"], said["predictor"], said["problem"]
        placed, differently, failed = said["placed"], said["differently"], said["failed"]
    except (ValueError, KeyError, TypeError):
        return one(
            State.WARN,
            "the module is there without predictions: Flux's own order",
            "`flux dmesg` says what is missing; whesl placement load --flux FILE",
            name=name,
        )
    detail = f"mode {mode}, {placed} jobs placed, {differently} of them differently"
    if problem or failed:
        why = problem or f"{failed} choices failed, see `flux dmesg`"
        return one(State.WARN, f"{detail}; {why}", "see the predictions' file", name=name)
    return one(State.OK, f"{detail}, by {predictor}", name=name)
