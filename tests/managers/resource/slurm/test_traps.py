"""Traps of real Slurm, each with what we do about it.

They were found on 22.05. Where later releases do otherwise, ``whesl.managers.resource.slurm.releases`` says
from when on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.conftest import need_slurm
from tests.equipment.install_slurm import command
from tests.equipment.slurmbed import SlurmBed
from tests.managers.resource.slurm.conftest import job_environment
from tests.waiting import written
from whesl.managers.resource import launcher_shims
from whesl.managers.resource.port import Demands, JobRequest, Limits, StepRequest
from whesl.managers.resource.slurm.allocation import SlurmAllocation
from whesl.managers.resource.slurm.releases import Ability
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError
from whesl.model.states import JobState, NodeState
from whesl.testing.contract_rjms import wait_until

pytestmark = pytest.mark.slurm

Maker = Callable[..., SlurmBed]


def command_in_front(directory: Path, name: str, text: str, bed: SlurmBed) -> dict[str, str]:
    """Put a command in front of Slurm's and return the environment that finds it."""
    directory.mkdir()
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o755)
    return {**bed.environment, "PATH": f"{directory}:{bed.environment['PATH']}"}


@pytest.fixture
def request_for(tmp_path: Path) -> Callable[[str], JobRequest]:
    def make(token: str) -> JobRequest:
        script = tmp_path / "job.sh"
        script.write_text(f"#!/bin/sh\necho ran >> {tmp_path}/runs\n")
        script.chmod(0o755)
        return JobRequest(token=token, script=str(script), output="/dev/null")

    return make


# Submissions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ending",
    ["exit 1", "kill -9 $$", "exit 0", "echo 'Socket timed out on send/recv operation' >&2; exit 1"],
    ids=["no word", "killed", "no id", "timed out"],
)
def test_an_accepted_submission_without_a_reply(
    slurm: SlurmBed, tmp_path: Path, request_for: Callable[[str], JobRequest], ending: str
) -> None:
    environment = command_in_front(
        tmp_path / "bin",
        "sbatch",
        f'echo x >> {tmp_path}/calls; {command("sbatch")} "$@" > /dev/null; {ending}',
        slurm,
    )
    scheduler = SlurmScheduler(environment)
    request = request_for(f"lost-{tmp_path.name}")
    job_id = scheduler.submit(request)
    assert scheduler.submit(request) == job_id
    assert (tmp_path / "calls").read_text() == "x\n"
    slurm.wait_job(job_id, "COMPLETED")
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_a_submission_that_never_arrived(
    slurm: SlurmBed, tmp_path: Path, request_for: Callable[[str], JobRequest]
) -> None:
    environment = command_in_front(tmp_path / "bin", "sbatch", "kill -9 $$", slurm)
    request = request_for("never")
    with pytest.raises(TransientError, match="not submitted"):
        SlurmScheduler(environment, settle=1).submit(request)
    slurm.wait_job(SlurmScheduler(slurm.environment).submit(request), "COMPLETED")
    assert (tmp_path / "runs").read_text() == "ran\n"


@pytest.mark.slow
def test_a_busy_controller_accepts_late(
    slurm_bed: Maker, tmp_path: Path, request_for: Callable[[str], JobRequest]
) -> None:
    """sbatch gives up on a request that slurmctld carries out all the same, when it gets to it."""
    bed = slurm_bed(nodes=1, settings={"MessageTimeout": "3"})
    request = request_for("late")
    bed.pause_controller()
    with pytest.raises(CouldNotObserveError):
        SlurmScheduler(bed.environment, timeout=5).submit(request)
    # The look-up got no answer, so nothing was submitted. Now sbatch itself gets none.
    bed.resume_controller()
    assert SlurmScheduler(bed.environment).find("late") is None
    pid = bed.pid("slurmctld")
    text = f'kill -STOP {pid}; (sleep 5; kill -CONT {pid}) & exec {command("sbatch")} "$@"'
    environment = command_in_front(tmp_path / "bin", "sbatch", text, bed)
    job_id = SlurmScheduler(environment).submit(request)
    bed.wait_job(job_id, "COMPLETED")
    assert (tmp_path / "runs").read_text() == "ran\n"
    assert bed.run("squeue", "-h", "-t", "all", "-o", "%A").stdout.split() == [job_id]


