"""The choice of a job's ranks in a Flux instance, with reasons, for the scheduler module. Pure.

The module (``plugins/flux/sched-whesl.py``) runs in Flux's own process and calls ``Advice``. Risks are cached
for a moment, so that a burst of jobs evaluates all nodes once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.placement.policies.reliable import expected_loss, risks, worth_waiting
from whesl.prediction.failures.port import Predictor
from whesl.prediction.failures.predictor_base import span

_NAMED = 4  # largest number of nodes that a reason names; further nodes are only counted
_LONGEST = 400  # largest number of characters of a reason
_SAID = 30.0  # seconds for which a node's evidence is cached; upper bound for risks
_SHARE = 0.01  # share of a job's duration for which its risks are cached
_MOST_SAID = 65536
_KEPT = 256  # largest number of durations whose risks are cached
# The uncompiled functions, since compilation would block the scheduler.
_LOSS = getattr(expected_loss, "py_func", expected_loss)
_WORTH = getattr(worth_waiting, "py_func", worth_waiting)


class Risks(NamedTuple):
    """The risks of each rank for jobs of one duration.

    Attributes:
        made: when the risks were computed, in seconds since the epoch.
        hazard: cumulative hazard of each rank while the job runs.
        key: the policy's sort key of each rank, lower for less risk.
    """

    made: float
    hazard: Mapping[int, float]
    key: NDArray[np.float64]

    def order(self, ranks: Sequence[int]) -> Iterator[int]:
        """Return the indices into ``ranks`` in the policy's order; equal ranks keep their order.

        Args:
            ranks: ranks of the instance that may get a job.
        """
        return iter(np.argsort(self.key[np.fromiter(ranks, np.int64, len(ranks))], kind="stable").tolist())


class Advice:
    """Risks of the ranks of one Flux instance by a predictor.

    Args:
        predictor: gives the failure probabilities of nodes; None for Flux's own order.
        names: names of the predictor's nodes by index.
        hosts: each rank's host name.
        horizon: assumed duration of a job without a limit, in seconds.
        refresh: shortest time for which risks are cached, in seconds.
    """

    def __init__(
        self,
        predictor: Predictor | None,
        names: Sequence[str],
        hosts: Mapping[int, str],
        *,
        horizon: float = 86400.0,
        refresh: float = 1.0,
    ) -> None:
        self.predictor = predictor
        self._horizon, self._refresh = horizon, refresh
        index = {name: number for number, name in enumerate(names)}
        found = {rank: index.get(host, index.get(host.partition(".")[0])) for rank, host in hosts.items()}
        self._node = {rank: node for rank, node in found.items() if node is not None}
        self._hosts = dict(hosts)
        self._size = max(hosts, default=-1) + 1
        self._risks: dict[float, Risks] = {}
        self._said: dict[tuple[int, float], tuple[float, str]] = {}

    @property
    def unknown(self) -> tuple[str, ...]:
        """Hosts that the predictor does not know; they get the median risk of the known hosts."""
        return tuple(host for rank, host in sorted(self._hosts.items()) if rank not in self._node)

    def length(self, duration: float, ends: float, now: float) -> float:
        """Return the assumed duration of a job, in seconds.

        Args:
            duration: the job's time limit in seconds; 0 for no limit.
            ends: when the instance ends, in seconds since the epoch; 0 for never.
            now: the current time, in seconds since the epoch.
        """
        left = ends - now if ends > 0 else math.inf
        return max(min(duration or self._horizon, left), 0.0)

    def risks(self, duration: float, now: float) -> Risks:
        """Return the risks of each rank for a job.

        Args:
            duration: duration of the job, in seconds.
            now: the current time, in seconds since the epoch.
        """
        duration = float(f"{duration:.2g}")  # durations that are equal to two digits share their risks
        found = self._risks.get(duration)
        kept = max(self._refresh, min(_SHARE * duration, _SAID))
        if found is None or not found.made <= now < found.made + kept:
            found = self._ask(duration, now, now)
            if len(self._risks) >= _KEPT:
                self._risks.clear()
            self._risks[duration] = found
        return found

    def waits(
        self,
        chosen: Collection[int],
        free: Sequence[int],
        end: float,
        freed: Sequence[int],
        duration: float,
        now: float,
    ) -> bool:
        """Return whether a job should wait for the next job's end, by the rule of the policy ``reliable``.

        The job waits if the nodes that are free then save more node-seconds on average than the wait costs.

        Args:
            chosen: ranks that the job would get now.
            free: ranks that are free for the job now.
            end: latest end of the next job, in seconds since the epoch.
            freed: further ranks that are free for the job then.
            duration: duration of the job, in seconds.
            now: the current time, in seconds since the epoch.
        """
        size, delay = len(chosen), end - now
        loss = _LOSS(_probability(self.risks(duration, now).hazard, chosen), size, duration, math.inf)
        if not _WORTH(loss, 0.0, delay, size):  # even ranks without risk would not pay for the wait
            return False
        then, pool = self._ask(duration, end, now), [*free, *freed]
        best = [pool[place] for place in list(then.order(pool))[:size]]
        return bool(
            _WORTH(loss, _LOSS(_probability(then.hazard, best), size, duration, math.inf), delay, size)
        )

    def _ask(self, duration: float, start: float, now: float) -> Risks:
        if self.predictor is None or not self._node:
            return Risks(now, dict.fromkeys(self._hosts, 0.0), np.zeros(self._size))
        pool = np.fromiter(self._node.values(), dtype=np.int64, count=len(self._node))
        hazard, key = risks(self.predictor.compiled(), pool, start, duration, now)
        middle = float(np.median(hazard))
        by_rank = dict.fromkeys(self._hosts, middle) | dict(zip(self._node, hazard.tolist(), strict=True))
        keys = np.full(self._size, np.median(key))
        keys[list(self._node)] = key
        return Risks(now, by_rank, keys)

    def reason(
        self, chosen: Collection[int], usual: Collection[int], duration: float, now: float, *, acts: bool
    ) -> str:
        """Return the reason for a job's ranks in one line.

        Args:
            chosen: the ranks that the policy chose.
            usual: the ranks that Flux would have taken by itself.
            duration: duration of the job, in seconds.
            now: the current time, in seconds since the epoch.
            acts: whether the job got the policy's ranks; otherwise the reason says what the policy would do.
        """
        if self.predictor is None:
            return "nothing is predicted: Flux's own order"
        hazard = self.risks(duration, now).hazard
        chance, before = _chance(hazard, chosen), _chance(hazard, usual)
        left = sorted(set(usual) - set(chosen))
        if not left:
            return f"fails within {span(duration)} with probability {chance}, as in Flux's own order"
        worst = max(left, key=lambda rank: hazard.get(rank, 0.0))
        named = ", ".join(self._hosts[rank] for rank in left[:_NAMED])
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        text = (
            f"{'avoids' if acts else 'would avoid'} {named}{more}: fails within {span(duration)} with "
            f"probability {chance} instead of {before}"
        )
        if (node := self._node.get(worst)) is not None:
            text += f"; {self._evidence(self.predictor, node, duration, now)}"
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

    def _evidence(self, predictor: Predictor, node: int, duration: float, now: float) -> str:
        """Return the evidence for a node's risk, which is cached so that a burst of jobs asks once."""
        key = node, float(f"{duration:.2g}")
        made, text = self._said.get(key, (-math.inf, ""))
        if not made <= now < made + _SAID:
            text = predictor.explain(node, now, duration).evidence
            if len(self._said) >= _MOST_SAID:
                self._said.clear()
            self._said[key] = now, text
        return text


def _probability(hazard: Mapping[int, float], ranks: Collection[int]) -> float:
    return -math.expm1(-sum(hazard.get(rank, 0.0) for rank in ranks))


def _chance(hazard: Mapping[int, float], ranks: Collection[int]) -> str:
    return f"{_probability(hazard, ranks):.2g}"
