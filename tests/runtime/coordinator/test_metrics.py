"""Figures for Prometheus: what they count, that a real parser reads them, and that nobody waits for them."""

from __future__ import annotations

import socket
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_open
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse

from tests.cli.test_watch import begun, finished
from tests.equipment.free_ports import free_port
from tests.journals import of_daemon, rebuild, report
from tests.runtime.coordinator.daemons import PATIENCE, Isolator, kill, register, until, whesl
from tests.runtime.coordinator.world import raised
from whesl.model import home as places
from whesl.model.errors import UsageError, WheslError
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.states import TaskState
from whesl.runtime.coordinator.client import start
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.coordinator.counters import MOST_NAMES, OTHER, Figures, Snapshot
from whesl.runtime.coordinator.metrics import LatestSnapshot, families
from whesl.runtime.wire.client import request
from whesl.runtime.wire.messages import Heartbeat, Query, RecoveryDone, Welcome
from whesl.runtime.wire.metrics_server import MetricsServer, address

Figure = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Given:
    """A collector of one snapshot, as the registry wants one."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Any:
        return families(self._snapshot, 4096)


def written(snapshot: Snapshot, generate: Callable[..., bytes] = generate_latest) -> str:
    registry = CollectorRegistry()
    registry.register(Given(snapshot))
    return generate(registry).decode()


def read(text: str, parser: Callable[[str], Any] = parse) -> Figure:
    """Return each sample by name and labels; twice the same is a mistake."""
    found: Figure = {}
    for family in parser(text):
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def taken(figures: Figures, state: State | None = None) -> Snapshot:
    counters = {"refused": 3}
    return Snapshot(
        state=state or State(),
        figures=figures,
        heartbeats=0,
        connected=2,
        waiting=1,
        counters=counters,
        time=1000.0,
    )


def counted(records: list[tuple[str, dict[str, Any]]]) -> Figures:
    figures = Figures()
    for kind, data in records:
        figures.take(of_daemon(kind, data))
    return figures


RAISED = {"task": "w/a", "attempt": 1, "ordinal": 1, "time": 1.0, "evidence": []}


def raising(name: str) -> tuple[str, dict[str, Any]]:
    return "report", {"task": "w/a", "kind": "raised", "data": {"raised": {**RAISED, "exception": name}}}


def done(name: str, outcome: str, seconds: float = 0.0) -> tuple[str, dict[str, Any]]:
    return "recovery-done", {"task": "w/a", "exception": name, "outcome": outcome, "seconds": seconds}


def test_what_is_counted() -> None:
    figures = counted(
        [
            raising("HANG"), raising("HANG"), raising("DISK"), ("report", {"kind": "launched", "data": {}}),
            done("HANG", "relaunched", 0.2), done("HANG", "relaunched", 7.0), done("DISK", "paused"),
            ("report", {"kind": "recovered", "data": {"exceptions": ["HANG"], "ordinals": [2]}}),
            ("requeue-done", {"outcome": "done"}), ("state", {"task": "w/a"}),
        ]
    )  # fmt: skip
    records = begun(3) + finished("w/solve_CASE.1", "failed", 5.0)
    text = written(taken(figures, rebuild(records)))
    found = read(text)
    for name, labels, value in (
        ("whesl_tasks", {"state": "running"}, 2),
        ("whesl_tasks", {"state": "failed"}, 1),
        ("whesl_tasks", {"state": "paused"}, 0),
        ("whesl_workflows", {}, 1),
        ("whesl_exceptions_total", {"exception": "HANG"}, 2),
        ("whesl_recoveries_total", {"exception": "HANG", "outcome": "relaunched"}, 2),
        ("whesl_recoveries_total", {"exception": "HANG", "outcome": "recovered"}, 1),
        ("whesl_recoveries_total", {"exception": "DISK", "outcome": "paused"}, 1),
        ("whesl_recovery_seconds_bucket", {"le": "0.1"}, 0),
        ("whesl_recovery_seconds_bucket", {"le": "0.25"}, 1),
        ("whesl_recovery_seconds_bucket", {"le": "10.0"}, 2),
        ("whesl_recovery_seconds_bucket", {"le": "+Inf"}, 2),
        ("whesl_recovery_seconds_count", {}, 2),
        ("whesl_recovery_seconds_sum", {}, 7.2),
        ("whesl_requeues_total", {"outcome": "done"}, 1),
        ("whesl_isolators_connected", {}, 2),
        ("whesl_unacknowledged_messages", {}, 1),
        ("whesl_dropped_messages_total", {"reason": "refused"}, 3),
        ("whesl_dropped_messages_total", {"reason": "unsent"}, 0),
        ("whesl_journal_bytes", {}, 4096),
    ):
        assert found[name, tuple(sorted(labels.items()))] == pytest.approx(value), name
    opened = written(taken(figures, rebuild(records)), generate_open)
    assert read(opened, parse_open)["whesl_exceptions_total", (("exception", "HANG"),)] == 2


def test_the_number_of_series_is_bounded() -> None:
    """Whatever specifications call their exceptions, and whatever isolators say."""
    names = [raising(f"E{number}") for number in range(10 * MOST_NAMES)]
    ends = [done(f"E{number}", "failed", 1.0) for number in range(10 * MOST_NAMES)]
    found = read(written(taken(counted([*names, *ends]))))
    exceptions = {
        labels: value for (name, labels), value in found.items() if name == "whesl_exceptions_total"
    }
    assert len(exceptions) == MOST_NAMES + 1
    assert exceptions[(("exception", OTHER),)] == 9 * MOST_NAMES
    assert sum(exceptions.values()) == 10 * MOST_NAMES
    assert len(found) < 3 * MOST_NAMES + 100


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(), st.floats(0, 1e6)), max_size=20))
def test_any_name_can_be_read(names: list[tuple[str, float]]) -> None:
    figures = counted([done(name, "relaunched", seconds) for name, seconds in names])
    found = read(written(taken(figures)))
    assert found["whesl_recovery_seconds_bucket", (("le", "+Inf"),)] == len(names)
    assert sum(value for (name, _), value in found.items() if name == "whesl_recoveries_total") == len(names)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9464", ("127.0.0.1", 9464)),
        ("localhost:1", ("localhost", 1)),
        ("127.8.8.8:65535", ("127.8.8.8", 65535)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int]) -> None:
    assert address(text) == expected


@pytest.mark.parametrize("text", ["", "x", "0", "65536", "-1", "1.5", "host:", "²"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(UsageError, match=r"no \[HOST:\]PORT"):
        address(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "10.0.0.1", "login1", "127.0.0.1.evil.org"])
def test_others_only_where_it_is_said(host: str) -> None:
    with pytest.raises(UsageError, match="could be read by everybody"):
        address(f"{host}:9464")
    assert address(f"{host}:9464", open_to_others=True)[1] == 9464


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(WheslError, match="prometheus_client"):
        MetricsServer(LatestSnapshot(tmp_path / "journal.db"), "127.0.0.1", 9464)


# The daemon ------------------------------------------------------------------------------------------------


@pytest.fixture
def port() -> Iterator[int]:
    """A free port."""
    with free_port() as found:
        yield found


def scrape(port: int) -> Figure:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        return read(answer.read().decode())


def seen(port: int, name: str, value: float, **labels: str) -> Figure:
    """Return the figures once one of them has a value; they are renewed once a second at most."""
    key = name, tuple(sorted(labels.items()))
    found: Figure = until(
        lambda: figures if (figures := scrape(port)).get(key) == value else None, f"{key} is {value}"
    )
    return found


def test_a_running_coordinator(home: Path, isolator: Callable[..., Isolator], port: int) -> None:
    told = whesl("coordinator", "start", "--metrics", str(port))
    assert told.returncode == 0
    assert f"metrics: http://127.0.0.1:{port}/metrics" in told.stdout
    register(home)
    a = isolator("a")
    a.wait(Welcome)
    record = msgspec.to_builtins(raised("E", "a"))
    a.send(report(task="w/a", kind="raised", time=time.time(), data={"raised": record}))
    a.send(
        RecoveryDone(
            task="w/a", ordinal=1, exception="E", outcome=RecoveryOutcome.RELAUNCHED, seconds=0.3, claim="a.0"
        )
    )
    a.send(Heartbeat(task="w/a", state=TaskState.RUNNING, attempt=1))
    a.flush()
    seen(port, "whesl_heartbeats_total", 1.0)
    figures = seen(port, "whesl_recoveries_total", 1.0, exception="E", outcome="relaunched")
    assert figures["whesl_tasks", (("state", "running"),)] == 1
    assert figures["whesl_isolators_connected", ()] == 1
    assert figures["whesl_exceptions_total", (("exception", "E"),)] == 1
    assert figures["whesl_journal_bytes", ()] > 1000
    assert f"http://127.0.0.1:{port}/metrics" in whesl("coordinator", "status").stdout
    kill(home)
    start.ensure_running(home, options=["--metrics", str(port)])
    figures = seen(port, "whesl_recoveries_total", 1.0, exception="E", outcome="relaunched")
    assert figures["whesl_recovery_seconds_sum", ()] == 0.3, "a restart forgets nothing"


def test_readers_that_hang_hold_nobody_up(home: Path, port: int) -> None:
    start.ensure_running(home, options=["--metrics", str(port)])
    with ExitStack() as stack:
        for number in range(20):
            hanging = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            hanging.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" if number % 2 else b"")
        assert request(home, Query(what="health"), PATIENCE).ok
        assert scrape(port)["whesl_workflows", ()] == 0
        assert start.stop(home), "it ends in order, too"


def test_a_port_that_is_taken_stops_no_recovery(home: Path) -> None:
    with socket.socket() as taken_port:
        taken_port.bind(("127.0.0.1", 0))
        taken_port.listen()
        port = taken_port.getsockname()[1]
        told = whesl("coordinator", "start", "--metrics", str(port))
    assert told.returncode == 1
    assert f"serves no metrics on 127.0.0.1:{port}" in told.stderr
    assert start.running(home) is not None
    assert "metrics cannot be served" in places.coordinator_log(home).read_text()


def test_refused_before_anything_is_started(home: Path) -> None:
    told = whesl("coordinator", "start", "--metrics", "0.0.0.0:9464")
    assert told.returncode == 2
    assert "--metrics-open" in told.stderr
    assert start.running(home) is None
