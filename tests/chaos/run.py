"""One run of chaos: a cluster is started, a workflow runs on it, faults come until the time is over."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from tests.chaos import workload
from tests.chaos.cluster import WHESL, Cluster
from tests.chaos.director import KINDS, OF_HOMES, choose
from tests.chaos.verdict import Verdict, by_kind, judge
from tests.equipment import faults
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed

DISK = 12 << 20  # bytes of a small disk
SLURMD_TIMEOUT = 10
BACKLOG = 3  # faults


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """``minutes`` of faults, ``every`` so many seconds; then ``grace`` seconds for the workflow to end."""

    seed: int
    minutes: float = 5.0
    nodes: int = 8
    tasks: int = 40
    cycles: int = 60
    pace: float = 0.15
    every: float = 1.0
    grace: float = 300.0
    kinds: tuple[str, ...] = tuple(KINDS)
    keep: bool = False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run. ``directory`` is empty when nothing was kept. Times in seconds."""

    options: Options
    verdict: Verdict
    kinds: list[dict[str, Any]]
    faults: int
    seconds: float
    calm: float
    directory: str


def play(options: Options, say: Any = print) -> Outcome:
    """Do it all and return what came of it; nothing that was started lives on, whatever happens.

    Raises KeyboardInterrupt on Ctrl-C and on SIGTERM, after everything was ended.
    """
    root = Path(tempfile.mkdtemp(prefix=f"chaos-{options.seed}-"))
    kept = True
    try:
        with _terminable(), contextlib.ExitStack() as stack:
            outcome = _play(options, root, stack, say)
        kept = bool(outcome.directory)
        return outcome
    finally:
        if not kept:
            shutil.rmtree(root, ignore_errors=True)
        else:
            say(f"logs and journals: {root}")


def _play(options: Options, root: Path, stack: contextlib.ExitStack, say: Any) -> Outcome:
    places = workload.Places(root=root)
    places.make()
    for disk in (*places.small, places.relief):
        stack.enter_context(faults.tmpfs(disk, DISK))
    jobs = workload.plan(options.tasks, options.cycles)
    sources, rules = workload.write(jobs, places, options.pace)
    (root / "home").mkdir(mode=0o700)
    nfs = None
    if set(OF_HOMES) & set(options.kinds):
        nfs = stack.enter_context(_home(root))
        stack.callback(_keep_home, nfs, root)
    bed = SlurmBed(options.nodes, "net", slurmd_timeout=SLURMD_TIMEOUT, settings={"MinJobAge": "3600"})
    stack.enter_context(bed)
    # The bed removes its directory when it stops, so its logs are copied first.
    stack.callback(_keep_logs, bed, root)
    environment = _environment(bed, root)
    cluster = Cluster(bed, jobs, places, environment, nfs)
    stack.callback(_end_all, cluster, environment)
    output = stack.enter_context((root / "whesl-run.log").open("wb"))
    run = subprocess.Popen(
        [WHESL, "run", *sources, "-e", str(rules), "--rjms", "slurm", "--poll", "1"],
        env=environment, cwd=root, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
    )  # fmt: skip
    stack.callback(_end, run)
    begun, number, calm = _make_chaos(options, cluster, run, root, len(jobs), say)
    deadline = time.monotonic() + options.grace
    quiet, looks = False, 0
    while time.monotonic() < deadline and not quiet:
        cluster.undo(all_of_it=True)
        cluster.view()
        cluster.tend()
        left = [process for process in cluster.living() if process.role != "coordinator"]
        quiet = run.poll() is not None and not left
        quiet = quiet and all(job.state not in ("RUNNING", "COMPLETING") for job in cluster.queued())
        if (looks := looks + 1) % 10 == 0:
            _progress(cluster, len(jobs), number, time.monotonic() - begun, say)
        time.sleep(1.0)
    _settle(environment)
    left = [process for process in cluster.living() if process.role != "coordinator"]
    verdict = judge(jobs, places, environment, run.poll(), cluster.queued(), left, cluster.hit)
    (root / "faults.json").write_bytes(msgspec.json.encode([(f, t) for f, t in cluster.hit]))
    return Outcome(
        options=options,
        verdict=verdict,
        kinds=by_kind(cluster.hit, verdict),
        faults=len(cluster.hit),
        seconds=time.monotonic() - begun,
        calm=calm,
        directory=str(root) if verdict.wrong or options.keep else "",
    )


