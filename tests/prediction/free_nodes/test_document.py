"""The predictor as the document prints it: its two worked vectors, its trees."""

from __future__ import annotations

import numpy as np
import pytest

from tests.prediction.free_nodes.made import NODES, cluster
from whesl.prediction.free_nodes import published_predictor
from whesl.prediction.free_nodes.hourly_free_node_history import supply


def test_the_wait_queue_of_the_example() -> None:
    """Jobs (3 nodes, 1 h), (5, 5), (10, 2) give [3, 10, 0, 0, 5]."""
    found = published_predictor.wait_vector(np.array([3.0, 5.0, 10.0]), np.array([1.0, 5.0, 2.0]))
    assert found[:5].tolist() == [3, 10, 0, 0, 5]
    assert len(found) == 64
    assert not found[5:].any()


def test_the_run_queue_of_the_example() -> None:
    """Jobs (3 nodes, 2 h left), (5, 1), (10, 5) give [5, 8, 8, 8, 18], and 18 up to hour 64."""
    found = published_predictor.run_vector(np.array([3.0, 5.0, 10.0]), np.array([2.0, 1.0, 5.0]))
    assert found[:5].tolist() == [5, 8, 8, 8, 18]
    assert len(found) == 64
    assert (found[4:] == 18).all()


def test_longer_jobs_count_in_the_last_hour() -> None:
    assert published_predictor.wait_vector(np.array([2.0]), np.array([100.0]))[63] == 2
    assert published_predictor.run_vector(np.array([2.0]), np.array([0.0]))[0] == 2


@pytest.mark.slow
def test_trees_learn_the_made_cluster() -> None:
    """On weeks that they have not seen, trees are nearer than always the median."""
    history = cluster()
    hours = supply(history, NODES)
    which = np.arange(24, 24 * 46)
    rows = published_predictor.features(history, hours.times[which], NODES)
    assert rows.shape == (len(which), 130)
    truth = hours.least[which[:, None] + np.arange(24)]
    known, asked = np.arange(0, 24 * 35, 2), np.arange(24 * 37, 24 * 45, 2)
    plain = np.abs(np.median(truth[known, :6], axis=0) - truth[asked, :6]).mean()
    found = published_predictor.trees(rows[known], truth[known, :6], rows[asked], "huber")
    assert np.abs(found - truth[asked, :6]).mean() < 0.95 * plain
