"""Printed values of the dissertation: ratios of met failures, and ranges of reduced overheads."""

from __future__ import annotations

from typing import NamedTuple

MODELS = ("B", "M1", "M2", "P1", "P2")

# Ratios of met failures (Tables 2.2 and 2.4, Titan's failures) for M1, M2, P1 and P2, by change of the lead
# times and by application.
RATIOS: dict[float, dict[str, tuple[float, float, float, float]]] = {
    0.5: {
        "CHIMERA": (0.007, 0.57, 0.84, 0.83),
        "XGC": (0.04, 0.83, 0.85, 0.84),
        "POP": (0.84, 0.85, 0.88, 0.86),
    },
    0.1: {
        "CHIMERA": (0.006, 0.57, 0.76, 0.76),
        "XGC": (0.04, 0.69, 0.84, 0.84),
        "POP": (0.82, 0.85, 0.87, 0.85),
    },
    0.0: {
        "CHIMERA": (0.006, 0.47, 0.70, 0.69),
        "XGC": (0.04, 0.66, 0.84, 0.83),
        "POP": (0.84, 0.85, 0.86, 0.85),
    },
    -0.1: {
        "CHIMERA": (0.004, 0.04, 0.67, 0.67),
        "XGC": (0.04, 0.58, 0.84, 0.84),
        "POP": (0.83, 0.86, 0.84, 0.87),
    },
    -0.5: {
        "CHIMERA": (0.0, 0.04, 0.36, 0.37),
        "XGC": (0.009, 0.04, 0.84, 0.84),
        "POP": (0.83, 0.85, 0.86, 0.86),
    },
}
CALIBRATED = (0.0, -0.1)  # the changes of lead times whose rows serve for calibration
PREDICTED = (0.5, 0.1, -0.5)  # the changes of lead times whose rows are predicted


class Range(NamedTuple):
    """A printed range of the reduction of the total overhead against model B, in per cent."""

    low: float
    high: float


# Observations 2 and 7: ranges over the six applications, by failures and by model.
REDUCTIONS: dict[str, dict[str, Range]] = {
    "Titan": {"M1": Range(0, 52), "M2": Range(31, 61), "P1": Range(42, 55), "P2": Range(53, 65)},
    "LANL 8": {"P2": Range(44, 73)},
    "LANL 18": {"P2": Range(52, 69)},
}
