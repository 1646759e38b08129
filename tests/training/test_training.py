"""Training by the rules of the example, on one host: what its faults are taken for, and how it goes on.

The ranks are a stand-in, which prints what PyTorch prints; ``test_pytorch.py`` has PyTorch itself.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from tests.equipment.free_ports import free_ports
from tests.runtime.isolator.bench import Bench, bench, until
from tests.training.bed import EXAMPLE

__all__ = ["bench"]

STAND_IN = Path(__file__).with_name("stand_in.py")
RULES = str(EXAMPLE / "rules.esl")


def steps(out: str) -> list[int]:
    return [int(line.split()[1]) for line in out.splitlines() if line.startswith("step ")]


def trained(bench: Bench, faults: str) -> tuple[int, str]:
    """Return the exit status and the output of two ranks of the stand-in that meet faults, one an attempt."""
    (port,), claims = free_ports(1)
    bench.environment |= {"FAULTS": faults, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for claim in claims:
        claim.close()
    code, out, _ = bench.run(sys.executable, str(STAND_IN), "2", options=("-e", RULES))
    return code, out


@pytest.mark.costly
def test_each_fault_is_seen_by_its_line_and_training_goes_on(bench: Bench) -> None:
    """A taken port, a rank, the first rank, a loader, /dev/shm: one after another, each in an attempt."""
    faults = "none:0:0 kill:1:3 kill:0:7 loader:1:12 shm:1:13 shm:1:14"
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        bench.environment |= {"FAULTS": faults, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        out = bench.place / "out"
        with out.open("ab") as stdout:
            command = (sys.executable, str(STAND_IN), "2")
            running = bench.exec(*command, options=("-e", RULES), stdout=stdout, stderr=stdout)
        until(bench.raised, "the port is found taken")
    assert running.wait(60) == 0
    lost = {"TORCH_RANK_LOST", "TORCHRUN_FAILED"}  # whichever line comes first
    names = [raised["exception"] for raised in bench.raised()]
    expected = [{"TORCH_ADDRESS_IN_USE"}, lost, lost, lost, {"TORCH_SHARED_MEMORY"}]
    assert len(names) == len(expected), names
    assert all(name in right for name, right in zip(names, expected, strict=True)), names
    evidence = [raised["evidence"][0]["kind"] for raised in bench.raised()]
    assert set(evidence) == {"log"}, "seen at once, and not by a hang's time"
    went = [*range(1, 3), *range(1, 7), *range(6, 12), *range(11, 13), *range(11, 21)]
    assert steps(out.read_text()) == went, "from the last checkpoint each time"


@pytest.mark.costly
def test_an_error_at_the_same_place_is_met_twice(bench: Bench) -> None:
    """Other ranks tell of the lost peer while the attempt runs: it was restarted as after a killed rank."""
    code, out = trained(bench, "bug:1:7 bug:1:7 bug:1:7 bug:1:7")
    reason = str(bench.records()[-1][1].get("reason", ""))
    assert code and "came again at the same place: [rank1]: ValueError" in reason, reason
    assert len(steps(out)) == 7, "from the checkpoint, once"


@pytest.mark.costly
def test_a_loss_that_is_nan_ends_it_at_the_third_time(bench: Bench) -> None:
    """Also where the run gets further each time: steps whose loss is NaN were counted as progress."""
    code, out = trained(bench, "nan:0:7 nan:0:13 nan:0:17")
    assert code == 1 and out.count("loss nan") == 3
    assert {raised["exception"] for raised in bench.raised()} == {"TORCH_NAN"}
    assert "budget-spent: 2 recoveries" in str(bench.records()[-1][1].get("reason", ""))
