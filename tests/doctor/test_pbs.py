"""What ``whesl doctor`` says of PBS. Its commands are stood in for."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl.doctor import resource_managers
from whesl.doctor.probe_runner import State


@pytest.mark.parametrize(
    ("server", "state"),
    [
        ("    job_history_enable = True", State.OK),
        ("    job_history_enable = False", State.WARN),
        ("", State.WARN),
    ],
)
def test_a_server_that_forgets_ended_jobs(
    server: str, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run could not tell that a job has completed, and called it failed."""
    for name in resource_managers._NEEDED_PBS:
        text = {"qstat": f"echo 'Server: s'; echo '{server}'", "pbsnodes": """echo '{"nodes": {}}'"""}
        (tmp_path / name).write_text(f"#!/bin/sh\n{text.get(name, 'true')}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (found,) = resource_managers.pbs()
    assert found.state is state, found
