"""Custom handlers as real processes: the documented example, and everything that can be wrong with one."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.runtime.operations.builders import NODES, NOW, context, evidence, raised, spec, step
from tests.waiting import until
from whesl.model.evidence import Evidence
from whesl.model.outcomes import StepOutcome
from whesl.model.workflow import BadNode
from whesl.runtime.operations.custom_handlers import request
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult, make_plan
from whesl.runtime.operations.recovery_step_execution import HostPorts, execute

ROOT = Path(__file__).parents[3]
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a maker of executable Python handlers."""

    def make(body: str) -> str:
        path = tmp_path / "handler.py"
        path.write_text(f"#!{sys.executable}\n{body}")
        path.chmod(0o755)
        return str(path)

    return make


def run(
    handler: str,
    arguments: dict[str, Any] | None = None,
    *items: Evidence,
    given: Context | None = None,
    log: Path | None = None,
) -> StepResult:
    given = given or context()
    made = step("NODE.REPLACE", arguments or {}, *items, given=given, handler=handler)
    if log is None:
        return execute(made, given, HostPorts(Path("/nonexistent")))
    with log.open("ab") as file:
        return execute(made, given, HostPorts(Path("/nonexistent"), log=file))


def answering(answer: object) -> str:
    return f"import sys\nsys.stdin.read()\nsys.stdout.write({json.dumps(answer)!r})\n"


def test_the_documented_example(tmp_path: Path) -> None:
    """What docs/handlers.md shows is what runs here."""
    page = (ROOT / "docs" / "handlers.md").read_text()
    (example,) = re.findall(r"```python\n(#!/usr/bin/env python3\n.*?)```", page, re.DOTALL)
    path = tmp_path / "quarantine"
    path.write_text(example.replace("#!/usr/bin/env python3", f"#!{sys.executable}", 1))
    path.chmod(0o755)
    log = tmp_path / "log"
    result = run(
        str(path),
        {"directory": str(tmp_path / "seen"), "keep": 2},
        evidence("srun: error: Node failure on n02"),
        log=log,
    )
    assert result.outcome is StepOutcome.CONTINUE
    assert result.nodes is not None and result.nodes.active == ("n01", "n04", "n03")
    assert result.configuration is not None
    assert result.configuration.environment == {"APP_AVOID": "n02"}
    assert [bad.node for bad in result.bad_nodes] == ["n02"]
    assert [path.name for path in (tmp_path / "seen").iterdir()] == ["w_step_1#1.0"]
    assert "n02" in log.read_text()
    (answer,) = re.findall(r"```json\n(\{\n  \"outcome\".*?)```", page, re.DOTALL)
    shown = run_answer(tmp_path, json.loads(answer))
    assert shown.outcome is StepOutcome.CONTINUE


def run_answer(tmp_path: Path, answer: object) -> StepResult:
    path = tmp_path / "answer.py"
    path.write_text(f"#!{sys.executable}\n{answering(answer)}")
    path.chmod(0o755)
    return run(str(path))


def test_the_documented_request_has_the_real_fields() -> None:
    page = (ROOT / "docs" / "handlers.md").read_text()
    (shown,) = re.findall(r"```json\n(\{\n  \"version\".*?)```", page, re.DOTALL)
    real = json.loads(msgspec.json.encode(request(step("NODE.REPLACE"), context(nodes=NODES.replace("n02")))))

    def shape(value: Any) -> Any:
        return {key: shape(item) for key, item in value.items()} if isinstance(value, dict) else None

    documented = json.loads(shown)
    for free in (documented, real):  # these have keys of the user's own
        free["step"]["arguments"] = free["nodes"]["swapped"] = None
        free["configuration"]["environment"] = None
        free["evidence"] = free["evidence"][0] | {"captures": None}
    assert shape(documented) == shape(real)


def test_spares_come_in_the_order_in_which_they_are_taken() -> None:
    """A handler that took the first spare took one that was known as bad, or silent."""
    bad = BadNode(node="n04", reason="flaky", task="w/other_1", time=NOW, expires=NOW + 60)
    asked = request(step("NODE.REPLACE"), context(bad_nodes=(bad,)))
    assert asked["nodes"]["spares"] == ("n05", "n04") and asked["unusable"] == []
    asked = request(step("NODE.REPLACE"), context(silent=("n04",)))
    assert asked["nodes"]["spares"] == ("n05", "n04") and asked["unusable"] == ["n04"]


