"""Graphs of Makeflow and Cylc: read as their own programs do, wrapped, given back byte for byte."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.environments import environment
from tests.managers.table import by_name
from tests.managers.workflow.test_run import Place
from tests.managers.workflow.test_run import place as running
from whesl.managers.workflow import manager, recognise
from whesl.managers.workflow.cylc import flow
from whesl.managers.workflow.makeflow.manager import Makeflow
from whesl.managers.workflow.port import FluxifyOptions
from whesl.model.errors import UsageError

OPTIONS = FluxifyOptions(program=("whesl",), workflow="w", spec="/s.json", home="/h")
FLOW = """\
[scheduling]
    initial cycle point = 1
    final cycle point = 2
    [[graph]]
        P1 = make => use
        +P1/P1 = use[-P1] => make
[runtime]
    [[make]]
        script = sh "/p/make.sh" it's # as ever
        execution time limit = PT1M
    [[use]]
        script = '''
            echo "$(cat made)"
            script = 1
        '''
        [[[environment]]]
            X = "script = 2"
"""
REFERENCE = """\
edge "1/make" "1/use"
edge "1/use" "2/make"
edge "2/make" "2/use"
graph
node "1/make" "make\\n1"
node "1/use" "use\\n1"
node "2/make" "make\\n2"
node "2/use" "use\\n2"
stop
"""
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE WORKFLOW_LEVEL
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE EXCEPTION FULL WORKFLOW_LEVEL JOB [make] LIMIT 1
EXCEPTION DETECTION FULL LOG "No space left on device" output
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
"""
# The second task writes into the file system that the first one has left, by a name that only it knows.
MAKE = '[ "$WHESL_RESTART_COUNT" != 0 ] || { echo No space left on device; exit 1; }; echo 7 > "$1"\n'


def rule(command: str, outputs: list[str], *inputs: str, **more: str) -> dict[str, object]:
    return {"command": command, "outputs": outputs, "inputs": list(inputs), **more}


