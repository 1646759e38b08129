"""Files of learned forecast models: arrays and numbers without pickle, which are checked when read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whesl.prediction import tree_scoring
from whesl.prediction.failures import predictor_files
from whesl.prediction.free_nodes.boosting import Boosted
from whesl.prediction.free_nodes.conformal import Scores
from whesl.prediction.free_nodes.features import COLUMNS
from whesl.prediction.free_nodes.forecast_ensemble import ANCHORS, MIXED, Model
from whesl.prediction.free_nodes.linear_model import TERMS, Linear
from whesl.prediction.free_nodes.rollforward import HOURS
from whesl.prediction.tree_scoring import Trees

Arrays = dict[str, NDArray[Any]]

_IS = "free nodes"
_KINDS = {"value": np.float32, "unknown_left": np.bool_}


@dataclass(frozen=True, slots=True)
class About:
    """The training data of a model.

    Attributes:
        trained: time of the last event in the history, in seconds.
        days: length of the history in days.
        unit: number of processors per node.
        draws: how often the queue was rolled forward.
    """

    trained: float
    days: float
    unit: float
    draws: int


def save(model: Model, about: About, path: Path) -> None:
    """Write a model to a file.

    Args:
        model: the model.
        about: the model's training data.
        path: the file, usually ``.npz``.

    Raises:
        WheslError: the file cannot be written.
    """
    boosted = [one for pair in (*model.middle, *model.outer) for one in pair]
    arrays: Arrays = {"weights": model.weights, "median": model.median, "of_day": model.of_day}
    for place, one in enumerate(boosted):
        arrays |= {f"{name}_{place}": values for name, values in one.trees._asdict().items()}
    linear, scores = model.linear, model.scores
    arrays |= {"constant": linear.constant, "center": linear.center, "slope": linear.slope}
    arrays |= {"time": scores.time, "low": scores.low, "high": scores.high, "truth": scores.truth}
    meta = {
        "is": _IS,
        "columns": list(COLUMNS),
        "centers": [one.center for one in boosted],
        "trained": about.trained,
        "days": about.days,
        "unit": about.unit,
        "draws": about.draws,
    }
    predictor_files.write(path, meta, arrays)


def load(path: Path) -> tuple[Model, About]:
    """Read a model from a file.

    Args:
        path: the file.

    Raises:
        WheslError: the file cannot be read, or does not hold a model.
    """
    return predictor_files.read(
        path, "a forecast of free nodes", "make it anew with `whesl cloud forecast train`", _restored
    )


def _restored(meta: dict[str, Any], arrays: Arrays) -> tuple[Model, About]:
    if meta.get("is") != _IS or tuple(meta["columns"]) != COLUMNS:
        raise ValueError("it was made by another version")
    centers = meta["centers"]
    count = 2 * (len(ANCHORS) + 2)
    if len(centers) != count:
        raise ValueError(f"it has {len(centers)} models where {count} are needed")
    boosted = []
    for place, center in enumerate(centers):
        walked = Trees(
            *(
                predictor_files.column(arrays, f"{name}_{place}", _KINDS.get(name, np.int32))
                for name in Trees._fields
            )
        )
        tree_scoring.check(walked, len(COLUMNS))
        boosted.append(Boosted(walked, predictor_files.number({"center": center}, "center")))
    pairs = tuple(zip(boosted[::2], boosted[1::2], strict=True))
    time = predictor_files.column(arrays, "time", np.float64)
    scores = Scores(time, *(_table(arrays, name, (len(time), HOURS)) for name in ("low", "high", "truth")))
    if (np.diff(time) < 0).any():
        raise ValueError("the times of its forecasts go back")
    model = Model(
        pairs[: len(ANCHORS)],
        pairs[len(ANCHORS) :],
        Linear(
            _table(arrays, "constant", (HOURS,)),
            *(_table(arrays, name, (HOURS, TERMS)) for name in ("center", "slope")),
        ),
        _table(arrays, "weights", (HOURS, MIXED)),
        _table(arrays, "median", (HOURS,)),
        _table(arrays, "of_day", (24,)),
        scores,
    )
    trained, days, unit = (predictor_files.number(meta, name) for name in ("trained", "days", "unit"))
    about = About(trained, days, unit, predictor_files.whole(meta, "draws"))
    if not about.unit > 0 or not about.draws > 0:
        raise ValueError("its unit or its draws are not above 0")
    return model, about


def _table(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    found = arrays[name]
    if found.shape != shape or found.dtype != np.float64 or not np.isfinite(found).all():
        raise ValueError(f"{name} is not a table of {shape} numbers")
    return found
