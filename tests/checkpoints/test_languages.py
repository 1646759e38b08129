"""The C client installed by CMake and found by pkg-config, and the examples in C, C++ and Fortran."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import until
from whesl.checkpoints import manifest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "c"
FOREVER = 1_000_000
SOURCES = {
    "c": ("cc", ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]),
    "cpp": ("c++", ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]),
    "f90": ("gfortran", ["-std=f2008", "-Wall", "-Werror"]),
}


def need(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} is on PATH")


def do(*command: str | Path, cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.costly
def test_an_example_writes_a_checkpoint_and_goes_on_from_it(language: str, tmp_path: Path) -> None:
    compiler, flags = SOURCES[language]
    need("cc", compiler)
    client = tmp_path / "client.o"
    include = f"-I{CLIENT / 'include'}"
    do("cc", "-std=c99", "-O2", include, "-c", CLIENT / "src" / "whesl_ckpt.c", "-o", client)
    program = tmp_path / "program"
    example = CLIENT / "examples" / f"counter.{language}"
    includes = [] if language == "f90" else [include]
    do(compiler, *flags, *includes, example, client, "-o", program, cwd=tmp_path)
    (tmp_path / "home").mkdir(mode=0o700)
    home = {"WHESL_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT), "SLURM_JOB_ID": ""}
    name = f"language-{os.getpid()}-{language}"
    run = [sys.executable, "-m", "whesl", "ckpt", "run", "--name", name, "--dir", str(tmp_path / "kept")]
    run += ["--interval", "0.2", "--", "bash", "-c"]

    def script(steps: int) -> str:
        ranks = "\n".join(f"{program} {rank} 2 {steps} 10 1000 > {rank}.out &" for rank in (0, 1))
        return f"{ranks}\nwait"

    # The first program does not end before a checkpoint is whole, however busy this machine is.
    first = subprocess.Popen(
        [*run, script(FOREVER)], cwd=tmp_path, env={**os.environ, **home}, start_new_session=True
    )
    try:
        until(lambda: (tmp_path / "kept").is_dir() and manifest.whole(tmp_path / "kept"), "a checkpoint", 100)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    steps = manifest.whole(tmp_path / "kept")[0].step + 100
    do(*run, script(steps), cwd=tmp_path, environment=home)
    for rank in (0, 1):
        said = (tmp_path / f"{rank}.out").read_text().splitlines()
        assert said[0].startswith(f"rank {rank} restored step "), said
        assert said[-1] == f"rank {rank} ends at {steps} {steps * (steps + 1) // 2 * (rank + 1)}"


@pytest.mark.costly
def test_cmake_and_pkg_config_find_what_was_installed(tmp_path: Path) -> None:
    need("cmake", "make", "pkg-config", "cc")
    prefix = tmp_path / "prefix"
    do("cmake", "-S", CLIENT, "-B", tmp_path / "build", f"-DCMAKE_INSTALL_PREFIX={prefix}", cwd=tmp_path)
    do("cmake", "--build", tmp_path / "build", cwd=tmp_path)
    do("cmake", "--install", tmp_path / "build", cwd=tmp_path)

    where = next(prefix.rglob("whesl_ckpt.pc")).parent
    found = {"PKG_CONFIG_PATH": str(where)}
    options = do("pkg-config", "--cflags", "--libs", "whesl_ckpt", environment=found).split()
    program = tmp_path / "by-pkg-config"
    do("cc", CLIENT / "examples" / "counter.c", *options, f"-Wl,-rpath,{where.parent}", "-o", program)
    alone = {"WHESL_CKPT_PAGE": "", "SLURM_PROCID": "0"}
    assert do(program, "0", "1", "3", "1", "10", environment=alone) == "rank 0 ends at 3 6\n"

    project = tmp_path / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.12)\nproject(use C)\nfind_package(whesl_ckpt REQUIRED)\n"
        f'add_executable(use "{CLIENT}/examples/counter.c")\n'
        "target_link_libraries(use whesl::whesl_ckpt)\n"
    )
    do("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    do("cmake", "--build", project / "build")
    assert (
        do(project / "build" / "use", "0", "1", "3", "1", "10", environment=alone) == "rank 0 ends at 3 6\n"
    )
