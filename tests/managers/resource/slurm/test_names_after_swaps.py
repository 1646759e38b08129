"""A real Slurm after swaps: each way to find the nodes gives the same names, in the order of the ranks."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from whesl.managers.resource import launcher_shims
from whesl.managers.resource.launcher_shims import nodes_in_use
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.model.allocation_nodes import NodeSet
from whesl.model.hostlist import compress

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

# What srun says where the step before has not quite ended.
WAITED = re.compile(r"srun: .*(?:temporarily disabled, retrying|Step created for|still disabled).*\n")
# Not in the order of slurm.conf, and with other words: Slurm sorts them by words, then by numbers.
CONFIGURED = ("n10", "b2", "n9", "n12", "a-login1")
ALLOCATION = ("a-login1", "b2", "n9", "n10", "n12")
FIRST = NodeSet(active=ALLOCATION[1:4], spares=("n12", "a-login1"))
SWAPS = {
    "none": FIRST,
    "first": FIRST.replace("b2"),
    "last": FIRST.replace("n10"),
    "two": FIRST.replace("b2").replace("n10"),
    "removed": FIRST.remove("b2"),
}
# Each line prints the nodes in the order that it gives, on one line.
ONE_LINE = "paste -sd,"
RANKS = f"sort -n | cut -d' ' -f2 | {ONE_LINE}"
BACKWARDS = f"sort -n | cut -d' ' -f2 | tac | {ONE_LINE}"
WAYS = {
    "scontrol": f"scontrol show hostnames | {ONE_LINE}",
    "nodelist": f'scontrol show hostnames "$SLURM_NODELIST" | {ONE_LINE}',
    "whesl": "echo $WHESL_NODELIST",
    "ranks": f"srun -l hostname | {RANKS}",
    "node ids": f"srun sh -c 'echo $SLURM_NODEID $(hostname)' | {RANKS}",
    "procids": f"srun sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | {RANKS}",
    "step": "srun sh -c 'scontrol show hostnames $SLURM_STEP_NODELIST' | awk '!seen[$0]++' | paste -sd,",
    "relative": "for i in $(seq 0 $((SLURM_NNODES - 1))); do srun -N1 -n1 -r$i hostname; done | paste -sd,",
    "one by one": "for n in $(scontrol show hostnames); do srun -N1 -n1 -w $n hostname; done | paste -sd,",
    "given backwards": f"srun -l -w $(scontrol show hostnames | tac | paste -sd,) hostname | {RANKS}",
    "host file": f"scontrol show hostnames > h; SLURM_HOSTFILE=h srun -l -n $SLURM_NNODES hostname | {RANKS}",
    "host file backwards": "scontrol show hostnames | tac > h; "
    f"SLURM_HOSTFILE=h srun -l -n $SLURM_NNODES hostname | {BACKWARDS}",
    "arbitrary": "scontrol show hostnames | tac > h; "
    f"SLURM_HOSTFILE=h srun -l -n $SLURM_NNODES -m arbitrary hostname | {BACKWARDS}",
}
HEADS = {
    "head": "scontrol show hostnames | head -1",
    "first step": "srun -N1 -n1 hostname",
    "rank 0": "srun sh -c '[ $SLURM_PROCID = 0 ] && hostname; true'",
}


@pytest.fixture(scope="module")
def bed() -> Iterator[SlurmBed]:
    need_slurm()
    with SlurmBed(CONFIGURED) as made:
        yield made


def exports(nodes: NodeSet, directory: Path) -> str:
    job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": compress(ALLOCATION)}
    job["SLURM_TASKS_PER_NODE"] = job["SLURM_JOB_CPUS_PER_NODE"] = f"2(x{len(ALLOCATION)})"
    variables = {
        **SlurmAllocation(job).launch_environment(nodes.active, job),
        "WHESL_NODELIST": ",".join(nodes.active),
        "WHESL_SWAPPED": json.dumps(nodes.swapped),
        "WHESL_LOST_NODES": ",".join(nodes.lost),
        "WHESL_HOSTFILE": str(directory / "hosts"),
        "WHESL_RESTART_COUNT": "1",
        "WHESL_ATTEMPT_TOKEN": "token",
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return "\n".join([*lines, f"export {nodes_in_use.JOB}=$SLURM_JOB_ID"])


def run(bed: SlurmBed, directory: Path, swaps: Iterable[str], ways: Mapping[str, str]) -> dict[str, str]:
    """Return what each line prints in a job after each of the swaps."""
    launcher_shims.install(directory / "bin")
    lines = [f"cd {directory}", f"PATH={directory}/bin:$PATH", "exec 2>&1"]
    for swap in swaps:
        lines.append(exports(SWAPS[swap].in_order(ALLOCATION), directory))
        for way, line in ways.items():
            lines.append(f"printf '%s\\t' {shlex.quote(f'{swap}: {way}')}; {line}")
    place = (f"--nodelist={','.join(ALLOCATION)}", f"--nodes={len(ALLOCATION)}", "--exclusive")
    job = bed.submit("#!/bin/bash\n" + "\n".join(lines), *place, f"--output={directory}/out")
    assert bed.wait_job(job, "COMPLETED", "FAILED", timeout=120) == "COMPLETED"
    lines = WAITED.sub("", (directory / "out").read_text()).splitlines()
    return dict(line.split("\t") for line in lines)


def names(swap: str) -> list[str]:
    return [name for name in ALLOCATION if name in SWAPS[swap].active]


def test_all_ways_give_the_same_names_in_rank_order(bed: SlurmBed, tmp_path: Path) -> None:
    """Once a script's head and rank 0 were two nodes: each torchrun recipe waited for nobody."""
    expected: dict[str, str] = {}
    for swap in SWAPS:
        expected |= {f"{swap}: {way}": ",".join(names(swap)) for way in WAYS}
        expected |= {f"{swap}: {way}": names(swap)[0] for way in HEADS}
    assert run(bed, tmp_path, SWAPS, {**WAYS, **HEADS}) == expected


def test_mpirun_puts_its_ranks_in_the_same_order(bed: SlurmBed, tmp_path: Path) -> None:
    need_slurm("mpi")
    allowed = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    program = "sh -c 'echo $OMPI_COMM_WORLD_RANK $(hostname)'"
    options = f"--mca plm slurm --map-by ppr:1:node -n $SLURM_NNODES {program}"
    ways = {"mpirun": f"{allowed} TMPDIR={bed.local} mpirun {options} | {RANKS}"}
    swaps = ("none", "first", "two")
    assert run(bed, tmp_path, swaps, ways) == {f"{swap}: mpirun": ",".join(names(swap)) for swap in swaps}
