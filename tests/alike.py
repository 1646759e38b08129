"""Settings and examples of a test: ``make test`` runs some of them, ``make test-all`` runs all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

# Set by ``make test-all``: all loops are compiled, and hypothesis draws all examples.
ALL = "WHESL_COMPILE_ALL"


def alike(values: Iterable[Any], run: int = 1) -> list[Any]:
    """Return the values for ``parametrize``, those after the first ``run`` marked as variants.

    A test takes this where its settings go the same way through the product, so that a defect which only one
    of them shows is improbable, and where each of them costs seconds of a processor.
    """
    return [
        value if number < run else pytest.param(value, marks=pytest.mark.variant)
        for number, value in enumerate(values)
    ]


def examples(most: int) -> int:
    """Return how many examples hypothesis draws of so many: a quarter of them in ``make test``.

    Each run draws others, so that a defect which one run passes over is found by one of the next.
    """
    return most if os.environ.get(ALL) else max(most // 4, min(most, 10))
