"""What Maestro refuses is refused before anything runs: changed studies beside Maestro's own ``run``.

Maestro's check of the file alone was asked: a study whose steps it cannot stage, whose scripts it cannot
write or whose paths are missing was called correct, and its tasks stayed registered for ever.
"""

from __future__ import annotations

import copy
import logging
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.language.test_command import call
from whesl.managers.workflow import verified
from whesl.managers.workflow.maestro import programs
from whesl.managers.workflow.maestro import study as studies
from whesl.managers.workflow.maestro.expand import expand
from whesl.model.errors import UsageError

maestro = pytest.importorskip("maestrowf.maestro")

BASE = yaml.safe_load("""
description: {name: s, description: d}
env:
  variables: {OUTPUT_PATH: ./out, X: 1}
batch: {type: local, shell: /bin/bash}
study:
  - {name: a, description: d, run: {cmd: "echo $(P) $(X)"}}
  - {name: b, description: d, run: {cmd: "echo $(a.workspace)", depends: [a]}}
  - {name: c, description: d, run: {cmd: "echo", depends: [a_*]}}
global.parameters:
  P: {values: [1, 2], label: P.%%}
""")
SLURM = {"type": "slurm", "host": "h", "bank": "b", "queue": "q"}
JOB = {"nodes": 1, "procs": 1, "walltime": "00:10:00"}
GONE: Any = object()
STEP, OTHER = ("study", 0), ("study", 1)
RUN = (*STEP, "run")
PARAMETER = ("global.parameters", "P")

# Where a study is changed, and what stands there then.
CHANGES: list[tuple[tuple[str | int, ...], tuple[Any, ...]]] = [
    ((), (None,)),
    ((*RUN, "cmd"), (GONE, "", ["x"], 3, None)),
    ((*RUN, "cmd"), ("echo $(NO)", "echo $(no.workspace)", "echo $(b.workspace)", "echo $(P")),
    ((*RUN, "depends"), (["no"], ["a"], ["b"], ["b_*"], "b", [1], None, [])),
    ((*OTHER, "run", "depends"), (["c"], ["a", "a"], ["a*"], [None], {})),
    ((*RUN, "nodes"), ("x", 0, -1, 1.5, [1], "2", "$(P)", True)),
    ((*RUN, "procs"), ("4", "four", 0)),
    ((*RUN, "walltime"), (60, "abc", [1])),
    ((*RUN, "exclusive"), ("maybe", True)),
    ((*RUN, "gpus"), ("x", 1)),
    ((*RUN, "restart"), (["x"], None, "echo")),
    ((*RUN, "no"), (1,)),
    ((*STEP, "name"), (GONE, 3, "", "b", "_source", "a b")),
    ((*STEP, "description"), (GONE, "", 3)),
    ((*STEP, "run"), (GONE, "x", [])),
    ((*STEP, "no"), (1,)),
    (("study",), (GONE, [], {"a": 1}, None, [3])),
    (("description",), (GONE, "x", {"name": "x"}, {"description": "x"}, [])),
    (("description", "name"), (3, "", None)),
    (("env",), ([1], {"no": {}}, GONE, None)),
    (("env", "variables"), ([1], {"X": [1]}, {"X": None}, {"X": ""}, {"X": {}})),
    (("env", "labels"), ({"L": 3}, {"L": "$(X)"}, {"L": []})),
    (
        ("env", "dependencies"),
        ({"paths": [{"name": "D", "path": "/not/there"}]}, {"paths": [{}]}, {"paths": "x"}),
    ),
    (("env", "dependencies"), ({"paths": [{"name": "D", "path": "/tmp"}]},)),
    (("env", "dependencies"), ({"git": [{"name": "G", "path": "x"}]},)),
    (("batch",), ({"type": "no"}, {"type": "slurm"}, SLURM, [1], {}, GONE)),
    (("batch", "shell"), (3, "/bin/sh")),
    ((*PARAMETER, "values"), (GONE, 3, [], [1], [[1], [2]], [1, "x"])),
    ((*PARAMETER, "label"), (GONE, 3, "x", ["x", "y"], ["x"])),
    ((*PARAMETER, "no"), (1,)),
    (PARAMETER, (None, [], "x")),
    (("global.parameters",), ([1], {"P": BASE["global.parameters"]["P"], "Q": {"values": [1]}})),
]
OF_A_JOB = ["x", "$(LAUNCHER) x", "$(LAUNCHER)[1n, 1p] x", "$(LAUNCHER)[3n, 9p] x", "$(LAUNCHER)[no] x"]


