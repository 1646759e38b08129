"""What Slurm's commands print, read: the forms seen, and garbage."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whesl.managers.resource.port import Demands, JobRequest, Suspended
from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.command import DeniedError, NoSuchJobError, failure
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import (
    compress_counts,
    expand_counts,
    for_nodes,
    for_own_step,
    nodes_of,
)
from whesl.managers.resource.slurm.scheduler import SlurmScheduler, submission
from whesl.managers.resource.slurm.states import job_state, node_state, reason_text
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, WheslError
from whesl.model.states import JobState, NodeState


def row(*fields: str) -> str:
    return "".join(f"{field}\x1f" for field in fields) + "\n"


def job_row(**changed: str) -> str:
    fields = {
        "array": "7",
        "id": "7",
        "state": "RUNNING",
        "reason": "None",
        "nodes": "n[01-03]",
        "batch": "n01",
        "submitted": "1000",
        "started": "1010",
        "ended": "9999",
        "restarts": "0",
        "status": "0",
        "name": "a|b",
        "comment": "whesl:tok text",
    }
    return row(*{**fields, **changed}.values())


def test_a_running_job() -> None:
    (record,) = slurm_command_output.jobs(job_row())
    assert (record.id, record.token, record.name) == ("7", "tok", "a|b")
    assert record.state is JobState.RUNNING
    assert record.nodes == ("n01", "n02", "n03")
    assert (record.submitted, record.started, record.ended, record.exit_code) == (1000, 1010, 0, None)
    assert record.reason == ""
    assert not record.batch_host_lost


def test_an_output_file_that_could_not_be_opened_is_said_in_words() -> None:
    """It was "failed (-53)", which is no exit status that anybody finds."""
    (record,) = slurm_command_output.jobs(job_row(state="FAILED", status="53"))
    assert record.exit_code == 1
    assert record.raw_state.startswith("FAILED: Slurm could not open the job's output or error file")


def test_the_batch_host_is_lost() -> None:
    (record,) = slurm_command_output.jobs(job_row(nodes="n[02-03]"))
    assert record.batch_host_lost
    (pending,) = slurm_command_output.jobs(job_row(state="PENDING", nodes="", batch="n/a"))
    assert not pending.batch_host_lost
    assert pending.batch_host == ""


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("0", 0),
        ("768", 3),
        ("9", -9),
        ("143", -15),
        ("32512", 127),
        ("0:0", 0),
        ("3:0", 3),
        ("0:15", -15),
        ("127:0", 127),
    ],
)
def test_exit_statuses_of_all_releases(status: str, code: int) -> None:
    """From 23.02 on squeue prints them as sacct does: no job was seen any more."""
    (record,) = slurm_command_output.jobs(job_row(state="FAILED", status=status))
    assert record.exit_code == code


def test_a_forecast_is_not_a_time() -> None:
    (record,) = slurm_command_output.jobs(
        job_row(state="PENDING", started="N/A", ended="N/A", nodes="", batch="n/a")
    )
    assert (record.started, record.ended) == (0, 0)


def test_an_array_s_tasks_and_newlines_in_comments() -> None:
    text = job_row(array="7_2", id="9", comment="whesl:a line\nsecond\n") + job_row(comment="(null)")
    assert [(record.id, record.token) for record in slurm_command_output.jobs(text)] == [
        ("7_2", "a"),
        ("7", ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "slurm_load_jobs error",
        row("7", "7"),
        job_row(nodes="None assigned"),
        job_row(status="1:"),
        job_row(status=":9"),
        job_row(status="1:0:0"),
        job_row(status="1²"),
        job_row(restarts=""),
        job_row(id="x"),
        job_row() + "rubbish",
        job_row()[:-1] + job_row(),
    ],
)
def test_garbage_is_not_an_observation(text: str) -> None:
    with pytest.raises(CouldNotObserveError):
        slurm_command_output.jobs(text)


@given(st.text(max_size=60), st.integers(0, 14))
@example("²", 6)  # a digit to Python, and no number
def test_any_text_is_read_or_refused(text: str, field: int) -> None:
    fields = job_row().rstrip("\n").split("\x1f")[:-1]
    fields[field : field + 1] = [text]
    for damaged in (row(*fields), text):
        try:
            slurm_command_output.jobs(damaged)
        except CouldNotObserveError:
            continue


def test_nodes_once_each() -> None:
    text = row("n01", "mixed", "none") + row("n01", "mixed", "none") + row("n02", "down+drain", "bad fan")
    first, second = slurm_command_output.nodes(text)
    assert (first.name, first.state, first.reason) == ("n01", NodeState.UP, "")
    assert (second.name, second.state, second.reason) == ("n02", NodeState.DOWN, "bad fan")


SHOWN = (
    "JobId=7 JobName=j UserId=u(1) JobState={} Reason=None RunTime=00:00:04 SubmitTime=1795402192 "
    "StartTime=1795402193 EndTime=1826938196 Deadline=N/A SuspendTime={} SecsPreSuspend={} Comment=\n"
)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (("RUNNING", "None", 0), Suspended(False, 0.0)),
        (("SUSPENDED", 1795402195, 2), Suspended(True, 0.0)),
        (("RUNNING", 1795402198, 2), Suspended(False, 3.0)),
        (("SUSPENDED", 1795402200, 4), Suspended(True, 3.0)),
        (("RUNNING", 1795402203, 4), Suspended(False, 6.0)),
        (("RUNNING", 1795402100, 4), Suspended(False, 0.0)),  # of the run before a requeue
    ],
)
def test_for_how_long_a_job_was_suspended(fields: tuple[object, ...], found: Suspended) -> None:
    """As Slurm 22.05 tells it, suspended twice for three seconds."""
    assert slurm_command_output.suspension(SHOWN.format(*fields)) == found


def test_a_job_that_does_not_run_tells_nothing_of_suspension() -> None:
    with pytest.raises(CouldNotObserveError):
        slurm_command_output.suspension(
            "JobId=7 JobName=j JobState=PENDING StartTime=Unknown EndTime=Unknown\n"
        )


def test_accounting() -> None:
    line = "sbatch --parsable --comment=whesl:tok --nodes=2 job.sh"
    text = row("7", "CANCELLED by 0", "n[01-02]", "1", "2", "3", "0:15", "x", "", line)
    text += row("8", "COMPLETED", "None assigned", "1", "Unknown", "3", "0:0", "x", "whesl:other", "sbatch x")
    first, second = slurm_command_output.accounted(text)
    assert (first.token, first.state, first.exit_code) == ("tok", JobState.CANCELLED, -15)
    assert (second.token, second.nodes, second.started) == ("other", (), 0)


def test_a_job_that_gave_a_node_back_is_what_its_last_row_says() -> None:
    line = "sbatch --comment=whesl:tok job.sh"
    text = row("7", "RESIZING", "n[01-03]", "1", "2", "3", "0:0", "x", "", line)
    text += row("7", "COMPLETED", "n[01,03]", "1", "3", "4", "0:0", "x", "", line)
    (record,) = slurm_command_output.accounted(text)
    assert (record.state, record.nodes) == (JobState.COMPLETED, ("n01", "n03"))


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("RUNNING", JobState.RUNNING),
        ("CANCELLED by 1000", JobState.CANCELLED),
        ("FAILED+", JobState.FAILED),
        ("NODE_FAIL", JobState.NODE_FAIL),
        ("SPECIAL_EXIT", JobState.PENDING),
        ("SOMETHING_NEW", JobState.UNKNOWN),
        ("", JobState.UNKNOWN),
    ],
)
def test_job_words(word: str, state: JobState) -> None:
    assert job_state(word) is state


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("idle", NodeState.UP),
        ("mixed+planned", NodeState.UP),
        ("allocated+drain", NodeState.DRAINED),
        ("down+not_responding", NodeState.DOWN),
        ("down+drain+not_responding", NodeState.DOWN),
        ("down*", NodeState.DOWN),
        ("allocated*", NodeState.UNKNOWN),
        ("mixed+not_responding", NodeState.UNKNOWN),
        ("idle+power_down", NodeState.DOWN),
        ("unknown", NodeState.UNKNOWN),
        ("brand_new", NodeState.UNKNOWN),
        ("", NodeState.UNKNOWN),
    ],
)
def test_node_words(word: str, state: NodeState) -> None:
    assert node_state(word) is state


def test_reasons_are_explained() -> None:
    assert "two minutes" in reason_text("BeginTime")
    assert "never run" in reason_text("DependencyNeverSatisfied")
    assert "quality of service" in reason_text("QOSMaxNodePerUserLimit")
    assert "limit of the account" in reason_text("AssocGrpCpuLimit")
    assert reason_text("SomethingNew") == "SomethingNew"
    assert reason_text("None") == reason_text("(null)") == ""


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (1, "slurm_load_jobs error: Invalid job id specified", NoSuchJobError),
        (1, "slurm_update error: Invalid user id", DeniedError),
        (1, "sbatch: error: Batch job submission failed: Invalid partition name specified", RefusedError),
        (
            1,
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
            CouldNotObserveError,
        ),
        (1, "squeue: error: Unable to contact slurm controller (connect failure)", CouldNotObserveError),
        (
            1,
            "Job update not available right now, the DB index is being set, try again in a bit for job 1",
            TransientError,
        ),
        (1, "", CouldNotObserveError),
        (-9, "killed in the middle", CouldNotObserveError),
    ],
)
def test_what_a_failure_means(status: int, message: str, kind: type[WheslError]) -> None:
    assert type(failure("command", status, message)) is kind


def test_a_submission_s_command() -> None:
    request = JobRequest(
        token="t",
        script="/s.sh",
        arguments=("--nodes=9", "a b"),
        nodes=3,
        time_limit=1.5,
        after_ok=("1", "2"),
    )
    command = submission(request)
    assert command[0] == "sbatch"
    assert {"--no-kill", "--no-requeue", "--comment=whesl:t", "--nodes=3", "--time=1:30"} < set(command)
    assert "--dependency=afterok:1:2" in command
    assert command[-3:] == ["/s.sh", "--nodes=9", "a b"]
    assert not any(word.startswith(("--ntasks", "--exclude", "--job-name")) for word in command)


def test_what_a_site_wants_besides_is_said_to_slurm() -> None:
    demands = Demands(account="a", qos="q", constraint="c", gres="gpu:1", memory="2G", exclusive=True)
    wanted = {"--account=a", "--qos=q", "--constraint=c", "--gres=gpu:1", "--mem=2G", "--exclusive"}
    assert wanted < set(submission(JobRequest(token="t", script="/s.sh", demands=demands)))
    assert not wanted & set(submission(JobRequest(token="t", script="/s.sh")))


# All of the states that sinfo's %T may show beside "idle", which alone is free.
NOT_FREE = [
    "idle*",
    "idle~",
    "idle#",
    "idle!",
    "idle%",
    "idle$",
    "idle@",
    "idle^",
    "idle-",
    "allocated",
    "allocated+",
    "mixed",
    "mixed-",
    "completing",
    "drained",
    "draining",
    "down",
    "down*",
    "drained*",
    "fail",
    "failing",
    "future",
    "inval",
    "maint",
    "perfctrs",
    "planned",
    "power_down",
    "power_up",
    "reserved",
    "reboot",
    "unknown",
    "unknown*",
    "blocked",
]


class Told(SlurmScheduler):
    """A Slurm whose sinfo prints certain lines."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._commands = SimpleNamespace(run=lambda *command: "\n".join(lines))  # type: ignore[assignment] # one


