"""Placement in Slurm and in PBS, where it is installed: whole, loaded, and with predictions that hold."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import time
from pathlib import Path
from typing import Any

import msgspec

from whesl.doctor.probe_runner import Finding, State, ask, one
from whesl.managers.resource.pbs import records
from whesl.managers.resource.pbs.command import server_home
from whesl.managers.resource.slurm import slurm_command_output
from whesl.model.errors import WheslError

GROUP = "resource managers"
NAME, PBS = "Slurm placement", "PBS placement"
_MANIFEST, _SHARED = "whesl_placement.json", "whesl_placement.lua"
_PATH = re.compile(r'^   path = "([^"\n]+)",$', re.MULTILINE)
_SETTINGS = {"job_submit.lua": "JobSubmitPlugins", "cli_filter.lua": "CliFilterPlugins"}
_HEADER = re.compile(rb"whesl-placement 1 \d+ \d+ (\d{1,15}) (active|observe)\n")


def slurm() -> list[Finding]:
    """Check the files of `whesl placement install` beside slurm.conf; no findings without them."""
    here = Path(os.environ.get("SLURM_CONF") or "/etc/slurm/slurm.conf").parent
    try:
        scripts = msgspec.json.decode((here / _MANIFEST).read_bytes(), type=dict[str, dict[str, str]])[
            "scripts"
        ]
        shared = (here / _SHARED).read_text()
    except FileNotFoundError:
        return []
    except (OSError, ValueError, LookupError) as error:
        return [
            _found(State.FAILED, f"{here / _MANIFEST} or what it names cannot be read: {error}", "install")
        ]
    for name, digest in scripts.items():
        path = here / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            return [_found(State.FAILED, f"{path} is not the one that was installed", "install")]
    answer = ask("scontrol", "show", "config")
    if answer is not None and answer.status == 0:
        known = slurm_command_output.settings(answer.output)
        for name in scripts:
            setting = _SETTINGS.get(name)
            if setting and "lua" not in known.get(setting, "").split(","):
                return [_found(State.FAILED, f"{setting} of the running slurmctld has no lua", "reconfigure")]
    return [
        _table(Path(found[1]))
        if (found := _PATH.search(shared))
        else _found(State.FAILED, "no table is named", "install")
    ]


def pbs() -> list[Finding]:
    """Look at the nodes' resources of `whesl placement install --pbs`, and at its hook where it is shown."""
    told = ask("pbsnodes", "-a", "-v", "-F", "json")
    try:
        nodes = records.parsed(told.output, "nodes") if told is not None and told.status == 0 else {}
    except WheslError:
        return []
    fit = [
        str(value)
        for node in nodes.values()
        for name, value in node.get("resources_available", {}).items()
        if name.startswith("whesl_fit_")
    ]
    if not fit:
        return []
    hook = ask("qmgr", "-c", "list hook whesl_placement")
    if hook is not None and "does not exist" in hook.error:
        return [_found(State.FAILED, "nodes have its resources, and the server has no hook", "remove")]
    if hook is not None and "enabled = false" in hook.output.lower():
        return [_found(State.WARN, "its hook is not enabled", "enable")]
    home, state = server_home(os.environ), dict[str, Any]()
    with contextlib.suppress(OSError, ValueError):  # users do not read the server's files
        state = json.loads((home / "server_priv" / "whesl_placement.json").read_bytes()) if home else state
    if problem := state.get("problem"):
        return [_found(State.WARN, f"no node is left out: {problem}", "predictions")]
    if state.get("valid_until", math.inf) < time.time():
        return [_found(State.WARN, "no node is left out: its hook does not run", "enable")]
    if not state.get("acts", True):
        return one(State.OK, "installed; it observes only")
    out = sum(value.lower() in ("false", "0") for value in fit)
    return one(State.OK, f"installed; {out} of {len(fit)} pairs of a node and a length of jobs are left out")


_ADVICE = {
    "remove": "whesl placement remove --pbs, as root on the server's host",
    "enable": "qmgr -c 'set hook whesl_placement enabled = True'",
    "predictions": "see docs/placement/pbs.md",
    "install": "whesl placement install --dry-run shows what is different",
    "reconfigure": "scontrol reconfigure, or start slurmctld again",
    "serve": "whesl placement serve publishes it: see docs/placement/slurm.md",
}


def _table(path: Path) -> Finding:
    try:
        with path.open("rb") as file:
            header = _HEADER.match(file.read(256))
    except PermissionError:
        return Finding(state=State.OK, detail="installed; users do not read its table")
    except OSError as error:
        return _found(State.WARN, f"no table at {path}: {error.strerror or error}", "serve")
    if header is None:
        return _found(State.WARN, f"{path} is no table: nothing is excluded", "serve")
    if int(header[1]) <= time.time():
        return _found(State.WARN, f"the table {path} has expired: nothing is excluded", "serve")
    mode = "jobs are kept off nodes at risk" if header[2] == b"active" else "it observes only"
    return Finding(state=State.OK, detail=f"installed; {mode}")


def _found(state: State, detail: str, advice: str) -> Finding:
    return Finding(state=state, detail=detail, advice=_ADVICE[advice])
