"""An attempt's processes on this machine: found by token, session and descent; signalled; killed.

The processes are read from ``/proc`` (proc(5)) in one pass: fencing repeats the pass until no process is
left, and the restarted program waits for that.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from whesl.managers.resource import manager_table
from whesl.managers.resource.command_call import send
from whesl.managers.resource.slurm import attempt_processes_by_slurmstepd as slurmstepd
from whesl.model import attempt_rlimit_mark
from whesl.runtime.locking import procfs
from whesl.runtime.node_agent.fencing.shm_cleanup import Segments

TOKEN_VARIABLE = "WHESL_ATTEMPT_TOKEN"  # noqa: S105  # a name, not a secret
FENCE_TIMEOUT = 10.0
EXEC_TIMEOUT = 2.0  # seconds for a process in execve(2) to get its environment and command line
_LOOK_EXEC = 0.0005
AGENT = "whesl.runtime.node_agent.agent"  # an agent's module, as on its command line
_PF_KTHREAD = 0x200000  # flag of a kernel thread (include/linux/sched.h)
_kernel: set[int] = set()  # threads of the kernel, most entries of a node's /proc
_bare: set[int] = set()  # processes that never get an environment and a command line
_LISTINGS = 8  # limit of listings of /proc in a pass, since other programs start processes all the time
# Seconds between two passes over all processes, unless all seen processes have ended before.
_LOOK_FIRST = 0.004
_LOOK_PATIENT = 0.016
_LOOK_LONGEST = 0.1
# Launchers that end by themselves after their ranks were killed. After a killed srun, slurmstepd tries to
# reach it for seconds, during which Slurm counts the nodes as busy for the next step.
_ENDS_BY_ITSELF = frozenset({"srun"})


class Process(msgspec.Struct, frozen=True):
    """One process. ``started`` (clock ticks since boot) distinguishes processes with the same number.

    ``mark``: the soft limit of RLIMIT_RSS, bytes (``attempt_rlimit_mark``). ``thread``: number of a living
    thread, by which /proc shows the memory and environment of a process whose first thread has ended; else 0.
    """

    pid: int
    parent: int
    group: int
    session: int
    state: str
    started: int
    name: str
    mark: int = attempt_rlimit_mark.UNLIMITED
    kernel: bool = False  # whether it is a thread of the kernel
    thread: int = 0

    @property
    def shown_by(self) -> int:
        """The number by which /proc shows the process's memory and environment."""
        return self.thread or self.pid


# Placeholder for processes that may exist where /proc cannot be read.
_UNSEEN = Process(pid=0, parent=0, group=0, session=0, state="?", started=0, name="/proc unreadable")


class Look(msgspec.Struct, frozen=True):
    """The processes of an attempt. ``strange``: steps of this job with an unknown owner."""

    found: list[Process]
    strange: tuple[str, ...] = ()


class Killing(msgspec.Struct, frozen=True, kw_only=True):
    """The number of killed processes, and the processes that are left.

    ``spared``: launchers were given time since ``launchers_ended`` was last called. ``forced``: a launcher
    that ends by itself had to be killed. ``launchers``: the process numbers of the seen launchers.
    ``strange``: as in the last ``Look``. ``open_files``: files that were open for writing.
    """

    count: int
    left: list[Process]
    spared: bool = False
    forced: bool = False
    launchers: tuple[int, ...] = ()
    strange: tuple[str, ...] = ()
    open_files: tuple[bytes, ...] = ()


def read(pid: int) -> Process | None:
    """Return a process, None when there is none. Raises OSError when /proc cannot be read."""
    content = procfs.content(f"/proc/{pid}/stat")
    if content is None:
        return None
    # A process's name may contain parentheses and spaces; it ends at the last parenthesis.
    before, _, after = content.rpartition(b")")
    fields = after.split()
    thread, state = procfs.living_thread(pid, fields)
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        state=state,
        started=int(fields[19]),
        name=before.partition(b"(")[2].decode(errors="replace"),
        mark=int(fields[22]),
        kernel=bool(int(fields[6]) & _PF_KTHREAD),
        thread=0 if thread == pid else thread,
    )


