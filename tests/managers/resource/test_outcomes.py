"""What resource managers tell of an ended job, from what their commands print; Flux also for real."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed
from whesl.managers.resource.outcomes import lookup
from whesl.managers.resource.outcomes.slurm_written_files import written_files
from whesl.model.errors import UsageError, WheslError

SHOWN = """\
JobId=12 JobName=a
   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)
   ExitCode=0:125 NodeList=n02
   StdOut={out}
"""
PBS = {
    "Jobs": {
        "7.pbs": {
            "job_state": "F",
            "Exit_status": -29,
            "comment": "Job run at Fri Nov 27 on (n1:ncpus=4) and failed",
            "exec_host": "n1/0*4",
            "resources_used": {"mem": "1048576kb", "walltime": "01:00:03"},
            "Resource_List": {"walltime": "01:00:00"},
            "Output_Path": "login1:/home/u/a.o7",
            "Error_Path": "login1:/home/u/a.e7",
        }
    }
}


def answers(**texts: str | None) -> Callable[..., str]:
    """Return what runs commands: by the command's name, None for one that says no."""

    def run(*command: str) -> str:
        text = texts.get(command[0])
        if text is None:
            raise WheslError("Invalid job id specified")
        return text

    return run


def test_slurm_while_the_controller_knows_it(tmp_path: Path) -> None:
    steps = "12|OUT_OF_MEMORY|0:125||2G|01:00:00|00:10:00|n02|/w\n12.0|OUT_OF_MEMORY|0:125|1990000K||||n02|\n"
    found = lookup.look_up("12", answers(scontrol=SHOWN.format(out=tmp_path / "a.out"), sacct=steps))
    assert (found.state, found.status, found.files) == ("OUT_OF_MEMORY", 253, (str(tmp_path / "a.out"),))
    assert "MaxRSS=1990000K" in found.told
    assert "ReqMem=2G" in found.told


SCRIPT = """\
#!/bin/bash
#SBATCH -o x.out
srun -N 2 --output=ranks-%j-%t.txt ./app -o result.bin > all.log 2>&1
if true; then srun -n4 -o "$OUT/a.%4t" -e err_${SLURM_JOB_ID}.txt python x.py "a b" | tee x; fi
srun --error /abs/%x.%N.err \\
   -n 4 ./b & srun -o %t ./c > /dev/null
srun -n 1 --output $(date +%s).log ./d
echo "srun --output=no.txt"
"""


def test_the_files_of_a_script_s_steps_are_the_job_s_too() -> None:
    found = written_files("sbatch -e e%j a.sh", SCRIPT, {"JobId": "12", "WorkDir": "/w[1]", "JobName": "sim"})
    here = ("e12", "x.out", "ranks-12-*.txt", "all.log", "*/a.*", "err_12.txt")
    assert found == (*(f"/w[[]1]/{name}" for name in here), "/abs/sim.*.err", "/w[[]1]/*.log")


@pytest.mark.parametrize(
    ("words", "since"),
    [
        ("JobState=PENDING Restarts=0 StartTime=1700 NodeList=(null)", math.inf),
        ("JobState=CANCELLED Restarts=0 StartTime=1700 NodeList=", math.inf),
        ("JobState=PENDING Restarts=1 StartTime=1700 NodeList=(null)", 0.0),
        ("JobState=FAILED Restarts=0 StartTime=1700 NodeList=n01", 1700.0),
    ],
)
def test_no_older_file_is_a_job_s_output(words: str, since: float) -> None:
    """A pending job was judged by the output of an older job, since a new cluster's ids begin anew."""
    assert lookup.look_up("12", answers(scontrol=f"JobId=12 {words}")).since == since


def test_slurm_of_a_whole_array_the_element_that_failed() -> None:
    """The last element has the array's id, ended well, and was taken for the array."""
    element = (
        "JobId={0} ArrayJobId=9 ArrayTaskId={1}\n   JobState={2} Reason=None\n   ExitCode={3}\n"
        "   StdOut=/w/{1}.out\n"
    )
    ends = [(9, 3, "COMPLETED", "0:0"), (11, 2, "FAILED", "139:0"), (10, 1, "COMPLETED", "0:0")]
    found = lookup.look_up("9", answers(scontrol="\n".join(element.format(*end) for end in ends)))
    assert (found.state, found.status, found.files) == ("FAILED", 139, ("/w/2.out",))
    rows = "9_1|COMPLETED|0:0||||||/w\n9_2|FAILED|139:0||||||/w\n9_3|COMPLETED|0:0||||||/w\n"
    assert lookup.look_up("9", answers(sacct=rows)).status == 139


