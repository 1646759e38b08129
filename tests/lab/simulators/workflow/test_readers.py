"""WfCommons and Standard Task Graphs: what is read, and what is said of bad input."""

from __future__ import annotations

import csv
import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alike import alike
from whesl.lab.readers import stg
from whesl.lab.readers.workflow_formats import from_wfcommons, read
from whesl.lab.reproductions.registry import Inputs, load
from whesl.lab.simulators.workflow.audit import audit
from whesl.lab.simulators.workflow.simulate import simulate
from whesl.lab.simulators.workflow.workload import workload
from whesl.model.errors import UsageError, WheslError
from whesl.placement.policies.list_scheduling import RANK_HYBD

# The first call compiles, on a busy machine for minutes.
pytestmark = pytest.mark.timeout(600)

WORKFLOWS = Path(__file__).parents[5] / "shared" / "data" / "workflows"
needs_data = pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="the directory of traces is not there")


def document() -> dict[str, Any]:
    """Two tasks: b reads 10 of the 12 bytes that a writes."""
    return {
        "name": "two",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    {
                        "name": "a",
                        "id": "a_1",
                        "parents": [],
                        "children": ["b_2"],
                        "inputFiles": ["i"],
                        "outputFiles": ["f", "g"],
                    },
                    {
                        "name": "b",
                        "id": "b_2",
                        "parents": ["a_1"],
                        "children": [],
                        "inputFiles": ["f", "i"],
                        "outputFiles": [],
                    },
                ],
                "files": [
                    {"id": "f", "sizeInBytes": 10},
                    {"id": "g", "sizeInBytes": 2},
                    {"id": "i", "sizeInBytes": 5},
                ],
            },
            "execution": {
                "makespanInSeconds": 7,
                "tasks": [{"id": "b_2", "runtimeInSeconds": 4.5}, {"id": "a_1", "runtimeInSeconds": 2}],
            },
        },
    }


def written(tmp_path: Path, content: Any, name: str = "w.json") -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_workflow_of_two_tasks(tmp_path: Path) -> None:
    found = read(written(tmp_path, document()))
    assert (found.name, found.tasks, found.runtime.tolist()) == ("two", ("a_1", "b_2"), [2.0, 4.5])
    assert (found.parent.tolist(), found.child.tolist(), found.size.tolist()) == ([0], [1], [10.0])


def test_the_format_before(tmp_path: Path) -> None:
    tasks = [
        {
            "name": "a",
            "id": "1",
            "runtime": 2,
            "parents": [],
            "files": [{"link": "output", "name": "f", "size": 10}],
        },
        {
            "name": "b",
            "id": "2",
            "runtimeInSeconds": 3,
            "parents": ["a"],
            "files": [{"link": "input", "name": "f", "sizeInBytes": 10}],
        },
    ]
    found = read(written(tmp_path, {"schemaVersion": "1.3", "workflow": {"tasks": tasks}}))
    assert (found.name, found.tasks, found.runtime.tolist(), found.size.tolist()) == (
        "w.json",
        ("a", "b"),
        [2, 3],
        [10],
    )


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "w.json.xz"
    path.write_bytes(lzma.compress(json.dumps(document()).encode()))
    assert len(read(path)) == 2
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(WheslError, match=r"cannot read .*w\.json\.xz"):
        read(path)


def cycle(text: dict[str, Any]) -> None:
    text["workflow"]["specification"]["tasks"][0]["parents"] = ["b_2"]


def unknown(text: dict[str, Any]) -> None:
    text["workflow"]["specification"]["tasks"][1]["parents"] = ["c"]


def untimed(text: dict[str, Any]) -> None:
    del text["workflow"]["execution"]["tasks"][0]["runtimeInSeconds"]


def negative(text: dict[str, Any]) -> None:
    text["workflow"]["execution"]["tasks"][0]["runtimeInSeconds"] = -1


