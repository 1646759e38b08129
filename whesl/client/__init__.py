"""What other programs call (docs/raising.md): raise an exception of the rules, tell of a predicted failure.

Errors are those of ``whesl.model.errors``.
"""

from __future__ import annotations

from whesl.client.external_exceptions import (
    RaisedOn,
    Told,
    predict_failure,
    raise_exception,
    wait_until_taken,
)
from whesl.model.errors import RefusedError, TransientError, UsageError
from whesl.model.evidence import PredictedFailure

__all__ = [
    "PredictedFailure",
    "RaisedOn",
    "RefusedError",
    "Told",
    "TransientError",
    "UsageError",
    "predict_failure",
    "raise_exception",
    "wait_until_taken",
]
