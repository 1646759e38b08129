"""Scripts with ``#PBS`` lines: how they are read, and what ``qsub`` is asked for. No PBS is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whesl.managers.resource import manager_table
from whesl.managers.workflow.batch.manager import Batch
from whesl.managers.workflow.batch.script import parse_script
from whesl.managers.workflow.batch.submission_commands import COMMANDS
from whesl.managers.workflow.port import FluxifyOptions
from whesl.managers.workflow.script_wrapping import WrappedScript
from whesl.managers.workflow.submission.install import install
from whesl.managers.workflow.submission.qsub_rewriting import interactive, parse_call, rewrite, waits
from whesl.model import job_ids

WRAPPED = WrappedScript(workflow="w", step="s", spares=1, keeps=True, source="/home/u/my job.sh")
OURS = "WHESL_SUBMISSION=w/s#1,WHESL_GRANTED_SPARES,WHESL_REQUEUE_SAID"
KEEPS = ("-W", "tolerate_node_failures=all")
NAMED = ("-N", "my_job.sh")


def header(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ("#!/bin/sh", *(f"#PBS {line}" for line in lines), "hostname"))


@pytest.mark.parametrize(
    ("lines", "call", "added", "spares"),
    [
        # The call stands before the script's lines, and its words stay.
        (
            ["-l select=2:ncpus=4:mpiprocs=4,walltime=1:00:00", "-l place=scatter"],
            ["-q", "big"],
            ["-q", "big", "-l", "select=3:ncpus=4:mpiprocs=4", *KEEPS, *NAMED, "-v", OURS],
            1,
        ),
        (
            ["-l select=9", "-N named"],
            ["-lselect=1:ncpus=2,walltime=60"],
            ["-l", "walltime=60", "-l", "select=2:ncpus=2", "-l", "place=scatter", *KEEPS, "-v", OURS],
            1,
        ),
        (
            ["-l nodes=2:ppn=8"],
            ["-N", "x"],
            ["-N", "x", "-l", "nodes=3:ppn=8", *KEEPS, "-v", OURS],
            1,
        ),
        # One chunk is one node: the place that its user has chosen keeps what it says of sharing.
        (
            ["-l place=pack:excl", "-W tolerate_node_failures=job_start"],
            [],
            ["-l", "select=2", "-l", "place=scatter:excl", *NAMED, "-v", OURS],
            1,
        ),
        # The last list of variables counts in qsub.
        (
            ["-v A=1", "-l select=1,place=scatter"],
            ["-vB='x,y',C"],
            ["-l", "select=2", *KEEPS, *NAMED, "-v", f"B='x,y',C,{OURS}"],
            1,
        ),
        (
            ["-v A=1"],
            ["-V"],
            ["-V", "-l", "select=2", "-l", "place=scatter", *KEEPS, *NAMED, "-v", f"A=1,{OURS}"],
            1,
        ),
        # No node more where it is not sure to be one.
        (["-l select=4:ncpus=1"], [], [*KEEPS, *NAMED, "-v", OURS], 0),
        (["-l select=1:ncpus=1+2:ngpus=1", "-l place=scatter"], [], [*KEEPS, *NAMED, "-v", OURS], 0),
        (["-l select=1:host=n01"], [], [*KEEPS, *NAMED, "-v", OURS], 0),
        (["-l nodes=1:ppn=8+2:gpu"], [], [*KEEPS, *NAMED, "-v", OURS], 0),
        (["-l ncpus=8"], [], [*KEEPS, *NAMED, "-v", OURS], 0),
    ],
)  # fmt: skip
def test_what_is_asked_for(lines: list[str], call: list[str], added: list[str], spares: int) -> None:
    found = rewrite(parse_call([*call, "copy.sh"]), header(*lines), WRAPPED, "w/s#1")
    assert list(found.words) == [*added, "copy.sh"]
    assert found.spares == spares
    assert bool(found.notices) == (not spares), "who gets no spare node is told why"


@pytest.mark.parametrize(
    ("lines", "call", "said"),
    [([], [], "nothing"), (["-r n"], [], "no-requeue"), (["-r n"], ["-r", "y"], "requeue")],
)
def test_what_its_user_said_of_running_it_again(lines: list[str], call: list[str], said: str) -> None:
    assert rewrite(parse_call([*call, "a"]), header(*lines), WRAPPED, "t").requeue == said


def test_what_is_not_ours() -> None:
    """A command in the place of a script, a script from standard input, and a job's terminal."""
    for words in (["--", "hostname"], [], ["-"], ["--version"], ["a", "b"]):
        assert parse_call(words).commanded, words
    assert parse_call(["a.sh", "-q", "debug"]).script == "a.sh", "getopt(3) takes options behind it, too"
    assert interactive(parse_call(["a"]), header("-I"))
    assert waits(parse_call(["-W", "umask=22,block=true", "a"]), header())
    assert not waits(parse_call(["-W", "block=false", "a"]), header())


