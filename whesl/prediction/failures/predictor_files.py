"""Files of fitted predictors: versioned arrays and numbers without pickle, which are checked when read.

A file has NumPy's format ``.npz``: arrays by name, and the array ``meta``, a JSON object as bytes.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from whesl.files.whole_file import write_bytes
from whesl.model.errors import WheslError
from whesl.prediction.failures.failure_history import History
from whesl.prediction.failures.failure_precursors import Signed, Signs
from whesl.prediction.failures.failure_time_distributions import LAWS, Law
from whesl.prediction.failures.features import COLUMNS
from whesl.prediction.failures.given_accuracy_predictors import Given
from whesl.prediction.failures.learned import Learned, LearnedPredictor
from whesl.prediction.failures.periodic_and_survival_prediction import Filtered
from whesl.prediction.failures.periodic_failures import Cycle
from whesl.prediction.failures.predictor_base import ArrayPredictor
from whesl.prediction.failures.recency import Recency
from whesl.prediction.failures.survival import Fitted, Survival
from whesl.prediction.tree_scoring import Trees, check

Arrays = dict[str, NDArray[Any]]

Restored = TypeVar("Restored")
VERSION = 1
_LARGEST = 4 << 30  # largest size of a file's arrays in bytes: a hundred million failures
_MOST = 10_000_000  # largest number of nodes
_WRONG = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError, RuntimeError, OverflowError),
    *(MemoryError, zipfile.BadZipFile, zlib.error, WheslError),
)


def save(predictor: ArrayPredictor, path: Path, about: dict[str, Any] | None = None) -> None:
    """Write a predictor with its history; the file gets its name only when it is complete on disk.

    Args:
        predictor: any predictor of this package.
        path: the file, usually ``.npz``.
        about: JSON-ready facts that ``load_with`` returns with the predictor.

    Raises:
        WheslError: the file cannot be written.
    """
    meta, arrays = _state(predictor)
    meta |= {"threshold": predictor.threshold, "name": predictor.name}
    if about is not None:
        meta["about"] = about
    write(path, meta, arrays)


def write(path: Path, meta: dict[str, Any], arrays: Arrays) -> None:
    """Write arrays and JSON facts to a file; the file gets its name only when it is complete on disk.

    Args:
        path: the file.
        meta: JSON-ready facts.
        arrays: arrays by name; the name ``meta`` is reserved.

    Raises:
        WheslError: the file cannot be written.
    """
    text = json.dumps(meta | {"version": VERSION}, allow_nan=False).encode()
    whole = io.BytesIO()
    np.savez_compressed(whole, allow_pickle=False, meta=np.frombuffer(text, dtype=np.uint8), **arrays)
    write_bytes(path, whole.getvalue())


def read(
    path: Path, what: str, hint: str, restored: Callable[[dict[str, Any], Arrays], Restored]
) -> Restored:
    """Read a file that ``write`` wrote.

    Args:
        path: the file.
        what: name of the content that the file should hold, for error messages.
        hint: how to make a new file, for error messages.
        restored: makes the content from the facts and the arrays; raises ValueError for invalid ones.

    Raises:
        WheslError: the file cannot be read, has another version, or has invalid content.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _LARGEST:
                raise ValueError(f"its arrays are larger than {_LARGEST >> 30} GiB")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop("meta").tobytes())
        if not isinstance(meta, dict) or meta.get("version") != VERSION:
            raise ValueError(f"it is not of version {VERSION}")
        return restored(meta, arrays)
    except OSError as error:
        raise WheslError(f"cannot read {path}: {error.strerror or error}") from error
    except _WRONG as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        raise WheslError(f"{path} does not hold {what}: {why}", hint=hint) from error


def load(path: Path) -> ArrayPredictor:
    """Read a predictor from a file.

    Args:
        path: the file.

    Raises:
        WheslError: the file cannot be read, has another version, or does not hold a predictor.
    """
    return load_with(path)[0]


