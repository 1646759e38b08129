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


# The cancelled job traps a signal, too; test_slurm.py has both. make test-all runs these.
FURTHER = ("trap-several", "own-requeue")


@pytest.fixture(scope="module")
def differing(request: pytest.FixtureRequest) -> dict[str, str]:
    """What differs in the jobs of the tests that are run."""
    here = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    names = {one.params["name"] for one in here if one is not None}
    with sites.local(nodes=6) as site:
        chosen = [pair for pair in PAIRS if pair[0].name in names]
        return lasting(judged(site, twins(chosen, site.manager))[0])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(case.name, marks=[pytest.mark.variant] if case.name in FURTHER else [])
        for case, _ in PAIRS
    ],
)
def test_a_wrapped_job_does_what_the_plain_one_does(differing: dict[str, str], name: str) -> None:
    assert f"{name} [run]" not in differing, f"\n{differing[f'{name} [run]']}"