# Records of Slurm 22.05.8, made by jobs on a cluster whose task/cgroup constrains their memory.
ROW = "{0}|{1}|{2}|{3}|120M|UNLIMITED|00:00:09|{4}|/w|{5}|{6}||{7}|{8}|\n"
BATCH = ROW.format("1.batch", "FAILED", "1:0", "12352K", "n01", 100, "batch", 100, 109)
DEAD = ROW.format("1.0", "OUT_OF_MEMORY", "0:125", "1352K", "n01", 100, "oom", 100, 101)
MORE = ROW.format("1.1", "COMPLETED", "0:0", "", "n01", 101, "{}", 101, 109)
DONE = ROW.format("1", "COMPLETED", "0:0", "", "n[01-02]", 100, "a.sh", 90, 109)
CRASHED = ROW.format("1.0", "CANCELLED", "0:11", "", "n01", 100, "sim", 100, 101)
LOST = ROW.format("1", "NODE_FAIL", "0:0", "", "n02", 50, "a.sh", 40, 90)
WAITS = ROW.format("1", "PENDING", "0:0", "", "None assigned", "Unknown", "a.sh", 90, "Unknown")


@pytest.mark.parametrize(
    ("rows", "state", "status", "node", "told"),
    [
        (DONE + BATCH + DEAD, "OUT_OF_MEMORY", 253, "n01", "MaxRSS=12352K"),
        (DONE + DEAD + MORE.format("true"), "OUT_OF_MEMORY", 253, "n01", "step 1.0 (oom) OUT_OF_MEMORY"),
        (DONE + DEAD + MORE.format("oom"), "COMPLETED", 0, None, "State=COMPLETED"),
        (
            DONE + DEAD + MORE.format("b").replace("COMPLETED|0", "FAILED|1"),
            "OUT_OF_MEMORY",
            253,
            "n01",
            "step",
        ),
        (
            f"{DONE}{DEAD}{MORE.format('b')}".replace("COMPLETED|0", "FAILED|1"),
            *("FAILED", 1, None, "State=FAILED"),
        ),
        (DONE + CRASHED, "FAILED", 139, None, "step 1.0 (sim) CANCELLED ExitCode=0:11"),
        (DONE.replace("COMPLETED", "NODE_FAIL") + DEAD, "NODE_FAIL", 0, None, "State=NODE_FAIL"),
        (DONE.replace("COMPLETED", "NODE_FAIL")[:-1] + "n02\n", "NODE_FAIL", 0, "n02", "State=NODE_FAIL"),
        (LOST, "NODE_FAIL", 0, "n02", "NodeList=n02"),
        (WAITS + LOST, "NODE_FAIL", 0, "n02", "State=PENDING"),
        (WAITS + LOST.replace("n02", "n[01-02]")[:-1] + "n02\n", "NODE_FAIL", 0, "n02", "State=PENDING"),
        (LOST + DONE, "COMPLETED", 0, None, "earlier runs: NODE_FAIL on n02"),
        (LOST.replace("|90|", "|70|") + DONE, "COMPLETED", 0, None, "NodeList=n[01-02]"),
        (ROW.format("1", "REVOKED", "0:0", "", "", 1, "", 1, 1), "REVOKED", 0, None, "State=REVOKED"),
        ("12_3|CANCELLED by 1000|0:15||2G|01:00:00|00:10:00|n02|/w\n", "CANCELLED", 143, None, "by 1000"),
    ],
)
def test_slurm_from_its_accounting(rows: str, state: str, status: int, node: str | None, told: str) -> None:
    """A job COMPLETED or FAILED whose step was OUT_OF_MEMORY; earlier runs; a job of an array."""
    found = lookup.look_up("1", answers(sacct=rows))
    assert (found.state, found.status, found.node) == (state, status, node)
    assert told in found.told
    job = rows.partition("|")[0]
    assert f"/w/slurm-{job}.out" in found.files
    with pytest.raises(UsageError, match="Slurm does not tell of job 12_3"):
        lookup.look_up("12_3", answers())


def test_a_part_of_a_heterogeneous_job_has_the_output_of_its_leader() -> None:
    part = "JobId={} HetJobId=8 HetJobOffset={} JobName=a\n   JobState=CANCELLED\n   StdOut=/w/slurm-{}.out\n"

    def run(command: str, *more: str) -> str:
        if command == "sacct":
            return "8+1|CANCELLED by 7|0:15||2G||00:10:00|n02|/w\n"
        parts = {"8": part.format(8, 0, 8), "9": part.format(9, 1, 9)}
        return parts[more[-1]] if more[0] == "show" else "#!/bin/sh\n"

    found = lookup.look_up("9", run)
    assert (found.state, found.files) == ("CANCELLED", ("/w/slurm-8.out",))
    assert "CANCELLED by 7" in found.told


@pytest.mark.parametrize(
    ("letter", "status", "state", "shell"),
    [
        ("F", 0, "COMPLETED", 0),
        ("F", 3, "FAILED", 3),
        ("F", 265, "FAILED", 137),
        ("F", 271, "CANCELLED", 143),
        ("F", -29, "TIMEOUT", None),
        ("F", -27, "OUT_OF_MEMORY", None),
        ("F", -3, "FAILED", None),
        ("R", None, "RUNNING", None),
        ("Q", None, "PENDING", None),
    ],
)
def test_pbs(letter: str, status: int | None, state: str, shell: int | None) -> None:
    told = json.loads(json.dumps(PBS))
    told["Jobs"]["7.pbs"] |= {"job_state": letter, "Exit_status": status}
    if status is None:
        del told["Jobs"]["7.pbs"]["Exit_status"]
    found = lookup.look_up("7.pbs", answers(qstat=json.dumps(told)))
    assert (found.state, found.status) == (state, shell)
    assert found.files == ("/home/u/a.o7", "/home/u/a.e7")
    assert "used mem=1048576kb" in found.told
    told["Jobs"]["7.pbs"]["Output_Path"] = "login1:/home/u/"
    assert lookup.look_up("7.pbs", answers(qstat=json.dumps(told))).files[0] == "/home/u/7.pbs.OU"