def test_what_a_handler_changes(tmp_path: Path) -> None:
    result = run_answer(
        tmp_path,
        {
            "outcome": "continue",
            "note": "done",
            "configuration": {
                "path_map": {"/a": "/b"},
                "environment": {"X": "1", "Y": None},
                "command": ["app", "--safe"],
                "nodes": 2,
                "time_limit": 30,
                "workdir": "/w",
                "excluded_nodes": ["n09"],
            },
            "bad_nodes": [{"node": "n09", "reason": "slow", "expires": 60}],
            "signal": 10,
        },
    )
    configuration = result.configuration
    assert configuration is not None and result.dependents is not None
    assert configuration.path_map == result.dependents.path_map
    assert configuration.environment == {"X": "1", "Y": ""}
    assert (configuration.command, configuration.nodes, configuration.time_limit) == (
        ("app", "--safe"),
        2,
        30,
    )
    assert (configuration.workdir, configuration.excluded_nodes, configuration.version) == ("/w", ("n09",), 1)
    assert [bad.expires for bad in result.bad_nodes] == [NOW + 60]
    assert (result.signal, result.note, result.nodes) == (10, "done", None)


@pytest.mark.parametrize("outcome", ["continue", "skip", "pause", "fail", "escalate"])
def test_outcomes(tmp_path: Path, outcome: str) -> None:
    result = run_answer(tmp_path, {"outcome": outcome})
    assert result.outcome is StepOutcome(outcome)
    assert (result.configuration is not None and result.configuration.skip) == (outcome == "skip")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, "outcome"),
        ({"outcome": "perhaps"}, "perhaps"),
        ({"outcome": "continue", "extra": 1}, "extra"),
        ({"outcome": "continue", "configuration": {"version": 9}}, "version"),
        ({"outcome": "continue", "configuration": {"path_map": {"a": "/b"}}}, "absolute"),
        ({"outcome": "continue", "configuration": {"workdir": "../x"}}, "absolute"),
        ({"outcome": "continue", "configuration": {"command": []}}, "empty"),
        ({"outcome": "continue", "configuration": {"nodes": 0}}, "at least 1"),
        ({"outcome": "continue", "node_set": {"active": ["n01"]}}, "exactly once"),
        ({"outcome": "continue", "node_set": {"active": [], "spares": [*NODES.all]}}, "no node"),
        (
            {"outcome": "continue", "node_set": {"active": ["n01", "n01", "n03"], "spares": ["n04", "n05"]}},
            "once",
        ),
        ({"outcome": "continue", "signal": 99}, "signal"),
        ([], "object"),
    ],
)
def test_answers_that_are_refused(tmp_path: Path, answer: object, said: str) -> None:
    with pytest.raises(RecoveryError, match=said):
        run_answer(tmp_path, answer)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise SystemExit(3)", "status 3"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("print('not JSON')", "no valid answer"),
        ("", "no valid answer"),
        ("print('[' * 200000)", "no valid answer"),
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "more than"),
        ('import sys; sys.stdout.buffer.write(b\'{"outcome": "\\xff"}\')', "no valid answer"),
    ],
)
def test_handlers_that_misbehave(write: Write, body: str, said: str) -> None:
    with pytest.raises(RecoveryError, match=said) as refused:
        run(write(body), {"handler_timeout": 30})
    assert refused.value.reason == "handler-failed"


def test_a_handler_that_hangs_is_killed_with_its_children(write: Write, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    body = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(pids)!r} + ".new", "w").write(f"{{os.getpid()}} {{child.pid}}")
os.rename({str(pids)!r} + ".new", {str(pids)!r})
time.sleep(600)
"""
    handler = write(body)

    def hung() -> bool:
        """Once more if it was killed before it had come to anything, as on a busy machine."""
        with pytest.raises(RecoveryError, match="did not end within 2 s"):
            run(handler, {"handler_timeout": 2})
        return pids.exists()

    until(hung, "it hangs", 60)
    for pid in map(int, pids.read_text().split()):
        assert gone(pid)


def gone(pid: int) -> bool:
    """Whether a process is over, or will be before the deadline (init reaps orphans)."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_grandchild_that_keeps_the_pipe_does_not_delay_the_answer(write: Write, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(pid)!r}, "w").write(str(child.pid))
