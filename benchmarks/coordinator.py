"""The coordinator with ten thousand isolators, and with a hundred thousand tasks in one workflow.

    python benchmarks/coordinator.py [--quick] [--json FILE] [--only WORD]

The coordinator is the real one, with its journal on a disk. The isolators are real sockets with CURVE in
two processes (``crowd.py``), which share the machine with it. The floor is a bare ROUTER with CURVE that
answers each frame with one of its own, in the same run and with the same clients.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
from measure import Figure, NotHereError, arguments, percentile, run_parts, scratch

from whesl.language.rules_file import load_rules
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.client import start
from whesl.runtime.journal import snapshot
from whesl.runtime.wire.client import request
from whesl.runtime.wire.keys import KeyPair, user_keys
from whesl.runtime.wire.messages import RegisterWorkflow

ISOLATORS = 10_000
TASKS = 100_000
PROCESSES = 2
HEARTBEAT = 5.0
EXCEPTIONS = 40.0  # a second, over all isolators
PATIENCE = 300.0
GROUP = 100
_HERE = Path(__file__).parent
RULES = """\
DECLARE ENTITY WMS, JOB, DEPENDENT_JOB
DECLARE EXCEPTION_TYPE WORKFLOW_LEVEL, JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE EXCEPTION DISK WORKFLOW_LEVEL JOB [t] LIMIT 1000
EXCEPTION DETECTION DISK LOG "No space left on device" stdout
EXCEPTION RECOVERY STEP DISK DEPENDENT_JOB FILESYSTEM.REPLACE {"filesystem": "/l2", "defaultpath": "/l"}
EXCEPTION RECOVERY STEP DISK JOB JOB.REPLACE {"environment": {"AFTER": "1"}}
DECLARE EXCEPTION SPREAD WORKFLOW_LEVEL JOB [t] LIMIT 1000
EXCEPTION DETECTION SPREAD LOG "link is slow" stdout
EXCEPTION RECOVERY STEP SPREAD JOB JOB.REPLACE {"environment": {"AFTER": "1"}}
DECLARE EXCEPTION EVERYWHERE WORKFLOW_LEVEL JOB [t] LIMIT 1000
EXCEPTION DETECTION EVERYWHERE EXCEPTION SPREAD 20 TIMES WITHIN 60
EXCEPTION RECOVERY STEP EVERYWHERE DEPENDENT_JOB FILESYSTEM.REPLACE {"filesystem": "/l3", "defaultpath": "/l"}
EXCEPTION RECOVERY STEP EVERYWHERE JOB JOB.REPLACE {"environment": {"AFTER": "2"}}
"""
# A server that answers and does nothing else.
_BARE = """\
import sys, zmq
context = zmq.Context()
router = context.socket(zmq.ROUTER)
router.curve_server = True
router.curve_publickey, router.curve_secretkey = (key.encode() for key in sys.argv[1:3])
router.sndhwm = router.rcvhwm = 20000
router.backlog = 4096
router.handshake_ivl = 60000
print(router.bind_to_random_port("tcp://127.0.0.1"), flush=True)
while True:
    router.send_multipart(router.recv_multipart())
