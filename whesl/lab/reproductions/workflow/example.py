"""FLAW's worked example: three nodes, five tasks (its Figures 4 to 8).

The document shows the weights only as a picture; the weights here reproduce both printed traces exactly.
"""

from __future__ import annotations

import numpy as np

from whesl.lab.readers.workflow_graph import graph
from whesl.lab.simulators.workflow.workload import Workload, workload
from whesl.prediction.failures.failure_history import History, merged
from whesl.prediction.failures.given_accuracy_predictors import Given

_COST = np.array([[35, 40, 45], [25, 32, 35], [30, 32, 25], [40, 35, 45], [40, 45, 50]], dtype=np.float64)
_EDGES = [(0, 1, 15.0), (0, 2, 15.0), (0, 3, 10.0), (1, 4, 10.0), (2, 4, 10.0), (3, 4, 10.0)]


def example() -> tuple[Workload, History, Given]:
    """Return the example's tasks, failures, and predictions of accuracy (AOA) 50 %."""
    one = graph("example", [f"T{number}" for number in range(5)], [0.0] * 5, _EDGES)
    tasks = workload([one], np.ones(3), 1.0, [0.0], [_COST])
    truth = merged(3, 0.0, 200.0, [(0, 15.0, 20.0), (1, 60.0, 65.0), (2, 5.0, 10.0)])
    return tasks, truth, Given("AOA 50 % (printed)", 3, [0, 2, 2], [18.0, 8.0, 90.0])
