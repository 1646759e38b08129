"""Simulates a case under each policy and predictor, and estimates the savings of each."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.execution.progress_interface import Progress
from whesl.lab.predictor_evaluation import catalogue
from whesl.lab.replay.case_from_logs import Case
from whesl.lab.replay.savings_bootstrap import PerJob, Saving, savings
from whesl.lab.simulators.cluster import python_event_loop
from whesl.lab.simulators.cluster.measures import lost, outcome
from whesl.lab.simulators.cluster.simulation import POLICIES, simulate
from whesl.lab.simulators.cluster.simulation_records import Attempts
from whesl.model.errors import UsageError, WheslError
from whesl.placement.policies.port import Policy
from whesl.prediction.failures.port import Predictor

ASKING = ("reliable",)
PREDICTORS = ("none", "survival", "ffp", "exact", "aoa:A")
_HOUR = 3600.0


class Candidate(NamedTuple):
    """A policy and its predictor, written ``POLICY`` or ``POLICY+PREDICTOR``."""

    policy: str
    predictor: str

    def __str__(self) -> str:
        """Return the candidate's spelling on the command line."""
        return self.policy if self.predictor == "none" else f"{self.policy}+{self.predictor}"

    @property
    def foresees(self) -> bool:
        """Whether the candidate's predictor sees the future, which makes the candidate an upper bound."""
        return self.predictor == "exact" or self.predictor.startswith("aoa")


def candidate(text: str) -> Candidate:
    """Parse a candidate's spelling.

    Raises:
        UsageError: there is no such policy or predictor.
    """
    policy, _, predictor = text.partition("+")
    if policy not in POLICIES and ".py:" not in policy:
        raise UsageError(f"no policy {policy!r}", hint=f"known: {', '.join(POLICIES)}, FILE.py:CLASS")
    if predictor and predictor not in PREDICTORS and not predictor.startswith("aoa:"):
        raise UsageError(f"no predictor {predictor!r}", hint=f"known: {', '.join(PREDICTORS)}")
    if policy in POLICIES and (policy in ASKING) != (predictor not in ("", "none")):
        what = f"{policy} asks no predictor" if predictor else f"{policy} asks a predictor"
        hint = f"{policy}+survival, for example" if policy in ASKING else f"these do: {', '.join(ASKING)}"
        raise UsageError(what, hint=hint)
    return Candidate(policy, predictor or "none")


@dataclass(frozen=True, slots=True)
class Answer:
    """The simulated result of one candidate.

    Attributes:
        candidate: the policy and its predictor.
        jobs: measures of each compared job.
        saved: savings against today's policy, by measure; empty for today's policy.
    """

    candidate: Candidate
    jobs: PerJob
    saved: dict[str, Saving]


@dataclass(frozen=True, slots=True)
class Replay:
    """The results of a replay.

    Attributes:
        case: the replayed case.
        today: the simulated result of today's policy.
        others: the simulated results of the other candidates.
        split: time in seconds; predictors are fitted to the failures before it, jobs submitted from then on
            are compared.
        compared: indices of the compared jobs in the workload.
        seed: random seed of predictors and of the bootstrap.
    """

    case: Case
    today: Answer
    others: tuple[Answer, ...]
    split: float
    compared: NDArray[np.int64]
    seed: int


def replay(
    case: Case,
    today: Candidate,
    others: Sequence[Candidate],
    progress: Progress,
    *,
    train: float = 0.3,
    seed: int = 0,
) -> Replay:
    """Simulate a case under all candidates.

    Args:
        case: the site's jobs and failures.
        today: the site's present policy, simulated as the baseline.
        others: the candidates to compare with ``today``.
        progress: progress display, advanced with each candidate.
        train: the share of the failure log's time that predictors are fitted to, from 0 to 1.
        seed: random seed of predictors and of the bootstrap.

    Raises:
        UsageError: no job was submitted after the time that predictors are fitted to.
    """
    history = case.history
    split = history.begin + train * (history.finish - history.begin)
    compared = np.flatnonzero(case.work.submit >= split)
    if not len(compared):
        raise UsageError(
            f"no job was submitted after the first {100 * train:.0f} % of the failure log's time",
            hint="give a smaller --train, or logs of the same weeks",
        )
    submit = case.work.submit[compared]
    answers: list[Answer] = []
    with progress.stage("policies", 1 + len(others)) as advance:
        for one in (today, *others):
            asked = predictor(one.predictor, case, split, seed)
            found = _attempts(case, one.policy, asked)
            result = outcome(case.work, found)
            wasted = np.bincount(found.job, lost(case.work, found), minlength=len(case.jobs))
            jobs = PerJob(
                result.killed[compared].astype(np.float64),
                wasted[compared] / _HOUR,
                (result.start[compared] - submit) / _HOUR,
            )
            saved = savings(answers[0].jobs, jobs, submit, seed=seed) if answers else {}
            answers.append(Answer(one, jobs, saved))
            advance(1)
    return Replay(case, answers[0], tuple(answers[1:]), split, compared, seed)


def _attempts(case: Case, policy: str, asked: Predictor | None) -> Attempts:
    if policy in POLICIES:
        found = simulate(case.work, len(case.names), policy, history=case.history, predictor=asked)
        return found.attempts
    own = own_policy(policy)
    try:
        return python_event_loop.simulate(
            case.work, len(case.names), own, history=case.history, predictor=asked
        )
    except WheslError:
        raise
    except Exception as error:  # the user's policy may raise anything or return no decisions
        file = str(Path(policy.rpartition(":")[0]))
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        where = f", line {lines[-1]}" if lines else ""
        raise UsageError(
            f"policy {policy}{where}: {type(error).__name__}: {error}",
            hint="decide(view, predictor, now) returns whesl.placement.policies.port.Decisions, of arrays",
        ) from error


def own_policy(text: str) -> Policy:
    """Load and return a user's policy.

    Args:
        text: ``FILE.py:CLASS``; the class is called without arguments.

    Raises:
        UsageError: the file cannot be loaded, or has no such class.
    """
    file, _, name = text.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    try:
        if spec is None or spec.loader is None:
            raise ImportError("no Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found: Policy = getattr(module, name)()
    except Exception as error:  # the user's file may raise anything
        raise UsageError(f"policy {text}: {type(error).__name__}: {error}") from error
    if not callable(getattr(found, "decide", None)) or not isinstance(getattr(found, "name", None), str):
        raise UsageError(f"policy {text}: it has no name, or no decide(view, predictor, now)")
    return found


def predictor(name: str, case: Case, split: float, seed: int) -> Predictor | None:
    """Return a predictor of a case's failures.

    Args:
        name: one of ``PREDICTORS``.
        case: the site's jobs and failures.
        split: end of the time that predictors are fitted to, in seconds.
        seed: random seed of predictors of a given accuracy.

    Raises:
        UsageError: the predictor cannot be fitted, or its accuracy is no number.
    """
    from whesl.prediction.failures import periodic_and_survival_prediction, survival

    if name == "none":
        return None
    one = catalogue.asked(name)
    if not one.fitted:
        return catalogue.given(one, case.history, seed)
    known = case.history.until(split)
    if not len(known):
        raise UsageError(
            f"no failure is known before {np.datetime64(int(split), 's')}: nothing to fit {name} to",
            hint="give a longer failure log, or a larger --train",
        )
    fitted = (
        survival.fit(known, frailty=True)
        if name == "survival"
        else periodic_and_survival_prediction.fit(known)
    )
    return fitted.observe(case.history)
