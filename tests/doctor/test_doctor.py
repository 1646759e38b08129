"""``whesl doctor`` in good, poor and broken environments."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import until
from whesl.doctor import (
    flux,
    host_and_home,
    probe_runner,
    resource_managers,
    slurm_settings,
    software,
    workflow_managers,
)
from whesl.doctor.probe_runner import Answer, Finding, State, ask, examine, version_tuple
from whesl.managers.resource.slurm.releases import Ability

SYSTEM = "/usr/bin:/bin"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own PATH with nothing on it and an own home; returns the directory on PATH."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name in list(os.environ):
        if name.startswith(("FLUX_", "SLURM", "WHESL")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.setenv("WHESL_HOME", str(home))
    return commands


def command(place: Path, name: str, *lines: str) -> None:
    path = place / name
    path.write_text("\n".join(("#!/bin/sh", f"PATH={SYSTEM}", *lines)) + "\n")
    path.chmod(0o755)


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return commands.whesl("doctor", *arguments, env={**os.environ, **environment})


# The whole ------------------------------------------------------------------------------------------


def test_with_nothing_on_path_all_that_is_needed_works(place: Path) -> None:
    done = doctor("--json")
    for _ in range(10):  # a busy machine may not answer in time
        if done.returncode == 0:
            break
        done = doctor("--json")
    body: dict[str, Any] = json.loads(done.stdout)
    by_name = {finding["name"]: finding for finding in body["findings"]}
    assert (done.returncode, body["healthy"]) == (0, True), [
        finding for finding in body["findings"] if finding["state"] == "failed"
    ]
    assert by_name["Slurm"]["state"] == by_name["Flux"]["state"] == "missing"
    assert by_name["Python"]["state"] == by_name["libraries"]["state"] == "ok"
    assert by_name["pattern engine"]["state"] in ("ok", "warn")
    assert by_name["launchers"]["state"] == "missing"


def test_a_failure_is_told_with_advice_and_by_the_status(place: Path) -> None:
    Path(os.environ["WHESL_HOME"]).chmod(0o755)
    done = doctor()
    assert done.returncode == 1
    assert "failed: WHESL_HOME" in done.stdout
    assert f"chmod 700 {os.environ['WHESL_HOME']}" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_terminal_folds_what_a_pipe_gets_in_one_line(place: Path) -> None:
    def words(text: str) -> str:
        return re.sub(r"[0-9.]+", "#", "".join(text.split()))  # free room changes

    piped = doctor().stdout
    shown = re.sub(r"\x1b\[[0-9;]*m", "", doctor(FORCE_COLOR="1", COLUMNS="80").stdout)
    assert max(map(len, piped.splitlines())) > 80
    assert max(map(len, shown.splitlines())) <= 80
    assert words(shown) == words(piped)


def test_nothing_is_changed(place: Path) -> None:
    home = Path(os.environ["WHESL_HOME"]) / "not-made"
    assert doctor(WHESL_HOME=str(home)).returncode == 0
    assert not home.exists()


def test_a_hanging_sinfo_does_not_hang_the_doctor(place: Path) -> None:
    for name in ("sbatch", "squeue", "scontrol", "scancel", "srun"):
        command(place, name, "exit 0")
    # The second process keeps the pipes open when the first is killed alone.
    command(place, "sinfo", "sleep 100 &", "sleep 100")
    done = doctor("--json")
    body = json.loads(done.stdout)
    slurm = next(finding for finding in body["findings"] if finding["name"] == "Slurm")
    assert (done.returncode, slurm["state"]) == (1, "failed")
    assert "did not answer within 2 s" in slurm["detail"]


# Asking ---------------------------------------------------------------------------------------------


def test_what_hangs_is_killed_with_all_that_it_started(place: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command(place, "slow", f"sleep 100 & echo $! > {pid}", "wait")

    def ended() -> Answer | None:
        """Ask once more if it was ended before it had come to anything, as on a busy machine."""
        answer = ask("slow", limit=3.0)
        return answer if pid.exists() and pid.read_text().endswith("\n") else None

    answer = until(ended, "it hangs", 60)
    assert answer.status is None
    assert "within 3 s" in answer.why
    # It was sent its signal before the answer came; when it is gone is up to the system.
    until(lambda: not is_alive(int(pid.read_text())), "the end of what it started", 30)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_what_cannot_be_started_is_an_answer(place: Path) -> None:
    (place / "broken").write_text("#!/no/such/interpreter\n")
    (place / "broken").chmod(0o755)
    answer = ask("broken")
    assert answer is not None
    assert "could not be started" in answer.why
    assert ask("absent") is None


def test_probes_that_hang_or_break_do_not_hide_the_others() -> None:
    gate = threading.Event()

    def hangs() -> list[Finding]:
        gate.wait(120)
        return []

    def breaks() -> list[Finding]:
        raise RuntimeError("a defect")

    def works() -> list[Finding]:
        return [Finding(group="g", name="good", state=State.OK)]

    found = examine([("g", "slow", hangs), ("g", "broken", breaks), ("g", "good", works)], limit=3.0)
    gate.set()
    assert [(item.name, item.state) for item in found] == [
        ("slow", State.FAILED),
        ("broken", State.FAILED),
        ("good", State.OK),
    ]
    assert "RuntimeError: a defect" in found[1].detail


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("22.05.8", (22, 5, 8)),
        ("0.88.0-12-gabc", (0, 88, 0)),
        ("v1.2", (1, 2)),
        ("24.11rc1", (24, 11)),
        ("", ()),
        ("x", ()),
    ],
)
def test_versions(text: str, expected: tuple[int, ...]) -> None:
    assert version_tuple(text) == expected


# Slurm ----------------------------------------------------------------------------------------------


def slurm(place: Path, version: str = "22.05.8", nodes: str = "n01 idle\\nn02 down*\\nn02 down*") -> None:
    for name in ("sbatch", "squeue", "scancel", "srun"):
        command(place, name, "exit 0")
    command(place, "scontrol", "echo 'AccountingStorageType   = accounting_storage/none'")
    command(
        place,
        "sinfo",
        f'if [ "$1" = --version ]; then echo "slurm {version}"; exit; fi',
        f"printf '{nodes}\\n'",
    )


def test_slurm_that_answers(place: Path) -> None:
    slurm(place)
    finding = only(resource_managers.slurm())
    assert (finding.state, finding.version) == (State.OK, "22.05.8")
    assert finding.detail == "2 nodes: 1 down, 1 idle"
    told = only(slurm_settings.slurm())
    assert told.state is State.WARN
    assert "accounting_storage/none" in told.detail


def test_slurm_that_is_too_old(place: Path) -> None:
    slurm(place, version="21.08.8")
    assert only(resource_managers.slurm()).state is State.FAILED


def test_slurm_in_pieces(place: Path) -> None:
    slurm(place)
    (place / "scancel").unlink()
    finding = only(resource_managers.slurm())
    assert finding.state is State.FAILED
    assert "scancel" in finding.detail


def test_slurm_whose_controller_is_away(place: Path) -> None:
    slurm(place)
    command(
        place,
        "sinfo",
        '[ "$1" = --version ] && { echo slurm 22.05.8; exit; }',
        "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1",
    )
    finding = only(resource_managers.slurm())
    assert finding.state is State.FAILED
    assert "Unable to contact slurm controller" in finding.detail
    assert "scontrol ping" in finding.advice


# Flux -----------------------------------------------------------------------------------------------


def test_no_flux(place: Path) -> None:
    assert only(flux.commands()).state is State.MISSING
    assert flux.instance() == flux.bindings() == []


@pytest.mark.parametrize(
    ("output", "state", "version"),
    [
        ("commands: \\t0.88.0\\nlibflux-core:\\t0.88.0\\n", State.OK, "0.88.0"),
        ("commands: 0.91.2-3-gabcdef\\n", State.OK, "0.91.2-3-gabcdef"),
        ("commands: 0.60.0\\n", State.WARN, "0.60.0"),
        ("garbage\\n", State.FAILED, ""),
        ("", State.FAILED, ""),
    ],
)
def test_versions_of_flux(place: Path, output: str, state: State, version: str) -> None:
    command(place, "flux", f"printf '{output}'")
    finding = only(flux.commands())
    assert (finding.state, finding.version) == (state, version)


def test_an_instance_that_has_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(place, "flux", "echo 'flux-getattr: Unable to connect' >&2; exit 1")
    assert only(flux.instance()).state is State.MISSING
    monkeypatch.setenv("FLUX_URI", "local:///gone")
    finding = only(flux.instance())
    assert finding.state is State.FAILED
    assert "Unable to connect" in finding.detail


def test_bindings_that_are_not_there(place: Path) -> None:
    traceback = "Traceback (most recent call last):\n" + '  File "/x.py", line 1\n' * 20
    (place / "said").write_text(f"{traceback}ModuleNotFoundError: No module named 'cffi'\n")
    command(place, "flux", f"cat {place}/said >&2; exit 1")
    finding = only(flux.bindings())
    assert finding.state is State.FAILED
    assert finding.detail == "flux python cannot import flux: No module named 'cffi'"


def test_bindings_that_hear_nothing(place: Path) -> None:
    command(place, "flux", "echo 3.11.2; echo flux.job.journal")
    finding = only(flux.bindings())
    assert finding.state is State.WARN
    assert "flux.job.journal" in finding.detail


def test_the_scheduler_module_of_placement(place: Path) -> None:
    module, file = place / "sched-whesl.py", place / "modprobe" / "modprobe.d" / "whesl-placement.toml"
    answers = (
        'case "$*" in "config builtin confdir") echo {place};; "module list") echo sched-whesl;; '
        "*) echo '{stats}';; esac"
    )
    said = {"mode": "act", "predictor": "p", "problem": "", "placed": 3, "differently": 1, "failed": 0}
    stats = json.dumps({"placement": said})
    command(place, "flux", answers.format(place=place, stats=stats))
    assert only(flux.placement()).detail == "mode act, 3 jobs placed, 1 of them differently, by p"
    file.parent.mkdir(parents=True)
    file.write_text(f'[[modules]]\nmodule = "{module}"\n')
    assert [finding.state for finding in flux.placement()] == [State.FAILED, State.OK]
    module.touch()
    command(place, "flux", answers.format(place=place, stats="{}"))
    assert [finding.state for finding in flux.placement()] == [State.OK, State.WARN]
    (place / "flux").unlink()
    assert flux.placement() == []


@pytest.mark.flux
def test_a_real_flux(monkeypatch: pytest.MonkeyPatch) -> None:
    need_flux()
    monkeypatch.setattr(probe_runner, "COMMAND_LIMIT", 60.0)
    assert only(flux.commands()).version
    assert only(flux.bindings()).state is State.OK
    with FluxBed(nodes=2) as bed:
        monkeypatch.setenv("FLUX_URI", bed.uri)
        finding = only(flux.instance())
        assert (finding.state, finding.detail) == (State.OK, "2 nodes, level 0 (the first is 0)")
    assert only(flux.instance()).state is State.FAILED


# Launchers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/", "Open MPI"),
        ("HYDRA build details:\n    Version:  4.0.2\n", "MPICH (Hydra)"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.5 Build 20211102 (id: 9279b7d62)\n", "Intel MPI"),
        ("something else 1.0", ""),
    ],
)
def test_flavours(text: str, expected: str) -> None:
    assert resource_managers.flavour(text) == expected


def test_a_launcher_that_cannot_run(place: Path) -> None:
    command(place, "mpirun", "echo 'error while loading shared libraries: libfoo.so' >&2; exit 127")
    finding = only(resource_managers.launchers())
    assert (finding.name, finding.state) == ("mpirun", State.FAILED)
    assert "libfoo.so" in finding.detail


# The embedded manager -------------------------------------------------------------------------------


def test_a_local_cluster_that_this_shell_means_should_be_there(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert only(resource_managers.local()).state is State.OK
    cluster = tmp_path / "cluster"
    cluster.mkdir(mode=0o700)
    (cluster / "settings.json").write_text("{}")
    monkeypatch.setenv("WHESL_LOCAL", str(cluster))
    finding = only(resource_managers.local())
    assert finding.state is State.FAILED
    assert "whesl local start" in finding.advice


# Files ----------------------------------------------------------------------------------------------


def test_a_home_that_is_not_private(place: Path) -> None:
    home = Path(os.environ["WHESL_HOME"])
    (home / "keys").mkdir(mode=0o755)
    (home / "keys").chmod(0o755)
    finding = only(host_and_home.home())
    assert (finding.name, finding.state) == ("keys", State.FAILED)
    assert finding.advice == f"chmod 700 {home / 'keys'}"


def test_a_home_that_is_a_file(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch(mode=0o600)
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "file"))
    assert "is no directory" in only(host_and_home.home()).detail
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "file" / "below"))
    assert only(host_and_home.home()).state is State.FAILED


def test_a_home_that_only_this_machine_has(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_and_home, "file_system", lambda _: "ext4")
    assert only(host_and_home.home()).state is State.OK
    command(place, "flux", "exit 0")
    assert only(host_and_home.home()).state is State.WARN
    monkeypatch.setattr(host_and_home, "file_system", lambda _: "nfs4")
    assert only(host_and_home.home()).state is State.OK


def test_an_interpreter_that_only_this_machine_has(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_and_home, "file_system", lambda _: "ext4")
    assert only(host_and_home.interpreter()).state is State.OK
    command(place, "sbatch", "exit 0")
    assert only(host_and_home.interpreter()).state is State.WARN


def test_this_file_system_is_known() -> None:
    assert host_and_home.file_system(Path("/proc")) == "proc"


def test_a_coordinator_that_has_gone_is_started_when_needed(place: Path) -> None:
    assert only(host_and_home.coordinator()).state is State.OK
    (Path(os.environ["WHESL_HOME"]) / "coordinator").mkdir(mode=0o700)
    assert "does not run" in only(host_and_home.coordinator()).detail


# Software -------------------------------------------------------------------------------------------


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["click>=8.1", "whesl-no-such-library>=2; python_version > '3'", "maestrowf; extra == 'maestro'"]
    monkeypatch.setattr(metadata, "requires", lambda _: wanted)
    finding = only(software.libraries())
    assert (finding.name, finding.state) == ("whesl-no-such-library", State.FAILED)
    assert finding.advice == "pip install 'whesl-no-such-library>=2'"


def test_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        software, "_ENGINES", {"one": "import whesl_no_such_module", "two": "import whesl_nor_this"}
    )
    finding = only(software.engine())
    assert finding.state is State.FAILED
    assert "whesl_no_such_module" in finding.detail


def test_an_engine_that_misses_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "_ENGINES", {"quick": "assert False, 'it misses'", "slow": "pass"})
    finding = only(software.engine())
    assert finding.state is State.OK
    assert finding.detail == "slow; not the faster quick: it misses"


def test_stacks(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = tmp_path / "scope"
    scope.write_text("1\n")
    monkeypatch.setattr(software, "_PTRACE", scope)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert only(software.stacks()).state is State.MISSING
    command(place, "gdb", "exit 0")
    assert only(software.stacks()).state is State.WARN
    scope.write_text("0\n")
    assert only(software.stacks()).state is State.OK


def test_nextflow_is_read_and_not_run(place: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command(place, "nextflow", "NXF_VER=${NXF_VER:-'24.10.1'}", f"touch {ran}")
    finding = only(workflow_managers.nextflow())
    assert finding.version == "24.10.1"
    assert not ran.exists()


def test_commands_are_executable_in_these_tests(place: Path) -> None:
    command(place, "x", "echo out")
    assert stat.S_IMODE((place / "x").stat().st_mode) == 0o755
    answer = ask("x")
    assert answer is not None
    assert answer.output == "out\n"


@pytest.mark.slurm
def test_a_real_slurm(slurm: SlurmBed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_runner, "COMMAND_LIMIT", 60.0)
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    finding = only(resource_managers.slurm())
    assert (finding.state, finding.version[:2].isdigit()) == (State.OK, True), finding
    assert finding.detail.startswith("4 nodes: ")
    told = {found.name: found.state for found in slurm_settings.slurm()}
    # The test cluster keeps no accounts; nothing else is wrong with its settings.
    needed = not Ability.CHANGES_AFTER_RESIZE.of(slurm.release)
    assert told.pop("Slurm accounting") is (State.WARN if needed else State.OK)
    assert ("Slurm SIGCHLD" in told) is Ability.BLOCKS_SIGCHLD.of(slurm.release)
    assert set(told) <= {"Slurm SIGCHLD", "Slurm settings", "Slurm JobFileAppend"}
