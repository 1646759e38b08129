"""When an attempt failed, however late its output is read: what it left half-written is decided by that.

The window was counted from when the line was read. On a busy machine, where an isolator had loaded three
seconds after its program's start, a restarted program wrote through a link to the full disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.detect.build import SPAN, STDOUT, TASK, exception, spec
from tests.runtime.detect.test_watch import log
from whesl.language.detections.exit import ExitDetection
from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.evidence import Raised
from whesl.runtime.detect.tail import SAFETY
from whesl.runtime.detect.task_watch import Watch
from whesl.runtime.operations.relocation.mirror_plan import UNFINISHED_WINDOW, Entry, Kind, Policy

RULES = spec(
    exception("FULL", log(Pattern(text="No space left"))), exception("FAILED", ExitDetection(span=SPAN))
)
BEGAN = 1000.0
DELAY = st.floats(0.0, 50.0)


@pytest.fixture(scope="module")
def output() -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        yield Path(directory) / "out"


def say(output: Path, line: str) -> None:
    with output.open("ab") as file:
        file.write(f"{line}\n".encode())


def copied(raised: Raised, written: float) -> bool:
    entry = Entry(name=b"f", kind=Kind.FILE, mtime_ns=int(written * 1e9))
    return Policy(old=b"/old", new=b"/new", well_until=raised.since).unfinished((b"f",), entry)


@given(
    late=DELAY,
    looks=st.lists(DELAY, max_size=5),
    failed=DELAY,
    before=st.floats(0.0, UNFINISHED_WINDOW - 1e-6),
    read=DELAY,
    skims=st.booleans(),
    restarts=st.booleans(),
    says=st.booleans(),
)
def test_what_led_to_a_failure_is_unfinished_however_late_it_is_read(
    output: Path,
    late: float,
    looks: list[float],
    failed: float,
    before: float,
    read: float,
    skims: bool,
    restarts: bool,
    says: bool,
) -> None:
    """Drawn: when the isolator had loaded, when it looked, when the attempt failed, when that was seen."""
    output.write_bytes(b"")
    failure = BEGAN + failed
    seen = [BEGAN + late + look for look in sorted(looks) if BEGAN + late + look < failure]
    reading = max(failure, BEGAN + late) + read
    sources = {STDOUT: str(output)}
    watch = Watch(RULES, TASK, sources, "n1", BEGAN + late, offsets={str(output): 0}, began=BEGAN)
    try:
        for look in seen:
            say(output, "a step")
            if not skims or not watch.skim(look):
                assert watch.poll(look) == []
        if restarts:
            state = watch.snapshot()
            watch.close()
            watch = Watch(RULES, TASK, sources, "n1", reading, began=BEGAN)
            watch.restore(state, reading)
        if says:
            say(output, "No space left on device")
            (detected,) = watch.poll(reading)
        else:
            assert watch.drain(reading) == []
            (detected,) = watch.detectors.exited(1, reading, since=watch.seen_until)
    finally:
        watch.close()
    raised = Raised(
        exception="FULL", task="t", attempt=1, ordinal=1, time=reading, evidence=detected.evidence
    )
    assert copied(raised, failure - before)
    # What was finished long before the last look that showed nothing is linked.
    last = max(seen, default=BEGAN)
    assert not copied(raised, last - SAFETY - UNFINISHED_WINDOW - 0.001)
