"""Which ranks of a Flux instance a job gets, and why: the policy's risks for the scheduler module. Pure.

The module (``plugins/flux/sched-whesl.py``) runs in Flux's own process and asks this class; keys are
remembered for a moment, so that a burst of jobs costs one look at all nodes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.placement.policies.reliable import expected_loss, risks, worth_waiting
from whesl.prediction.failures.predictor_base import span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.prediction.failures.port import Predictor

_NAMED = 4  # nodes that a reason names; more are counted
_LONGEST = 400  # characters of a reason
_SAID = 30.0  # seconds for which a node's evidence is remembered, and risks at most
_SHARE = 0.01  # of a job's length for which its risks are remembered
_MOST_SAID = 65536
_KEPT = 256  # different durations whose keys are remembered
# As they were written: compiling them would hold the scheduler up.
_LOSS = getattr(expected_loss, "py_func", expected_loss)
_WORTH = getattr(worth_waiting, "py_func", worth_waiting)


class Risks(NamedTuple):
    """What a job of some length risks on each rank.

    Attributes:
        made: when it was asked, in seconds since the epoch.
        hazard: the cumulative hazard while the job runs.
        key: what the policy sorts by, the least risk first, for each rank.
    """

    made: float
    hazard: Mapping[int, float]
    key: NDArray[np.float64]

    def order(self, ranks: Sequence[int]) -> Iterator[int]:
        """Return the places of ranks in the policy's order; equal ones stay in theirs.

        Args:
            ranks: that may get a job. A rank is in the instance.
        """
        return iter(np.argsort(self.key[np.fromiter(ranks, np.int64, len(ranks))], kind="stable").tolist())


class Advice:
    """What a predictor says of the ranks of one instance.

    Args:
        predictor: gives the failure probabilities of nodes; None for Flux's own order.
        names: the predictor's nodes by index.
        hosts: each rank's host name.
        horizon: seconds for which a job without a limit is taken to run.
        refresh: seconds for which keys are remembered at least.
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
        """Hosts that the predictor does not know; they count as the median of the others."""
        return tuple(host for rank, host in sorted(self._hosts.items()) if rank not in self._node)

    def length(self, duration: float, ends: float, now: float) -> float:
        """Return for how long a job is taken to run.

        Args:
            duration: its limit in seconds; 0 for none.
            ends: when the instance ends, in seconds since the epoch; 0 for never.
            now: the current time, in seconds since the epoch.
        """
        left = ends - now if ends > 0 else math.inf
        return max(min(duration or self._horizon, left), 0.0)

    def risks(self, duration: float, now: float) -> Risks:
        """Return what a job risks on each rank.

        Args:
            duration: for how long the job runs, in seconds.
            now: the current time, in seconds since the epoch.
        """
        duration = float(f"{duration:.2g}")  # what differs by less shares its risks
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
        """Return whether a job had better wait for the next job's end, by the rule of the policy.

        It waits where the nodes that are free then save more node-seconds, in the mean, than the wait costs.

        Args:
            chosen: ranks that it would get now.
            free: ranks that may get it now.
            end: when the next job ends at the latest, in seconds since the epoch.
            freed: ranks that may get it then, besides.
            duration: for how long the job runs, in seconds.
            now: the current time, in seconds since the epoch.
        """
        size, delay = len(chosen), end - now
        loss = _LOSS(_probability(self.risks(duration, now).hazard, chosen), size, duration, math.inf)
        if not _WORTH(loss, 0.0, delay, size):  # however good the others are
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
        """Return in one line why a job has these ranks.

        Args:
            chosen: the ranks of the policy.
            usual: those that Flux would have taken by itself.
            duration: for how long the job runs, in seconds.
            now: the current time, in seconds since the epoch.
            acts: whether the policy's ranks were given; else it is said what it would have done.
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
        """Return why a node is at risk; a burst of jobs asks for each node once."""
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
