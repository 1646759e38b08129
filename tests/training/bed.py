"""PyTorch itself on a real Slurm whose nodes have networks of their own, with the files of the example."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import psutil
import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.scenarios.bed import BIN, Bed, base_environment
from whesl.testing.processes import running

EVERY = 5  # steps between two checkpoints of the example
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "training"
# PyTorch 1.13 reads its own defaults of these two options, 0, as None on Python 3.11, and does not start.
# With them the ranks' lines begin with [default0]:, as for users who keep their ranks' output.
TORCHRUN = ("-m", "torch.distributed.run", "--redirects", "1", "--tee", "1")
STEP = re.compile(r"^(?:\[default\d+\]:)?step (\d+) ", re.MULTILINE)


@cache
def torch_python() -> str:
    """Return a Python that has PyTorch with gloo. Skip the test where there is none."""
    test = "import torch.distributed as d; assert d.is_gloo_available()"
    for python in (os.environ.get("TORCH_PYTHON"), sys.executable, "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", test], capture_output=True, check=False).returncode == 0:
            return python
    return ""


def need_torch() -> str:
    """Return that Python. Skip the test where there is none."""
    python = torch_python()
    if not python:
        pytest.skip("PyTorch is not installed: set TORCH_PYTHON to a Python that has it")
    return python


class Training(Bed):
    """A cluster of four nodes, and the example's files in a directory of it."""

    cluster: SlurmBed

    @property
    def place(self) -> Path:
        return self.directory / "run"

    def text(self) -> str:
        """What the job has printed."""
        return "".join(path.read_text() for path in sorted(self.place.glob("slurm-*.out")))

    def steps(self) -> list[int]:
        """The steps in the order in which they were done."""
        return [int(step) for step in STEP.findall(self.text())]

    def ranks(self) -> dict[int, psutil.Process]:
        """The processes that train, by their rank."""
        found = {}
        for process in running():
            with suppress(psutil.Error):
                words = process.cmdline()
                if words[-1:] == ["train.py"] and process.cwd() == str(self.place):
                    environment = process.environ()
                    # torchrun has none; a rank that srun starts is a shell at first; Lightning's have Slurm's
                    name = "RANK" if "RANK" in environment or len(words) > 2 else "SLURM_PROCID"
                    if rank := environment.get(name):
                        found[int(rank)] = process
        return found

    def node(self, process: psutil.Process) -> str:
        """The node on which a process runs."""
        return process.environ()["SLURMD_NODENAME"]

    def name_nodes(self) -> None:
        """Let nodes know each other's names, as a cluster's nodes do."""
        for node in self.cluster.nodes:
            enter = ["nsenter", f"--target={self.cluster.init(node)}", "--mount"]
            subprocess.run(
                [*enter, "mount", "--bind", str(self.directory / "hosts"), "/etc/hosts"], check=True
            )


@contextmanager
def training(directory: Path) -> Iterator[Training]:
    """Start a cluster with the example's files, a little slower: twenty steps in a second."""
    python = Path(need_torch())
    with SlurmBed(4, "net", slurmd_timeout=5) as cluster:
        own = base_environment(directory / "home")
        environment = {**cluster.environment, **{key: own[key] for key in ("WHESL_HOME", "USER")}}
        commands = directory / "commands"
        commands.mkdir()
        for name, words in (("python", ()), ("torchrun", TORCHRUN)):
            (commands / name).write_text(f'#!/bin/sh\nexec {shlex.join((str(python), *words))} "$@"\n')
            (commands / name).chmod(0o755)
        environment |= {"PATH": f"{commands}:{BIN}:{environment['PATH']}", "OMP_NUM_THREADS": "1"}
        bed = Training("slurm", directory, environment, cluster.kill_node)
        bed.cluster = cluster
        shutil.copytree(EXAMPLE, bed.place)
        script = bed.place / "train.py"
        slower = "optimizer.step(); __import__('time').sleep(0.05)"
        script.write_text(script.read_text().replace("optimizer.step()", slower))
        subnet = cluster.address.rpartition(".")[0]
        lines = [f"{subnet}.{number} {node}\n" for number, node in enumerate(cluster.nodes, 1)]
        (directory / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
        bed.name_nodes()
        try:
            yield bed
        finally:
            bed.close()
