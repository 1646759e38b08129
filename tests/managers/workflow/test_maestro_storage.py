"""Maestro and full disks: workspaces to come, links of strangers, bookkeeping."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from whesl.language.pattern_and_stream_records import Span
from whesl.language.spec import Entity, Operation, RecoveryStep, ResourceKind
from whesl.managers.workflow import manager
from whesl.managers.workflow.maestro.filesystem_replacement import Shelter
from whesl.managers.workflow.maestro.running import read_status
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError
from whesl.model.evidence import Raised
from whesl.model.workflow import Task, Workflow


def workflow(root: Path) -> Workflow:
    return Workflow(
        id="w",
        name="w",
        wms="maestro",
        root=str(root),
        tasks=(
            *(
                Task(id=f"w/{step}_{n}", step=step, instance=n, workspace=str(root / step / n))
                for step in ("make", "use")
                for n in ("A.1", "A.2")
            ),
            Task(id="w/end", step="end", workspace=str(root / "end")),
        ),
    )


def replace(root: Path, **arguments: object) -> Configuration:
    step = RecoveryStep(
        entity=Entity.WMS,
        resource=ResourceKind.FILESYSTEM,
        operation=Operation.REPLACE,
        arguments=arguments,
        span=Span(line=1, column=1, end_line=1, end_column=2),
    )
    raised = Raised(exception="FULL", task="w/make_A.1", attempt=1, ordinal=1, time=1.0, evidence=())
    return manager("maestro").apply(workflow(root), step, raised, Configuration())


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A study whose first step runs, and a new root."""
    root, new = tmp_path / "study", tmp_path / "new"
    (root / "make" / "A.1").mkdir(parents=True)
    (root / "make" / "A.2").mkdir()
    (root / "make" / "A.2" / "result").write_text("kept")
    new.mkdir(mode=0o700)
    return root, new


def test_what_is_to_come_is_linked_and_what_exists_is_left(places: tuple[Path, Path]) -> None:
    root, new = places
    for _ in range(2):
        configuration = replace(root, filesystem=str(new), defaultpath=str(root))
        assert configuration == Configuration(), "the failed task is moved by its own step"
        assert (root / "make" / "A.2" / "result").read_text() == "kept"
        assert not (root / "make" / "A.1").is_symlink()
        for name in ("use/A.1", "use/A.2", "end"):
            assert (root / name).readlink() == new / name
            assert (new / name).is_dir()
            assert (new / name).stat().st_mode & 0o777 == 0o700
        # What Maestro does when it comes to the step.
        (root / "use" / "A.1").mkdir(parents=True, exist_ok=True)
        (root / "use" / "A.1" / "use.slurm.sh").write_text("x")
    assert (new / "use" / "A.1" / "use.slurm.sh").read_text() == "x"


