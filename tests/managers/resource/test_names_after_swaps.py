"""Names, order and ranks agree after any swaps, by every way in which a script finds them.

A resource manager puts the ranks of a step on its nodes in the allocation's order, however they are named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from whesl.managers.resource.launcher_shims.flux_node_swap import constraint, ranks_of
from whesl.managers.resource.launcher_shims.launcher_node_swap import rewrite
from whesl.managers.resource.launcher_shims.launcher_options import parse_srun
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import expand_counts, for_nodes
from whesl.model.allocation_nodes import NodeSet
from whesl.model.hostlist import expand
from whesl.model.workflow import Task
from whesl.runtime.isolator.core.apply_record import apply
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.task_setup import Setup, split
from whesl.runtime.isolator.launch.runner_start import told
from whesl.runtime.journal.records import isolator_records as records

# As Slurm sorts them: by their words, then by their numbers; gaps, several words, several widths.
ALLOCATED = ("a2", "a10", "b1-node", "gpu07", "n01", "n02", "n05", "n9", "n10", "n100", "x-1", "x-2")


@st.composite
def swapped_sets(draw: st.DrawFn) -> tuple[tuple[str, ...], NodeSet]:
    """An allocation, and its node set after recoveries: nodes replaced, removed, added, in any order."""
    chosen = draw(st.sets(st.sampled_from(ALLOCATED), min_size=2))
    nodes = tuple(name for name in ALLOCATED if name in chosen)
    used = draw(st.integers(1, len(nodes)))
    setup = Setup(task=Task(id="wf/app", step="app"), workflow="wf", nodes=nodes, active=used)
    state = State(setup=setup, nodes=split(setup))
    for _ in range(draw(st.integers(0, 4))):
        present = state.nodes
        # Spares are taken in the order of their risk, which is any.
        present = msgspec.structs.replace(present, spares=tuple(draw(st.permutations(present.spares))))
        kind = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        node = draw(st.sampled_from(present.active))
        if kind == "remove" and len(present.active) > 1:
            present = present.remove(node)
        elif kind == "add" and present.spares:
            present = present.add()
        elif kind == "replace" and present.spares:
            present = present.replace(node)
        state = apply(state, records.Nodes(nodes=present), 0.0)
    return nodes, state.nodes


def ranks(nodelist: str, distribution: str | None, allocation: Sequence[str]) -> list[str]:
    """Return the node of each rank, one a node, as Slurm chooses (measured with 22.05.8)."""
    named = expand(nodelist)
    if distribution == "arbitrary":
        return list(named)
    return [node for node in allocation if node in named]


def step(words: str, environ: Mapping[str, str], allocation: Sequence[str], host_file: str = "") -> list[str]:
    """Return the node of each rank of an srun in the task's script."""
    said = rewrite("srun", [*words.split(), "./app"], environ, read=lambda _: host_file)
    line = parse_srun(said)
    nodelist, count = line.value("nodelist"), line.value("nodes")
    if nodelist is None:
        assert not environ["WHESL_HIDDEN_NODES"], "Slurm chooses from all nodes of the job"
        first = int(line.value("relative") or 0)
        return host_file.split() or list(allocation[first:][: int(count or len(allocation))])
    placed = ranks(nodelist, line.value("distribution"), allocation)
    assert count is None or int(count) == len(set(placed)), said
    return placed


@given(swapped_sets(), st.data())
def test_all_ways_agree(made: tuple[tuple[str, ...], NodeSet], data: st.DataObject) -> None:
    allocation, nodes = made
    cpus = {node: number + 1 for number, node in enumerate(allocation)}
    job = {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": ",".join(allocation),
        "SLURM_JOB_CPUS_PER_NODE": ",".join(str(cpus[node]) for node in allocation),
        "SLURM_TASKS_PER_NODE": ",".join(str(cpus[node]) for node in allocation),
    }
    environ = {
        **job,
        **for_nodes(nodes.active, job),
        **told(
            task="wf/app",
            workflow="wf",
            restarts=1,
            token="t",
            active=nodes.active,
            swapped=json.dumps(nodes.swapped),
            lost=nodes.lost,
            hosts="/hosts",
            reconfigure="",
        ),
    }
    names = list(expand(environ["SLURM_JOB_NODELIST"]))  # scontrol show hostnames
    assert names == list(expand(environ["SLURM_NODELIST"]))
    assert names == environ["WHESL_NODELIST"].split(",")
    assert int(environ["SLURM_NNODES"]) == int(environ["SLURM_JOB_NUM_NODES"]) == len(names)
    for counts in ("SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"):
        assert expand_counts(environ[counts]) == [cpus[node] for node in names]
    assert step("", environ, allocation) == names
    assert step("-N1 -n1", environ, allocation) == names[:1]
    number = data.draw(st.integers(0, len(names) - 1))
    assert step(f"-N1 -n1 -r{number}", environ, allocation) == [names[number]]
    assert step(f"-N1 -n1 -w {names[number]}", environ, allocation) == [names[number]]
    assert step(f"-N{number + 1}", environ, allocation) == names[: number + 1]
    listed = data.draw(st.permutations(names))
    assert step(f"-w {','.join(listed)}", environ, allocation) == names, "srun sorts them"
    by_file = {**environ, "SLURM_HOSTFILE": "/listed"}
    assert step(f"-n{len(names)}", by_file, allocation, "\n".join(listed)) == listed
    # Who names a node that was replaced means the one in its place.
    for old, new in nodes.swapped.items():
        if new in names:
            assert step(f"-N1 -n1 -w {old}", environ, allocation) == [new]


@given(swapped_sets())
def test_ranks_of_flux_agree(made: tuple[tuple[str, ...], NodeSet]) -> None:
    """Flux fills a job's nodes in the order of their ranks."""
    allocation, nodes = made
    numbers = ranks_of(",".join(f"{node}={rank}" for rank, node in enumerate(allocation)))
    chosen = constraint(nodes.active, numbers).removeprefix("rank:").split(",")
    assert [allocation[int(rank)] for rank in chosen] == list(nodes.active)