def load_with(path: Path) -> tuple[ArrayPredictor, dict[str, Any] | None]:
    """Read a predictor and the facts that were written with it; None for a file without facts.

    Arguments and errors: see ``load``.
    """

    def both(meta: dict[str, Any], arrays: Arrays) -> tuple[ArrayPredictor, dict[str, Any] | None]:
        about = meta.get("about")
        return _restored(meta, arrays), about if isinstance(about, dict) else None

    return read(path, "a predictor", "make it anew from the history of failures", both)


def _state(predictor: ArrayPredictor) -> tuple[dict[str, Any], Arrays]:
    if isinstance(predictor, Given):
        arrays: Arrays = {"node": predictor.node, "time": predictor.time, "chance": predictor.chance}
        return {"is": "given", "nodes": predictor.nodes}, arrays
    if isinstance(predictor, Survival):
        meta, arrays = _fitted(predictor.fitted)
        return meta | _history(predictor.history, arrays) | {"is": "survival"}, arrays
    if isinstance(predictor, Recency):
        arrays = {"rates": predictor.rates}
        meta = {"is": "recency", "never": predictor.never}
        return meta | _history(predictor.history, arrays), arrays
    if isinstance(predictor, Filtered):
        meta, arrays = _fitted(predictor.rest.fitted)
        each = [(node, one) for node, some in sorted(predictor.found.items()) for one in some]
        arrays["cycle_node"] = np.array([node for node, _ in each], dtype=np.int64)
        arrays["cycle_period"] = np.array([one.period for _, one in each])
        arrays["cycle_first"] = np.array([one.first for _, one in each])
        arrays["cycle_share"] = np.array([one.share for _, one in each])
        meta |= {"is": "ffp", "tolerance": predictor.tolerance, "rest": predictor.rest.name}
        return meta | _history(predictor.history, arrays), arrays
    if isinstance(predictor, LearnedPredictor):
        model = predictor.model
        meta, arrays = _fitted(model.base)
        arrays |= {f"tree_{name}": values for name, values in model.trees._asdict().items()}
        typical = [None if math.isnan(value) else float(value) for value in model.typical]
        meta |= {"is": "learned", "step": model.step, "typical": typical}
        return meta | _history(predictor.history, arrays), arrays
    if isinstance(predictor, Signed):
        below, arrays = _state(predictor.base)
        seen = predictor.seen
        arrays |= {"sign_node": seen.node, "sign_time": seen.time, "sign_kind": seen.kind}
        arrays["sign_factor"] = predictor.factor
        below |= {"threshold": predictor.base.threshold, "name": predictor.base.name}
        meta = {"is": "signed", "base": below, "window": predictor.window}
        return meta | {"sign_kinds": seen.kinds, "sign_details": seen.details}, arrays
    raise WheslError(f"{predictor.name} cannot be saved: it is none of this package's predictors")


def _fitted(fitted: Fitted) -> tuple[dict[str, Any], Arrays]:
    meta = {
        "laws": [[law.name, list(law.parameters)] for law in fitted.laws],
        "frailty": fitted.frailty if math.isfinite(fitted.frailty) else None,
        "held_out": fitted.held_out,
    }
    return meta, {"law": fitted.law}


def _history(history: History, arrays: Arrays) -> dict[str, Any]:
    for name in ("node", "start", "end", "cause", "kind", "group", "entry", "exit"):
        arrays[f"history_{name}"] = getattr(history, name)
    return {
        "nodes": history.nodes,
        "begin": history.begin,
        "finish": history.finish,
        "causes": history.causes,
        "kinds": history.kinds,
        "names": history.names,
    }


