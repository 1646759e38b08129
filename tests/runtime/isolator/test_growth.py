"""A job without a usable spare gets a further node for a recovery."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests import commands
from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.slurmjob import HEAD, NODE_LOST, SlurmJob
from whesl.language.spec import Operation, ResourceKind
from whesl.managers.resource.single_host import HostAllocation
from whesl.managers.resource.slurm import job_growth as slurm_growth
from whesl.managers.resource.slurm.releases import Ability
from whesl.managers.resource.slurm.slurm_command_output import SEPARATOR
from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Raised
from whesl.model.outcomes import StepOutcome
from whesl.model.workflow import Task
from whesl.runtime.isolator import resume
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.effects import job_growth
from whesl.runtime.isolator.task.taskdir import Grown, Job, TaskDir
from whesl.runtime.journal.records import isolator_records
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.node import SPARES_EXHAUSTED
from whesl.runtime.operations.recovery_plan import StepResult

SETUP = Setup(task=Task(id="w/app", step="app"), workflow="w", claim="7.0", nodes=("n1", "n2"), salt="00")
STEP = PlanStep(
    id="w/app#1.0",
    resource=ResourceKind.NODE,
    operation=Operation.REPLACE,
    arguments={"wait": 60},
    raised=Raised(task="w/app", exception="E", ordinal=1, attempt=1, time=5.0, evidence=()),
)
EXHAUSTED = StepResult(outcome=StepOutcome.FAIL, reason=SPARES_EXHAUSTED, note="no usable spare is left")
GROWN = Grown(step=STEP.id, variables={}, note="n3 added to the job")


def test_further_nodes_are_asked_for_once_and_only_where_a_rule_waits_for_them() -> None:
    job = Job(setup=SETUP)
    assert job_growth.wanted(job, STEP, EXHAUSTED) == 60
    assert job_growth.wanted(job, msgspec.structs.replace(STEP, arguments={}), EXHAUSTED) == 0
    assert job_growth.wanted(job, msgspec.structs.replace(STEP, handler="own"), EXHAUSTED) == 0
    assert job_growth.wanted(job, STEP, StepResult(note="n1 replaced by n2")) == 0
    assert job_growth.wanted(msgspec.structs.replace(job, grown=(GROWN,)), STEP, EXHAUSTED) == 0


def test_the_report_says_what_was_added_or_why_nothing_was(tmp_path: Path) -> None:
    def note(job: Job, result: StepResult) -> str:
        return job_growth.grow(TaskDir(tmp_path), job, HostAllocation({}), STEP, result).note

    job = Job(setup=SETUP, grown=(GROWN,))
    assert note(job, StepResult(note="n1 replaced by n3")) == "n1 replaced by n3; n3 added to the job"
    refused = note(Job(setup=SETUP), EXHAUSTED)
    assert refused == "no usable spare is left; host gives a running job no further nodes"


def test_nodes_that_a_job_has_got_are_spares_of_its_task() -> None:
    larger = msgspec.structs.replace(SETUP, nodes=("n1", "n2", "n3"))
    state = State(setup=larger, claim=larger.claim, nodes=NodeSet(active=("n1",), lost=("n2",)))
    nodes = NodeSet(active=("n1",), spares=("n3",), lost=("n2",))
    assert resume.added_nodes(state) == [isolator_records.Nodes(nodes=nodes)]
    assert not resume.added_nodes(msgspec.structs.replace(state, nodes=nodes))
    assert not resume.added_nodes(msgspec.structs.replace(state, claim="7.1")), "its nodes are split anew"


def test_a_second_job_is_like_the_first_on_other_nodes() -> None:
    told = SEPARATOR.join(("main", "(null)", "normal", "a100&ib", "1-02:00:00", "gres:gpu:2")) + "\n"
    assert slurm_growth.wish(told, "12", ("n01", "n02"), 1, "name") == [
        *("--no-shell", "--exclusive", "--mem=0", "--dependency=expand:12"),
        *("--job-name=name", "--nodes=1", "--exclude=n[01-02]"),
        *("--partition=main", "--qos=normal", "--constraint=a100&ib", "--time=1-02:00:00", "--gres=gpu:2"),
    ]


@pytest.mark.parametrize(
    ("parameters", "version", "changeable", "why"),
    [
        ("bf_interval=1,permit_job_expansion", "25.05.8", True, ""),
        ("bf_interval=1", "22.05.8", True, "lacks permit_job_expansion"),
        ("permit_job_expansion", "25.11.7", True, "may die of that"),
        ("permit_job_expansion", "22.05.8", False, "without slurmdbd"),
    ],
)
def test_where_no_job_can_grow_the_reason_is_told(
    parameters: str, version: str, changeable: bool, why: str
) -> None:
    settings = {"SchedulerParameters": parameters, "SLURM_VERSION": version}
    told = slurm_growth.refusal(settings, changeable=changeable)
    assert why in told and bool(told) == bool(why)


# Commands of a Slurm whose job gets n2 when a second job's number of nodes is set to 0.
SLURM = {
    "salloc": 'touch granted; echo "$@" >> asked',
    "squeue": """case "$*" in
