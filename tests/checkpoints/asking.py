"""What a job's coordinator says, asked without a process of the command line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from whesl.checkpoints import control
from whesl.checkpoints.messages import StatusAsked
from whesl.checkpoints.rendezvous import find
from whesl.model.errors import TransientError
from whesl.testing.processes import running


def status(home: Path, name: str) -> dict[str, Any]:
    """Return what it knows; nothing while it does not answer."""
    address = find(home / "ckpt" / name)
    if address is None:
        return {}
    try:
        return control.ask(address, StatusAsked(), 5.0, home=home).status
    except TransientError:
        return {}


def processes(home: Path, what: str) -> list[psutil.Process]:
    """Return a home's coordinators of checkpoints (``serve``), or agents, also in other namespaces."""
    found = []
    for process in running():
        with suppress(psutil.Error):
            if process.cmdline()[3:5] == ["ckpt", what] and process.environ().get("WHESL_HOME") == str(home):
                found.append(process)
    return found