def _restored(meta: dict[str, Any], arrays: Arrays) -> ArrayPredictor:
    threshold = number(meta, "threshold")
    if meta["is"] == "signed":
        return _read_signed(meta, arrays, threshold)
    if meta["is"] == "given":
        node = column(arrays, "node", np.int64)
        times, chance = column(arrays, "time", np.float64), column(arrays, "chance", np.float64)
        return Given(text(meta, "name"), whole(meta, "nodes"), node, times, chance, threshold)
    history = _read_history(meta, arrays)
    if meta["is"] == "learned":
        return LearnedPredictor(_read_learned(meta, arrays, history.nodes), history, threshold)
    if meta["is"] == "recency":
        return Recency(column(arrays, "rates", np.float64), number(meta, "never"), history, threshold)
    if meta["is"] not in ("survival", "ffp"):
        raise ValueError(f"there is no predictor {meta['is']!r}")
    fitted = _read_fitted(meta, arrays, history.nodes)
    if meta["is"] == "survival":
        return Survival(text(meta, "name"), fitted, history, threshold)
    node = column(arrays, "cycle_node", np.int64, 0, history.nodes - 1)
    period, first, share = (
        column(arrays, f"cycle_{one}", np.float64) for one in ("period", "first", "share")
    )
    if not len(node) == len(period) == len(first) == len(share) or not (period > 0).all():
        raise ValueError("its cycles are not whole")
    found: dict[int, list[Cycle]] = {}
    events = np.zeros(0, dtype=np.int64)
    for row in zip(node.tolist(), period.tolist(), first.tolist(), share.tolist(), strict=True):
        found.setdefault(row[0], []).append(Cycle(row[1], row[2], events, row[3]))
    tolerance = number(meta, "tolerance")
    if not tolerance > 0:
        raise ValueError("its tolerance is not above 0")
    rest = Survival(text(meta, "rest"), fitted, history)
    return Filtered(rest, found, history, tolerance, threshold)


def _read_signed(meta: dict[str, Any], arrays: Arrays, threshold: float) -> Signed:
    if meta["base"]["is"] == "signed":
        raise ValueError("its signs are those of another one with signs")
    base = _restored(meta["base"], arrays)
    kinds, details = (tuple(map(str, meta[name])) for name in ("sign_kinds", "sign_details"))
    node = column(arrays, "sign_node", np.int64, 0, base.nodes - 1)
    time = column(arrays, "sign_time", np.float64)
    kind = column(arrays, "sign_kind", np.int64, 0, len(kinds) - 1)
    if not len(node) == len(time) == len(kind) == len(details) or (np.diff(time) < 0).any():
        raise ValueError("its signs are not whole")
    seen = Signs(node, time, kind, kinds, details)
    return Signed(base, seen, column(arrays, "sign_factor", np.float64), number(meta, "window"), threshold)


def _read_learned(meta: dict[str, Any], arrays: Arrays, nodes: int) -> Learned:
    kinds = {"value": np.float32, "unknown_left": np.bool_}
    walked = Trees(*(column(arrays, f"tree_{name}", kinds.get(name, np.int32)) for name in Trees._fields))
    check(walked, len(COLUMNS) + 1)
    typical = np.array([math.nan if value is None else float(value) for value in meta["typical"]])
    step = number(meta, "step")
    if len(typical) != len(COLUMNS) or not step > 0:
        raise ValueError("its columns or its step are not those of a learned model")
    return Learned(walked, _read_fitted(meta, arrays, nodes), typical, step)


def _read_fitted(meta: dict[str, Any], arrays: Arrays, nodes: int) -> Fitted:
    found = []
    for name, parameters in meta["laws"]:
        values = [float(value) for value in parameters]
        if name not in LAWS or not all(map(math.isfinite, values)):
            raise ValueError(f"no distribution {name!r} with {values}")
        _check_law(name, values)
        found.append(Law(name, tuple(values)))
    law = column(arrays, "law", np.int64, 0, len(found) - 1)
    if len(law) != nodes:
        raise ValueError(f"it has distributions of {len(law)} nodes, and {nodes} nodes")
    frailty = math.inf if meta["frailty"] is None else number(meta, "frailty")
    if not frailty > 0:
        raise ValueError("its frailty is not above 0")
    held_out = {str(name): float(value) for name, value in meta["held_out"].items()}
    return Fitted(tuple(found), law, frailty, held_out)


