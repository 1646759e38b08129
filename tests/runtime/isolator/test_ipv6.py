"""A whole workflow where there is no IPv4 at all: coordinator, isolator, responder and agents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RULES = """\
DECLARE ENTITY WMS, JOB, SCHEDULER
DECLARE EXCEPTION_TYPE WORKFLOW_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE EXCEPTION NODELOST WORKFLOW_LEVEL JOB [*]
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
JOB = """\
#!/bin/bash
#SBATCH -N 2 --no-kill
srun sh -c 'echo "attempt $WHESL_RESTART_COUNT" >> PLACE/ran-$SLURMD_NODENAME
[ "$WHESL_RESTART_COUNT" = 1 ] || exec sleep 600'
"""
# A machine with one address, of IPv6.
SITE = """\
set -e
ip link set lo up
ip addr del 127.0.0.1/8 dev lo
ip link add d0 type veth peer name d1
ip addr add fd00:77::1/64 dev d0 nodad
ip link set d0 up
ip link set d1 up
cd PLACE
whesl() { PYTHON -m whesl "$@"; }
whesl local start --nodes 4
eval "$(whesl local env)"
trap 'whesl coordinator stop; whesl local stop' EXIT
whesl run job.sh -e rules.esl --rjms local --spares 1 > run.log 2>&1 &
until [ "$(cat ran-* 2>/dev/null | wc -l)" = 2 ]; do sleep 0.1; done
until whesl events --json | grep -q '"agent"'; do sleep 0.2; done
whesl local kill-node n02
wait $!
whesl report --json > report.json
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="networks of their own need root")
def test_a_workflow_recovers_without_ipv4(tmp_path: Path) -> None:
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "job.sh").write_text(JOB.replace("PLACE", str(tmp_path)))
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    script = SITE.replace("PLACE", str(tmp_path)).replace("PYTHON", sys.executable)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WHESL")}
    done = subprocess.run(
        ["unshare", "--net", "bash", "-c", script],
        env=environment | {"WHESL_HOME": str(home), "USER": "root"},
        capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    log = tmp_path / "run.log"
    assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")
    (task,) = json.loads((tmp_path / "report.json").read_text())["tasks"]
    assert task["state"] == "completed"
    assert sorted(path.name for path in tmp_path.glob("ran-*")) == ["ran-n01", "ran-n02", "ran-n03"]
