"""The test cluster itself: what it leaves behind, and what happens where there can be none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment import install_slurm, slurmbed
from tests.equipment.install_slurm import SlurmBedError
from tests.equipment.slurmbed import Mode, SlurmBed


@pytest.mark.slurm
@pytest.mark.parametrize("mode", ["pid", "net", "host"])
def test_nothing_is_left(mode: Mode) -> None:
    need_slurm()
    with SlurmBed(2, mode) as bed:
        bed.wait_job(bed.submit("sleep 600", "--nodes=2"), "RUNNING")
        assert bed.living()
        if mode != "host":
            assert bed.run("srun", "-N2", "hostname").stdout.split() in (["n01", "n02"], ["n02", "n01"])
    assert not bed.living()
    assert not bed.directory.exists()
    assert str(bed.directory) not in Path("/proc/mounts").read_text()
    for command in (["ip", "-br", "link"], ["ip", "netns"]):
        assert bed.tag not in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slurm
def test_a_failed_start_leaves_nothing() -> None:
    need_slurm()
    bed = SlurmBed(2, settings={"SelectType": "select/nonsense"})
    with pytest.raises(SlurmBedError, match="slurmctld ended"):
        bed.__enter__()
    assert not bed.living()
    assert not bed.directory.exists()


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(install_slurm, "missing", lambda sets=(): ["slurmctld"])
    with pytest.raises(SlurmBedError, match="root"):
        install_slurm.install()
    bed = slurmbed.SlurmBed(1)
    with pytest.raises(SlurmBedError, match="root"):
        bed.start()
    bed.stop()


def test_a_slurm_under_a_prefix_comes_first_and_has_to_be_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Commands of two releases do not understand each other ("Insane message length")."""
    monkeypatch.setenv(install_slurm.PREFIX, str(tmp_path))
    assert install_slurm.search_path().split(os.pathsep)[:2] == [f"{tmp_path}/bin", f"{tmp_path}/sbin"]
    for name in ("bin", "sbin"):
        (tmp_path / name).mkdir()
    for name in ("sbatch", "srun", "salloc", "scontrol", "squeue", "sinfo"):
        (tmp_path / "bin" / name).symlink_to("/bin/true")
    for name in ("slurmctld", "slurmd"):
        (tmp_path / "sbin" / name).symlink_to("/bin/true")
    assert f"{tmp_path}/bin/scancel" in install_slurm.missing()
    assert f"{tmp_path}/bin/srun" not in install_slurm.missing()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SlurmBedError, match=r"not whole: no .*/bin/scancel"):
        install_slurm.install()


@pytest.mark.parametrize(
    ("ci", "outcome"),
    [
        ("true", pytest.fail.Exception),
        ("1", pytest.fail.Exception),
        ("false", pytest.skip.Exception),
        ("", pytest.skip.Exception),
    ],
)
def test_where_slurm_cannot_be(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    """Skipping is for a user's machine; in CI it would hide that nothing was tested."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="root"):
        need_slurm()
