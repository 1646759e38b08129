"""The health check of nodes before a restart: what nodes tell, which are unfit, and real probes."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.isolator.test_nodes import Cluster, cluster, until  # noqa: F401  # a fixture
from whesl import language
from whesl.managers.resource.port import StepRequest
from whesl.managers.workflow.port import spares_by_step
from whesl.model.allocation_nodes import NodeSet
from whesl.model.errors import RefusedError
from whesl.model.workflow import Task, Workflow
from whesl.runtime.node_health import handler
from whesl.runtime.node_health.judgement import Facts, replaced, unfit

NODES = NodeSet(active=("n01", "n02"), spares=("n03", "n04"))


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ([Facts(), Facts()], {}),
        (
            [Facts(problems=("/tmp: No space left on device",)), Facts()],
            {"n0": "/tmp: No space left on device"},
        ),
        ([Facts(gpus=4), Facts(gpus=3), Facts(gpus=4)], {"n1": "3 GPUs, most nodes have 4"}),
        ([Facts(links=2), Facts(links=2), Facts(links=1)], {"n2": "1 network links, most nodes have 2"}),
        ([Facts(gpus=4), Facts(gpus=8)], {}),
        ([Facts(gpus=4), Facts(gpus=4), Facts(gpus=8)], {}),
        (["no answer within 30 s", Facts()], {"n0": "no answer within 30 s"}),
        ([], {}),
    ],
)
def test_who_is_not_fit(told: list[Facts | str], found: dict[str, str]) -> None:
    assert unfit({f"n{number}": one for number, one in enumerate(told)}) == found


@pytest.mark.parametrize(
    ("bad", "active", "lost", "missing"),
    [
        ((), ("n01", "n02"), (), ()),
        (("n02",), ("n01", "n03"), ("n02",), ()),
        (("n03", "n01"), ("n04", "n02"), ("n03", "n01"), ()),
        (("n01", "n02", "n03"), ("n04", "n02"), ("n03", "n01"), ("n02",)),
        (("n03",), ("n01", "n02"), ("n03",), ()),
    ],
)
def test_fit_spares_take_the_places(bad: Any, active: Any, lost: Any, missing: Any) -> None:
    after = replaced(NODES, dict.fromkeys(bad, "broken"))
    assert (after.nodes.active, after.nodes.lost, after.missing) == (active, lost, missing)
    assert sorted(after.nodes.all) == sorted(NODES.all)


class _Step:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid, self._process = process.pid, process

    def poll(self) -> int | None:
        return self._process.poll()


class _Nodes:
    """Nodes of which each step is a process here, with the node's name."""

    def __init__(self, refused: tuple[str, ...] = (), failing: tuple[str, ...] = ()) -> None:
        self.refused, self.failing = refused, failing

    def launch(self, request: StepRequest) -> _Step:
        (node,) = request.nodes
        if node in self.refused:
            raise RefusedError(f"{node} takes no step")
        command = (
            ["sh", "-c", "echo 'Socket timed out' >&2; exit 1"] if node in self.failing else request.command
        )
        with Path(request.output).open("ab") as output, Path(request.error).open("ab") as error:
            environment = {**os.environ, "NODE": node}
            return _Step(
                subprocess.Popen(
                    command, env=environment, stdout=output, stderr=error, cwd="/", start_new_session=True
                )
            )

    def signal(self, step: _Step, signum: int) -> None:
        assert signum == signal.SIGKILL
        os.killpg(step.pid, signum)


def _checked(
    monkeypatch: pytest.MonkeyPatch,
    place: Path,
    nodes: _Nodes,
    check: str,
    unusable: tuple[str, ...] = (),
    **arguments: Any,
) -> dict[str, Any]:
    monkeypatch.setenv("WHESL_HOME", str(place / "home"))
    monkeypatch.setattr(handler, "current_allocation", lambda _: nodes)
    script = place / "check"
    script.write_text(f"#!/bin/sh\n{check}\n")
    script.chmod(0o755)
    request = {
        "step": {"arguments": {"check": str(script), **arguments}},
        "nodes": {"active": ["n01", "n02"], "spares": ["n03", "n04"], "lost": [], "swapped": {}},
        "unusable": list(unusable),
        "workspace": str(place),
    }
    return handler.handle(request)


