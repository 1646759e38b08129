"""The plugin's lookup: the same decision in Python and in Lua, and never one that a job cannot run with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.model.hostlist import compress, expand
from whesl.placement.policies import reliable
from whesl.placement.site.publish import plugin_file, risk_table
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.plugin_file import Decision, Lookup, Request
from whesl.prediction.failures.given_accuracy_predictors import Given

ROOT = Path(__file__).resolve().parents[3]
LUAS = [name for name in ("lua5.1", "lua5.3", "lua5.4", "lua") if shutil.which(name)]
LUA = LUAS[0] if LUAS else None
NOW = 1_700_000_000.0
HORIZONS = (3600.0, 86400.0)

_ASK = """
package.path, package.cpath = "", ""
local M = dofile("PLUGIN")
M.path, M.now, M.plain = "TABLE", function() return NOW end, function() return true end
for line in io.lines() do
   local job = (loadstring or load)("return " .. line)()
   local found = M.decide(job)
   print((found and found.nodes or "") .. ";" .. (found and found.said or ""))
end
"""


def cluster(nodes: int = 16, **changes: dict[str, object]) -> list[Node]:
    base = [
        Node(
            name=f"n{at:02d}",
            flags=frozenset({"idle"}),
            partitions=("main",) if at % 2 else ("main", "even"),
            cpus=4 if at <= nodes // 2 else 8,
            memory=1000,
            features=("big",) if at > nodes // 2 else (),
        )
        for at in range(1, nodes + 1)
    ]
    return [msgspec.structs.replace(node, **changes.get(node.name, {})) for node in base]


def looked(
    machine: list[Node], failing: dict[str, float], *, share: float = 0.25, held: frozenset[str] = frozenset()
) -> Lookup:
    names = [node.name for node in machine]
    at = [names.index(name) for name in failing]
    predictor = Given("given", len(names), at, [NOW + 60.0] * len(at), list(failing.values()))
    made = risk_table.make(predictor, names, NOW, valid_for=600.0, horizons=HORIZONS, active=True)
    made = msgspec.structs.replace(made, thresholds=(0.5, 0.5))
    return plugin_file.make(made, machine, share=share, held=held, default="main")


def ask_lua(content: bytes, jobs: list[Request], directory: Path, now: float = NOW) -> list[str]:
    """Return what the plugin's Lua says of jobs, one line each."""
    if LUA is None:
        pytest.skip("no lua")
    path = directory / "slurm.table"
    path.write_bytes(content)
    script = _ASK.replace("PLUGIN", str(ROOT / "plugins/slurm/whesl_placement.lua"))
    script = script.replace("TABLE", str(path)).replace("NOW", f"{now:.0f}")
    (directory / "ask.lua").write_text(script)
    lines = []
    for job in jobs:
        fields = {
            "partitions": "{" + ",".join(map(json.dumps, job.partitions)) + "}",
            "features": "{" + ",".join(map(json.dumps, job.features)) + "}",
            "nodes": job.nodes,
            "cpus": job.cpus,
            "node_cpus": job.node_cpus,
            "memory": job.memory,
            "own": str(job.own).lower(),
            "seconds": "nil" if job.seconds is None else job.seconds,
            "special": json.dumps(job.special) if job.special else "nil",
        }
        lines.append("{" + ",".join(f"{key}={value}" for key, value in fields.items()) + "}\n")
    result = subprocess.run(
        [LUA, str(directory / "ask.lua")], input="".join(lines), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    # The plugin names the nodes in the order of their risk, Python in that of the cluster.
    answers = [one.partition(";") for one in result.stdout.splitlines()]
    return [f"{compress(sorted(filter(None, nodes.split(','))))};{said}" for nodes, _, said in answers]


def line(decision: Decision) -> str:
    return f"{compress(decision.nodes)};{decision.said}"


def test_what_is_left_is_what_the_reliable_policy_would_choose() -> None:
    machine = cluster(20)
    chance = np.random.default_rng(3).random(20)
    failing = {node.name: float(p) for node, p in zip(machine, chance, strict=True)}
    found = looked(machine, failing, share=0.4)
    kept_off = plugin_file.decide(found, Request(partitions=("main",), seconds=3600.0))
    predictor = Given("given", 20, range(20), [NOW + 60.0] * 20, chance.tolist())
    count = len(kept_off.nodes)
    chosen = reliable.choose(predictor, np.arange(20), 20 - count, NOW, 3600.0, np.inf).nodes
    assert count == 8
    assert {machine[at].name for at in chosen} == {node.name for node in machine} - set(kept_off.nodes)


def test_the_share_and_the_jobs_need_bound_the_list() -> None:
    found = looked(cluster(), {"n01": 0.9, "n02": 0.8, "n03": 0.7, "n04": 0.95, "n05": 0.6})
    whole = plugin_file.decide(found, Request(partitions=("main",)))
    assert whole.nodes == ("n01", "n02", "n03", "n04")
    assert whole.said == "4 of 5 nodes at risk are excluded, others are needed"
    large = plugin_file.decide(found, Request(partitions=("main",), nodes=14))
    assert large.nodes == ("n01", "n04")
    assert plugin_file.decide(found, Request(partitions=("main",), nodes=16)).nodes == ()
    both = plugin_file.decide(found, Request(partitions=("main", "even")))
    assert both.nodes == ("n01", "n02", "n03", "n04")
    assert plugin_file.decide(found, Request(partitions=("main",), cpus=4 * 15)).nodes == ("n04",)
    assert plugin_file.decide(found, Request(partitions=("main",), features=("big",))) == Decision()
    assert plugin_file.decide(found, Request(partitions=("other",))) == Decision()
    assert plugin_file.decide(found, Request(partitions=("main",), own=True)) == Decision()
    told = plugin_file.decide(found, Request(partitions=("main",), special="local disk"))
    assert told == Decision((), "no node is excluded: the job asks for local disk")


def test_drained_nodes_count_towards_the_share() -> None:
    machine = cluster(n08={"flags": frozenset({"idle", "drain"})})
    found = looked(machine, {"n01": 0.9, "n02": 0.8, "n03": 0.7, "n04": 0.95}, held=frozenset({"n08"}))
    assert len(plugin_file.decide(found, Request(partitions=("main",))).nodes) == 3


jobs = st.builds(
    Request,
    partitions=st.sampled_from([("main",), ("even",), ("main", "even"), ("even", "main"), ("none",), ()]),
    nodes=st.integers(1, 20),
    seconds=st.one_of(st.none(), st.sampled_from([60.0, 3600.0, 3601.0, 1e6])),
    cpus=st.integers(1, 130),
    node_cpus=st.integers(1, 9),
    memory=st.sampled_from([0, 1000, 1001]),
    features=st.sampled_from([(), ("big",), ("big", "gpu")]),
    own=st.booleans(),
    special=st.sampled_from(["", "generic resources"]),
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.lists(jobs, min_size=20, max_size=40),
    failing=st.dictionaries(st.integers(1, 16), st.floats(0.4, 1.0), max_size=16),
    down=st.sets(st.integers(1, 16), max_size=6),
    share=st.floats(0.0, 1.0),
)
def test_lua_and_python_decide_alike(
    asked: list[Request], failing: dict[int, float], down: set[int], share: float, tmp_path: Path
) -> None:
    gone = {f"n{at:02d}": {"flags": frozenset({"down"})} for at in down}
    machine = cluster(16, **gone)  # type: ignore[arg-type]  # fields of a node
    found = looked(machine, {f"n{at:02d}": p for at, p in failing.items()}, share=round(share, 6))
    decisions = [plugin_file.decide(found, job) for job in asked]
    assert ask_lua(plugin_file.encode(found), asked, tmp_path) == [line(one) for one in decisions]
    for job, decision in zip(asked, decisions, strict=True):
        usable = [node.name for node in machine if node.usable and node.features >= job.features]
        for part in job.partitions:
            mine = {node.name for node in machine if part in node.partitions} & set(usable)
            taken = mine & set(decision.nodes)
            assert not taken or len(mine - taken) >= job.nodes
            assert len(taken) <= share * 16


def test_the_largest_cluster_fits_and_its_list_is_short(tmp_path: Path) -> None:
    machine = [
        Node(name=f"c{at:05d}", flags=frozenset({"idle"}), partitions=("main",)) for at in range(10_000)
    ]
    rng = np.random.default_rng(1)
    failing = {f"c{at:05d}": 0.9 for at in rng.choice(10_000, 3000, replace=False)}
    found = looked(machine, failing, share=0.1)
    content = plugin_file.encode(found)
    assert len(content) < 1 << 20
    jobs = [Request(partitions=("main",)), Request(partitions=("main",), nodes=9950)]
    decisions = [plugin_file.decide(found, job) for job in jobs]
    assert [len(one.nodes) for one in decisions] == [plugin_file.MOST_NAMES, 50]
    assert ask_lua(content, jobs, tmp_path) == [line(one) for one in decisions]


HOSTILE = {
    "empty": b"",
    "binary": bytes(range(256)) * 50,
    "another": b"whesl-placement 2 1 1 1 active\nend 1\n",
    "no end": b"whesl-placement 1 5 1699999990 1800000000 active\nshare 1\nhorizon 1\n",
    "wrong end": b"whesl-placement 1 5 1699999990 1800000000 active\nshare 1\nhorizon 1\nend 6\n",
    "code": b"whesl-placement 1 5 1699999990 1800000000 active\nos.execute('x')\nend 5\n",
    "node": b"whesl-placement 1 5 1699999990 1800000000 active\nshare 1\npartition 0 main default\n"
    b"class 0 4 1000 - 16/0\nhorizon 3600 n01;reboot:0:0\nend 5\n",
    "class": b"whesl-placement 1 5 1699999990 1800000000 active\nshare 1\npartition 0 main default\n"
    b"class 0 4 1000 - 16/0\nhorizon 3600 n01:7:0\nend 5\n",
    "huge numbers": b"whesl-placement 1 5 1699999990 99999999999999999999 active\nshare 1\nend 5\n",
    "long line": b"whesl-placement 1 " + b"9" * 100_000 + b" 1 1 active\n",
    "huge": b"whesl-placement 1 5 1699999990 1800000000 active\n" + b"share 1\n" * 700_000 + b"end 5\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_table_excludes_nothing(name: str, tmp_path: Path) -> None:
    assert ask_lua(HOSTILE[name], [Request(partitions=("main",))], tmp_path) == [";"]


def test_torn_stale_and_observing_tables_exclude_nothing(tmp_path: Path) -> None:
    found = looked(cluster(), {"n01": 0.9})
    job = Request(partitions=("main",))
    content = plugin_file.encode(found)
    assert ask_lua(content, [job], tmp_path) == ["n01;1 of 1 nodes at risk are excluded"]
    for cut in range(0, len(content), 23):
        assert ask_lua(content[:cut], [job], tmp_path) == [";"]
    assert ask_lua(content, [job], tmp_path, NOW + 600) == [";"]
    assert ask_lua(content, [job], tmp_path, NOW - 301) == [";"]
    observing = msgspec.structs.replace(found, active=False)
    assert ask_lua(plugin_file.encode(observing), [job], tmp_path) == [";"]


_REPLACED = """
package.path, package.cpath = "", ""
local M = dofile("PLUGIN")
M.path, M.now, M.plain = "TABLE", function() return NOW end, function() return true end
local job = { partitions = { "main" }, nodes = 1, cpus = 1, node_cpus = 1, memory = 0, features = {} }
for line in io.lines() do
   local found = M.decide(job)
   print(found and found.nodes or "")
   os.rename(line, "TABLE")
end
"""


def test_a_table_that_was_replaced_or_withdrawn_is_not_used_once_more(tmp_path: Path) -> None:
    """Within the same second too: the plugin had looked once a second, and used an acting service's table."""
    if LUA is None:
        pytest.skip("no lua")
    path = tmp_path / "slurm.table"
    tables = [looked(cluster(), {name: 0.9}) for name in ("n01", "n02", "n03")]
    tables = [msgspec.structs.replace(one, written=NOW + at / 10) for at, one in enumerate(tables)]
    contents = [*map(plugin_file.encode, tables[:2]), b"", plugin_file.encode(tables[2])]
    contents.append(plugin_file.encode(msgspec.structs.replace(tables[2], written=NOW + 0.3, active=False)))
    path.write_bytes(contents[0])
    for at, content in enumerate(contents):
        (tmp_path / str(at)).write_bytes(content)
    script = _REPLACED.replace("PLUGIN", str(ROOT / "plugins/slurm/whesl_placement.lua"))
    script = script.replace("TABLE", str(path)).replace("NOW", f"{NOW:.0f}")
    (tmp_path / "ask.lua").write_text(script)
    said = subprocess.run(
        [LUA, str(tmp_path / "ask.lua")],
        input="".join(f"{tmp_path / str(at)}\n" for at in (1, 2, 3, 4, 0)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split("\n") == ["n01", "n02", "", "n03", "", ""]


_KIND = """
if arg[1] == "without" then
   package.path, package.cpath = "", ""
end
local M = dofile("PLUGIN")
M.path, M.now = "TABLE", function() return NOW end
local job = { partitions = { "main" }, nodes = 1, cpus = 1, node_cpus = 1, memory = 0, features = {} }
local found = M.decide(job)
print(found and found.nodes or "", M.lacking or "")
"""


def _link_to_a_pipe(path: Path, table: Path) -> None:
    os.mkfifo(table.with_name("p"))
    path.symlink_to("p")


PLACES: dict[str, Callable[[Path, Path], object]] = {
    "a file": lambda path, table: path.write_bytes(table.read_bytes()),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a link to a pipe": _link_to_a_pipe,
    "a link to a file": lambda path, table: path.symlink_to(table),
    "a device": lambda path, _: path.symlink_to("/dev/zero"),
    "a terminal": lambda path, _: path.symlink_to("/dev/ptmx"),
    "a directory": lambda path, _: path.mkdir(),
    "nothing": lambda *_: None,
}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("posix", ["with", "without"])
@pytest.mark.parametrize("lua", LUAS)
def test_only_a_file_is_opened(lua: str, posix: str, kind: str, tmp_path: Path) -> None:
    """Without lua-posix a pipe was opened: slurmctld waited for ever for who would write to it.

    It was seen with Slurm 24.05 and 26.05, built with a Lua for which lua-posix was not there.
    """
    (tmp_path / "good").write_bytes(plugin_file.encode(looked(cluster(), {"n01": 0.9})))
    PLACES[kind](tmp_path / "table", tmp_path / "good")
    script = _KIND.replace("PLUGIN", str(ROOT / "plugins/slurm/whesl_placement.lua"))
    script = script.replace("TABLE", str(tmp_path / "table")).replace("NOW", f"{NOW:.0f}")
    (tmp_path / "ask.lua").write_text(script)
    command = [lua, str(tmp_path / "ask.lua"), posix]
    nodes, _, lacking = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=60
    ).stdout.partition("\t")
    if posix == "without":
        assert "lua-posix is not installed for Lua 5." in lacking
    assert nodes == ("n01" if kind == "a file" and not lacking.strip() else "")


@given(st.lists(st.sampled_from([f"n{at}" for at in range(30)] + ["a", "b-1", "n01", "x9999999999999"])))
@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_jobs_mark_is_read_back(names: list[str]) -> None:
    decision = Decision(tuple(names), "said")
    text = plugin_file.mark(decision)
    found = plugin_file.marked(f"the site's own | {text}")
    assert found is not None
    assert expand(found) == tuple(names)
    assert plugin_file.marked("a comment") is None