def command_line(pid: int) -> bytes:
    """Return a process's command line as the kernel has it, empty when the process is gone."""
    return procfs.content(f"/proc/{pid}/cmdline") or b""


def alive(pid: int, started: int) -> bool:
    """Whether a process still runs; a zombie does not. True where that cannot be observed.

    Args:
        pid: the process's number.
        started: its start time in clock ticks after the boot, as ``read`` returns it.
    """
    try:
        process = read(pid)
    except OSError:
        return True
    return process is not None and process.started == started and process.state not in "ZX"


def everything() -> list[Process]:
    """Return all processes of this machine except zombies and threads of the kernel.

    Processes started meanwhile are read as well: of a process that forked and ended before it was read, the
    child would be missed otherwise.
    """
    living = []
    known: set[int] = set()
    for _ in range(_LISTINGS):
        new = {int(name) for name in os.listdir("/proc") if name.isdigit()} - known  # noqa: PTH208  # strings
        if not new:
            break
        known |= new
        found = (read(pid) for pid in new if pid not in _kernel or not _still_kernel(pid))
        for process in found:
            if process is None or process.state in "ZX":
                continue
            if process.kernel:
                _kernel.add(process.pid)
            else:
                living.append(process)
    return living


def _still_kernel(pid: int) -> bool:
    """Whether a number is still a kernel thread's: kernel threads have no session, tasks have one."""
    with contextlib.suppress(OSError):
        if os.getsid(pid) == 0:
            return True
    _kernel.discard(pid)
    return False


def of_attempt(
    token: str,
    session: int | None = None,
    *,
    spare: Iterable[int] = (),
    node: str = "",
    steps: Collection[str] = (),
) -> list[Process]:
    """Return the processes of an attempt on this machine, as ``look`` finds them.

    Args:
        token: the attempt's token, or the common prefix of the task's tokens (``look``).
        session: the runner's process number, if it was started here.
        spare: numbers of processes that are never found (the caller's own).
        node: the node whose processes are looked for; '' for all.
        steps: Slurm's steps that are known to be the attempt's.
    """
    return look(token, session, spare=spare, node=node, steps=steps).found


def look(
    token: str,
    session: int | None = None,
    *,
    spare: Iterable[int] = (),
    node: str = "",
    steps: Collection[str] = (),
) -> Look:
    """Look for the processes of an attempt on this machine.

    Args:
        token: the attempt's token, as in the processes' environment; or the common prefix of the task's
            tokens, which ends in a full stop.
        session: the runner's process number, if it was started here. Session 0 is that of all processes whose
            leader is outside of this container, and of none of an attempt.
        spare: numbers of processes that are never found (the caller's own).
        node: a node's name, to leave out processes whose environment names another node (SLURMD_NODENAME),
            since several nodes may be on one machine; '' for all.
        steps: Slurm's steps that are known to be the attempt's.

    A process is found by its mark, its environment, the runner's session, or the session, descent or step of
    Slurm that it shares with a found process: a program that clears its environment and makes a session of
    its own is still found.
    """
    end = "" if token.endswith(".") else "\0"
    wanted = f"\0{TOKEN_VARIABLE}={token}{end}".encode()
    spared = {os.getpid(), *spare}
    processes = {process.pid: process for process in everything() if process.pid not in spared}
    children = slurmstepd.children_of(processes.values())
    jobs, keepers = manager_table.jobs_of(os.environ), _step_daemons(processes.values())
    job = jobs.get(slurmstepd.JOB, "")
    if job:
        for pid in slurmstepd.below(slurmstepd.of_other_jobs(keepers, job), children):
            processes.pop(pid, None)
    chosen = {
        pid
        for pid, process in processes.items()
        if (session and process.session == session) or _belongs(process, processes, token, wanted, node, jobs)
    }
    daemons = slurmstepd.of_launchers(keepers, slurmstepd.own(os.environ))
    if not chosen and not daemons:
        return Look([])
    chosen |= slurmstepd.below(chosen, children) & processes.keys()
    led = {pid for pid in chosen if processes[pid].session == pid}
    chosen |= {pid for pid, process in processes.items() if process.session in led}
    if daemons:
        keeper = {step: pid for pid, step in daemons.items()}
        for process in processes.values():
            # A process that has left its parent is a child of init, but its cgroup still names its step.
            if process.parent == 1 and (step := _step_of(process.pid)) in keeper:
                children.setdefault(keeper[step], []).append(process.pid)
        chosen |= slurmstepd.belonging(daemons, chosen, children, steps) & processes.keys()
    found = [processes[pid] for pid in sorted(chosen)]
    strange = []
    for keeper_pid, step in daemons.items() if job else ():
        rest = (slurmstepd.below([keeper_pid], children) & processes.keys()) - chosen
        if rest and not _accounted(processes[pid] for pid in rest):
            strange.append(step)
    return Look(found, tuple(strange))


