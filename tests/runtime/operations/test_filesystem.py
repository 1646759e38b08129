"""FILESYSTEM.REPLACE on real files: what is linked, copied, moved, refused; kills; random trees."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.runtime.operations.builders import advance, context, step
from tests.runtime.operations.trees import Bed, contents, killed_at, leftovers
from whesl.model.configuration_changes import Configuration
from whesl.model.pathmap import PathMap, PathRule
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.recovery_step_execution import HostPorts, execute
from whesl.runtime.operations.relocation.link_dependent_inputs import prepare_dependent
from whesl.runtime.operations.relocation.tree_relocation import said


@pytest.fixture
def bed(tmp_path: Path) -> Bed:
    return Bed(tmp_path)


def test_finished_is_linked_and_unfinished_copied(bed: Bed) -> None:
    done = bed.file("w/done")
    bed.file("w/sub/late", b"half", age=1.0)
    opened = bed.file("w/open", b"open")
    bed.file("w2/other-task")
    result = bed.replace(bed.context(open_files=(os.fsencode(opened),)))
    assert (bed.new / "w/done").readlink() == done
    assert (bed.new / "w/sub/late").read_bytes() == b"half" and not (bed.new / "w/sub/late").is_symlink()
    assert not (bed.new / "w/open").is_symlink()
    assert not (bed.new / "w2").exists()
    assert result.configuration is not None and result.dependents is not None
    rule = (PathRule(str(bed.old), str(bed.new)),)
    assert result.configuration.path_map.rules == result.dependents.path_map.rules == rule
    assert result.configuration.version == 1
    assert "1 linked, 2 copied (8 bytes)" in result.note


def test_twice_changes_nothing(bed: Bed) -> None:
    bed.file("w/a")
    bed.file("w/b", age=0)
    first = bed.replace()
    before = {path: path.lstat().st_mtime_ns for path in bed.new.rglob("*")}
    assert bed.replace().configuration == first.configuration
    assert {path: path.lstat().st_mtime_ns for path in bed.new.rglob("*")} == before


def test_copies_keep_what_files_are(bed: Bed) -> None:
    path = bed.file("w/f", b"x", age=0)
    with path.open("r+b") as file:
        file.truncate(8 << 20)
        file.seek(4 << 20)
        file.write(b"middle")
    path.chmod(0o751)
    os.utime(path, ns=(1, int(bed.end * 1e9) + 7))
    try:
        os.setxattr(path, "user.whesl", b"v")
    except OSError:
        attribute = None
    else:
        attribute = b"v"
    os.link(path, bed.workspace / "second name")
    bed.replace()
    copy = bed.new / "w/f"
    status = copy.stat()
    assert copy.read_bytes() == path.read_bytes()
    assert stat.S_IMODE(status.st_mode) == 0o751
    assert status.st_mtime_ns == path.stat().st_mtime_ns
    assert status.st_blocks * 512 < 1 << 20, "holes were filled"
    assert (bed.new / "w/second name").stat().st_ino == status.st_ino
    assert attribute is None or os.getxattr(copy, "user.whesl") == attribute


def test_directories_keep_their_modes_and_fifos_are_made(bed: Bed) -> None:
    (bed.workspace / "d").mkdir(mode=0o750)
    os.mkfifo(bed.workspace / "d/pipe", 0o600)
    bed.replace()
    assert stat.S_IMODE((bed.new / "w/d").stat().st_mode) == 0o750
    assert stat.S_ISFIFO((bed.new / "w/d/pipe").lstat().st_mode)


def test_links_mean_what_they_meant(bed: Bed) -> None:
    bed.file("w/ckpt.3", b"three", age=0)
    bed.file("elsewhere/ref", b"ref")
    (bed.workspace / "latest").symlink_to("ckpt.3")
    (bed.workspace / "absolute").symlink_to(bed.workspace / "ckpt.3")
    (bed.workspace / "outside").symlink_to("../elsewhere/ref")
    (bed.workspace / "dangling").symlink_to("nowhere")
    bed.replace()
    assert (bed.new / "w/latest").readlink() == Path("ckpt.3")
    assert (bed.new / "w/absolute").readlink() == bed.new / "w/ckpt.3"
    assert (bed.new / "w/outside").read_bytes() == b"ref"
    assert (bed.new / "w/dangling").readlink() == Path("nowhere")


def test_nothing_is_overwritten(bed: Bed) -> None:
    bed.file("w/out", b"old", age=0)
    bed.file("w/link", b"old")
    (bed.new / "w").mkdir()
    (bed.new / "w/out").write_bytes(b"newer")
    (bed.new / "w/link").symlink_to("/etc/hostname")
    for mode in ("link", "move"):
        bed.replace(mode=mode, ordinal=2)
        assert (bed.new / "w/out").read_bytes() == b"newer"
        assert (bed.new / "w/link").readlink() == Path("/etc/hostname")
        assert (bed.old / "w/out").read_bytes() == b"old"


def test_paths_the_command_names(bed: Bed) -> None:
    bed.file("in/a.nii", b"a")
    bed.file("in/b.nii", b"b")
    bed.file("run/part.000", b"0")
    bed.file("run/unrelated", b"0")
    bed.file("big/x/y", b"y")
    (bed.old / "alias").symlink_to("big")
    command = ("app", str(bed.old / "in/a.nii"), f"--prefix={bed.old}/run/part", str(bed.old / "alias/x"))
    missing = str(bed.old / "made/later/deep")
    bed.replace(bed.context(command=command, environment={"OUT": missing}, script="cat ../in/b.nii\n"))
    assert sorted(contents(bed.new)) == [b"big/x/y", b"in/a.nii", b"in/b.nii", b"run/part.000"]
    assert (bed.new / "alias/x/y").read_bytes() == b"y"


def test_a_second_replace_of_the_same_rule_makes_own_links_copies(bed: Bed) -> None:
    bed.file("w/restart", b"r")
    bed.file("in/given", b"g", age=5000)
    command = ("app", str(bed.old / "in/given"))
    given_context = bed.context(command=command)
    first = bed.replace(given_context)
    assert (bed.new / "w/restart").is_symlink()
    (bed.new / "w/made-since").write_bytes(b"m")
    bed.file("w/removed-by-the-task", b"x")
    again = bed.replace(advance(given_context, first), ordinal=2)
    assert not (bed.new / "w/restart").is_symlink() and (bed.new / "w/restart").read_bytes() == b"r"
    assert (bed.new / "in/given").is_symlink()
    assert not (bed.new / "w/removed-by-the-task").exists()
    assert (bed.new / "w/made-since").read_bytes() == b"m"
    assert again.configuration is not None and again.configuration.path_map == first.configuration.path_map  # type: ignore[union-attr]  # the first has one
    assert leftovers(bed.old, bed.new) == []


def test_a_third_root_after_the_second_is_full(bed: Bed, tmp_path: Path) -> None:
    bed.file("w/a", b"a")
    first = bed.replace()
    (bed.new / "w/b").write_bytes(b"b")
    third = tmp_path / "third"
    given_context = advance(bed.context(), first)
    result = bed.replace(given_context, ordinal=2, filesystem=[str(third)])
    assert contents(third) == {b"w/a": b"a", b"w/b": b"b"}
    assert result.configuration is not None and result.dependents is not None
    path_map = result.configuration.path_map
    assert path_map.path(str(bed.old / "w")) == path_map.path(str(bed.new / "w")) == str(third / "w")
    assert len(result.dependents.path_map.rules) == 2


def test_move_leaves_links_behind(bed: Bed) -> None:
    bed.file("w/a", b"a" * 5000)
    bed.file("w/sub/b", b"b")
    bed.file("in/shared", b"s", age=5000)
    result = bed.replace(bed.context(command=("x", str(bed.old / "in/shared"))), mode="move")
    assert (bed.workspace / "a").readlink() == bed.new / "w/a"
    assert not (bed.new / "w/sub/b").is_symlink()
    assert not (bed.old / "in/shared").is_symlink(), "what others produced is linked, not moved"
    assert (bed.new / "in/shared").is_symlink()
    assert "2 moved" in result.note
    again = bed.replace(bed.context(), mode="move")
    assert contents(bed.old)[b"w/a"] == contents(bed.new)[b"w/a"] == b"a" * 5000
    assert again.configuration == result.configuration


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "every"), [("link", 2), pytest.param("move", 3, marks=pytest.mark.variant)])
def test_killed_anywhere_nothing_is_lost(tmp_path: Path, mode: str, every: int) -> None:
    number, kills = 0, 0
    while True:
        bed = Bed(tmp_path / str(number))
        bed.file("w/done", b"done")
        bed.file("w/sub/late", b"half" * 100, age=1.0)
        os.link(bed.file("w/hard", b"hard", age=0), bed.workspace / "hard2")
        (bed.workspace / "latest").symlink_to("done")
        os.mkfifo(bed.workspace / "pipe")
        before = contents(bed.old)
        killed = killed_at(number, lambda bed=bed: bed.replace(mode=mode))  # type: ignore[misc]  # bound at once
        reachable = {**contents(bed.new), **contents(bed.old)}
        part = {name: content for name, content in reachable.items() if b".whesl-part" not in name}
        assert part == before, f"lost at {number}"
        result = bed.replace(mode=mode)
        assert contents(bed.new) == before, f"incomplete after a kill at {number}"
        assert contents(bed.old) == before
        assert leftovers(bed.old, bed.new) == []
        assert result.configuration is not None
        if mode == "move":
            assert (bed.workspace / "done").is_symlink() and not (bed.new / "w/done").is_symlink()
        assert (bed.new / "w/hard").stat().st_ino == (bed.new / "w/hard2").stat().st_ino
        shutil.rmtree(tmp_path / str(number))
        if not killed:
            break
        number, kills = number + every, kills + 1
    assert kills * every > 60


NAME = st.binary(min_size=1, max_size=8).filter(lambda n: not {0, 47} & set(n) and n not in (b".", b".."))
ITEM = st.tuples(
    st.lists(NAME, min_size=1, max_size=3),
    st.sampled_from(["file", "late", "open", "sparse", "link", "absolute", "hard", "fifo", "directory"]),
    st.binary(max_size=40),
)


@pytest.mark.costly
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(ITEM, max_size=12),
    st.lists(ITEM, max_size=4),
    st.sampled_from(["link", "move"]),
    st.integers(0, 400),
)
def test_random_trees(
    items: list[tuple[list[bytes], str, bytes]],
    present: list[tuple[list[bytes], str, bytes]],
    mode: str,
    kill: int,
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        bed = Bed(Path(directory))
        opened = plant(bed.old / "w", items, bed.end)
        plant(bed.new / "w", present, bed.end)
        before, there = contents(bed.old), contents(bed.new)
        regular = {name for name in there if not (bed.new / os.fsdecode(name)).is_symlink()}
        given_context = bed.context(open_files=tuple(opened))

        def run() -> None:
            try:
                bed.replace(given_context, mode=mode)
            except RecoveryError as error:
                assert "directory" in str(error)  # a file in the way of a directory, or the reverse

        killed_at(kill, run)
        run()
        after_old, after_new = contents(bed.old), contents(bed.new)
        assert {name: after_old.get(name, after_new.get(name)) for name in before} == before
        assert {name: after_new[name] for name in regular} == {name: there[name] for name in regular}
        assert leftovers(bed.old, bed.new) == []


def plant(root: Path, items: list[tuple[list[bytes], str, bytes]], end: float) -> list[bytes]:
    """Make entries below a root, those that fit; return what is to count as open."""
    root.mkdir(parents=True, exist_ok=True)
    opened: list[bytes] = []
    files: list[Path] = []
    for parts, kind, data in items:
        path = root.joinpath(*map(os.fsdecode, parts))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(path):
                continue
            if kind == "directory":
                path.mkdir()
            elif kind == "fifo":
                os.mkfifo(path)
            elif kind in ("link", "absolute"):
                target = os.fsdecode(data.replace(b"\0", b"/") or b"x")
                path.symlink_to(root / target.lstrip("/") if kind == "absolute" else target)
            elif kind == "hard" and files:
                path.hardlink_to(files[0])
            else:
                path.write_bytes(data)
                if kind == "sparse":
                    os.truncate(path, 1 << 16)
                age = 0.5 if kind in ("late", "sparse") else 100.0
                os.utime(path, (end - age, end - age))
                files.append(path)
                if kind == "open":
                    opened.append(os.fsencode(path))
        except OSError:
            continue  # two of the items are in each other's way
    return opened


def test_a_planted_link_in_the_target_is_refused(bed: Bed, tmp_path: Path) -> None:
    bed.file("w/a")
    victim = tmp_path / "victim"
    victim.mkdir()
    (bed.new / "w").symlink_to(victim)
    with pytest.raises(RecoveryError, match="a link is not followed"):
        bed.replace()
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_directory_that_others_can_write_is_refused(bed: Bed, mode: int) -> None:
    bed.file("w/a")
    (bed.new / "w").mkdir()
    (bed.new / "w").chmod(mode)
    if mode == 0o775:
        os.chown(bed.new / "w", -1, _shared_group())
    with pytest.raises(RecoveryError, match="plant links"):
        bed.replace()
    assert list((bed.new / "w").iterdir()) == []
    (bed.new / "w").chmod(0o1777)
    bed.replace(ordinal=2)
    assert (bed.new / "w/a").is_symlink()


def _shared_group() -> int:
    if os.geteuid() == 0:
        return 65534
    others = [gid for gid in os.getgroups() if gid != os.getgid()]
    if not others:
        pytest.skip("needs a second group")
    return others[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_another_user_s_directories(bed: Bed) -> None:
    bed.file("w/a")
    bed.file("colleague/data", b"d")
    os.chown(bed.old / "colleague", 1234, 1234)
    given_context = bed.context(command=("app", str(bed.old / "colleague/data")))
    result = bed.replace(given_context)
    assert (bed.new / "colleague").readlink() == bed.old / "colleague", "not entered, but found"
    assert "linked as a whole" in result.note
    shutil.rmtree(bed.new / "w")
    (bed.new / "w").mkdir()
    os.chown(bed.new / "w", 1234, 1234)
    with pytest.raises(RecoveryError, match="belongs to user 1234"):
        bed.replace(given_context, ordinal=2)


@pytest.mark.skipif(os.geteuid() != 0, reason="root has to become somebody who may not read")
def test_unreadable_files_and_directories(bed: Bed) -> None:
    """Run as an ordinary user, since root can read everything."""
    program = f"""