def test_a_controller_that_stands_still_is_not_an_answer(slurm_bed: Maker, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=1, settings={"MessageTimeout": "2"})
    environment = job_environment(bed, tmp_path)
    scheduler = SlurmScheduler(bed.environment)
    allocation = SlurmAllocation(environment, timeout=4)
    bed.pause_controller()
    for call in (scheduler.nodes, lambda: scheduler.jobs(["1"]), allocation.node_states):
        with pytest.raises(CouldNotObserveError):
            call()
    # What is known without Slurm is still known.
    assert allocation.describe().nodes == ("n01",)


@pytest.mark.parametrize("text", ["echo surprise", "echo '7|RUNNING'", "printf '\\037\\037'"])
def test_garbage_from_squeue(slurm: SlurmBed, tmp_path: Path, text: str) -> None:
    environment = command_in_front(tmp_path / "bin", "squeue", text, slurm)
    with pytest.raises(CouldNotObserveError):
        SlurmScheduler(environment).find("token")


def test_json_of_squeue_may_ignore_the_job_that_is_asked_for(slurm: SlurmBed) -> None:
    """Why our look-ups do not use it."""
    first, second = slurm.submit("true"), slurm.submit("true")
    told = json.loads(slurm.run("squeue", "--json", "-j", first).stdout)["jobs"]
    seen = {str(job["job_id"]) for job in told}
    assert seen == {first} if Ability.JSON_OF_ONE_JOB.of(slurm.release) else {first, second} <= seen
    assert list(SlurmScheduler(slurm.environment).jobs([first])) == [first]


@pytest.mark.parametrize(("value", "accepted"), [("set", True), ("1", False), ("yes", False)])
def test_the_variable_for_jobs_of_others(slurm: SlurmBed, value: str, accepted: bool) -> None:
    submit = ("sbatch", "--parsable", "--hold", "--output=/dev/null", "--wrap=true")
    result = slurm.run(*submit, SBATCH_NO_KILL=value, SBATCH_NO_REQUEUE="1")
    assert (result.returncode == 0) is accepted
    if accepted:
        assert "Requeue=0" in slurm.run("scontrol", "show", "job", result.stdout.strip()).stdout
        slurm.run("scancel", result.stdout.strip())


def test_a_user_s_own_defaults_do_not_blind_us(slurm: SlurmBed) -> None:
    job = slurm.submit("sleep 600", "--comment=whesl:defaults")
    defaults = {
        "SQUEUE_PARTITION": "none",
        "SQUEUE_STATES": "PENDING",
        "SQUEUE_FORMAT": "%i",
        "SQUEUE_FORMAT2": "JobID",
        "SINFO_PARTITION": "none",
        "SINFO_FORMAT": "%N",
        "SCANCEL_STATE": "PENDING",
    }
    scheduler = SlurmScheduler({**slurm.environment, **defaults})
    slurm.wait_job(job, "RUNNING")
    record = scheduler.find("defaults")
    assert record is not None
    assert record.state is JobState.RUNNING
    assert len(scheduler.nodes()) == 4
    scheduler.cancel(job)
    slurm.wait_job(job, "CANCELLED")


# Marks on nodes -------------------------------------------------------------------------------------


def test_down_is_undone_at_once_and_drain_is_not(slurm: SlurmBed, tmp_path: Path) -> None:
    def state() -> NodeState:
        return next(n.state for n in SlurmScheduler(slurm.environment).nodes() if n.name == "n04")

    slurm.run("scontrol", "update", "nodename=n04", "state=down", "reason=test")
    wait_until(lambda: state() is NodeState.UP, "ReturnToService undid it")
    job = job_environment(slurm, tmp_path, "--nodelist=n04")
    scheduler = SlurmScheduler(slurm.environment)
    assert scheduler.mark_node("n04", "test")
    try:
        slurm.run("scontrol", "ping")
        assert state() is NodeState.DRAINED
        inside = SlurmAllocation(job)
        assert inside.node_states() == {"n04": NodeState.DRAINED}
        assert inside.reasons() == {"n04": "test"}
    finally:
        assert scheduler.unmark_node("n04")
        scheduler.cancel(job["SLURM_JOB_ID"])
    # Slurm calls the node silent until it has pinged it again.
    wait_until(lambda: state() is NodeState.UP, "the node is back")


