"""What Flux says, in the port's words; and steps' command lines. No Flux needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whesl.managers.resource.flux import exec_steps, flux_command_output
from whesl.managers.resource.flux.scheduler import submission
from whesl.managers.resource.port import JobRequest, StepRequest
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError
from whesl.model.states import JobState, NodeState

NAMES = {0: "n01", 1: "n02", 2: "n03", 11: "n12"}
ENDED: dict[str, Any] = {
    "id": "f5",
    "token": "t",
    "name": "job",
    "state": "INACTIVE",
    "result": "COMPLETED",
    "ranks": "[0-1]",
    "nodelist": "n[01-02]",
    "waitstatus": 0,
    "t_submit": 1.0,
    "t_run": 2.0,
    "t_inactive": 3.0,
}


@pytest.mark.parametrize(
    ("note", "nodes"),
    [
        ("node failure on n02 (rank 1)", ("n02",)),
        ("lost on somewhere (ranks 0-1,11)", ("n01", "n02", "n12")),
        ("node failure on n03 (shell rank 1)", ("n03",)),
        ("node failure on n[01-02] (shell rank 0)", ("n01", "n02")),
        ("shell exited with unkillable processes on n12 (rank 11)", ("n12",)),
        ("node failure on somebody (rank 7)", ()),
        ("task 3 (host n02): exited on its own", ()),
        ("on (rank 9999999999-)", ()),
        ("(rank -)", ()),
        ("", ()),
    ],
)
def test_nodes_that_a_note_names(note: str, nodes: tuple[str, ...]) -> None:
    assert flux_command_output.nodes_in(note, NAMES) == nodes


def test_an_endless_note_takes_no_time() -> None:
    assert flux_command_output.nodes_in(" on (" * 20_000 + "(rank 1", NAMES) == ()


@pytest.mark.parametrize(
    ("idset", "ranks"),
    [("[0-2,7]", {0, 1, 2, 7}), ("3", {3}), ("", set()), (None, set()), ("a,1-,-2,4", {1, 4})],
)
def test_idsets(idset: object, ranks: set[int]) -> None:
    assert flux_command_output.ranks_of(idset) == ranks


@pytest.mark.parametrize(
    ("ranks", "text"), [((2, 0, 1), "0-2"), ((5,), "5"), ((0, 2, 3, 9), "0,2-3,9"), ((), ""), ((1, 1), "1")]
)
def test_idsets_written(ranks: tuple[int, ...], text: str) -> None:
    assert exec_steps.idset(ranks) == text
    assert flux_command_output.ranks_of(text) == set(ranks)


def test_brokers_of_one_machine_are_told_apart() -> None:
    assert flux_command_output.names_by_rank({"1": "vm", "0": "vm", "2": "n02"}) == {
        0: "vm.0",
        1: "vm.1",
        2: "n02",
    }
    with pytest.raises(CouldNotObserveError, match="table"):
        flux_command_output.names_by_rank({"x": "n01"})


def test_states_of_nodes() -> None:
    status = {"online": [0, 1, 2], "offline": [11], "torpid": [2], "drained": {"1": "bad", "11": ""}}
    assert flux_command_output.node_states(status, {**NAMES, 20: "n21"}) == {
        "n01": NodeState.UP,
        "n02": NodeState.DRAINED,
        "n03": NodeState.UNKNOWN,
        "n12": NodeState.DOWN,
        "n21": NodeState.UNKNOWN,
    }


@pytest.mark.parametrize(
    ("old", "change", "drained", "new"),
    [
        (NodeState.UP, "offline", False, NodeState.DOWN),
        (NodeState.DOWN, "drain", True, NodeState.DOWN),
        (NodeState.DOWN, "online", True, NodeState.DRAINED),
        (NodeState.DOWN, "online", False, NodeState.UP),
        (NodeState.UP, "torpid", False, NodeState.UNKNOWN),
        (NodeState.UNKNOWN, "lively", False, NodeState.UP),
        (NodeState.UP, "drain", True, NodeState.DRAINED),
        (NodeState.DRAINED, "undrain", False, NodeState.UP),
    ],
)
def test_changes_of_nodes(old: NodeState, change: str, drained: bool, new: NodeState) -> None:
    assert flux_command_output.changed(old, change, drained) is new


@pytest.mark.parametrize(
    ("fields", "state", "status"),
    [
        ({}, JobState.COMPLETED, 0),
        ({"result": "FAILED", "waitstatus": 3 << 8}, JobState.FAILED, 3),
        ({"result": "FAILED", "waitstatus": 9}, JobState.FAILED, -9),
        ({"result": "CANCELED", "waitstatus": 15}, JobState.CANCELLED, -15),
        ({"result": "TIMEOUT", "waitstatus": 36608}, JobState.TIMEOUT, 143),
        (
            {"result": "FAILED", "exception_type": "node-failure", "waitstatus": 9},
            JobState.NODE_FAIL,
            -9,
        ),
        (
            {"result": "FAILED", "exception_type": "exec", "exception_note": "node failure on n01 (rank 0)"},
            JobState.NODE_FAIL,
            0,
        ),
        (
            {"result": "FAILED", "exception_type": "dependency", "waitstatus": ""},
            JobState.CANCELLED,
            None,
        ),
        ({"result": "A NEW WORD"}, JobState.UNKNOWN, None),
        ({"state": "A NEW WORD"}, JobState.UNKNOWN, None),
        ({"state": "RUN"}, JobState.RUNNING, None),
        ({"state": "SCHED"}, JobState.PENDING, None),
        ({"state": "CLEANUP"}, JobState.COMPLETING, None),
    ],
)
def test_states_of_jobs(fields: dict[str, Any], state: JobState, status: int | None) -> None:
    record = flux_command_output.job_record({**ENDED, **fields}, NAMES, ())
    assert record.state is state
    assert record.exit_code == status
    assert (record.ended == 3.0) is state.ended


def test_a_lost_batch_host_is_told_while_the_job_has_not_ended() -> None:
    running = flux_command_output.job_record({**ENDED, "state": "RUN", "result": ""}, NAMES, {0})
    assert running.batch_host_lost
    assert running.nodes == ("n01", "n02")
    assert not flux_command_output.job_record({**ENDED, "state": "RUN"}, NAMES, {1}).batch_host_lost
    assert not flux_command_output.job_record(ENDED, NAMES, {0}).batch_host_lost


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            {"annotations": {"sched": {"reason_pending": "insufficient resources", "jobs_ahead": 2}}},
            "insufficient resources",
        ),
        ({"urgency": 0}, "held: its urgency is 0"),
        ({"dependencies": ["begin-time=1795000000.000"]}, "dependencies: begin-time=1795000000.000"),
        ({}, "waits for nodes to become free"),
        ({"state": "PRIORITY"}, ""),
    ],
)
def test_why_a_job_waits_is_told_as_long_as_it_waits(said: dict[str, Any], reason: str) -> None:
    waits = {"id": 1, "state": "SCHED", "urgency": 16, **said}
    assert flux_command_output.job_record(waits, NAMES, ()).reason == reason
    assert flux_command_output.job_record({**waits, "state": "RUN"}, NAMES, ()).reason == ""


@pytest.mark.parametrize("damage", [{"id": None, "state": None}, {"ranks": "[77]"}, {"t_submit": "x"}])
def test_a_damaged_record_is_no_state(damage: dict[str, Any]) -> None:
    info = {**ENDED, **damage}
    if info["state"] is None:
        del info["state"]
    with pytest.raises(CouldNotObserveError):
        flux_command_output.job_record(info, NAMES, ())


RANKS = {"n01": 0, "n02": 1, "n03": 2}


def on_node(rank: int, request: StepRequest, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run what a step's command runs on a node, as its broker would."""
    command = exec_steps.step_command(request, RANKS)
    return subprocess.run(
        command[command.index("sh") :],
        env={"FLUX_URI": f"local:///run/local-{rank}", "PATH": "/usr/bin:/bin", "SLURMD_NODENAME": "other"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_node_s_part_of_a_step(tmp_path: Path) -> None:
    words = ("sh", "-c", 'echo "$WHESL_NODE|$SLURMD_NODENAME|$1"; echo wrong >&2', "sh", "a  b")
    request = StepRequest(command=words, nodes=("n01", "n03"), tasks=3, output=str(tmp_path / "out"))
    assert on_node(0, request, tmp_path).returncode == 0
    assert sorted((tmp_path / "out").read_text().split("\n")) == ["", *["n01||a  b"] * 2, *["wrong"] * 2]
    assert on_node(2, request, tmp_path).returncode == 0
    assert (tmp_path / "out").read_text().endswith("n03||a  b\nwrong\n")
    assert on_node(1, request, tmp_path).returncode == 68


@pytest.mark.parametrize(
    ("script", "tasks", "status"),
    [("exit 7", 1, 7), ("exit 7", 2, 7), ("kill -9 $$", 1, -9), ("kill -9 $$", 2, 137), ("exit 0", 2, 0)],
)
def test_a_task_s_status_is_the_node_s(script: str, tasks: int, status: int, tmp_path: Path) -> None:
    request = StepRequest(command=("sh", "-c", script), nodes=("n01",), tasks=tasks)
    assert on_node(0, request, tmp_path).returncode == status


@pytest.mark.parametrize("tasks", [1, 2])
def test_a_command_that_is_not_there(tasks: int, tmp_path: Path) -> None:
    request = StepRequest(command=("no-such-command",), nodes=("n01",), tasks=tasks)
    assert on_node(0, request, tmp_path).returncode == 127


def test_a_step_needs_nodes_of_ours_and_a_command() -> None:
    for request in (
        StepRequest(command=(), nodes=("n01",)),
        StepRequest(command=("true",), nodes=()),
        StepRequest(command=("true",), nodes=("n09",)),
    ):
        with pytest.raises(UsageError):
            exec_steps.step_command(request, RANKS)


def test_a_step_s_processes_are_found_by_their_mark(tmp_path: Path) -> None:
    helper = Path(exec_steps.__file__).parent.with_name("job_step_node_script.py")
    alive = [
        subprocess.Popen(["sleep", "60"], env={exec_steps.STEP: name, "PATH": "/usr/bin:/bin"})
        for name in ("mine", "other")
    ]
    try:
        command = [sys.executable, "-I", str(helper), "signal", "mine", "9"]
        subprocess.run(command, check=True, timeout=120)
        assert alive[0].wait(timeout=120) == -9
        assert alive[1].poll() is None
    finally:
        for process in alive:
            process.kill()
            process.wait()


def test_a_submission(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    request = JobRequest(
        token="t", script=str(script), time_limit=1.5, nodes=2, environment={"A": "new"}, exclude=("n02",)
    )
    job = submission(request, {"A": "old", "B": "b", "FLUX_JOB_ID": "f1", "FLUX_URI": "local:///x"})
    assert job["environment"] == {"A": "new", "B": "b", "FLUX_URI": "local:///x"}
    assert job["seconds"] == 90
    assert job["name"] == "job.sh"
    assert job["attributes"] == {"user.whesl.token": "t"}
    assert job["shell_options"]["exit-timeout"] == "none"
    assert job["shell_options"]["output.batch-timeout"] == 0.01
    assert "-Stbon.topo=kary:0" in job["broker_options"]


@pytest.mark.parametrize("text", [None, "true\n"])
def test_a_script_that_cannot_be_one(text: str | None, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    if text is not None:
        script.write_text(text)
    with pytest.raises(UsageError, match=r"job\.sh"):
        submission(JobRequest(token="t", script=str(script)), {})


def test_no_time_is_no_limit(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match="above zero"):
        submission(JobRequest(token="t", script=str(script), time_limit=0), {})


def some(ranks: str, **properties: str) -> dict[str, Any]:
    """Return a set of resources as RFC 20 has it."""
    return {"version": 1, "execution": {"R_lite": [{"rank": ranks, "children": {"core": "0-1"}}],
            "nodelist": ["n[01-08]"], "properties": properties}}  # fmt: skip


def test_a_queue_s_free_nodes_are_those_with_its_properties_that_run_nothing() -> None:
    seen = {"all": some("0-7", batch="0-3", debug="2-7"), "down": some("4"), "allocated": some("0,6")}
    queues = {
        "batch": {"requires": ["batch"]},
        "small": {"parent": "batch"},
        "both": {"requires": ["batch", "debug"]},
    }
    configured = {"queues": queues, "policy": {"jobspec": {"defaults": {"system": {"queue": "batch"}}}}}
    for name, free in (("", {1, 2, 3}), ("batch", {1, 2, 3}), ("small", {1, 2, 3}), ("both", {2, 3})):
        assert flux_command_output.free_ranks(seen, configured, name) == free
    assert flux_command_output.free_ranks(seen, {}, "") == {1, 2, 3, 5, 7}
    assert flux_command_output.free_ranks({**seen, "allocated": None, "down": None}, {}, "") == set(range(8))
    for configuration, name in ((configured, "nix"), ({}, "batch"), ({"queues": queues}, "")):
        with pytest.raises(RefusedError):
            flux_command_output.free_ranks(seen, configuration, name)
    for damaged in ({}, {**seen, "all": "x"}, {**seen, "down": {"execution": 3}}):
        with pytest.raises(CouldNotObserveError):
            flux_command_output.free_ranks(damaged, {}, "")
