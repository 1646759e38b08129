"""Leases on a virtual clock, the table that responder and isolator share, and the kernel as a witness."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from whesl.model.event_loop_stall import SLACK, Stoppage
from whesl.runtime.isolator.nodes.lease_table import LeaseTable
from whesl.runtime.isolator.nodes.liveness import LEASE_MARGIN, SETTLING, Silence
from whesl.runtime.node_agent.lease import KEPT, KernelWitness, Lease, lead

LIMIT = 3.0


def test_an_agent_that_did_not_run_waits_for_an_answer() -> None:
    """Its job was suspended, or it was starved: what runs there may be wanted all the same."""
    lease = Lease(LIMIT, 100.0)
    lease.answered(lease.beat(100.0))
    assert not lease.in_doubt(103.0), "one that has run is certain"
    lease.woken(101.0)
    assert not lease.in_doubt(102.0) and lease.in_doubt(lease.due(102.0))
    lease.woken(160.0)
    assert not lease.ran_out(160.0 + LIMIT - 0.01)
    lease.answered(lease.beat(160.0))
    assert not lease.in_doubt(161.9) and not lease.ran_out(161.9)
    lease.woken(171.0)
    lease.woken(173.0)
    assert not lease.ran_out(173.0 + LIMIT - 0.01), "its peer may have been stopped as well until then"
    assert lease.in_doubt(173.0 + LIMIT) and lease.ran_out(173.0 + LIMIT)
    lease.woken(180.0)
    assert not lease.ran_out(190.0), "acts once, and what has ended is not held again by that"


def test_after_the_limit_processes_go_on_only_by_an_answer_of_the_responder() -> None:
    """The kernel of the isolator's node cannot know whether the next attempt has begun."""
    lease = Lease(LIMIT, 100.0)
    lease.answered(lease.beat(100.0))
    lease.seen(102.0, 102.1)
    assert lease.deadline() == 102.0 + LIMIT - lead(LIMIT)
    lease.woken(160.0)
    lease.seen(162.0, 162.1)
    assert lease.in_doubt(162.1) and lease.deadline() == 162.0 + LIMIT
    lease.answered(lease.beat(163.0))
    assert not lease.in_doubt(163.0)


TICK = 0.1  # seconds of the virtual clock of the following


class _Job:
    """The agent of node n2, and responder and isolator of n1, each of which may not run for a while.

    Args:
        stops: for each suspension its length, by how much n2 is stopped later, and the time to the next one.
        slow: seconds for which both nodes have to run until a heartbeat is answered.
    """

    def __init__(self, stops: list[tuple[float, float, float]], slow: float) -> None:
        self._stopped: tuple[list[tuple[float, float]], ...] = ([], [])
        begins = 102.0
        for length, skew, runs in stops:
            self._stopped[0].append((begins, begins + length))
            self._stopped[1].append((begins + skew, begins + skew + length))
            begins += length + abs(skew) + runs
        self.ends = begins + 2 * LIMIT
        self._slow = slow
        self.lease, self.silence = Lease(LIMIT, 100.0), Silence(["n2"], LIMIT)
        self.lease.answered(self.lease.beat(100.0))
        self.silence.heard("n2", 100.0)
        self._agent, self._isolator = Stoppage(100.0, lead(LIMIT)), Stoppage(100.0)
        self._both = self._awake = 0.0  # seconds for which both nodes, and the agent, have run
        self.paused = self.ended = False  # the ranks of n2

    def runs(self, node: int, now: float) -> bool:
        return not any(begins <= now < ends for begins, ends in self._stopped[node])

    def tick(self, now: float, *, cut: bool) -> None:
        here, there = self.runs(0, now), self.runs(1, now)
        self._both = self._both + TICK if here and there else 0.0
        self._awake = self._awake + TICK if there else 0.0
        if there:
            self._run_agent(now, cut=cut, here=here)
        if here:
            if self._isolator.found(now):
                self.silence.stopped(now)
            self._isolator.waits(now + TICK)

    def _run_agent(self, now: float, *, cut: bool, here: bool) -> None:
        if self._agent.found(now):
            self.lease.woken(now)
            self.paused = False  # a resumed job is continued whole
        self._agent.waits(now + TICK)
        if not cut and here and self._both > self._slow:
            self.silence.answered("n2", now)
            self.lease.answered(self.lease.beat(now))
        elif not cut and not here and self._awake > LIMIT / 6:
            self.lease.seen(now, now)
        self.paused = self.lease.in_doubt(now)
        self.ended = self.ended or self.lease.ran_out(now)


