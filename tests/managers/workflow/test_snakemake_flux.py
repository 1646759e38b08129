"""Snakemake's own Flux executor: a rule whose command is wrapped recovers inside its job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import need_flux
from tests.environments import MANAGERS, environment
from tests.equipment.fluxbed import FluxBed

WHESL = Path(sys.executable).parent / "whesl"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION GLITCH LOG "a glitch" stdout
EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE
"""
SNAKEFILE = """\
rule all:
    input: "used.txt"

rule make:
    output: "made.txt"
    shell: "{whesl} exec -e {rules} --step make -- {python} {program} {{output}}"

rule use:
    input: "made.txt"
    output: "used.txt"
    shell: "cat {{input}} > {{output}}"
"""
# Goes wrong in its first attempt, and would not end by itself.
PROGRAM = """\
import os, pathlib, sys, time
count = os.environ["WHESL_RESTART_COUNT"]
with open("attempts", "a") as file:
    print(count, file=file)
if count == "0":
    print("a glitch", flush=True)
    time.sleep(600)
pathlib.Path(sys.argv[1]).write_text("made\\n")
"""


@pytest.fixture
def snakemake() -> Path:
    """Snakemake with its Flux plugin and what Flux's bindings import, in an environment of its own."""
    need_flux()
    return environment(*MANAGERS) / "snakemake"


@pytest.mark.flux
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_wrapped_rule_recovers_and_snakemake_sees_one_success(snakemake: Path, tmp_path: Path) -> None:
    names = {"whesl": WHESL, "rules": tmp_path / "rules.esl", "python": sys.executable}
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(**names, program=tmp_path / "program.py"))
    with FluxBed(8, cores=2) as bed:
        own = bed.run("flux", "config", "builtin", "python_path").stdout.strip()
        done = subprocess.run(
            [str(snakemake), "--executor", "flux", "--jobs", "2", "--directory", str(tmp_path)],
            env={**bed.outside, "PYTHONPATH": own, "WHESL_HOME": os.environ["WHESL_HOME"]},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        jobs = json.loads(bed.run("flux", "jobs", "-a", "--json").stdout)["jobs"]
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "used.txt").read_text() == "made\n"
    assert (tmp_path / "attempts").read_text() == "0\n1\n"
    assert [job["result"] for job in jobs] == ["COMPLETED"] * 2, "a rule had more than one job"
