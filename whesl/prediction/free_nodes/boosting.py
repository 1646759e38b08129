"""Boosted trees over rows of features, fitted by XGBoost and kept as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.prediction import tree_scoring
from whesl.prediction.free_nodes.job_history import Floats
from whesl.prediction.tree_scoring import Trees

QUANTILE = {
    "max_depth": 4,
    "min_child_weight": 60,
    "colsample_bytree": 0.3,
    "eta": 0.08,
    "subsample": 0.7,
    "reg_lambda": 5.0,
    "max_bin": 64,
    "objective": "reg:quantileerror",
}
ROUNDS = 120


@dataclass(frozen=True, eq=False, slots=True)
class Boosted:
    """Boosted trees with a constant.

    Attributes:
        trees: boosted trees, whose sum is added to ``center``.
        center: the constant part of the prediction, in the label's unit.
    """

    trees: Trees
    center: float

    def score(self, rows: NDArray[np.float32]) -> Floats:
        """Return the prediction for each row, shape (rows,)."""
        return self.center + tree_scoring.score(self.trees, rows)


def fit(
    rows: NDArray[np.float32],
    label: Floats,
    *,
    settings: dict[str, Any],
    rounds: int,
    seed: int,
    threads: int = 1,
) -> Boosted:
    """Fit trees.

    Args:
        rows: features, shape (rows, features).
        label: the target values, shape (rows,).
        settings: parameters of XGBoost.
        rounds: number of trees.
        seed: seed of the sampling of rows and columns.
        threads: number of threads; more threads than idle processors are much slower.
    """
    import xgboost

    center = float(np.quantile(label, settings.get("quantile_alpha", 0.5)))
    data = xgboost.DMatrix(rows, label=label - center)
    given = {"tree_method": "hist", "base_score": 0.0, **settings, "seed": seed, "nthread": threads}
    booster = xgboost.train(given, data, rounds)
    return Boosted(tree_scoring.of_booster(booster), center)
