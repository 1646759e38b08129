"""Logs that are written anew, moved, shortened and rotated: each line is judged once.

A restarted program that reads its log, writes it anew and moves it into place had its old lines judged again:
healthy attempts were ended until the budget was spent. Lines from before WHESL began counted, too.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.detect.build import SPAN, TASK, exception, spec
from whesl.language.detections.log import LogDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.runtime.detect import named_files, old_files
from whesl.runtime.detect.task_watch import Watch


class Log:
    """A log whose lines are numbered, what is done with it, and who watches.

    Args:
        place: the log's directory.
        tail: ``auto`` or ``poll``.
        named: the file in the rules; a pattern also names the log's rotated copies.
    """

    def __init__(self, place: Path, tail: str, named: str = "run.log") -> None:
        source = Source(stream=Stream.FILE, path=named)
        bad = LogDetection(patterns=(Pattern(text="bad"),), source=source, span=SPAN)
        self.rules = spec(exception("BAD", bad))
        self.path = place / "run.log"
        self.sources: dict[Source, str] = {source: str(place / named)}
        self.named = named
        self.tail = tail
        self.numbers = itertools.count()
        self.due: list[str] = []  # lines that are to be judged
        self.judged: list[str] = []
        self.rotations = 0
        self.clock = 1000.0
        self.watch: Watch | None = None
        self.runs = False  # an attempt does, seen or not

    def lines(self, count: int) -> str:
        made = [f"bad {number}" for number in itertools.islice(self.numbers, count)]
        if self.runs:
            self.due += made
        return "".join(f"{line}\n" for line in made)

    def append(self, count: int) -> None:
        with self.path.open("a") as file:
            file.write(self.lines(count))

    def rewrite_and_move(self, count: int) -> None:
        """As a restarted program: its old lines and new ones, in a file that is moved into place."""
        old = self.path.read_text() if self.path.exists() else ""
        self._move(old + self.lines(count))

    def shorten_and_move(self, count: int) -> None:
        """The same of a program that keeps its last lines alone; what was read is known until it is seen."""
        self.look()
        old = self.path.read_text().splitlines(keepends=True) if self.path.exists() else []
        self._move("".join(old[-3:]) + self.lines(count))
        self.look()

    def rewrite_in_place(self, count: int) -> None:
        """The same without moving; it is looked at while it is empty."""
        self.look()
        old = self.path.read_text() if self.path.exists() else ""
        self.path.write_text("")
        self.look()
        self.path.write_text(old + self.lines(count))

    def replace(self, count: int) -> None:
        """Another log is moved into place."""
        self.look()
        self._move(self.lines(count))

    def _move(self, text: str) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.replace(self.path)

    def truncate(self, count: int) -> None:
        """As copytruncate, or a program that opens its log for writing."""
        self.look()
        self.path.write_text(self.lines(count))

    def rotate(self, count: int) -> None:
        self.look()
        if self.path.exists():
            self.rotations += 1
            self.path.rename(self.rotated(self.rotations))
        self.path.write_text(self.lines(count))

    def rotated(self, number: int) -> Path:
        """The name of a rotated log, which the pattern of names matches."""
        return self.path.with_name(self.named.replace("*", f"-{number}"))

    def rotate_all(self, count: int) -> None:
        """As logrotate: each rotated log gets the next number; the third one is removed."""
        self.look()
        for old, new in ((self.rotated(-2), self.rotated(-3)), (self.rotated(-1), self.rotated(-2))):
            if old.exists():
                old.rename(new)
        if self.path.exists():
            self.path.rename(self.rotated(-1))
        self.path.write_text(self.lines(count))

    def copy(self, count: int) -> None:
        """A copy is kept; it is looked at while it is made, and the log goes on."""
        if self.path.exists():
            self.rotations += 1
            copy = self.rotated(self.rotations)
            content = self.path.read_bytes()
            copy.write_bytes(content[: len(content) // 2])
            self.look()
            with copy.open("ab") as file:
                file.write(content[len(content) // 2 :])
        self.append(count)

    def copy_and_truncate(self, count: int) -> None:
        """As copytruncate, where the last lines before it are seen in the copy alone."""
        self.append(count)
        if self.path.exists():
            self.rotations += 1
            shutil.copyfile(self.path, self.rotated(self.rotations))
        self.path.write_text("")
        self.look()

    def remove(self, count: int) -> None:
        self.look()
        self.path.unlink(missing_ok=True)
        self.look()
        self.path.write_text(self.lines(count))

    def look(self, _count: int = 0) -> None:
        if self.watch is None:
            return
        while True:
            self.clock += 2.0
            self.watch.skim(self.clock)
            self.judged += [item.evidence[-1].line for item in self.watch.poll(self.clock)]
            due = self.watch.next_deadline(self.clock)
            if due is None or due > self.clock:
                return

    def new_attempt(self, _count: int = 0) -> None:
        """What nobody has read of the one before is not the new one's."""
        self.look()
        if self.watch is None:
            self.watch = Watch(self.rules, TASK, self.sources, "n1", self.clock, tail=self.tail)
            self.runs = True
        else:
            self.watch.new_attempt(self.clock)

    def seen_late(self, deeds: list[tuple[Callable[[Log, int], None], int]]) -> None:
        """Begin an attempt whose watch is made when its program has done something already."""
        sizes = {**named_files.sizes(self.sources.values()), "stdout": 0}
        before = old_files.positions(path for path in sizes if path != "stdout")
        self.runs = True
        for deed, count in deeds:
            deed(self, count)
        self.watch = Watch(
            self.rules, TASK, self.sources, "n1", self.clock, tail=self.tail, offsets=sizes, before=before
        )

    def restart(self, _count: int = 0) -> None:
        """Of the isolator."""
        if self.watch is None:
            return
        state = self.watch.snapshot()
        self.watch.close()
        self.watch = Watch(self.rules, TASK, self.sources, "n1", self.clock, tail=self.tail)
        self.watch.restore(state, self.clock)