import os
from pathlib import Path
from tests.runtime.operations.trees import Bed  # first, since the interpreter may lie where root alone reads
os.setgroups([]); os.setgid(65534); os.setuid(65534)
bed = Bed(Path({str(bed.old.parent / "user")!r}))
bed.file("w/secret", b"s", age=0).chmod(0)
bed.file("w/closed/x", b"x")
bed.file("w/done", b"d")
(bed.workspace / "closed").chmod(0)
for mode in ("link", "move"):
    result = bed.replace(mode=mode, ordinal=3 + (mode == "move"))
    assert (bed.new / "w/secret").readlink() == bed.workspace / "secret"
    assert (bed.new / "w/closed").readlink() == bed.workspace / "closed"
    assert "cannot be read" in result.note, result.note
(bed.workspace / "closed").chmod(0o700)
assert (bed.new / "w/done").read_bytes() == b"d"
"""
    user = bed.old.parent / "user"
    user.mkdir()
    for parent in [user, *user.parents]:
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)
    os.chown(user, 65534, 65534)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr


def test_a_conflict_of_kinds_says_what_is_in_the_way(bed: Bed) -> None:
    bed.file("w/x/y")
    (bed.new / "w").mkdir()
    (bed.new / "w/x").write_text("file")
    with pytest.raises(RecoveryError, match="is a directory while the other is not"):
        bed.replace()


def test_candidates_are_tried_in_order_and_each_refusal_is_told(bed: Bed, tmp_path: Path) -> None:
    bed.file("w/a")
    (tmp_path / "file").write_text("")
    roots = [str(bed.old), str(tmp_path / "file"), str(bed.new)]
    result = bed.replace(filesystem=roots)
    assert (bed.new / "w/a").is_symlink()
    assert "passed over" in result.note
    with pytest.raises(RecoveryError, match=r"no file system can take the place.*to be replaced"):
        bed.replace(filesystem=[str(bed.old)], ordinal=2)
    with pytest.raises(RecoveryError, match="bytes are free"):
        bed.replace(min_free=1 << 60, ordinal=3)
    with pytest.raises(RecoveryError, match="not a directory that can be seen"):
        bed.replace(defaultpath=str(tmp_path / "nowhere"), ordinal=4)


def test_the_same_directory_by_another_name_is_refused(bed: Bed, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(bed.old)
    with pytest.raises(RecoveryError, match="same directory"):
        bed.replace(filesystem=[str(tmp_path / "alias")])


def test_a_new_root_inside_the_old_one(bed: Bed) -> None:
    bed.file("w/a", b"a")
    inner = bed.old / "w/inner"
    bed.replace(filesystem=[str(inner)])
    assert contents(inner) == {b"w/a": b"a"}


@pytest.mark.costly
def test_the_choice_outlives_a_crash(tmp_path: Path) -> None:
    """Once anything was made in a root, a second run takes no other, even if the first has no room now."""
    number, begun = 0, 0
    while True:
        bed = Bed(tmp_path / str(number))
        bed.file("w/a", b"a")
        roots = [str(bed.new), str(bed.new.parent / "other")]
        made = bed.step(mode="move", filesystem=roots)
        full = bed.step(mode="move", filesystem=roots, min_free=1 << 60)
        killed = killed_at(number, lambda: execute(made, bed.context(), HostPorts(bed.state)))  # noqa: B023  # called at once
        if (bed.new / "w").exists():
            begun += 1
            execute(full, bed.context(), HostPorts(bed.state))
            assert (bed.new / "w/a").read_bytes() == b"a"
        assert not (bed.new.parent / "other").exists()
        if not killed:
            break
        number += 1
    assert begun > 20


def test_names_that_are_no_text_can_be_told() -> None:
    told = said(OSError(28, "No space left on device", b"\xff"))
    assert told == "No space left on device (\\xff)"
    assert said(OSError(28, "No space left on device", os.fsdecode(b"\xff"))) == told


def test_an_interrupted_step_cleans_up(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    bed.file("w/a", b"a", age=0)

    def stopped(*_: object, **__: object) -> None:
        raise InterruptedError(4, "stopped")

    monkeypatch.setattr(os, "link", stopped)
    with pytest.raises(RecoveryError, match="stopped"):
        execute(bed.step(), bed.context(), HostPorts(bed.state))
    assert leftovers(bed.new) == []
    assert not (bed.new / "w/a").exists()


def test_dependents_find_what_they_name(bed: Bed, tmp_path: Path) -> None:
    bed.file("w/out", b"o")
    bed.file("elsewhere/in", b"i")
    bed.file("dependent/script", b"s", age=0)
    third = tmp_path / "third"
    path_map = PathMap().with_rule(str(bed.old), str(bed.new)).with_rule(str(bed.new), str(third))
    (bed.new / "w").mkdir()
    (bed.new / "w/out").write_bytes(b"newer")
    os.utime(bed.new / "w", (bed.end, bed.end))
    os.utime(bed.new / "w/out", (bed.end, bed.end))
    named = [str(bed.old / name) for name in ("w/out", "elsewhere", "dependent")]
    report = prepare_dependent(path_map, named, "w/dependent")
    assert report.linked == 3
    assert contents(third) == {b"w/out": b"newer", b"elsewhere/in": b"i", b"dependent/script": b"s"}
    assert prepare_dependent(path_map, named, "w/dependent").linked == 0
    assert prepare_dependent(path_map, ["/somewhere/else"], "w/dependent").linked == 0
    assert prepare_dependent(PathMap(), named, "w/dependent").linked == 0


def test_add_and_remove_keep_the_list(tmp_path: Path) -> None:
    ports = HostPorts(tmp_path)
    given_context = context()
    for name in ("a", "b", "a"):
        (tmp_path / name).mkdir(exist_ok=True)
        result = execute(step("FILESYSTEM.ADD", {"filesystem": str(tmp_path / name)}), given_context, ports)
        given_context = advance(given_context, result)
    both = f"{tmp_path}/a:{tmp_path}/b"
    assert given_context.configuration.environment == {"WHESL_FILESYSTEMS": both}
    for name in ("a", "a", "b"):
        result = execute(
            step("FILESYSTEM.REMOVE", {"filesystem": str(tmp_path / name)}), given_context, ports
        )
        given_context = advance(given_context, result)
    assert given_context.configuration.environment == {"WHESL_FILESYSTEMS": ""}
    with pytest.raises(RecoveryError, match="cannot be used"):
        execute(step("FILESYSTEM.ADD", {"filesystem": str(tmp_path / "none")}), given_context, ports)


def test_the_signal_for_dependents(bed: Bed) -> None:
    assert bed.replace(signal="USR1").signal == signal.SIGUSR1


def test_the_version_rises(bed: Bed) -> None:
    result = bed.replace(bed.context(configuration=Configuration(version=4)))
    assert result.configuration is not None and result.configuration.version == 5
