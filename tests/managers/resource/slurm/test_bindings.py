"""Jobs read through pyslurm: the child process, what is believed of it, and when the commands are asked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from whesl.managers.resource.port import JobRequest
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.managers.resource.slurm.pyslurm_client import Bindings
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.model.states import JobState
from whesl.testing.contract_rjms import wait_until

STAND_IN = """
import os, signal, time
__version__ = "{version}"
class Job:
    id, array_id, state, state_reason = 7, {array}, "{state}", "None"
    allocated_nodes, batch_host = "n[01-02]", "n01"
    submit_time, start_time, requeue_count = 1000, 1010, 1
    name, comment = "a name", "whesl:tok and more"
    @staticmethod
    def load(number):
        {act}
        return Job()
"""


@pytest.fixture
def bindings(tmp_path: Path) -> Callable[..., Bindings]:
    """Return a maker of bindings whose pyslurm answers as told; their Slurm is 22.05.8."""

    def make(
        *, version: str = "22.5.3", state: str = "RUNNING", array: str = "None", act: str = "pass"
    ) -> Bindings:
        text = STAND_IN.format(version=version, state=state, array=array, act=act)
        (tmp_path / "pyslurm.py").write_text(text)
        sinfo = tmp_path / "sinfo"
        sinfo.write_text("#!/bin/sh\necho slurm 22.05.8\n")
        sinfo.chmod(0o700)
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nexport PYTHONPATH={tmp_path}\nexec {sys.executable} "$@"\n')
        python.chmod(0o700)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        return Bindings(SlurmCommands(environment), str(python))

    return make


def test_a_living_job(bindings: Callable[..., Bindings]) -> None:
    reader = bindings()
    assert reader.living(["7"]) is None  # the first look is not worth a process
    (record,) = reader.living(["7"]) or []
    assert (record.id, record.token, record.name, record.restarts) == ("7", "tok", "a name", 1)
    assert (record.state, record.nodes, record.batch_host) == (JobState.RUNNING, ("n01", "n02"), "n01")
    assert (record.submitted, record.started, record.ended, record.exit_code) == (1000, 1010, 0, None)


@pytest.mark.parametrize(
    "told",
    [
        {"state": "FAILED"},  # pyslurm tells a status above 127 wrongly
        {"array": "7"},
        {"version": "23.2.0"},
        {"act": "raise RuntimeError('Invalid job id specified')"},
        {"act": "os.kill(os.getpid(), signal.SIGKILL)"},
        {"act": "os.write(1, b'garbage\\n')"},
        {"act": "time.sleep(60)"},
    ],
)
def test_what_is_left_to_the_commands(bindings: Callable[..., Bindings], told: dict[str, str]) -> None:
    reader = bindings(**told)
    assert [reader.living(["7"]) for _ in range(4)] == [None] * 4


def test_no_module_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    reader = Bindings(SlurmCommands({"PATH": "/nonexistent"}))
    assert [reader.living(["7"]) for _ in range(3)] == [None] * 3


@pytest.mark.slurm
def test_the_real_one_agrees_with_squeue(slurm: SlurmBed, tmp_path: Path) -> None:
    """Where this Slurm's own pyslurm can be imported."""
    python = os.environ.get("WHESL_TEST_PYSLURM", sys.executable)
    probe = "import importlib.util as u, sys; sys.exit(u.find_spec('pyslurm') is None)"
    if subprocess.run([python, "-c", probe], check=False).returncode:
        pytest.skip("no pyslurm for this Slurm (its releases have to match, and PyPI has the newest only)")
    scheduler = SlurmScheduler(slurm.environment)
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nsleep 300\n")
    job = scheduler.submit(JobRequest(token="bound", script=str(script), nodes=2, output="/dev/null"))
    wait_until(lambda: scheduler.jobs([job])[job].state is JobState.RUNNING, "it runs")
    commands = SlurmCommands(slurm.environment)
    reader = Bindings(commands, python)
    reader.living([job])
    try:
        assert reader.living([job]) == scheduler._queued([job])
    finally:
        scheduler.cancel(job)
