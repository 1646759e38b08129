"""The file that says where cluster and cloud are."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl.cloud.runner import site_file
from whesl.model.errors import UsageError


def test_all_numbers_that_nothing_can_run_with_are_said_with_their_lines(tmp_path: Path) -> None:
    # Only not-a-number was refused: a run with -5 retries and no room for an instance began.
    path = tmp_path / "cloud.toml"
    path.write_text(
        "poll = nan\nagain = -1\nretries = -5\n[cloud.processes]\ncapacity = -1\nstart_delay = 1e308\n"
    )
    with pytest.raises(UsageError) as refused:
        site_file.load(path)
    said = [line.removeprefix(f"{path}:").split(" is ")[0] for line in refused.value.message.splitlines()]
    assert said == ["1: poll", "2: again", "3: retries", "5: capacity", "6: start_delay"]
