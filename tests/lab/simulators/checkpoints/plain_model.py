"""The checkpoint models as plain SimPy processes: an application, and one process for each failure.

Written beside ``whesl.lab.simulators.checkpoints.event_loop`` with another structure: the application is a
generator that is interrupted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import simpy

if TYPE_CHECKING:
    from collections.abc import Generator

    from whesl.lab.simulators.checkpoints.event_loop import Incidents, Plan


class Node:
    """A node for which a failure is predicted, or that fails unseen."""

    def __init__(self, fails: float, real: bool) -> None:
        self.fails = fails
        self.real = real
        self.moved_at = math.inf
        self.saved = False


class Application:
    """One run of one application."""

    def __init__(self, plan: Plan, incidents: Incidents) -> None:
        self.plan = plan
        self.env = simpy.Environment()
        self.blocked = self.lost = self.recovered = 0.0
        self.failures = self.moved = self.met = 0
        self.done = 0.0
        self.local: list[tuple[float, float]] = []  # (drained at, work) of checkpoints in the buffers
        self.shared = 0.0
        self.queue: list[Node] = []
        self.moving: list[Node] = []
        self.written: list[Node] = []  # in the proactive checkpoint that is being written
        self.dead = False
        self.main = self.env.process(self.run())
        for predicted, failed, real in zip(*incidents, strict=True):
            self.env.process(self.fate(float(predicted), Node(float(failed), bool(real))))
        self.env.run(self.main)
        self.makespan = float(self.env.now)

    def gap(self) -> float:
        rate = (1.0 + self.failures) / (1.0 / self.plan.rate + self.env.now)
        if self.env.now == 0:
            rate = self.plan.rate
        return math.sqrt(2.0 * self.plan.buffer_write / (self.plan.unmet * rate))

    def fate(self, predicted: float, node: Node) -> Generator[Any, Any, None]:
        """Predict a node's failure, then let it fail."""
        if predicted < math.inf:
            yield self.env.timeout(predicted - self.env.now)
            self.predicted(node)
        yield self.env.timeout(node.fails - self.env.now)
        if not self.main.is_alive:
            return
        if node in self.queue and not node.real:
            self.queue.remove(node)
        if not node.real:
            return
        self.failures += 1
        if node.moved_at <= self.env.now:
            self.moved += 1
        elif node.saved:
            self.met += 1
            if node in self.written:
                self.dead = True
            else:
                self.main.interrupt("failed")
        else:
            if node in self.queue:
                self.queue.remove(node)
            self.main.interrupt("failed")

    def predicted(self, node: Node) -> None:
        if not self.main.is_alive:
            return
        plan, now = self.plan, self.env.now
        left = node.fails - now
        aborts = False
        if plan.migrate and plan.prioritize:
            for other in list(self.moving):
                if (
                    now < other.moved_at < math.inf
                    and other.fails > now
                    and (left < other.moved_at - now or left < other.fails - now)
                ):
                    other.moved_at = math.inf
                    self.queue.append(other)
                    aborts = True
        if plan.migrate and left >= plan.migration and not aborts:
            node.moved_at = now + plan.migration
            self.moving.append(node)
        elif plan.safeguard or plan.prioritize:
            self.queue.append(node)
            self.main.interrupt("predicted")

    def spend(self, seconds: float, what: str) -> Generator[Any, Any, float]:
        """Spend time on something; return what is left of it where it is interrupted."""
        begun = self.env.now
        try:
            yield self.env.timeout(seconds)
        finally:
            passed = self.env.now - begun
            if what == "compute":
                self.done += passed
            elif what == "recover":
                self.recovered += passed
            else:
                self.blocked += passed
        return 0.0

    def run(self) -> Generator[Any, Any, None]:
        """Compute, write checkpoints, and begin anew where a node fails."""
        plan = self.plan
        self.interval, since = self.gap(), 0.0
        reload = 0.0
        while True:
            try:
                if reload:
                    yield from self.reload(reload)
                    reload = 0.0
                if self.queue:
                    if (yield from self.proactive()):
                        reload = plan.all_write
                    since = 0.0
                    continue
                begun = self.done
                try:
                    yield from self.spend(min(self.interval - since, plan.work - self.done), "compute")
                finally:
                    since += self.done - begun
                if self.done >= plan.work - 1e-6:
                    return
                yield from self.spend(plan.buffer_write, "write")
                start = max([self.env.now, *(drained for drained, _ in self.local)])
                self.local = [entry for entry in self.local if entry[0] <= self.env.now][-1:]
                self.local.append((start + plan.drain, self.done))
                self.interval, since = self.gap(), 0.0
            except simpy.Interrupt as interrupt:
                if interrupt.cause == "failed":
                    reload, since = self.back(), 0.0

    def reload(self, seconds: float) -> Generator[Any, Any, None]:
        left = seconds
        while left > 0:
            begun = self.env.now
            try:
                yield from self.spend(left, "recover")
                return
            except simpy.Interrupt as interrupt:
                left -= self.env.now - begun
                if interrupt.cause == "failed":
                    left = self.back()

    def back(self) -> float:
        """Go back to the newest checkpoint; return how long it takes to read it."""
        drained = max((work for at, work in self.local if at <= self.env.now), default=0.0)
        level = max(drained, self.shared)
        self.lost += self.done - level
        self.done = level
        self.local = [(self.env.now, level)]
        self.interval = self.gap()
        if self.shared >= drained and self.shared > 0:
            return self.plan.all_write
        return max(self.plan.buffer_read, self.plan.one_write)

    def proactive(self) -> Generator[Any, Any, bool]:
        """Write a checkpoint of all nodes, the vulnerable ones first if they are prioritized; is one dead by
        then?"""
        plan = self.plan
        self.dead = False
        rest = plan.all_write
        try:
            while True:
                begun = self.env.now
                try:
                    waiting = [node for node in self.queue if node.fails > self.env.now]
                    if waiting and plan.prioritize:
                        first = min(waiting, key=lambda node: node.fails)
                        left = plan.one_write
                        while left > 0:
                            began = self.env.now
                            try:
                                yield from self.spend(left, "write")
                                left = 0.0
                            except simpy.Interrupt as interrupt:
                                left -= self.env.now - began
                                if interrupt.cause == "failed":
                                    raise
                        if first in self.queue:
                            self.queue.remove(first)
                        first.saved = True
                        self.written.append(first)
                        continue
                    begun = self.env.now
                    yield from self.spend(rest, "write")
                    break
                except simpy.Interrupt as interrupt:
                    if interrupt.cause == "failed":
                        raise
                    rest -= self.env.now - begun
        except simpy.Interrupt:
            for node in self.written:
                node.saved = False
                if node.fails > self.env.now:
                    self.queue.append(node)
            raise
        finally:
            self.written = []
        self.shared = self.done
        for node in self.queue:
            node.saved = True
        self.queue.clear()
        return self.dead
