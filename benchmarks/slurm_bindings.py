"""What a look at running jobs costs: through pyslurm, and by squeue.

python benchmarks/slurm_bindings.py [--quick] [--json FILE]

Needs root, and a pyslurm that is made for the Slurm that is measured (WHESL_SLURM, else the one on PATH), in
this interpreter or in that of WHESL_TEST_PYSLURM.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

from measure import Figure, arguments, median, run_parts

from tests.equipment.slurmbed import SlurmBed
from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.managers.resource.slurm.pyslurm_client import Bindings

JOBS = (1, 2)  # more at once are left to squeue (pyslurm_client)


def main() -> None:
    """Measure."""
    run_parts(arguments("What a look at running jobs costs."), [("looks", _looks)])


def _looks(quick: bool) -> list[Figure]:
    figures = []
    repeats = 5 if quick else 100
    with SlurmBed(nodes=4) as bed:
        jobs = [bed.submit("sleep 600", "--ntasks=1", "--output=/dev/null") for _ in range(max(JOBS))]
        bed.wait_for(lambda: all(bed.job(job) == "RUNNING" for job in jobs), "the jobs run")
        commands = SlurmCommands(bed.environment)
        reader = Bindings(commands, os.environ.get("WHESL_TEST_PYSLURM", sys.executable))
        reader.living(jobs[:1])  # the child is started at the second look
        begun = time.perf_counter()
        if reader.living(jobs[:1]) is None:
            raise SystemExit("there is no pyslurm for this Slurm")
        figures.append(
            Figure("pyslurm: its process starts, and looks once", time.perf_counter() - begun, "s")
        )
        for count in JOBS:
            some = jobs[:count]
            taken: dict[str, list[float]] = {"bound": [], "called": [], "floor": []}
            for _ in range(repeats):  # by turns: the machine is as busy for each
                taken["bound"].append(_seconds(reader.living, some))
                taken["called"].append(_seconds(_called, commands, some))
                taken["floor"].append(_seconds(commands.run, "squeue", "--version"))
            bound, called, floor = (median(values) * 1000 for values in taken.values())
            what = f"a look at {count} running job{'s' if count > 1 else ''}, median"
            figures += [
                Figure(f"{what}: through pyslurm", bound, "ms"),
                Figure(f"{what}: by squeue", called, "ms", floor=floor, note="floor: squeue --version"),
            ]
    return figures


def _called(commands: SlurmCommands, jobs: Sequence[str]) -> object:
    asked = ("squeue", "-h", "-j", ",".join(jobs), "-O", slurm_command_output.JOB_FORMAT)
    return slurm_command_output.jobs(commands.run(*asked))


def _seconds(look: Callable[..., object], *words: object) -> float:
    begun = time.perf_counter()
    assert look(*words)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
