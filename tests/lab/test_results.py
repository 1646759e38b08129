"""Results are whole or absent, and say the same in each form."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from whesl.files.whole_file import whole, write_text
from whesl.lab.results.jobs_parquet_and_summary_json import Ragged, write_jobs, write_summary
from whesl.lab.results.report_tables import Table, write_table
from whesl.model.errors import WheslError


def test_jobs_are_written_with_their_nodes(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "job": np.array([1, 2, 3]),
        "start": np.array([0.0, 1.5, np.nan]),
        "nodes": Ragged(np.array([0, 2, 3, 3]), np.array([4, 7, 4], dtype=np.int32)),
        "killed": np.array([False, True, False]),
    }
    path = write_jobs(tmp_path, columns, {"policy": "easy"})
    read = parquet.read_table(path)
    assert read.column_names == ["job", "start", "nodes", "killed"]
    assert read.column("nodes").to_pylist() == [[4, 7], [4], []]
    assert read.column("start").to_pylist()[:2] == [0.0, 1.5]
    assert read.schema.metadata == {b"policy": b"easy"}


def test_a_summary_has_json_of_all_numbers(tmp_path: Path) -> None:
    given = {"jobs": np.int64(3), "wait": np.float64(1.5), "bad": math.nan, "of": np.array([1.0, np.inf])}
    path = write_summary(tmp_path, given)
    assert json.loads(path.read_text()) == {"jobs": 3, "wait": 1.5, "bad": None, "of": [1.0, None]}


def test_a_table_in_both_forms(tmp_path: Path) -> None:
    table = Table(
        "waits", "Waits", ("policy", "wait (s)", "ok"), [("a|b", 12345.678, True), ("c", None, False)]
    )
    markdown, csv = write_table(tmp_path, table)
    assert markdown.read_text() == (
        "# Waits\n\n| policy | wait (s) | ok |\n| --- | --- | --- |\n"
        "| a\\|b | 12,346 | yes |\n| c | - | no |\n"
    )
    assert csv.read_text() == "policy,wait (s),ok\na|b,12345.678,True\nc,,False\n"


@pytest.mark.parametrize("write", [lambda path: write_text(path, "x" * 200_000), None])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_loses_nothing_that_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None] | None
) -> None:
    """The new file's temporary name leads to a device that is full, as on a real one."""
    path = tmp_path / "jobs.parquet"
    columns = {"job": np.arange(100_000)}
    write_jobs(tmp_path, columns)
    before = path.read_bytes()
    beside = tmp_path / f".jobs.parquet.{os.getpid()}"
    beside.symlink_to("/dev/full")
    with pytest.raises(WheslError, match=r"cannot write .*jobs\.parquet: No space left"):
        if write is None:
            write_jobs(tmp_path, {"job": np.arange(200_000) * 7919 % 104_729})
        else:
            write(path)
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_text(path, "old")
    with pytest.raises(KeyboardInterrupt), whole(path) as file:
        file.write(b"half of the ne")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == [path]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WheslError, match=r"Not a directory|File exists"):
        write_text(tmp_path / "file" / "summary.json", "x")


def test_a_device_or_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    """``--json-summary /dev/null`` put a regular file in the place of the device, for all programs."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    write_text(link, "nothing")
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]