def test_a_script_is_read() -> None:
    found = parse_script(header("-N name", "-l select=2:ncpus=4+1:mem=8gb", "-J 1-5:2%2"), Path("/x/job.sh"))
    assert (found.step, found.nodes, found.array) == ("name", 3, (1, 3, 5))
    assert parse_script(header("-l nodes=2:ppn=4+n07"), Path("/x/job.sh")).nodes == 3


def test_every_manager_has_its_command() -> None:
    assert {one.command for one in manager_table.BUILT_IN.values()} == set(COMMANDS)
    assert COMMANDS["qsub"].element("12[].server", "3") == "12[3].server"
    refused, silent = "qsub: Unknown queue", "qsub: cannot connect to server pbs (errno=15010)"
    assert not COMMANDS["qsub"].may_work_later(refused)
    assert COMMANDS["qsub"].may_work_later(silent)


@pytest.mark.parametrize(
    ("job", "whole"),
    [("12_3", "12"), ("12[3].my_server", "12[].my_server"), ("12.my_server", "12.my_server"), ("a_b", "a_b")],
)
def test_an_element_was_submitted_with_its_array(job: str, whole: str) -> None:
    """A host with an underscore in its name lost the rest of it."""
    assert job_ids.submitted(job) == whole


class Cluster:
    """PBS's commands, of which ``qsub`` writes down how it was called."""

    def __init__(self, place: Path, nodes: int) -> None:
        self.directory = place / "pbs"
        self.directory.mkdir()
        self.calls, self.known = place / "calls", place / "known"
        listed = json.dumps({"nodes": {f"n{number}": {"state": "free"} for number in range(nodes)}})
        self._command("pbsnodes", f"echo '{listed}'")
        self._command("qselect", f"cat {self.known} 2>/dev/null; true")
        told = f"Job Id: 7.server\\036job_state=Q\\036Submit_arguments=-v $(cat {self.calls})"
        self._command("qstat", f'[ ! -e {self.known} ] || printf "{told}\\n"')
        said = "$* $WHESL_GRANTED_SPARES"
        waits = "for script; do :; done; ! grep -qs block=true $script || exec sleep 600"
        self._command("qsub", f'echo "{said}" >> {self.calls}; echo 7.server | tee {self.known}; {waits}')
        self.environment = {**os.environ, "WHESL_PYTHON": sys.executable, "WHESL_RJMS": "pbs"}
        self.environment["PATH"] = f"{install(place / 'bin', 'pbs')}:{self.directory}:{os.environ['PATH']}"

    def _command(self, name: str, text: str) -> None:
        (self.directory / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.directory / name).chmod(0o755)

    def qsub(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["qsub", *words], env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.mark.parametrize(("nodes", "asked", "lines"), [(2, "select=2", ["-W block=true"]), (1, "", [])])
def test_a_script_is_submitted_once(tmp_path: Path, nodes: int, asked: str, lines: list[str]) -> None:
    """A repeated call is told the job; a spare node that there cannot be is not asked for.

    A script whose submission waits for its job's end was submitted without a token, at each call again.
    """
    cluster, script = Cluster(tmp_path, nodes), tmp_path / "job.sh"
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    options = FluxifyOptions(
        program=("whesl",), workflow="w", spec="rules", home=str(home), spares={"job": 1}, place=str(home)
    )
    made = Batch().fluxify(header(*lines), script, options)
    for program in made.programs:
        program.write()
    script.write_text(made.text)
    first, again = cluster.qsub(str(script)), cluster.qsub(str(script))
    assert (first.stdout, again.stdout) == ("7.server\n", "7.server\n"), first.stderr + again.stderr
    (call,) = cluster.calls.read_text().splitlines()
    assert asked in call if asked else "select" not in call
    assert "WHESL_SUBMISSION=w/job#1" in call
    assert call.endswith(f"{script} {nodes - 1} w/job")
    assert ("has no spare node: pbs has 1 nodes" in first.stderr) == (nodes == 1)


def test_other_calls_are_the_real_commands(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 1)
    cluster.qsub("-q", "debug", "--", "hostname")
    assert cluster.calls.read_text().strip() == "-q debug -- hostname"
