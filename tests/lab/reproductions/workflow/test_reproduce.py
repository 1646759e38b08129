"""The experiments of workflows, from the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from whesl.cli.group import cli

# The first call compiles, on a busy machine for minutes.
pytestmark = pytest.mark.timeout(600)


def test_the_worked_example() -> None:
    result = CliRunner().invoke(cli, ["lab", "reproduce", "flaw-example", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "RANK_HYBD": {"makespan": 155, "loss": 30, "reschedulings": 4},
        "FLAW": {
            "makespan": 150,
            "loss": 20,
            "reschedulings": 1,
            "aaa": 0.9,
            "right": 9,
            "queries": 10,
        },
    }