def test_an_ordinary_user_may_not_mark(slurm: SlurmBed, tmp_path: Path) -> None:
    user = "--reuid 65534 --regid 65534 --clear-groups"
    text = f'exec setpriv {user} {command("scontrol")} "$@"'
    scheduler = SlurmScheduler(command_in_front(tmp_path / "bin", "scontrol", text, slurm))
    assert scheduler.mark_node("n01", "bad") is False
    assert scheduler.unmark_node("n01") is False
    assert all(node.state is not NodeState.DRAINED for node in scheduler.nodes())


def test_a_node_that_is_down_and_drained_is_down(slurm_bed: Maker) -> None:
    """sinfo's short form calls it drained."""
    bed = slurm_bed(nodes=2, slurmd_timeout=3)
    scheduler = SlurmScheduler(bed.environment)
    assert scheduler.mark_node("n02", "test")
    bed.kill_node("n02")
    wait_until(lambda: {n.name: n.state for n in scheduler.nodes()}["n02"] is NodeState.DOWN, "n02 is down")
    assert bed.states()[1].startswith("drained")


def test_where_nobody_may_see_nodes_jobs_are_still_seen(slurm_bed: Maker, tmp_path: Path) -> None:
    """PrivateData=nodes: sinfo and `scontrol show node` refuse everybody but operators."""
    bed = slurm_bed(nodes=2, settings={"PrivateData": "nodes,jobs"})
    refusing = "echo 'slurm_load_node: Access/permission denied' >&2; exit 1"  # tests run as root, who may
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    refused = bed.run(*nobody, "sinfo")
    assert refused.returncode != 0
    assert "slurm_load_node: Access/permission denied" in refused.stderr
    environment = job_environment(bed, tmp_path, "--nodes=2")
    in_front = command_in_front(tmp_path / "bin", "sinfo", refusing, bed)
    scheduler = SlurmScheduler(in_front)
    with pytest.raises(RefusedError):
        scheduler.nodes()
    record = scheduler.jobs([environment["SLURM_JOB_ID"]])[environment["SLURM_JOB_ID"]]
    assert record.state is JobState.RUNNING
    assert not record.batch_host_lost
    allocation = SlurmAllocation({**environment, **in_front})
    assert allocation.node_states() == {"n01": NodeState.UNKNOWN, "n02": NodeState.UNKNOWN}
    bed.run("scontrol", "update", f"JobId={record.id}", "NodeList=n01")
    wait_until(lambda: allocation.node_states()["n02"] is NodeState.DOWN, "the job has lost n02")


# Steps ----------------------------------------------------------------------------------------------


def test_without_overlap_a_step_waits_for_a_lost_node(slurm_bed: Maker, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=3, settings={"SlurmdTimeout": "300"})
    environment = job_environment(bed, tmp_path, "--nodes=3", "--exclusive")
    allocation = SlurmAllocation(environment)
    job = environment["SLURM_JOB_ID"]
    started = tmp_path / "started"
    step = (
        "srun",
        "--nodes=2",
        "--nodelist=n01,n02",
        "--ntasks=4",
        "sh",
        "-c",
        f"touch {started}; sleep 600",
    )
    with bed.start_command(*step, SLURM_JOB_ID=job):
        wait_until(started.exists, "the step runs")
        bed.kill_node("n02")
        plain = ("srun", "--immediate=3", "--nodes=2", "--nodelist=n01,n03", "--ntasks=4", "true")
        refused = bed.run(*plain, SLURM_JOB_ID=job)
        assert refused.returncode != 0, "srun without --overlap started"
        assert "busy" in refused.stderr or "Immediate" in refused.stderr
        request = StepRequest(command=("true",), nodes=("n01", "n03"), tasks=4)
        replacement = allocation.launch(request)
        wait_until(lambda: replacement.poll() is not None, "the replacement ran", 60)
        assert replacement.poll() == 0