def changed(place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    study = copy.deepcopy(BASE)
    found: Any = study
    for each in place[:-1]:
        found = found[each]
    if place and value is GONE:
        del found[place[-1]]
    elif place:
        found[place[-1]] = value
    return study  # type: ignore[no-any-return]  # YAML's values


@pytest.fixture
def takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], bool]:
    """Whether ``maestro run`` would run a study: all that it does before the first job, by its own code."""
    monkeypatch.chdir(tmp_path)

    def prepared(conductor: Any) -> Namespace:
        conductor._exec_dag.generate_scripts()
        return Namespace(value=0)

    monkeypatch.setattr(maestro.Conductor, "monitor_study", prepared)
    monkeypatch.setattr(maestro.LOG_UTIL, "add_file_handler", lambda *arguments: None)

    def run(study: Path) -> bool:
        out = tmp_path / "its"
        shutil.rmtree(out, ignore_errors=True)
        options = Namespace(
            specification=str(study),
            out=str(out),
            autoyes=True,
            autono=False,
            debug_lvl=2,
            pargs=None,
            pgen=None,
        )
        more = {
            "attempts": 1,
            "throttle": 0,
            "rlimit": 1,
            "usetmp": False,
            "hashws": False,
            "dry": True,
            "fg": True,
        }
        logging.disable(logging.CRITICAL)
        try:
            maestro.run_study(Namespace(**vars(options), **more, sleeptime=1))
        except (Exception, SystemExit):
            return False
        finally:
            logging.disable(logging.NOTSET)
        return True

    return run


def refused(study: Path, place: Path) -> str:
    """Return why a study is refused, without a process for each one."""
    try:
        expand(studies.load(study), str(place))
    except UsageError as error:
        return error.message
    names: dict[str, Any] = {"__name__": "asked"}
    exec(programs.VERIFY, names)
    try:
        shutil.rmtree(place, ignore_errors=True)
        return str(names["refused"](str(study), str(place)))
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.costly
def test_what_maestro_refuses_is_refused_and_nothing_else(
    tmp_path: Path, takes: Callable[[Path], bool]
) -> None:
    made = [(str(place), changed(place, value)) for place, values in CHANGES for value in values]
    for command in OF_A_JOB:
        for more in ({}, {"nodes": 2, "procs": 9}):
            study = changed(("batch",), SLURM)
            study["study"][0]["run"] |= {**JOB, **more, "cmd": command}
            made.append((command, study))
    wrong = []
    count = 0
    for what, study in made:
        file = tmp_path / "study.yaml"
        file.write_text(yaml.safe_dump(study))
        taken, said = takes(file), refused(file, tmp_path / "ours")
        count += not taken
        if taken == bool(said):
            wrong.append((what, study, said))
    assert not wrong
    assert 40 < count < len(made) - 20  # of each sort there are many


def test_a_check_says_it_in_maestros_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(changed((*RUN, "nodes"), -1)))
    with pytest.raises(UsageError, match=r"Maestro refuses the study: .*run\.nodes of study step 'a'"):
        verified(file)
    rules = tmp_path / "rules.esl"
    rules.write_text("DECLARE ENTITY JOB\n")
    assert call("check", rules, "--workflow", file) == 2
    assert "Maestro refuses" in capsys.readouterr().err


def test_without_a_maestro_a_study_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(changed((*RUN, "no"), 1)))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {task.step for task in verified(file).tasks} == {"a", "b", "c"}
