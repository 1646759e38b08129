"""Many isolators in one process: real DEALER sockets with CURVE, the product's own messages and delivery.

Not run by hand: ``coordinator.py`` starts it. It reads orders from standard input, one JSON object a line,
and answers each with one line. What else an isolator does is left out, nothing of its talk is.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import random
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import zmq

from whesl.model.evidence import Evidence, Raised
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.states import TaskState
from whesl.runtime.journal.records.isolator_records import Attempt
from whesl.runtime.wire.curve_sockets import dealer
from whesl.runtime.wire.delivery import Inbox, Outbox, new_incarnation
from whesl.runtime.wire.keys import KeyPair, user_keys
from whesl.runtime.wire.messages import (
    Ack,
    AnyMessage,
    Escalate,
    EscalationDecision,
    Finished,
    Heartbeat,
    RecoveryDone,
    RecoveryGrant,
    RecoveryRequest,
    Register,
    Report,
    Welcome,
    decode,
    encode,
)

PATIENCE = 300.0
WORKFLOW = "wf"
_TURN = 0.02
_LOOK = 0.02


class Isolator:
    """One client: a socket, what it has said and what it has heard."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], keys: KeyPair) -> None:
        self.socket = dealer(context, keys)
        self.begin("")

    def begin(self, task: str) -> None:
        """Be another start of an isolator, for a task."""
        self.task = task
        self.outbox = Outbox(task, new_incarnation())
        self.inbox = Inbox()
        self.welcomed = self.answered = self.greeted = False
        self.ordinal = 0
        self.asked = 0.0

    @property
    def connected(self) -> bool:
        """Whether a message would find its way now."""
        events = self.socket.events
        return isinstance(events, int) and bool(events & zmq.POLLOUT)

    def say(self, message: AnyMessage, *, reliable: bool = True) -> bool:
        """Send; False when there is no connection now."""
        now = time.monotonic()
        return self.put(encode(self.outbox.post(message, now, reliable=reliable)))

    def put(self, frame: bytes) -> bool:
        """Send a frame; False when there is no connection now."""
        try:
            self.socket.send(frame, zmq.DONTWAIT)
        except zmq.Again:
            return False
        return True

    def hear(self) -> Iterator[AnyMessage]:
        """Yield what is new, acknowledged."""
        while True:
            try:
                frame = self.socket.recv(zmq.DONTWAIT)
            except zmq.Again:
                return
            self.answered = True
            envelope = decode(frame)
            if envelope is None:
                continue
            if isinstance(envelope.message, Ack):
                self.outbox.acknowledged(envelope.message.number)
                continue
            if envelope.number:
                self.say(Ack(number=envelope.number), reliable=False)
            if self.inbox.accept(envelope):
                yield envelope.message


