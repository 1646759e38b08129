"""Settings of a test that are alike: ``make test`` runs the first of them, ``make test-all`` runs all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def alike(values: Iterable[Any], run: int = 1) -> list[Any]:
    """Return the values for ``parametrize``, those after the first ``run`` marked as variants.

    A test takes this where its settings go the same way through the product, so that a defect which only one
    of them shows is improbable, and where each of them costs seconds of a processor.
    """
    return [
        value if number < run else pytest.param(value, marks=pytest.mark.variant)
        for number, value in enumerate(values)
    ]
