"""Mines chains from a site's log and its failures.

A node's messages in the window before each of its failures form a sequence of templates. Templates that are
much more common there than elsewhere are kept. Subsequences that several failures share are candidates
(PrefixSpan: Pei and others, ICDE 2001). Each candidate is run over the whole log, which also counts matches
without a failure. Of the candidates that are right often enough, the one that predicts most of the failures
not yet predicted is taken, again and again.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import median_high
from typing import NamedTuple

from whesl.prediction.log_chains.chain_matcher import Machine, Steps
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.evaluation import Failure, JudgedPrediction, by_node, following

_TEMPLATES = 200  # largest number of templates that are kept: those most typical of the time before failures
_CANDIDATES = 3000  # largest number of candidate subsequences
_LONGEST = 40  # number of last messages that form a failure's sequence


class Event(NamedTuple):
    """A message: the node, the time in seconds since the epoch, and the number of the template."""

    node: str
    time: float
    template: int


class Settings(NamedTuple):
    """Conditions that mined chains meet.

    Attributes:
        window: length of the window before a failure whose messages count, in seconds.
        least: least time from a message to a failure, in seconds; later messages are part of the failure.
        support: least number of failures that share a chain.
        confidence: least share of a chain's matches that a failure follows.
        shortest: least number of messages of a chain.
        steps: largest number of messages of a chain.
    """

    window: float = 7200.0
    least: float = 10.0
    support: int = 3
    confidence: float = 0.5
    shortest: int = 2
    steps: int = 5


Candidate = tuple[int, ...]


def mine(
    events: Sequence[Event],
    failures: Sequence[Failure],
    text: Callable[[int], str | None],
    settings: Settings,
) -> list[Chain]:
    """Return the chains that precede failures, those that predict most failures first.

    Args:
        events: the log's messages, in order of time.
        failures: the failures, in any order.
        text: returns a template's text by its number; None for a template that cannot be searched for.
        settings: the conditions of a chain.
    """
    times = by_node(failures)
    usable = {number: found for number in {one.template for one in events} if (found := text(number))}
    chosen = _unusual(events, times, settings, usable)
    kept = [one for one in events if one.template in chosen]
    sequences = [found for _, found in sequences_before(kept, times, settings) if found]
    candidates = list(_frequent(sequences, settings))
    return _covering(kept, candidates, times, usable, settings)


def sequences_before(
    events: Sequence[Event], times: Mapping[str, Sequence[float]], settings: Settings
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield each failure's time with the templates in the window before it, without immediate repetitions.

    Args:
        events: the log's messages, in order of time.
        times: times of each node's failures, ascending.
        settings: the conditions of a chain.
    """
    mine: dict[str, list[Event]] = {}
    for one in events:
        if one.node in times:
            mine.setdefault(one.node, []).append(one)
    for node, failed in times.items():
        some = mine.get(node, [])
        moments = [one.time for one in some]
        back = -math.inf
        for time in failed:
            begin = bisect_left(moments, max(time - settings.window, back))
            end = bisect_left(moments, time - settings.least)
            templates = [one.template for one in some[begin:end]]
            yield time, tuple(number for number, _ in groupby(templates))[-_LONGEST:]
            back = time


