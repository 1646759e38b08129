"""Placement on several clusters behind the protocol of all policies: nodes of a view are processors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whesl.model.errors import UsageError, WheslError
from whesl.placement.policies.multicluster.conservative import Schedule, renew
from whesl.placement.policies.multicluster.fcfs_easy import Running, Waiting, decide
from whesl.placement.policies.multicluster.profile import empty
from whesl.placement.policies.multicluster.schedule_local_search import Effort, improve
from whesl.placement.policies.port import Decisions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from whesl.placement.policies.port import View
    from whesl.prediction.failures.port import Predictor

RULES = ("fcfs", "fcfs-lb", "easy", "cons", "ls")


class ClusterPolicy:
    """A policy over several clusters, of which each job suits some; a job runs within one.

    Each decision is made of the view alone. So CONS and LS make all reservations anew, in the queue's order,
    where a simulator keeps those that no failure has touched: with exact run times and without failures CONS
    comes to the same. A job that no cluster can hold keeps waiting; to cancel it is the caller's.

    Args:
        cluster: the cluster of each node of the view, shape (nodes,).
        suits: whether a kind of job may run on a cluster, shape (kinds, clusters).
        kind: the kinds of jobs with given identifiers.
        preference: clusters, the fastest first; without it the largest first.
        rule: one of ``RULES``.
        seed: of the draws of fcfs-lb and ls.
        effort: iterations of local search for each waiting job.

    Raises:
        UsageError: there is no such rule.
    """

    def __init__(
        self,
        cluster: NDArray[np.int64],
        suits: NDArray[np.bool_],
        kind: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        preference: NDArray[np.int64] | None = None,
        rule: str = "easy",
        *,
        seed: int = 0,
        effort: float = 2.0,
    ) -> None:
        if rule not in RULES:
            raise UsageError(f"no rule {rule!r} on clusters", hint=f"accepted are {', '.join(RULES)}")
        self.name = f"clusters-{rule}"
        self._cluster = np.asarray(cluster, dtype=np.int64)
        self._suits, self._kind, self._rule, self._seed, self._effort = suits, kind, rule, seed, effort
        sizes = np.bincount(self._cluster, minlength=suits.shape[1])
        usual = np.argsort(-sizes, kind="stable")
        self._preference = usual if preference is None else np.asarray(preference, dtype=np.int64)

    def decide(self, view: View, predictor: Predictor | None, now: float) -> Decisions:
        """Return the jobs to start. Arguments as of ``Policy.decide``; the predictor is not asked.

        Raises:
            WheslError: the machine has other nodes than the clusters.
        """
        if len(view.nodes.free) != len(self._cluster):
            raise WheslError(
                f"the machine has {len(view.nodes.free)} nodes, and the clusters {len(self._cluster)}"
            )
        clusters = self._suits.shape[1]
        free = np.bincount(self._cluster[view.nodes.free], minlength=clusters)
        capacity = np.bincount(self._cluster[view.nodes.up], minlength=clusters)
        queue, busy = view.queue, view.running
        waiting = Waiting(
            queue.job, queue.size, queue.estimate, np.asarray(self._kind(queue.job), dtype=np.int64)
        )
        running = Running(self._cluster[busy.nodes[busy.offsets[:-1]]], np.diff(busy.offsets), busy.end)
        if self._rule in ("cons", "ls"):
            chosen = self._reserved(waiting, queue.submit, running, capacity, now)
        else:
            chosen = np.full(len(queue.job), -1, dtype=np.int64)
            found = decide(
                waiting,
                running,
                free,
                capacity,
                self._suits,
                self._preference,
                now,
                self._rule == "easy",
                self._rule == "fcfs-lb",
                self._seed,
            )
            chosen[found.position] = found.cluster
        return self._placed(queue.job, queue.size, chosen, view.nodes.free)

    def _reserved(
        self,
        waiting: Waiting,
        submit: NDArray[np.float64],
        running: Running,
        capacity: NDArray[np.int64],
        now: float,
    ) -> NDArray[np.int64]:
        """Return the cluster on which each job starts now by its reservation, -1 for those that wait."""
        count, clusters = len(waiting.job), len(capacity)
        profiles = empty(clusters, 2 * (count + len(running.cluster)) + 4)
        schedule = Schedule(np.full(count, -1, dtype=np.int64), np.full(count, np.inf))
        changed = np.ones(clusters, dtype=np.bool_)
        renew(profiles, schedule, waiting, running, capacity, changed, self._suits, self._preference, now)
        cluster, start = schedule
        later = np.flatnonzero((start > now) & (cluster >= 0))
        if self._rule == "ls" and len(later):
            begun = np.flatnonzero((start <= now) & (cluster >= 0))
            everything = Running(
                np.concatenate((running.cluster, cluster[begun])),
                np.concatenate((running.cpus, waiting.cpus[begun])),
                np.concatenate((running.end, now + waiting.time[begun])),
            )
            trial = Schedule(cluster[later], start[later])
            effort = Effort(
                self._effort, np.iinfo(np.int64).max, self._seed, int(waiting.job[later].sum()), np.inf
            )
            subset = Waiting(
                waiting.job[later], waiting.cpus[later], waiting.time[later], waiting.kind[later]
            )
            improve(trial, subset, submit[later], everything, capacity, self._suits, now, effort)
            cluster[later], start[later] = trial
        return np.where(start <= now, cluster, -1)

    def _placed(
        self,
        job: NDArray[np.int64],
        size: NDArray[np.int64],
        chosen: NDArray[np.int64],
        free: NDArray[np.bool_],
    ) -> Decisions:
        starts = np.flatnonzero(chosen >= 0)
        left = [np.flatnonzero(free & (self._cluster == c)) for c in range(self._suits.shape[1])]
        used = [0] * len(left)
        nodes = []
        for at in starts:
            c = chosen[at]
            nodes.append(left[c][used[c] : used[c] + size[at]])
            used[c] += int(size[at])
        return Decisions(
            job[starts],
            np.cumsum([0, *map(len, nodes)]),
            np.concatenate(nodes) if nodes else np.zeros(0, dtype=np.int64),
        )