def test_makeflows_rules_wait_for_those_that_write_what_they_read(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    rules = [
        rule("a > 'x y'", ["x y.dat", "log"]),
        rule("b", ["1.out"], "x y.dat", "given", category="run"),
        rule("b", ["2.out"], "log", "x y.dat", category="run"),
        rule("c", ["end"], "1.out", "2.out"),
    ]
    file.write_text(json.dumps({"rules": rules}))
    found = recognise(str(file)).read([str(file)])
    parents = {task.name: [parent.partition("/")[2] for parent in task.parents] for task in found.tasks}
    assert parents == {
        "x-y": [],
        "run_1.out": ["x-y"],
        "run_2.out": ["x-y"],
        "end": ["run_1.out", "run_2.out"],
    }


def test_all_that_makeflow_would_refuse_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "study.json"
    file.write_text(json.dumps({"rules": [rule("a", ["x"]), rule("b", ["x"]), {"outputs": ["y"]}]}))
    with pytest.raises(UsageError) as caught:
        Makeflow().read([str(file)])
    assert "rules 1 and 2 both write x" in str(caught.value)
    assert "rule 3 (y) has no 'command'" in str(caught.value)


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0")), min_size=1))
def test_any_command_of_makeflow_comes_back_as_it_was(commands: list[str]) -> None:
    made = Makeflow()
    text = json.dumps({"rules": [rule(command, [f"{i}"]) for i, command in enumerate(commands)]}, indent=3)
    path = Path("study.json")
    wrapped = made.fluxify(text, path, OPTIONS).text
    for one, command in zip(json.loads(wrapped)["rules"], commands, strict=True):
        assert shlex.split(one["command"])[-3:] == ["/bin/sh", "-c", command]
    assert made.fluxify(wrapped, path, OPTIONS).text == wrapped
    assert made.undo(wrapped, path) == text


def test_cylcs_graph_is_the_one_that_it_prints() -> None:
    assert flow.graph(REFERENCE) == {
        ("make", "1"): (),
        ("use", "1"): (("make", "1"),),
        ("make", "2"): (("use", "1"),),
        ("use", "2"): (("make", "2"),),
    }


def test_scripts_of_cylc_are_wrapped_and_nothing_else() -> None:
    path = Path("flow.cylc")
    wrapped = manager("cylc").fluxify(FLOW, path, OPTIONS).text
    assert wrapped.count("whesl exec") == 2
    assert '--step "$CYLC_TASK_NAME" --instance "$CYLC_TASK_CYCLE_POINT"' in wrapped
    assert 'X = "script = 2"\n' in wrapped
    assert manager("cylc").fluxify(wrapped, path, OPTIONS).text == wrapped
    assert manager("cylc").undo(wrapped, path) == FLOW


@given(
    st.lists(
        st.sampled_from(
            [
                "[runtime]\n",
                "[[a]]\n",
                "script = x\n",
                "script = '''\n",
                "'''\n",
                '"""\n',
                "  script=\\\n",
                'y = """a\n',
                "# script = z\n",
                'script = "b" # c\n',
                "end",
            ]
        )
    )
)
def test_any_flow_comes_back_as_it_was(lines: list[str]) -> None:
    text = "[scheduling]\n" + "".join(lines)
    try:
        wrapped = flow.wrap(text, "whesl exec --", "flow.cylc")
    except UsageError:
        return
    assert flow.unwrap(wrapped, "flow.cylc") == text


__all__ = ["running"]  # a fixture


@pytest.fixture
def place(running: Place) -> Place:
    for name in ("study", "small", "large"):
        (running.directory / name).mkdir()
    running.write("make.sh", MAKE)
    paths = {"filesystem": str(running.directory / "large"), "defaultpath": str(running.directory / "small")}
    running.write("rules.esl", RULES % json.dumps(paths))
    return running


def moved(place: Place, file: Path) -> None:
    """Run a workflow whose first task loses its file system; check where the second one wrote."""
    status, output, errors = place.run(str(file))
    log = "".join(each.read_text() for each in place.home.glob("workflows/*/manager.log"))
    assert status == 0, output + errors + log
    report = place.report()
    assert sorted(task["step"] for task in report["tasks"]) == ["make", "use"]
    assert {task["state"] for task in report["tasks"]} == {"completed"}
    assert [row["outcome"] for row in report["exceptions"]] == ["recovered"]
    (used,) = (place.directory / "large").rglob("used.txt")
    assert used.read_text().split() == ["7"]


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.variant
def test_a_task_of_makeflow_is_told_of_another_path_before_it_starts(place: Place) -> None:
    if not shutil.which("makeflow"):
        pytest.skip("Makeflow is not installed: apt install coop-computing-tools")
    small = place.directory / "small"
    file = place.directory / "study" / "flow.json"
    make = rule(f"sh {place.directory}/make.sh {small}/made.txt && echo > make", ["make"])
    use = rule(f"cat {small}/made.txt > {small}/used.txt && echo > use", ["use"], "make")
    file.write_text(json.dumps({"rules": [make, use]}))
    moved(place, file)


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.variant
def test_a_task_of_cylc_is_told_of_another_path_before_it_starts(place: Place) -> None:
    installed = environment(*by_name("Cylc").packages)
    small = place.directory / "small"
    place.environment |= {"HOME": str(place.directory), "PATH": f"{place.environment['PATH']}:{installed}"}
    place.write(".profile", f"PATH={place.environment['PATH']}\n")  # login shells begin with another one
    file = place.directory / "study" / "flow.cylc"
    file.write_text(
        "[scheduling]\n    cycling mode = integer\n    initial cycle point = 1\n    final cycle point = 1\n"
        "    [[graph]]\n        R1 = make => use\n[runtime]\n"
        f"    [[make]]\n        script = sh {place.directory}/make.sh {small}/made.txt\n"
        '    [[use]]\n        script = """\n'
        f'            cat {small}/made.txt > {small}/used.txt\n        """\n'
    )
    listed = subprocess.run(
        [installed / "cylc", "graph", "--reference", file.parent],
        env=place.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert flow.graph(listed.stdout) == {("make", "1"): (), ("use", "1"): (("make", "1"),)}
    moved(place, file)
