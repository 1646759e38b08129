"""Generated workflows: layered random graphs of the kind that FLAW's evaluation takes from a test bench.

The test bench itself is not to be had: sizes are those that the document prints, all else is drawn for each
graph and stated here. They are synthetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whesl.lab.readers.workflow_graph import Graph, graph

if TYPE_CHECKING:
    from numpy.random import Generator

# FLAW, section V.A: one time unit of a graph is five minutes.
UNIT = 300.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What is drawn for each graph, each uniformly between two bounds.

    Attributes:
        tasks: how many tasks (the document's DAG size).
        layers: how many layers, in which tasks stand at random; each has at least one.
        meshing: the mean number of parents besides the first (meshing degree).
        length: how many layers an edge may span (edge length).
        work: the mean of the tasks' run times in units of five minutes; each is uniform from 1 to twice
            the mean.
        communication: the mean transfer over the mean run time (CCR); each is uniform from 0 to
            twice its mean.
    """

    tasks: tuple[int, int] = (175, 249)
    layers: tuple[int, int] = (8, 24)
    meshing: tuple[float, float] = (0.0, 3.0)
    length: tuple[int, int] = (1, 5)
    work: tuple[float, float] = (12.0, 120.0)
    communication: tuple[float, float] = (0.1, 1.0)


def layered(generator: Generator, shape: Shape, name: str = "layered") -> Graph:
    """Return a random graph; its edges' sizes are seconds of transfer (a bandwidth of 1).

    Args:
        generator: of random numbers.
        shape: what is drawn.
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
        # One parent stands in the layer just above, so that the layers are those of the graph.
        above = int(generator.integers(first[layer[task] - 1], high))
        others = generator.choice(np.arange(low, high), size=wanted, replace=False)
        for parent in dict.fromkeys([above, *others.tolist()][:wanted]):
            edges.append((int(parent), task, float(generator.uniform(0.0, 2.0 * transfer) * UNIT)))
    runtimes = generator.uniform(1.0, max(1.0, 2.0 * work - 1.0), count) * UNIT
    return graph(name, [f"t{task}" for task in range(count)], runtimes.tolist(), edges)
