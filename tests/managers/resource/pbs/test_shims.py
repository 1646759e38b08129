"""PBS's own launchers reach the nodes in use, and hand on the environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from whesl.managers.resource.launcher_shims import install
from whesl.managers.resource.launcher_shims.pbs_rewriting import WHOLE, tasks
from whesl.managers.resource.pbs.allocation import NODEFILE, PbsAllocation

LINES = ["n01", "n01", "n02", "n03", "n04"]
# n02 was lost, and n04 has come in its place; n03 is a spare.
PALS = '#!/bin/sh\n[ "$1" = --version ] || echo "$PBS_NODEFILE" "$@"\n'
ENVIRON = {"WHESL_NODELIST": "n01,n04", "WHESL_SWAPPED": '{"n02": "n04"}', "WHESL_LOST_NODES": "n02"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["pbsdsh", "hostname"], ["--pbsdsh=", "0=n01 4=n04", "hostname"]),
        (["pbsdsh", "-vo", "--", "sh", "-c", "exit 3"], ["--pbsdsh=ov", "0=n01 4=n04", "sh", "-c", "exit 3"]),
        (["pbsdsh", "-c3", "a"], ["--pbsdsh=", "0=n01 4=n04 0=n01", "a"]),
        (["pbsdsh", "-sn", "1", "a"], ["--pbsdsh=s", "4=n04", "a"]),
        (["pbsdsh", "-h", "n02", "a"], ["--pbsdsh=", "4=n04", "a"]),
        (["pbs_tmrsh", "n02", "a", "-n"], ["--pbs_tmrsh=", "4=n04", "a", "-n"]),
        (["pbs_tmrsh", "-n", "-l", "ada", "n01", "-n", "a"], ["--pbs_tmrsh=", "0=n01", "a"]),
        # The command itself says what is wrong.
        (["pbsdsh"], None),
        (["pbsdsh", "-x", "a"], None),
        (["pbsdsh", "-n", "9", "a"], None),
        (["pbsdsh", "-c", "a"], None),
        (["pbs_tmrsh", "n03", "a"], None),
        (["pbs_tmrsh", "n01"], None),
        (["pbs_tmrsh"], None),
    ],
)
def test_tasks(words: list[str], found: list[str] | None) -> None:
    assert tasks(words[0], words[1:], ENVIRON, LINES) == found


@pytest.mark.parametrize("words", [("pbsdsh", "-v", "hostname"), ("pbs_tmrsh", "n01", "hostname")])
def test_the_shim_becomes_the_program_that_starts_tasks(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Seen without PBS by what that program says of a library that is none.

    The program was once moved to another folder, and the launcher looked for it at its old place.
    """
    shims, real, pbs, lines = (tmp_path / name for name in ("shims", "real", "pbs", "nodes"))
    (pbs / "lib").mkdir(parents=True)
    (pbs / "lib" / "libpbs.so").touch()
    real.mkdir()
    for name in ("pbsdsh", "pbs_tmrsh"):
        (real / name).write_text("#!/bin/sh\necho the real command\n")
        (real / name).chmod(0o755)
    path = f"{real}:{os.environ['PATH']}"
    install(shims, path=path)
    lines.write_text("\n".join(LINES))
    job = {"PATH": f"{shims}:{path}", "WHESL_PBS_NODEFILE": str(lines), "PBS_EXEC": str(pbs), **ENVIRON}
    done = subprocess.run(words, env=job, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (69, ""), done.stderr
    assert done.stderr.startswith("whesl: the task manager of PBS: no libpbs: ")


def test_a_host_file_has_as_many_lines_for_a_node_as_the_job(tmp_path: Path) -> None:
    """Scripts count its lines, and launchers of MPI (here one of PALS) start as many ranks on a node.

    Each node stood there once, so that a script of 16 ranks on each node started one.
    """
    whole, hosts = tmp_path / "whole", tmp_path / "hosts"
    whole.write_text("n1\nn1\nn2\nn2\nn3\nn3\n")
    allocation = PbsAllocation({"PBS_JOBID": "7.server", NODEFILE: str(whole)})
    assert allocation.launch_environment(("n1", "n2", "n3"), {})[NODEFILE] == str(whole), "as PBS wrote it"
    told = allocation.launch_environment(("n1", "n3"), {"WHESL_HOSTFILE": str(hosts)})
    assert Path(told[NODEFILE]).read_text() == "n1\nn1\nn3\nn3\n"

    real = tmp_path / "pals" / "mpiexec"
    real.parent.mkdir()
    real.write_text(PALS)
    real.chmod(0o755)
    path = f"{real.parent}:{os.environ['PATH']}"
    install(tmp_path / "shims", path=path)
    job = {
        "PATH": f"{tmp_path}/shims:{path}",
        "WHESL_NODELIST": "n1,n3",
        "WHESL_HOSTFILE": str(hosts),
        **told,
    }
    words = ["mpiexec", "-n", "4", "--ppn", "2", "./a"]
    done = subprocess.run(words, env=job, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == [told[WHOLE], "--hostfile", told[NODEFILE], *words[1:]], done.stderr
