"""Who knows a resource manager by its name: its table and its own folder, and a list that gets shorter."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "whesl"
# A name or a variable of its jobs as a text of its own.
NAME = re.compile(r"""(["'])(?:slurm|flux|pbs|(?:SLURMD?|SBATCH|FLUX|PBS)_\w+)\1""")
LOOKED_AT = ("runtime", "checkpoints", "client", "report", "doctor/home_filesystem.py")
# Modules outside of the managers' wing that still know one. None may be added.
STILL = [
    "doctor/home_filesystem",
    "runtime/detect/hung_process_stacks",
    "runtime/detect/shared_output",
    "runtime/isolator/__main__",
    "runtime/isolator/launch/attempt_command",
    "runtime/isolator/launch/fast_path",
    "runtime/isolator/launch/full_path",
    "runtime/isolator/launch/options",
    "runtime/isolator/launch/setup_json",
    "runtime/isolator/task_recovery_steps",
    "runtime/locking/job_leader_identity",
    "runtime/node_agent/agent",
    "runtime/node_agent/fencing/attempt_processes",
    "runtime/node_agent/fencing/slurm_step_processes",
]


def test_a_manager_is_named_in_its_own_place() -> None:
    places = [PACKAGE / place for place in LOOKED_AT]
    files = [file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])]
    named = sorted(
        file.relative_to(PACKAGE).with_suffix("").as_posix()
        for file in files
        if NAME.search(file.read_text())
    )
    assert named == sorted(STILL), (
        "a name belongs into managers/resource/manager_table.py or its folder there"
    )