def endless(text: dict[str, Any]) -> None:
    text["workflow"]["execution"]["tasks"][0]["runtimeInSeconds"] = 10**400


def twice(text: dict[str, Any]) -> None:
    text["workflow"]["specification"]["tasks"][1]["id"] = "a_1"


def shapeless(text: dict[str, Any]) -> None:
    text["workflow"]["specification"]["tasks"][1]["parents"] = [{"id": "a_1"}]


def empty(text: dict[str, Any]) -> None:
    text["workflow"]["specification"]["tasks"] = []


def without(text: dict[str, Any]) -> None:
    del text["workflow"]["execution"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cycle, r"w\.json: workflow\.specification\.tasks: a cycle: (a_1 -> b_2 -> a_1|b_2 -> a_1 -> b_2)"),
        (unknown, r"w\.json: workflow\.specification\.tasks\[1\]\.parents: task 'b_2': 'c' is no task of it"),
        (untimed, r"tasks\[1\]: task 'b_2': its run time is missing"),
        (negative, r"tasks\[1\]: task 'b_2': its run time is -1"),
        (endless, r"tasks\[1\]: task 'b_2': its run time is 1000"),
        (twice, r"tasks\[1\]: task 'a_1' is there twice"),
        (shapeless, r"tasks\[1\]\.parents: a list of names"),
        (empty, r"workflow\.specification\.tasks: there is no task"),
        (without, r"workflow\.execution: is not there"),
    ],
)
def test_bad_workflows_are_named(tmp_path: Path, change: Any, said: str) -> None:
    text = document()
    change(text)
    with pytest.raises(UsageError, match=said):
        read(written(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"workflow": {', r"w\.json:1:15: no JSON"),
        ("[]", "workflow: is not there"),
        pytest.param(f'{{"n": {"9" * 5000}}}', "no JSON that can be read: Exceeds the limit", id="long"),
        ("[" * 100_000, "no JSON|nested too deeply"),
        ('{"workflow": {"tasks": [3]}}', r"workflow\.tasks\[0\]: a task with 'name'"),
    ],
)
def test_what_is_no_workflow(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(written(tmp_path, content))


VALUES: list[Any] = [
    None,
    True,
    -1,
    2,
    float("nan"),
    "",
    "a_1",
    [],
    {},
    [3],
    ["a_1"],
    [{"id": "a_1"}],
    {"id": 3},
]


@given(st.data())
def test_no_document_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any part of a good document becomes any value: it is read, or a clear error."""
    text = document()
    part: Any = text
    while isinstance(part, dict | list) and part:
        key = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
        if data.draw(st.booleans()):
            part[key] = data.draw(st.sampled_from(VALUES))
            break
        part = part[key]
    path = written(tmp_path_factory.getbasetemp(), text)
    try:
        from_wfcommons(path)
    except UsageError as error:
        assert str(path) in str(error)


STG = """  2
  0  0  0
  1  5  1  0
  2  7  2  0 1   # a comment
  3  0  1  2
# CP Length : 12
"""


def test_a_standard_task_graph(tmp_path: Path) -> None:
    found = read(written(tmp_path, STG, "g.stg"))
    assert (found.tasks, found.runtime.tolist()) == (("0", "1", "2", "3"), [0, 5, 7, 0])
    assert list(zip(found.parent.tolist(), found.child.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 2),
        (2, 3),
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  2\n", "", r"g\.stg:1: the number of tasks is not there"),
        pytest.param("  2\n", f"{'9' * 5000}\n", r"g\.stg:1: the number of tasks is not there", id="long"),
        ("  2\n", "  3\n", r"g\.stg:5: 4 tasks, where 3 with an entry"),
        ("  1  5  1  0", "  1", r"g\.stg:3: task 1: no run time"),
        ("  1  5  1  0", "  1  x  1  0", r"g\.stg:3: task 1: run time 'x'"),
        ("  1  5  1  0", "  1  5  2  0", r"g\.stg:3: task 1: 1 predecessors, where 2"),
        ("  1  5  1  0", "  1  5  1  9", r"g\.stg:3: task 1: predecessor 9 is no task"),
        ("  1  5  1  0", "  1  5  1  2", r"g\.stg: a cycle: (1 -> 2 -> 1|2 -> 1 -> 2)"),
        ("  1  5  1  0", "  2  5  1  0", r"g\.stg:3: task 2 stands where task 1"),
    ],
)
def test_bad_graphs_are_named_by_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(written(tmp_path, STG.replace(old, new, 1), "g.stg"))


@given(st.text(alphabet="0123 \n#.-x", max_size=60))
def test_no_text_breaks_the_reader_of_graphs(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = written(tmp_path_factory.getbasetemp(), text, "g.stg")
    try:
        stg.read(path)
    except UsageError as error:
        assert "g.stg" in str(error)


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no workflow\n  hint: accepted are WfCommons"):
        read(written(tmp_path, "", "w.dax"))
    with pytest.raises(WheslError, match="cannot read"):
        read(tmp_path / "none.stg")


@pytest.mark.slow
@needs_data
def test_all_instances_of_wfcommons_load_and_run() -> None:
    """Edges as counted; each runs on four nodes, in no less time than its work needs there."""
    paths = sorted((WORKFLOWS / "wfinstances").glob("*.json.xz"))
    assert len(paths) == 41
    edges = {}
    for path in paths:
        found = read(path)
        edges[path.name.removesuffix(".json.xz")] = (len(found), len(found.parent))
        tasks = workload([found], np.ones(4), 1e9, [0.0])
        outcome = simulate(tasks, RANK_HYBD)
        assert outcome.makespan[0] >= found.runtime.sum() / 4 - 1e-6
    assert edges["bwa-chameleon-medium-001"] == (1004, 4000)
    assert edges["rnaseq-dirt02-001"] == (197, 451)
    assert edges["montage-chameleon-2mass-05d-001"] == (1738, 4698)


def graphs_of_stg() -> dict[str, str]:
    """Return the text of each graph by ``tasks/file``."""
    found = {}
    for tasks, name in (("50", "stg-50.tar.xz"), ("100", "stg-100-rand0000-0089.tar.xz")):
        with tarfile.open(WORKFLOWS / name) as archive:
            for member in archive.getmembers():
                file = archive.extractfile(member)
                if file is not None and member.name.endswith(".stg"):
                    found[f"{tasks}/{Path(member.name).name}"] = file.read().decode()
    return found


@needs_data
@pytest.mark.parametrize("third", alike(range(3)))
def test_optimal_makespans_are_never_beaten(tmp_path: Path, third: int) -> None:
    optima = list(csv.DictReader(io.StringIO((WORKFLOWS / "stg-optimal-makespans.csv").read_text())))
    texts = graphs_of_stg()
    assert (len(texts), len(optima)) == (270, 1080)
    read_once: dict[str, Any] = {}
    optimal = 0
    for row in optima[third::3]:
        key = f"{row['tasks']}/{row['instance']}"
        if key not in read_once:
            read_once[key] = read(written(tmp_path, texts[key], "g.stg"))
        tasks = workload([read_once[key]], np.ones(int(row["processors"])), 1.0, [0.0])
        outcome = simulate(tasks, RANK_HYBD)
        if int(row["instance"][4:8]) % 30 == 0:
            audit(tasks, None, outcome)
        assert outcome.makespan[0] >= float(row["optimal_makespan"]), row
        optimal += outcome.makespan[0] == float(row["optimal_makespan"])
    assert optimal > 233


@needs_data
def test_the_experiment_on_optimal_makespans() -> None:
    found = load("stg").run(Inputs(data=WORKFLOWS.parent, quick=True))
    assert [finding.holds for finding in found.findings] == [True]
    assert found.values["RANK_HYBD"]["of"] >= 20