def test_a_lost_node_s_step_keeps_its_memory_by_the_cpu(slurm_bed: Maker, tmp_path: Path) -> None:
    """An overlapping step is refused for want of it; the shim's ``--mem=0`` asks for none of its own."""
    settings = {"SlurmdTimeout": "300", "SelectTypeParameters": "CR_Core_Memory", "DefMemPerCPU": "400"}
    bed = slurm_bed(nodes=3, settings=settings)
    environment = job_environment(bed, tmp_path, "--nodes=3", "--ntasks=3")
    assert environment["SLURM_MEM_PER_CPU"] == "400"
    job = {name: environment[name] for name in ("SLURM_JOB_ID", "SLURM_MEM_PER_CPU", "SLURM_NNODES")}
    started = tmp_path / "started"
    words = ("--nodes=2", "--ntasks=2")
    step = ("srun", *words, "--nodelist=n01,n02", "sh", "-c", f"touch {started}; sleep 600")
    with bed.start_command(*step, **job):
        wait_until(started.exists, "the step runs")
        bed.kill_node("n02")
        refused = bed.run("srun", "--overlap", *words, "--nodelist=n01,n03", "true", timeout=60, **job)
        assert "Memory required by task is not available" in refused.stderr
        launcher_shims.install(tmp_path / "shims")
        told = {"WHESL_NODELIST": "n01,n03", "WHESL_SWAPPED": '{"n02": "n03"}', "WHESL_HIDDEN_NODES": "n02"}
        path = f"{tmp_path / 'shims'}:{bed.environment['PATH']}"
        job_told = {**job, **told, "PATH": path}
        swapped = bed.run(str(tmp_path / "shims" / "srun"), *words, "true", timeout=60, **job_told)
        assert swapped.returncode == 0, swapped.stderr


def test_our_steps_ignore_the_job_s_defaults(slurm: SlurmBed, tmp_path: Path) -> None:
    """Options given to sbatch come back as variables that srun obeys, and some exclude each other."""
    options = ("--nodes=3", "--exclusive", "--ntasks-per-node=2", "--mem-per-cpu=100", "--export=NONE")
    environment = job_environment(slurm, tmp_path, *options, "--distribution=cyclic", "--cpus-per-task=1")
    assert environment["SLURM_EXPORT_ENV"] == "NONE"
    outer = {name: slurm.environment[name] for name in ("SLURM_CONF", "PATH")}
    allocation = SlurmAllocation({**environment, **outer})
    request = StepRequest(
        command=("sh", "-c", "echo $SLURMD_NODENAME $COLOUR"),
        nodes=allocation.describe().nodes[1:],
        environment={"COLOUR": "blue"},
        output=str(tmp_path / "out"),
    )
    step = allocation.launch(request)
    wait_until(lambda: step.poll() is not None, "the step has ended")
    assert step.poll() == 0
    lines = sorted((tmp_path / "out").read_text().splitlines())
    assert lines == [f"{node} blue" for node in allocation.describe().nodes[1:]]
    slurm.run("scancel", environment["SLURM_JOB_ID"])
    slurm.wait_job(environment["SLURM_JOB_ID"], "CANCELLED")


# Lost nodes -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_loss_without_accounting_may_freeze_the_job(slurm_bed: Maker, tmp_path: Path) -> None:
    """The script still sees the lost node, the job goes on, and Slurm takes no change to it (22.05)."""
    bed = slurm_bed(nodes=5, slurmd_timeout=3)
    environment = job_environment(bed, tmp_path, "--nodes=3", "--nodelist=n[01-03]", "--exclusive")
    job = environment["SLURM_JOB_ID"]
    allocation = SlurmAllocation(environment)
    # What a script gives back itself is the job's no more, and is not lost.
    shrunk = job_environment(bed, tmp_path, "--nodes=2", "--nodelist=n[04-05]", "--exclusive")
    smaller = SlurmAllocation(shrunk)
    bed.run("scontrol", "update", f"JobId={shrunk['SLURM_JOB_ID']}", "NodeList=n04")
    wait_until(lambda: smaller.node_states()["n05"] is NodeState.RELEASED, "the job has given n05 back")
    assert smaller.node_states()["n04"] is NodeState.UP
    changeable = Ability.CHANGES_AFTER_RESIZE.of(bed.release)
    if not changeable:
        assert allocation.release("n03") is False, "a release would make the same true while all nodes live"
    bed.kill_node("n03")
    wait_until(lambda: bed.job(job, "%N") == "n[01-02]", "Slurm took the node from the job")
    assert allocation.describe().nodes == ("n01", "n02", "n03")
    assert allocation.node_states() == {
        "n01": NodeState.UP,
        "n02": NodeState.UP,
        "n03": NodeState.DOWN,
    }
    assert allocation.release("n03") is True, "it is gone already"
    # Back in service, it is still not the job's.
    bed.start_node("n03")
    wait_until(lambda: bed.states()[2] == "idle", "n03 is back")
    assert allocation.node_states()["n03"] is NodeState.DOWN
    scheduler = SlurmScheduler(bed.environment, settle=2)
    assert scheduler.jobs([job])[job].state is JobState.RUNNING
    assert not scheduler.jobs([job])[job].batch_host_lost
    changed = bed.run("scontrol", "update", f"JobId={job}", "Comment=lost")
    if changeable:
        assert bed.job(job, "%k") == "lost"
    else:
        assert "DB index" in changed.stderr
    with pytest.raises(RefusedError, match="may not run again"):
        scheduler.requeue(job)