print('{{"outcome": "continue"}}')
"""
    assert run(write(body)).outcome is StepOutcome.CONTINUE
    assert gone(int(pid.read_text()))


def test_a_handler_that_does_not_read_a_long_request(write: Write) -> None:
    given = context(environment={})
    long = evidence("x" * 4096, detail="y" * (1 << 20))
    assert run(write('print(\'{"outcome": "pause"}\')'), {}, long, given=given).outcome is StepOutcome.PAUSE


def test_what_it_finds_in_its_environment(write: Write, tmp_path: Path) -> None:
    names = ("ID", "RESOURCE", "OPERATION", "TASK", "EXCEPTION")
    path = tmp_path / "seen"
    body = (
        f"import os\nnames = {names}\n"
        f"open({str(path)!r}, 'w').write(' '.join(os.environ['WHESL_STEP_' + n] for n in names))\n"
    )
    run(write(body + answering({"outcome": "continue"})))
    assert path.read_text() == "w/step_1#1.0 NODE REPLACE w/step_1 E"


def test_a_resource_of_one_s_own(write: Write) -> None:
    """It is planned and carried out as the built-in ones are, with arguments of its own."""
    handler = write(answering({"outcome": "continue", "configuration": {"environment": {"SEATS": "2"}}}))
    made = step("LICENSE.RENEW", {"seats": 2, "for": "${task}"}, handler=handler)
    assert (made.name, made.arguments) == ("LICENSE.RENEW", {"seats": 2, "for": "w/step_1"})
    result = execute(made, context(), HostPorts(Path("/nonexistent")))
    assert result.configuration is not None and result.configuration.environment == {"SEATS": "2"}


def test_a_resource_of_one_s_own_without_a_handler_is_refused() -> None:
    """No text says so: it would come from a journal, or from another program's JSON."""
    with pytest.raises(RecoveryError, match=r"LICENSE\.RENEW is not built in, and has no handler"):
        step("LICENSE.RENEW", {})
    odd = msgspec.structs.replace(step("NODE.REPLACE"), resource="LICENSE")
    with pytest.raises(RecoveryError, match="is not built in"):
        execute(odd, context(), HostPorts(Path("/nonexistent")))


def test_the_request_arrives_whole(write: Write, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    keep = f"import sys\nopen({str(seen)!r}, 'w').write(sys.stdin.read())\n"
    body = keep + 'print(\'{"outcome": "continue"}\')'
    item = evidence("line é", captures={"rank": "3"}, detail="d" * 300_000)
    run(write(body), {"n": "${rank}"}, item)
    document = json.loads(seen.read_text())
    assert document["step"]["arguments"] == {"n": "3"}
    assert document["step"]["id"] == "w/step_1#1.0"
    assert document["evidence"][0]["detail"] == "d" * 300_000
    assert document["nodes"]["active"] == ["n01", "n02", "n03"]


@pytest.mark.parametrize("handler", ["/nonexistent/x", "relative/x", "no-such-entry-point"])
def test_handlers_that_do_not_exist(handler: str) -> None:
    with pytest.raises(RecoveryError, match=re.escape(handler)):
        run(handler)


def test_a_relative_path_is_taken_from_the_specification() -> None:
    specification = msgspec.structs.replace(
        spec(("NODE.REPLACE", {}), handler="./h"), file="/project/rules.esl"
    )
    assert make_plan(specification, raised(), context())[0].handler == "/project/./h"


@pytest.mark.parametrize("timeout", [0, -1, "soon", 1e9])
def test_a_senseless_timeout_is_refused(write: Write, timeout: object) -> None:
    with pytest.raises(RecoveryError, match="handler_timeout"):
        run(write("print()"), {"handler_timeout": timeout})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with two entry points, visible to this process and to children."""
    (tmp_path / "site_handlers.py").write_text(
        "def swap(request):\n"
        "    print('said while working')\n"
        "    return {'outcome': 'continue', 'note': request['step']['id']}\n"
        "def broken(request):\n"
        "    raise RuntimeError('why')\n"
    )
    (tmp_path / "site_program.py").write_text(
        "import json, sys\n"
        "assert json.load(sys.stdin)['version'] == 1\n"
        "print(json.dumps({'outcome': 'pause'}))\n"
    )
    info = tmp_path / "site_handlers-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: site-handlers\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[whesl.handlers]\nswap = site_handlers:swap\nbroken = site_handlers:broken\nprogram = site_program\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.usefixtures("installed")
def test_entry_points(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run("swap", log=log).note == "w/step_1#1.0"
    assert "said while working" in log.read_text()
    assert run("program", log=log).outcome is StepOutcome.PAUSE
    with pytest.raises(RecoveryError, match="status 1"):
        run("broken", log=log)
    assert "RuntimeError: why" in log.read_text()
    with pytest.raises(RecoveryError, match=r"known: .*broken.*swap"):
        run("unknown")
