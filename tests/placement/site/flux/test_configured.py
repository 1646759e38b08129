"""The file of modprobe's, instances that start with it, and none that a missing installation stops."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import commands
from tests.conftest import need_flux
from tests.placement.site.flux.tables import publish
from whesl.model.errors import RefusedError, WheslError
from whesl.placement.site.flux import modprobe_file, module_loading
from whesl.placement.site.flux.module_loading import Options

pytestmark = pytest.mark.flux


def whesl(*words: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FLUX_")}
    done = commands.whesl("placement", *words, env=clean)
    assert done.returncode == 0, done.stderr
    return done.stdout


def started_with(directory: Path, command: str) -> str:
    """Return what a command says in a new instance that finds a directory of modprobe's."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("FLUX_", "PYTHON"))}
    done = subprocess.run(
        ["flux", "start", "--test-size=1", "sh", "-c", command],
        env={**clean, "FLUX_MODPROBE_PATH_APPEND": str(directory)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_module_is_the_scheduler_of_instances_that_start_afterwards(tmp_path: Path) -> None:
    need_flux()
    options = Options(predictions=str(publish(tmp_path / "the table.json", {"vm": 0.1})), acts=True)
    try:
        module_loading.check(options)
    except WheslError as error:
        pytest.skip(error.message)
    file = modprobe_file.path(tmp_path)
    assert file == tmp_path / "modprobe.d" / "whesl-placement.toml"
    new = modprobe_file.text(options)
    assert '+name = "sched-whesl"' in modprobe_file.difference(file, new)
    words = ["--flux", options.predictions, "--act", "--modprobe", str(tmp_path)]
    assert whesl("install", *words, "--dry-run").startswith(f"--- {file}\n")
    assert not file.exists()
    whesl("install", *words, "--yes")
    assert whesl("install", *words) == f"nothing to change: {file}\n"
    assert modprobe_file.difference(file, new) == ""
    said = started_with(tmp_path, "flux module list; flux run hostname >/dev/null && echo ran")
    assert "sched-whesl" in said
    assert "sched-simple" not in said
    assert said.endswith("ran\n")
    # The packages are gone, as after an upgrade of Python: the instance starts, with Flux's order.
    gone = Options(predictions=options.predictions, packages=str(tmp_path))
    file.write_text(modprobe_file.text(gone))
    assert started_with(tmp_path, "flux run hostname >/dev/null && echo ran").endswith("ran\n")
    whesl("remove", "--flux", "--modprobe", str(tmp_path), "--yes")
    assert not file.exists()
    assert whesl("remove", "--flux", "--modprobe", str(tmp_path)).startswith("nothing to change")


def test_a_file_of_the_site_s_own_is_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    file = tmp_path / "modprobe.d" / modprobe_file.FILE
    file.parent.mkdir()
    file.write_text("# ours\n")
    with pytest.raises(RefusedError, match="was not written by whesl"):
        modprobe_file.remove(file)
    assert file.read_text() == "# ours\n"


def test_what_cannot_work_is_not_installed(tmp_path: Path) -> None:
    need_flux()
    file = tmp_path / "modprobe.d" / modprobe_file.FILE
    with pytest.raises(WheslError):
        modprobe_file.install(file, Options(predictions=str(tmp_path / "none")))
    assert not file.parent.exists()
