"""How long and how strongly a node is avoided: by what the evidence is worth. Pure.

One stopped process may be the program's own fault; a node that is gone is not. The rule, as
docs/administration.md has it: a node that is lost is avoided for a day, one that a scheduler, a launcher or a
rule names for six hours, one that is only suspected for an hour, and then only as the last choice:
submissions do not exclude it. What comes again while the node is still avoided counts as the next worse.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whesl.model.workflow import BadNode, Grade

# The most nodes to avoid: schedulers never use an excluded node, so a long list could keep large jobs from
# running.
LONGEST = 32
SECONDS = {Grade.SUSPECTED: 3600.0, Grade.BLAMED: 6 * 3600.0, Grade.LOST: 24 * 3600.0}
_WORSE = {Grade.SUSPECTED: Grade.BLAMED, Grade.BLAMED: Grade.LOST, Grade.LOST: Grade.LOST}


def repeated(known: BadNode | None, bad: BadNode) -> BadNode:
    """Return the entry for a node of which there may be one already.

    Several steps of a recovery may report the same node, each with the exception's time: they count once. A
    time that a person or a specification has chosen stays as it is.

    Args:
        known: what is remembered of it.
        bad: the news.
    """
    if known is None:
        return bad
    again = bad.time > known.time
    bad = msgspec.structs.replace(bad, count=known.count + again, first=known.first or known.time)
    if bad.time >= known.expires or bad.chosen:
        return bad
    worst = max(known.grade, bad.grade, key=list(Grade).index)
    grade = _WORSE[worst] if again else worst
    expires = max(bad.expires, known.expires, bad.time + SECONDS[grade] if again else 0.0)
    return msgspec.structs.replace(bad, grade=grade, expires=expires)


def to_avoid(nodes: Iterable[BadNode], now: float) -> tuple[str, ...]:
    """Return the names of the nodes that jobs are kept off, the latest first, at most ``LONGEST``.

    Args:
        nodes: the entries.
        now: seconds since the epoch; expired and only suspected nodes are left out.
    """
    lasting = [bad for bad in nodes if bad.expires > now and bad.excluded]
    lasting.sort(key=lambda bad: bad.time, reverse=True)
    return tuple(bad.node for bad in lasting[:LONGEST])


def told(bad: BadNode, now: float) -> str:
    """Return a node with why and for how long it is avoided.

    Args:
        bad: the entry.
        now: seconds since the epoch.
    """
    minutes = max(bad.expires - now, 0.0) / 60
    left = f"{minutes / 60:.0f} h" if minutes >= 90 else f"{minutes:.0f} min"
    return f"{bad.node} ({bad.reason}; {left} more)"
