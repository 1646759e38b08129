"""Real processes that are killed: nodes under running steps, hung nodes, the server at any time."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.equipment.nfsbed import NfsBed
from tests.managers.resource.embedded.conftest import Bed, MakeBed, alive, wait_until
from tests.waiting import written
from whesl.files import file_retry
from whesl.managers.resource.embedded import daemons, process_lookup
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.testing.processes import running


def processes_of(bed: Bed, node: str) -> list[psutil.Process]:
    """Return the living processes that a node started."""
    found = []
    for process in running():
        try:
            environment = process.environ()
            if (
                process.status() != psutil.STATUS_ZOMBIE
                and environment.get("WHESL_LOCAL_CLUSTER") == bed.cluster.path
            ):
                found += [process] if environment.get("WHESL_LOCAL_NODE") == node else []
        except psutil.Error:
            continue  # ended meanwhile, or another user's
    return found


def commands_of(bed: Bed, node: str) -> list[list[str]]:
    """Return the command lines of a node's processes."""
    found = []
    for process in processes_of(bed, node):
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(process.cmdline())
    return found


def test_a_node_dies_under_a_step(make_bed: MakeBed, tmp_path: Path) -> None:
    """The batch script lives on; a step beside the dead one starts at once; srun learns of it late."""
    bed = make_bed(3, node_timeout=8.0)
    script = """
srun -N2 -n2 -w n01,n02 sh -c 'touch at.$SLURMD_NODENAME; sleep 300' 2>err & old=$!
while ! test -e go; do sleep 0.05; done
srun --overlap -N2 -n2 -w n01,n03 sh -c 'echo over $SLURMD_NODENAME' | sort
kill -0 $old && echo old srun waits
wait $old; echo $?
squeue -h -j $SLURM_JOB_ID -o '%T %N %D'
srun -N2 -n2 echo again
"""
    job = bed.submit(tmp_path, script, "-N3", "--exclusive", "--no-kill", "--no-requeue", "-o", "out")
    wait_until(lambda: (tmp_path / "at.n01").exists() and (tmp_path / "at.n02").exists(), "the step runs")
    killed = daemons.kill_node(bed.cluster, "n02")
    assert killed >= 3  # the daemon, the shell, its sleep
    assert not processes_of(bed, "n02")
    assert bed.node("n02").base == "allocated"
    (tmp_path / "go").touch()
    assert bed.ended(job).state.value == "COMPLETED"
    assert (tmp_path / "out").read_text().splitlines() == [
        "over n01",
        "over n03",
        "old srun waits",
        "137",
        "RUNNING n[01,03] 2",
        "again",
        "again",
    ]
    errors = (tmp_path / "err").read_text()
    assert "srun: error: Node failure on n02\n" in errors
    assert "srun: error: n01: task 0: Killed\n" in errors
    assert bed.run("sinfo", "-h", "-N", "-n", "n02", "-o", "%t %T %E").strip() == "down* down* Not responding"


