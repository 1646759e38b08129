"""What prioritized checkpoints cost: a poll, a program without predictions, and a request to every node.

    python benchmarks/ckpt.py [--quick] [--json FILE] [--only WORD]

Agents are connections with CURVE in two processes (``ckpt_agents.c``); each decrypts its own messages and
answers the coordinator as a node's agent does. The bare ROUTER sends each of the same agents a message of the
same size, and does nothing else. A time ends when an agent has read the message.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil
import zmq
from measure import Figure, NotHereError, arguments, median, percentile, run_parts, scratch, until
from zmq.utils import z85

from whesl.api.checkpoints import Client
from whesl.checkpoints import messages
from whesl.checkpoints.core.states_and_events import Ask, Requested
from whesl.checkpoints.job_launch import page_of
from whesl.checkpoints.messages import StatusAsked
from whesl.checkpoints.rank_shared_memory import Page
from whesl.checkpoints.rendezvous import Address, find
from whesl.runtime.wire.curve_sockets import dealer
from whesl.runtime.wire.keys import KeyPair, user_keys

AGENTS = Path(__file__).with_name("ckpt_agents.c")
CLIENT = Path(__file__).resolve().parents[1] / "clients" / "c"
LOOP = """\
#include <stdio.h>
#include <time.h>
#include "whesl_ckpt.h"
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}
int main(void)
{
    whesl_ckpt *ckpt = whesl_ckpt_init(0, 1);
    static volatile unsigned long word;
    const long count = 20000000;
    double begin = now();
    for (long i = 0; i < count; i++) if (word) return 1;
    double middle = now();
    for (long i = 0; i < count; i++) if (whesl_ckpt_poll(ckpt)) return 1;
    printf("%g %g\\n", (now() - middle) / count, (middle - begin) / count);
    whesl_ckpt_finish(ckpt);
    return 0;
}
"""
# Works for about a millisecond a step and polls, or does not; tells its wall time and processor time.
STEPS = """\
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "whesl_ckpt.h"
static double since(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main(int argc, char **argv)
{
    long steps = atol(argv[1]), work = atol(argv[2]);
    int polls = argc > 3;
    whesl_ckpt *ckpt = polls ? whesl_ckpt_init(0, 1) : NULL;
    volatile double sum = 0;
    double wall = since(CLOCK_MONOTONIC), used = since(CLOCK_PROCESS_CPUTIME_ID);
    for (long step = 0; step < steps; step++) {
        for (long i = 0; i < work; i++) sum += 1e-9 * (double)(i ^ step);
        if (polls && whesl_ckpt_poll(ckpt)) return 1;
    }
    printf("%.9f %.9f\\n", since(CLOCK_MONOTONIC) - wall, since(CLOCK_PROCESS_CPUTIME_ID) - used);
    if (polls) whesl_ckpt_finish(ckpt);
    return 0;
}
"""
PROCESSES = 2


def main() -> None:
    """Measure."""
    run_parts(arguments(__doc__ or ""), [("poll", _poll), ("quiet", _quiet), ("fan-out", _fan_out)])


def _poll(quick: bool) -> list[Figure]:
    """Measure a poll when nothing happens, in both languages."""
    repetitions = 3 if quick else 9
    with scratch() as place:
        loop = _compiled(place, "loop", LOOP)
        page = Page(place / "page", place)
        os.environ["WHESL_CKPT_PAGE"] = str(place / "page")
        told = [
            subprocess.run([loop], capture_output=True, text=True, check=True).stdout.split()
            for _ in range(repetitions)
        ]
        client = Client(1, 2)
        python = [_python(client) for _ in range(repetitions)]
        client.finish()
        page.close(remove=True)
    floor = median([float(floor) for _, floor in told])
    return [
        Figure(
            "poll in C when nothing happens", median([float(each) for each, _ in told]), "ns", 20, floor=floor
        ),
        Figure(
            "poll in Python when nothing happens",
            median([each for each, _ in python]),
            "ns",
            300,
            floor=median([floor for _, floor in python]),
            note="floor: a call of an empty method",
        ),
    ]


def _compiled(place: Path, name: str, text: str) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotHereError("no C compiler is on PATH")
    (place / f"{name}.c").write_text(text)
    sources = [str(place / f"{name}.c"), str(CLIENT / "src" / "whesl_ckpt.c")]
    subprocess.run(
        [compiler, "-O2", f"-I{CLIENT / 'include'}", *sources, "-o", str(place / name)], check=True
    )
    return place / name


def _quiet(quick: bool) -> list[Figure]:
    """Measure what a program pays that polls each millisecond, with an agent beside it and no prediction."""
    pairs, steps = (3, 500) if quick else (10, 10_000)
    with scratch() as place:
        program = _compiled(place, "steps", STEPS)
        home = place / "home"
        home.mkdir(mode=0o700)
        environment = {**os.environ, "WHESL_HOME": str(home), "WHESL_CKPT_HOST": "127.0.0.1"}
        whesl = [sys.executable, "-m", "whesl", "ckpt"]
        name = f"quiet-{os.getpid()}"
        serve = subprocess.Popen(
            [*whesl, "serve", "--name", name, "--dir", str(place / "kept")],
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: find(home / "ckpt" / name), "the coordinator")
        agent = subprocess.Popen(
            [*whesl, "agent", "--name", name, "--node", "n0"], env=environment, stderr=subprocess.DEVNULL
        )
        page = page_of(name, "alone", "n0")
        environment["WHESL_CKPT_PAGE"] = str(page)

        def one(*polls: str) -> tuple[float, float]:
            command = [str(program), str(steps), str(work), *polls]
            told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            wall, used = map(float, told.stdout.split())
            return wall, used

        try:
            until(page.exists, "the agent")
            work = 100_000
            steps, wanted = 100, steps
            work = max(int(work * 0.001 * steps / one()[1]), 1)  # a millisecond of the processor
            steps = wanted
            before, begin = _used(agent), time.monotonic()
            told = [(one(), one("polls")) for _ in range(pairs)]
            share = 100 * (_used(agent) - before) / (time.monotonic() - begin)
        finally:
            for process in (agent, serve):
                process.terminate()
                process.wait()
    wall, used = ([100 * (with_it[which] / plain[which] - 1) for plain, with_it in told] for which in (0, 1))
    what = "polled each ms, no prediction"
    return [
        Figure(f"{what}: more processor time", median(used), "%", 0.1, note=_spread(used)),
        Figure(f"{what}: more wall time", median(wall), "%", note=_spread(wall)),
        Figure(f"{what}: the agent, of one processor", share, "%", 0.1),
    ]


def _used(process: subprocess.Popen[bytes]) -> float:
    return float(sum(psutil.Process(process.pid).cpu_times()[:2]))


def _spread(values: list[float]) -> str:
    return f"median of {len(values)} pairs, {min(values):.3f} to {max(values):.3f}"


class _Empty:
    def poll(self) -> bool:
        return False


def _python(client: Client, count: int = 300_000) -> tuple[float, float]:
    times = []
    for each in (client, _Empty()):
        begin = time.perf_counter_ns()
        for _ in range(count):
            each.poll()
        times.append((time.perf_counter_ns() - begin) / count)
    return times[0], times[1]


def _fan_out(quick: bool) -> list[Figure]:
    """Measure how long a request takes to come to all agents."""
    count, rounds = (500, 3) if quick else (10_000, 10)
    with scratch() as place:
        agents = _agents(place)
        home = place / "home"
        home.mkdir(mode=0o700)
        keys = user_keys(home)
        bare = _bare(agents, count, rounds, keys.coordinator, keys.client)
        environment = {**os.environ, "WHESL_HOME": str(home), "WHESL_CKPT_HOST": "127.0.0.1"}
        command = [sys.executable, "-m", "whesl", "ckpt", "serve", "--name", "bench", "--arrival", "300"]
        serve = subprocess.Popen(
            [*command, "--dir", str(place / "kept")], env=environment, stderr=subprocess.DEVNULL
        )
        try:
            address = until(lambda: find(home / "ckpt" / "bench"), "the coordinator")
            told = _asked(agents, count, rounds, address, psutil.Process(serve.pid), keys.client)
        finally:
            serve.kill()
            serve.wait()
    what = f"request until {count} agents know"
    return [
        Figure(
            f"{what}, p99",
            percentile(told.times, 0.99),
            "ms",
            250,
            floor=percentile(bare.times, 0.99),
            note=f"{rounds} requests; floor: a bare ROUTER",
        ),
        Figure(f"{what}, the last", max(told.times), "ms", floor=max(bare.times)),
        Figure(
            f"{what}: processor time of the coordinator",
            told.used,
            "ms",
            floor=bare.used,
            note="with what it takes in meanwhile",
        ),
        Figure(
            f"{what}: processor time of the agents",
            told.agents,
            "ms",
            floor=bare.agents,
            note=f"on the same {os.cpu_count()} processors",
        ),
    ]


def _agents(place: Path) -> Path:
    """Compile the stand-ins for agents."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotHereError("no C compiler is on PATH")
    program = place / "agents"
    command = [compiler, "-O2", str(AGENTS), "-lsodium", "-o", str(program)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise NotHereError("ckpt_agents.c is not compiled: it needs libsodium's header")
    return program


class _Told(NamedTuple):
    """What a request took: ms for each agent; processor time in ms of the sender and of all agents."""

    times: list[float]
    used: float
    agents: float


def _bare(agents: Path, count: int, rounds: int, server: KeyPair, client: KeyPair) -> _Told:
    """Return what a ROUTER needs that only sends.

    Args:
        agents: the program.
        count: of agents.
        rounds: of sending to all.
        server: its keys.
        client: the agents' keys.
    """
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.linger = 0
        router.curve_server = True
        router.curve_publickey, router.curve_secretkey = server.public.encode(), server.secret.encode()
        router.sndhwm = router.rcvhwm = 0
        port = router.bind_to_random_port("tcp://127.0.0.1")
        crowd = _Crowd(agents, count, port, server.public, client)
        names = [router.recv_multipart()[0] for _ in range(count)]
        crowd.joined()
        content = messages.encode(Ask(nodes=(), epoch=1, round=1, target=0, arrival=60))
        times = []
        before, rest = time.process_time(), crowd.used()
        for _ in range(rounds):
            begin = time.monotonic()
            for name in names:
                router.send_multipart([name, content])
            times += [1000 * (at - begin) for at in crowd.informed()]
            for _ in range(count):  # their answers
                router.recv_multipart()
        used, spent = time.process_time() - before, crowd.used() - rest
        crowd.end()
    return _Told(times, 1000 * used / rounds, 1000 * spent / rounds)


def _asked(
    agents: Path, count: int, rounds: int, address: Address, serve: psutil.Process, client: KeyPair
) -> _Told:
    """Return what the coordinator needs for a first round; each begins when the one before is over."""
    endpoint, server = address.endpoints[0], address.key
    crowd = _Crowd(agents, count, int(endpoint.rpartition(":")[2]), server, client)
    crowd.joined()
    times, used, spent = [], 0.0, 0.0
    with zmq.Context() as context, dealer(context, client) as control:
        control.curve_serverkey = server.encode()
        control.connect(endpoint)
        control.rcvtimeo = 60_000

        def say(message: Requested | StatusAsked) -> messages.Reply:
            control.send(messages.encode(message))
            answer = messages.from_coordinator(control.recv())
            assert isinstance(answer, messages.Reply)
            return answer

        def ready() -> bool:
            status = say(StatusAsked()).status
            nodes = status["nodes"]
            return isinstance(nodes, dict) and len(nodes) == count and status["checkpoint"] is None

        for _ in range(rounds):
            until(ready, "all agents and no checkpoint", 120)
            before, rest = sum(serve.cpu_times()[:2]), crowd.used()
            begin = time.monotonic()
            control.send(messages.encode(Requested()))
            times += [1000 * (at - begin) for at in crowd.informed()]
            used += sum(serve.cpu_times()[:2]) - before
            spent += crowd.used() - rest
            control.recv()
            crowd.released()
    crowd.end()
    return _Told(times, 1000 * used / rounds, 1000 * spent / rounds)


class _Crowd:
    """Agents in a few processes."""

    def __init__(self, agents: Path, count: int, port: int, server: str, client: KeyPair) -> None:
        keys = [z85.decode(key).hex() for key in (server, client.public, client.secret)]
        self._processes = []
        self._counts = [len(range(number, count, PROCESSES)) for number in range(PROCESSES)]
        for number, own in enumerate(self._counts):
            given = [str(port), *keys, str(number), str(PROCESSES), str(own), str(count)]
            self._processes.append(subprocess.Popen([str(agents), *given], stdout=subprocess.PIPE))

    def _read(self, size: int, which: int) -> bytes:
        output = self._processes[which].stdout
        assert output is not None
        found = output.read(size)
        if len(found) < size:
            raise RuntimeError("agents have ended")
        return found

    def joined(self) -> None:
        """Wait until all have registered."""
        for which in range(PROCESSES):
            self._read(1, which)

    released = joined  # a byte each time

    def informed(self) -> list[float]:
        """Return when each agent has read the first message of the next request."""
        return [
            at
            for which, own in enumerate(self._counts)
            for at in struct.unpack(f"={own}d", self._read(8 * own, which))
        ]

    def used(self) -> float:
        """Return the processor time of all of them so far, in seconds."""
        return sum(sum(psutil.Process(process.pid).cpu_times()[:2]) for process in self._processes)

    def end(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
