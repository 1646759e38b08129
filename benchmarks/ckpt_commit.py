"""How long the node that is about to fail needs to commit, on a shared directory of limited bandwidth.

    python benchmarks/ckpt_commit.py [--quick] [--json FILE] [--only WORD]

That is the least lead time that it survives. With ``--json`` it is drawn as well, in an SVG file beside it.
Takes three to four minutes on two idle processors, with a line before each run.

Needs root and FUSE: all nodes write through one file system whose writes share one token bucket
(``tests.equipment.nfsbed``). A node is an agent and one rank, a process each, on this machine. The ideal is
the bytes of the node through the whole bandwidth. *Together*: all write at once when the failure is
predicted, as safeguard checkpoints do.
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

from tests.equipment.nfsbed import NfsBed
from whesl.checkpoints import control
from whesl.checkpoints.core.states_and_events import Predicted
from whesl.checkpoints.job_launch import page_of
from whesl.checkpoints.messages import StatusAsked
from whesl.checkpoints.rendezvous import find

BANDWIDTH = 4e6  # bytes a second, for all together
SIZES = {"commit": 12_000_000, "large": 40_000_000}  # bytes of a node's checkpoint: 3 and 10 s of all
RANK = """\
import os, sys, time
from whesl.api.checkpoints import Client
client = Client(int(sys.argv[1]), int(sys.argv[2]))
content = bytes(int(sys.argv[3]))
while not os.path.exists("begin"):
    time.sleep(0.005)
while not os.path.exists("end"):
    time.sleep(0.02)
    if client.poll():
        client.path.write_bytes(content)
        client.commit(client.path)
client.finish()
"""


@dataclass(frozen=True)
class Times:
    """Seconds from the prediction until the node's part was begun, written, and durable."""

    begun: float
    written: float
    durable: float


@dataclass(frozen=True)
class Case:
    """So many nodes in one order, and how often."""

    nodes: int
    size: int
    together: bool
    runs: int

    @property
    def name(self) -> str:
        """For people."""
        order = "together" if self.together else "first"
        return f"{self.nodes} nodes, {self.size // 10**6} MB, {order}"

    @property
    def seconds(self) -> float:
        """What one run takes on an idle machine of two processors, roughly."""
        writing = self.size / BANDWIDTH * (self.nodes if self.together else 1)
        return 2.0 + 0.25 * self.nodes + writing


# Nodes and seconds of each order, and the ideal: for the drawing.
_drawn: dict[str, list[tuple[int, float]]] = {"first": [], "together": [], "ideal": []}


def cases(what: str, quick: bool) -> list[Case]:
    """Return what is measured: all at once takes so long that it is measured once."""
    size = SIZES[what]
    if quick:
        return [Case(2, size, together, 1) for together in (False, True) if what == "commit" or not together]
    if what == "large":
        return [Case(nodes, size, together=False, runs=1) for nodes in (2, 16)]
    return [
        Case(nodes, size, together, 1 if together else 3)
        for nodes in (2, 8, 16)
        for together in (False, True)
    ]


def commit(what: str, quick: bool) -> list[Figure]:
    """Measure both orders at several sizes."""
    if os.geteuid() != 0:
        raise NotHereError("the limited file system has to be mounted by root")
    figures = []
    planned = cases(what, quick)
    expected, begin = sum(case.runs * case.seconds for case in planned), time.monotonic()
    for case in planned:
        ideal = case.size / BANDWIDTH
        told: list[Times] = []
        for number in range(case.runs):
            passed = time.monotonic() - begin
            print(
                f"[{passed:3.0f} of about {expected:.0f} s] {case.name}, {number + 1} of {case.runs}",
                flush=True,
            )
            # Each in a run of its own: ranks that wait for nobody are at different steps after a checkpoint.
            told.append(measured(case))
        seconds = median([each.durable for each in told])
        stop = 1000 * median([each.begun for each in told])
        write = 1000 * (median([each.written - each.begun for each in told]) - ideal)
        sync = 1000 * median([each.durable - each.written for each in told])
        note = f"{seconds / ideal:.2f} of the ideal of {ideal:g} s; {stop:.0f} ms until it writes, "
        note += f"{write:+.0f} ms writing, {sync:.0f} ms durable"
        name = f"commit of the predicted node, {case.name}"
        target = None if case.together else 1.15 * ideal
        figures.append(Figure(name, seconds, "s", target, floor=ideal, note=note))
        if what == "commit":
            _drawn["together" if case.together else "first"].append((case.nodes, seconds))
            if case.together:
                _drawn["ideal"].append((case.nodes, ideal))
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


def measured(case: Case) -> Times:
    """Return what a prediction led to."""
    nodes = case.nodes
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
        order = ["--together"] if case.together else []
        running = [begin(*whesl, "serve", "--name", name, "--dir", str(kept), *order)]
        try:
            until(lambda: (home / "ckpt" / name / "address").exists(), "the coordinator")
            names = [f"n{index}" for index in range(nodes)]
            running += [begin(*whesl, "agent", "--name", name, "--node", node) for node in names]
            for rank, node in enumerate(names):
                page = str(page_of(name, "alone", node))
                words = [sys.executable, "-c", RANK, str(rank), str(nodes), str(case.size)]
                running.append(begin(*words, WHESL_CKPT_PAGE=page, SLURMD_NODENAME=node))
            return _one(case, home, name, place / "begin", bed.backing / kept.name)
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


def _one(case: Case, home: Path, name: str, begin: Path, kept: Path) -> Times:
    address = find(home / "ckpt" / name)
    assert address is not None

    def status() -> dict[str, Any]:
        return control.ask(address, StatusAsked()).status

    until(lambda: sum(node["ranks"] for node in status()["nodes"].values()) == case.nodes, "all ranks", 120)
    begin.touch()  # as ranks of an MPI program, which are at one step, or nearly
    time.sleep(0.5)
    began = time.time()
    victim = case.nodes - 1
    control.ask(address, Predicted(node=f"n{victim}", lead=600.0))
    writing, part = (kept / "1" / f"rank-{victim}.{end}" for end in ("writing", "part"))
    limit = 30 + 5 * case.seconds
    try:
        until(lambda: writing.exists() or part.exists(), "the beginning of the part", limit)
        begun = time.time()
        until(lambda: part.exists() or _size(writing) >= case.size, "the end of the part", limit)
        written = time.time()
        until(part.exists, "the part is durable", limit)
    except TimeoutError as error:
        raise RuntimeError(f"{case.name}: {error}; {status()['ended'] or status()['checkpoint']}") from None
    durable = part.stat().st_ctime  # when it got its last name, which it gets when it is durable
    return Times(begun - began, min(written, durable) - began, durable - began)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _part(what: str) -> Callable[[bool], list[Figure]]:
    return lambda quick: commit(what, quick)


if __name__ == "__main__":
    options = arguments(__doc__ or "")
    run_parts(options, [(name, _part(name)) for name in SIZES])
    if options.json and _drawn["first"]:
        draw(options.json.with_suffix(".svg"))
