"""Jobs on the embedded cluster, plain and wrapped: a few, since real Slurm runs all kinds of them."""

from __future__ import annotations

import pytest

from tests.neutrality import sites
from tests.neutrality.cases import LOCAL
from tests.neutrality.judging import Verdict, verdict
from tests.neutrality.records import WAYS
from tests.neutrality.running import run_all, twins

PAIRS = [(case, way) for case in LOCAL for way in WAYS if way.name == "run"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.costly, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def judged() -> Verdict:
    """What became of all jobs."""
    with sites.local(nodes=6) as site:
        wanted = twins(PAIRS, site.manager)
        return verdict(wanted, run_all(site, wanted), ())


@pytest.mark.parametrize("name", [case.name for case, _ in PAIRS])
def test_a_wrapped_job_does_what_the_plain_one_does(judged: Verdict, name: str) -> None:
    assert not judged.new[name, "run"], f"\n{judged.new[name, 'run']}"
