"""What a batch job's user is told of a task: beside its output, in it, and in Slurm's record of the job."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.bench import CRASH, HEAD, PATIENCE, Bench, bench
from whesl.managers.resource.lost_node_release import Release
from whesl.managers.resource.single_host import HostAllocation
from whesl.managers.resource.slurm import slurm_command_output
from whesl.model.errors import CouldNotObserveError
from whesl.report import task_summary as summary
from whesl.report.exception_row import ExceptionRow
from whesl.report.task_summary import Summary

__all__ = ["bench"]  # the fixture

ESCALATES = f"""\
{CRASH.replace("JOB [app]", "JOB [app] LIMIT 1 ELSE ESCALATE")}"""
FAILS = 'echo "An error occurred in MPI_Send"; exit 3'


@pytest.fixture
def escalating(bench: Bench) -> tuple[str, ...]:
    return ("-e", bench.rules(ESCALATES))


class TestOutput:
    def test_a_summary_that_was_asked_for_stands_beside_a_file(self, bench: Bench) -> None:
        code, out, err = bench.run("sh", "-c", "echo out; echo err >&2; exit 3", options=("--summary",))
        assert (code, out, err) == (3, "out\n", "err\n")
        said = (bench.place / "err.whesl").read_text()
        assert "failed, exit status 3" in said and said == (bench.directory.path / "summary").read_text()

    def test_a_second_task_of_the_job_adds_its_own(self, bench: Bench) -> None:
        (bench.place / "err.whesl").write_text("before\n")
        bench.run("true", options=("--summary",))
        assert (bench.place / "err.whesl").read_text().startswith("before\nwhesl: ")

    def test_no_summary_without_being_asked_for(self, bench: Bench) -> None:
        bench.run("true")
        assert not (bench.place / "err.whesl").exists()

    def test_a_link_that_somebody_has_put_there_is_not_followed(self, bench: Bench) -> None:
        target = bench.place / "precious"
        target.write_text("kept")
        (bench.place / "err.whesl").symlink_to(target)
        code, _, err = bench.run("true", options=("--summary",))
        assert code == 0 and target.read_text() == "kept"
        assert "whesl: no summary" in err and str(bench.directory.path / "summary") in err

    def test_why_a_job_ends_with_75_is_in_its_own_output(
        self, bench: Bench, escalating: tuple[str, ...]
    ) -> None:
        code, _, err = bench.run("sh", "-c", FAILS, options=escalating)
        assert code == 75
        (line,) = err.splitlines()
        assert line.startswith("whesl: ") and "exit status 75: CRASH: budget-spent" in line

    def test_why_an_attempt_could_not_be_started_is_in_its_job_s_own_output(self, bench: Bench) -> None:
        """The status alone, 126, once was all that a user saw of it."""
        place = bench.place / "work"
        place.mkdir()
        crash = "rm -r ../work; echo 'An error occurred in MPI_Send'; sleep 60"
        out, err = bench.place / "out", bench.place / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            options = ("-e", bench.rules())
            child = bench.exec("sh", "-c", crash, options=options, cwd=place, stdout=stdout, stderr=stderr)
            assert child.wait(PATIENCE) == 126
        (line,) = err.read_text().splitlines()
        assert "exit status 126: No such file or directory" in line and str(place) in line

    def test_it_is_said_once_where_the_summary_is_shown(
        self, bench: Bench, escalating: tuple[str, ...]
    ) -> None:
        _, _, err = bench.run("sh", "-c", FAILS, options=(*escalating, "--summary"))
        assert err.count("exit status 75") == 1
        assert "CRASH: budget-spent" in (bench.place / "err.whesl").read_text()

    def test_quiet_is_quiet(self, bench: Bench, escalating: tuple[str, ...]) -> None:
        code, _, err = bench.run("sh", "-c", FAILS, options=(*escalating, "--quiet"))
        assert (code, err) == (75, "")

    def test_a_program_s_own_75_is_its_own(self, bench: Bench) -> None:
        code, _, err = bench.run("sh", "-c", "exit 75", options=("-e", bench.rules()))
        assert (code, err) == (75, "")


class TestRemark:
    @pytest.mark.parametrize("comment", ["", "my own words", "whesl:abc.def", "whesl:abc.def my own words"])
    def test_what_is_there_stays(self, comment: str) -> None:
        once = slurm_command_output.remarked(comment, "w/a", "w/a failed (3); 2 attempts")
        assert once.startswith(comment) and slurm_command_output.token_of(
            once
        ) == slurm_command_output.token_of(comment)
        twice = slurm_command_output.remarked(once, "w/b", "w/b completed")
        assert twice == f"{once} [whesl] w/b completed"
        again = slurm_command_output.remarked(twice, "w/a", "w/a completed; 3 attempts")
        assert "failed" not in again and "w/b completed" in again and again.startswith(comment)

    @given(st.text(max_size=1200), st.text("abc /", min_size=1), st.text(min_size=1, max_size=300))
    def test_nothing_of_others_is_lost(self, comment: str, task: str, text: str) -> None:
        made = slurm_command_output.remarked(comment, task, text)
        assert made == "" or len(made) <= 1000
        if made and " [whesl] " not in f" {comment}":
            assert made.startswith(comment) and made.endswith(" ".join(text.split()))

    def test_nothing_is_said_of_what_went_as_it_should(self) -> None:
        done = Summary(
            task="w/a",
            state="completed",
            exit_code=0,
            reason="",
            attempts=1,
            seconds=1.0,
            handled=[],
            dropped=0,
        )
        assert summary.remark(done) == ""

    def test_it_is_short_and_fit_for_a_line(self) -> None:
        handled = [
            ExceptionRow(task="w/a", exception=f"E{n}", ordinal=n, attempt=1, time=1.0, action="recover")
            for n in range(50)
        ]
        long = Summary(
            task="w/a",
            state="failed",
            exit_code=3,
            reason="a\nb\x1b" * 200,
            attempts=51,
            seconds=1.0,
            handled=handled,
            dropped=0,
        )
        said = summary.remark(long)
        assert said.startswith("w/a failed (3); 51 attempts; E0: recover; E1: recover; E2: recover; 47 more")
        assert len(said) <= 240 and said.isprintable()

    def test_it_comes_before_lost_nodes_are_given_back(self) -> None:
        """Without slurmdbd Slurm takes no change to a job after that."""
        asked: list[str] = []

        class Taking(HostAllocation):
            def remark(self, task: str, text: str) -> None:
                asked.append(text)
                raise CouldNotObserveError("no answer")

            def release(self, node: str) -> bool:
                asked.append(node)
                return True

        Release(Taking({}), ("n02",), ("w/a", "w/a failed")).wait()
        assert asked == ["w/a failed", "n02"]
        Release(HostAllocation({}), (), ("w/a", "w/a failed")).wait()


@pytest.mark.slurm
def test_the_job_s_record_says_what_happened(slurm: SlurmBed, tmp_path: Path) -> None:
    rules = tmp_path / "rules.esl"
    rules.write_text(HEAD + CRASH)
    out = tmp_path / "out"
    program = '[ "$WHESL_RESTART_COUNT" = 1 ] || { echo "An error occurred in MPI_Send"; exit 1; }'
    command = [sys.executable, "-m", "whesl", "exec", "--step", "app", "-e", str(rules), "--no-coordinator"]
    first = shlex.join([*command, "--summary", "--", "sh", "-c", program])
    second = shlex.join([*command, "--instance", "2", "--", "sh", "-c", "exit 4"])
    script = f"#!/bin/sh\nexport WHESL_HOME={os.environ['WHESL_HOME']}\n{first}\n{second}\necho status $?\n"
    job = slurm.submit(script, f"--output={out}", "--comment=whesl:abc my own words")
    slurm.wait_job(job, "COMPLETED", "FAILED")
    comment = slurm.job(job, "%k")
    assert comment.startswith("whesl:abc my own words [whesl] exec/app completed; 2 attempts; CRASH: recover")
    assert "[whesl] exec/app_2 failed (4); 1 attempt" in comment
    assert out.read_text() == "An error occurred in MPI_Send\nstatus 4\n"
    assert "raised CRASH" in Path(f"{out}.whesl").read_text()


@pytest.mark.slurm
@pytest.mark.slow
def test_an_array_s_last_element_speaks_for_itself(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Its own id is the whole array's: the others' comments were changed with it."""
    bed = slurm_bed(nodes=2)
    command = [sys.executable, "-m", "whesl", "exec", "--no-coordinator", "--step", "app"]
    text = f"#!/bin/sh\nexport WHESL_HOME={os.environ['WHESL_HOME']}\n{shlex.join(command)} "
    text += "--instance $SLURM_ARRAY_TASK_ID -- sh -c 'sleep $SLURM_ARRAY_TASK_ID; exit $SLURM_ARRAY_TASK_ID'"
    job = bed.submit(f"{text}\n", "--array=0-3", "--comment=mine")
    bed.wait_for(
        lambda: bed.run("squeue", "-h", "-r", "-j", job).stdout == "", "the end of all elements", 100
    )
    told = bed.run("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%K %k").stdout.splitlines()
    assert sorted(told)[0] == "0 mine"
    for element in (1, 2, 3):
        (found,) = (line for line in told if line.startswith(f"{element} "))
        assert found.startswith(f"{element} mine [whesl] exec/app_{element} failed ({element})"), told
        assert found.count("[whesl]") == 1
