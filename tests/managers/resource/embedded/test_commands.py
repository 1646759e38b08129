"""What the Slurm-form commands accept and print: forms taken from Slurm 22.05 as it ran."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import commands
from tests.limits import late
from tests.managers.resource.embedded.conftest import Bed, wait_until
from whesl.managers.resource.embedded.artificial_wait import QueueWait
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import formats, job_spec, options, sbatch, srun
from whesl.managers.resource.embedded.environment import file_name
from whesl.managers.resource.embedded.scheduler.job_and_node_records import (
    Dependency,
    Job,
    JobSpec,
    Partition,
    Settings,
)
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import compress_counts, expand_counts
from whesl.managers.resource.slurm.slurm_command_output import MARK
from whesl.model.errors import RefusedError, UsageError
from whesl.runtime.wire.keys import home


def test_a_home_that_a_cluster_makes_can_be_used_by_everything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "deep" / "whesl"
    monkeypatch.setenv("WHESL_HOME", str(place))
    monkeypatch.delenv("WHESL_LOCAL", raising=False)
    Cluster.of(os.environ).prepare()
    assert home() == place, "refused when it is open to others"


# Options --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found", "rest"),
    [
        (["-N2", "-n", "4", "run", "-x"], [("nodes", "2"), ("ntasks", "4")], ["run", "-x"]),
        (["--nodes=2", "--ntasks", "4"], [("nodes", "2"), ("ntasks", "4")], []),
        (["-Hk", "x"], [("hold", ""), ("no-kill", "")], ["x"]),
        (["--no-kill=off", "--exclusive"], [("no-kill", "off"), ("exclusive", "")], []),
        (["--job=x", "--", "-N"], [("job-name", "x")], ["-N"]),
        (["--exclusive", "user"], [("exclusive", "")], ["user"]),
    ],
)
def test_options_are_read_as_getopt_does(
    words: list[str], found: list[tuple[str, str]], rest: list[str]
) -> None:
    assert options.parse(sbatch.OPTIONS, words, permute=False) == (found, rest)


@pytest.mark.parametrize("words", [["--nonsense"], ["-~"], ["--nodes"], ["--no"], ["--hold=1"]])
def test_wrong_options_are_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        options.parse(sbatch.OPTIONS, words)


@given(st.lists(st.text(max_size=8), max_size=8))
@pytest.mark.costly
def test_no_words_break_the_parser(words: list[str]) -> None:
    for known in (sbatch.OPTIONS, srun.OPTIONS):
        try:
            found, rest = options.parse(known, words, permute=False)
            assert all(isinstance(word, str) for word in (*rest, *(v for _, v in found)))
        except UsageError:
            pass


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800.0),
        ("5:30", 330.0),
        ("1:00:00", 3600.0),
        ("2-12", 216000.0),
        ("1-0:30", 88200.0),
        ("1-1:1:1", 90061.0),
        ("UNLIMITED", None),
    ],
)
def test_time_limits(text: str, seconds: float | None) -> None:
    assert options.seconds(text) == seconds


numbers = st.text("0123456789:-,+%²٣[]nowafterok", max_size=20) | st.integers().map(
    lambda n: "9" * (n % 6000)
)


@given(st.text(max_size=12) | numbers)
@example("/bin/sh")
@example("/\0")
def test_no_text_breaks_the_readers(text: str) -> None:
    for read in (
        options.seconds,
        options.node_count,
        options.node_names,
        job_spec.array,
        job_spec.dependencies,
        job_spec.warning,
        job_spec.signal_number,
        lambda t: options.begin_time(t, 0.0),
        QueueWait,
    ):
        with contextlib.suppress(UsageError):
            read(text)


@given(st.integers(0, 10**7))
def test_durations_can_be_read_back(seconds: int) -> None:
    assert options.seconds(formats.long_duration(seconds)) == seconds
    if seconds >= 60:
        assert options.seconds(formats.duration(seconds)) == seconds


def test_readers() -> None:
    assert job_spec.array("1-5:2,9%3") == {"array": (1, 3, 5, 9), "array_limit": 3}
    found = job_spec.dependencies("afterok:1:2,afterany:3_4+5")
    wanted = (("afterok", 1), ("afterok", 2), ("afterany", 3))
    assert found["dependencies"] == tuple(Dependency(kind=kind, job=job) for kind, job in wanted)
    assert job_spec.dependencies("afterok:1?afterok:2")["any_dependency"] is True
    assert job_spec.warning("B:USR1@120") == (10, 120.0, True)
    assert job_spec.warning("TERM") == (15, 60.0, False)
    assert job_spec.signal_number("SIGKILL") == job_spec.signal_number("kill") == 9
    assert options.begin_time("now+2hours", 100.0) == 7300.0
    assert job_spec.MARK == MARK


def test_headers_end_at_the_first_command() -> None:
    script = b"""#!/bin/bash
