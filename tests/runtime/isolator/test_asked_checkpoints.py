"""A checkpoint that was asked for while its coordinator was killed."""

from __future__ import annotations

from typing import Any

import pytest

from whesl.checkpoints.core.states_and_events import Predicted
from whesl.checkpoints.messages import Reply, StatusAsked, ToCoordinator
from whesl.model.evidence import PredictedFailure
from whesl.runtime.isolator.core.events_and_commands import AskCheckpoint
from whesl.runtime.isolator.effects import program_checkpoints
from whesl.runtime.journal.records import isolator_records as records

ONE = {"n1": {"ranks": 1}}


def reply(
    nodes: dict[str, Any],
    checkpoint: int = 0,
    whole: tuple[int, ...] = (),
    ended: int = 0,
    *,
    again: bool = False,
) -> Reply:
    taken = {"number": checkpoint} if checkpoint else None
    over = {"number": ended, "why": "a step was passed"} if ended else None
    return Reply(
        status={
            "nodes": nodes,
            "checkpoint": taken,
            "checkpoints": list(whole),
            "ended": over,
            "tried_again": again,
        },
    )


@pytest.mark.parametrize(
    ("after", "done"),
    [
        # It had told nobody of the checkpoint: the new one is asked for it, once it knows the node.
        (
            [(StatusAsked, reply({})), (StatusAsked, reply(ONE)), (Predicted, reply(ONE, 1))],
            "checkpoint 1",
        ),
        # The new one gave it up, and has taken another since.
        ([(StatusAsked, reply(ONE, 2))], "checkpoint 2"),
        # It was given up, and is tried again: nobody asks for yet another one meanwhile.
        (
            [(StatusAsked, reply(ONE, ended=1, again=True)), (StatusAsked, reply(ONE, 2, ended=1))],
            "checkpoint 2",
        ),
    ],
)
def test_a_new_coordinator_is_asked_again(
    after: list[tuple[type, Reply]], done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The isolator waited an hour for a checkpoint that nobody took, and did not replace the node."""
    number = int(done.split()[1])
    script = [(StatusAsked, reply(ONE)), (Predicted, reply(ONE, 1)), *after]
    script += [(StatusAsked, reply(ONE, number)), (StatusAsked, reply(ONE, whole=(number,), ended=number))]

    def say(message: ToCoordinator) -> Reply:
        expected, answer = script.pop(0)
        assert type(message) is expected
        return answer

    ends: list[records.CheckpointEnded] = []
    made = program_checkpoints.Checkpoints("wf/app", lambda call: call(), ends.append, lambda _signal: None)
    monkeypatch.setattr(program_checkpoints, "LOOK", 0.0)
    monkeypatch.setattr(made, "_say", say)
    prediction = PredictedFailure(node="n1", time=4e9, lead=60.0)
    made._ask(AskCheckpoint(ordinal=1, attempt=1, arguments={"timeout": 5.0}, prediction=prediction))
    assert [(end.checkpoint, end.why) for end in ends] == [(done, "")] and not script