"""


def main() -> None:
    """Measure."""
    parts = [("isolators", _isolators), ("hierarchy", _hierarchy)]
    run_parts(arguments("The coordinator with many isolators and tasks."), parts)


# The machine --------------------------------------------------------------------------------------------


def _descriptors(wanted: int) -> None:
    """Have so many descriptors in this process and those that it starts. Raises NotHereError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise NotHereError(f"{wanted} descriptors in a process are needed, the hard limit is {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Crowds:
    """The processes that play isolators."""

    def __init__(self, home: Path, count: int) -> None:
        each = count // PROCESSES
        # Two descriptors for each socket: its connection, and its mailbox.
        _descriptors(2 * each + 200)
        command = [sys.executable, str(_HERE / "crowd.py"), str(home), str(each)]
        self._processes = [
            subprocess.Popen(
                [*command, str(n * each)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for n in range(PROCESSES)
        ]
        self._answers()

    def tell(self, what: str, *each: dict[str, Any], **order: Any) -> None:
        """Give all of them an order; ``each`` has what differs."""
        for number, process in enumerate(self._processes):
            assert process.stdin is not None
            own = each[number] if each else {}
            process.stdin.write(json.dumps({"do": what, **order, **own}) + "\n")
            process.stdin.flush()

    def answers(self) -> list[dict[str, Any]]:
        """Wait for what they say to the last order."""
        return self._answers()

    def ask(self, what: str, *each: dict[str, Any], **order: Any) -> list[dict[str, Any]]:
        """Give an order and wait."""
        self.tell(what, *each, **order)
        return self._answers()

    def _answers(self) -> list[dict[str, Any]]:
        found = []
        for process in self._processes:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("a process that plays isolators has ended")
            found.append(json.loads(line))
            if "error" in found[-1]:
                raise TimeoutError(found[-1]["error"])
        return found

    def used(self) -> float:
        """Seconds of processor time so far, of all of them."""
        return sum(_used(psutil.Process(process.pid)) for process in self._processes)

    def close(self) -> None:
        """End them."""
        for process in self._processes:
            process.kill()
            process.wait()


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


class _Coordinator:
    """The real one, in its own process."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.process = self._start()

    def _start(self) -> psutil.Process:
        endpoint = start.ensure_running(self._home)
        self.url, self.key = f"tcp://127.0.0.1:{endpoint.port}", endpoint.public_key
        return psutil.Process(endpoint.pid)

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process.pid, 0)

    def restart(self) -> float:
        """Start it on its journal; seconds until it answers."""
        begun = time.monotonic()
        self.process = self._start()
        return time.monotonic() - begun

    def used(self) -> float:
        """Seconds of processor time so far, all threads."""
        return _used(self.process)

    def memory(self, *, most: bool = False) -> float:
        """Resident megabytes: now, or the most so far."""
        word = "VmHWM:" if most else "VmRSS:"
        for row in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if row.startswith(word):
                return int(row.split()[1]) / 1000
        raise NotHereError("the kernel does not tell what memory a process has")

    def stop(self) -> None:
        """End it in order."""
        start.stop(self._home)


@contextlib.contextmanager
def _running(count: int) -> Iterator[tuple[Path, _Coordinator, _Crowds]]:
    with scratch() as place, contextlib.ExitStack() as stack:
        home = place / "home"
        home.mkdir(mode=0o700)
        user_keys(home)
        os.environ |= {"WHESL_HOME": str(home), start.BIND_VARIABLE: "127.0.0.1"}
        os.environ["WHESL_LOCAL"] = str(place / "no-cluster")
        crowds = _Crowds(home, count)
        stack.callback(crowds.close)
        coordinator = _Coordinator(home)
        stack.callback(coordinator.stop)
        yield place, coordinator, crowds


def _workflow(place: Path, count: int) -> RegisterWorkflow:
    """A study of many groups: a set-up, simulations, their analyses, what collects them; one task first."""
    tasks = [_task(0)]
    for number in range(1, count):
        place_in, first = (number - 1) % GROUP, (number - 1) // GROUP * GROUP + 1
        half = GROUP // 2
        if place_in == 0:
            parents: tuple[int, ...] = (0,)
        elif place_in < half:
            parents = (first,)
        elif place_in < GROUP - 1:
            parents = (number - half + 1,)
        else:
            parents = tuple(range(first + half, first + GROUP - 1))
        tasks.append(_task(number, parents))
    rules = place / "rules.esl"
    rules.write_text(RULES)
    spec = load_rules((str(rules),), place / "cache", any_job=False)
    workflow = Workflow(id="wf", name="wf", wms="batch", root="/scratch/wf", tasks=tuple(tasks))
    return RegisterWorkflow(workflow=workflow, spec=msgspec.json.encode(spec), rjms="local")


def _task(number: int, parents: tuple[int, ...] = ()) -> Task:
    name = f"wf/t_{number}"
    return Task(
        id=name,
        step="t",
        instance=str(number),
        workspace=f"/scratch/project/{name}",
        parents=tuple(f"wf/t_{parent}" for parent in parents),
    )


# Parts --------------------------------------------------------------------------------------------------


def _floor(count: int, rounds: int) -> float:
    """Seconds until all were answered by a server that does nothing else; the best of some rounds."""
    keys = KeyPair.generate()
    command = [sys.executable, "-c", _BARE, keys.public, keys.secret]
    taken = []
    for _ in range(rounds):
        # Sockets of its own for each round: libzmq 4.3.5 may end a process whose busy connections are closed
        # (zeromq/libzmq#4841), which is nothing to measure.
        with scratch() as place, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = f"tcp://127.0.0.1:{server.stdout.readline().strip()}"
            home = place / "home"
            home.mkdir(mode=0o700)
            crowds = _Crowds(home, count)
            try:
                answers = crowds.ask("bare", url=url, key=keys.public)
            finally:
                crowds.close()
                server.kill()
            taken.append(float(max(answer["seconds"] for answer in answers)))
            print(f"bare ROUTER: {taken[-1]:.2f} s", file=sys.stderr, flush=True)
    return min(taken)


def _isolators(quick: bool) -> list[Figure]:
    count = 1000 if quick else ISOLATORS
    seconds = 10.0 if quick else 30.0
    _descriptors(count + 200)
    floor = _floor(count, 1 if quick else 2)
    with _running(count) as (place, coordinator, crowds):
        home = place / "home"
        reply = request(home, _workflow(place, count), PATIENCE)
        assert reply.ok, reply.error
        storm = max(a["seconds"] for a in crowds.ask("storm", url=coordinator.url, key=coordinator.key))
        of = f"{count:,} isolators"
        figures = [
            Figure(f"all of {of} registered", storm, "s", floor=floor),
            Figure("the same, of a bare ROUTER", storm / floor, "times", 2.5),
        ]
        figures += _heartbeats(crowds, coordinator, seconds)
        figures += _decisions(crowds, seconds)
        figures.append(Figure(f"memory, {of}: most so far", coordinator.memory(most=True), "MB", 600.0))
        figures += _killed(coordinator, crowds)
    return figures


def _heartbeats(crowds: _Crowds, coordinator: _Coordinator, seconds: float) -> list[Figure]:
    before, theirs, begun = coordinator.used(), crowds.used(), time.monotonic()
    crowds.ask("beat", seconds=seconds, interval=HEARTBEAT, decisions=0.0)
    taken = time.monotonic() - begun
    share, rest = 100 * (coordinator.used() - before) / taken, 100 * (crowds.used() - theirs) / taken
    return [
        Figure(f"share of a core, a heartbeat each in {HEARTBEAT:g} s", share, "%", 30.0),
        Figure("the same, of those who play the isolators", rest, "%"),
    ]


def _decisions(crowds: _Crowds, seconds: float) -> list[Figure]:
    answers = crowds.ask("beat", seconds=seconds, interval=HEARTBEAT, decisions=EXCEPTIONS / PROCESSES)
    delays = [1e3 * delay for answer in answers for delay in answer["delays"]]
    asked = sum(answer["asked"] for answer in answers)
    note = f"of {len(delays)}, {EXCEPTIONS:g} exceptions a second"
    if len(delays) < asked:
        note += f"; {asked - len(delays)} not decided within half a minute"
        delays += [math.inf] * (asked - len(delays))
    return [
        Figure("exception to decision, beside the heartbeats, p50", percentile(delays, 0.5), "ms", note=note),
        Figure(
            "exception to decision, beside the heartbeats, p99",
            percentile(delays, 0.99),
            "ms",
            50.0,
            note=note,
        ),
    ]


def _killed(coordinator: _Coordinator, crowds: _Crowds) -> list[Figure]:
    """The coordinator is killed and started again on its journal."""
    coordinator.kill()
    crowds.tell("back")
    up = coordinator.restart()
    back = max(answer["seconds"] for answer in crowds.answers())
    return [
        Figure("killed, started again: until it answers", up, "s"),
        Figure("killed, started again: until all have been answered", back, "s"),
    ]


def _hierarchy(quick: bool) -> list[Figure]:
    count = 10_000 if quick else TASKS
    of = f"{count:,} tasks"
    with _running(200 * PROCESSES) as (place, coordinator, crowds):
        home = place / "home"
        message = _workflow(place, count)
        begun = time.monotonic()
        reply = request(home, message, PATIENCE)
        figures = [Figure(f"a workflow of {of}: registered", time.monotonic() - begun, "s")]
        assert reply.ok, reply.error
        crowds.ask("storm", url=coordinator.url, key=coordinator.key)
        half = count // PROCESSES
        shares = [{"first": n * half, "last": (n + 1) * half} for n in range(PROCESSES)]
        taken = max(answer["seconds"] for answer in crowds.ask("run", *shares))
        figures.append(Figure(f"{of} begun, reported and finished, a second", count / taken, "tasks"))
        figures.append(Figure(f"memory, {of}: most so far", coordinator.memory(most=True), "MB", 600.0))
        figures.append(Figure(f"whesl status --json, {of}", _status(home, count), "s"))
        coordinator.kill()
        figures.append(Figure(f"killed, started again with {of}", coordinator.restart(), "s"))
        figures.append(Figure(f"whesl status --json, {of}, after that", _status(home, count), "s"))
        coordinator.kill()
        for path in snapshot.found(home / "coordinator"):
            path.unlink()
        figures.append(Figure("the same on the journal alone", coordinator.restart(), "s"))
        figures.append(Figure("memory after that", coordinator.memory(), "MB", 600.0))
    return figures


def _status(home: Path, count: int) -> float:
    begun = time.monotonic()
    command = [sys.executable, "-m", "whesl", "status", "--json"]
    result = subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE)
    taken = time.monotonic() - begun
    rows = msgspec.json.decode(result.stdout)["workflows"][0]["tasks"]
    assert len(rows) == count and all(row["state"] == "completed" for row in rows)
    return taken


if __name__ == "__main__":
    main()
