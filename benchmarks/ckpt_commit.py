"""How long the node that is about to fail needs to commit, on a shared directory of limited bandwidth.

    python benchmarks/ckpt_commit.py [--quick] [--json FILE] [--only WORD]

That is the least lead time that it survives. With ``--json`` it is drawn as well, in an SVG file beside it.

Needs root and FUSE: all nodes write through one file system whose writes share one token bucket
(``whesl.testing.nfsbed``). A node is an agent and one rank, a process each, on this machine. The ideal is the
bytes of the node through the whole bandwidth. *Together*: all write at once when the failure is predicted, as
safeguard checkpoints do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Figure, NotHereError, arguments, median, run_parts, scratch, until

from whesl.ckpt import control, manifest
from whesl.ckpt.core.records import Predicted
from whesl.ckpt.job import page_of
from whesl.ckpt.messages import StatusAsked
from whesl.ckpt.rendezvous import find
from whesl.testing.nfsbed import NfsBed

BANDWIDTH = 4e6  # bytes a second, for all together
SIZES = {"commit": 12_000_000, "large": 40_000_000}  # bytes of a node's checkpoint: 3 and 10 s of all
RANK = """\
import os, sys, time
from whesl.ckpt import Client
client = Client(int(sys.argv[1]), int(sys.argv[2]))
content = bytes(int(sys.argv[3]))
while not os.path.exists("end"):
    time.sleep(0.02)
    if client.poll():
        client.path.write_bytes(content)
        client.commit(client.path)
client.finish()
"""


@dataclass(frozen=True)
class Times:
    """Seconds from the prediction until the node's part was begun, written, and durable; and all parts."""

    begun: float
    written: float
    vulnerable: float
    whole: float


# Nodes and seconds of each order, and the ideal: for the drawing.
_drawn: dict[str, list[tuple[int, float]]] = {"first": [], "together": [], "ideal": []}


def commit(quick: bool, size: int) -> list[Figure]:
    """Measure both orders at several sizes."""
    if os.geteuid() != 0:
        raise NotHereError("the limited file system has to be mounted by root")
    counts, repetitions = ((2,), 1) if quick else ((2, 4, 8, 16), 3)
    ideal = size / BANDWIDTH
    figures = []
    for nodes in counts:
        for together in (False, True):
            if together and size != min(SIZES.values()):
                continue  # it takes minutes, and says nothing more
            # Each in a run of its own: ranks that wait for nobody are at different steps after a checkpoint.
            told = [measured(nodes, size, together=together) for _ in range(repetitions)]
            how = "together" if together else "first"
            commit = median([each.vulnerable for each in told])
            print(f"{nodes} nodes, {how}: {[round(each.vulnerable, 2) for each in told]} s", flush=True)
            name = f"commit of the predicted node, {size // 10**6} MB, {nodes} nodes, {how}"
            stop = 1000 * median([each.begun for each in told])
            sync = 1000 * median([each.vulnerable - each.written for each in told])
            write = 1000 * (median([each.written - each.begun for each in told]) - ideal)
            note = f"{commit / ideal:.2f} of the ideal of {ideal:g} s; {stop:.0f} ms until it writes, "
            note += f"{write:+.0f} ms writing, {sync:.0f} ms durable; "
            note += f"whole after {median([each.whole for each in told]):.1f} s"
            figures.append(
                Figure(name, commit, "s", None if together else 1.15 * ideal, floor=ideal, note=note)
            )
            if size == min(SIZES.values()):
                _drawn[how].append((nodes, commit))
        if size == min(SIZES.values()):
            _drawn["ideal"].append((nodes, ideal))
    return figures


def draw(file: Path) -> None:
    """Draw the least lead time that is survived, by nodes."""
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(6, 3.5), layout="constrained")
    axes = drawing.subplots()
    meaning = {"first": "it writes first", "together": "all write at once", "ideal": "its bytes / bandwidth"}
    for name, points in _drawn.items():
        style = {"first": "o-", "together": "s-", "ideal": "k:"}[name]
        axes.plot([nodes for nodes, _ in points], [time for _, time in points], style, label=meaning[name])
    axes.set(xlabel="nodes", ylabel="least lead time survived, s", ylim=(0, None))
    axes.legend()
    drawing.savefig(file)


def measured(nodes: int, size: int, *, together: bool) -> Times:
    """Return what a prediction led to."""
    with scratch() as place, NfsBed("shared") as bed:
        bed.change("shared", bandwidth=BANDWIDTH)
        home, kept = place / "home", bed.at("shared") / "checkpoints"
        home.mkdir(mode=0o700)
        os.environ["WHESL_HOME"] = str(home)
        environment = {**os.environ, "WHESL_CKPT_HOST": "127.0.0.1"}
        environment.pop("SLURM_JOB_ID", None)
        whesl = [sys.executable, "-m", "whesl", "ckpt"]

        def begin(*words: str, **more: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                words,
                cwd=place,
                env={**environment, **more},
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

        name = f"commit-{os.getpid()}"
        order = ["--together"] if together else []
        running = [begin(*whesl, "serve", "--name", name, "--dir", str(kept), *order)]
        try:
            until(lambda: (home / "ckpt" / name / "address").exists(), "the coordinator")
            names = [f"n{index}" for index in range(nodes)]
            running += [begin(*whesl, "agent", "--name", name, "--node", node) for node in names]
            for rank, node in enumerate(names):
                page = str(page_of(name, "alone", node))
                words = [sys.executable, "-c", RANK, str(rank), str(nodes), str(size)]
                running.append(begin(*words, WHESL_CKPT_PAGE=page, SLURMD_NODENAME=node))
            return _one(home, name, nodes, bed.backing / kept.name, size)
        finally:
            (place / "end").touch()
            for process in reversed(running):
                process.terminate()
            for process in running:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _one(home: Path, name: str, nodes: int, kept: Path, size: int) -> Times:
    address = find(home / "ckpt" / name)
    assert address is not None

    def ready() -> bool:
        status: dict[str, Any] = control.ask(address, StatusAsked()).status
        return sum(node["ranks"] for node in status["nodes"].values()) == nodes and not status["checkpoint"]

    until(ready, "all ranks", 120)
    began = time.time()
    victim = nodes - 1
    control.ask(address, Predicted(node=f"n{victim}", lead=600.0))
    folder = kept / "1"
    writing, part = folder / f"rank-{victim}.writing", folder / f"rank-{victim}.part"
    until(lambda: writing.exists() or part.exists(), "the beginning of the part", 300)
    begun = time.time()
    until(lambda: part.exists() or _size(writing) >= size, "the end of the part", 300)
    written = time.time()

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] | None
        found = control.ask(address, StatusAsked()).status["ended"]  # type: ignore[assignment]  # JSON
        return found

    found = until(ended, "the end of the checkpoint", 300)
    if not found["whole"]:
        raise RuntimeError(f"the checkpoint of {nodes} nodes was given up: {found['why']}")
    # A file's ctime is when it got its last name, which a part gets when it is durable.
    durable, whole = ((folder / each).stat().st_ctime for each in (part.name, manifest.NAME))
    return Times(begun - began, min(written, durable) - began, durable - began, whole - began)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _part(size: int) -> Callable[[bool], list[Figure]]:
    return lambda quick: commit(quick, size)


if __name__ == "__main__":
    options = arguments(__doc__ or "")
    run_parts(options, [(name, _part(size)) for name, size in SIZES.items()])
    if options.json and _drawn["first"]:
        draw(options.json.with_suffix(".svg"))
