"""Jobs on the embedded cluster, plain and wrapped: a few, since real Slurm runs all kinds of them."""

from __future__ import annotations

import pytest

from tests.neutrality import sites
from tests.neutrality.cases import LOCAL
from tests.neutrality.judging import judged, lasting
from tests.neutrality.records import WAYS
from tests.neutrality.running import twins

PAIRS = [(case, way) for case in LOCAL for way in WAYS if way.name == "run"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.costly, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def differing() -> dict[str, str]:
    """What differs."""
    with sites.local(nodes=6) as site:
        return lasting(judged(site, twins(PAIRS, site.manager))[0])


@pytest.mark.parametrize("name", [case.name for case, _ in PAIRS])
def test_a_wrapped_job_does_what_the_plain_one_does(differing: dict[str, str], name: str) -> None:
    assert f"{name} [run]" not in differing, f"\n{differing[f'{name} [run]']}"
