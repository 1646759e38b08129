"""Boosted trees as arrays, scored without XGBoost, so that a saved model is plain data."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.prediction import numba_jit as compilation
from whesl.prediction.numba_jit import jit

Rows = NDArray[np.float32]


class Trees(NamedTuple):
    """Trees one after the other; a row's score is the sum over all trees of the leaf that it ends in.

    Attributes:
        root: the index of each tree's root, shape (trees,).
        feature: the column that a node compares, shape (nodes,).
        value: a node's split value, or a leaf's score, shape (nodes,).
        left: index of the child for values below the split value; -1 for a leaf, shape (nodes,).
        right: index of the child for all other values, shape (nodes,).
        unknown_left: whether an unknown value (NaN) goes left, shape (nodes,).
    """

    root: NDArray[np.int32]
    feature: NDArray[np.int32]
    value: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    unknown_left: NDArray[np.bool_]


def none() -> Trees:
    """Return an empty model, which scores every row 0."""
    whole, value = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    return Trees(whole, whole, value, whole, whole, np.zeros(0, dtype=np.bool_))


def of_booster(booster: Any) -> Trees:
    """Return the trees of an XGBoost model.

    Args:
        booster: an ``xgboost.Booster`` of numeric features.
    """
    model = json.loads(bytes(booster.save_raw("json")))
    trees = model["learner"]["gradient_booster"]["model"]["trees"]
    sizes = [len(tree["left_children"]) for tree in trees]
    root = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    left = np.concatenate([np.array(tree["left_children"]) for tree in trees])
    right = np.concatenate([np.array(tree["right_children"]) for tree in trees])
    base = np.repeat(root, sizes)
    leaf = left < 0
    return Trees(
        root.astype(np.int32),
        np.concatenate([np.array(tree["split_indices"]) for tree in trees]).astype(np.int32),
        np.concatenate([np.array(tree["split_conditions"]) for tree in trees]).astype(np.float32),
        np.where(leaf, -1, left + base).astype(np.int32),
        np.where(leaf, -1, right + base).astype(np.int32),
        np.concatenate([np.array(tree["default_left"]) for tree in trees]).astype(np.bool_),
    )


def check(trees: Trees, features: int) -> None:
    """Raise an error for trees whose indices are out of bounds or form a cycle.

    Args:
        trees: the trees read from a file.
        features: number of feature columns.

    Raises:
        ValueError: an index is out of bounds, or a path has no end.
    """
    nodes = len(trees.feature)
    own = np.arange(nodes)
    inner = trees.left >= 0
    right = (
        len({len(array) for array in trees[1:]}) == 1
        and (not len(trees.root) or (trees.root.min() >= 0 and trees.root.max() < nodes))
        and bool((trees.left[~inner] == -1).all() and np.isfinite(trees.value).all())
        and all(
            (one[inner] > own[inner]).all() and (one[inner] < nodes).all()
            for one in (trees.left, trees.right)
        )
        and bool((trees.feature >= 0).all() and (trees.feature[inner] < features).all())
    )
    if not right:
        raise ValueError("its trees cannot be walked")


def score(trees: Trees, rows: Rows) -> NDArray[np.float64]:
    """Return the sum of the trees for each row.

    Args:
        trees: the model.
        rows: features, shape (rows, features).
    """
    if compilation.COMPILES:
        return np.asarray(_walk(trees, rows))
    total = np.zeros(len(rows))
    every = np.arange(len(rows))
    for root in trees.root:
        at = np.full(len(rows), root)
        while (inner := trees.left[at] >= 0).any():
            value = rows[every, trees.feature[at]]
            lower = np.where(np.isnan(value), trees.unknown_left[at], value < trees.value[at])
            at = np.where(inner, np.where(lower, trees.left[at], trees.right[at]), at)
        total += trees.value[at]
    return total


@jit
def _walk(trees: Trees, rows: Rows) -> NDArray[np.float64]:
    total = np.zeros(len(rows))
    for row in range(len(rows)):
        for root in trees.root:
            at = root
            while trees.left[at] >= 0:
                value = rows[row, trees.feature[at]]
                lower = trees.unknown_left[at] if np.isnan(value) else value < trees.value[at]
                at = trees.left[at] if lower else trees.right[at]
            total[row] += trees.value[at]
    return total
