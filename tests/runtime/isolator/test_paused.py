"""A task that is paused says so on the terminal that waits for it, and nowhere in a job's output."""

from __future__ import annotations

import os
import subprocess
from itertools import takewhile

import msgspec
import pytest

from tests.alike import alike
from tests.runtime.isolator.bench import CRASH, PATIENCE, Bench, bench, until
from whesl.files import file_retry
from whesl.model.outcomes import ControlAction
from whesl.runtime.wire.messages import Control

__all__ = ["bench"]  # the fixture

PAUSES = CRASH.replace("JOB [app]", "JOB [*] LIMIT 1 ELSE PAUSE")
SAID = "is paused: CRASH: budget-spent"


@pytest.mark.parametrize("one", alike([True, False]), ids=["one stream", "two"])
@pytest.mark.parametrize("wanted", [True, False], ids=["wanted", "not wanted"])
def test_a_paused_task_says_so_once(bench: Bench, wanted: bool, one: bool) -> None:
    # From the third attempt on it goes well.
    text = '[ "$WHESL_RESTART_COUNT" -ge 2 ] || { echo "An error occurred in MPI_Send"; exit 1; }\n'
    options = ("-e", bench.rules(PAUSES), "--summary" if wanted else "--no-summary")
    reading, writing = os.pipe()
    child = bench.exec(
        *bench.script(text), options=options, stdout=writing if one else subprocess.DEVNULL, stderr=writing
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as shown:
        until(lambda: "paused" in bench.kinds(), "the pause")
        if wanted:
            lines = takewhile(lambda line: "hint:" not in line, (each.decode() for each in shown))
            assert [line for line in lines if SAID in line]
        until(bench.directory.paused.exists, "the word on the pause")
        word = Control(task="", id="1", action=ControlAction.RESUME)
        file_retry.replace(bench.directory.control, msgspec.json.encode(word))
        assert child.wait(PATIENCE) == 0
        rest = shown.read().decode()
    assert "is paused" not in rest and ("completed" in rest) is wanted
    assert not bench.directory.paused.exists()
