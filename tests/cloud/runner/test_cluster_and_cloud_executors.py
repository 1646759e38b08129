"""A cloud that does not tell the truth: empty lists, two instances for a token, one that has only stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from whesl.cloud.providers.port import Instance, InstanceRequest, InstanceState, Offer
from whesl.cloud.runner.cluster_and_cloud_executors import UNSEEN, ProviderSide
from whesl.cloud.runner.run_records import ExecutorState
from whesl.cloud.transfer.directory import DirectoryStore


class Liar:
    """A provider that shows what a test says, and notes what it is told to end."""

    name = "liar"

    def __init__(self, *shown: Instance) -> None:
        self.shown, self.ended = list(shown), list[str]()

    def start(self, request: InstanceRequest) -> Instance:
        raise NotImplementedError

    def instances(self, workflow: str) -> list[Instance]:
        return self.shown

    def find(self, token: str) -> Instance | None:
        return None

    def terminate(self, ids: Sequence[str]) -> None:
        self.ended += ids

    def close(self) -> None:
        """Nothing."""

    def prices(self, kinds: Sequence[str]) -> list[Offer]:
        return []


def instance(known_as: str, token: str, state: InstanceState = InstanceState.RUNNING) -> Instance:
    return Instance(id=known_as, token=token, workflow="run", kind="c", state=state)


def looked(
    tmp_path: Path, provider: Liar, *executors: tuple[str, str, float]
) -> dict[str, tuple[ExecutorState, str]]:
    """Return what a look shows of executors: states and handles."""
    side = ProviderSide(provider, DirectoryStore(tmp_path), run="run", command="")
    wanted = {known_as for known_as, _, _ in executors}
    seen = side.look(executors, lambda token: token in wanted)
    return {known_as: (one.state, one.handle) for known_as, one in seen.items()}


def test_an_empty_list_proves_nothing_before_the_end_time(tmp_path: Path) -> None:
    now = time.time()
    found = looked(tmp_path, Liar(), ("lives", "i-1", now + 60), ("over", "i-2", now - UNSEEN - 1))
    assert found == {"over": (ExecutorState.GONE, "i-2")}


def test_of_two_instances_for_one_token_the_one_that_is_not_known_is_ended(tmp_path: Path) -> None:
    """Whichever comes first, and whether or not the reply with the name was heard."""
    ends = time.time() + 60
    for one, other in (("i-1", "i-2"), ("i-2", "i-1")):
        provider = Liar(instance(one, "a"), instance(other, "a"))
        assert looked(tmp_path, provider, ("a", "i-1", ends)) == {"a": (ExecutorState.UP, "i-1")}
        assert provider.ended == ["i-2"]
    provider = Liar(instance("i-3", "a", InstanceState.ENDED), instance("i-1", "a"), instance("i-2", "a"))
    found = looked(tmp_path, provider, ("a", "", ends))
    assert found == {"a": (ExecutorState.UP, "i-1")} and provider.ended == ["i-2"]


def test_what_no_record_wants_and_what_has_only_stopped_is_ended(tmp_path: Path) -> None:
    provider = Liar(instance("i-1", "nobody"), instance("i-2", "a", InstanceState.STOPPED))
    found = looked(tmp_path, provider, ("a", "i-2", time.time() + 60))
    assert sorted(provider.ended) == ["i-1", "i-2"] and found["a"][0] is ExecutorState.ENDING