def test_a_new_run_has_other_limits_and_nodes(slurm_bed: Maker, tmp_path: Path) -> None:
    """Slurm takes them while the job waits: not while its old run is ending, nor once the new one runs."""
    bed = slurm_bed(nodes=3)
    scheduler = SlurmScheduler(bed.environment, settle=20)
    script = f"trap 'sleep 2; exit 1' TERM; echo $SLURM_NODELIST >> {tmp_path}/runs; sleep 600 & wait"
    job = bed.submit(script, "--time=10", "--mem=50", "--requeue", "--nodes=3", "--ntasks=6")
    wait_until(lambda: (tmp_path / "runs").exists(), "the job runs")
    assert scheduler.requeue_with(job, Limits(time=90.5, memory=100, avoid=("n01",), sizes=(2, 3))) == ""
    runs = "n[01-03]\nn[02-03]\n"
    wait_until(lambda: (tmp_path / "runs").read_text() == runs, "the job runs on the other nodes", 90)
    assert bed.job(job, "%l %m %C") == "1:31:00 100M 4"


@pytest.mark.slow
def test_a_lost_batch_host(slurm_bed: Maker, tmp_path: Path) -> None:
    """The job would stay RUNNING for ever; it runs again under the same id, without two minutes of hold.

    Its spare is the node that is lost: it would wait for a third node when it is requeued.
    """
    bed = slurm_bed(nodes=3, slurmd_timeout=5)
    scheduler = SlurmScheduler(bed.environment, settle=0.5)
    script = f"echo $SLURMD_NODENAME $SLURM_RESTART_COUNT >> {tmp_path}/runs; sleep 600"
    job = bed.submit(script, "--nodes=3", "--no-kill", "--requeue", "--comment=whesl:batch")
    wait_until(lambda: written(tmp_path / "runs"), "the job runs")
    bed.kill_node("n01")
    begun = time.monotonic()
    scheduler.requeue_with(job, Limits(sizes=(2, 3)))

    def again() -> bool:
        # The old run ends when Slurm knows that the node is down: a hold that begins then is lifted later.
        record = scheduler.jobs([job])[job]
        scheduler.fit_waiting(record, ("n01", "n02", "n03"), (2, 3))
        scheduler.lift_hold(record)
        return len((tmp_path / "runs").read_text().splitlines()) == 2

    wait_until(again, "the job runs again", 80)
    assert time.monotonic() - begun < 115
    second = (tmp_path / "runs").read_text().splitlines()[1]
    assert second.endswith(" 1")
    assert not second.startswith("n01")
    record = scheduler.find("batch")
    assert record is not None
    assert (record.id, record.restarts, record.state) == (job, 1, JobState.RUNNING)
    assert not record.batch_host_lost


@pytest.mark.slow
def test_a_lost_batch_host_is_told(slurm_bed: Maker, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=3, slurmd_timeout=3)
    scheduler = SlurmScheduler(bed.environment)
    job = bed.submit(f"touch {tmp_path}/runs; sleep 600", "--nodes=2", "--no-kill", "--no-requeue")
    wait_until((tmp_path / "runs").exists, "the job runs")
    bed.kill_node("n01")
    assert not scheduler.jobs([job])[job].batch_host_lost, "silence is not loss"
    wait_until(lambda: scheduler.jobs([job])[job].batch_host_lost, "the loss of the batch host is told")
    record = scheduler.jobs([job])[job]
    assert record.state is JobState.RUNNING
    assert record.batch_host == "n01"