def test_nodes_that_fail_their_check_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = 'case $NODE in n02|n03) echo "fan is broken" >&2; exit 3;; esac'
    answer = _checked(monkeypatch, tmp_path, _Nodes(), check)
    assert answer["outcome"] == "continue"
    assert list(answer["node_set"]["active"]) == ["n01", "n04"]
    assert [(one["node"], one["reason"].partition(tmp_path.name)[2]) for one in answer["bad_nodes"]] == [
        ("n02", "/check ended with status 3: fan is broken"),
        ("n03", "/check ended with status 3: fan is broken"),
    ]
    assert answer["note"] == "4 nodes checked; n02, n03 unfit"
    assert not list((tmp_path / "home").glob("health-*"))


def test_a_check_that_hangs_is_ended_and_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = '[ "$NODE" != n01 ] || exec sleep 600'
    answer = _checked(monkeypatch, tmp_path, _Nodes(), check, timeout=5.0)
    assert list(answer["node_set"]["active"]) == ["n03", "n02"]
    assert answer["bad_nodes"][0]["reason"] == "check: no answer within 5 s"


def test_what_could_not_be_asked_stays_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = _checked(monkeypatch, tmp_path, _Nodes(refused=("n01",), failing=("n02",)), "exit 0")
    assert list(answer["node_set"]["active"]) == ["n01", "n02"] and not answer["bad_nodes"]
    assert answer["note"] == "2 nodes checked; n01, n02 could not be asked"
    silent = _checked(monkeypatch, tmp_path, _Nodes(), "sleep 600", timeout=0.5)
    assert silent["outcome"] == "continue" and not silent["bad_nodes"], "the resource manager may be busy"


def test_spares_that_cannot_be_taken_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent spare, or one that another task uses, was put in an unfit node's place."""
    answer = _checked(monkeypatch, tmp_path, _Nodes(), '[ "$NODE" != n02 ]', unusable=("n03",))
    assert list(answer["node_set"]["active"]) == ["n01", "n04"]
    assert list(answer["node_set"]["spares"]) == ["n03"]
    assert answer["note"] == "3 nodes checked; n02 unfit"


@pytest.mark.parametrize("without", ["escalate", "continue"])
def test_too_few_fit_spares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    answer = _checked(monkeypatch, tmp_path, _Nodes(), '[ "$NODE" = n04 ]', without=without)
    assert answer["outcome"] == without
    assert list(answer["node_set"]["active"]) == ["n04", "n02"]
    assert answer["note"] == "4 nodes checked; n01, n02, n03 unfit; n02 without a fit spare"


RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE HEALTH[CHECK HANDLER "node-health"]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app]
EXCEPTION DETECTION CRASH EXIT CODE 9
EXCEPTION RECOVERY STEP CRASH JOB HEALTH.CHECK {"check": "%s"}
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""


def test_jobs_whose_nodes_are_checked_have_spares() -> None:
    """``whesl run --spares 1`` asked for no spare where only the handler replaces nodes."""
    spec = language.parse((RULES % "/check").encode(), "rules.esl").spec
    assert spec is not None
    tasks = tuple(Task(id=f"w/{name}", step=name, nodes=2) for name in ("app", "other"))
    workflow = Workflow(id="w", name="w", wms="batch", root="/w", tasks=tasks)
    assert spares_by_step(spec, workflow, 1) == {"app": 1}


@pytest.mark.slow
def test_a_restart_leaves_an_unfit_node(cluster: Cluster, tmp_path: Path) -> None:  # noqa: F811  # the fixture
    check = tmp_path / "check"
    check.write_text('#!/bin/sh\n[ "$SLURMD_NODENAME" != n02 ]\n')
    check.chmod(0o755)
    ranks = "srun sh -c 'echo attempt $WHESL_RESTART_COUNT on $SLURMD_NODENAME'"
    cluster.submit(f"{ranks}\n[ $WHESL_RESTART_COUNT = 1 ] || exit 9", text=RULES % check)
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    assert "status 0" in cluster.text()
    ran = sorted(line for line in cluster.text().splitlines() if line.startswith("attempt"))
    assert ran == ["attempt 0 on n01", "attempt 0 on n02", "attempt 1 on n01", "attempt 1 on n03"]
