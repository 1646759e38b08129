"""Each deliberate fault is found within the seeds that CI runs; otherwise the invariants are asleep."""

from __future__ import annotations

import pytest

from tests.simulation.mutations import MUTATIONS, Mutation
from tests.simulation.scenario import draw
from tests.simulation.system import play
from tests.simulation.test_simulation import SEEDS
from tests.simulation.world import InvariantError

# Where each was found last, to be quick; wherever a change of the drawing moves it, all seeds are tried.
LAST_FOUND = {
    "lost_acknowledgement_accepted": 228,
    "restarts_not_compared": 1096,
    "orders_not_compared": 0,
    "budget_not_counted": 3,
    "step_done_before_it_is": 7,
    "claim_ignored": 233,
    "refused_unasked": 10239,
    "replaced_claim_heard": 224,
    "forgotten_batch_hosts_believed": 521,
    "request_done_twice": 0,
    "grant_not_awaited": 0,
    "lease_ignored": 106,
    "nodes_without_an_agent_not_told_apart": 405,
    "punctual_agents_assumed": 405,
    "strange_steps_ignored": 232,
    "fence_not_awaited": 0,
    "late_dependents_forgotten": 54,
    "news_not_repeated": 360,
    "last_words_not_left": 228,
    "files_not_asked": 228,
    "numbers_not_told_apart": 462,
    "replay_skips_a_record": 0,
    "escalation_swallowed_by_the_isolator": 13,
    "escalation_swallowed_by_the_coordinator": 13,
    "back_off_ignored": 3,
    "the_hosts_clock_followed": 107,
    "set_back_by_a_restart": 1987,
    "silence_forgotten_by_a_restart": 42,
    "lost_nodes_not_raised": 334,
    "drained_for_alive": 131,
    "configurations_not_told": 1096,
    "snapshot_without_the_bad_nodes": 132,
    "restarted_for_recovered": 0,
    "checkpoints_not_counted": 908,
    "losses_that_wait_forgotten": 1,
    "raised_ids_forgotten": 318,
    "spares_taken_unasked": 64,
    "lost_nodes_forgotten_at_the_end": 52,
    "patience_forgotten": 682,
    "last_lines_not_judged": 0,
}
# Found by a world that goes round and round until its last second: 40 s of a processor.
ENDLESS = {"silence_forgotten_by_a_restart"}


@pytest.mark.costly
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "mutation",
    [
        pytest.param(
            mutation,
            id=mutation.__name__,
            marks=[pytest.mark.variant] if mutation.__name__ in ENDLESS else [],
        )
        for mutation in MUTATIONS
    ],
)
def test_a_deliberate_fault_is_found(mutation: Mutation) -> None:
    with mutation():
        for seed in (LAST_FOUND.get(mutation.__name__, 0), *range(SEEDS)):
            try:
                play(draw(seed))
            except InvariantError:
                return
    pytest.fail(f"{SEEDS} seeds hold although {(mutation.__doc__ or '').strip()}")
