"""The five models of the dissertation, chapter 2, as one compiled loop over a run's events.

B writes periodic checkpoints to burst buffers, which drain to the parallel file system. M1 adds safeguard
checkpoints (all nodes write at once when a failure is predicted), M2 live migration, P1 prioritized
checkpoints (the nodes about to fail write first, one after the other, then all others), P2 migration where
the lead time allows it and a prioritized checkpoint elsewhere. All times in seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from whesl.prediction.numba_jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Phases of the application.
COMPUTE, BUFFER, FIRST, SECOND, RECOVER = range(5)
# What was done about a predicted failure; covered: by a checkpoint of all nodes that is whole.
NOTHING, MIGRATING, QUEUED, COMMITTED, COVERED = range(5)


class Plan(NamedTuple):
    """One application on one machine under one model.

    Attributes:
        work: computing time without any overhead.
        buffer_write: time that a periodic checkpoint blocks the application.
        drain: time from there until it is on the parallel file system.
        all_write: time in which all nodes write to the parallel file system at once.
        one_write: time in which one node alone does.
        buffer_read: time to read a checkpoint back from the burst buffers.
        migration: time to move a node's processes.
        migration_cost: time that a migration costs the application.
        rate: failures of the job's nodes in a second, expected at the start.
        unmet: factor on the rate in the interval's formula: failures that lose work, as the model believes.
        proactive: proactive checkpoints for each failure, in the interval's formula.
        safeguard: whether predictions lead to safeguard checkpoints.
        migrate: whether they lead to migrations.
        prioritize: whether they lead to prioritized checkpoints.
    """

    work: float
    buffer_write: float
    drain: float
    all_write: float
    one_write: float
    buffer_read: float
    migration: float
    migration_cost: float
    rate: float
    unmet: float
    proactive: float
    safeguard: bool
    migrate: bool
    prioritize: bool


class Incidents(NamedTuple):
    """Failures and predictions of one run, in order of ``failed``, each array of shape (incidents,).

    Attributes:
        predicted: when it is predicted; ``inf`` where it is not.
        failed: when the node fails, or when it is seen that the prediction was false.
        real: whether the node fails.
    """

    predicted: NDArray[np.float64]
    failed: NDArray[np.float64]
    real: NDArray[np.bool_]


class Outcome(NamedTuple):
    """What one run cost, in seconds, and what became of its failures.

    Attributes:
        makespan: from start to end.
        checkpoint: time blocked by writing checkpoints, and by migrations.
        recomputation: computing time that was lost and done again.
        recovery: time to read checkpoints back.
        failures: of the job's nodes, those included that migrations avoided.
        migrated: failures that migrations avoided.
        committed: failures whose node had written its checkpoint before.
        checkpoints: periodic ones.
        interval: mean interval between periodic checkpoints.
    """

    makespan: float
    checkpoint: float
    recomputation: float
    recovery: float
    failures: int
    migrated: int
    committed: int
    checkpoints: int
    interval: float


@jit
def interval(plan: Plan, rate: float) -> float:
    """Return the interval for a rate of failures (``whesl.checkpoints.core.interval.with_errors`` as compiled
    code)."""
    unmet = plan.unmet * rate
    proactive = plan.proactive * rate
    if unmet <= 0.0:
        return np.inf
    goal = plan.buffer_write * proactive * proactive / unmet
    if goal < 1e-12:
        return float(np.sqrt(2.0 * plan.buffer_write / unmet))
    x = np.sqrt(2.0 * goal) + goal
    for _ in range(100):
        step = (x - 1.0 + np.exp(-x) - goal) / -np.expm1(-x)
        x -= step
        if abs(step) < 1e-12 * x:
            break
    return float(x / proactive)


@jit
def run(plan: Plan, incidents: Incidents) -> Outcome:
    """Run one application through its incidents; they have to reach beyond its end.

    Returns:
        What it cost; a makespan of ``nan`` if the incidents end before the run does.
    """
    count = len(incidents.failed)
    order = np.argsort(incidents.predicted)
    status = np.zeros(count, dtype=np.int8)
    migrated_at = np.full(count, np.inf)
    seen = np.zeros(count, dtype=np.bool_)
    predicted = 0  # next prediction, an index into order
    failed = 0  # next failure
    now = done = since = 0.0
    phase = COMPUTE
    phase_end = 0.0
    second_left = 0.0
    writing = -1  # the incident whose node writes in the first phase
    dead = False  # a node died after its own commit, while the others still write
    buffered = drained_at = drained = shared = (
        0.0  # work in the buffers; when it is drained; drained before; on PFS
    )
    blocked = lost = recovering = 0.0
    failures = migrations = commits = checkpoints = 0
    gap = interval(plan, plan.rate)
    gaps = 0.0
    begin = False  # a proactive checkpoint is to begin
    restart = False
    while True:
        due = now + min(gap - since, plan.work - done) if phase == COMPUTE else phase_end
        next_prediction = incidents.predicted[order[predicted]] if predicted < count else np.inf
        next_failure = incidents.failed[failed] if failed < count else np.inf
        if failed >= count and plan.rate > 0.0:
            return Outcome(np.nan, blocked, lost, recovering, failures, migrations, commits, checkpoints, 0.0)
        moment = min(due, next_prediction, next_failure)
        passed = moment - now
        if phase == COMPUTE:
            done += passed
            since += passed
        elif phase == RECOVER:
            recovering += passed
        else:
            blocked += passed
        now = moment
        if moment == due:
            if phase == COMPUTE:
                if done >= plan.work - 1e-6:
                    mean = gaps / checkpoints if checkpoints else gap
                    return Outcome(
                        now, blocked, lost, recovering, failures, migrations, commits, checkpoints, mean
                    )
                phase = BUFFER
                phase_end = now + plan.buffer_write
            elif phase == BUFFER:
                if now >= drained_at:
                    drained = max(drained, buffered)
                buffered = done
                drained_at = max(now, drained_at) + plan.drain
                checkpoints += 1
                gaps += gap
                since = 0.0
                gap = interval(plan, (1.0 + failures) / (1.0 / plan.rate + now))
                phase = COMPUTE
            elif phase == FIRST:
                status[writing] = COMMITTED
                begin = True
            elif phase == SECOND:
                shared = done
                since = 0.0
                for other in range(count):
                    if status[other] == QUEUED or status[other] == COMMITTED:
                        status[other] = COVERED
                phase = COMPUTE
                if dead:
                    dead = False
                    phase = RECOVER
                    phase_end = now + plan.all_write
            else:
                phase = COMPUTE
                begin = True
        elif moment == next_prediction:
            index = order[predicted]
            predicted += 1
            left = incidents.failed[index] - now
            seen[index] = True
            shorter = False
            if plan.prioritize and plan.migrate:
                for other in range(failed, count):
                    if status[other] == MIGRATING and migrated_at[other] > now:
                        own = incidents.failed[other] - now
                        if left < migrated_at[other] - now or left < own:
                            status[other] = QUEUED
                            shorter = True
            if plan.migrate and left >= plan.migration and not shorter:
                status[index] = MIGRATING
                migrated_at[index] = now + plan.migration
                blocked += plan.migration_cost
            elif plan.prioritize or plan.safeguard:
                status[index] = QUEUED
                if phase in (COMPUTE, BUFFER):
                    second_left = plan.all_write
                    begin = True
                elif phase == SECOND and plan.prioritize:
                    second_left = phase_end - now
                    begin = True
        else:
            index = failed
            failed += 1
            if not incidents.real[index]:
                if status[index] == QUEUED and writing != index:
                    status[index] = NOTHING
                continue
            failures += 1
            if status[index] == MIGRATING and migrated_at[index] <= now:
                migrations += 1
            elif status[index] == COMMITTED:
                commits += 1
                dead = True
            elif status[index] == COVERED:
                commits += 1
                restart = True
            else:
                restart = True
            status[index] = NOTHING
        if restart:
            restart = False
            if phase in (FIRST, SECOND):  # that checkpoint never becomes whole
                for other in range(failed, count):
                    if status[other] == COMMITTED:
                        status[other] = QUEUED
                dead = False
            local = buffered if now >= drained_at else drained
            level = max(local, shared)
            lost += done - level
            done = level
            since = 0.0
            buffered = drained = level
            drained_at = now
            gap = interval(plan, (1.0 + failures) / (1.0 / plan.rate + now))
            phase = RECOVER
            phase_end = now + (plan.all_write if shared >= local and shared > 0.0 else _reload(plan))
        if begin:
            begin = False
            following = -1
            for other in range(failed, count):  # in order of failure: the least time left first
                if status[other] == QUEUED and seen[other]:
                    following = other
                    break
            if following >= 0 and phase not in (FIRST, SECOND):
                second_left = plan.all_write
            if following >= 0 and plan.prioritize:
                phase = FIRST
                writing = following
                phase_end = now + plan.one_write
            elif following >= 0 or phase in (FIRST, SECOND):
                writing = -1
                phase = SECOND
                phase_end = now + second_left


@jit
def _reload(plan: Plan) -> float:
    """Return the time of a recovery from the buffers: the new node alone reads from the parallel file
    system."""
    return max(plan.buffer_read, plan.one_write)


@jit
def draw(
    rng: np.random.Generator,
    horizon: float,
    shape: float,
    scale: float,
    hit: float,
    recall: float,
    false_share: float,
    seconds: NDArray[np.float64],
    share: NDArray[np.float64],
    change: float,
    recorded: NDArray[np.float64],
) -> Incidents:
    """Draw the incidents of one run.

    Args:
        rng: the run's generator.
        horizon: until when, in seconds; one real failure beyond it is the last.
        shape: of the Weibull distribution of times between failures anywhere in the machine.
        scale: of it, in seconds.
        hit: probability that a failure is of one of the job's nodes.
        recall: share of failures that are predicted.
        false_share: share of predictions that no failure follows.
        seconds: points of the distribution of lead times, in seconds, ascending.
        share: of lead times that are longer, falling from 1 to 0.
        change: of lead times, as a share; 0.5 makes them longer by half.
        recorded: times between failures that were recorded, in seconds, taken in turn from a random one on,
            in place of drawn ones; empty to draw them.
    """
    following = int(rng.random() * len(recorded))
    extra = recall * false_share / (1.0 - false_share)  # false predictions for each failure
    predicted = []
    failed = []
    real = []
    now = 0.0
    falling = share[::-1].copy()
    rising = seconds[::-1].copy()
    while True:
        if len(recorded):
            now += recorded[following % len(recorded)]
            following += 1
        else:
            now += scale * (-np.log(1.0 - rng.random())) ** (1.0 / shape)
        if now > horizon:
            predicted.append(np.inf)
            failed.append(now)
            real.append(True)
            break
        if rng.random() >= hit:
            continue
        lead = np.interp(rng.random(), falling, rising) * (1.0 + change)
        known = rng.random() < recall
        predicted.append(max(now - lead, 0.0) if known else np.inf)
        failed.append(now)
        real.append(True)
        # Drawn whether it is used or not: all models of a run meet the same failures.
        false = rng.random() < extra
        at = rng.random() * horizon
        lead = np.interp(rng.random(), falling, rising) * (1.0 + change)
        if false:
            predicted.append(at)
            failed.append(at + lead)
            real.append(False)
    order = np.argsort(np.array(failed))
    return Incidents(np.array(predicted)[order], np.array(failed)[order], np.array(real)[order])
