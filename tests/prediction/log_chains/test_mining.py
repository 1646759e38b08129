"""Mined chains: what was planted is found, what means nothing is not; all logs here are synthetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.log_chains.loghub import templates
from whesl.model.errors import UsageError
from whesl.prediction.log_chains import archived_logs, mining, synthetic, trial
from whesl.prediction.log_chains.drain import Drain
from whesl.prediction.log_chains.evaluation import JudgedPrediction, scores
from whesl.prediction.log_chains.log_stream_predictor import Compiled
from whesl.prediction.log_chains.mining import Settings

SMALL = synthetic.Settings(nodes=32, days=20.0, failures=120, chains=5, noise=20.0)


def written(log: synthetic.Log, folder: Path) -> Path:
    path = folder / "log"
    path.write_bytes(b"".join(log.lines))
    return path


def test_what_was_planted_is_found_and_predicts_failures_held_out(tmp_path: Path) -> None:
    log = synthetic.make(SMALL)
    path = written(log, tmp_path)
    mined = trial.mine(archived_logs.messages([path], None), [path], None, log.failures, Settings())
    assert mined.held_out is not None
    assert mined.held_out.precision is not None
    assert mined.held_out.recall is not None
    assert mined.held_out.precision >= 0.7
    assert mined.held_out.recall >= 0.5
    said, _ = archived_logs.run(Compiled(mined.chains), [path], None)
    whole = trial.judged(said, mined.chains, log.failures)
    planted, _ = archived_logs.run(Compiled(log.chains), [path], None)
    best = trial.judged(planted, log.chains, log.failures)
    assert whole.recall is not None
    assert best.recall is not None
    assert whole.recall >= 0.9 * best.recall
    for chain in mined.chains:
        assert 0 < chain.hits <= chain.matches


def test_real_templates_with_planted_chains(tmp_path: Path) -> None:
    log = synthetic.make(SMALL, templates("BGL", "HPC", "Thunderbird"))
    path = written(log, tmp_path)
    mined = trial.mine(archived_logs.messages([path], None), [path], None, log.failures, Settings())
    assert mined.held_out is not None
    assert mined.held_out.recall is not None
    assert mined.held_out.recall >= 0.5


def test_where_nothing_precedes_failures_no_chain_is_found(tmp_path: Path) -> None:
    log = synthetic.make(SMALL._replace(preceded=0.0, strays=1.0, seed=3))
    path = written(log, tmp_path)
    mined = trial.mine(archived_logs.messages([path], None), [path], None, log.failures, Settings())
    assert mined.chains == []


def test_failures_outside_of_the_log_or_of_other_nodes_are_told(tmp_path: Path) -> None:
    log = synthetic.make(SMALL._replace(nodes=4, failures=8, days=3.0, noise=5.0))
    path = written(log, tmp_path)
    read = archived_logs.messages([path], None)
    with pytest.raises(UsageError, match="none of 1 failures falls into the log"):
        trial.mine(read, [path], None, [("n0001", 0.0)], Settings())
    with pytest.raises(UsageError, match="names none of the nodes that failed: other"):
        trial.mine(read, [path], None, [("other", log.failures[0][1])], Settings())
    mined = trial.mine(read, [path], None, [*log.failures, ("other", log.failures[0][1])], Settings())
    assert mined.strangers == ("other",)
    assert mined.held_out is None  # too few to hold some out


def test_a_log_of_no_form_is_told(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("hello\nworld\n")
    with pytest.raises(UsageError, match="none of its first 200 lines has a time and a node"):
        archived_logs.messages([tmp_path / "log"], None)
    (tmp_path / "empty").write_text("")
    with pytest.raises(UsageError):
        archived_logs.messages([tmp_path / "empty"], None)


def test_repetitions_and_earlier_failures_are_left_out_of_a_sequence() -> None:
    events = [
        mining.Event("n1", time, template)
        for time, template in [(1, 1), (2, 2), (2.5, 2), (3, 3), (55, 1), (60, 2), (99, 3)]
    ]
    times = {"n1": [50.0, 100.0], "n2": [10.0]}
    found = dict(mining.sequences_before(events, times, Settings(window=1000.0, least=2.0)))
    assert found == {50.0: (1, 2, 3), 100.0: (1, 2), 10.0: ()}


def test_scores_count_each_failure_once_by_its_first_prediction() -> None:
    said = [
        JudgedPrediction("n1", 0.0, 100.0, "a"),
        JudgedPrediction("n1", 50.0, 100.0, "b"),
        JudgedPrediction("n2", 0.0, 10.0, "a"),
    ]
    one = scores(said, [("n1", 90.0), ("n2", 50.0), ("n3", 1.0)])
    assert (one.predictions, one.right, one.failures, one.predicted, one.lead) == (3, 2, 3, 1, (90.0,))
    assert one.precision == pytest.approx(2 / 3)
    nothing = scores([], [])
    assert (nothing.precision, nothing.recall, nothing.median_lead) == (None, None, None)


def test_messages_that_differ_in_numbers_and_single_words_share_a_template() -> None:
    drain = Drain()
    first = drain.number("link eth0 of host alpha is down for 10 s")
    assert drain.number("link eth1 of host beta is down for 99 s") == first
    assert drain.number("session opened for user root") != first
    assert drain.text(first) == "link eth<*> of host <*> is down for <*> s"
