"""Scenarios 1 and 2: a full disk in every task, and while a dependent runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.alike import ALL
from tests.scenarios.bed import Bed
from tests.scenarios.studies import OAI, oai, oai_files, rules, stage_outputs

FULL = 'MATCH "No space left on device|Disk quota exceeded" stdout'
IMAGES = 2 if os.environ.get(ALL) else 1
SCALE = 0.05


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filesystems(
    preprocess=1_000_000,
    segmentation=2_500_000,
    register_image_to_atlas=6_000_000,
    extract_surface_mesh=200_000,
    warp_mesh=60_000,
)
def test_1_disk_full_once_in_every_task(bed: Bed, filesystems: Path, tmp_path: Path) -> None:
    """Each stage's own file system holds less than one image: every task fails once, and is moved."""
    place = "$(SCRATCH)/$(STAGE)/$(IMAGE)"
    expected = oai_files(tmp_path / "expected", IMAGES, SCALE)

    large = tmp_path / "large"
    large.mkdir()
    text = ""
    for stage in OAI:
        name = f"FULL_{stage.upper()}"
        text += (
            f"DECLARE EXCEPTION {name} WORKFLOW_LEVEL JOB [{stage}] LIMIT 1\n"
            f"EXCEPTION DETECTION {name} {FULL}\n"
            f"EXCEPTION RECOVERY STEP {name} JOB FILESYSTEM.REPLACE "
            f'{{"filesystem": "{large / stage}", "defaultpath": "{filesystems / stage}"}}\n'
        )
        (large / stage).mkdir()
    study = oai(tmp_path / "study.yaml", place, filesystems, images=IMAGES, scale=SCALE)
    run = bed.run(study, rules(tmp_path / "rules.esl", text))

    assert run.status == 0, run.output
    assert stage_outputs(large) == expected
    assert len(run.exceptions()) == len(OAI) * IMAGES
    assert {row["outcome"] for row in run.exceptions()} == {"recovered"}
    assert len({row["task"] for row in run.exceptions()}) == len(OAI) * IMAGES
    for row in run.exceptions():
        assert "No space left on device" in row["line"], row
    jobs = bed.jobs()
    assert len(jobs) == len(OAI) * IMAGES
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert {job.get("Restarts", "0") for job in jobs} == {"0"}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filesystems(small=9_000_000)
def test_1_the_study_itself_stands_on_the_full_disk(bed: Bed, filesystems: Path, tmp_path: Path) -> None:
    """All workspaces are on the small file system; a WMS step makes those to come in the new root."""
    computed = oai_files(tmp_path / "expected", IMAGES, SCALE)
    expected = {Path(name).name: data for name, data in computed.items()}

    large = tmp_path / "large"
    large.mkdir()
    study = _in_workspaces(filesystems / "small" / "study.yaml", tmp_path)
    arguments = f'{{"filesystem": "{large}", "defaultpath": "{bed.root(study)}"}}'
    text = (
        "DECLARE EXCEPTION DISKFULL WORKFLOW_LEVEL JOB [*] LIMIT 2\n"
        f"EXCEPTION DETECTION DISKFULL {FULL}\n"
        f"EXCEPTION RECOVERY STEP DISKFULL JOB FILESYSTEM.REPLACE {arguments}\n"
        f"EXCEPTION RECOVERY STEP DISKFULL WMS FILESYSTEM.REPLACE {arguments}\n"
    )
    run = bed.run(study, rules(tmp_path / "rules.esl", text))
    assert run.status == 0, run.output
    found = stage_outputs(large, bed.root(study))
    assert {Path(name).name: data for name, data in found.items()} == expected
    assert run.exceptions("DISKFULL")
    jobs = bed.jobs()
    assert len(jobs) == len(OAI) * IMAGES
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}


def _in_workspaces(path: Path, tmp_path: Path) -> Path:
    """The OAI study with each stage's data in its own workspace, as Maestro's users write it."""
    text = oai(path, "@$(STAGE)@", tmp_path, images=IMAGES, scale=SCALE).read_text()
    for stage in OAI:
        text = text.replace(f"--out @{stage}@", "--out $(WORKSPACE)/data")
        text = text.replace(f"@{stage}@", f"$({stage}.workspace)/data")
    path.write_text(text)
    return path