@pytest.mark.parametrize(
    ("statuses", "state", "said"),
    [
        ((0, 3, 265), "FAILED", "2 of 3 elements failed: 7[2].pbs, 7[3].pbs; 7[2].pbs: "),
        ((0, None, 0), "RUNNING", "0 of 3 elements failed; 7[2].pbs: "),
        ((0, 0, 0), "COMPLETED", "0 of 3 elements failed; 7[1].pbs: "),
    ],
)
def test_an_array_of_pbs_is_its_first_failure(
    statuses: tuple[int | None, ...], state: str, said: str
) -> None:
    """The index stands in the names of the output files, also where PBS has not put it there."""
    jobs: dict[str, dict[str, object]] = {"7[].pbs": {"job_state": "F"}}
    for index, status in enumerate(statuses, 1):
        ended: dict[str, object] = {
            "job_state": "F",
            "Exit_status": status,
            "Output_Path": "h:/w/a.o7.^array_index^",
        }
        jobs[f"7[{index}].pbs"] = ended if status is not None else {"job_state": "R"}

    def run(*command: str) -> str:
        job = command[-1]
        if "-t" not in command:
            return json.dumps({"Jobs": {job: jobs[job]}})
        fields = {name: "\036".join(f"{k}={v}" for k, v in told.items()) for name, told in jobs.items()}
        return "".join(f"Job Id: {name}\036{told}\n" for name, told in fields.items())

    found = lookup.look_up("7[].pbs", run)
    assert found.state == state
    assert found.told.startswith(said)
    first = said.rpartition("[")[2][0]
    assert found.files == ((f"/w/a.o7.{first}",) if state != "RUNNING" else ())


@pytest.mark.parametrize(
    ("job", "order"),
    [("12", ["sacct", "scontrol", "qstat"]), ("9876543210987654321", ["flux", "sacct", "scontrol", "qstat"])],
)
def test_managers_are_asked_in_the_order_that_the_id_suggests(job: str, order: list[str]) -> None:
    """The decimal id of a Flux job was looked up in Slurm alone."""
    asked: list[str] = []

    def run(command: str, *_: str) -> str:
        asked.append(command)
        raise WheslError("unknown")

    with pytest.raises(UsageError, match=r"Slurm does not tell of job.*PBS does not tell of job"):
        lookup.look_up(job, run)
    assert list(dict.fromkeys(asked)) == order


@pytest.mark.parametrize(
    "text",
    ["12", "12_7", "12+1", "ƒ2cwMVeF", "f2cwMVeF", "9876543210987654321", "0x1f", "7.pbs01.site", "7[3].pbs"],
)
def test_what_is_a_job(text: str) -> None:
    assert lookup.is_job(text)


@pytest.mark.parametrize("text", ["a.log", "slurm-12.out", "f", "12.5", "run7", "file.out"])
def test_what_is_none(text: str) -> None:
    assert not lookup.is_job(text)


@pytest.mark.flux
def test_jobs_of_a_real_flux(tmp_path: Path) -> None:
    """Output that Flux keeps itself, output in a file, a limit of time, a job that runs."""
    need_flux()
    with FluxBed(nodes=1) as bed:

        def run(*command: str) -> str:
            return bed.run(*command).stdout

        def submitted(*arguments: str) -> str:
            return run("flux", "submit", *arguments).strip()

        kept = submitted("sh", "-c", "echo out; echo err >&2; kill -9 $$")
        written = submitted(f"--output={tmp_path}/o.{{{{id}}}}", "sh", "-c", "echo file; exit 3")
        limited = submitted("-t", "1s", "sleep", "60")
        running = submitted("sleep", "60")
        for job in (kept, written, limited):
            bed.run("flux", "job", "wait-event", "-t", "30", job, "clean")
        bed.run("flux", "job", "wait-event", "-t", "30", running, "start")
        first = lookup.look_up(kept, run)
        assert (first.state, first.status, first.files) == ("FAILED", 137, ())
        assert sorted((first.text or "").splitlines()) == ["err", "out"]
        second = lookup.look_up(written, run)
        assert (second.state, second.status, second.files) == ("FAILED", 3, (f"{tmp_path}/o.{written}",))
        assert Path(second.files[0]).read_text() == "file\n"
        assert lookup.look_up(limited, run).state == "TIMEOUT"
        assert lookup.look_up(running, run).state == "RUNNING"
        bed.run("flux", "cancel", running)
