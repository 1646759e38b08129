"""A batch script's name may have any bytes; the step that is named after it can be written down."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

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
