"""The predictor as the document prints it: its two worked vectors, its table of choices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.prediction.free_nodes.made import NODES, cluster
from whesl.model.errors import UsageError
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


@pytest.mark.parametrize(
    "wrong",
    [{"loss": "mse"}, {"input_steps": 7}, {"output_steps": 25}, {"minutes": 15}, {"optimizer": "rmsprop"}],
)
def test_only_what_the_table_holds_is_taken(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"not in Table 3\.2"):
        published_predictor.Choice(**wrong)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.slow
def test_both_models_learn_the_made_cluster() -> None:
    """On weeks that they have not seen, trees and LSTM are nearer than always the median."""
    history = cluster()
    hours = supply(history, NODES)
    which = np.arange(24, 24 * 46)
    rows = published_predictor.features(history, hours.times[which], NODES)
    assert rows.shape == (len(which), 130)
    truth = hours.least[which[:, None] + np.arange(24)]
    known, asked = np.arange(0, 24 * 35, 2), np.arange(24 * 37, 24 * 45, 2)
    plain = np.abs(np.median(truth[known, :6], axis=0) - truth[asked, :6]).mean()
    by_trees = published_predictor.trees(
        rows[known], truth[known], rows[asked], published_predictor.Choice(output_steps=6)
    )
    assert np.abs(by_trees - truth[asked, :6]).mean() < 0.95 * plain
    choice = published_predictor.Choice(input_steps=6, output_steps=6)
    by_lstm = published_predictor.recurrent(rows, truth, known, asked, choice, NODES, epochs=10)
    assert by_lstm.shape == (len(asked), 6)
    assert np.abs(by_lstm - truth[asked, :6]).mean() < plain


def test_trees_have_no_mape() -> None:
    with pytest.raises(UsageError, match="MAPE"):
        nothing = np.zeros((1, 130), dtype=np.float32)
        published_predictor.trees(
            nothing, np.zeros((1, 24)), nothing, published_predictor.Choice(loss="mape")
        )