def _step_daemons(processes: Iterable[Process]) -> dict[int, str]:
    """Return the names of the steps that Slurm's step daemons run, by the daemon's process number."""
    return {
        process.pid: slurmstepd.named(command_line(process.pid))
        for process in processes
        if process.name == slurmstepd.DAEMON
    }


def _step_of(pid: int) -> str:
    return slurmstepd.of_cgroup(procfs.content(f"/proc/{pid}/cgroup") or b"")


def _accounted(processes: Iterable[Process]) -> bool:
    """Whether any of the processes has the mark or token of an attempt, or is an agent."""
    variable = f"\0{TOKEN_VARIABLE}=".encode()
    return any(
        attempt_rlimit_mark.is_mark(process.mark)
        or f"\0{AGENT}\0".encode() in command_line(process.pid)
        or variable in b"\0" + (environment_of(process.shown_by) or b"")
        for process in processes
    )


def environment_of(pid: int) -> bytes | None:
    """Return the environment that a process was started with; None for another user's or a gone process.

    Within execve(2), a process has neither environment nor command line: both appear at once, when the new
    program's stack is made (fs/binfmt_elf.c, fs/proc/base.c: "spawned far enough"). That is after descriptors
    were closed, for which the starter of the process waits. This function waits for both to appear, so that
    no process is missed.
    """
    content = procfs.content(f"/proc/{pid}/environ")
    if content != b"" or pid in _bare:
        return content
    deadline = time.monotonic() + EXEC_TIMEOUT
    while not command_line(pid):
        try:
            os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
        except OSError:
            return content  # a thread of the kernel, a zombie, or gone
        if time.monotonic() >= deadline:
            _bare.add(pid)  # the process has no environment, and later looks do not wait for one
            return content
        time.sleep(_LOOK_EXEC)
    return procfs.content(f"/proc/{pid}/environ")


def _belongs(
    process: Process,
    processes: Mapping[int, Process],
    token: str,
    wanted: bytes,
    node: str,
    jobs: Mapping[str, str],
) -> bool:
    environment = b"\0" + (environment_of(process.shown_by) or b"") + b"\0"
    # Marks can be read of all users' processes, but other users' processes cannot be killed.
    marked = attempt_rlimit_mark.carries(process.mark, token) and procfs.is_own(process.pid)
    if not marked and wanted not in environment:
        return False
    # A job that the attempt has submitted has inherited mark and token.
    for name, job in jobs.items():
        told = environment.partition(f"\0{name}=".encode())[2].partition(b"\0")[0]
        if told and told != job.encode():
            return False
    return not node or _runs_on(node, process, processes)


def _runs_on(node: str, process: Process, processes: Mapping[int, Process]) -> bool:
    """Whether the environment of a process, or of its nearest ancestor with a node, names the node."""
    above = process
    for _ in range(len(processes)):  # limited, since reused process numbers may form a cycle
        environment = b"\0" + (environment_of(above.shown_by) or b"") + b"\0"
        told = slurmstepd.node_told(environment)
        if told != b"":
            return told is None or told == node.encode()
        if above.parent not in processes:
            break
        above = processes[above.parent]
    return True