STOPS = st.lists(st.tuples(st.floats(1.1, 9.0), st.floats(-1.0, 1.0), st.floats(0.2, 4.0)), max_size=5)


@given(stops=STOPS, slow=st.floats(0.0, LIMIT / 2))
def test_a_job_may_be_suspended_again_and_again(stops: list[tuple[float, float, float]], slow: float) -> None:
    """The agent once added up the moments for which it ran between suspensions, and ended its ranks."""
    job, now = _Job(stops, slow), 100.0
    while now < job.ends:
        job.tick(now, cut=False)
        assert not job.ended, f"the ranks were ended {now - 100.0:.1f} s after the beginning"
        assert not (job.runs(0, now) and job.silence.lost(now, step_over=False))
        now += TICK
    assert not job.paused


@given(stops=STOPS, cut_at=st.floats(100.0, 120.0))
def test_no_rank_of_a_node_cut_off_runs_beside_the_next_attempt(
    stops: list[tuple[float, float, float]], cut_at: float
) -> None:
    job, now = _Job(stops, 0.0), 100.0
    while now < cut_at + 60.0:
        job.tick(now, cut=now >= cut_at)
        over = job.runs(0, now) and job.silence.lease_over("n2", now)
        assert not (over and job.runs(1, now)) or job.paused or job.ended
        now += TICK
    assert job.ended


@given(
    limit=st.floats(1.0, 20.0),
    heartbeat=st.floats(0.05, 1.0),
    starved_at=st.floats(0.0, 25.0),
    fraction=st.floats(0.0, 0.999),
    delay=st.floats(0.0, 1.0),
)
def test_an_agent_that_gets_no_processor_for_a_while_has_acted_before_its_lease_counts_as_over(
    limit: float, heartbeat: float, starved_at: float, fraction: float, delay: float
) -> None:
    """Its node is cut off and runs on. A starved agent once ran on past the start of the next attempt."""
    lease, silence, stoppage = Lease(limit, 100.0), Silence(["n2"], limit), Stoppage(100.0, lead(limit))
    lease.answered(lease.beat(100.0))
    silence.heard("n2", 100.0 + delay)
    now, starved = 100.0, fraction * max(lead(limit), limit - starved_at)
    while True:
        if stoppage.found(now):
            lease.woken(now)
        if lease.in_doubt(now) or lease.ran_out(now):
            break
        wakes = min(now + heartbeat, lease.due(now))
        stoppage.waits(wakes)
        if now < 100.0 + starved_at <= wakes:
            wakes = max(wakes, 100.0 + starved_at + starved)
        now = max(wakes, now + 1e-6)
    assert not silence.lease_over("n2", now + LEASE_MARGIN - 1e-6)


def test_a_loop_that_wakes_late_did_not_run() -> None:
    stoppage = Stoppage(100.0)
    stoppage.waits(100.5)
    assert stoppage.found(100.5 + SLACK) == 0.0
    stoppage.waits(102.0)
    assert stoppage.found(112.0) == 10.0
    assert stoppage.found(112.5) == 0.0, "told twice"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["beat", "stop responder", "stop isolator", "cut", "restart agent"]),
            st.floats(0.05, 20.0),
        ),
        max_size=30,
    )
)
def test_no_lease_counts_as_over_that_an_agent_still_holds(happens: list[tuple[str, float]]) -> None:
    """Whatever stops for however long, and whoever is cut off: the agent has acted first."""
    now, cut = 100.0, False
    kept = bytearray(KEPT)
    lease, silence = Lease(LIMIT, now, kept), Silence(["n2"], LIMIT)
    silence.heard("n2", now)
    listened = now
    for what, seconds in happens:
        if what == "beat" and not cut:
            number = lease.beat(now)
            silence.answered("n2", now)
            lease.answered(number)
        cut = cut or what == "cut"
        if what == "restart agent" and now < lease.deadline():
            lease = Lease(LIMIT, now, kept)
        now += seconds
        if what == "stop responder":
            # It is stopped now; its kernel answers, as long as the node is not cut off.
            if not cut:
                lease.reached(now)
            silence.began(now)
        elif what == "stop isolator":
            silence.stopped(now)
            listened = now
        else:
            listened = now
        if silence.lease_over("n2", min(now, listened)):
            assert lease.deadline() + LEASE_MARGIN <= now + 1e-6


