"""Failure predictors: which nodes will fail, by a history of failures. Contract tests: ``PredictorContract``.

``ArrayPredictor`` answers all questions from the arrays of ``Compiled``, so that a subclass only makes those
and gives a reason. Needs the extra ``predict``.
"""

from __future__ import annotations

from whesl.api.lazy_names_and_deprecation import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.model.errors import UsageError as UsageError
    from whesl.prediction.failures.compiled_predictor import Compiled as Compiled
    from whesl.prediction.failures.compiled_predictor import blank as blank
    from whesl.prediction.failures.compiled_predictor import by_node as by_node
    from whesl.prediction.failures.failure_history import History as History
    from whesl.prediction.failures.failure_history import Lifetimes as Lifetimes
    from whesl.prediction.failures.failure_history import merged as merged
    from whesl.prediction.failures.port import Prediction as Prediction
    from whesl.prediction.failures.port import Predictor as Predictor
    from whesl.prediction.failures.predictor_base import ArrayPredictor as ArrayPredictor

if not TYPE_CHECKING:  # for type checkers a misspelled name stays an error
    __getattr__, __dir__ = lazily(__name__, extra="whesl[predict]")
