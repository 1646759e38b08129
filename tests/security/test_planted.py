"""What another user has put where FILESYSTEM.REPLACE, or the task's output, is about to go.

A directory open to all with its sticky bit, as ``/tmp`` and many a scratch file system; the one who recovers
and the one who plants are two real users, neither of them root, so nothing here is refused for root's sake.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.alike import alike
from tests.runtime.isolator.bench import HEAD
from tests.runtime.operations.trees import Bed, contents
from tests.security.stranger import STRANGER, VICTIM, needs_root, open_place, result_of, run_as, start_as
from whesl.files.untrusted_path import planted
from whesl.model.pathmap import PathMap, PathRule
from whesl.runtime.isolator.observe import attempt_output_destination
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation.link_dependent_inputs import prepare_dependent
from whesl.runtime.operations.relocation.linked_roots import linked_roots

pytestmark = needs_root
SECRET = b"the victim's own\n"
ROUNDS = 25


class Scene:
    """A directory open to all (``shared``), the victim's own one beside it, and a task of the victim's."""

    def __init__(self, place: Path) -> None:
        self.shared = place / "shared"
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.own = place / "own"
        self.own.mkdir()
        self.own.chmod(0o755)
        os.chown(self.own, VICTIM, VICTIM)
        self.secret = self.own / "secret"
        self.as_victim(lambda: self.secret.write_bytes(SECRET))
        self.before = set(self.own.iterdir())

    def as_victim(self, work: Callable[[], Any]) -> Any:
        return run_as(VICTIM, work)

    def plant(self, work: Callable[[], Any]) -> Any:
        return run_as(STRANGER, work)

    def replace(self, *roots: Path, mode: str = "link", number: int = 1) -> str:
        """Run FILESYSTEM.REPLACE as the victim; return the chosen root, or what was refused."""

        def work() -> str:
            place = self.own.parent / f"task-{number}"
            bed = Bed.__new__(Bed)
            bed.old, bed.new, bed.state = place / "old", roots[0], place / "state"
            bed.workspace = bed.old / "w"
            bed.workspace.mkdir(parents=True, exist_ok=True)
            bed.file("w/finished", b"finished")
            bed.file("w/unfinished", b"unfinished", age=0.0)
            try:
                result = bed.replace(filesystem=[str(root) for root in roots], mode=mode)
            except RecoveryError as error:
                return f"refused: {error}"
            assert result.configuration is not None
            return result.configuration.path_map.rules[-1].new

        return str(self.as_victim(work))

    def untouched(self) -> None:
        """Nothing of the victim's was written to, and nothing new is where a link might have led."""
        assert self.secret.read_bytes() == SECRET
        assert set(self.own.iterdir()) == self.before


@pytest.fixture
def scene() -> Iterator[Scene]:
    with open_place(0o777) as place:  # both users' directories are made in it
        yield Scene(place)


def check_tree(root: Path) -> None:
    """The task's files are there, in directories that are the victim's."""
    assert contents(root / "w") == {b"finished": b"finished", b"unfinished": b"unfinished"}
    assert (root / "w").lstat().st_uid == VICTIM
    assert not (root / "w" / "unfinished").is_symlink()


# The root -------------------------------------------------------------------------------------------


def _link(scene: Scene, name: Path) -> None:
    name.symlink_to(scene.own)


def _directory(_scene: Scene, name: Path) -> None:
    name.mkdir()
    name.chmod(0o777)


def _dangling(scene: Scene, name: Path) -> None:
    name.symlink_to(scene.own / "new")


def _deep(scene: Scene, name: Path) -> None:
    (scene.shared / "deep").mkdir()
    (scene.shared / "deep" / "link").symlink_to(scene.own)
    name.symlink_to("deep/link")


