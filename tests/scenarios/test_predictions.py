"""A line in the system's log reaches the checkpoints' agents of a workflow's running task."""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tests.checkpoints import asking
from tests.cli.placement.test_deliver import CHAINS
from tests.scenarios.bed import Bed
from tests.scenarios.studies import rules, step, write
from whesl.checkpoints import manifest

DYING = """\
DECLARE EXCEPTION DYING JOB_LEVEL JOB [solve] LIMIT 2
EXCEPTION DETECTION DYING PREDICTED WITHIN 600 CONFIDENCE 0.5
EXCEPTION RECOVERY STEP DYING JOB NODE.REPLACE BEFORE FAILURE
"""
RANKS = Path(__file__).resolve().parents[1] / "checkpoints" / "ranks.py"
NODES, EACH = 2, 2


@pytest.mark.parametrize("bed", ["local", pytest.param("slurm", marks=pytest.mark.slurm)], indirect=True)
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_chain_in_the_log_moves_a_step_of_a_workflow_off_its_node(bed: Bed, tmp_path: Path) -> None:
    kept, log = tmp_path / "kept", tmp_path / "log"
    command = f"{sys.executable} -m whesl ckpt run --dir {kept} -- "
    command += f"$(LAUNCHER) {sys.executable} {RANKS} 0 {NODES * EACH} 1000000"
    study = write(
        tmp_path / "study.yaml", tmp_path, [step("solve", command, nodes=NODES, procs=NODES * EACH)]
    )
    process = bed.begin(study, rules(tmp_path / "rules.esl", DYING))

    def nodes() -> list[str]:
        home = Path(bed.environment["WHESL_HOME"])
        names = [found.parent.name for found in home.glob("ckpt/*/address")]
        found = asking.status(home, names[0]).get("nodes", {}) if names else {}
        return sorted(node for node, facts in found.items() if facts["ranks"] == EACH)

    bed.wait(lambda: len(nodes()) == NODES, "all ranks", 90)
    victim = nodes()[1]
    (tmp_path / "chains.toml").write_text(CHAINS)
    now = datetime.fromtimestamp(time.time(), timezone.utc).isoformat()
    log.write_text(
        f"{now} {victim} kernel: EDAC MC0: 3 CE memory read error\n"
        f"{now} {victim} kernel: mce: [Hardware Error]: Machine check events logged\n"
    )
    chains = ("--chains", str(tmp_path / "chains.toml"), "--log", str(log), "--deliver")
    told = bed.whesl("placement", "chains", "run", *chains)
    assert told.returncode == 0 and f"{victim}: told " in told.stderr, told.stderr
    bed.wait(lambda: kept.is_dir() and manifest.whole(kept), "a whole checkpoint", 60)
    (whole,) = manifest.whole(kept)
    assert victim in whole.reason and "predicted" in whole.reason
    order = sorted(whole.parts, key=lambda part: (kept / "1" / part.name).stat().st_ctime_ns)

    bed.wait(lambda: len(nodes()) == NODES and victim not in nodes(), "all ranks on other nodes", 90)
    (bed.root(study) / "solve" / "end").touch()
    run = bed.end(process, study)
    assert run.status == 0, run.output + bed.evidence()
    (raised,) = run.exceptions("DYING")
    assert (raised["outcome"], raised["node"]) == ("recovered", victim), raised
    assert "memory" in json.dumps(run.events) and f"{victim} replaced by" in json.dumps(run.events)
    assert {part.rank // EACH for part in order[:EACH]} == {1}, order
    text = "".join(file.read_text() for file in (bed.root(study) / "solve").glob("*.out"))
    assert text.count(f"restored step {whole.step} of checkpoint 1") == NODES * EACH, text
