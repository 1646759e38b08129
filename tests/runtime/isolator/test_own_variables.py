"""A program sees the variables that its user has set; our interpreters and shells add none and drop none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.runtime.isolator.bench import CRASH, Bench, bench
from whesl.managers.resource import launcher_shims
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import install

__all__ = ["bench"]

# In its second attempt, which the isolator starts, as in its first one, which whesl exec starts.
PROGRAM = """\
env >"$1/seen-$WHESL_RESTART_COUNT"
greet >>"$1/greeted"
[ "$WHESL_RESTART_COUNT" != 0 ] || { echo "An error occurred in MPI_Send"; sleep 100; }
"""
GREET = "() { echo hello;\n}"


@pytest.mark.parametrize("locale", [None, "C.UTF-8"])
def test_exported_functions_and_the_locale_come_as_they_were(bench: Bench, locale: str | None) -> None:
    """dash dropped a site's ``module``; Python set LC_CTYPE, as PEP 538 says, where no locale was set."""
    unset = ("LC_ALL", "LC_CTYPE", "LANG")
    bench.environment = {name: value for name, value in bench.environment.items() if name not in unset}
    bench.environment["BASH_FUNC_greet%%"] = GREET
    if locale is not None:
        bench.environment["LC_CTYPE"] = locale
    words = [*bench.script(PROGRAM), str(bench.place)]
    child = bench.exec(*words, options=("-e", bench.rules(CRASH)))
    assert child.wait(60) == 0
    assert (bench.place / "greeted").read_text() == "hello\nhello\n"
    for attempt in ("0", "1"):
        lines = (bench.place / f"seen-{attempt}").read_text().splitlines()
        assert [line for line in lines if line.startswith("LC_CTYPE=")] == (
            [] if locale is None else [f"LC_CTYPE={locale}"]
        )


FIRST = ["#!/bin/bash", "#!/bin/bash -l", "#!/usr/bin/env bash", "#!/usr/bin/python3"]
SHOWS = """\
#!/usr/bin/env python3
import os
print(os.environ["BASH_FUNC_greet%%"], os.environ.get("a.b"), os.environ.get("SHLVL"))
"""


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("level", [{}, {"SHLVL": "0"}, {"SHLVL": "1"}, {"SHLVL": "2"}])
def test_the_program_in_an_interpreter_s_place_passes_all_variables_on(
    tmp_path: Path, first: str, level: dict[str, str]
) -> None:
    """The program is called in the interpreter's place, and calls WHESL, here one that shows variables."""
    shows = tmp_path / "shows"
    shows.write_text(SHOWS)
    shows.chmod(0o700)
    (tmp_path / "startup").write_text("echo sourced\n")
    call = script_wrapping.TaskCall(program=(str(shows),), workflow="w", step="s", spec="x")
    made = script_wrapping.program_for(call, first, "job.sh", str(tmp_path))
    made.write()
    own = {"BASH_FUNC_greet%%": GREET, "BASH_ENV": str(tmp_path / "startup"), "a.b": "c"}
    environment = {"PATH": "/usr/bin:/bin", **own, **level}
    shown = subprocess.run(
        [made.path], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert shown.stdout == f"{GREET} c {level.get('SHLVL')}\n", "nor is what BASH_ENV names read by it"


@pytest.mark.parametrize(
    "command", sorted(install.COMMANDS.glob("*/[!.]*")), ids=lambda command: command.name
)
def test_a_submission_command_passes_all_variables_on(tmp_path: Path, command: Path) -> None:
    """Jobs whose ``module`` is a function of the shell that submits them did not find it under whesl run."""
    python = tmp_path / "python"
    python.write_text(SHOWS)
    python.chmod(0o700)
    own = {"BASH_FUNC_greet%%": GREET, "a.b": "c", "SHLVL": "2", "WHESL_PYTHON": str(python)}
    environment = {"PATH": "/usr/bin:/bin", **own}
    shown = subprocess.run([command], env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout == f"{GREET} c 2\n"


def test_a_launcher_passes_exported_functions_on(tmp_path: Path) -> None:
    """``export -f f; srun bash -c f`` did not find it: dash, which ran the shim, had dropped it."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "srun").write_text("#!/usr/bin/env python3\nimport os\nprint(os.environ['BASH_FUNC_greet%%'])\n")
    (real / "srun").chmod(0o700)
    launcher_shims.install(tmp_path / "shims", path=str(real))
    environment = {"PATH": f"{tmp_path}/shims:{real}:/usr/bin:/bin", "BASH_FUNC_greet%%": GREET}
    shown = subprocess.run(
        ["srun", "-n1", "bash"], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert shown.stdout == f"{GREET}\n"
