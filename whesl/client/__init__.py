"""What other programs call: raise an exception of the rules on running tasks (docs/raising.md).

``raise_exception`` is all that a monitoring tool or a predictor needs; its errors are those of
``whesl.model.errors``.
"""

from __future__ import annotations

from whesl.client.raising import RaisedOn, raise_exception, wait_until_taken
from whesl.model.errors import RefusedError, TransientError, UsageError

__all__ = ["RaisedOn", "RefusedError", "TransientError", "UsageError", "raise_exception", "wait_until_taken"]
