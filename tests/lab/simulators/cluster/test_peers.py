"""EASY and FCFS against another simulator, job for job, on public logs.

``data/pyss.json`` holds SHA-256 sums of the start times that pyss gave (algo74/predictsim 3bb276a, Python
2.7; its FCFS with one import set right), as little-endian 64-bit integers in the order of the log. Its input
were the jobs with a positive run time and 0 < processors <= N, with field 9 as max(requested time, run time).
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from whesl.lab.readers import swf
from whesl.lab.simulators.cluster.simulation import simulate
from whesl.lab.simulators.cluster.simulation_records import workload

DATA = Path(__file__).resolve().parents[5] / "shared" / "data"
PEER = json.loads((Path(__file__).parent / "data" / "pyss.json").read_text())


@pytest.mark.parametrize("case", PEER)
def test_start_times_are_those_of_the_peer(case: str) -> None:
    file, processors, policy = case.split()
    if not (DATA / file).exists():
        pytest.skip(f"the trace {file} is not beside the checkout")
    log = swf.read(DATA / file)
    work, _ = workload(log, int(processors))
    start = simulate(work, int(processors), policy).outcome.start
    # In the log's order again, which is not everywhere that of submission.
    kept = np.isin(log.field("job"), work.job)
    back = np.argsort(np.argsort(log.field("submit")[kept], kind="stable"), kind="stable")
    assert len(start) == PEER[case]["jobs"]
    assert hashlib.sha256(start[back].astype("<i8").tobytes()).hexdigest() == PEER[case]["sha256"]


def test_published_figures() -> None:
    """D. Tsafrir, Y. Etsion, D. Feitelson, TPDS 18(6), 2007, Table 2: CTC on 512 nodes, 21.3 min and 4.6."""
    log = DATA / "swf/CTC-SP2-1996-3.1-cln.swf.xz"
    if not log.exists():
        pytest.skip("the trace is not beside the checkout")
    work, _ = workload(swf.read(log), 512)
    figures = simulate(work, 512, "easy").measures
    assert figures["mean_wait"] / 60 == pytest.approx(21.3, rel=0.05)
    assert figures["mean_bounded_slowdown"] == pytest.approx(4.6, rel=0.05)


def test_first_come_first_served_on_sdsc() -> None:
    log = DATA / "swf/SDSC-SP2-1998-4.2-cln.swf.xz"
    if not log.exists():
        pytest.skip("the trace is not beside the checkout")
    work, excluded = workload(swf.read(log), 128)
    assert len(work.job) == 54034
    assert [len(each.lines) for each in excluded] == [5681]
    assert round(simulate(work, 128, "fcfs").measures["mean_wait"]) == 1551989
