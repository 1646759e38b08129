"""From a line in the system's log to a task that has written its checkpoint and runs again."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tests import waiting
from tests.cli.test_predict import NODE, begin, whesl
from tests.waiting import written

CHAINS = """version = 1

[[chain]]
name = 'memory'
lead = 300
confidence = 0.8
steps = ['EDAC MC<*>: <*> CE <*>', 'mce: [Hardware Error]: Machine check events logged']
"""


@pytest.mark.skipif("." in NODE, reason="a chain knows nodes without their domain")
@pytest.mark.costly
def test_a_chain_in_the_log_makes_the_task_write_and_run_again(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "chains.toml").write_text(CHAINS)
    now = datetime.fromtimestamp(time.time(), timezone.utc).isoformat()
    (tmp_path / "log").write_text(
        f"{now} {NODE} kernel: EDAC MC0: 3 CE memory read error\n"
        f"{now} unknown kernel: EDAC MC0: 3 CE memory read error\n"
        f"{now} {NODE} kernel: mce: [Hardware Error]: Machine check events logged\n"
        f"{now} unknown kernel: mce: [Hardware Error]: Machine check events logged\n"
    )
    run = ("placement", "chains", "run", "--chains", "chains.toml", "--log", "log", "--deliver")
    task = begin(tmp_path, "--no-coordinator")
    try:
        waiting.until(lambda: "from 0" in written(tmp_path / "output"), "the first attempt", 60)
        told = whesl(tmp_path, *run)
        assert told.returncode == 0, told.stderr
        assert f"{NODE}: told exec/run" in told.stderr
        assert "unknown: told" not in told.stderr
        waiting.until(lambda: "again=1" in written(tmp_path / "output"), "the second attempt", 60)
        step = (tmp_path / "state.1").read_text()
        waiting.until(
            lambda: f"from {step}, again=1" in written(tmp_path / "output"), "what it goes on from", 60
        )
    finally:
        (tmp_path / "end").touch()
        task.wait(60)
