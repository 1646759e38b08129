"""Which resource manager ``whesl run`` submits to when none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl.cli.launch.run import _default_rjms
from whesl.model.errors import UsageError


@pytest.mark.parametrize(
    ("commands", "variables", "chosen"),
    [
        (("sbatch",), {}, "slurm"),
        (("sbatch", "flux"), {}, "slurm"),
        (("sbatch", "flux"), {"FLUX_URI": "local:///run/flux/local"}, "flux"),
        (("sbatch",), {"FLUX_URI": "local:///run/flux/local"}, "slurm"),
        (("flux",), {}, "flux"),
        (("flux",), {"WHESL_LOCAL": "/c", "FLUX_URI": "local:///x"}, "local"),
    ],
)
def test_the_default(
    commands: tuple[str, ...],
    variables: dict[str, str],
    chosen: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in commands:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("WHESL_LOCAL", "FLUX_URI"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _default_rjms() == chosen


def test_none_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WHESL_LOCAL", raising=False)
    with pytest.raises(UsageError, match="neither sbatch nor flux"):
        _default_rjms()
