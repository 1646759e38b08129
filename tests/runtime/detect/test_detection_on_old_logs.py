"""What would have been raised on a log: the right lines, whatever the size of the pieces that are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.runtime.detect.build import SPAN, STDERR, STDOUT, TASK, exception, spec
from whesl.language.detections.exit import ExitDetection
from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.detections.log import LogDetection, Require
from whesl.language.detections.timers import HangDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.language.spec import Spec
from whesl.model.errors import UsageError
from whesl.runtime.detect import detection_on_old_logs
from whesl.runtime.detect.detection_on_old_logs import Rehearsal, Rehearsed

ERROR = Pattern(text="error")
FATAL = Pattern(text=r"^fatal (?P<n>\d+)$", regex=True, captures=("n",))
CYCLE = Pattern(text="cycle")


def log(
    *patterns: Pattern, times: int = 1, require: Require = Require.ANY, source: Source = STDOUT
) -> LogDetection:
    return LogDetection(patterns=patterns, source=source, times=times, require=require, span=SPAN)


def rehearse(rules: Spec, path: Path, sources: tuple[Source, ...] = (STDOUT, STDERR)) -> Rehearsed:
    rehearsed = Rehearsal(rules, TASK)
    rehearsed.read({str(path): sources})
    return rehearsed.result()


RULES = spec(
    exception("ERROR", log(ERROR)),
    exception("FATAL", log(FATAL)),
    exception("OFTEN", log(ERROR, times=3)),
    exception("BOTH", log(ERROR, FATAL, require=Require.ALL)),
    exception("ELSEWHERE", log(ERROR), jobs=("another",)),
)


def test_lines_and_offsets(tmp_path: Path) -> None:
    path = tmp_path / "job.out"
    path.write_bytes(b"fine\nan error\r\nfatal 7\n\nerror\nerror without end")
    found = rehearse(RULES, path)
    assert [(o.exception, o.number, o.line, o.offset) for o in found.occurrences] == [
        ("ERROR", 1, 2, 5),
        ("FATAL", 1, 3, 15),
        ("BOTH", 1, 3, 15),
        ("ERROR", 2, 5, 24),
        ("ERROR", 3, 6, 30),
        ("OFTEN", 1, 6, 30),
    ]
    assert found.occurrences[0].text == "an error"
    assert (found.occurrences[2].evidence, found.occurrences[5].evidence) == (2, 3)
    assert found.counts == {"ERROR": 3, "FATAL": 1, "BOTH": 1, "OFTEN": 1}
    assert (found.lines, found.bytes) == (6, path.stat().st_size)


LINES = st.lists(
    st.sampled_from(["fine", "error", "fatal 12", "x" * 40, "", "an error\r", "fatal 3 "]), max_size=40
)


@pytest.mark.costly
@given(lines=LINES, size=st.integers(1, 50), ended=st.booleans())
@settings(
    max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_pieces_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], size: int, ended: bool
) -> None:
    path = tmp_path / "job.out"
    path.write_text("\n".join(lines) + ("\n" if ended else ""), newline="")
    monkeypatch.setattr(detection_on_old_logs, "READ_SIZE", size)
    found = rehearse(RULES, path)
    expected = {
        "ERROR": [n for n, line in enumerate(lines, 1) if "error" in line],
        "FATAL": [n for n, line in enumerate(lines, 1) if line == "fatal 12"],
    }
    for name, numbers in expected.items():
        assert [o.line for o in found.occurrences if o.exception == name] == numbers


def test_counting_makes_a_higher_exception(tmp_path: Path) -> None:
    count = CountDetection(exception="ERROR", times=3, within=60, span=SPAN)
    rules = spec(exception("ERROR", log(ERROR)), exception("BAD", count))
    path = tmp_path / "job.out"
    path.write_text("error\n" * 7)
    found = rehearse(rules, path)
    assert [(o.exception, o.line) for o in found.occurrences if o.exception == "BAD"] == [
        ("BAD", 3),
        ("BAD", 6),
    ]
    assert found.counts == {"ERROR": 5, "BAD": 2}
    assert found.occurrences[2].transformed_from == ("ERROR",)
    assert "3 times" in found.occurrences[2].detail


def test_what_has_no_clock(tmp_path: Path) -> None:
    hang = HangDetection(pattern=CYCLE, source=STDOUT, timeout=1, span=SPAN)
    path = tmp_path / "job.out"
    path.write_text("cycle 1\nx\ncycle 2\n")
    found = rehearse(spec(exception("HANG", hang)), path)
    assert found.occurrences == ()
    assert [(s.exception, s.times, s.last_line) for s in found.signs_of_life] == [("HANG", 2, 3)]


def test_each_source_has_its_own_log(tmp_path: Path) -> None:
    all_output = Source(stream=Stream.OUTPUT)
    rules = spec(
        exception("OUT", log(ERROR)),
        exception("ERR", log(ERROR, source=STDERR)),
        exception("ANY", log(ERROR, times=2, source=all_output)),
        exception("FAILED", ExitDetection(span=SPAN)),
    )
    (tmp_path / "out").write_text("fine\n")
    (tmp_path / "err").write_text("error\nerror\n")
    made = Rehearsal(rules, TASK)
    made.read({str(tmp_path / "out"): (STDOUT, all_output), str(tmp_path / "err"): (STDERR, all_output)})
    made.ended(3)
    found = made.result()
    assert found.counts == {"ERR": 2, "ANY": 1, "FAILED": 1}
    assert (found.occurrences[-1].line, found.occurrences[-1].text) == (-1, "exit status 3")


def test_many_are_counted_and_some_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection_on_old_logs, "KEPT", 2)
    path = tmp_path / "job.out"
    path.write_text("error\n" * 10)
    read: list[int] = []
    made = Rehearsal(spec(exception("ERROR", log(ERROR))), TASK, progress=read.append)
    made.read({str(path): (STDOUT,)})
    assert len(made.result().occurrences) == 2
    assert made.result().counts == {"ERROR": 10}
    assert read == [path.stat().st_size]


def test_a_log_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        rehearse(RULES, tmp_path)