*"-n whesl-"*) [ ! -e granted ] || [ -e merged ] || echo "9 RUNNING" ;;
*%N*) [ -e merged ] && echo vm,n2 || echo vm ;;
*%P*) printf 'main\\037normal\\n' ;;
esac""",
    "scontrol": f"""case "$*" in
*NumNodes=0*) touch merged ;;
*) echo SLURM_VERSION = 22.05.8; echo SchedulerParameters = {slurm_growth.PERMIT}
echo AccountingStorageType = accounting_storage/slurmdbd ;;
esac""",
    "srun": "exit 1",
    "sinfo": "exit 1",
    "scancel": "exit 1",
}
MORE = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD]
DECLARE EXCEPTION MORE JOB_LEVEL JOB [app] LIMIT 1
EXCEPTION DETECTION MORE EXIT CODE 7
EXCEPTION RECOVERY STEP MORE JOB NODE.ADD {"wait": 60}
"""


def test_the_isolator_goes_on_with_the_nodes_that_the_job_has_got(tmp_path: Path) -> None:
    """It starts again in the middle of the step, and asks for nothing twice."""
    (tmp_path / "bin").mkdir()
    for name, text in SLURM.items():
        command = tmp_path / "bin" / name
        command.write_text(f"#!/bin/sh\ncd {tmp_path}\n{text}\n")
        command.chmod(0o755)
    rules = tmp_path / "rules.esl"
    rules.write_text(MORE)
    size = {
        "SLURM_JOB_NODELIST": "vm",
        "SLURM_NNODES": "1",
        "SLURM_JOB_ID": "7",
        "SLURMD_NODENAME": "vm",
    }
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = commands.whesl(
        *("exec", "--no-coordinator", "--step", "app", "--inner", "slurm", "-e", str(rules)),
        *("--task-dir", str(tmp_path / "task"), "--", "sh", "-c"),
        'echo "$SLURM_NNODES: $WHESL_NODELIST"; [ "$WHESL_RESTART_COUNT" = 1 ] || exit 7',
        env={**os.environ, **size, "PATH": path, "WHESL_HOME": str(tmp_path / "home")},
    )
    assert (done.returncode, done.stdout) == (0, "1: vm\n2: vm,n2\n"), done.stderr
    assert (tmp_path / "asked").read_text().count("--dependency=expand:7") == 1
    assert "n2 taken into use; n2 added to the job" in (tmp_path / "task" / "summary").read_text()


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.variant
@pytest.mark.timeout(300)
def test_a_lost_node_is_replaced_by_a_node_that_the_job_did_not_have(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """The isolator is killed while it waits: its request is withdrawn, and made again."""
    need_slurm("dbd")  # older releases take no change to a job that has grown without it
    permitted = {"SchedulerParameters": f"bf_interval=1,sched_interval=2,{slurm_growth.PERMIT}"}
    bed = slurm_bed(nodes=3, dbd=True, settings=permitted)
    if Ability.MERGE_MAY_KILL.of(bed.release):
        pytest.skip("slurmctld of this release may die of a merged job")
    rules = f'{HEAD}DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app]\n{NODE_LOST.rstrip()} {{"wait": 120}}\n'
    made = SlurmJob(bed, tmp_path, rules, nodes=2)
    other = bed.submit("#!/bin/sh\nsleep 600\n", "-N1", "--exclusive")
    made.ready()

    def waiting() -> list[str]:
        lines = bed.run("squeue", "-h", "-o", "%j %T %i").stdout.splitlines()
        return [line.split()[2] for line in lines if line.startswith("whesl-")]

    bed.kill_node("n02")
    made.wait(waiting, "the request for a node")
    (first,) = waiting()
    owner = made.directory.owner()
    assert owner is not None
    step = ("srun", "--overlap", f"--jobid={made.job}", "-N1", "-n1", "-wn01")
    bed.run(*step, "kill", "-9", str(owner.pid))
    made.wait(lambda: waiting() not in ([], [first]), "the request of the next isolator")
    assert first not in waiting(), "the request of the killed isolator is withdrawn"
    bed.run("scancel", other)
    made.wait(lambda: made.starts(1), "the ranks on the further node", 120)
    starts = [line.split()[-1] for line in made.text().splitlines() if "start 1" in line]
    assert sorted(starts) == ["n01", "n03"]
    assert "n03 added to the job" in made.last("step-done")["note"]
    made.finish()
    made.wait(lambda: "status 0" in made.text(), "the end")
    bed.wait_job(made.job, "COMPLETED")
    assert not waiting()