def test_only_nodes_that_are_idle_and_nothing_else_are_free() -> None:
    # Drained, powered-down and unknown ones were counted, and of any partition.
    lines = [f"main*|n{number}|{state}" for number, state in enumerate(NOT_FREE)]
    lines += [
        "main*|f1|idle",
        "main*|f2|idle",
        "wide|f1|idle",
        "wide|f2|idle",
        "wide|f3|idle",
        "odd|o1|down*",
    ]
    slurm = Told(lines)
    assert [slurm.free_nodes(name) for name in ("", "main", "wide", "odd", "main,wide")] == [2, 2, 3, 0, 3]
    with pytest.raises(RefusedError, match="no partition nix") as raised:
        slurm.free_nodes("nix")
    assert "main, odd, wide" in raised.value.hint


BASE = {
    "SLURM_JOB_NODELIST": "n[01-04]",
    "SLURM_JOB_CPUS_PER_NODE": "4(x2),8,4",
    "SLURM_TASKS_PER_NODE": "4(x2),8,4",
}


def test_the_nodes_in_use_are_all_there_is() -> None:
    result = for_nodes(("n01", "n03"), BASE)
    assert result == {
        "SLURM_JOB_NODELIST": "n[01,03]",
        "SLURM_NODELIST": "n[01,03]",
        "SLURM_NNODES": "2",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_JOB_CPUS_PER_NODE": "4,8",
        "SLURM_TASKS_PER_NODE": "4,8",
        "WHESL_HIDDEN_NODES": "n02,n04",
        "WHESL_JOB": "",
    }