def _check_law(name: str, values: list[float]) -> None:
    if name == "kaplan-meier":
        half = len(values) // 2
        rising = all(np.diff(values[:half]) > 0) and all(np.diff(values[half:]) > 0)
        right = half >= 2 and len(values) == 2 * half and rising and min(values) >= 0
    elif name == "log-normal":
        right = len(values) == 2 and values[1] > 0
    else:
        right = len(values) == (1 if name == "exponential" else 2) and min(values) > 0
    if not right:
        raise ValueError(f"a distribution {name} cannot have the parameters {values[:4]}")


def _read_history(meta: dict[str, Any], arrays: Arrays) -> History:
    """Return the history in a file's arrays.

    Raises:
        ValueError, KeyError, TypeError: the arrays are not a history.
    """
    nodes = whole(meta, "nodes")
    causes, kinds, names = (tuple(map(str, meta[name])) for name in ("causes", "kinds", "names"))
    node = column(arrays, "history_node", np.int32, 0, nodes - 1)
    start = column(arrays, "history_start", np.float64)
    end = column(arrays, "history_end", np.float64, finite=False)
    cause = column(arrays, "history_cause", np.int32, -1, len(causes) - 1)
    kind = column(arrays, "history_kind", np.int32, 0, len(kinds) - 1)
    group = column(arrays, "history_group", np.int32)
    entry, leave = (column(arrays, f"history_{name}", np.float64) for name in ("entry", "exit"))
    if not len(node) == len(start) == len(end) == len(cause):
        raise ValueError("its failures are not whole")
    if (np.diff(start) < 0).any() or (end < start).any():
        raise ValueError("the times of its failures go back")
    if any(len(one) not in (0, nodes) for one in (kind, group, entry, leave, names)):
        raise ValueError(f"what it says of nodes is not for {nodes}")
    begin, finish = number(meta, "begin"), number(meta, "finish")
    return History(
        nodes, begin, finish, node, start, end, cause, causes, names, kind, kinds, group, entry, leave
    )


def column(
    arrays: Arrays,
    name: str,
    kind: type,
    low: int | None = None,
    high: int | None = None,
    *,
    finite: bool = True,
) -> NDArray[Any]:
    """Return a file's array after a check of its dimension, type and bounds.

    Args:
        arrays: the file's arrays by name.
        name: the array's name.
        kind: the required element type.
        low: the least allowed value; None for no bounds.
        high: the largest allowed value; None for no bounds.
        finite: whether infinite values are refused.

    Raises:
        ValueError: the array has another dimension or type, or values out of bounds.
        KeyError: the array is missing.
    """
    values = arrays[name]
    if values.ndim != 1 or values.dtype != np.dtype(kind):
        raise ValueError(f"{name} is not a list of {np.dtype(kind)}")
    if (
        len(values)
        and low is not None
        and high is not None
        and not (low <= values.min() <= values.max() <= high)
    ):
        raise ValueError(f"{name} is not from {low} to {high}")
    if np.isnan(values).any() or (finite and not np.isfinite(values).all()):
        raise ValueError(f"{name} holds what is no number")
    return values


def number(meta: dict[str, Any], name: str) -> float:
    """Return a finite number from a file's facts.

    Args:
        meta: the file's JSON facts by name.
        name: the fact's name, as the error gives it.

    Raises:
        ValueError: the fact is not a number, or not a finite one.
        KeyError: the fact is missing.
    """
    value = meta[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is not a number")
    return float(value)


def whole(meta: dict[str, Any], name: str) -> int:
    """Return a count from a file's facts.

    Args:
        meta: the file's JSON facts by name.
        name: the fact's name, as the error gives it.

    Raises:
        ValueError: the fact is not a whole number from 0 to ``_MOST``.
        KeyError: the fact is missing.
    """
    value = meta[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError(f"{name} is not a number of nodes")
    return value


def text(meta: dict[str, Any], name: str) -> str:
    """Return a short text from a file's facts.

    Args:
        meta: the file's JSON facts by name.
        name: the fact's name, as the error gives it.

    Raises:
        ValueError: the fact is not a text, or is longer than 1000 characters.
        KeyError: the fact is missing.
    """
    value = meta[name]
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError(f"{name} is not a short text")
    return value
