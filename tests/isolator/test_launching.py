"""What an attempt is told of its nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.isolator.test_first import job
from whesl.isolator import launching
from whesl.model.allocation import NodeSet
from whesl.model.workflow import Configuration
from whesl.rjms.shims.nodes import Nodes


@pytest.mark.parametrize(
    ("lost", "lingering", "overlap"), [((), (), False), (("n3",), (), True), ((), ("n2",), True)]
)
def test_steps_overlap_where_an_earlier_one_may_hold_their_nodes(
    tmp_path: Path, lost: tuple[str, ...], lingering: tuple[str, ...], overlap: bool
) -> None:
    places = launching.Places(script="/s", reconfigure="/r", hosts="/h")
    launch = launching.compose(
        job(tmp_path, "#!/bin/sh\n"),
        Configuration(),
        NodeSet(active=("n1", "n2"), lost=lost),
        attempt=2,
        token="t",
        places=places,
        base={},
        launchers={},
        lingering=lingering,
    )
    assert Nodes(launch.environment).overlap is overlap
