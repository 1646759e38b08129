"""``make demo-ckpt``: one node is about to fail; what comes of the checkpoint, in order and without.

Real processes on this machine, no root: a coordinator, and an agent and a rank on each of six nodes that they
play. Their shared file system is slow: all ranks draw from one bucket of bytes (``programs/ckpt_rank.py``).
The failure is predicted, and really comes at the end of its lead time: ``kill -9`` of the node's processes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from demo.storage import without_blanks
from whesl.checkpoints import control
from whesl.checkpoints.core.states_and_events import Lost, Predicted, Requested
from whesl.checkpoints.job_launch import page_of
from whesl.checkpoints.messages import StatusAsked, ToCoordinator
from whesl.checkpoints.rendezvous import Address, find
from whesl.model.errors import TransientError

HERE = Path(__file__).resolve().parent
OUTPUT = without_blanks(HERE / "output") / "ckpt"
NODES, RATE, BYTES = 6, 6e6, 6_000_000
LEAD = 2.5  # seconds; the node alone needs one, all together six
EVERY = 0.15  # seconds between two looks
PATIENCE = 30.0
SIGNS = {"normal": ("·", "dim"), "requested": ("·", "dim"), "vulnerable": ("!", "yellow")}
SIGNS |= {"waiting": ("-", "dim"), "committing": ("█", "cyan"), "committed": ("✓", "green")}
SIGNS |= {"lost": ("✗", "red"), "": (" ", "")}


@dataclass
class Run:
    """What was seen of one run."""

    title: str
    looks: list[dict[str, str]] = field(default_factory=list)  # each node's state
    survived: bool = False
    reached: int = 0
    restored: int = 0


class Program:
    """The program and what looks after it.

    Args:
        place: where it runs.
        together: all nodes write at once.
    """

    def __init__(self, place: Path, *, together: bool) -> None:
        self.place, self.together = place, together
        self.home = place / "home"
        self.home.mkdir(parents=True, mode=0o700)
        self.bucket = place / "bucket"
        self.limit(0.0)
        self.running: dict[str, list[subprocess.Popen[bytes]]] = {}
        self.name = f"demo-{os.getpid()}-{place.name}"

    def limit(self, rate: float) -> None:
        """Set what all ranks together may write, bytes a second; 0 for any."""
        self.bucket.write_bytes(struct.pack("=dd", rate, 0.0))

    def begin(self, life: str, nodes: list[str]) -> None:
        """Start everything: the ranks in the order of the nodes."""
        log = (self.place / f"{life}.log").open("wb")
        whesl = [sys.executable, "-m", "whesl", "ckpt"]
        environment = {**os.environ, "WHESL_HOME": str(self.home), "WHESL_CKPT_HOST": "127.0.0.1"}
        environment = {k: v for k, v in environment.items() if not k.startswith("SLURM_")}

        def start(node: str, *words: str) -> None:
            page = str(page_of(self.name, life, node))
            more = {"WHESL_CKPT_PAGE": page, "SLURMD_NODENAME": node}
            process = subprocess.Popen(
                words, cwd=self.place, env=environment | more, stdout=log, stderr=subprocess.STDOUT
            )
            self.running.setdefault(node, []).append(process)

        order = ["--together"] if self.together else []
        start("", *whesl, "serve", "--name", self.name, "--dir", str(self.place / "checkpoints"), *order)
        wait(lambda: self.address() is not None)
        for rank, node in enumerate(nodes):
            start(node, *whesl, "agent", "--name", self.name, "--node", node, "--run", life)
            program = str(HERE / "programs" / "ckpt_rank.py")
            start(node, sys.executable, program, str(rank), str(len(nodes)), str(self.bucket))
        wait(lambda: sum(node["ranks"] for node in self.status()["nodes"].values()) == len(nodes))
        log.close()

    def address(self) -> Address | None:
        """Return the coordinator's address."""
        return find(self.home / "ckpt" / self.name)

    def say(self, message: ToCoordinator) -> dict[str, Any]:
        """Tell the coordinator something, and return what it knows."""
        address = self.address()
        assert address is not None
        return control.ask(address, message, home=self.home).status

    def status(self) -> dict[str, Any]:
        """Return what the coordinator knows."""
        return self.say(StatusAsked())

    def kill(self, node: str) -> None:
        """Take all that runs on a node away at once."""
        for process in self.running.pop(node):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def end(self) -> None:
        """End what still runs."""
        for node in list(self.running):
            self.kill(node)
        (self.home / "ckpt" / self.name / "address").unlink(missing_ok=True)
        for left in page_of(self.name, "", "").parent.glob(f"{self.name}.*"):
            left.unlink()

    def step(self) -> int:
        """Return the last step that all ranks have done."""
        return min(int(path.read_text()) for path in self.place.glob("step-*"))


