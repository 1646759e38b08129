"""Tasks of Flux that shed their environment, their session and their parent: none outlives its attempt."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import shedding
from tests.equipment.fluxbed import FluxBed
from tests.runtime.isolator.test_flux import Protected, bed

__all__ = ["bed"]  # a fixture

pytestmark = [pytest.mark.flux, pytest.mark.slow]

CALLED = """\
DECLARE EXCEPTION CALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION CALLED MATCH "^called" stdout
EXCEPTION RECOVERY STEP CALLED JOB JOB.REPLACE
"""
SCRIPT = f"""\
cd {{place}}
on_all() {{{{ flux run -N{{used}} -n{{used}} sh -c "$1"; }}}}
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  on_all 'exec {sys.executable} {shedding.__file__} KIND {{place}}/alive-$(hostname)'
else
  on_all 'echo "attempt 1 on $(hostname)"; until [ -e done ]; do sleep 0.05; done'
fi
"""


@pytest.mark.parametrize("kind", ["cleared", "daemon", "title", "leaderless"])
def test_what_sheds_its_environment_is_fenced(bed: FluxBed, tmp_path: Path, kind: str) -> None:
    made = Protected(bed, tmp_path, CALLED, script=SCRIPT.replace("KIND", kind))

    def beats() -> list[int]:
        files = (tmp_path / f"alive-{node}" for node in ("n01", "n02", "n03"))
        return [file.stat().st_size if file.exists() else 0 for file in files]

    made.until(lambda: sum(count > 2 for count in beats()) == 2, "both ranks")
    made.until(lambda: made.kinds().count("agent") == 2, "the agents")
    with made.out.open("a") as out:
        out.write("called\n")
    made.running(1, 2)
    living = beats()
    subprocess.run(["sleep", "1"], check=True)
    assert beats() == living, "a rank of the old attempt lives on"
    made.finish()
