"""Changes that Slurm refuses: they are told as refused, and count as made only when they are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.site.test_at_risk import NOW, Rates, table
from whesl.rjms.slurm.command import DeniedError
from whesl.site.publish.core.node_changes import Settings
from whesl.site.publish.observed_node import Node
from whesl.site.slurm.node_and_job_updates import Machine
from whesl.site.slurm.placement_service import STATUS, Service, Status

BAD = "n0"


class Slurm:
    """A machine of twenty nodes that takes changes, or refuses them as it does an operator's."""

    def __init__(self) -> None:
        self.refuses = True
        self.node = {f"n{at}": self._plain(f"n{at}") for at in range(20)}

    @staticmethod
    def _plain(name: str) -> Node:
        return Node(name=name, flags=frozenset({"idle"}), partitions=("p",), weight=1)

    def nodes(self) -> Machine:
        return Machine(tuple(self.node.values()), "p")

    def jobs(self) -> list[Any]:
        return []

    def weigh(self, nodes: list[str], weight: int) -> None:
        self._changed(nodes, weight=weight)

    def perform(self, command: Any) -> bool:
        self._changed([command.node], features=command.available, active_features=command.active)
        return True

    def _changed(self, nodes: list[str], **changes: Any) -> None:
        if self.refuses:
            raise DeniedError("Invalid user id")
        for name in nodes:
            self.node[name] = msgspec.structs.replace(self.node[name], **changes)


class Known:
    """Predictions: one node is clearly worse than the others."""

    problem = ""

    def refresh(self) -> None:
        pass

    def table(self, *_: object, **__: object) -> Any:
        return table(Rates([1.0] + [0.01] * 19, 0.3))


def status(directory: Path) -> Status:
    return msgspec.json.decode((directory / STATUS).read_bytes(), type=Status)


@pytest.mark.parametrize("later", [True, False])
def test_a_refused_change_is_no_change(tmp_path: Path, later: bool) -> None:
    slurm = Slurm()
    service = Service(
        tmp_path,
        slurm,  # type: ignore[arg-type]  # it stands for Slurm
        Known(),  # type: ignore[arg-type]  # likewise
        Settings(active=True, drain_above=2.0),
        period=60.0,
        clock=lambda: NOW,
    )
    with service:
        for _ in range(3):
            assert not service.look()
        told = status(tmp_path)
        assert told.held == ()
        assert {one[:2] for one in told.refused} == {(BAD, "weight"), (BAD, "feature")}
        assert {one[2] for one in told.refused} == {"Invalid user id"}
        assert not [name for name in told.figures if name.endswith(" made") and told.figures[name]]
        slurm.refuses = not later
        if later:
            assert service.look()
            told = status(tmp_path)
            assert {one[:2] for one in told.held} == {(BAD, "weight"), (BAD, "feature")}
            assert told.refused == ()
            assert (told.figures["weight made"], told.figures["feature made"]) == (1, 1)
            assert service.look()
            assert status(tmp_path).figures["weight made"] == 1
        service.leave()
        told = status(tmp_path)
        assert (told.held, told.refused) == ((), ())
        assert told.figures.get("weight released", 0) == int(later)
    assert slurm.node[BAD] == Slurm._plain(BAD)
