"""EC2's provider against moto's server made strict. AWS itself is not tried."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.waiting import until
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError
from whesl.testing.contract_provider import ProviderContract, request

if TYPE_CHECKING:
    from tests.equipment.strictcloud import StrictCloud

pytest.importorskip("boto3", reason="boto3 is not installed (extra cloud)")

from whesl.cloud.providers.ec2 import Ec2Provider
from whesl.cloud.providers.port import Ec2Settings, EndReason, InstanceState, Market, NoCapacityError

REGION = "us-east-1"


@pytest.fixture
def provider(cloud: StrictCloud) -> Ec2Provider:
    settings = Ec2Settings(region=REGION, image="ami-12c6146b", endpoint=cloud.endpoint)  # one that moto has
    return Ec2Provider(settings)


class TestContract(ProviderContract):
    """The contract."""


def test_the_reply_is_lost(cloud: StrictCloud, provider: Ec2Provider) -> None:
    """The call repeated with the token finds the instance: there is one."""
    cloud.lose["RunInstances"] = 3
    asked = request()
    with pytest.raises(TransientError):
        provider.start(asked)
    started = provider.start(asked)
    assert [one.id for one in provider.instances(asked.workflow)] == [started.id]
    provider.terminate([started.id])


@pytest.mark.parametrize("market", list(Market))
def test_no_capacity(cloud: StrictCloud, provider: Ec2Provider, market: Market) -> None:
    """It is no lost reply, and nothing was started."""
    cloud.capacity = cloud.spot_capacity = 0
    asked = request(market=market)
    with pytest.raises(NoCapacityError):
        provider.start(asked)
    assert provider.find(asked.token) is None
    cloud.capacity = cloud.spot_capacity = 1000
    provider.terminate([provider.start(asked).id])


def test_a_new_instance_is_not_shown_yet(cloud: StrictCloud, provider: Ec2Provider) -> None:
    """The list is empty although the instance runs: the token says so."""
    cloud.hidden = 3600.0
    asked = request()
    started = provider.start(asked)
    assert provider.instances(asked.workflow) == [] and provider.find(asked.token) is None
    assert provider.start(asked).id == started.id
    provider.terminate([started.id])


def test_a_spot_instance_is_revoked(cloud: StrictCloud, provider: Ec2Provider) -> None:
    asked = request(market=Market.SPOT)
    started = provider.start(asked)
    cloud.revoke(started.id)
    found = provider.find(asked.token)
    assert found is not None and found.gone and found.reason is EndReason.REVOKED


def test_the_key_is_refused(cloud: StrictCloud, provider: Ec2Provider) -> None:
    cloud.refuse["RunInstances"] = "AuthFailure"
    with pytest.raises(RefusedError, match="AuthFailure") as raised:
        provider.start(request())
    assert "access key" in raised.value.hint


def test_the_cloud_does_not_answer(cloud: StrictCloud, provider: Ec2Provider) -> None:
    """A list that did not come is no empty list."""
    cloud.refuse["DescribeInstances"] = "ServiceUnavailable"
    with pytest.raises(CouldNotObserveError):
        provider.instances("any")


def test_without_the_behaviour_on_the_call_an_instance_is_only_stopped(
    cloud: StrictCloud, provider: Ec2Provider
) -> None:
    """What the provider sets on RunInstances matters: the fixture stops whose call did not say it."""
    asked = request(2.0)
    arguments = provider._arguments(asked)
    del arguments["InstanceInitiatedShutdownBehavior"]
    provider._client.run_instances(**arguments)

    def state() -> InstanceState:
        found = provider.find(asked.token)
        assert found is not None
        return found.state

    until(lambda: state() is InstanceState.STOPPED, "stopped, and paid for", 60)
    found = provider.find(asked.token)
    assert found is not None and not found.gone
    provider.terminate([found.id])


def test_the_command_runs_and_the_watchdog_ends_it(provider: Ec2Provider, tmp_path: Path) -> None:
    """The user data as it is: the end comes from inside, although the command goes on."""
    mark = tmp_path / "ran"
    asked = request(3.0, command=f"touch {mark}; exec sleep 1000")
    provider.start(asked)
    until(mark.exists, "the command runs", 60)

    def gone() -> bool:
        found = provider.find(asked.token)
        return found is not None and found.gone

    until(gone, "the watchdog ended it", 60)
    found = provider.find(asked.token)
    assert found is not None and found.reason is EndReason.END_TIME and time.time() >= asked.ends


def test_how_many_instances_an_account_may_have_follows_from_its_quotas(
    cloud: StrictCloud, provider: Ec2Provider
) -> None:
    """Plans counted on a million of each."""
    kinds = ["c5a.4xlarge", "m5.large", "g4dn.xlarge", "p3.2xlarge"]
    with pytest.raises(RefusedError, match="quotas"):
        provider.most(kinds, Market.ON_DEMAND)
    cloud.quotas = {"L-1216C47A": 70.0, "L-DB2E81BA": 3.0, "L-34B43A08": 32.0, "L-3819A6DF": 8.0}
    assert provider.most(kinds, Market.ON_DEMAND) == {"c5a.4xlarge": 4, "m5.large": 35, "g4dn.xlarge": 0}
    assert provider.most(kinds, Market.SPOT) == {"c5a.4xlarge": 2, "m5.large": 16, "g4dn.xlarge": 2}
    assert provider.most(["p3.2xlarge"], Market.SPOT) == {}