def wait(condition: Any) -> None:
    """Wait for something; RuntimeError after half a minute."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with contextlib.suppress(TransientError):
            if condition():
                return
        time.sleep(0.02)
    raise RuntimeError(f"nothing happened for {PATIENCE:g} s; the logs are in {OUTPUT}")


def failure(run: Run, *, together: bool) -> None:
    """Have one failure happen, and note what was seen."""
    place = OUTPUT / ("together" if together else "ordered")
    program = Program(place, together=together)
    nodes = [f"n{number + 1}" for number in range(NODES)]
    victim = nodes[-1]
    try:
        program.begin("first", nodes)
        program.say(Requested(reason="an earlier one"))
        wait(lambda: program.status()["checkpoints"] == [1])
        wait(lambda: program.step() > 80)
        program.limit(RATE)
        program.say(Predicted(node=victim, lead=LEAD, evidence="the demo"))
        begun, dead = time.monotonic(), False
        while True:
            status = program.status()
            run.looks.append({name: facts["phase"] for name, facts in status["nodes"].items()})
            ended = status["ended"]
            if dead and ended is not None and ended["number"] == 2:
                run.survived = ended["whole"]
                break
            if not dead and time.monotonic() - begun >= LEAD:
                run.reached, dead = program.step(), True
                program.kill(victim)
                program.say(Lost(node=victim, why="killed"))
            time.sleep(EVERY)
        program.end()
        program.limit(0.0)
        program.begin("again", [*nodes[:-1], "spare"])
        log = place / "again.log"
        wait(lambda: log.read_text().count("goes on at step") == NODES)
        run.restored = int(log.read_text().split("goes on at step ")[1].split()[0])
    finally:
        program.end()


def picture(run: Run, most: int) -> Table:
    """Return a run as a line for each node, of so many columns at most."""
    table = Table(title=run.title, title_justify="left", box=None, show_header=False, padding=(0, 1))
    shown = run.looks[:: -(-len(run.looks) // most)]
    for node in sorted(run.looks[0]):
        line = Text()
        for look in shown:
            line.append(*SIGNS.get(look.get(node, ""), ("·", "dim")))
        table.add_row(node, line)
    lost = run.reached - run.restored
    said = "the checkpoint is whole" if run.survived else "the node died before its part was durable"
    table.add_row("", Text(said, "bold green" if run.survived else "bold red"))
    table.add_row(
        "", f"goes on at step {run.restored}: {max(lost, 0)} of {run.reached} steps are computed again"
    )
    return table


def main() -> None:
    """Run the same failure both ways, and draw both."""
    console = Console()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    console.print(
        f"{NODES} nodes with {BYTES / 1e6:g} MB each share {RATE / 1e6:g} MB/s;"
        f" n{NODES} is predicted to fail in {LEAD:g} s, and does."
    )
    runs = [Run("whesl ckpt: it writes first"), Run("all write at once")]
    for run, together in zip(runs, (False, True), strict=True):
        with console.status(run.title):
            failure(run, together=together)
    both = Table.grid(padding=(0, 4))
    both.add_row(*(picture(run, console.width // 2 - 10) for run in runs))
    console.print(both)
    signs = "· computes   - waits   █ writes   ✓ durable   ✗ dead"
    console.print(f"{signs}   (a sign each {EVERY:g} s)", style="dim")


if __name__ == "__main__":
    main()