# a remark
#SBATCH --nodes=2 -t 5 # minutes
##SBATCH --nodes=9

#SBATCH --comment "two words"
echo
#SBATCH --nodes=3
"""
    assert sbatch.header(script) == [("nodes", "2"), ("time", "5"), ("comment", "two words")]
    with pytest.raises(UsageError, match="line 2"):
        sbatch.header(b"#!/bin/sh\n#SBATCH --comment='open\n")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_counts_can_be_read_back(values: list[int]) -> None:
    assert expand_counts(compress_counts(values)) == values


def test_names_of_output_files() -> None:
    job = Job(id=7, spec=JobSpec(name="run", user="me", workdir="/w"), array_job=5, array_task=2)

    def name(pattern: str) -> str:
        return file_name(pattern, job, node="n03", node_index=1, step=4, task=9)

    assert name("%x-%j-%A_%a.%N") == "/w/run-7-5_2.n03"
    assert name("/d/%J-%s-%4t-%n-%u-%%j") == "/d/7.4-4-0009-1-me-%j"
    assert file_name("%a", Job(id=7, spec=JobSpec(workdir="/w")), node="") == "/w/4294967294"


def test_queue_waits() -> None:
    assert QueueWait("30").draw(1) == QueueWait("fixed:30").draw(2) == 30.0
    mean = sum(QueueWait("exp:60").draw(n) for n in range(4000)) / 4000
    assert 55 < mean < 65
    assert {QueueWait("empirical:1,5").draw(n) for n in range(50)} == {1.0, 5.0}
    for wrong in (
        "exp",
        "exp:-1",
        "fixed:1,2",
        "lognormal:1",
        "nan",
        "pareto:1",
        "empirical:",
        "lognormal:1,-1",
    ):
        with pytest.raises(UsageError):
            QueueWait(wrong)


@pytest.mark.parametrize("name", ["sbatch", "srun", "squeue", "sinfo", "scancel", "scontrol"])
def test_commands_stay_light(bed: Bed, name: str) -> None:
    """A workflow manager starts them thousands of times."""
    heavy = (
        "argparse",
        "asyncio",
        "click",
        "json",
        "logging",
        "pathlib",
        "sqlite3",
        "subprocess",
        "tempfile",
    )
    code = f"import sys, whesl.managers.resource.embedded.commands.{name}"
    code += f"; print(*({set(heavy)} & set(sys.modules)))"
    assert bed.run(sys.executable, "-I", "-c", code).split() == []


# Output ---------------------------------------------------------------------------------------------------


def test_the_queue_s_form(bed: Bed, tmp_path: Path) -> None:
    job = bed.submit(
        tmp_path, "sleep 300", "-N2", "-J", "a-long-name", "-t", "5", "--comment=some words", "-A", "acct"
    )
    bed.wait(job, "RUNNING")
    array = bed.submit(tmp_path, "true", "--array=1-3,7", "--hold")
    lines = bed.run("squeue").splitlines()
    assert lines[0] == "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)"
    user = bed.environment["USER"][:8]
    waiting = f"{array + '_[1-3,7]':>18}      main script-1 {user:>8} PD       0:00      1 (JobHeldUser)"
    assert lines[1] == waiting
    assert re.fullmatch(rf" +{job}      main a-long-n +{user}  R       0:0\d      2 n\[01-02\]", lines[2])
    form = "%i|%j|%u|%t|%T|%N|%r|%k|%P|%D|%l|%a|%C|%B|%R"
    fields = bed.run("squeue", "-h", "-j", job, "-o", form).strip().split("|")
    assert fields[:6] == [job, "a-long-name", bed.environment["USER"], "R", "RUNNING", "n[01-02]"]
    assert fields[6:] == ["None", "some words", "main", "2", "5:00", "acct", "2", "n01", "n[01-02]"]
    maestro = bed.run("squeue", "-u", bed.environment["USER"], "-t", "all", "--format=%.18i %.8j %.8u %.2t")
    assert maestro.splitlines()[0] == "             JOBID     NAME     USER ST"
    assert f"{job:>18} a-long-n {user:>8}  R" in maestro.splitlines()
    assert [line.split()[0] for line in bed.run("squeue", "-h", "-r", "-t", "PD").splitlines()] == [
        f"{array}_{task}" for task in (1, 2, 3, 7)
    ]
    bed.run("scancel", job, array)
    bed.ended(job)
    assert bed.run("squeue", "-h", "-j", job) == ""
    assert bed.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%t").strip() == "CA"
    assert "Invalid job id specified" in bed.run("squeue", "-j", "99999", code=1)
    assert "Invalid job state" in bed.run("squeue", "-t", "NONSENSE", code=1)


def test_nodes_form(bed: Bed, tmp_path: Path) -> None:
    job = bed.submit(tmp_path, "sleep 300", "-N1", "--exclusive")
    bed.wait(job, "RUNNING")
    assert bed.run("sinfo").splitlines() == [
        "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST",
        "main*        up   infinite      1  alloc n01",
        "main*        up   infinite      3   idle n[02-04]",
    ]
    assert bed.run("sinfo", "-N").splitlines()[:2] == [
        "NODELIST   NODES PARTITION STATE ",
        "n01            1     main* alloc ",
    ]
    assert bed.run("sinfo", "-h", "-N", "-p", "main", "-o", "%T %n %N %P %t").splitlines()[0] == (
        "allocated n01 n01 main* alloc"
    )
    bed.run("scancel", job)
    bed.ended(job)


def test_accounting_form(bed: Bed, tmp_path: Path) -> None:
    job = bed.submit(tmp_path, "srun -J inner false", "-J", "outer")
    bed.ended(job)
    lines = bed.run(
        "sacct", "-u", bed.environment["USER"], f"--jobs={job}", "--format=jobid,jobname,state,exitcode"
    )
    assert lines.splitlines() == [
        "JobID           JobName      State ExitCode ",
        "------------ ---------- ---------- -------- ",
        f"{job:<12}      outer     FAILED      1:0 ",
        f"{job + '.batch':<12}      batch     FAILED      1:0 ",
        f"{job + '.0':<12}      inner     FAILED      1:0 ",
    ]
    assert bed.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "jobid,state").strip() == f"{job}|FAILED"
    assert bed.run("sacct", "-j", "99999", "-n") == ""


def test_scontrol_shows_and_changes(bed: Bed, tmp_path: Path) -> None:
    job = bed.submit(tmp_path, "sleep 300", "-N3", "--no-kill", "-t", "5", "-o", "out")
    bed.wait(job, "RUNNING")
    shown = bed.run("scontrol", "show", "job", job)
    for text in (
        f"JobId={job} JobName=script-0.sh",
        "JobState=RUNNING Reason=None Dependency=(null)",
        "Requeue=1 Restarts=0 BatchFlag=1",
        "TimeLimit=00:05:00",
        "NodeList=n[01-03]",
        "BatchHost=n01",
        f"StdOut={tmp_path}/out",
    ):
        assert text in shown
    bed.run("scontrol", "update", f"JobId={job}", "Comment=lost a node", "TimeLimit=10", "Requeue=0")
    shown = bed.run("scontrol", "-o", "show", "job", job)
    assert "Comment=lost a node" in shown
    assert "TimeLimit=00:10:00" in shown
    assert "Requeue=0" in shown
    assert len(shown.splitlines()) == 1
    assert bed.run("scontrol", "show", "hostnames", "n[01-03,7]").split() == ["n01", "n02", "n03", "n7"]
    assert "State=IDLE" in bed.run("scontrol", "show", "node", "n04")
    failures = {
        ("update", "jobid=99999", "comment=x"): "Invalid job id specified for job 99999\n",
        ("requeue", "99999"): "Invalid job id specified for job 99999\n",
        ("update", f"jobid={job}", "StartTime=now"): f"Job is no longer pending execution for job {job}\n",
        ("update", "nodename=n01", "state=drain"): (
            "You must specify a reason when DOWNING or DRAINING a node. Request denied\n"
        ),
    }
    for words, message in failures.items():
        assert bed.run("scontrol", *words, code=1) == message
    bed.run("scancel", job)


def test_submission_from_the_environment(bed: Bed, tmp_path: Path) -> None:
    job = bed.submit(tmp_path, "true", SBATCH_NO_KILL="set", SBATCH_NO_REQUEUE="1", SBATCH_TIMELIMIT="7")
    record = bed.ended(job)
    assert (record.spec.no_kill, record.requeue, record.time_limit) == (True, False, 420.0)
    refused = bed.run("sbatch", "--wrap", "true", code=1, SBATCH_NO_KILL="1")
    assert "Invalid --no-kill specification" in refused
    # The command line is stronger than the environment, which is stronger than the script.
    text = "#SBATCH -t 1\n#SBATCH -J script\ntrue"
    record = bed.ended(bed.submit(tmp_path, text, "-t", "3", SBATCH_TIMELIMIT="2", SBATCH_JOB_NAME="env"))
    assert (record.time_limit, record.spec.name) == (180.0, "env")


def test_what_sbatch_says(bed: Bed, tmp_path: Path) -> None:
    assert re.fullmatch(
        r"Submitted batch job \d+\n", bed.run("sbatch", "-D", str(tmp_path), "--wrap", "true")
    )
    assert re.fullmatch(r"\d+\n", bed.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "true"))
    assert bed.run("sbatch", "-p", "nope", "--wrap", "true", code=1) == (
        "sbatch: error: invalid partition specified: nope\n"
        "sbatch: error: Batch job submission failed: Invalid partition name specified\n"
    )
    assert bed.run("sbatch", "no-such-file", code=1) == "sbatch: error: Unable to open file no-such-file\n"
    assert "Requested node configuration" in bed.run("sbatch", "-N", "99", "--wrap", "true", code=1)
    path = tmp_path / "text"
    path.write_text("echo\n")
    queued = bed.run("squeue", "-a", "-h")
    assert bed.run("sbatch", "--test-only", "--wrap", "true") == "sbatch: Job would be accepted\n"
    for wrong in (("-N", "99"), ("-p", "nope"), ("-w", "nobody")):  # each "would be accepted"
        refused = bed.run("sbatch", "--test-only", *wrong, "--wrap", "true", code=1)
        assert refused.startswith("allocation failure: ")
    assert bed.run("squeue", "-a", "-h") == queued
    assert "This does not look like a batch script" in bed.run("sbatch", str(path), code=1)
    assert "unrecognized option" in bed.run("sbatch", "--nonsense", str(path), code=1)
    waited = bed.run("sbatch", "--wait", "-o", "/dev/null", "--wrap", "exit 6", code=6)
    assert waited.startswith("Submitted batch job")


def test_a_token_in_the_comment_is_submitted_once(bed: Bed, tmp_path: Path) -> None:
    first = bed.submit(tmp_path, "true", f"--comment={MARK}abc and a remark")
    assert bed.submit(tmp_path, "true", f"--comment={MARK}abc") == first
    assert bed.submit(tmp_path, "true", WHESL_SUBMIT_TOKEN="abc") == first
    assert bed.submit(tmp_path, "true", "--comment=abc") != first


def test_cancelling(bed: Bed, tmp_path: Path) -> None:
    jobs = [bed.submit(tmp_path, "sleep 300", "-J", f"name{number % 2}") for number in range(3)]
    bed.run("scancel", "--name", "name0")
    assert [bed.ended(job).state.value for job in (jobs[0], jobs[2])] == ["CANCELLED"] * 2
    bed.wait(jobs[1], "RUNNING")
    bed.run("scancel", "--quiet", *jobs)
    bed.ended(jobs[1])
    assert bed.run("scancel", "99999", code=1) == (
        "scancel: error: Kill job error on job id 99999: Invalid job id specified\n"
    )
    assert bed.run("scancel", "abc", code=1) == "scancel: error: Invalid job id abc\n"
    step = bed.submit(tmp_path, "srun sleep 300; echo $? > code")
    wait_until(
        lambda: bed.run("squeue", "-h", "-s", "-j", step, "-o", "%i").count(step) == 2, "the step runs"
    )
    bed.run("scancel", f"{step}.0")
    assert bed.ended(step).state.value == "COMPLETED"
    assert (tmp_path / "code").read_text() == "137\n"
    assert bed.run("sacct", "-n", "-P", "-j", f"{step}", "-o", "state").splitlines()[-1] == "CANCELLED"


def test_no_server_is_said_as_slurm_says_it(bed: Bed, tmp_path: Path) -> None:
    from whesl.managers.resource.embedded import daemons
    from whesl.managers.resource.embedded.cluster_directory import Cluster

    away = Cluster(str(tmp_path / "away"))
    away.prepare()
    daemons.write_commands(away)
    path = f"{away.join('bin')}:{bed.environment['PATH']}"
    message = "Unable to contact slurm controller (connect failure)"
    for words in (("squeue",), ("sbatch", "--wrap", "true"), ("scancel", "1"), ("srun", "true")):
        assert message in bed.run(*words, code=1, PATH=path)


# whesl local ----------------------------------------------------------------------------------------------


def test_by_hand(tmp_path: Path, bed: Bed) -> None:
    home = {"WHESL_HOME": str(tmp_path / "home"), "WHESL_LOCAL": ""}

    def whesl(*words: str, code: int = 0) -> str:
        done = commands.whesl("local", *words, env={**bed.environment, **home}, stdin=subprocess.DEVNULL)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    assert "whesl local start" in whesl("queue", code=1)
    assert "not a queue wait" in whesl("start", "--queue-wait", "sometimes", code=2)
    whesl(
        "start",
        "--nodes",
        "2",
        "--node-timeout",
        f"{late(2.0):.0f}",
        "--partition",
        "debug:n01:10",
        "--partition",
        "main",
    )
    try:
        assert "runs already" in whesl("start", code=1)
        exports = whesl("env")
        assert bed.run("sh", "-c", f"{exports}\nsinfo -h -o '%P %l %N'", code=0, **home).splitlines() == [
            "debug* 10:00 n01",
            "main infinite n[01-02]",
        ]
        script = tmp_path / "job.sh"
        script.write_text("#!/bin/sh\nsleep 300\n")
        assert "Submitted batch job 1" in whesl(
            "submit", "-N1", "-J", "by-hand", "-o", "/dev/null", str(script)
        )

        def queue(*words: str) -> list[dict[str, object]]:
            found: list[dict[str, object]] = json.loads(whesl("queue", "--json", *words))
            return found

        wait_until(lambda: queue()[0]["state"] == "RUNNING", "the job runs")
        assert queue()[0]["nodes"] == ["n01"]
        assert "by-hand" in whesl("queue")
        whesl("requeue", "1", "--now")
        wait_until(lambda: queue()[0]["restarts"] == 1 and queue()[0]["state"] == "RUNNING", "it runs again")
        whesl("drain", "n02", "--reason", "test")
        nodes = json.loads(whesl("nodes", "--json"))
        assert [(node["name"], node["state"]) for node in nodes] == [("n01", "mixed"), ("n02", "drained")]
        whesl("resume", "n02")
        assert "processes killed" in whesl("kill-node", "n01")
        wait_until(lambda: "down*" in whesl("nodes"), "the loss is noticed")
        whesl("start-node", "n01")
        assert "down" not in whesl("nodes")
        whesl("hang-node", "n02")
        wait_until(lambda: "down*" in whesl("nodes"), "the hung node is noticed")
        whesl("hang-node", "n02", "--wake")
        wait_until(lambda: "down" not in whesl("nodes"), "it is back")
        whesl("cancel", "1")
        wait_until(lambda: queue() == [], "the queue is empty")
        assert queue("--all")[0]["state"] == "CANCELLED"
        assert "there is no node" in whesl("kill-node", "n99", code=2)
    finally:
        whesl("stop")
    assert "whesl local start" in whesl("queue", code=1)


def test_settings_are_kept(tmp_path: Path) -> None:
    from whesl.managers.resource.embedded.cluster_directory import Cluster

    cluster = Cluster(str(tmp_path / "c"))
    cluster.prepare()
    Path(cluster.path).chmod(0o755)
    with pytest.raises(RefusedError, match="open to other users"):
        cluster.prepare()
    part = Partition(name="main", nodes=("n01",))
    assert Settings(nodes=("n01",), partitions=(part,)).partition("") == part
