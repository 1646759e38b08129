"""The faults of the demo: real ones, done to real processes while the study runs."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path


def ranks(workspace: Path) -> dict[int, tuple[str, int]]:
    """Return node and pid of each rank of the solver that runs in ``workspace``."""
    found = {}
    for path in workspace.glob("rank-*.pid"):
        node, pid = path.read_text().split()
        found[int(path.stem.split("-")[1])] = (node, int(pid))
    return found


def after_checkpoint(
    study: Path, instance: str, act: Callable[[Path], None], limit: float = 80
) -> threading.Thread:
    """Call ``act`` with the workspace of a simulation once that has written a checkpoint."""

    def watch() -> None:
        workspace = study / "simulate" / instance
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if (workspace / "checkpoint.json").exists():
                act(workspace)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def kill_node(workspace: Path, whesl: str, say: Callable[[str], None]) -> None:
    """Take the power from a node of the simulation, not the one where its script runs."""
    at = ranks(workspace)
    victim = next(node for node, _ in at.values() if node != at[0][0])
    say(f"fault: node {victim} loses power under {workspace.parent.name}_{workspace.name}")
    subprocess.run([whesl, "local", "kill-node", victim], check=True, stdout=subprocess.DEVNULL)


def stop_rank(workspace: Path, say: Callable[[str], None]) -> None:
    """Stop the last rank for ever (SIGSTOP), so that all the others wait for it."""
    at = ranks(workspace)
    node, pid = at[max(at)]
    say(f"fault: rank {max(at)} on {node} of {workspace.parent.name}_{workspace.name} is stopped")
    os.kill(pid, signal.SIGSTOP)
