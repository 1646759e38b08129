"""Measures of prediction quality: published accuracies, and the usual scores of probabilities.

AOA and AAA are FLAW's; precision, recall and lead time as in Salfner, Lenk and Malek, A Survey of Online
Failure Prediction Methods, 2010; Brier's score with its decomposition as in Murphy, 1973.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whesl.prediction.failures.compiled_predictor import by_node, rank
from whesl.prediction.failures.failure_history import History

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Oblivious(NamedTuple):
    """FLAW's application-oblivious accuracy of predicted failures.

    Attributes:
        hits: failures with a prediction inside their down time (Hit).
        missed: failures without a prediction inside their down time (Fn).
        wrong: predictions outside any down time (Fp).
        value: AOA = Hit / (Hit + Fn + Fp); 1 without failures and predictions.
    """

    hits: int
    missed: int
    wrong: int
    value: float


def aoa(truth: History, node: ArrayLike, time: ArrayLike) -> Oblivious:
    """Return the application-oblivious accuracy of predictions, each a node and a time.

    Args:
        truth: the failures that happened, with their down times.
        node: the node of each prediction.
        time: time of each predicted failure, in seconds.
    """
    nodes, times = np.asarray(node, dtype=np.int64), np.asarray(time, dtype=np.float64)
    order, offsets = by_node(truth.nodes, truth.node, truth.start)
    start, end = truth.start[order], truth.end[order]
    if not len(start):
        return _oblivious(0, 0, len(nodes))
    index = rank(offsets, start, nodes, times, inclusive=True) - 1
    inside = (index >= offsets[nodes]) & (times < end[np.maximum(index, 0)])
    hits = len(np.unique(index[inside]))
    return _oblivious(hits, len(truth) - hits, int((~inside).sum()))


def _oblivious(hits: int, missed: int, wrong: int) -> Oblivious:
    every = hits + missed + wrong
    return Oblivious(hits, missed, wrong, hits / every if every else 1.0)


def aaa(said: ArrayLike, failed: ArrayLike) -> float:
    """Return FLAW's application-aware accuracy: correct answers over queries; 1 without queries.

    Args:
        said: for each query, whether the predictor said that the node fails in the interval.
        failed: for each query, whether the node failed in the interval.
    """
    right = np.asarray(said, dtype=np.bool_) == np.asarray(failed, dtype=np.bool_)
    return float(right.mean()) if right.size else 1.0


def failed_within(truth: History, node: NDArray[Any], start: Floats, duration: Floats) -> Flags:
    """Return whether a failure of each node starts in [start, start + duration).

    Args:
        truth: the failures that happened.
        node: the node of each question.
        start: start of the interval, in seconds.
        duration: length of the interval, in seconds.
    """
    node, start, end = np.broadcast_arrays(np.asarray(node, dtype=np.int64), start, start + duration)
    order, offsets = by_node(truth.nodes, truth.node, truth.start)
    times = truth.start[order]
    passed = rank(offsets, times, node, start, inclusive=False)
    return np.asarray(rank(offsets, times, node, end, inclusive=False) > passed)


class Alarms(NamedTuple):
    """Scores of yes-or-no answers; a yes is an alarm.

    Attributes:
        precision: share of alarms that a failure followed within their interval; NaN without an alarm.
        recall: share of failures that an alarm preceded; NaN without a failure.
        f1: the harmonic mean of precision and recall.
        aoa: failures with an alarm / (failures + alarms without a failure), as AOA counts.
        alarms: number of alarms.
        failures: number of failures that lie in the interval of a question.
        lead: for each predicted failure, the time from its first alarm to its start, in seconds, ascending.
    """

    precision: float
    recall: float
    f1: float
    aoa: float
    alarms: int
    failures: int
    lead: Floats


def alarms(truth: History, node: NDArray[Any], start: Floats, duration: float, said: Flags) -> Alarms:
    """Return the scores of alarms, each of which covers an interval from its time on.

    Args:
        truth: the failures that happened.
        node: the node of each question.
        start: time of each question, in seconds.
        duration: the length of all intervals, in seconds.
        said: whether each answer was an alarm: the node fails in the interval.
    """
    node = np.asarray(node, dtype=np.int64)
    right = failed_within(truth, node, start, np.asarray(duration))
    # A failure counts only if it lies in the interval of a question.
    first = _earliest(truth, node, start, duration)
    predicted = _earliest(truth, node[said], start[said], duration)
    failures, hits = int(np.isfinite(first).sum()), int(np.isfinite(predicted).sum())
    raised, true = int(said.sum()), int((said & right).sum())
    precision = true / raised if raised else float("nan")
    recall = hits / failures if failures else float("nan")
    both = precision + recall
    lead = np.sort((truth.start - predicted)[np.isfinite(predicted)])
    value = _oblivious(hits, failures - hits, raised - true).value
    f1 = 2 * precision * recall / both if both > 0 else 0.0
    return Alarms(precision, recall, f1, value, raised, failures, lead)


def _earliest(truth: History, node: NDArray[np.int64], start: Floats, duration: float) -> Floats:
    """Return for each failure the time of the first question whose interval holds it, or ``inf``."""
    if not len(node):
        return np.full(len(truth), np.inf)
    order, offsets = by_node(truth.nodes, node, start)
    times = start[order]
    of = truth.node.astype(np.int64)
    index = rank(offsets, times, of, truth.start - duration, inclusive=True)
    there = index < offsets[of + 1]
    time = times[np.where(there, index, 0)]
    return np.where(there & (time <= truth.start), time, np.inf)


def brier(probability: Floats, failed: Flags) -> float:
    """Return Brier's score, the mean squared difference of answer and outcome: 0 is perfect.

    Args:
        probability: the answers, from 0 to 1.
        failed: whether the failure asked about happened.
    """
    return float(np.mean((probability - failed) ** 2))


def skill(probability: Floats, failed: Flags, base: float | Floats) -> float:
    """Return 1 - Brier / Brier of the base rate: above 0 beats the base rate; NaN for a perfect base rate.

    Args:
        probability: the answers, from 0 to 1.
        failed: whether the failure asked about happened.
        base: the base rate known from the past, one for all questions or one for each.
    """
    reference = brier(np.full(len(probability), base), failed)
    return 1.0 - brier(probability, failed) / reference if reference > 0 else float("nan")


def log_loss(probability: Floats, failed: Flags) -> float:
    """Return the mean negative log-likelihood in nats; answers are clipped to 1e-6 from 0 and 1.

    Args:
        probability: the answers, from 0 to 1, shape (questions,).
        failed: whether the failure asked about happened, shape (questions,).
    """
    kept = np.clip(probability, 1e-6, 1.0 - 1e-6)
    return float(-np.mean(np.where(failed, np.log(kept), np.log1p(-kept))))


def ranking(probability: Floats, failed: Flags) -> float:
    """Return the area under the ROC curve: how often a failing node has the higher answer; 0.5 is chance.

    The result is NaN where all or none fail.

    Args:
        probability: the answers, from 0 to 1, shape (questions,).
        failed: whether the failure asked about happened, shape (questions,).
    """
    # Differences below 1e-10 are rounding errors.
    _, inverse, counts = np.unique(np.round(probability, 10), return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2.0
    ranks = middle[inverse.reshape(-1)]
    yes = int(failed.sum())
    no = len(failed) - yes
    if not yes or not no:
        return float("nan")
    return float((ranks[failed].sum() - yes * (yes + 1) / 2.0) / (yes * no))


class Calibration(NamedTuple):
    """Predicted probabilities beside observed failure shares, in bins with equally many questions.

    Attributes:
        said: the mean answer of each bin.
        happened: the share of each bin's questions that a failure followed.
        questions: number of questions in each bin.
        error: the mean difference between ``said`` and ``happened``, weighted by questions.
    """

    said: Floats
    happened: Floats
    questions: NDArray[np.int64]
    error: float


def calibration(probability: Floats, failed: Flags, bins: int = 10) -> Calibration:
    """Return the calibration of answers. Equal answers share a bin.

    Args:
        probability: the answers, from 0 to 1, shape (questions,).
        failed: whether the failure asked about happened, shape (questions,).
        bins: largest number of bins; equal answers and few questions make fewer.
    """
    if not len(probability):
        return Calibration(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), 0.0)
    probability = np.round(probability, 10)  # smaller differences are rounding errors
    edges = np.unique(np.quantile(probability, np.linspace(0, 1, bins + 1)[1:-1]))
    which = np.searchsorted(edges, probability, side="left")
    count = np.bincount(which, minlength=len(edges) + 1)
    kept = count > 0
    said = np.bincount(which, probability, len(edges) + 1)[kept] / count[kept]
    happened = np.bincount(which, failed, len(edges) + 1)[kept] / count[kept]
    error = float((np.abs(said - happened) * count[kept]).sum() / len(probability))
    return Calibration(said, happened, count[kept], error)


def best_threshold(probability: Floats, failed: Flags) -> float:
    """Return the threshold with the highest F1 over questions, or 1 when no failure followed any of them.

    Callers find the threshold on past questions and use it for future ones.

    Args:
        probability: the answers, from 0 to 1, shape (questions,).
        failed: whether the failure asked about happened, shape (questions,).
    """
    if not failed.any():
        return 1.0
    order = np.argsort(-probability, kind="stable")
    values, right = probability[order], np.cumsum(failed[order])
    last = np.append(np.diff(values) != 0, True)
    raised = np.arange(1, len(values) + 1)
    f1 = np.where(last, 2.0 * right / (raised + failed.sum()), -1.0)
    return float(values[int(np.argmax(f1))])
