"""Contract tests of providers of instances; all of ``whesl.cloud.providers`` pass them.

A test module makes a subclass of ``ProviderContract`` with a fixture ``provider``.
"""

from __future__ import annotations

import time
import uuid
from threading import Thread

import pytest

from whesl.cloud.providers.port import (
    Instance,
    InstanceRequest,
    InstanceState,
    Market,
    Provider,
    TokenMismatchError,
)
from whesl.testing.waiting import until

PATIENCE = 60.0


def request(
    seconds: float = 600.0, *, command: str = "", market: Market = Market.ON_DEMAND
) -> InstanceRequest:
    """Return a request for an instance, with a token that no other test uses.

    Args:
        seconds: the instance's time, seconds.
        command: the command that the instance runs.
        market: on-demand or spot.
    """
    return InstanceRequest(
        token=f"token-{uuid.uuid4().hex}",
        workflow=f"workflow-{uuid.uuid4().hex}",
        kind="c5a.4xlarge",
        market=market,
        ends=float(int(time.time() + seconds)),
        command=command,
    )


class ProviderContract:
    """Tests that any provider of instances has to pass."""

    shortest = 3.0  # seconds until the end time in ``test_it_ends_at_its_end_time``

    def test_one_instance_for_a_token(self, provider: Provider) -> None:
        """A repeated request returns the same instance, also to several callers at once."""
        asked = request()
        found: list[Instance] = []
        callers = [Thread(target=lambda: found.append(provider.start(asked))) for _ in range(3)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert len({instance.id for instance in found}) == 1 and len(found) == 3
        assert provider.start(asked).id == found[0].id
        assert [instance.id for instance in provider.instances(asked.workflow)] == [found[0].id]
        provider.terminate([found[0].id])

    def test_another_request_with_a_used_token_is_refused(self, provider: Provider) -> None:
        """Another request with a used token starts no instance."""
        asked = request()
        first = provider.start(asked)
        other = InstanceRequest(
            token=asked.token,
            workflow=asked.workflow,
            kind="c4.4xlarge",
            ends=asked.ends,
            market=asked.market,
        )
        with pytest.raises(TokenMismatchError):
            provider.start(other)
        assert [instance.id for instance in provider.instances(asked.workflow)] == [first.id]
        provider.terminate([first.id])

    def test_it_is_found_by_token_and_by_tag(self, provider: Provider) -> None:
        """An instance is found by its token and its tag, with the values of its request."""
        asked = request()
        started = provider.start(asked)
        until(lambda: provider.find(asked.token) is not None, "the token finds it", PATIENCE)
        found = provider.find(asked.token)
        assert found is not None and found.id == started.id
        assert (found.workflow, found.kind, found.ends, found.market) == (
            asked.workflow,
            asked.kind,
            asked.ends,
            asked.market,
        )
        assert provider.find("token-of-nothing") is None
        assert provider.instances("workflow-of-nothing") == []
        provider.terminate([started.id])

    def test_it_runs_and_is_terminated(self, provider: Provider) -> None:
        """To terminate an instance twice, or an unknown one, is no error; its token starts no other one."""
        asked = request()
        started = provider.start(asked)
        until(lambda: self._state(provider, asked) is InstanceState.RUNNING, "it runs", PATIENCE)
        provider.terminate([started.id])
        provider.terminate([started.id])
        provider.terminate(["i-00000000000000000"])
        until(lambda: self._state(provider, asked) is InstanceState.ENDED, "it has ended", PATIENCE)
        again = provider.start(asked)
        assert again.id == started.id and again.state is InstanceState.ENDED

    def test_it_ends_at_its_end_time(self, provider: Provider) -> None:
        """An instance ends at its end time without a call of ``terminate``."""
        asked = request(self.shortest)
        provider.start(asked)
        until(lambda: self._state(provider, asked) is InstanceState.ENDED, "it has ended by itself", PATIENCE)
        assert time.time() >= asked.ends

    def test_it_ends_with_its_command(self, provider: Provider) -> None:
        """An instance ends when its command has ended or died, so that it costs nothing more."""
        asked = request(command="kill -9 $$")
        provider.start(asked)
        until(lambda: self._state(provider, asked) is InstanceState.ENDED, "its command has ended", PATIENCE)

    def test_spot(self, provider: Provider) -> None:
        """A spot instance is reported as a spot instance."""
        asked = request(market=Market.SPOT)
        started = provider.start(asked)
        assert [instance.market for instance in provider.instances(asked.workflow)] == [Market.SPOT]
        provider.terminate([started.id])

    def _state(self, provider: Provider, asked: InstanceRequest) -> InstanceState | None:
        found = [one for one in provider.instances(asked.workflow) if one.token == asked.token]
        return found[0].state if found else None
