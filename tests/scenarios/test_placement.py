"""Spares chosen by predicted life, and the scheduler module in Flux instances of a user's own."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.scenarios.bed import Bed
from tests.scenarios.studies import rules, step, write
from tests.scenarios.test_nodes import NODE_LOST, rank_nodes
from whesl.files import file_retry
from whesl.placement.site.publish import risk_table
from whesl.placement.site.publish.risk_table import NodeRisk, Table

SOLVER = "$(LAUNCHER) $(PYTHON) $(PROGRAMS)/solver.py --cycles 80 --checkpoint 10 --pace 0.03"
LOADED = "Flux inside this job: sched-whesl loaded in the place of sched-simple"


def publish(path: Path, bad: set[str]) -> Path:
    """Write a table in which some of the nodes are about to fail."""
    names = [
        f"{prefix}{number:{width}d}"
        for prefix, width in (("n", "02"), ("node", "1"))
        for number in range(1, 9)
    ]
    rows = tuple(NodeRisk(node=name, probability=(0.9 if name in bad else 0.01,)) for name in names)
    now = time.time()
    made = Table(
        written=now,
        valid_until=now + 3600,
        horizons=(3600.0,),
        nodes=rows,
        source="a test's word",
        thresholds=(0.5,),
    )
    file_retry.replace(path, risk_table.encode(made))
    return path


@pytest.mark.parametrize(
    "bed",
    [
        "local",
        pytest.param("flux", marks=pytest.mark.flux),
        pytest.param("slurm+flux", marks=[pytest.mark.slurm, pytest.mark.flux]),
    ],
    indirect=True,
)
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_spare_that_is_predicted_to_live_takes_a_lost_node_s_place(bed: Bed, tmp_path: Path) -> None:
    # On a busy machine the solver would end before the scheduler module is loaded.
    command = f"until [ -e {tmp_path}/go ]; do sleep 0.1; done; {SOLVER}"
    study = write(tmp_path / "study.yaml", tmp_path, [step("solve", command, nodes=2, procs=4)])
    workspace = bed.root(study) / "solve"
    predictions = publish(tmp_path / "table.json", set())
    options = ("--spares", "2", "--placement", str(predictions))
    process = bed.begin(study, rules(tmp_path / "rules.esl", NODE_LOST), *options)
    if bed.inner == "flux":
        logs = Path(bed.environment["WHESL_HOME"]).rglob
        bed.wait(lambda: any(LOADED in log.read_text() for log in logs("log") if log.is_file()), LOADED)
    (tmp_path / "go").touch()
    bed.wait(lambda: (workspace / "checkpoint.json").exists(), "a checkpoint")
    at = rank_nodes(workspace)
    names = sorted({*at.values()})
    # The job has the next two nodes as spares; without predictions the first of them would be taken.
    stem, number = names[-1].rstrip("0123456789"), names[-1][len(names[-1].rstrip("0123456789")) :]
    first, second = (f"{stem}{int(number) + more:0{len(number)}d}" for more in (1, 2))
    publish(predictions, {first})
    bed.crash(next(node for node in at.values() if node != at[0]))
    run = bed.end(process, study)

    assert run.status == 0, run.output + bed.evidence()
    after = set(rank_nodes(workspace).values())
    assert second in after, run.output + bed.evidence()
    assert first not in after
    assert f"replaced by {second} (fails in the time left with probability " in json.dumps(run.events)
    if bed.rjms == "flux":
        assert "sched-whesl places jobs in the place of sched-simple" in run.output
        assert "sched-simple" in bed.call("flux", "module", "list").stdout