def test_silence_is_counted_as_far_as_somebody_has_listened() -> None:
    silence = Silence(["n2"], LIMIT)
    silence.heard("n2", 100.0)
    assert silence.lost(200.0, step_over=False, listened=102.9) == []
    assert [fact.node for fact in silence.lost(200.0, step_over=False, listened=103.0)] == ["n2"]


def test_a_connection_that_closed_while_the_isolator_did_not_run_has_time_to_come_back() -> None:
    silence = Silence(["n2"], LIMIT)
    silence.heard("n2", 100.0)
    silence.stopped(160.0)
    silence.closed("n2", 160.0)
    assert silence.lost(160.0 + SETTLING - 0.01, step_over=False) == []
    assert silence.lost(160.0 + SETTLING, step_over=False)


def test_an_answer_from_before_a_connection_closed_does_not_open_it() -> None:
    silence = Silence(["n2"], LIMIT)
    silence.heard("n2", 100.0)
    silence.closed("n2", 101.0)
    assert not silence.answered("n2", 100.9)
    assert silence.undecided()
    silence.answered("n2", 101.1)
    assert not silence.undecided()


# The table ------------------------------------------------------------------------------------------


@pytest.fixture
def table() -> Iterator[LeaseTable]:
    descriptor, made = LeaseTable.make(("n2", "n3"))
    yield made
    made.close()
    os.close(descriptor)


def test_a_lease_that_was_given_up_is_not_extended(table: LeaseTable) -> None:
    assert table.answer("n2", 100.0)
    table.refuse("n2", refused=True)
    assert not table.answer("n2", 101.0)
    assert table.answered("n2") == 100.0
    assert table.answer("n3", 101.0)
    table.refuse("n2", refused=False)
    assert table.answer("n2", 102.0)


def test_a_table_is_found_by_another_process(table: LeaseTable) -> None:
    descriptor, made = LeaseTable.make(("n2",))
    again = os.open(f"/proc/{os.getpid()}/fd/{descriptor}", os.O_RDWR)
    other = LeaseTable(again, ("n2",))
    made.answer("n2", 7.0)
    made.connect("n2", is_open=True)
    assert (other.answered("n2"), other.connected("n2")) == (7.0, True)
    with pytest.raises(OSError, match="not a table"):
        LeaseTable(again, ("n2", "n3"))
    made.close()
    other.close()
    os.close(again)
    os.close(descriptor)


# The kernel as a witness ----------------------------------------------------------------------------

GREETS = """\
import socket, sys
listening = socket.create_server(("127.0.0.1", 0), backlog=8)
print(listening.getsockname()[1], flush=True)
kept = []
while True:
    kept.append(listening.accept()[0])
    kept[-1].send(b"hello")
"""


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """Something that says a word on each connection, as ZeroMQ does."""
    with subprocess.Popen([sys.executable, "-c", GREETS], stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def looks(witness: KernelWitness, seconds: float = 1.5) -> list[float]:
    found = []
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        if (when := witness.look(now)) is not None:
            found.append(when)
        time.sleep(0.02)
    return found


def test_a_server_that_runs_speaks_for_itself(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    assert not looks(KernelWitness("127.0.0.1", int(server.stdout.readline()), 30.0))


def test_a_stopped_server_s_kernel_goes_on_answering(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    port = int(server.stdout.readline())
    server.send_signal(signal.SIGSTOP)
    witness = KernelWitness("127.0.0.1", port, 0.1)
    begun = time.monotonic()
    until(lambda: (witness.look(time.monotonic()) or 0.0) > begun + 2.0, "acknowledgements", 30)
    server.send_signal(signal.SIGCONT)
    until(lambda: witness.look(time.monotonic()) is None, "the server's own message", 30)
    witness.close()


def test_a_port_without_a_server_is_refused_by_the_kernel() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert looks(KernelWitness("127.0.0.1", port, 0.1), 0.3)


def test_a_name_that_nobody_has_tells_nothing() -> None:
    assert not looks(KernelWitness("no-such-name.invalid", 9, 0.0), 0.1)