@pytest.mark.parametrize("plant", [_link, _directory, _dangling, _deep])
def test_a_root_that_a_stranger_planted_is_refused_and_the_next_taken(
    scene: Scene, plant: Callable[[Scene, Path], None]
) -> None:
    first, second = scene.shared / "spare", scene.shared / "other"
    scene.plant(lambda: plant(scene, first))
    assert "belongs to another user" in scene.replace(first)
    assert "belongs to another user" in scene.replace(first / "below", number=2)
    scene.untouched()
    assert scene.replace(first, second, number=3) == str(second)
    check_tree(second)
    assert second.stat().st_uid == VICTIM
    scene.untouched()


def test_links_of_the_site_and_of_the_user_are_followed(scene: Scene) -> None:
    real = scene.shared / "real"
    scene.as_victim(real.mkdir)
    (scene.shared / "site").symlink_to(real)  # root's
    scene.as_victim(lambda: (scene.shared / "mine").symlink_to("site"))
    assert scene.replace(scene.shared / "mine") == str(scene.shared / "mine")
    check_tree(real)


def test_a_dependent_is_not_led_astray_either(scene: Scene) -> None:
    old = scene.own.parent / "old"

    def fill() -> None:
        (old / "w").mkdir(parents=True)
        (old / "w" / "in").write_bytes(b"in")

    scene.as_victim(fill)
    spare = scene.shared / "spare"
    scene.plant(lambda: _link(scene, spare))

    def prepare() -> str:
        rules = PathMap().with_rule(str(old), str(spare))
        try:
            prepare_dependent(rules, [str(old / "w")], "w/b")
        except RecoveryError as error:
            return str(error)
        return "done"

    assert "belongs to another user" in scene.as_victim(prepare)
    scene.untouched()


def test_a_link_that_a_stranger_planted_is_no_name_of_the_root(scene: Scene) -> None:
    planted_one, own = scene.shared / "planted", scene.shared / "own"
    scene.plant(lambda: planted_one.symlink_to(scene.own))
    scene.as_victim(lambda: own.symlink_to(scene.own))

    def rules() -> list[str]:
        found = linked_roots([f"{planted_one}/out", f"{own}/out"], str(scene.own))
        return [rule.old for rule in found.rules]

    assert scene.as_victim(rules) == [str(own)]


# Below the root -------------------------------------------------------------------------------------


def _hard_link(scene: Scene, name: Path) -> None:
    """Where the kernel lets a stranger do that (fs.protected_hardlinks=0)."""
    try:
        os.link(scene.secret, name)
    except PermissionError:
        name.write_bytes(b"planted")


@pytest.mark.costly
@pytest.mark.parametrize(
    "plant", [_link, _directory, _dangling, _hard_link, lambda _scene, name: os.mkfifo(name, 0o666)]
)
@pytest.mark.parametrize("mode", ["link", "move"])
def test_what_a_stranger_planted_where_the_workspace_goes_is_refused(
    scene: Scene, plant: Callable[[Scene, Path], None], mode: str
) -> None:
    place = scene.shared / "w"
    scene.plant(lambda: plant(scene, place))
    before = place.lstat()
    assert scene.replace(scene.shared, mode=mode).startswith("refused: ")
    scene.untouched()
    after = place.lstat()
    assert (after.st_ino, after.st_uid, after.st_size) == (before.st_ino, before.st_uid, before.st_size)
    assert stat.S_ISLNK(after.st_mode) or not place.is_dir() or list(place.iterdir()) == []
    kept = contents(scene.own.parent / "task-1" / "old" / "w")
    assert kept == {b"finished": b"finished", b"unfinished": b"unfinished"}, "the originals"


