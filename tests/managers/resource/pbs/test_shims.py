"""PBS's own launchers reach the nodes in use, and hand on the environment."""

from __future__ import annotations

import pytest

from whesl.managers.resource.launcher_shims.pbs_rewriting import tasks

LINES = ["n01", "n01", "n02", "n03", "n04"]
# n02 was lost, and n04 has come in its place; n03 is a spare.
ENVIRON = {"WHESL_NODELIST": "n01,n04", "WHESL_SWAPPED": '{"n02": "n04"}', "WHESL_LOST_NODES": "n02"}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["pbsdsh", "hostname"], ["--status=0", "0=n01 4=n04", "hostname"]),
        (["pbsdsh", "-v", "--", "sh", "-c", "exit 3"], ["--status=0", "0=n01 4=n04", "sh", "-c", "exit 3"]),
        (["pbsdsh", "-c3", "a"], ["--status=0", "0=n01 4=n04 0=n01", "a"]),
        (["pbsdsh", "-sn", "1", "a"], ["--status=0", "4=n04", "a"]),
        (["pbsdsh", "-h", "n02", "a"], ["--status=0", "4=n04", "a"]),
        (["pbs_tmrsh", "n02", "a", "-n"], ["4=n04", "a", "-n"]),
        (["pbs_tmrsh", "-n", "-l", "ada", "n01", "-n", "a"], ["0=n01", "a"]),
        # The command itself says what is wrong.
        (["pbsdsh"], None),
        (["pbsdsh", "-x", "a"], None),
        (["pbsdsh", "-n", "9", "a"], None),
        (["pbsdsh", "-c", "a"], None),
        (["pbs_tmrsh", "n03", "a"], None),
        (["pbs_tmrsh", "n01"], None),
        (["pbs_tmrsh"], None),
    ],
)
def test_tasks(words: list[str], found: list[str] | None) -> None:
    assert tasks(words[0], words[1:], ENVIRON, LINES) == found
