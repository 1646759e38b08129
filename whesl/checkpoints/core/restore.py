"""The choice of the checkpoint to restore: the newest whole one that all ranks have verified.

Pure: each function takes a vote and returns the next vote, with sentences for the log.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from whesl.checkpoints.core.states_and_events import Record

UNKNOWN = -1  # no checkpoint was agreed on yet (0: there is no checkpoint to restore)


class Kept(Record, frozen=True, kw_only=True):
    """A whole checkpoint: its number, and the number of ranks that have written it."""

    number: int
    ranks: int


class Answer(Record, frozen=True, kw_only=True):
    """The numbers of a node's ranks that have found a checkpoint whole, and damaged."""

    number: int
    good: int
    bad: int


class Vote(Record, frozen=True, kw_only=True):
    """The state of the ranks' vote.

    Attributes:
        kept: whole checkpoints, the newest first.
        candidate: number of the checkpoint that the ranks verify; 0 for none.
        agreed: number of the checkpoint that all ranks restore; ``UNKNOWN`` before the agreement.
        ranks: the program's number of ranks, as the ranks report it; 0 while no rank has registered.
        answers: the nodes' answers, by node.
    """

    kept: tuple[Kept, ...] = ()
    candidate: int = 0
    agreed: int = UNKNOWN
    ranks: int = 0
    answers: dict[str, Answer] = msgspec.field(default_factory=dict)

    @property
    def good(self) -> int:
        """The number of ranks that have found the candidate whole."""
        return sum(answer.good for answer in self._answers())

    @property
    def heard(self) -> frozenset[str]:
        """The nodes that have answered for the candidate."""
        return frozenset(node for node, answer in self.answers.items() if answer.number == self.candidate)

    def _answers(self) -> list[Answer]:
        return [answer for answer in self.answers.values() if answer.number == self.candidate]


def begin(kept: tuple[Kept, ...]) -> Vote:
    """Return the vote before any answer. ``kept``: whole checkpoints, the newest first."""
    return Vote(kept=kept, candidate=kept[0].number if kept else 0, agreed=UNKNOWN if kept else 0)


def joined(vote: Vote, ranks: int) -> tuple[Vote, list[str]]:
    """Return the vote after a node has reported the program's number of ranks, and sentences for the log.

    Args:
        vote: the vote before the report.
        ranks: number of the program's ranks; 0 for unknown, which changes nothing.
    """
    if ranks <= 0 or ranks == vote.ranks:
        return vote, []
    vote = replace(vote, ranks=ranks)
    vote, said = _count(vote)
    return vote, [*_fit(vote), *said]


def verified(vote: Vote, node: str, answer: Answer) -> tuple[Vote, list[str]]:
    """Return the vote after a node's answer for a checkpoint, and sentences for the log.

    Args:
        vote: the vote before the answer.
        node: the node's name.
        answer: what the node's ranks have found, which replaces the node's earlier answer. A node whose
            ranks have withdrawn their answers sends smaller numbers.
    """
    return _count(replace(vote, answers={**vote.answers, node: answer}))


def _count(vote: Vote) -> tuple[Vote, list[str]]:
    """Agree on the candidate if all ranks have found it whole; choose an older one if a rank has not."""
    if vote.agreed != UNKNOWN:
        return vote, []
    if any(answer.bad for answer in vote._answers()):
        older = [one.number for one in vote.kept if one.number < vote.candidate]
        said = f"checkpoint {vote.candidate} is damaged; {'an older one' if older else 'none'} is left"
        vote = replace(vote, candidate=older[0] if older else 0, agreed=UNKNOWN if older else 0)
        return vote, [said, *_fit(vote)]
    if 0 < vote.ranks <= vote.good:
        return replace(vote, agreed=vote.candidate), [f"checkpoint {vote.candidate} is restored"]
    return vote, []


def _fit(vote: Vote) -> list[str]:
    """Return a sentence if another number of ranks has written the candidate."""
    found = next((one for one in vote.kept if one.number == vote.candidate), None)
    if found is None or vote.agreed != UNKNOWN or vote.ranks in (0, found.ranks):
        return []
    return [
        f"checkpoint {found.number} has parts of {found.ranks} ranks, and the program has {vote.ranks}:"
        " only a program that asks for all parts restores it, and it stays"
    ]
