"""Which Maestro talks to Flux: one whose Python has the bindings, as it is or with those of the command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whesl.managers.workflow.cylc.manager import Cylc
from whesl.managers.workflow.maestro import programs
from whesl.managers.workflow.maestro.manager import Maestro
from whesl.managers.workflow.makeflow.manager import Makeflow
from whesl.managers.workflow.port import RunPlan, WorkflowManager
from whesl.model.errors import UsageError

# A Python that imports Flux only where PYTHONPATH names the bindings' directory.
PYTHON = """\
#!/bin/sh
echo "$PYTHONPATH" >> {place}/tried
case "$PYTHONPATH" in *{word}*) exit 0 ;; esac
echo "ModuleNotFoundError: No module named 'flux'" >&2
exit 1
"""


def maestro(place: Path, first_line: str) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / "maestro").write_text(f"{first_line}\n")
    (place / "maestro").chmod(0o755)
    return place


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place where the interpreter of this session has no Maestro beside it."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "none" / "python"))
    return tmp_path


def python(place: Path, word: str) -> str:
    place.mkdir(parents=True, exist_ok=True)
    program = place / "python3"
    program.write_text(PYTHON.format(place=place, word=word))
    program.chmod(0o755)
    return f"#!{program}"


def flux(place: Path) -> None:
    (place / "flux").write_text("#!/bin/sh\necho /site/python3\n")
    (place / "flux").chmod(0o755)


def test_the_first_that_can(alone: Path) -> None:
    cannot = maestro(alone / "a", python(alone / "a", "never"))
    can = maestro(alone / "b", python(alone / "b", "site"))
    flux(can)
    environment = {"PATH": f"{cannot}:{can}:/usr/bin:/bin", "PYTHONPATH": "/own"}
    program, found = programs.with_flux(environment)
    assert program == str(can / "maestro")
    assert found["PYTHONPATH"] == "/own:/site/python3"
    assert (can / "tried").read_text().splitlines() == ["/own", "/own:/site/python3"]


def test_as_the_environment_is(alone: Path) -> None:
    can = maestro(alone / "b", python(alone / "b", "own"))
    environment = {"PATH": f"{can}:/usr/bin:/bin", "PYTHONPATH": "/own"}
    assert programs.with_flux(environment) == (str(can / "maestro"), environment)


def test_a_wrapper_is_trusted(alone: Path) -> None:
    wrapper = maestro(alone / "b", "#!/bin/sh")
    environment = {"PATH": str(wrapper)}
    assert programs.with_flux(environment) == (str(wrapper / "maestro"), environment)


def test_none_says_why(alone: Path) -> None:
    cannot = maestro(alone / "a", python(alone / "a", "never"))
    with pytest.raises(UsageError, match="No module named 'flux'"):
        programs.with_flux({"PATH": f"{cannot}:/usr/bin:/bin"})
    with pytest.raises(UsageError, match="not installed"):
        programs.with_flux({"PATH": str(alone)})


@pytest.mark.parametrize("rjms", ["flux", "pbs", "a third party's"])
@pytest.mark.parametrize("manager", [Maestro(), Cylc(), Makeflow()], ids=lambda one: one.name)
def test_a_workflow_whose_submissions_would_pass_by_is_refused(
    manager: WorkflowManager, rjms: str, tmp_path: Path
) -> None:
    """Its jobs ran without a submission that WHESL knew of, and a lost one was never seen."""
    study = tmp_path / "study.yaml"
    study.write_text(
        "description: {name: s, description: s}\nbatch: {type: slurm}\n"
        "study:\n  - {name: one, description: one, run: {cmd: 'true', nodes: 1}}\n"
    )
    plan = RunPlan(
        workflow=Maestro().read([str(study)]),
        files=(str(study),),
        environment={"WHESL_RJMS": rjms, "PATH": str(tmp_path)},
        directory=str(tmp_path),
        log=str(tmp_path / "log"),
        poll=1.0,
    )
    known = manager.name != "maestro" and rjms != "a third party's"
    words = "there is no" if known else f"the resource manager is '{rjms}'"
    if manager.name == "maestro" and rjms == "pbs":
        words = "Maestro has no adapter for pbs"
    with pytest.raises(UsageError, match=words):
        manager.check(plan)


@pytest.mark.parametrize(("kind", "refused"), [("slurm", True), ("local", False)])
def test_a_path_that_sbatch_would_get_in_pieces_is_refused(tmp_path: Path, kind: str, refused: bool) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        f"description: {{name: s, description: s}}\nbatch: {{type: {kind}}}\n"
        "study:\n  - {name: one, description: one, run: {cmd: 'true', nodes: 1}}\n"
    )
    manager = Maestro()
    plan = RunPlan(
        workflow=manager.read([str(study)], out=str(tmp_path / "my results")),
        files=(str(study),),
        environment={"PATH": str(tmp_path)},
        directory=str(tmp_path),
        log=str(tmp_path / "log"),
        poll=1.0,
    )
    try:
        manager.start(plan).kill()
    except UsageError as error:
        assert ("without quotation marks" in error.message) == refused
    else:
        assert not refused


def test_what_maestro_itself_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    """Such a study was called correct, and its tasks stayed registered."""
    study = tmp_path / "study.yaml"
    step = "study:\n- name: a\n  description: d\n  run: {cmd: 'true'}\n"
    study.write_text("description: {name: x, description: d}\n" + step)
    program = programs.find_program("maestro", os.environ)
    programs.verify(program, str(study), os.environ)
    study.write_text(study.read_text().replace("cmd: 'true'", "cmd: 'true', max_retries: 1"))
    with pytest.raises(UsageError, match="Maestro refuses the study: Unrecognized key 'max_retries'"):
        programs.verify(program, str(study), os.environ)
