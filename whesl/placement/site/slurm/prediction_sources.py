"""The placement service's sources of predictions: a learned model, and a file of predicted failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from whesl.model.errors import RefusedError, WheslError
from whesl.model.evidence import PredictedFailure
from whesl.placement.site.history import model, prediction_file, usefulness
from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.risk_table import NodeRisk, Table
from whesl.prediction.failures.given_accuracy_predictors import none
from whesl.prediction.failures.port import Predictor

_LATE = 0.5  # share of the lead time for which a failure is still expected after its predicted time
_SOON = 60.0  # least time in seconds for which a failure is still expected after its predicted time


class Sources:
    """A model's file and a file of predictions, each read again when it changes.

    If a file cannot be read, its former content stays in use.

    Args:
        model_file: file of ``whesl placement learn``; None for no model, by which no node is expected to
            fail.
        predictions_file: JSON lines of ``whesl placement chains run``; None for no such file.
        acting: whether nodes and jobs are changed, which requires a model with a positive verdict.
        despite: the worst verdict that is accepted too; None for a positive one only.

    Attributes:
        problem: the present problem in a sentence for people; empty without a problem.
    """

    def __init__(
        self,
        model_file: Path | None,
        predictions_file: Path | None,
        *,
        acting: bool = False,
        despite: str | None = None,
    ) -> None:
        self._acting, self._despite = acting, despite
        self._refused: RefusedError | None = None  # the reason why the model in the file is not used
        self._model_file, self._predictions_file = model_file, predictions_file
        self._states: dict[Path, tuple[int, ...]] = {}
        self._model: model.SiteModel | None = None
        self._said: list[PredictedFailure] = []
        self.problem = ""

    def table(
        self,
        names: Sequence[str],
        now: float,
        *,
        valid_for: float,
        horizons: Sequence[float],
        active: bool,
        cluster: str,
    ) -> Table | None:
        """Return the table for a cluster's nodes, None while there are no predictions.

        Args:
            names: names of the nodes.
            now: the current time, in seconds since the epoch.
            valid_for: seconds from ``now`` on until the table expires.
            horizons: horizons of the table in seconds, ascending.
            active: whether schedulers act on the table.
            cluster: name of the cluster.
        """
        if self._model_file is not None and self._model is None and self._refused is None:
            return None
        predictor: Predictor = none(0)
        places = [-1] * len(names)
        fitted = 86400.0
        if self._model is not None:
            fitted = self._model.about.horizon
            predictor, index = self._model.predictor, self._model.index
            places = [index.get(name, -1) for name in names]
        made = risk_table.make(
            predictor,
            names,
            now,
            valid_for=valid_for,
            horizons=horizons,
            active=active,
            cluster=cluster,
            places=places,
            fitted=fitted,
        )
        return _with_predictions(made, self._said, now)

    def refresh(self) -> None:
        """Read the files that have changed."""
        problems = []
        for path in (self._model_file, self._predictions_file):
            if path is None:
                continue
            try:
                status = path.stat() if path == self._model_file or path.exists() else None
                state = (status.st_ino, status.st_mtime_ns, status.st_size) if status else ()
                if self._states.get(path) == state:
                    continue
                if path == self._model_file:
                    self._take(model.load(path))
                else:
                    found = prediction_file.read(path)
                    self._said = found.predictions
                    if found.malformed:
                        number, why = found.malformed[0]
                        problems.append(f"{path}:{number}: {why}")
                self._states[path] = state
            except OSError as error:
                problems.append(f"cannot read {path}: {error.strerror or error}")
            except WheslError as error:
                problems.append(error.message)
        if self._refused is not None:
            problems.append(self._refused.message)
        self.problem = "; ".join(problems)

    def check(self) -> None:
        """Read the files, and refuse a model that may not act.

        Raises:
            RefusedError: the model's verdict is neither positive nor accepted.
        """
        self.refresh()
        if self._refused is not None:
            raise self._refused

    def _take(self, found: model.SiteModel) -> None:
        """Use a model, or no model if it may not act, so that no node is expected to fail by it."""
        self._model, self._refused = found, None
        if self._acting:
            try:
                usefulness.require(found.about.verdict, self._despite, str(self._model_file))
            except RefusedError as error:
                self._model, self._refused = None, error


def _with_predictions(made: Table, said: Iterable[PredictedFailure], now: float) -> Table:
    """Return a table to which predicted failures are added; the higher probability counts.

    Those overdue by more than half of their lead (at least a minute) are ignored.
    """
    coming: dict[str, list[tuple[float, PredictedFailure]]] = {}
    for one in said:
        left = one.time + one.lead - now
        if left >= -max(_SOON, _LATE * one.lead):
            coming.setdefault(one.node, []).append((max(left, 0.0), one))
    if not coming:
        return made
    rows = [_row(row, coming.get(row.node, ()), made.horizons) for row in made.nodes]
    return msgspec.structs.replace(made, nodes=tuple(rows))


def _row(
    row: NodeRisk, said: Sequence[tuple[float, PredictedFailure]], horizons: Sequence[float]
) -> NodeRisk:
    for left, one in sorted(said, key=lambda pair: pair[1].confidence):
        chances = tuple(
            max(chance, one.confidence) if left <= horizon else chance
            for chance, horizon in zip(row.probability, horizons, strict=True)
        )
        if chances != row.probability:
            reason = risk_table.short(f"{one.source or 'a prediction'}: {one.evidence or one.node}")
            mean = risk_table.expected(chances, horizons)
            row = NodeRisk(node=row.node, probability=chances, expected=mean, reason=reason)
    return row
