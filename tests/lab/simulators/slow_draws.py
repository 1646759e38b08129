"""A simulator of the campaigns' tests: draws of its seed, each cell with a mark that says that it ran."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from whesl.model.errors import UsageError


def cell(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return draws; ``gate`` is a file that has to be there before a cell with ``held`` ends."""
    marks = Path(parameters["marks"])
    marks.mkdir(exist_ok=True)
    (marks / f"{parameters['policy']}-{parameters['load']}-{seed}-{time.monotonic_ns()}").write_text(
        str(os.getpid())
    )
    if parameters["policy"] == "impossible":
        raise UsageError("no policy 'impossible'")
    if parameters["policy"] == "faulty":
        raise ZeroDivisionError("no load")
    if parameters["policy"] == "listed":
        return {"waits": [1.0, 2.0]}
    gate = parameters.get("gate")
    while gate and parameters["load"] == parameters.get("held") and not Path(gate).exists():
        time.sleep(0.02)
    draws = np.random.default_rng(seed).random(1000)
    worth = {"easy": 1.0, "fcfs": 2.0}[parameters["policy"]]
    return {
        "mean_wait": float(draws.mean() * parameters["load"] * worth),
        "killed": int((draws < 0.01).sum()),
    }
