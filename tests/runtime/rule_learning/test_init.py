"""A first specification: correct to the last warning, each rule with its reason, nothing overwritten."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.runtime.rule_learning.test_learn import written
from whesl import language
from whesl.cli.group import cli

SCRIPT = "#!/bin/bash\n#SBATCH -N 2\nsrun ./app input.dat\n"
STUDY = """\
description: {name: study, description: two steps}
env: {variables: {OUTPUT_PATH: ./out}}
study:
  - {name: mesh, description: mesh, run: {cmd: ./mesh, nodes: 1}}
  - {name: solve, description: solve, run: {cmd: ./solve, nodes: 4, depends: [mesh]}}
"""


def init(*words: str, given: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["init", *words], input=given, standalone_mode=False)
    return int(result.return_value if result.exception is None else 2), result.output


@pytest.mark.parametrize(
    ("name", "text"),
    [("job.sh", SCRIPT), ("study.yaml", STUDY), ("train.sh", "#!/bin/bash\nsrun python ./src/train.py\n")],
)
@pytest.mark.parametrize("more", [False, True])
def test_it_is_strictly_correct(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str,
    more: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("import lightning as L\n")
    seed, words = random.Random(3), [name]
    large = tmp_path_factory.mktemp("large")
    if more:
        for number in range(4):
            written(tmp_path, f"run{number}.log", True, 100 + number, seed)
        words += ["--log", "run*.log", "--other", str(large)]
    code, output = init(*words)
    assert code == 0, output
    file = (tmp_path / name).with_suffix(".esl")
    result = language.parse(file.read_bytes(), str(file))
    assert result.spec is not None and result.diagnostics == ()
    raised = {exception.name for exception in result.spec.exceptions}
    assert ("STOOD_STILL" in raised) is more
    trains = name == "train.sh"
    assert ("ENDED" in raised) is trains
    assert ("out-of-memory-host" in file.read_text()) is not trains, "a killed rank begins again"
    above = file.read_text().split("\nDECLARE EXCEPTION ")
    assert all(part.rstrip().splitlines()[-1].startswith("#") for part in above[:-1]), "a reason above each"
    assert (str(large) in file.read_text()) is more


@pytest.mark.parametrize(
    "command",
    [
        "srun -l python -m src.train --config base",
        "srun ./in_container.sh python /workspace/src/train.py",
        'srun python "$CODE"/src/train.py',
        "bash steps/main.sh",
        "horovodrun -np 4 python other.py",
        "srun ./app input.dat",
    ],
)
def test_a_program_that_trains_is_found_behind_modules_containers_and_scripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("src", "steps"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "train.py").write_text("jax.distributed.initialize()\n")
    (tmp_path / "train.py").symlink_to("src/train.py")
    (tmp_path / "steps" / "main.sh").write_text("bash steps/main.sh again\nsrun python src/train.py\n")
    (tmp_path / "job.sh").write_text(f"#!/bin/bash\n#SBATCH -N 2\n{command}\n")
    assert init("job.sh")[0] == 0
    assert ("EXCEPTION ENDED" in (tmp_path / "job.esl").read_text()) is ("./app" not in command)


def test_nothing_is_overwritten_without_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.sh").write_text(SCRIPT)
    (tmp_path / "job.esl").write_text("mine")
    assert init("job.sh", given="n\n")[0] == 2 and (tmp_path / "job.esl").read_text() == "mine"
    assert init("job.sh", given="")[0] == 2 and (tmp_path / "job.esl").read_text() == "mine"
    assert init("job.sh", given="y\n")[0] == 0 and (tmp_path / "job.esl").read_text() != "mine"
