"""Each deliberate fault is found within the seeds that CI runs; otherwise the invariants are asleep."""

from __future__ import annotations

import pytest

from tests.simulation.mutations import MUTATIONS, Mutation
from tests.simulation.scenario import draw
from tests.simulation.system import play
from tests.simulation.test_simulation import SEEDS
from tests.simulation.world import InvariantError

# Where they were found last, to be quick; wherever a change of the drawing moves them, all seeds are tried.
LAST_FOUND = (
    0,
    3,
    7,
    13,
    17,
    54,
    106,
    107,
    131,
    224,
    228,
    232,
    233,
    254,
    318,
    334,
    405,
    462,
    521,
    908,
    982,
    1096,
    1103,
    1987,
    2291,
    10239,
)


@pytest.mark.costly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_a_deliberate_fault_is_found(mutation: Mutation) -> None:
    with mutation():
        for seed in (*LAST_FOUND, *range(SEEDS)):
            try:
                play(draw(seed))
            except InvariantError:
                return
    pytest.fail(f"{SEEDS} seeds hold although {(mutation.__doc__ or '').strip()}")
