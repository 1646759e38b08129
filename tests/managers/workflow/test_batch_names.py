"""What a batch script says of its job: a name, which may have any bytes, and the nodes of its components."""

from __future__ import annotations

import os
import random
from pathlib import Path

import msgspec
import pytest

from whesl.managers.workflow.batch.manager import Batch
from whesl.managers.workflow.batch.script import parse_script


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes_make_a_step_s_name(seed: int) -> None:
    """A job name in Latin-1 had ended in a traceback, as it was to be written as UTF-8."""
    rng = random.Random(seed)
    name = os.fsdecode(bytes(rng.choice(b"abc.\xe9\xff\xc3\xa9") for _ in range(8)))
    text = f"#!/bin/sh\n#SBATCH --job-name={name}\ntrue\n"
    for found in (parse_script(text, Path("job.sh")), parse_script("#!/bin/sh\n", Path(f"{name}.sh"))):
        assert found.step.encode()


def test_names_that_are_utf_8_stay() -> None:
    assert parse_script("#!/bin/sh\n#SBATCH -J café\n", Path("job.sh")).step == "café"
    assert parse_script(os.fsdecode(b"#!/bin/sh\n#SBATCH -J caf\xe9\n"), Path("job.sh")).step == "caf_xe9"


def test_a_script_lies_in_a_directory_of_any_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's records had ended in a traceback: text in them is UTF-8."""
    place = tmp_path / os.fsdecode(b"caf\xe9")
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    (place / "job.sh").write_text("#!/bin/sh\ntrue\n")
    found = Batch().read(["job.sh"])
    assert msgspec.json.encode(found) and Path(found.tasks[0].workspace).samefile(place)


def test_the_components_of_a_heterogeneous_job_add_up() -> None:
    """The second component's -N had replaced the first's."""
    components = ("-N 4 -J coupled", "hetjob", "--nodes=2-3 -J io", "hetjob")
    text = "\n#SBATCH ".join(("#!/bin/sh", *components)) + "\ntrue\n"
    found = parse_script(text, Path("job.sh"))
    assert (found.nodes, found.step) == (4 + 2 + 1, "coupled")
    assert parse_script(text, Path("job.sh"), ["-N", "8"]).nodes == 8 + 2 + 1
