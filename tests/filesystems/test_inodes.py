"""A task's output file system has room and no inodes: moved in place, and told as what it is."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack

import pytest

from tests.equipment.faults import FaultError, tmpfs
from tests.runtime.isolator.bench import Bench, bench

__all__ = ["bench"]

RULES = """\
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE EXCEPTION FULL JOB_LEVEL JOB [*]
EXCEPTION DETECTION FULL MATCH "No space left on device" stderr
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
"""
# Many small files, as a program with one file for each particle or rank writes them.
PROGRAM = """\
i=$(ls "$1" | wc -l)
echo "begins at $i"
while [ "$i" -lt 40 ]; do
  echo "$i" > "$1/part-$i" || exit 3
  i=$((i + 1))
done
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_an_output_file_system_without_inodes_is_replaced_and_told(bench: Bench) -> None:
    small, large = bench.place / "small", bench.place / "large"
    large.mkdir()
    with ExitStack() as stack:
        try:
            stack.enter_context(tmpfs(small, 8 << 20, inodes=20))
        except FaultError as error:
            pytest.skip(str(error))
        (small / "run").mkdir()
        arguments = json.dumps({"filesystem": str(large), "defaultpath": str(small)})
        rules = bench.rules(RULES % arguments)
        command = (*bench.script(PROGRAM), str(small / "run"))
        options = ("-e", rules, "--step", "app", "--workflow", "w")
        code, out, said = bench.run(*command, options=options)
        assert code == 0, said
        held = int(out.split()[-1])
        assert 0 < held < 40, "the second attempt went on where the first one had come to"
    parts = {path.name: path.read_text() for path in (large / "run").iterdir()}
    assert parts == {f"part-{i}": f"{i}\n" for i in range(40)}
    (done,) = [data for kind, data in bench.records() if kind == "step-done"]
    assert f"{small} (no inodes left) -> {large}" in str(done)
    assert bench.kinds().count("confirmed") == 1
    assert f"{small} (no inodes left)" in (bench.directory.path / "summary").read_text()
