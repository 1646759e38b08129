"""A counter of a node's kernel that goes up predicts its failure to the tasks that run there."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from whesl.cli.ckpt import watch_counters
from whesl.client import external_exceptions
from whesl.client.external_exceptions import Told
from whesl.model.errors import UsageError
from whesl.model.evidence import PredictedFailure
from whesl.placement.site.node_counters import Reading


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Have each look find the counters one higher than the look before."""
    found: dict[str, int] = {}
    looks: list[int] = []

    def read(node: str, now: float, _root: Path) -> Reading:
        looks.append(1)
        return Reading(
            node=node, time=now, counters={name: len(looks) * step for name, step in found.items()}
        )

    monkeypatch.setattr("whesl.placement.site.node_counters.read", read)
    return found


def test_what_goes_up_is_told(counters: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[PredictedFailure] = []

    def predict(prediction: PredictedFailure, id: str = "") -> Told:  # noqa: A002  as of the client
        told.append(prediction)
        return Told(id="1", tasks=("wf/app",))

    monkeypatch.setattr(external_exceptions, "predict_failure", predict)
    counters |= {"memory uncorrected mc0": 1, "link down eth0": 1, "disk errors sda": 0}
    arguments = ["--once", "--every", "0.1", "--node", "n1", "--rule", "link down=60,0"]
    result = CliRunner().invoke(watch_counters.watch, arguments)
    assert result.exit_code == 0, result.output
    (only,) = told
    assert (only.node, only.lead, only.confidence, only.source) == ("n1", 120.0, 0.5, "health")
    assert only.evidence == "memory uncorrected mc0: 1 more" and time.time() - only.time < 60
    assert "told wf/app" in result.output


def test_what_stands_already_is_said_and_a_state_is_predicted_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The watch of a node whose disk was failing had said nothing for ever."""
    told: list[str] = []

    def predict(prediction: PredictedFailure, id: str = "") -> Told:  # noqa: A002  as of the client
        told.append(prediction.evidence)
        return Told(id="1", tasks=("wf/app",))

    standing = {"memory corrected mc0": 17, "link down eth0": 0, "disk failing sda": 1}
    monkeypatch.setattr(external_exceptions, "predict_failure", predict)
    monkeypatch.setattr(
        "whesl.placement.site.node_counters.read",
        lambda node, now, _root: Reading(node=node, time=now, counters=standing),
    )
    arguments = ["--once", "--every", "0.1", "--node", "n1"]
    result = CliRunner().invoke(watch_counters.watch, arguments)
    assert "n1: 3 counters; from before, and not predicted: memory corrected mc0 17\n" in result.output
    assert told == ["disk failing sda"]
    standing.clear()
    assert "no counter can be read here" in CliRunner().invoke(watch_counters.watch, arguments).output


def test_nobody_there_is_said_and_no_rule_is_refused(
    counters: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    counters |= {"disk offline sda": 1}
    result = CliRunner().invoke(watch_counters.watch, ["--once", "--every", "0.1"])
    assert result.exit_code == 0
    assert "no running task uses" in result.output or "no task is running" in result.output
    assert socket.gethostname() in result.output
    for rule in ("link down", "link down=x,1", "nothing=1,1", "link down=1,2"):
        with pytest.raises(UsageError):
            CliRunner().invoke(watch_counters.watch, ["--once", "--rule", rule], catch_exceptions=False)
