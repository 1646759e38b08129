"""The srun shim: what it settles itself is what the launcher would have said, and it leaves no trace."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.managers.resource import launcher_shims
from whesl.managers.resource.launcher_shims.launcher_node_swap import rewrite
from whesl.model.hostlist import expand

FIRST = {"WHESL_NODELIST": "n01,n02", "WHESL_SWAPPED": "{}", "SLURM_JOB_ID": "7", "SLURM_NNODES": "2"}
FIRST["WHESL_JOB"] = "7"
SWAPPED = {**FIRST, "WHESL_NODELIST": "n01,n03", "WHESL_SWAPPED": '{"n02":"n03"}', "WHESL_LOST_NODES": "n02"}
SHRUNK = {**FIRST, "WHESL_NODELIST": "n01", "WHESL_LOST_NODES": "n02", "SLURM_NNODES": "1"}
SHELLS = [path for path in ("/bin/sh", "/bin/bash", "/bin/dash", "/bin/busybox") if Path(path).exists()]

Call = Callable[[list[str], dict[str, str]], list[str]]


def nothing(path: str) -> str:
    raise FileNotFoundError(path)


def shim(place: Path, python: str) -> Call:
    """Return a call of the shim, whose real srun shows its arguments, one a line."""
    (place / "real").mkdir()
    (place / "real" / "srun").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (place / "real" / "srun").chmod(0o755)
    launcher_shims.install(place / "bin", python=python)

    def call(words: list[str], environ: dict[str, str], shell: str = "/bin/sh") -> list[str]:
        path = f"{place / 'bin'}::{place / 'real'}:/usr/bin:/bin"
        command = [*shell.split(), str(place / "bin" / "srun"), *words]
        result = subprocess.run(
            command, env={**environ, "PATH": path}, capture_output=True, text=True, cwd=place, check=True
        )
        return result.stdout.split("\n")[:-1]

    return call


@pytest.fixture
def alone(tmp_path: Path) -> Call:
    """The shim where there is no Python: whatever succeeds has done without."""
    return shim(tmp_path, "/bin/false")


@pytest.mark.parametrize("environ", [FIRST, SWAPPED, SHRUNK, {**SWAPPED, "SLURM_MEM_PER_CPU": "100"}])
@pytest.mark.parametrize(
    "line",
    [
        "./app",
        "--mem 10 ./app",
        "--mem=10 -n2 ./app",
        "-N 2 -n 2 ./app -N 1 --nodes=1 'two words'",
        "-N2 -n4 --mpi=pmix --label ./app",
        "--nodes=2 --ntasks=8 --cpus-per-task 4 --export=ALL,X=1 -u ./app",
        "-n 2 -c 2 -o 'out file.%t' -- ./app -x",
        "--overlap -l ./app",
        "-K --time 10 bash -c 'echo \"$1\"'",
    ],
)
def test_plain_lines_need_no_python(alone: Call, line: str, environ: dict[str, str]) -> None:
    words = shlex.split(line)
    assert listed(alone(words, environ)) == listed(rewrite("srun", words, environ, read=nothing))


def test_a_job_that_the_task_has_submitted_keeps_its_words(tmp_path: Path) -> None:
    """It inherits the task's PATH and variables: its srun asked for the nodes of the other job."""
    other = {**FIRST, "SLURM_JOB_ID": "8"}
    assert shim(tmp_path, sys.executable)(["-N2", "./app"], other) == ["-N2", "./app"]


@pytest.mark.parametrize("shell", [*SHELLS[:3], *(f"{s} sh" for s in SHELLS[3:])])
def test_in_every_shell(tmp_path: Path, shell: str) -> None:
    call = shim(tmp_path, "/bin/false")
    words = ["-N", "2", "-n4", "--mpi=pmix", "./app", "*", "", "a b"]
    expected = ["--nodes=2", "--nodelist=n01,n02", "-n4", "--mpi=pmix", "./app", "*", "", "a b"]
    assert call(words, FIRST, shell) == expected  # type: ignore[call-arg]  # one of two forms