def test_a_job_that_a_task_submits_is_not_in_its_flux_instance() -> None:
    inherited = {**BASE, "WHESL_JOB": "6", "WHESL_FLUX_INSTANCE": "/tasks/a/flux", "SLURM_JOB_ID": "7"}
    told = for_nodes(("n01", "n03"), inherited)
    assert (told["WHESL_JOB"], told["WHESL_FLUX_INSTANCE"], told["WHESL_FLUX_URI"]) == ("7", "", "")
    again = for_nodes(("n01", "n03"), {**inherited, "WHESL_JOB": "7"})
    assert "WHESL_FLUX_INSTANCE" not in again


def test_the_number_of_tasks_is_the_user_s() -> None:
    result = for_nodes(("n01", "n04"), {**BASE, "SLURM_NTASKS": "5", "SLURM_TASKS_PER_NODE": "2,1(x3)"})
    assert result["SLURM_NTASKS"] == result["SLURM_NPROCS"] == "5"
    assert result["SLURM_TASKS_PER_NODE"] == "3,2"
    few = for_nodes(("n01", "n04"), {**BASE, "SLURM_NTASKS": "1"})
    assert (few["SLURM_NTASKS"], few["SLURM_TASKS_PER_NODE"]) == ("1", "1")


def test_tasks_per_node_count_on_nodes_in_use() -> None:
    result = for_nodes(("n01", "n04"), {**BASE, "SLURM_NTASKS": "8", "SLURM_NTASKS_PER_NODE": "2"})
    assert (result["SLURM_NTASKS"], result["SLURM_TASKS_PER_NODE"]) == ("4", "2(x2)")


