"""The package ``examples/adapters``: its adapters pass the contract tests, and a task recovers under one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.waiting import until
from whesl import api

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "examples" / "adapters"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION BROKEN JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION BROKEN LOG "it is broken" output
EXCEPTION RECOVERY STEP BROKEN JOB JOB.REPLACE
"""
PROGRAM = '[ "$WHESL_RESTART_COUNT" != 0 ] || { echo it is broken; exit 3; }; echo on $DESK_NODES'
CHAINED = """\
#!/bin/sh
#DESK nodes=2
#DESK output=first.out
echo "$WHESL_TASK on $DESK_NODES"
[ "$WHESL_RESTART_COUNT" != 0 ] || { echo it is broken; exit 3; }
"""
SUBMIT = """\
import sys, time
from whesl.api.resource_manager import JobRequest
from whesl.managers.resource import scheduler

desk = scheduler("desk")
job = desk.submit(JobRequest(token="t", script=sys.argv[1], nodes=2, output=sys.argv[2]))
deadline = time.monotonic() + 60
while not desk.jobs([job])[job].state.ended and time.monotonic() < deadline:
    time.sleep(0.1)
print(desk.jobs([job])[job].state.value)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the package is installed, as pip leaves it behind."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    about = tmp_path / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in points.items())])
        for group, points in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(groups) + "\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WHESL_", "PYTEST"))}
    paths = os.pathsep.join((str(tmp_path / "site"), str(PACKAGE), str(ROOT)))
    own = {"WHESL_HOME": str(tmp_path / "home"), "DESK_ROOT": str(tmp_path / "desk"), "PYTHONPATH": paths}
    return kept | own


@pytest.mark.costly
def test_they_pass_the_contract_tests(environment: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["--rootdir", str(PACKAGE), "-c", os.devnull, "--basetemp", str(tmp_path / "t"), str(PACKAGE)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_a_task_recovers_under_a_manager_that_whesl_has_never_heard_of(
    environment: dict[str, str], tmp_path: Path
) -> None:
    script, output, rules = tmp_path / "job.sh", tmp_path / "out", tmp_path / "rules.esl"
    rules.write_text(RULES)
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -m whesl exec -e {rules} -- sh -c '{PROGRAM}'\n")
    script.chmod(0o755)
    command = [sys.executable, "-c", SUBMIT, str(script), str(output)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("COMPLETED\n", "")
    assert "on desk1,desk2\n" in output.read_text()
    home = tmp_path / "home"
    found = until(lambda: _ended(home), "the task has ended", 30)
    assert (found.totals.tasks, found.totals.completed, found.totals.recovered) == (1, 1, 1)
    assert found.tasks[0].jobs == ["1"] and found.tasks[0].nodes == 2


@pytest.mark.costly
def test_a_workflow_runs_under_a_manager_that_whesl_has_never_heard_of(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "first.sh").write_text(CHAINED)
    (tmp_path / "second.sh").write_text("#!/bin/sh\n#DESK output=second.out\ngrep ' on ' first.out\n")
    command = [sys.executable, "-m", "whesl", "run", "first.sh", "second.sh:after=first", "-e", "rules.esl"]
    command += ["--rjms", "desk", "--poll", "0.2", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = msgspec.json.decode(done.stdout)
    assert [(task["step"], task["state"]) for task in report["tasks"]] == [
        ("first", "completed"),
        ("second", "completed"),
    ]
    assert [row["outcome"] for row in report["exceptions"]] == ["recovered"]
    lines = (tmp_path / "second.out").read_text().splitlines()
    assert [line.partition("/")[2] for line in lines if " on " in line] == ["first on desk1,desk2"] * 2
    whole = [*command[:4], "second.sh", "-e", "rules.esl", "--rjms", "desk", "--", "--nodes=7"]
    refused = subprocess.run(
        whole, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert refused.returncode != 0
    assert "there are 3 nodes, not 7" in refused.stderr


def _ended(home: Path) -> api.Report | None:
    found = api.report("exec", home=home)
    return found if found.totals.completed else None
