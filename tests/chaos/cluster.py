"""The cluster under chaos: does to it what the director says, and undoes it when its time has come.

Only processes of this cluster and of this WHESL home are touched, each by its number and after a look that
it is still the same one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil

from tests.chaos import observing
from tests.chaos.director import Fault, Losses, NodeView, TaskView, View, expendable
from tests.chaos.observing import Process, Queued
from tests.chaos.workload import Job, Places
from tests.equipment import faults
from tests.equipment.nfsbed import Faults, NfsBed
from tests.equipment.slurmbed import SlurmBed
from whesl.files import file_retry
from whesl.model.errors import WheslError
from whesl.model.hostlist import expand

WHESL = str(Path(sys.executable).parent / "whesl")
# Seconds between the faults of a daemon that there is one of. Only a slurmctld that has run for a while says
# that a job is lost whose batch host came back without it; one that never does is no fault to recover from.
REST = {"coordinator": 5.0, "controller": 15.0}
KILLED_WITHIN = 60.0  # seconds in which kills of an isolator are counted


class Cluster:
    """A Slurm of several nodes with a workflow on it.

    Args:
        bed: the running cluster, its nodes with networks of their own.
        jobs: the workflow's tasks.
        places: its directories.
        environment: of a user of that cluster.
        nfs: its only mount is the WHESL home of all nodes, where that may fail.
    """

    def __init__(
        self,
        bed: SlurmBed,
        jobs: tuple[Job, ...],
        places: Places,
        environment: dict[str, str],
        nfs: NfsBed | None = None,
    ) -> None:
        self._bed = bed
        self._nfs = nfs
        self._jobs = {job.name: job for job in jobs}
        self._places = places
        self._environment = environment
        self._scan = observing.Scan(Path(environment["WHESL_HOME"]))
        self._living: list[Process] = []
        self._queue: list[Queued] = []
        self._out: dict[str, str] = {}  # nodes that are not whole, and why
        self._drained: set[str] = set()
        self._kept = 0  # descriptors with a dead host's locks
        self._full: set[Path] = set()
        self._down: set[str] = set()  # "coordinator", "controller": stopped or killed; "home": it fails
        self._back: dict[str, float] = {}  # since when they run again
        self._undo: list[tuple[float, str, Callable[[], None]]] = []
        self._had: dict[str, int] = {}  # nodes of each run of a job, at first
        self._kills: dict[str, deque[float]] = {}
        self._starting: subprocess.Popen[bytes] | None = None
        self._saying: list[subprocess.Popen[bytes]] = []
        self.losses = Losses()
        self.hit: list[tuple[Fault, tuple[str, ...]]] = []

    # Seeing -------------------------------------------------------------------------------------------

    def view(self) -> View:
        """Look at everything; what the scheduler does not tell now is as it was."""
        self._look()
        tasks = []
        running = [job for job in self._queue if job.state == "RUNNING" and job.name in self._jobs]
        for job in running:
            mine = [process for process in self._living if process.job == job.job]
            count = Counter(process.role for process in mine)
            nodes = tuple(expand(job.nodes))
            # Slurm takes nodes from a job that it knows to be down; a job may also have got no spare at all.
            self._had[job.claim] = max(self._had.get(job.claim, 0), len(nodes))
            kills = self._kills.setdefault(job.name, deque())
            while kills and kills[0] < time.monotonic() - KILLED_WITHIN:
                kills.popleft()
            tasks.append(
                TaskView(
                    name=job.name,
                    batch_host=job.batch_host,
                    nodes=nodes,
                    spares=self.losses.spares(job.name, self._had[job.claim] - self._jobs[job.name].ranks),
                    # Slurm itself has run a job again that was lost before it was heard of.
                    again=job.restarts == "0" and not self.losses.ran_again(job.name),
                    fragile=self._jobs[job.name].fragile,
                    under_way=count["isolator"] + count["keeper"] > 0,
                    isolator=count["isolator"] > 0,
                    isolator_kills=len(kills),
                    ranks=count["rank"],
                    agents=count["agent"],
                    responders=count["responder"],
                )
            )
        return View(
            nodes=tuple(NodeView(name=name, whole=self._whole(name)) for name in self._bed.nodes),
            tasks=tuple(tasks),
            out=len(self._out),
            disks=tuple(str(disk) for disk in self._disks() if disk not in self._full),
            coordinator=self._ready("coordinator") and bool(self._of("coordinator")),
            controller=self._ready("controller"),
            # Where this process keeps a dead host's locks, a stalled home would hold it up with them.
            home=self._nfs is not None and "home" not in self._down and not self._kept,
        )

    def _whole(self, node: str) -> bool:
        # A node that nobody can drain stays whole: Slurm would go on starting jobs there.
        return node not in self._out and "controller" not in self._down

    def _drain(self) -> None:
        """Keep new jobs off nodes that are out, as a site's health check does; Slurm itself knows late."""
        if "controller" in self._down:
            return
        wanted = {node for node, kind in self._out.items() if kind != "slurmd killed"}
        for node in wanted ^ self._drained:
            change = ("State=DRAIN", "Reason=chaos") if node in wanted else ("State=UNDRAIN",)
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = self._bed.run("scontrol", "update", f"NodeName={node}", *change, timeout=3)
                if done.returncode == 0:
                    self._drained ^= {node}

    def _ready(self, daemon: str) -> bool:
        """Whether a daemon runs, and has for long enough to have done something."""
        return daemon not in self._down and time.monotonic() >= self._back.get(daemon, 0.0) + REST[daemon]

    def _is_back(self, daemon: str) -> None:
        self._down.discard(daemon)
        self._back[daemon] = time.monotonic()

    def queued(self) -> list[Queued]:
        """Return the jobs as they were seen last."""
        return self._queue

    def living(self) -> list[Process]:
        """Return the processes that live now."""
        self._living = self._scan.living(self._spaces())
        return self._living

    def _look(self) -> None:
        self.living()
        self._drain()
        if "controller" not in self._down:
            self._queue = observing.queue(self._environment) or self._queue

    def _spaces(self) -> dict[str, str]:
        found = {}
        for node in self._bed.nodes:
            if self._out.get(node) != "node killed":
                with contextlib.suppress(OSError, psutil.Error, KeyError, WheslError):
                    found[str(Path(f"/proc/{self._bed.init(node)}/ns/pid").readlink())] = node
        return found

    def _of(self, role: str, task: str = "") -> list[Process]:
        jobs = {job.job for job in self._queue if task in ("", job.name)}
        found = [p for p in self._living if p.role == role and (not task or p.job in jobs)]
        return sorted(found, key=lambda process: (process.rank, process.node, process.since))

    def _disks(self) -> tuple[Path, ...]:
        return (*self._places.small, self._places.relief)

    # Doing --------------------------------------------------------------------------------------------

    def inject(self, fault: Fault) -> tuple[str, ...] | None:
        """Do it; return the tasks that it hits, None when there was nothing left to do it to."""
        action: Callable[[Fault], tuple[str, ...] | None] = {
            "node killed": self._kill_node,
            "node killed unseen": self._kill_unseen,
            "node cut off": self._cut,
            "node unheard": self._cut,
            "node predicted": self._predict,
            "slurmd killed": self._kill_slurmd,
            "agents killed": self._kill_agents,
            "disk filled": self._fill,
            "home failing": self._fail_home,
            "home stalled": self._fail_home,
            "job suspended": self._suspend,
            "shell signalled": self._signal_shell,
            "exception raised": self._raise,
            "slurmctld restarted": self._restart_controller,
            "slurmctld stopped": self._stop_controller,
        }.get(fault.kind, self._signal)
        hit = action(fault)
        if hit is not None:
            self.hit.append((fault, hit))
        return hit

    def undo(self, *, all_of_it: bool = False) -> None:
        """Undo what is due, or everything."""
        now = time.monotonic()
        due = [item for item in self._undo if all_of_it or item[0] <= now]
        self._undo = [item for item in self._undo if item not in due]
        for _, _, action in sorted(due, key=lambda item: item[0]):
            action()

    def tend(self) -> None:
        """Do what an operator's machinery does: start what ended by itself and has to run."""
        if "coordinator" not in self._down and not self._of("coordinator"):
            self._start_coordinator()

    def _later(self, fault: Fault, action: Callable[[], None]) -> None:
        self._undo.append((time.monotonic() + fault.seconds, fault.kind, action))

    def _tasks_on(self, node: str) -> tuple[str, ...]:
        return tuple(job.name for job in self._queue if job.state == "RUNNING" and node in expand(job.nodes))

    def _lost(self, node: str) -> None:
        self.losses.lost(node, self.view().tasks)

    def _kill_node(self, fault: Fault) -> tuple[str, ...]:
        hit = self._tasks_on(fault.target)
        self._lost(fault.target)
        self._out[fault.target] = fault.kind
        self._drain()
        # Without power nothing says goodbye; a kernel that ends closes its connections, or refuses them.
        dark = fault.pick < 0.5
        if dark:
            self._bed.cut(fault.target)
        kept: list[int] = []
        if "home" not in self._down and 0.25 <= fault.pick < 0.75:  # by a file server that does not know yet
            for process in self._living:
                if process.role == "isolator" and process.node == fault.target:
                    kept += faults.keep_locks(process.pid)
        self._kept += len(kept)
        self._bed.kill_node(fault.target)

        def back() -> None:
            for descriptor in kept:
                file_retry.close(descriptor)
            self._kept -= len(kept)
            if dark:
                self._bed.heal(fault.target)
            self._bed.start_node(fault.target)
            del self._out[fault.target]

        self._later(fault, back)
        return hit

    def _predict(self, fault: Fault) -> tuple[str, ...]:
        """Predict a node's failure; half of the predictions come true at their time."""
        hit = self._tasks_on(fault.target)
        self._lost(fault.target)  # its tasks take a spare in its place, whether it fails or not
        lead = ("--lead", f"{fault.seconds:g}", "--evidence", "chaos", "--id", f"chaos-{fault.number}")
        self._say("ckpt", "predict", fault.target, *lead)
        due = time.monotonic() + fault.seconds

        def come_true() -> None:
            # What has begun there since may not be able to bear it.
            if time.monotonic() >= due and fault.target in expendable(self.view()):
                boots = 8 + 0.6 * fault.seconds  # as long as that of a node that is killed unannounced
                self._kill_node(msgspec.structs.replace(fault, pick=2 * fault.pick, seconds=boots))

        if fault.pick < 0.5:
            self._later(fault, come_true)
        return hit

    def _kill_unseen(self, fault: Fault) -> tuple[str, ...]:
        """Kill a node while slurmctld is stopped: srun gives up after ten seconds, or finds it in time."""
        hit = self._tasks_on(fault.target)
        self._lost(fault.target)
        self._out[fault.target] = "node killed"
        self._drain()
        self._down.add("controller")
        self._bed.pause_controller()
        self._bed.kill_node(fault.target)

        def back() -> None:
            self._bed.resume_controller()
            self._is_back("controller")
            self._bed.start_node(fault.target)
            del self._out[fault.target]

        self._later(fault, back)
        return hit

    def _cut(self, fault: Fault) -> tuple[str, ...]:
        hit = self._tasks_on(fault.target)
        self._lost(fault.target)
        self._out[fault.target] = fault.kind
        self._drain()
        # Unheard on the login node alone, coordinator and slurmctld, which nothing refuses.
        whole = fault.kind == "node cut off"
        (self._bed.cut if whole else self._bed.drop)(fault.target)

        def back() -> None:
            (self._bed.heal if whole else self._bed.pass_on)(fault.target)
            del self._out[fault.target]

        self._later(fault, back)
        return hit

    def _kill_slurmd(self, fault: Fault) -> tuple[str, ...]:
        hit = self._tasks_on(fault.target)
        self._out[fault.target] = fault.kind
        self._bed.kill_slurmd(fault.target)

        def back() -> None:
            self._bed.restart_slurmd(fault.target)
            del self._out[fault.target]

        self._later(fault, back)
        return hit

    def _kill_agents(self, fault: Fault) -> tuple[str, ...] | None:
        """Kill both halves of a node's agents at once, so that neither starts the other again."""
        found = [process for process in self._of("agent") if process.node == fault.target]
        if not found:
            return None
        hit = self._tasks_on(fault.target)
        self._lost(fault.target)
        for signum in (signal.SIGSTOP, signal.SIGKILL):
            for process in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signum)
        return hit

    def _fill(self, fault: Fault) -> tuple[str, ...]:
        disk = Path(fault.target)
        self._full.add(disk)
        faults.fill(disk)

        def back() -> None:
            (disk / "ballast").unlink(missing_ok=True)
            self._full.discard(disk)

        self._later(fault, back)
        running = (job.name for job in self._queue if job.state == "RUNNING" and job.name in self._jobs)
        return tuple(name for name in running if self._places.relative(name).parts[0] == disk.name)

    def _fail_home(self, fault: Fault) -> tuple[str, ...]:
        """Each call on the home waits, or up to 3 % of them fail, with EIO or ESTALE; on all hosts."""
        nfs = self._nfs
        assert nfs is not None
        self._down.add("home")
        (host,) = nfs.hosts
        if fault.kind == "home stalled":
            nfs.set(host, Faults(stalled=True))
        else:
            error = errno.EIO if fault.pick < 0.5 else errno.ESTALE
            nfs.set(host, Faults(error=error, error_rate=0.01 + 0.02 * (2 * fault.pick % 1)))

        def back() -> None:
            nfs.set(host, Faults())
            self._down.discard("home")

        self._later(fault, back)
        return ()

    def _restart_controller(self, fault: Fault) -> tuple[str, ...]:
        self._down.add("controller")
        self._bed.end_controller()

        def back() -> None:
            self._bed.restart_controller()
            self._is_back("controller")

        self._later(fault, back)
        return ()

    def _stop_controller(self, fault: Fault) -> tuple[str, ...]:
        self._down.add("controller")
        self._bed.pause_controller()

        def back() -> None:
            self._bed.resume_controller()
            self._is_back("controller")

        self._later(fault, back)
        return ()

    def _suspend(self, fault: Fault) -> tuple[str, ...] | None:
        """All processes of a job are stopped by Slurm, the product's own as well."""
        number = self._running(fault.target)
        if not number or self._bed.run("scontrol", "suspend", number).returncode != 0:
            return None

        def back() -> None:
            self._bed.run("scontrol", "resume", number)
            # Nothing is told while slurmctld is away, and one that was stopped says so by its silence.
            if self._bed.job(number) in ("SUSPENDED", ""):
                self._undo.append((time.monotonic() + 1.0, fault.kind, back))

        self._later(fault, back)
        return (fault.target,)

    def _signal_shell(self, fault: Fault) -> tuple[str, ...] | None:
        """A signal that ends a script without a trap for it: the task begins again, in the same job."""
        number = self._running(fault.target)
        said = ("scancel", "--batch", "--signal=USR1", number)
        return (fault.target,) if number and self._bed.run(*said).returncode == 0 else None

    def _running(self, name: str) -> str:
        return next((job.job for job in self._queue if (job.name, job.state) == (name, "RUNNING")), "")

    def _raise(self, fault: Fault) -> tuple[str, ...]:
        """Two tools raise the same exception at once, and nobody waits for either."""
        for _ in range(2):
            self._say("raise", "CRASH", "--task", fault.target, "--id", f"chaos-{fault.number}")
        return (fault.target,)

    def _say(self, *words: str) -> None:
        """Begin a command of the product that nobody waits for."""
        self._saying = [each for each in self._saying if each.poll() is None]
        child = subprocess.Popen(
            [WHESL, *words],
            env=self._environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._saying.append(child)

    def _signal(self, fault: Fault) -> tuple[str, ...] | None:
        """Kill or stop a process; a stopped daemon goes on later, a stopped rank stays."""
        role, word = fault.kind.split()
        found = self._of(role, "" if role == "coordinator" else fault.target)
        if not found:
            return None
        process = found[int(fault.pick * len(found))]
        if not observing.alive(process):
            return None
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL if word == "killed" else signal.SIGSTOP)
        if role == "isolator":
            self._kills.setdefault(fault.target, deque()).append(time.monotonic())
        if role == "coordinator":
            self._down.add(role)
        if word == "stopped" and role != "rank":
            self._later(fault, lambda: self._continue(process, role))
        elif role == "coordinator":
            self._later(fault, self._start_coordinator)
        return () if role == "coordinator" else (fault.target,)

    def _continue(self, process: Process, role: str) -> None:
        if observing.alive(process):
            os.kill(process.pid, signal.SIGCONT)
        self._is_back(role)

    def _start_coordinator(self) -> None:
        """As an operator's supervision would; the next turn tries again where it fails."""
        self._is_back("coordinator")
        if self._starting is None or self._starting.poll() is not None:
            self._starting = subprocess.Popen(
                [WHESL, "coordinator", "start"],
                env=self._environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