DEEDS: tuple[Callable[[Log, int], None], ...] = (
    Log.append,
    Log.rewrite_and_move,
    Log.shorten_and_move,
    Log.rewrite_in_place,
    Log.replace,
    Log.truncate,
    Log.rotate,
    Log.remove,
    Log.look,
    Log.new_attempt,
    Log.restart,
)
SIZES = st.sampled_from((0, 1, 2, 3, 200))


@pytest.mark.costly
@pytest.mark.parametrize("tail", ["auto", "poll"])
@given(
    before=st.lists(st.tuples(st.sampled_from(DEEDS), SIZES), max_size=4),
    deeds=st.lists(st.tuples(st.sampled_from(DEEDS), SIZES), max_size=12),
)
def test_each_line_of_an_attempt_is_judged_once(
    tail: str,
    before: list[tuple[Callable[[Log, int], None], int]],
    deeds: list[tuple[Callable[[Log, int], None], int]],
) -> None:
    with TemporaryDirectory() as place:
        log = Log(Path(place), tail)
        for deed, count in (*before, (Log.new_attempt, 0), *deeds, (Log.look, 0)):
            deed(log, count)
        assert log.watch is not None
        log.watch.close()
    assert log.judged == log.due


@pytest.mark.costly
@pytest.mark.parametrize("tail", ["auto", "poll"])
@given(
    before=st.lists(st.tuples(st.sampled_from(DEEDS[:8]), SIZES), max_size=3),
    first=st.sampled_from(DEEDS[:8]),
    count=SIZES,
    then=st.lists(st.tuples(st.just(Log.append), SIZES), max_size=2),
    deeds=st.lists(st.tuples(st.sampled_from(DEEDS), SIZES), max_size=4),
)
def test_each_line_is_judged_once_however_late_the_first_look_comes(
    tail: str,
    before: list[tuple[Callable[[Log, int], None], int]],
    first: Callable[[Log, int], None],
    count: int,
    then: list[tuple[Callable[[Log, int], None], int]],
    deeds: list[tuple[Callable[[Log, int], None], int]],
) -> None:
    """On a busy machine a program had cut its old log before the first look, and its fault was missed."""
    with TemporaryDirectory() as place:
        log = Log(Path(place), tail)
        for deed, lines in before:
            deed(log, lines)
        log.seen_late([(first, count), *then])
        for deed, lines in (*deeds, (Log.look, 0)):
            deed(log, lines)
        assert log.watch is not None
        log.watch.close()
    assert log.judged == log.due


COPIES = (Log.rotate_all, Log.copy, Log.copy_and_truncate)


@pytest.mark.costly
@given(
    named=st.sampled_from(("run.log*", "run*.log", "*run.log")),
    before=st.lists(st.tuples(st.sampled_from((*DEEDS[:8], *COPIES)), SIZES), max_size=3),
    late=st.lists(
        st.tuples(st.sampled_from((Log.append, Log.rotate, Log.copy_and_truncate)), SIZES), max_size=3
    ),
    deeds=st.lists(st.tuples(st.sampled_from((*DEEDS, *COPIES)), SIZES), max_size=8),
)
def test_rotated_copies_under_a_pattern_of_names_are_not_judged_again(
    named: str,
    before: list[tuple[Callable[[Log, int], None], int]],
    late: list[tuple[Callable[[Log, int], None], int]],
    deeds: list[tuple[Callable[[Log, int], None], int]],
) -> None:
    """Under ``run.log*`` the old faults in a rotated copy ended healthy attempts."""
    with TemporaryDirectory() as place:
        log = Log(Path(place), "auto", named)
        for deed, lines in before:
            deed(log, lines)
        log.seen_late(late)
        for deed, lines in (*deeds, (Log.look, 0)):
            deed(log, lines)
        assert log.watch is not None
        log.watch.close()
    assert sorted(log.judged) == sorted(log.due)


def test_a_last_line_that_is_changed_in_its_place_makes_no_other_log(tmp_path: Path) -> None:
    log = Log(tmp_path, "auto")
    log.append(0)
    log.new_attempt()
    log.append(200)
    log.look()
    with log.path.open("r+") as file:
        file.seek(log.path.stat().st_size - 2)
        file.write("!")
    log.append(1)
    log.look()
    assert log.watch is not None
    log.watch.close()
    assert log.judged == log.due


@pytest.mark.parametrize("tail", ["auto", "poll"])
def test_a_log_that_was_written_anew_and_is_longer_at_once_is_read_from_its_beginning(
    tmp_path: Path, tail: str
) -> None:
    log = Log(tmp_path, tail)
    log.append(3)
    log.new_attempt()
    log.append(1)
    log.look()
    log.path.write_text("another head\n" + log.lines(300))
    log.look()
    assert log.watch is not None
    log.watch.close()
    assert log.judged == log.due