@pytest.mark.slow
@pytest.mark.parametrize("where", alike(["spare", "w"]))
def test_a_stranger_who_swaps_all_the_time_wins_no_race(scene: Scene, where: str) -> None:
    """Planted, removed and planted again, as fast as can be, while REPLACE runs again and again."""
    name = scene.shared / where
    stop = scene.own.parent / "stop"

    def swap() -> int:
        count = 0
        while not stop.exists():
            count += 1
            with suppress(OSError):
                if count % 3 == 0:
                    name.mkdir()
                    name.rmdir()
                else:
                    name.symlink_to(scene.own if count % 2 else scene.own / "new")
                    name.unlink()
        return count

    started = start_as(STRANGER, swap)
    outcomes = []
    try:
        for number in range(ROUNDS):
            root = scene.shared / "spare" if where == "spare" else scene.shared
            outcomes.append(scene.replace(root, number=number))
            scene.untouched()
            if not outcomes[-1].startswith("refused: "):
                check_tree(root)
                scene.as_victim(lambda: _remove(name))
    finally:
        stop.touch()
    assert result_of(started) > ROUNDS


def _remove(path: Path) -> None:
    for below in sorted(path.rglob("*"), reverse=True):
        below.rmdir() if below.is_dir() and not below.is_symlink() else below.unlink()
    path.rmdir()


# The task's output and what it watches --------------------------------------------------------------


@pytest.mark.parametrize("name", ["logs", "logs/out"])
def test_output_does_not_move_to_where_a_stranger_waits(
    scene: Scene, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After FILESYSTEM.REPLACE a task's output goes below the new root, if nobody has put anything there."""
    monkeypatch.setattr(attempt_output_destination, "full", lambda _path: "No space left on device")
    paths = PathMap(rules=(PathRule(old="/old", new=str(scene.shared)),))
    if name == "logs":
        scene.plant(lambda: _link(scene, scene.shared / "logs"))
    else:
        (scene.shared / "logs").mkdir()
        (scene.shared / "logs").chmod(0o1777)
        scene.plant(lambda: (scene.shared / "logs" / "out").symlink_to(scene.secret))
    assert (
        scene.as_victim(lambda: attempt_output_destination._place("/old/logs/out", paths)) == "/old/logs/out"
    )
    assert scene.secret.read_bytes() == SECRET
    moved = scene.as_victim(lambda: attempt_output_destination._place("/old/other/out", paths))
    assert moved == str(scene.shared / "other" / "out")
    assert (scene.shared / "other").stat().st_mode & 0o022 == 0


def test_a_planted_pipe_or_device_does_not_stop_a_task_that_watches_the_file(tmp_path: Path) -> None:
    rules = tmp_path / "rules.esl"
    rules.write_text(
        HEAD + "DECLARE EXCEPTION SEEN JOB_LEVEL JOB [*] ELSE FAIL\n"
        'EXCEPTION DETECTION SEEN LOG "x" file "pipe.log"\n'
        'EXCEPTION DETECTION SEEN LOG "y" file "endless.log"\n'
    )
    os.mkfifo(tmp_path / "pipe.log", 0o666)
    (tmp_path / "endless.log").symlink_to("/dev/zero")
    done = subprocess.run(
        [sys.executable, "-m", "whesl", "exec", "-e", str(rules), "--no-coordinator", "--", "echo", "done"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


# The rule itself ------------------------------------------------------------------------------------


def test_the_rule_on_every_part_of_a_path() -> None:
    with open_place(0o1777) as place:
        (place / "mine").mkdir()
        (place / "mine" / "deep").mkdir()
        (place / "loop").symlink_to("loop")
        run_as(STRANGER, lambda: (place / "theirs").mkdir())
        run_as(STRANGER, lambda: (place / "to-mine").symlink_to("mine"))
        (place / "mine" / "out").symlink_to("../theirs")

        def found(name: str) -> str | None:
            return planted(f"{place}/{name}", os.geteuid(), os.lstat, os.readlink)

        assert found("mine/deep") is None
        assert found("mine/deep/../deep/./missing/below") is None
        assert found("nothing-yet/below") is None
        assert found("loop") is None, "whoever opens it is told"
        assert found("theirs") == found("theirs/below") == f"{place}/theirs"
        assert found("to-mine/deep") == f"{place}/to-mine"
        assert found("mine/out/below") == f"{place}/theirs"
        place.chmod(0o755)
        assert found("theirs") is None, "only its owner could have put it there"
