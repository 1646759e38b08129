"""Generated workflows: layered random graphs of the kind that FLAW's evaluation takes from a test bench.

The test bench is not available. Sizes are the document's printed sizes; all other properties are drawn for
each graph as stated here, so the workflows are synthetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from whesl.lab.readers.workflow_graph import Graph, graph

# Seconds of a graph's time unit: five minutes (FLAW, section V.A).
UNIT = 300.0


@dataclass(frozen=True, slots=True)
class Shape:
    """The random properties of a graph, each drawn uniformly between two bounds.

    Attributes:
        tasks: number of tasks (the document's DAG size).
        layers: number of layers; tasks are assigned to layers at random, at least one to each layer.
        meshing: the mean number of parents besides the first (meshing degree).
        length: largest number of layers that an edge spans (edge length).
        work: mean run time of the tasks in units of five minutes; run times are uniform from 1 to twice the
            mean less 1.
        communication: mean transfer time / mean run time (CCR); transfers are uniform from 0 to twice the
            mean.
    """

    tasks: tuple[int, int] = (175, 249)
    layers: tuple[int, int] = (8, 24)
    meshing: tuple[float, float] = (0.0, 3.0)
    length: tuple[int, int] = (1, 5)
    work: tuple[float, float] = (12.0, 120.0)
    communication: tuple[float, float] = (0.1, 1.0)


def layered(generator: Generator, shape: Shape, name: str = "layered") -> Graph:
    """Return a random graph; sizes of edges are seconds of transfer, as for a bandwidth of 1.

    Args:
        generator: generator of random numbers.
        shape: bounds of the random properties.
        name: the workflow's name.
    """
    count = int(generator.integers(shape.tasks[0], shape.tasks[1], endpoint=True))
    layers = min(count, int(generator.integers(shape.layers[0], shape.layers[1], endpoint=True)))
    meshing = generator.uniform(*shape.meshing)
    length = int(generator.integers(shape.length[0], shape.length[1], endpoint=True))
    work = generator.uniform(*shape.work)
    transfer = work * generator.uniform(*shape.communication)
    layer = np.sort(np.concatenate([np.arange(layers), generator.integers(0, layers, count - layers)]))
    first = np.searchsorted(layer, np.arange(layers))
    edges = []
    for task in range(int(np.searchsorted(layer, 1)), count):
        low, high = first[max(0, layer[task] - length)], first[layer[task]]
        wanted = min(1 + int(generator.poisson(meshing)), int(high - low))
        # One parent is in the layer just above, which makes a task's layer its depth in the graph.
        above = int(generator.integers(first[layer[task] - 1], high))
        others = generator.choice(np.arange(low, high), size=wanted, replace=False)
        for parent in dict.fromkeys([above, *others.tolist()][:wanted]):
            edges.append((int(parent), task, float(generator.uniform(0.0, 2.0 * transfer) * UNIT)))
    runtimes = generator.uniform(1.0, max(1.0, 2.0 * work - 1.0), count) * UNIT
    return graph(name, [f"t{task}" for task in range(count)], runtimes.tolist(), edges)
