"""Which processes are inside an allocation of Flux: told by the environment and a socket. No Flux needed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from whesl.managers import resource
from whesl.managers.resource import job_sidecar_processes
from whesl.managers.resource.flux.allocation import FluxAllocation
from whesl.managers.resource.flux.scheduler import FluxScheduler
from whesl.model.errors import UsageError

SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]"}
TASK = {"FLUX_JOB_ID": "f1"}


@pytest.fixture
def broker() -> Iterator[dict[str, str]]:
    """Return FLUX_URI of a socket that somebody listens at."""
    with (
        tempfile.TemporaryDirectory(prefix="whesl-") as directory,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener,
    ):
        path = f"{directory}/local-0"
        listener.bind(path)
        listener.listen()
        yield {"FLUX_URI": f"local://{path}"}


def chosen(environ: dict[str, str]) -> str:
    return resource.current_allocation(environ).name


def test_an_instance_of_one_s_own(broker: dict[str, str]) -> None:
    assert chosen(broker) == "flux"
    assert chosen({**broker, **SLURM}) == "flux"  # started inside the Slurm job: the inner one


_LISTENS = """\
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
sys.stdin.read()
"""


def test_an_instance_that_was_handed_on_to_another_job(tmp_path: Path) -> None:
    """A script in a Flux instance that called sbatch: its job took the submitter's instance for its own."""
    with tempfile.TemporaryDirectory(prefix="whesl-") as directory:
        path = f"{directory}/local-0"
        command = [sys.executable, "-c", _LISTENS, path]
        first = {**os.environ, "SLURM_JOB_ID": "6"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, env=first, **pipes) as process:  # type: ignore[call-overload] # its streams
            process.stdout.readline()
            uri = {"FLUX_URI": f"local://{path}"}
            assert chosen({**uri, **SLURM}) == "slurm"
            assert chosen({**uri, **SLURM, **TASK}) == "slurm"
            assert chosen({**uri, **SLURM, "SLURM_JOB_ID": "6"}) == "flux"
            assert chosen(uri) == "flux"
            started = job_sidecar_processes.on_nodes({**uri, **SLURM}, ["app"], ["n1", "n2"], ["n1", "n2"])
            assert started[0] == "srun"
            batch = {**uri, **SLURM, "FLUX_ENCLOSING_ID": "f2"}
            assert job_sidecar_processes.job_id(batch) == "7"
            assert job_sidecar_processes.job_id({**batch, "SLURM_JOB_ID": "6"}) == "f2"
            process.stdin.close()


def test_the_local_manager_s_jobs_are_its_own(broker: dict[str, str]) -> None:
    local = {**SLURM, "WHESL_LOCAL": "/nowhere", "SLURMD_NODENAME": "n1"}
    assert chosen({**broker, **local}) == "local"


def test_somebody_else_s_instance(broker: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert chosen(broker) == "host"  # a login node's: one submits to it
    assert chosen({**broker, **TASK}) == "flux"  # in a job that it runs


def test_an_instance_that_is_elsewhere_or_ended(broker: dict[str, str], tmp_path: Path) -> None:
    ended = tmp_path / "local-0"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(ended))
    plain = tmp_path / "file"
    plain.touch()
    for uri in (
        f"local://{ended}",
        f"local://{plain}",
        f"local://{tmp_path}/none",
        "ssh://n01/run/local",
        "",
    ):
        for more in ({}, TASK):
            assert chosen({"FLUX_URI": uri, **more}) == "host"
            assert chosen({"FLUX_URI": uri, **more, **SLURM}) == "slurm"
    assert chosen({**broker, "FLUX_PROXY_REMOTE": "n01"}) == "host"


def test_an_allocation_needs_an_instance() -> None:
    with pytest.raises(UsageError, match="FLUX_URI"):
        FluxAllocation({})


def test_the_scheduler_by_name() -> None:
    assert isinstance(resource.scheduler("flux"), FluxScheduler)
    with pytest.raises(UsageError, match="did you mean 'flux'"):
        resource.scheduler("fluxx")