def test_a_node_that_joined_later_gets_the_least() -> None:
    assert for_nodes(("n03", "n09"), BASE)["SLURM_JOB_CPUS_PER_NODE"] == "8,4"


def test_damaged_variables() -> None:
    for environ in ({}, {"SLURM_JOB_NODELIST": "n[1-"}):
        with pytest.raises(CouldNotObserveError):
            nodes_of(environ)
    with pytest.raises(CouldNotObserveError):
        for_nodes(("n01",), {**BASE, "SLURM_TASKS_PER_NODE": "many"})


def test_our_own_steps_have_none_of_the_job_s_defaults() -> None:
    kept = {"PATH": "/bin", "SLURM_CONF": "/c", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1"}
    dropped = (
        "SLURM_NTASKS SLURM_NTASKS_PER_NODE SLURM_NNODES SLURM_EXPORT_ENV SLURM_CPUS_PER_TASK"
        " SLURM_MEM_PER_CPU SLURM_DISTRIBUTION SLURM_HOSTFILE SLURM_CPU_BIND_TYPE SLURM_MPI_TYPE"
        " SRUN_CPUS_PER_TASK SLURM_EXCLUSIVE SLURM_GPUS_PER_NODE SLURM_STEP_ID"
    )
    assert for_own_step({**kept, **dict.fromkeys(dropped.split(), "1")}) == kept


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_counts_there_and_back(counts: list[int]) -> None:
    assert expand_counts(compress_counts(counts)) == counts


STEPS_OF_PILOTS = """\
StepId=1.batch State=RUNNING Partition=main NodeList=n01 Nodes=1 Name=batch SrunHost:Pid=(null):0
StepId=1.0 State=RUNNING Partition=main NodeList=n[01-02] Nodes=2 Name=sleep SrunHost:Pid=n01:15
StepId=1.1 State=RUNNING Partition=main NodeList=n[03-04] Nodes=2 Name=whesl-ab12 SrunHost:Pid=n01:16
"""


def test_running_steps_tell_who_started_them_and_where_they_run() -> None:
    assert slurm_command_output.running_steps(STEPS_OF_PILOTS) == [
        slurm_command_output.RunningStep("1.0", "sleep", "n01", 15, ("n01", "n02")),
        slurm_command_output.RunningStep("1.1", "whesl-ab12", "n01", 16, ("n03", "n04")),
    ]
