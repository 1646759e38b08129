"""``whesl doctor`` about a site: settings of Slurm, and what a login node does to programs that stay."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from whesl.doctor import login, resource_managers, slurm_settings
from whesl.doctor.probe_runner import Finding, State
from whesl.managers.resource.slurm import slurm_command_output

GOOD = """\
Configuration data as of 2026-01-01T00:00:00
AccountingStorageType   = accounting_storage/slurmdbd
MinJobAge               = 300 sec
PrivateData             = none
ProctrackType           = proctrack/cgroup
SlurmdTimeout           = 300 sec
SrunPortRange           = 0-0
"""
ALONE = GOOD.replace("slurmdbd", "none")


def told(text: str, **environ: str) -> dict[str, Finding]:
    return {
        finding.name: finding
        for finding in slurm_settings.findings(slurm_command_output.settings(text), environ)
    }


# Slurm ------------------------------------------------------------------------------------------------


def test_settings_that_are_well_are_one_line() -> None:
    found = told(GOOD)
    assert list(found) == ["Slurm accounting", "Slurm settings"]
    assert {finding.state for finding in found.values()} == {State.OK}
    assert "300 s (SlurmdTimeout)" in found["Slurm settings"].detail


@pytest.mark.parametrize(
    ("text", "name", "word"),
    [
        (GOOD.replace("= 300 sec", "= 0 sec"), "Slurm SlurmdTimeout", "administrator"),
        (ALONE.replace("MinJobAge               = 300", "MinJobAge = 30"), "Slurm MinJobAge", "again"),
        (GOOD.replace("= none", "= jobs,nodes,usage"), "Slurm PrivateData", "agents"),
        (GOOD.replace("proctrack/cgroup", "proctrack/pgid"), "Slurm ProctrackType", "linuxproc"),
        (f"{GOOD}SLURM_VERSION = 25.05.8\n", "Slurm SIGCHLD", "#!/bin/bash"),
        (GOOD.replace("0-0", "60001-63000"), "Slurm SrunPortRange", "WHESL_PORTS"),
    ],
)
def test_a_setting_that_takes_something_away_is_named(text: str, name: str, word: str) -> None:
    found = told(text)
    assert found[name].state is State.WARN
    assert word in found[name].advice
    assert "docs/administration.md" in found[name].advice
    assert "Slurm settings" not in found


def test_what_slurm_does_to_output_files_is_said_and_is_no_fault() -> None:
    found = told(GOOD + "JobFileAppend           = 0\n")
    assert found["Slurm JobFileAppend"].state is State.OK
    assert "--open-mode=append" in found["Slurm JobFileAppend"].detail
    assert "Slurm settings" in found
    assert "Slurm JobFileAppend" not in told(GOOD + "JobFileAppend           = 1\n")


def test_settings_that_take_nothing_away() -> None:
    assert "Slurm SrunPortRange" not in told(GOOD.replace("0-0", "60001-63000"), WHESL_PORTS="60001-60100")
    assert "Slurm SrunPortRange" not in told(GOOD.replace("0-0", "(null)"))
    assert "Slurm MinJobAge" not in told(GOOD.replace("MinJobAge               = 300", "MinJobAge = 30"))
    assert "Slurm MinJobAge" not in told(ALONE.replace("MinJobAge               = 300", "MinJobAge = 0"))
    assert "Slurm PrivateData" not in told(GOOD.replace("= none", "= jobs,usage"))
    assert told(f"{ALONE}SLURM_VERSION = 24.11.7\n")["Slurm accounting"].state is State.OK
    assert told("SlurmctldPort = 1\n") == {}, "the embedded manager's scontrol"


def test_the_guide_says_something_of_each() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "administration.md").read_text()
    for name in (
        "SlurmdTimeout",
        "MinJobAge",
        "PrivateData",
        "ProctrackType",
        "PropagateResourceLimits",
        "SrunPortRange",
        "JobFileAppend",
    ):
        assert name in guide


def test_a_slurm_that_hides_its_nodes_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = "slurm_load_node: Access/permission denied"
    for name in ("sbatch", "squeue", "scontrol", "scancel", "srun", "sinfo"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo slurm 22.05.8 && exit\necho {refusal} >&2\nexit 1\n'
        )
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (finding,) = resource_managers.slurm()
    assert (finding.state, finding.version) == (State.OK, "22.05.8")
    assert "PrivateData" in finding.detail


# The host ---------------------------------------------------------------------------------------------


def limited(monkeypatch: pytest.MonkeyPatch, **values: int) -> None:
    def getrlimit(which: int) -> tuple[int, int]:
        for name, value in values.items():
            if which == getattr(resource, name):
                return value, value
        return resource.RLIM_INFINITY, resource.RLIM_INFINITY

    monkeypatch.setattr(resource, "getrlimit", getrlimit)


@pytest.mark.parametrize(
    ("most", "state", "word"),
    [
        (1024, State.WARN, "ulimit -Hn: 1024"),
        (524288, State.OK, ""),
        (resource.RLIM_INFINITY, State.OK, ""),
    ],
)
def test_open_files(monkeypatch: pytest.MonkeyPatch, most: int, state: State, word: str) -> None:
    limited(monkeypatch, RLIMIT_NOFILE=most)
    (finding,) = login.open_files()
    assert finding.state is state
    assert word in finding.advice


def groups(place: Path, monkeypatch: pytest.MonkeyPatch, **limits: str) -> None:
    """Make control groups of which the one in the middle has these limits."""
    inner = place / "cgroup" / "user.slice" / "user-1.slice" / "session-1.scope"
    inner.mkdir(parents=True)
    for name, value in limits.items():
        (inner.parent / name.replace("_", ".")).write_text(f"{value}\n")
        (inner / name.replace("_", ".")).write_text("max\n")
    (place / "own").write_text("0::/user.slice/user-1.slice/session-1.scope\n")
    monkeypatch.setattr(login, "_CGROUPS", place / "cgroup")
    monkeypatch.setattr(login, "_OWN_CGROUP", place / "own")


@pytest.mark.parametrize(
    ("limits", "state", "detail"),
    [
        ({}, State.OK, "none on memory"),
        ({"memory_max": str(8 * 2**30), "pids_max": "500"}, State.OK, "8192 MiB of memory, 500 processes"),
        ({"memory_max": str(256 * 2**20)}, State.WARN, "256 MiB"),
        ({"pids_max": "20"}, State.WARN, "20 processes"),
    ],
)
def test_limits_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, str], state: State, detail: str
) -> None:
    limited(monkeypatch)
    groups(tmp_path, monkeypatch, **limits)
    (finding,) = login.limits()
    assert finding.state is state
    assert detail in finding.detail


def test_a_limit_of_processor_time_ends_a_coordinator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, RLIMIT_CPU=1800)
    groups(tmp_path, monkeypatch)
    (finding,) = login.limits()
    assert finding.state is State.WARN
    assert "1800 s of processor time" in finding.detail


@pytest.mark.parametrize(
    ("main", "part", "state"),
    [
        ("#KillUserProcesses=yes", "", State.OK),
        ("KillUserProcesses=yes", "", State.WARN),
        ("KillUserProcesses=no", "KillUserProcesses=1", State.WARN),
        ("KillUserProcesses=yes", "KillUserProcesses=no", State.OK),
        ("KillUserProcesses=yes", "KillExcludeUsers=root me", State.OK),
        ("KillUserProcesses=yes", "KillOnlyUsers=students", State.OK),
        ("KillUserProcesses=yes", "KillOnlyUsers=me you", State.WARN),
    ],
)
def test_what_a_log_out_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: str, part: str, state: State
) -> None:
    place = tmp_path / "logind.conf"
    place.write_text(f"[Login]\n{main}\n")
    (tmp_path / "logind.conf.d").mkdir()
    (tmp_path / "logind.conf.d" / "50-site.conf").write_text(f"[Login]\n{part}\n")
    monkeypatch.setattr(login, "_SYSTEMD", tmp_path)
    monkeypatch.setattr(login, "_LOGIND", (str(place),))
    monkeypatch.setattr(login, "_LINGER", tmp_path / "linger")
    monkeypatch.setattr(login, "_user", lambda: "me")
    (finding,) = login.sessions()
    assert finding.state is state
    if state is State.WARN:
        assert "enable-linger" in finding.advice
        (tmp_path / "linger").mkdir()
        (tmp_path / "linger" / "me").touch()
        assert "enable-linger" not in login.sessions()[0].advice
    monkeypatch.setattr(login, "_SYSTEMD", tmp_path / "none")
    assert login.sessions() == []


def test_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHESL_PORTS", raising=False)
    assert login.ports() == []
    monkeypatch.setenv("WHESL_PORTS", "60001-60100")
    assert "100 ports" in login.ports()[0].detail
    monkeypatch.setenv("WHESL_PORTS", "60001")
    assert login.ports()[0].state is State.FAILED


@pytest.mark.parametrize(
    ("tracker", "passed", "left_out", "warned"),
    [
        ("proctrack/linuxproc", "NONE", "(null)", True),
        ("proctrack/linuxproc", "STACK,CORE", "(null)", True),
        ("proctrack/linuxproc", "(null)", "RSS,MEMLOCK", True),
        ("proctrack/linuxproc", "(null)", "MEMLOCK", False),
        ("proctrack/linuxproc", "ALL", "(null)", False),
        ("proctrack/linuxproc", "STACK,RSS", "(null)", False),
        ("proctrack/cgroup", "NONE", "(null)", False),
    ],
)
def test_what_fencing_cannot_find_is_told(tracker: str, passed: str, left_out: str, warned: bool) -> None:
    text = GOOD.replace("proctrack/cgroup", tracker)
    text += f"\nPropagateResourceLimits = {passed}\nPropagateResourceLimitsExcept = {left_out}\n"
    found = told(text).get("Slurm PropagateResourceLimits")
    assert (found is not None) == warned
    assert found is None or (tracker in found.detail and "proctrack/cgroup" in found.advice)