def _make_chaos(
    options: Options, cluster: Cluster, run: subprocess.Popen[bytes], root: Path, tasks: int, say: Any
) -> tuple[float, int, float]:
    """Inject faults until the time is over or the workflow has ended: since when, how many, how long."""
    _wait_for_all_jobs(cluster, run, tasks)
    begun = due = time.monotonic()
    number = 0
    with (root / "faults.log").open("w") as log:
        while (passed := time.monotonic() - begun) < options.minutes * 60 and run.poll() is None:
            if time.monotonic() < due:
                time.sleep(min(0.2, due - time.monotonic()))
                cluster.undo()
                continue
            # Of the faults that a busy machine had no time for, only the last few are made up for.
            due = max(due + options.every, time.monotonic() - BACKLOG * options.every)
            cluster.undo()
            view = cluster.view()
            cluster.tend()
            fault = choose(options.seed, number, view, options.kinds)
            number += 1
            if fault is None:
                continue
            hit = cluster.inject(fault)
            log.write(
                f"{time.time():.2f} +{passed:.1f} #{fault.number} {fault.kind}: {fault.target} "
                f"for {fault.seconds:g} s, hits {'nothing' if hit is None else ' '.join(hit) or '-'}\n"
            )
            log.flush()
            if number % 10 == 0:
                _progress(cluster, tasks, number, passed, say)
    return begun, number, time.monotonic() - begun


def _settle(environment: dict[str, str]) -> None:
    """Give the coordinator time to hear of jobs that ended before their isolators reported."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = subprocess.run(
            [WHESL, "report", "--json"],
            env=environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if done.returncode != 0 or not any(
            task["state"] in ("running", "recovering", "escalated", "unobserved")
            for task in json.loads(done.stdout)["tasks"]
        ):
            return
        time.sleep(2)


def _wait_for_all_jobs(cluster: Cluster, run: subprocess.Popen[bytes], jobs: int) -> None:
    """Wait until one runs and all are submitted: one that Slurm does not take is the affair of its user."""
    deadline = time.monotonic() + 120
    while not (any(task.ranks for task in cluster.view().tasks) and len(cluster.queued()) >= jobs):
        if run.poll() is not None or time.monotonic() > deadline:
            return  # the verdict says what became of it
        time.sleep(0.2)


def _progress(cluster: Cluster, tasks: int, number: int, passed: float, say: Any) -> None:
    states = [job.state for job in cluster.queued()]
    done, running = states.count("COMPLETED"), states.count("RUNNING")
    say(
        f"{passed:5.0f} s  {number:4d} faults  {done:3d} of {tasks} tasks done, {running} running, "
        f"{len(states) - done - running} others"
    )


@contextlib.contextmanager
def _home(root: Path) -> Iterator[NfsBed]:
    """Mount the WHESL home that all nodes share: one that can fail."""
    home = root / "home"
    with NfsBed("all", attributes=1.0, absences=1.0) as nfs:
        nfs.place("all", home)
        home.chmod(0o700)
        yield nfs


def _environment(bed: SlurmBed, root: Path) -> dict[str, str]:
    return {
        **bed.environment,
        "WHESL_HOME": str(root / "home"),
        "USER": os.environ.get("USER", "root"),
        "CHAOS_HUB": bed.address,
        # Of seconds, as the faults are: by default a silent isolator is asked after only when 15 s are over.
        "WHESL_HEARTBEAT": "1",
    }


def _end(run: subprocess.Popen[bytes]) -> None:
    """End ``whesl run`` for good."""
    if run.poll() is None:
        run.kill()
    run.wait()


def _end_all(cluster: Cluster, environment: dict[str, str]) -> None:
    """Let nothing that is stopped stay so, and end the processes that are not on nodes."""
    with contextlib.suppress(Exception):
        cluster.undo(all_of_it=True)
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [WHESL, "coordinator", "stop"], env=environment, capture_output=True, timeout=120, check=False
        )
    for process in cluster.living():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def _keep_logs(bed: SlurmBed, root: Path) -> None:
    if (bed.directory / "log").is_dir():
        shutil.copytree(bed.directory / "log", root / "slurm-logs", dirs_exist_ok=True)


def _keep_home(nfs: NfsBed, root: Path) -> None:
    """Copy the home, which vanishes with its mount; its FIFOs cannot be copied."""
    with contextlib.suppress(shutil.Error):
        shutil.copytree(nfs.backing, root / "home-kept", symlinks=True)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the run as Ctrl-C does: in order."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