class Crowd:
    """All isolators of this process, and what they are told to do."""

    def __init__(self, home: str, count: int, first: int) -> None:
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._context.max_sockets = count + 10
        keys = user_keys(Path(home)).client
        self._all = [Isolator(self._context, keys) for _ in range(count)]
        self._first = first
        self._by_descriptor = {isolator.socket.fileno(): isolator for isolator in self._all}
        self._poll = select.epoll()
        for descriptor in self._by_descriptor:
            # The descriptor of a ZeroMQ socket tells changes, not a state (zmq_getsockopt(3), ZMQ_FD).
            self._poll.register(descriptor, select.EPOLLIN | select.EPOLLET)
        self.delays: list[float] = []
        self._random = random.Random(first)

    # Orders ---------------------------------------------------------------------------------------------

    def storm(self, url: str, key: str) -> dict[str, Any]:
        """Connect all and register them; seconds until each was answered, and every word acknowledged."""
        begun = self._connect(url, key)
        self._until(self._storming(), PATIENCE, every=_LOOK)
        return {"seconds": time.monotonic() - begun}

    def bare(self, url: str, key: str) -> dict[str, Any]:
        """The same with a server that only answers: one frame there, one back."""
        begun = self._connect(url, key, greet=False)
        self._until(self._storming(bare=True), PATIENCE, every=_LOOK)
        return {"seconds": time.monotonic() - begun}

    def _connect(self, url: str, key: str, *, greet: bool = True) -> float:
        begun = time.monotonic()
        for number, isolator in enumerate(self._all):
            isolator.socket.curve_serverkey = key.encode()
            isolator.socket.connect(url)
            isolator.begin(f"{WORKFLOW}/t_{self._first + number}")
            isolator.greeted = not greet
            # Nobody is connected yet: it is said once its connection is there.
            isolator.say(register(isolator.task))
        return begun

    def _storming(self, *, bare: bool = False) -> Callable[[], bool]:
        waiting = set(self._all)

        def over() -> bool:
            done = {i for i in waiting if i.answered and (bare or (i.welcomed and not len(i.outbox)))}
            waiting.difference_update(done)
            return not waiting

        return over

    def beat(self, seconds: float, interval: float, decisions: float) -> dict[str, Any]:
        """Send heartbeats, each isolator in its own rhythm, and so many exceptions a second."""
        now = begun = time.monotonic()
        beats = [(now + interval * n / len(self._all), n) for n in range(len(self._all))]
        heapq.heapify(beats)
        self.delays.clear()
        asked = 0
        while now - begun < seconds:
            while beats and beats[0][0] <= now:
                due, number = heapq.heappop(beats)
                isolator = self._all[number]
                beat = Heartbeat(task=isolator.task, state=TaskState.RUNNING, attempt=1, time=time.time())
                isolator.say(beat, reliable=False)
                self._take(isolator)
                heapq.heappush(beats, (due + interval, number))
            while decisions and asked < (now - begun) * decisions:
                asked += 1
                self._ask(self._random.choice(self._all))
            self._turn(0.002)
            now = time.monotonic()
        with contextlib.suppress(TimeoutError):
            self._until(lambda: len(self.delays) >= asked, 30.0)
        return {
            "asked": asked,
            "delays": self.delays,
        }

    def _ask(self, isolator: Isolator) -> None:
        """Raise an exception that the workflow has to decide.

        Half are requests, of which half need a step of the coordinator's own (and more of them once it counts
        them over all tasks); half are escalations.
        """
        if isolator.asked:
            isolator = next(other for other in self._all if not other.asked)
        isolator.ordinal += 1
        escalates = isolator.ordinal % 2 == 0
        name = "DISK" if escalates or isolator.ordinal // 2 % 2 == 0 else "SPREAD"
        raised = exception(name, isolator)
        isolator.asked = time.monotonic()
        if escalates:
            isolator.say(Escalate(raised=raised, reason="budget-spent", claim="1.0"))
        else:
            isolator.say(RecoveryRequest(raised=raised, claim="1.0"))
        self._take(isolator)

    def back(self) -> dict[str, Any]:
        """Seconds until all are answered again; each greets as soon as its connection is there."""
        begun = time.monotonic()
        for isolator in self._all:
            isolator.answered = False
        waiting = set(self._all)

        def over() -> bool:
            for isolator in waiting:
                if not isolator.answered and isolator.connected:
                    isolator.say(Ack(number=0), reliable=False)
                self._take(isolator)
            waiting.difference_update({isolator for isolator in waiting if isolator.answered})
            return not waiting

        self._until(over, PATIENCE, every=0.25)
        return {"seconds": time.monotonic() - begun}

    def run(self, first: int, last: int) -> dict[str, Any]:
        """Run tasks, each registered, reported running and finished; an isolator takes the next when done."""
        begun = time.monotonic()
        tasks = iter(range(first, last))
        busy: dict[Isolator, int] = {}

        def next_task(isolator: Isolator) -> None:
            number = next(tasks, None)
            if number is None:
                busy.pop(isolator, None)
                return
            busy[isolator] = 0
            isolator.begin(f"{WORKFLOW}/t_{number}")
            isolator.say(register(isolator.task))

        def over() -> bool:
            for isolator, stage in list(busy.items()):
                if stage == 0 and isolator.welcomed:
                    busy[isolator] = 1
                    attempt = Attempt(attempt=1, token="t", nodes=("n1",), configuration_version=0)
                    isolator.say(Report(task=isolator.task, time=time.time(), record=attempt))
                    done = Finished(
                        task=isolator.task, state=TaskState.COMPLETED, exit_code=0, attempts=1, claim="1.0"
                    )
                    isolator.say(done)
                elif stage == 1 and not len(isolator.outbox):
                    next_task(isolator)
                self._take(isolator)
            return not busy

        for isolator in self._all:
            next_task(isolator)
        self._until(over, PATIENCE)
        return {"seconds": time.monotonic() - begun}

    def leave(self) -> dict[str, Any]:
        """Close everything."""
        self._context.destroy(linger=0)
        return {}

    # The loop -------------------------------------------------------------------------------------------

    def _until(self, over: Callable[[], bool], seconds: float, every: float = 0.0) -> None:
        deadline = time.monotonic() + seconds
        repeat = time.monotonic() + 0.2
        look = 0.0
        while time.monotonic() < look or not over():
            if every and time.monotonic() >= look:
                look = time.monotonic() + every
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds:g} s")
            self._turn(_TURN)
            if time.monotonic() >= repeat:
                repeat = time.monotonic() + 0.2
                self._repeat()

    def _turn(self, wait: float) -> None:
        for descriptor, _ in self._poll.poll(wait):
            isolator = self._by_descriptor[descriptor]
            self._take(isolator)
            if not isolator.answered and len(isolator.outbox) and isolator.connected:
                # Its connection was made: it greets, as the product's client does, and says what waits.
                if not isolator.greeted:
                    isolator.greeted = True
                    isolator.say(Ack(number=0), reliable=False)
                isolator.outbox.hurry(0.0)
                self._say_again(isolator)

    def _repeat(self) -> None:
        for isolator in self._all:
            if len(isolator.outbox):
                self._say_again(isolator)

    def _say_again(self, isolator: Isolator) -> None:
        for envelope in isolator.outbox.due(time.monotonic()):
            if not isolator.put(encode(envelope)):
                break
        self._take(isolator)

    def _take(self, isolator: Isolator) -> None:
        for message in isolator.hear():
            if isinstance(message, Welcome):
                isolator.welcomed = True
            elif isinstance(message, (RecoveryGrant, EscalationDecision)) and isolator.asked:
                self.delays.append(time.monotonic() - isolator.asked)
                isolator.asked = 0.0
                done = RecoveryDone(
                    task=isolator.task,
                    ordinal=isolator.ordinal,
                    exception="DISK",
                    outcome=RecoveryOutcome.RELAUNCHED,
                    seconds=0.1,
                    claim="1.0",
                )
                isolator.say(done)


def register(task: str) -> Register:
    """Return what an isolator says first."""
    return Register(
        task=task,
        workflow=WORKFLOW,
        step="t",
        instance=task.rpartition("_")[2],
        workspace=f"/scratch/project/{task}",
        rjms="local",
        job_id=f"j{task}",
        claim="1.0",
        nodes=("node0001",),
        attempt=1,
        state=TaskState.RUNNING,
    )


def exception(name: str, isolator: Isolator) -> Raised:
    """Return an exception with its evidence."""
    now = time.time()
    evidence = Evidence(kind="log", time=now, node="node0001", pattern="full", line="No space left on device")
    return Raised(
        exception=name,
        task=isolator.task,
        attempt=1,
        ordinal=isolator.ordinal,
        time=now,
        evidence=(evidence,),
    )


def main() -> None:
    """Serve orders until standard input ends."""
    home, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    crowd = Crowd(home, count, first)
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(crowd, order.pop("do"))(**order)
        except TimeoutError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