def kill_all(
    token: str,
    session: int | None = None,
    *,
    spare: Iterable[int] = (),
    node: str = "",
    steps: Collection[str] = (),
    patience: float = 0.0,
    timeout: float = FENCE_TIMEOUT,
    launchers_ended: Callable[[], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Killing:
    """Kill an attempt's processes until a pass over all processes finds none.

    SIGKILL also ends stopped processes. Between two passes a process may fork, so only an empty pass counts.
    Shared memory that the processes leave behind is removed.

    Args:
        token, session, spare, node, steps: as ``look``.
        patience: seconds for launchers that end by themselves to do so.
        timeout: limit in seconds, since a process that waits inside the kernel does not die meanwhile.
        launchers_ended: called when all spared launchers have ended, before the next pass: they may have
            started processes on other nodes, and the search for these need not wait for the pass.
        clock: returns monotonic seconds.
    """
    began = clock()
    killed: set[tuple[int, int]] = set()
    pause = _LOOK_FIRST
    spared = False  # whether launchers were spared since the last call of ``launchers_ended``
    forced = False
    launchers: set[int] = set()
    segments = Segments()
    while True:
        try:
            seen = look(token, session, spare=spare, node=node, steps=steps)
        except OSError:  # without a look, no process is known to be gone
            seen = Look([_UNSEEN])
        left = seen.found
        if not left or clock() > began + timeout:
            with contextlib.suppress(OSError):
                segments.remove(lambda: [process.shown_by for process in everything()])
            return Killing(
                count=len(killed - {(process.pid, process.started) for process in left}),
                left=left,
                spared=spared,
                forced=forced,
                launchers=tuple(launchers),
                strange=seen.strange,
            )
        patient = clock() < began + patience
        launchers.update(process.pid for process in left if process.name in _ENDS_BY_ITSELF)
        if left == [_UNSEEN]:
            time.sleep(pause)
            continue
        segments.note(process.shown_by for process in left)
        for process in left:
            if patient and process.name in _ENDS_BY_ITSELF:
                spared = True
                # A launcher's end takes some milliseconds, and a look meanwhile would only slow it down.
                pause = _LOOK_PATIENT
                continue
            forced = forced or process.name in _ENDS_BY_ITSELF
            send(process.pid, signal.SIGKILL)
            killed.add((process.pid, process.started))
        ended = until_ended(left, pause)
        if spared and ended and launchers_ended is not None:
            launchers_ended()
            spared = False
        pause = min(pause * 2, _LOOK_PATIENT if patient else _LOOK_LONGEST)


def until_ended(ending: Iterable[Process], limit: float) -> bool:
    """Wait until processes have ended, zombies included; return False when that took too long.

    Args:
        ending: processes that were killed or are about to end.
        limit: seconds.
    """
    deadline = time.monotonic() + limit
    poller = select.poll()
    with contextlib.ExitStack() as held:
        waiting = set()
        for process in ending:
            try:
                descriptor = procfs.pidfd(process.pid)
            except OSError:  # without a descriptor, the time limit decides
                time.sleep(limit)
                return False
            if descriptor is None:
                continue
            held.callback(os.close, descriptor)
            poller.register(descriptor, select.POLLIN)
            waiting.add(descriptor)
        while waiting and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in poller.poll(left * 1000):
                poller.unregister(descriptor)
                waiting.discard(descriptor)
    return not waiting


def end(token: str, session: int | None, *, patience: float = 2.0) -> None:
    """Send an attempt SIGTERM, and wait for its end, so that its launcher ends the ranks on other nodes.

    Args:
        token, session: as ``look``.
        patience: seconds to wait.
    """
    deadline = time.monotonic() + patience
    with contextlib.suppress(OSError):  # the pass that kills finds processes that could not be read here
        for process in of_attempt(token, session):
            send(process.pid, signal.SIGTERM)
        while time.monotonic() < deadline and any(p.pid != session for p in of_attempt(token, session)):
            time.sleep(0.02)


def end_at_once(token: str, session: int | None, *, limit: float = 2.0) -> None:
    """Kill an attempt's processes on this machine within a time limit.

    Args:
        token, session: as ``look``.
        limit: seconds.
    """
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):  # without a look, no process is known to be gone
            left = of_attempt(token, session)
            for process in left:
                send(process.pid, signal.SIGKILL)
            if not left:
                return
        time.sleep(_LOOK_FIRST)