def test_a_variable_of_the_users_reaches_the_program_unchanged(tmp_path: Path) -> None:
    call = shim(tmp_path, "/bin/false")
    (tmp_path / "real" / "srun").write_text("#!/bin/sh\nexec /usr/bin/env\n")
    names = (
        "overlap",
        "wanted",
        "tasks",
        "own",
        "total",
        "given",
        "asked",
        "active",
        "node",
        "real",
        "place",
        "word",
        "lost",
        "memory",
    )
    seen = call(["./app"], {**FIRST, **dict.fromkeys(names, "mine")})
    assert {f"{name}=mine" for name in names} <= set(seen)
    assert not [line for line in seen if line.startswith("whesl_")]


_WORDS = """
-N -n -N2 -N1 -N3 -N1-2 -n1 -n2 -n4 --nodes=2 --nodes= --nodes=0 --ntasks=4 --ntasks= -c -l -lu -K
--mpi list --mpi=list --mpi=pmix --export=NONE --export=ALL --export --overlap --exclusive
-w n02 --nodelist=n01 -x --exclude=n01 -r 1 -m arbitrary --nod=2 --version -Z --jobid=9
./app - -- 2 02 4 ALL NONE -o out --output --time=1 --time -J x
--mem=10 --mem --mem-per-cpu=10 --mem-per-gpu=1
"""
WORDS = st.sampled_from(["", *_WORDS.split()])
VARIABLES = {
    "SLURM_NNODES": st.sampled_from(["1", "2", "3", "x", ""]),
    "SLURM_JOB_NUM_NODES": st.sampled_from(["1", "2", ""]),
    "SLURM_NTASKS": st.sampled_from(["1", "2", "8", "many"]),
    "SRUN_EXPORT_ENV": st.sampled_from(["ALL", "NONE", "ALL,A"]),
    "SLURM_EXPORT_ENV": st.sampled_from(["ALL", "NONE", "ALL,A", "A", ""]),
    "SLURM_HET_SIZE": st.just("2"),
    "SLURM_MEM_PER_CPU": st.sampled_from(["100", ""]),
    "SLURM_HOSTFILE": st.just("/nowhere"),
    "SLURM_DISTRIBUTION": st.sampled_from(["arbitrary", "block"]),
    "WHESL_HIDDEN_NODES": st.sampled_from(["n05", ""]),
    "WHESL_RESTART_COUNT": st.sampled_from(["0", "1"]),
    "WHESL_ATTEMPT_TOKEN": st.just("t.1"),
}


@given(
    words=st.lists(WORDS, max_size=7),
    base=st.sampled_from([FIRST, SWAPPED, SHRUNK]),
    more=st.fixed_dictionaries({}, optional=VARIABLES),
)
@settings(
    max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@pytest.mark.costly
def test_what_it_settles_itself_is_what_the_launcher_would_say(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], base: dict[str, str], more: dict[str, str]
) -> None:
    call = prepared(tmp_path_factory)
    environ = {**base, **more}
    settled = call(words, environ)
    if settled != ["left to the launcher"]:
        assert listed(settled) == listed(rewrite("srun", words, environ, read=nothing))


def prepared(factory: pytest.TempPathFactory) -> Call:
    """Return one shim for all examples; its Python only says that it was called."""
    place = factory.getbasetemp() / "srun-shim"
    if not place.exists():
        place.mkdir()
        stand_in = place / "python"
        stand_in.write_text("#!/bin/sh\necho left to the launcher\n")
        stand_in.chmod(0o755)
        _PREPARED[place] = shim(place, str(stand_in))
    return _PREPARED[place]


_PREPARED: dict[Path, Call] = {}


def listed(words: list[str]) -> list[str]:
    """Return arguments with the names of a node list written out, as the shim gives them."""
    mark = "--nodelist="
    return [f"{mark}{','.join(expand(w.removeprefix(mark)))}" if w.startswith(mark) else w for w in words]


def test_without_a_real_srun_it_is_said_by_the_launcher(tmp_path: Path) -> None:
    launcher_shims.install(tmp_path / "bin")
    environ = {**FIRST, "PATH": str(tmp_path / "bin"), "HOME": os.environ.get("HOME", "/")}
    result = subprocess.run(
        ["/bin/sh", str(tmp_path / "bin" / "srun"), "./app"], env=environ, capture_output=True, text=True
    )
    assert result.returncode == 127
    assert "srun: command not found" in result.stderr