def _unusual(
    events: Sequence[Event],
    times: Mapping[str, Sequence[float]],
    settings: Settings,
    usable: Mapping[int, str],
) -> set[int]:
    """Return templates that are common in the windows before failures and rare elsewhere."""
    before: Counter[int] = Counter()
    windows = 0
    for _, found in sequences_before(events, times, settings):
        before.update(set(found))
        windows += 1
    slots = {(one.node, one.time // settings.window, one.template) for one in events}
    everywhere = Counter(template for _, _, template in slots)
    span = events[-1].time - events[0].time if events else 0.0
    nodes = len({one.node for one in events})
    total = max(nodes * (span / settings.window + 1.0), 1.0)
    scored = []
    for number, count in before.items():
        usual = everywhere[number] / total
        if count >= settings.support and number in usable and count / windows > 2.0 * usual:
            scored.append((count * math.log(count / windows / usual), number))
    return {number for _, number in sorted(scored, reverse=True)[:_TEMPLATES]}


def _frequent(sequences: Sequence[tuple[int, ...]], settings: Settings) -> Iterator[Candidate]:
    """Return the subsequences that enough sequences share, the most shared first (PrefixSpan)."""
    found: list[tuple[int, Candidate]] = []
    # Each prefix with the places after its end in the sequences that hold it; the most shared prefixes grow
    # first.
    level: list[tuple[Candidate, list[tuple[int, int]]]]
    level = [((), [(number, 0) for number in range(len(sequences))])]
    for _ in range(settings.steps):
        grown: list[tuple[Candidate, list[tuple[int, int]]]] = []
        for prefix, ends in level:
            nexts: dict[int, list[tuple[int, int]]] = {}
            for number, begin in ends:
                seen: set[int] = set()
                for place in range(begin, len(sequences[number])):
                    template = sequences[number][place]
                    if template not in seen:
                        seen.add(template)
                        nexts.setdefault(template, []).append((number, place + 1))
            grown += [
                ((*prefix, template), some)
                for template, some in nexts.items()
                if len(some) >= settings.support
            ]
        grown.sort(key=lambda one: (-len(one[1]), one[0]))
        level = grown[: _CANDIDATES // settings.steps]
        found += [(len(some), prefix) for prefix, some in level if len(prefix) >= settings.shortest]
    found.sort(key=lambda one: (-one[0], one[1]))
    return (prefix for _, prefix in found)


class _Tried(NamedTuple):
    """A candidate's result on the whole log: number of matches, and lead time of each predicted failure."""

    candidate: Candidate
    matches: int
    leads: dict[Failure, float]


def _covering(
    events: Sequence[Event],
    candidates: Sequence[Candidate],
    times: Mapping[str, list[float]],
    text: Mapping[int, str],
    settings: Settings,
) -> list[Chain]:
    tried = [
        one
        for one in _tried(events, candidates, times, settings)
        if len(one.leads) >= settings.support and len(one.leads) / one.matches >= settings.confidence
    ]
    chains: list[Chain] = []
    covered: set[Failure] = set()
    while tried:
        # Prefers many new failures and few matches without a failure; ties go to the longest median lead
        # time.
        best = max(
            tried,
            key=lambda one: (
                len(one.leads.keys() - covered) * ((len(one.leads) + 1) / (one.matches + 2)) ** 2,
                median_high(one.leads.values()),
            ),
        )
        if len(best.leads.keys() - covered) < settings.support:
            return chains
        covered |= best.leads.keys()
        tried.remove(best)
        chains.append(
            Chain(
                name=f"chain-{len(chains) + 1}",
                steps=tuple(text[number] for number in best.candidate),
                lead=max(1.0, round(median_high(best.leads.values()))),
                window=settings.window,
                within=settings.window,
                confidence=round((len(best.leads) + 1) / (best.matches + 2), 3),
                matches=best.matches,
                hits=len(best.leads),
            )
        )
    return chains


def _tried(
    events: Sequence[Event],
    candidates: Sequence[Candidate],
    times: Mapping[str, list[float]],
    settings: Settings,
) -> Iterator[_Tried]:
    """Run all candidates over the log in one pass; a match is right when a failure follows in the window."""
    chains = [
        Chain(name=str(number), steps=tuple(map(str, steps)), lead=1.0, window=settings.window)
        for number, steps in enumerate(candidates)
    ]
    steps = Steps(chains)
    places = {int(name): place for place, name in enumerate(steps.templates)}
    machine = Machine(steps)
    matches = [0] * len(chains)
    leads: list[dict[Failure, float]] = [{} for _ in chains]
    for one in events:
        place = places.get(one.template)
        if place is None:
            continue
        for complete in machine.feed(one.node, one.time, (place,)):
            said = JudgedPrediction(one.node, complete.time, settings.window, "")
            failed = following(times, said)
            matches[complete.chain] += 1
            if failed is not None and failed - complete.time >= settings.least:
                leads[complete.chain].setdefault((one.node, failed), failed - complete.time)
    for number, candidate in enumerate(candidates):
        if matches[number]:
            yield _Tried(candidate, matches[number], leads[number])