def test_a_job_without_no_kill_ends_with_its_node(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(3, node_timeout=2.0)
    fails = bed.submit(
        tmp_path, "touch up$SLURM_JOB_ID; sleep 300", "-N2", "--exclusive", "--no-requeue", "-o", "out"
    )
    wait_until((tmp_path / f"up{fails}").exists, "it runs")
    daemons.kill_node(bed.cluster, "n02")
    assert bed.ended(fails).state.value == "NODE_FAIL"
    assert "DUE TO NODE FAILURE" in (tmp_path / "out").read_text()
    daemons.start_nodes(bed.cluster, ["n02"])
    script = "echo run >> runs; test $SLURM_RESTART_COUNT || sleep 300"
    again = bed.submit(tmp_path, script, "-N1", "-w", "n03")
    wait_until(lambda: written(tmp_path / "runs"), "it runs")
    daemons.kill_node(bed.cluster, "n03")
    wait_until(lambda: bed.job(again).restarts == 1, "it is requeued")
    daemons.start_nodes(bed.cluster, ["n03"])
    assert bed.ended(again).state.value == "COMPLETED"
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_dead_node_comes_back_empty(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2)
    bed.ended(bed.submit(tmp_path, "echo precious > $WHESL_NODE_STORAGE/file", "-w", "n02"))
    storage = Path(bed.cluster.join("nodes", "n02", "storage"))
    assert (storage / "file").exists()
    daemons.kill_node(bed.cluster, "n02")
    assert not storage.exists()
    daemons.wait_for_nodes(bed.cluster, ["n02"], daemons.start_nodes(bed.cluster, ["n02"]))
    with pytest.raises(RefusedError, match="runs already"):
        daemons.start_nodes(bed.cluster, ["n02"])
    bed.ended(bed.submit(tmp_path, "ls -A $WHESL_NODE_STORAGE", "-w", "n02", "-o", "out"))
    assert (tmp_path / "out").read_text() == ""


def test_a_quick_reboot_is_a_loss_too(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2, node_timeout=60.0)
    job = bed.submit(tmp_path, "touch up; sleep 300", "-w", "n02", "--no-requeue")
    wait_until((tmp_path / "up").exists, "it runs")
    daemons.kill_node(bed.cluster, "n02")
    daemons.start_nodes(bed.cluster, ["n02"])
    assert bed.ended(job).state.value == "NODE_FAIL"
    assert bed.node("n02").base == "idle"


def test_nothing_escapes_a_dying_node(make_bed: MakeBed, tmp_path: Path) -> None:
    """Not what changed its session, its parent or its environment, nor what forks all the time."""
    bed = make_bed(2)
    script = """
setsid sh -c 'echo $$ > pid1; exec sleep 300' &
(env -i setsid sh -c 'echo $$ > pid2; exec sleep 300' &)
env -i sh -c 'echo $$ > pid3; while :; do /bin/sleep 0.01; done' &
trap '' TERM
while ! test -s pid1 -a -s pid2 -a -s pid3; do sleep 0.05; done
touch up
while :; do sleep 1; done
"""
    bed.submit(tmp_path, script, "-w", "n01", "--no-requeue")
    wait_until((tmp_path / "up").exists, "it runs")
    pids = [int((tmp_path / name).read_text()) for name in ("pid1", "pid2", "pid3")]
    daemons.kill_node(bed.cluster, "n01")
    wait_until(lambda: not any(alive(pid) for pid in pids), "their end")


def test_the_batch_host_dies(make_bed: MakeBed, tmp_path: Path) -> None:
    """The trap: the job stays, without a script, until somebody requeues it."""
    bed = make_bed(3, node_timeout=2.0)
    script = "echo run >> runs; test $SLURM_RESTART_COUNT || srun -w n02 -N1 -n1 sleep 300"
    job = bed.submit(tmp_path, script, "-N2", "--exclusive", "--no-kill", "--no-requeue")
    wait_until(lambda: processes_of(bed, "n02"), "the step runs")
    daemons.kill_node(bed.cluster, "n01")
    wait_until(lambda: bed.node("n01").base == "down", "the node is down")
    record = bed.job(job)
    assert (record.state.value, record.batch_host, record.nodes) == ("RUNNING", "n01", ("n02",))
    bed.run("scontrol", "update", f"jobid={job}", "Requeue=1")
    bed.run("scontrol", "requeue", job)
    bed.run("scontrol", "update", f"jobid={job}", "StartTime=now", code=None)
    record = bed.ended(job)
    assert (record.state.value, record.restarts, record.nodes) == ("COMPLETED", 1, ("n02", "n03"))
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_hung_node(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2, node_timeout=2.0)
    job = bed.submit(
        tmp_path, "touch up; while :; do sleep 0.1; date +%s%N > tick; done", "-w", "n02", "--no-requeue"
    )
    wait_until((tmp_path / "tick").exists, "it runs")
    daemons.hang_node(bed.cluster, "n02")
    before = (tmp_path / "tick").read_text()
    assert bed.ended(job).state.value == "NODE_FAIL"
    assert (tmp_path / "tick").read_text() == before
    daemons.wake_node(bed.cluster, "n02")
    wait_until(lambda: bed.node("n02").base == "idle", "the node is back")
    wait_until(lambda: not processes_of(bed, "n02"), "what it ran for a lost job is ended")


def test_the_server_dies_in_the_middle_of_everything(make_bed: MakeBed, tmp_path: Path) -> None:
    """Jobs and steps go on; what ended meanwhile is known afterwards; nothing runs twice."""
    bed = make_bed(3, node_timeout=10.0)
    script = """
echo begin >> log
srun -N1 -n1 -w n02 sh -c 'echo step; touch step; while ! test -e go; do sleep 0.05; done; exit 5' >> log
echo step $? >> log
"""
    long = bed.submit(tmp_path, script, "-N2")
    wait_until((tmp_path / "step").exists, "the step runs")
    short = bed.submit(
        tmp_path, "while ! test -e end; do sleep 0.05; done; exit 3", "-w", "n03", "--exclusive"
    )
    bed.wait(short, "RUNNING")
    waiting = bed.submit(tmp_path, "echo waited >> log", "-w", "n03", "--exclusive", "--comment=keep me")
    bed.kill_server()
    (tmp_path / "end").touch()
    wait_until(
        lambda: not any("slurm_script" in word for words in commands_of(bed, "n03") for word in words),
        "a script has ended",
    )
    result: list[str] = []
    question = ("sacct", "-X", "-n", "-P", "-j", waiting, "-o", "comment")
    asker = threading.Thread(target=lambda: result.append(bed.run(*question)))
    asker.start()
    bed.start_server()
    asker.join()
    assert result == ["keep me\n"]  # it waited for the server to come back
    assert bed.ended(short).exit_code == 3
    assert bed.ended(waiting).state.value == "COMPLETED"
    (tmp_path / "go").touch()
    assert bed.ended(long).state.value == "COMPLETED"
    assert sorted((tmp_path / "log").read_text().splitlines()) == ["begin", "step", "step 5", "waited"]
    assert (
        bed.run("sacct", "-n", "-P", "-j", long, "-o", "jobid,state,exitcode").splitlines()[2]
        == f"{long}.0|FAILED|5:0"
    )


def test_the_server_dies_again_and_again(make_bed: MakeBed, tmp_path: Path) -> None:
    """Every job runs exactly once, whenever the server is killed."""
    bed = make_bed(2, node_timeout=10.0)
    numbers = [
        bed.submit(tmp_path, f"echo {n} >> log; srun true; sleep 0.1", "-o", "/dev/null") for n in range(12)
    ]
    for _ in range(4):
        time.sleep(0.15)
        bed.kill_server()
        time.sleep(0.1)
        bed.start_server()
    for number in numbers:
        record = bed.ended(number)
        assert (record.state.value, record.restarts) == ("COMPLETED", 0)
    assert sorted(map(int, (tmp_path / "log").read_text().split())) == list(range(12))


def test_an_interactive_job_outlives_the_server(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(1)
    command = f"while ! test -e {tmp_path}/go; do sleep 0.05; done; exit 4"
    process = subprocess.Popen(
        ["srun", "sh", "-c", command],
        env=bed.environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: bed.run("squeue", "-h", "-s"), "the step runs")
    bed.kill_server()
    bed.start_server()
    time.sleep(6)  # beyond the time after which an abandoned job would be cancelled
    (tmp_path / "go").touch()
    assert process.wait(timeout=120) == 4
    assert bed.ended("1").exit_code == 4


def test_a_node_that_dies_while_the_server_is_away(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2, node_timeout=2.0)
    job = bed.submit(tmp_path, "touch up; sleep 300", "-w", "n02", "--no-requeue")
    wait_until((tmp_path / "up").exists, "it runs")
    bed.kill_server()
    daemons.kill_node(bed.cluster, "n02")
    bed.start_server()
    assert bed.ended(job).state.value == "NODE_FAIL"


def test_only_one_server(bed: Bed) -> None:
    with pytest.raises(RefusedError, match="runs already"):
        daemons.start(bed.cluster, None)
    command = [
        bed.run("sh", "-c", "command -v python").strip(),
        "-m",
        "whesl.managers.resource.embedded.server",
        bed.cluster.path,
    ]
    assert "runs already" in bed.run(*command, code=1)


def test_noise_does_not_hurt(bed: Bed) -> None:
    for target in ("server", "n01"):
        for noise in (
            b"\xff\xfe\n",
            b'{"is":"shutdown2"}\n',
            b"[" * 100_000 + b"\n",
            b'{"is":"beat"}\n' * 3,
            b"half a line",
        ):
            connection = socket.socket(socket.AF_UNIX)
            channel = bed.cluster.sockets.connect(target)
            channel.socket.setblocking(True)
            channel.socket.sendall(noise)
            channel.close()
            connection.close()
    assert bed.run("srun", "echo", "fine").strip() == "fine"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can try to be another user")
def test_other_users_are_not_let_in(bed: Bed, tmp_path: Path) -> None:
    """Neither by the directory nor, should somebody open that, by the socket."""
    path = bed.cluster.join("sockets", "server")
    ask = (
        "import os, socket, sys; os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))\n"
        "s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1])\n"
        "s.sendall(b'{\"is\":\"ping\"}\\n'); print('answered' if s.recv(100) else 'closed')"
    )
    assert bed.run("python3", "-c", ask, path, "0") == "answered\n"
    assert "PermissionError" in bed.run("python3", "-c", ask, path, "65534", code=1)
    opened = [Path(path), *list(Path(path).parents)[:-1]]
    modes = {place: place.stat().st_mode & 0o7777 for place in opened}
    try:
        for place in opened:
            # Directories above are those of other tests, too, some of which refuse what others can write to.
            place.chmod(modes[place] | (0o077 if place.is_socket() else 0o055))
        reply = bed.run("python3", "-c", ask, path, "65534", code=None)
        assert "answered" not in reply
        assert "PermissionError" not in reply
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


def test_signals_to_srun(bed: Bed, tmp_path: Path) -> None:
    script = """
srun sh -c 'touch up; exec sleep 300' 2>err & srun=$!
while ! test -e up; do sleep 0.05; done
kill -TERM $srun; wait $srun; echo $?
"""
    bed.ended(bed.submit(tmp_path, script, "-o", "out"))
    assert (tmp_path / "out").read_text() == "137\n"
    errors = (tmp_path / "err").read_text()
    assert errors.startswith("srun: forcing job termination\nsrun: Job step aborted: Waiting up to 2 seconds")
    assert "CANCELLED AT" in errors


def test_a_killed_srun_leaves_its_tasks(bed: Bed, tmp_path: Path) -> None:
    """As on Slurm: whoever relaunches has to end the old tasks first."""
    script = """
srun sh -c 'touch up; while ! test -e go; do sleep 0.05; done; touch lived' & srun=$!
while ! test -e up; do sleep 0.05; done
kill -KILL $srun; touch killed
while ! test -e lived; do sleep 0.05; done
srun echo next
"""
    job = bed.submit(tmp_path, script, "-o", "out")
    wait_until((tmp_path / "killed").exists, "srun was killed")
    (tmp_path / "go").touch()
    assert bed.ended(job).state.value == "COMPLETED"
    assert (tmp_path / "out").read_text().splitlines()[-1] == "next"


def test_a_deleted_cluster_ends_by_itself(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2)
    bed.submit(tmp_path, "touch up; sleep 300", "-w", "n01")
    wait_until((tmp_path / "up").exists, "it runs")
    server = daemons.server_pid(bed.cluster)
    nodes = [daemons.node_pid(bed.cluster, name) for name in ("n01", "n02")]
    assert server is not None
    settings = Path(bed.cluster.join("settings.json")).read_text()
    shutil.rmtree(bed.cluster.path)
    wait_until(lambda: not any(pid and alive(pid) for pid in (server, *nodes)), "all daemons have ended")
    assert not processes_of(bed, "n01")
    # For the fixture, which stops every cluster.
    Path(bed.cluster.path).mkdir()
    Path(bed.cluster.join("settings.json")).write_text(settings)


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE], ids=["EIO", "ESTALE"])
def test_a_node_that_cannot_be_seen_is_not_gone(
    nfs_bed: Callable[..., NfsBed], monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """It was started a second time, beside itself, and a stop of the cluster let it live."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    place = bed.at("login") / "cluster"
    (place / "nodes" / "n01").mkdir(parents=True)
    me = process_lookup.look(os.getpid())
    assert me is not None
    (place / "nodes" / "n01" / "pid").write_text(f"{me.pid} {me.started}\n")
    cluster = Cluster(str(place))
    assert daemons.node_pid(cluster, "n01") == os.getpid()
    content = file_retry.content
    monkeypatch.setattr(file_retry, "content", lambda path: content(path, 0.2))
    bed.change("login", error=error, error_rate=1.0, operations=("open", "read"))
    with pytest.raises(CouldNotObserveError, match=r"whether node n01 lives could not be seen: .*pid"):
        daemons.node_pid(cluster, "n01")
    bed.change("login", error_rate=0.0)
    assert daemons.node_pid(cluster, "n01") == os.getpid()


def test_a_stopped_server_blames_no_node(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2, node_timeout=1.5)
    job = bed.submit(tmp_path, "touch up; while ! test -e go; do sleep 0.05; done", "-N2", "--no-requeue")
    wait_until((tmp_path / "up").exists, "it runs")
    pid = daemons.server_pid(bed.cluster)
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    time.sleep(2.5 * bed.settings.node_timeout)  # a stopped server must not take its own silence for a loss
    os.kill(pid, signal.SIGCONT)
    (tmp_path / "go").touch()
    assert bed.ended(job).state.value == "COMPLETED"


def test_stopping_without_a_server_cancels_all_the_same(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(1)
    job = bed.submit(tmp_path, "echo run >> runs; sleep 300")
    wait_until(lambda: written(tmp_path / "runs"), "it runs")
    bed.kill_server()
    daemons.stop(bed.cluster)
    assert not processes_of(bed, "n01")
    daemons.start(bed.cluster, None)
    assert bed.job(job).state.value == "CANCELLED"
    assert (tmp_path / "runs").read_text() == "run\n"