PRODUCER = """\
#!/bin/bash
#SBATCH --job-name=produce
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --time=5
#SBATCH --output={out}/produce.out
{python} -u - {scratch} <<'PYTHON'
import sys, pathlib, time
place = pathlib.Path(sys.argv[1]); place.mkdir(exist_ok=True)
for index in range(12):
    path = place / f"part-{{index}}"
    if path.exists():
        continue
    try:
        path.with_suffix(".new").write_bytes(bytes([65 + index]) * 100_000)
    except OSError as error:
        print(f"part {{index}}: {{error.strerror}}", flush=True)
        sys.exit(1)
    path.with_suffix(".new").rename(path)
    while index == 5 and len(list(pathlib.Path("{out}").glob("*.began"))) < 2:
        time.sleep(0.05)
    print(f"part {{index}}", flush=True)
    time.sleep(0.2)
PYTHON
"""
CONSUMER = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --time=5
#SBATCH --output={out}/{name}.out
touch {out}/{name}.began
exec {python} -u - {scratch} {loads} <<'PYTHON'
import json, os, pathlib, signal, sys, time
told = []
while sys.argv[2] != "at-once" and not pathlib.Path(sys.argv[2]).exists():
    time.sleep(0.05)
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
place = pathlib.Path(sys.argv[1])
print("reading", place, flush=True)
for index in range(12):
    path = place / f"part-{{index}}"
    for _ in range(600):
        if told:
            told.clear()
            rules = json.loads(pathlib.Path(os.environ["WHESL_RECONFIGURE"]).read_text())["path_map"]["rules"]
            for rule in rules:
                if str(place) == rule["old"] or str(place).startswith(rule["old"] + "/"):
                    place = pathlib.Path(rule["new"] + str(place)[len(rule["old"]):])
            print("now reading", place, flush=True)
            path = place / path.name
        if path.exists():
            break
        time.sleep(0.05)
    assert path.read_bytes() == bytes([65 + index]) * 100_000, path
    print("got", path, flush=True)
print("all parts", flush=True)
PYTHON
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filesystems(small=700_000)
def test_2_disk_full_while_a_dependent_runs(bed: Bed, filesystems: Path, tmp_path: Path) -> None:
    """The consumers read while the producer writes; they are told where the rest is, and never restarted.

    One was not, where it still loaded and did not handle the signal yet.
    """
    scratch, large = filesystems / "small" / "data", tmp_path / "large"
    large.mkdir()
    names = {"python": sys.executable, "scratch": scratch, "out": tmp_path}
    (tmp_path / "produce.sh").write_text(PRODUCER.format(**names))
    loads = {"consume": "at-once", "slow": large / "data" / "part-8"}
    for name, until in loads.items():
        (tmp_path / f"{name}.sh").write_text(CONSUMER.format(**names, name=name, loads=until))
    text = (
        "DECLARE EXCEPTION DISKFULL WORKFLOW_LEVEL JOB [produce] LIMIT 2\n"
        f"EXCEPTION DETECTION DISKFULL {FULL}\n"
        "EXCEPTION RECOVERY STEP DISKFULL JOB FILESYSTEM.REPLACE "
        f'{{"filesystem": "{large}", "defaultpath": "{filesystems / "small"}", "signal": "SIGUSR1"}}\n'
    )
    consumers = tuple(f"{tmp_path / name}.sh:with=produce" for name in loads)
    run = bed.run(tmp_path / "produce.sh", rules(tmp_path / "rules.esl", text), more=consumers)
    assert run.status == 0, run.output
    for name in loads:
        consumed = (tmp_path / f"{name}.out").read_text().splitlines()
        assert consumed[-1] == "all parts"
        assert f"now reading {large / 'data'}" in consumed
        assert sum(line.startswith("reading") for line in consumed) == 1, "the dependent was restarted"
    bed.check_each_job_once(3)
