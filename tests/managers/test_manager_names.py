"""Who knows a resource manager by its name: its table and its own folder."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "whesl"
# A name or a variable of its jobs as a text of its own.
NAME = re.compile(r"""(["'])(?:\\0)?(?:slurm|flux|pbs|(?:SLURMD?|SBATCH|FLUX|PBS)_\w+)\1""")
LOOKED_AT = ("runtime", "checkpoints", "client", "report", "doctor/home_filesystem.py")


def test_a_manager_is_named_in_its_own_place() -> None:
    places = [PACKAGE / place for place in LOOKED_AT]
    files = [file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])]
    named = sorted(
        file.relative_to(PACKAGE).with_suffix("").as_posix()
        for file in files
        if NAME.search(file.read_text())
    )
    assert not named, "a name belongs into managers/resource/manager_table.py or its folder there"