def test_a_kill_at_any_point_and_a_repeat(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Die in the n-th system call that makes something, for every n, then do it again."""
    root, new = places

    class DiedError(BaseException):
        pass

    made = {"count": 0, "limit": 0}

    def counted(real: object) -> object:
        def call(*arguments: object, **named: object) -> object:
            made["count"] += 1
            if made["count"] > made["limit"]:
                raise DiedError
            return real(*arguments, **named)  # type: ignore[operator]  # os.mkdir or os.symlink

        return call

    monkeypatch.setattr(os, "mkdir", counted(os.mkdir))
    monkeypatch.setattr(os, "symlink", counted(os.symlink))
    for limit in range(40):
        made.update(count=0, limit=limit)
        try:
            replace(root, filesystem=str(new), defaultpath=str(root))
        except DiedError:
            continue
        break
    else:
        pytest.fail("it never came to an end")
    assert limit > 3
    assert all((root / name).readlink() == new / name for name in ("use/A.1", "use/A.2", "end"))


def test_a_prefix_above_the_study(places: tuple[Path, Path]) -> None:
    root, new = places
    replace(root, filesystem=[str(root.parent / "missing"), str(new)], defaultpath=str(root.parent) + "/")
    assert (root / "end").readlink() == new / "study" / "end"


def test_a_prefix_that_is_none_means_the_study(places: tuple[Path, Path]) -> None:
    root, new = places
    replace(root, filesystem=str(new), defaultpath="default path for workflow system output")
    assert (root / "end").readlink() == new / "end"


def test_a_planted_link_is_not_followed(places: tuple[Path, Path], tmp_path: Path) -> None:
    root, new = places
    victim = tmp_path / "victim"
    victim.mkdir()
    (new / "use").symlink_to(victim)
    with pytest.raises(RefusedError, match="not followed"):
        replace(root, filesystem=str(new), defaultpath=str(root))
    assert not list(victim.iterdir())


def test_a_directory_that_is_open_to_all_is_refused(places: tuple[Path, Path]) -> None:
    root, new = places
    (new / "use").mkdir()
    (new / "use").chmod(0o777)
    with pytest.raises(RefusedError, match="open to all"):
        replace(root, filesystem=str(new), defaultpath=str(root))


@pytest.mark.parametrize(
    ("filesystem", "message"),
    [
        ("relative/path", "not an absolute path"),
        ("/nowhere/at/all", "No such file"),
        ("", "not an absolute path"),
        ("/a/../b", "not an absolute path"),
        (["/nowhere/at/all", "x"], "No such file"),
    ],
)
def test_roots_that_cannot_be_used(places: tuple[Path, Path], filesystem: object, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        replace(places[0], filesystem=filesystem, defaultpath=str(places[0]))


def test_room_is_checked(places: tuple[Path, Path]) -> None:
    with pytest.raises(RefusedError, match="bytes free"):
        replace(places[0], filesystem=str(places[1]), defaultpath=str(places[0]), min_free=1 << 62)


def test_other_operations_are_refused(places: tuple[Path, Path]) -> None:
    step = RecoveryStep(
        entity=Entity.WMS,
        resource=ResourceKind.NODE,
        operation=Operation.ADD,
        span=Span(line=1, column=1, end_line=1, end_column=2),
    )
    raised = Raised(exception="X", task="w/x", attempt=1, ordinal=1, time=1.0, evidence=())
    with pytest.raises(RefusedError, match=r"NODE\.ADD"):
        manager("maestro").apply(workflow(places[0]), step, raised, Configuration())


def test_bookkeeping_goes_elsewhere_and_comes_back(tmp_path: Path) -> None:
    root, home = tmp_path / "study", tmp_path / "home"
    root.mkdir()
    shelter = Shelter(root, home)
    shelter.look()
    assert not home.exists(), "nothing before Maestro has begun"
    (root / "status.csv").write_text("first")
    (root / "s.study.pkl").write_bytes(b"x")
    shelter.look()
    (root / "s.pkl").write_bytes(b"graph")
    shelter.look()
    # As Maestro writes: opened by name, truncated.
    (root / "status.csv").open("w+").write("second")
    assert (home / "bookkeeping" / "status.csv").read_text() == "second"
    assert (root / "s.pkl").is_symlink()
    assert not (root / "s.study.pkl").is_symlink()
    assert (root / ".whesl-reserve").stat().st_blocks * 512 >= 1 << 20
    shelter.close()
    assert not (root / "status.csv").is_symlink()
    assert (root / "status.csv").read_text() == "second"
    assert sorted(path.name for path in root.iterdir()) == ["s.pkl", "s.study.pkl", "status.csv"]


def test_the_reserve_is_given_free_in_parts_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "status.csv").write_text("x")
    shelter = Shelter(tmp_path, tmp_path / "home")
    shelter.look()
    reserve = tmp_path / ".whesl-reserve"
    shelter.look()
    shelter.make_room()
    assert reserve.stat().st_size == 1 << 20, "there is room, and none of it is needed"

    def full(descriptor: int, offset: int, length: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "posix_fallocate", full)
    shelter.look()
    shelter.look()
    assert reserve.stat().st_size == 768 << 10, "once: the room belongs to the study now"
    assert reserve.stat().st_blocks * 512 == 768 << 10
    for left in (512, 256):
        shelter.make_room()
        assert reserve.stat().st_size == left << 10, "each conductor that begins again finds some"
    shelter.make_room()
    assert not reserve.exists()
    shelter.make_room()
    monkeypatch.undo()
    shelter.look()
    assert not reserve.exists(), "it is not made anew"


def test_status_rows_with_commas_in_names() -> None:
    rows = [
        "run_A.1,2,17,run/A.1,FINISHED,--:--:--,--,--,--,--,0,A:1",
        "run_A.1,--,run/A.1,RUNNING,--:--:--,--,--,--,--,0,",
        "end,18,end,FAILED,x,x,x,x,x,0,",
    ]
    assert read_status(rows, ["end", "run_A.1", "run_A.1,2", "other"]) == {
        "run_A.1,2": "FINISHED",
        "run_A.1": "RUNNING",
        "end": "FAILED",
    }
