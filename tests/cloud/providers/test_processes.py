"""Instances that are processes: the contract, and what ends them when nobody else is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from whesl.cloud.providers.port import EndReason, Market, NoCapacityError
from whesl.cloud.providers.processes import instance_processes
from whesl.cloud.providers.processes.files import Settings
from whesl.cloud.providers.processes.provider import ProcessProvider
from whesl.managers.resource.embedded import daemons, process_lookup
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.model.errors import TransientError
from whesl.testing.contract_provider import ProviderContract, request


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessProvider]:
    made = ProcessProvider(
        tmp_path_factory.mktemp("cloud"), Settings(capacity=3, start_delay=0.1, spot_life=3e7, mean_life=3e7)
    )
    yield made
    ended(made)


def ended(provider: ProcessProvider) -> None:
    """End all that a test has left."""
    ids = [path.name for path in (provider.directory / "instances").iterdir()]
    provider.terminate(ids)
    until(
        lambda: all(provider._look(provider.directory / "instances" / one).gone for one in ids), "ended", 60
    )
    provider.close()


class TestContract(ProviderContract):
    """The contract."""


def living(provider: ProcessProvider, node: str) -> bool:
    return bool(
        process_lookup.of_node(provider.cluster.path, node, None) or daemons.node_pid(provider.cluster, node)
    )


def test_runner_and_provider_are_killed(tmp_path: Path) -> None:
    """The instance's own watchdog ends it, and all that runs on it, at its end time."""
    runner = f"""
import signal, time, os
from pathlib import Path
from whesl.cloud.providers.processes.files import Settings
from whesl.cloud.providers.processes.provider import ProcessProvider
from whesl.testing.contract_provider import request
provider = ProcessProvider(Path({str(tmp_path)!r}), Settings(start_delay=0.0))
asked = request(15.0, command="setsid sleep 1000 & exec sleep 1000")
provider.start(asked)
while not provider.find(asked.token).state.value == "running": time.sleep(0.05)
print(asked.token, flush=True)
time.sleep(1000)
"""
    process = subprocess.Popen([sys.executable, "-c", runner], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    token = process.stdout.readline().strip()
    process.kill()
    process.wait()
    provider = ProcessProvider(tmp_path)
    server = daemons.server_pid(provider.cluster)
    assert server is not None
    os.kill(server, signal.SIGKILL)
    node = "c001"
    until(lambda: len(process_lookup.of_node(provider.cluster.path, node, None)) >= 2, "its command runs", 30)
    until(lambda: provider.find(token).gone, "it has ended", 60)  # type: ignore[union-attr] # it was started
    assert not living(provider, node)
    instance = provider.find(token)
    assert instance is not None and instance.ended >= instance.ends


@pytest.mark.parametrize("which", [0, 1])
def test_either_process_of_an_instance_is_killed(provider: ProcessProvider, which: int) -> None:
    """The other one ends the instance at once: no half of it is left to be paid for."""
    asked = request(command="exec sleep 1000")
    instance = provider.start(asked)
    directory = provider.directory / "instances" / instance.id
    until(lambda: (directory / "running").exists(), "it runs", 60)
    node = provider._read(directory).node
    os.kill(int((directory / "pid").read_text().split()[which]), signal.SIGKILL)
    until(lambda: provider._look(directory).gone, "it has ended", 60)
    assert not living(provider, node)
    assert provider._look(directory).reason is EndReason.LOST


def test_no_capacity(provider: ProcessProvider) -> None:
    """More instances than there are machines; one that has ended makes room."""
    asked = [request() for _ in range(4)]
    started = [provider.start(one) for one in asked[:3]]
    with pytest.raises(NoCapacityError):
        provider.start(asked[3])
    provider.terminate([started[0].id])
    until(lambda: provider.find(asked[0].token).gone, "ended", 60)  # type: ignore[union-attr] # it was started
    started.append(provider.start(asked[3]))
    provider.terminate([one.id for one in started])
    until(lambda: all(provider.find(one.token).gone for one in asked), "ended", 60)  # type: ignore[union-attr] # as above


def test_a_spot_instance_is_revoked(provider: ProcessProvider) -> None:
    """It says so before, and ends then."""
    asked = request(market=Market.SPOT)
    instance = provider.start(asked)
    provider.revoke(instance.id, 1.0)
    told = provider.find(asked.token)
    assert told is not None and told.revocation > 0
    until(lambda: provider.find(asked.token).gone, "it is taken away", 60)  # type: ignore[union-attr] # as above
    last = provider.find(asked.token)
    assert last is not None and last.reason is EndReason.REVOKED


def test_failures_of_their_own(tmp_path: Path) -> None:
    """Machines fail as the settings say, and the drawn time is the same after any restart."""
    provider = ProcessProvider(tmp_path, Settings(start_delay=0.0, mean_life=0.5))
    asked = request()
    provider.start(asked)
    until(lambda: provider.find(asked.token).gone, "it has failed", 60)  # type: ignore[union-attr] # it was started
    last = provider.find(asked.token)
    assert last is not None and last.reason is EndReason.LOST
    ended(provider)


def test_a_server_that_is_killed_while_it_starts_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that took its run up again had ended with `the server did not start: no message`."""
    start = daemons.start_server
    killed: list[Cluster] = []

    def once(cluster: Cluster) -> int:
        if not killed:
            killed.append(cluster)
            raise TransientError(f"the server of {cluster.path} did not start: no message")
        return start(cluster)

    monkeypatch.setattr(daemons, "start_server", once)
    provider = ProcessProvider(tmp_path)
    assert killed and daemons.server_pid(provider.cluster) is not None
    provider.close()


@pytest.mark.parametrize("which", ["init", "both"])
def test_what_an_instance_had_begun_to_start_ends_with_it(tmp_path: Path, which: str) -> None:
    """A node's daemon has no mark of the node while it starts, and had outlived a killed instance."""
    provider = ProcessProvider(tmp_path, Settings(start_delay=1000.0))
    instance = provider.start(request())
    directory = provider.directory / "instances" / instance.id
    pids = until(
        lambda: (directory / "pid").exists() and (directory / "pid").read_text().split(), "it boots", 60
    )
    marked = {**os.environ, instance_processes.MARK: str(directory)}
    begun = subprocess.Popen(["sleep", "1000"], env=marked, start_new_session=True)
    other = subprocess.Popen(["sleep", "1000"], env={**marked, instance_processes.MARK: f"{directory}x"})
    try:
        for pid in pids[: 1 if which == "init" else 2]:
            os.kill(int(pid), signal.SIGKILL)
        until(lambda: provider._look(directory).gone, "it has ended", 60)
        assert begun.wait(timeout=60) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for process in (begun, other):
            process.kill()
            process.wait()
        ended(provider)
