"""The five checkpoint models of the dissertation, chapter 2, as one compiled event loop.

B writes periodic checkpoints to burst buffers, which drain to the parallel file system. M1 adds safeguard
checkpoints (all nodes write at once when a failure is predicted). M2 adds live migration. P1 adds prioritized
checkpoints (the nodes about to fail write first, one after the other, then all others). P2 migrates if the
lead time is long enough, and writes a prioritized checkpoint otherwise. All times are in seconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.prediction.numba_jit import jit

# Phases of the application.
COMPUTE, BUFFER, FIRST, SECOND, RECOVER = range(5)
# Reactions to a predicted failure; COVERED means that a complete checkpoint of all nodes covers it.
NOTHING, MIGRATING, QUEUED, COMMITTED, COVERED = range(5)


class Plan(NamedTuple):
    """One application on one machine under one model.

    Attributes:
        work: computing time without any overhead.
        buffer_write: time that a periodic checkpoint blocks the application.
        drain: time to copy a periodic checkpoint from the buffers to the parallel file system.
        all_write: time in which all nodes together write a checkpoint to the parallel file system.
        one_write: time in which one node alone writes its checkpoint to the parallel file system.
        buffer_read: time to read a checkpoint back from the burst buffers.
        migration: time to move a node's processes.
        migration_cost: time that a migration costs the application.
        rate: expected failures of the job's nodes per second, at the start.
        unmet: share of failures that lose work according to the model, a factor in the interval's formula.
        proactive: proactive checkpoints per failure, a factor in the interval's formula.
        safeguard: whether predictions lead to safeguard checkpoints.
        migrate: whether predictions lead to migrations.
        prioritize: whether predictions lead to prioritized checkpoints.
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
        predicted: time of the prediction; ``inf`` for a failure that is not predicted.
        failed: time of the failure, real or falsely predicted.
        real: whether the node fails; False for a false prediction.
    """

    predicted: NDArray[np.float64]
    failed: NDArray[np.float64]
    real: NDArray[np.bool_]


class Outcome(NamedTuple):
    """The costs of one run, in seconds, and the outcomes of its failures.

    Attributes:
        makespan: time from the run's start to its end.
        checkpoint: time blocked by writing checkpoints, and by migrations.
        recomputation: computing time that failures destroyed and that was repeated.
        recovery: time to read checkpoints back.
        failures: number of failures of the job's nodes, with the failures that migrations avoided.
        migrated: number of failures that migrations avoided.
        committed: number of failures before which the node had written a checkpoint.
        checkpoints: number of periodic checkpoints.
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
    """Return the interval between checkpoints, as ``whesl.checkpoints.core.interval.with_errors`` does.

    Args:
        plan: the plan.
        rate: failures of the job's nodes per second.
    """
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
    """Run one application through its incidents.

    Args:
        plan: the application on its machine under a model.
        incidents: failures and predictions, up to a time after the run's end.

    Returns:
        The run's costs; the makespan is ``nan`` if the incidents end before the run.
    """
    count = len(incidents.failed)
    order = np.argsort(incidents.predicted)
    status = np.zeros(count, dtype=np.int8)
    migrated_at = np.full(count, np.inf)
    seen = np.zeros(count, dtype=np.bool_)
    predicted = 0  # index of the next prediction in ``order``
    failed = 0  # index of the next failure
    now = done = since = 0.0
    phase = COMPUTE
    phase_end = 0.0
    second_left = 0.0
    writing = -1  # index of the incident whose node writes in phase FIRST
    dead = False  # whether a node failed after its commit, while other nodes still write
    buffered = drained_at = drained = shared = (
        0.0  # work in the buffers; the time when it is drained; work drained before; work on the file system
    )
    blocked = lost = recovering = 0.0
    failures = migrations = commits = checkpoints = 0
    gap = interval(plan, plan.rate)
    gaps = 0.0
    begin = False  # whether a proactive checkpoint begins now
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
            if phase in (FIRST, SECOND):  # the checkpoint in progress is abandoned
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
            for other in range(failed, count):  # in order of failure, so the least lead time comes first
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
    """Return the time of a recovery from the buffers; the replacement node reads from the file system."""
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
        horizon: end of the drawn time, in seconds; the last incident is one real failure beyond it.
        shape: shape of the Weibull distribution of times between failures anywhere in the machine.
        scale: scale of the same Weibull distribution, in seconds.
        hit: probability that a failure hits one of the job's nodes.
        recall: share of failures that are predicted.
        false_share: share of predictions that no failure follows.
        seconds: points of the distribution of lead times, in seconds, ascending.
        share: share of longer lead times at each point of ``seconds``, falling from 1 to 0.
        change: relative change of the lead times; 0.5 makes them longer by half.
        recorded: recorded times between failures, in seconds, used cyclically from a random start; empty to
            draw the times from the distribution.
    """
    following = int(rng.random() * len(recorded))
    extra = recall * false_share / (1.0 - false_share)  # false predictions per failure
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
        # Drawn in any case, so that run i of all models has the same failures.
        false = rng.random() < extra
        at = rng.random() * horizon
        lead = np.interp(rng.random(), falling, rising) * (1.0 + change)
        if false:
            predicted.append(at)
            failed.append(at + lead)
            real.append(False)
    order = np.argsort(np.array(failed))
    return Incidents(np.array(predicted)[order], np.array(failed)[order], np.array(real)[order])
