"""JOB operations, with real commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.operations.builders import NODES, context, evidence, step
from whesl.language.compiler.operation_signatures import mebibytes
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Evidence
from whesl.model.outcomes import StepOutcome
from whesl.model.pathmap import PathMap
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.recovery_step_execution import HostPorts, execute


def run(name: str, arguments: dict[str, Any], *items: Evidence, given: Context | None = None) -> StepResult:
    given = given or context(workspace="/")
    return execute(step(name, arguments, *items, given=given), given, HostPorts(Path("/nonexistent")))


def test_replace_changes_what_it_names_and_nothing_else() -> None:
    present = Configuration(version=2, environment={"KEPT": "1"}, time_limit=10.0)
    given = context(configuration=present)
    result = run(
        "JOB.REPLACE", {"command": "app --small", "environment": {"T": 4, "GONE": None}}, given=given
    )
    made = result.configuration
    assert made is not None
    assert made.command == ("app", "--small")
    assert made.environment == {"KEPT": "1", "T": "4", "GONE": ""}
    assert (made.time_limit, made.nodes, made.workdir, made.version) == (10.0, None, None, 3)
    assert "command, environment" in result.note
    made = run("JOB.REPLACE", {"time": 90, "workdir": "/x/"}, given=given).configuration
    assert made is not None and (made.time_limit, made.workdir, made.command) == (90.0, "/x", None)


def test_words_behind_a_command() -> None:
    small = run("JOB.REPLACE", {"command_append": "--batch 32"}).configuration
    assert small is not None and (small.command, small.append) == (None, ("--batch", "32"))
    kept = run("JOB.REPLACE", {"nodes": 2}, given=context(configuration=small)).configuration
    assert kept is not None and kept.append == ("--batch", "32")
    other = run("JOB.REPLACE", {"command": ["safe"]}, given=context(configuration=small)).configuration
    assert other is not None and (other.command, other.append) == (("safe",), ())


@pytest.mark.parametrize(
    ("text", "size"),
    [("64G", 65536), ("1.5 GB", 1536), ("900", 900), ("1T", 2**20), ("1K", 1), ("0", None), ("G", None)],
)
def test_sizes(text: str, size: int | None) -> None:
    assert mebibytes(text) == size


def test_replace_with_another_number_of_nodes() -> None:
    fewer = run("JOB.REPLACE", {"nodes": 2})
    assert fewer.nodes is not None
    assert (fewer.nodes.active, fewer.nodes.spares) == (("n01", "n02"), ("n04", "n05", "n03"))
    more = run("JOB.REPLACE", {"nodes": 4}, given=context(silent=("n04",)))
    assert more.nodes is not None and more.nodes.active == ("n01", "n02", "n03", "n05")
    assert more.configuration is not None and more.configuration.nodes == 4
    with pytest.raises(RecoveryError, match="9 nodes are wanted") as raised:
        run("JOB.REPLACE", {"nodes": 9})
    assert raised.value.reason == "spares-exhausted"
    with pytest.raises(RecoveryError, match="not enough"):
        run("JOB.REPLACE", {"nodes": 0})
    assert run("JOB.REPLACE", {"nodes": 3}).nodes is None


def test_add_runs_a_command_with_the_evidence_in_its_environment(tmp_path: Path) -> None:
    program = "import os, sys; open(sys.argv[1], 'w').write('|'.join(os.environ[n] for n in sys.argv[2:]))"
    names = ["WHESL_CAPTURE_RANK", "WHESL_CAPTURE_NODE", "WHESL_STEP_ID", "WHESL_NODELIST", "DATA"]
    new = tmp_path / "new"
    new.mkdir()
    given = context(
        workspace="/old",
        configuration=Configuration(
            path_map=PathMap().with_rule("/old", str(new)), environment={"DATA": "/old/d"}
        ),
    )
    item = evidence("x", captures={"rank": "3; rm"}, node="n02")
    result = run(
        "JOB.ADD", {"command": [sys.executable, "-c", program, "/old/out", *names]}, item, given=given
    )
    assert result.outcome is StepOutcome.CONTINUE and result.configuration is None
    expected = f"3; rm|n02|w/step_1#1.0|{','.join(NODES.active)}|{new}/d"
    assert (new / "out").read_text() == expected


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sh", "-c", "echo first; echo the reason >&2; exit 3"], "sh ended with status 3: the reason"),
        (["sh", "-c", "kill -9 $$"], "signal 9"),
        (["/nonexistent/command"], "could not be started"),
        (["sleep", "600"], "did not end within 0.2 s"),
    ],
)
def test_add_that_fails_makes_the_recovery_fail(command: list[str], said: str) -> None:
    with pytest.raises(RecoveryError, match=said):
        run("JOB.ADD", {"command": command, "timeout": 0.2 if command[0] == "sleep" else 60})


def test_add_keeps_only_the_end_of_much_output() -> None:
    noisy = "import sys\nfor n in range(200000): print(n)\nsys.stdout.flush()\nsys.exit('last words')"
    with pytest.raises(RecoveryError, match="last words"):
        run("JOB.ADD", {"command": [sys.executable, "-c", noisy]})


def test_remove_skips_the_task() -> None:
    result = run("JOB.REMOVE", {"reason": "optional"})
    assert result.outcome is StepOutcome.SKIP
    assert result.configuration is not None and result.configuration.skip
    assert "optional" in result.note


def test_a_damaged_plan_is_refused() -> None:
    made = step("JOB.ADD", {"command": ["true"]})
    damaged = PlanStep(
        id=made.id,
        resource=made.resource,
        operation=made.operation,
        arguments={"command": "true"},
        raised=made.raised,
    )
    with pytest.raises(RecoveryError, match="command"):
        execute(damaged, context(), HostPorts(Path("/nonexistent")))
