"""The predictions of Flux's scheduler module, read from a fitted model's file or the published table."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from whesl.model.errors import WheslError
from whesl.placement.site.flux.table_predictor import Published
from whesl.placement.site.history import model, usefulness
from whesl.placement.site.publish import risk_table
from whesl.prediction.failures.predictor_base import ArrayPredictor

_ZIP = b"PK"  # first bytes of a fitted model's file


class Source:
    """A file of predictions that may change.

    If the file cannot be read, the predictions do not change; an expired table predicts nothing. This class
    raises no errors, so that the scheduler goes on.

    Args:
        path: the file of predictions.
        clock: returns the time in seconds since the epoch.

    Attributes:
        predictor: the current predictor; None while there are no predictions.
        names: names of the predictor's nodes by index.
        problem: the present problem in a sentence for people; empty without a problem.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.predictor: ArrayPredictor | None = None
        self.names: tuple[str, ...] = ()
        self.problem = "the predictions were not read yet"
        self._path, self._clock = path, clock
        self._state: tuple[int, ...] | None = None

    def refresh(self) -> bool:
        """Read the file if it has changed; return whether the predictions changed."""
        before = self.problem, self.predictor
        try:
            status = self._path.stat()
            state = (status.st_ino, status.st_mtime_ns, status.st_size)
            if state != self._state:
                self.predictor, self.names = read(self._path)
                self._state, self.problem = state, ""
        except OSError as error:
            self.problem = f"cannot read {self._path}: {error.strerror or error}"
        except WheslError as error:
            self.problem = f"{self._path}: {error.message}"
        if isinstance(self.predictor, Published) and not risk_table.fresh(
            self.predictor.table, self._clock()
        ):
            self.predictor, self.names = None, ()
            self.problem = f"the table {self._path} has expired"
        return (self.problem, self.predictor) != before


def may_act(path: Path, despite: str | None) -> None:
    """Refuse a model without a positive verdict; other files are not checked.

    Args:
        path: see ``read``.
        despite: the verdict that the user accepts besides a positive one; None for no other.

    Raises:
        RefusedError: the model may not act.
    """
    try:
        with path.open("rb") as file:
            is_model = file.read(len(_ZIP)) == _ZIP
        about = model.load(path).about if is_model else None
    except (OSError, WheslError):
        return
    if about is not None:
        usefulness.require(about.verdict, despite, str(path))


def read(path: Path) -> tuple[ArrayPredictor, tuple[str, ...]]:
    """Return a predictor and the names of its nodes.

    Args:
        path: a file of ``whesl placement learn``, or the table of ``whesl placement serve``.

    Raises:
        WheslError: the file holds neither a model nor a table.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        begin = file.read(len(_ZIP))
    if begin == _ZIP:
        found = model.load(path)
        return found.predictor, found.names
    published = risk_table.read(path)
    return Published(published), tuple(row.node for row in published.nodes)