def test_a_restarted_slurmd_is_invisible(slurm_bed: Maker, tmp_path: Path) -> None:
    bed = slurm_bed(nodes=2)
    allocation = SlurmAllocation(job_environment(bed, tmp_path, "--nodes=2"))
    step = allocation.launch(
        StepRequest(
            command=("sh", "-c", f"touch {tmp_path}/at.$SLURMD_NODENAME; sleep 6"), nodes=("n01", "n02")
        )
    )
    wait_until(lambda: len(list(tmp_path.glob("at.*"))) == 2, "the step runs")
    bed.kill_slurmd("n02")
    assert any("sleep" in process.name() for process in bed.processes("n02"))
    bed.restart_slurmd("n02")
    wait_until(lambda: step.poll() is not None, "the step has ended")
    assert step.poll() == 0
    wait_until(lambda: set(allocation.node_states().values()) == {NodeState.UP}, "both nodes are up")


# With accounting ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(300)  # slurmctld forgets jobs once a minute
def test_with_accounting(slurm_bed: Maker, tmp_path: Path) -> None:
    """Jobs are found when slurmctld has forgotten them, and a job stays changeable after a resize.

    A wrong account or quality of service is refused where a request is only tried.
    """
    need_slurm("dbd")
    keys = {"MinJobAge": "2", "AccountingStorageEnforce": "associations,qos"}
    bed = slurm_bed(nodes=3, dbd=True, slurmd_timeout=5, settings=keys)
    scheduler = SlurmScheduler(bed.environment)
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nexit 4\n")
    request = JobRequest(token="forgotten", script=str(script), output="/dev/null")
    for wrong in (Demands(account="nix"), Demands(qos="nix")):
        with pytest.raises(RefusedError, match="Invalid"):
            scheduler.try_request(msgspec.structs.replace(request, demands=wrong))
    scheduler.try_request(msgspec.structs.replace(request, demands=Demands(account="test")))
    assert not bed.run("squeue", "-h", "-t", "all").stdout
    job = scheduler.submit(request)
    wait_until(lambda: bed.run("squeue", "-h", "-t", "all", "-j", job).returncode, "slurmctld forgot", 100)
    record = scheduler.find("forgotten")
    assert record is not None
    assert (record.id, record.state, record.exit_code) == (job, JobState.FAILED, 4)
    assert scheduler.jobs([job])[job].state is JobState.FAILED
    assert scheduler.submit(request) == job
    assert scheduler.find("another") is None

    options = ("--nodes=3", "--exclusive", "--requeue", "--comment=whesl:resized")
    environment = job_environment(bed, tmp_path, *options)
    running = environment["SLURM_JOB_ID"]
    allocation = SlurmAllocation(environment)
    bed.kill_node("n03")
    assert allocation.release("n03") is True
    assert bed.job(running, "%N") == "n[01-02]"
    assert not list(Path.cwd().glob("slurm_job_*_resize.sh"))
    assert allocation.node_states()["n03"] is NodeState.DOWN
    bed.run("scontrol", "update", f"JobId={running}", "Comment=whesl:resized lost")
    assert bed.job(running, "%k") == "whesl:resized lost"
    bed.start_node("n03")
    scheduler.requeue(running)
    wait_until(lambda: (tmp_path / "environment").exists(), "the job runs again", 90)


def test_a_job_that_is_to_run_again_keeps_no_demand_for_nodes(slurm_bed: Maker, tmp_path: Path) -> None:
    """Slurm took a node that was given back too late as a list of nodes that the next run has to have.

    One of them was lost, and the job waited for it for ever (seen on 26.05).
    """
    bed = slurm_bed(nodes=3, dbd=True)
    environment = job_environment(bed, tmp_path, "--nodes=3", "--exclusive")
    job = environment["SLURM_JOB_ID"]
    allocation = SlurmAllocation(environment)
    bed.run("scontrol", "update", f"JobId={job}", "Requeue=1")
    bed.kill_node("n03")
    assert bed.run("scontrol", "requeue", job).returncode == 0
    assert not allocation.release("n03")
    assert "ReqNodeList=(null)" in bed.run("scontrol", "show", "job", job).stdout
