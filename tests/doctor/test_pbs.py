"""What ``whesl doctor`` says of PBS. Its commands are stood in for."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from whesl.doctor import placement, resource_managers
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


@pytest.mark.parametrize(
    ("hook", "state", "expected"),
    [
        ("echo 'enabled = True'", {"acts": True, "problem": ""}, "1 of 2 pairs"),
        ("echo 'enabled = True'", {"acts": False, "problem": ""}, "observes only"),
        ("echo 'enabled = True'", {"acts": False, "problem": "the table has expired"}, "has expired"),
        (
            "echo 'enabled = True'",
            {"acts": True, "problem": "", "valid_until": time.time() - 1},
            "does not run",
        ),
        ("echo 'enabled = False'", {}, "not enabled"),
        ("echo 'whesl_placement does not exist!' >&2; exit 32", {}, "no hook"),
        ("echo 'qmgr: cannot connect' >&2; exit 3", {}, "1 of 2 pairs"),
    ],
)
def test_the_hook_of_placement(
    hook: str, state: dict[str, object], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = {
        name: {"resources_available": {"whesl_fit_1800": fit}}
        for name, fit in (("n1", "True"), ("n2", "False"))
    }
    for name, text in {"pbsnodes": f"echo '{json.dumps({'nodes': nodes})}'", "qmgr": hook}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "server_priv").mkdir()
    (tmp_path / "server_priv" / "whesl_placement.json").write_text(json.dumps(state))
    (tmp_path / "pbs.conf").write_text(f"PBS_HOME={tmp_path}\n")
    monkeypatch.setenv("PBS_CONF_FILE", str(tmp_path / "pbs.conf"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (found,) = placement.pbs()
    assert expected in found.detail, found
