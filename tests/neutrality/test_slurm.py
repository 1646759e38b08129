"""Jobs on a real Slurm, plain and wrapped: the part of the suite that runs with all tests."""

from __future__ import annotations

import pytest

from tests.conftest import need_slurm
from tests.neutrality import sites
from tests.neutrality.cases import BRIEF_VARIANTS, brief
from tests.neutrality.comparing import Known
from tests.neutrality.judging import judged, lasting
from tests.neutrality.records import WAYS, Case, Way
from tests.neutrality.running import twins

PAIRS = [(case, way) for way in WAYS for case in brief().get(way.name, ())]
# All jobs run at once, within the first test; on a machine that does other things besides.
pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.costly, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> tuple[dict[str, str], tuple[Known, ...]]:
    """What differs in the jobs of the tests that are run."""
    need_slurm("dbd", "shells")
    here = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    names = {one.params["name"] for one in here if one is not None}
    chosen = [pair for pair in PAIRS if name_of(*pair) in names]
    with sites.slurm() as site:
        wanted = twins(chosen or PAIRS, site.manager)
        differing, mended = judged(site, wanted)
        return lasting(differing), mended


def name_of(case: Case, way: Way) -> str:
    return f"{case.name} [{way.name}]"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name_of(case, way),
            marks=[pytest.mark.variant] if (case.name, way.name) in BRIEF_VARIANTS else [],
        )
        for case, way in PAIRS
    ],
)
def test_a_wrapped_job_does_what_the_plain_one_does(
    found: tuple[dict[str, str], tuple[Known, ...]], name: str
) -> None:
    assert name not in found[0], f"\n{found[0][name]}"


def test_what_is_known_and_mended_is_taken_out_of_the_list(
    found: tuple[dict[str, str], tuple[Known, ...]],
) -> None:
    assert not found[1]
