"""A node's ranks are moved by CRIU to a spare of a real Slurm; the node dies at the end of its lead time.

    python benchmarks/ckpt_migrate.py [--json FILE]

Runs ``examples/migrate-criu`` as it stands. Needs root, Slurm, and a CRIU that ``criu check`` calls good on
this kernel.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from measure import Figure, NotHereError, arguments, run_parts, scratch, until

from tests.equipment.slurmbed import SlurmBed
from whesl.checkpoints import control, manifest
from whesl.checkpoints.core.states_and_events import Predicted, Requested
from whesl.checkpoints.messages import StatusAsked
from whesl.checkpoints.rendezvous import find

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "migrate-criu"
RANKS, STEPS, LEAD, THETA = 4, 1500, 30.0, 20.0
PROGRAM = """\
import os, sys, time
from whesl.api.checkpoints import Client
rank, ranks, steps = int(os.environ["SLURM_PROCID"]), int(sys.argv[1]), int(sys.argv[2])
client = Client(rank, ranks)
step = total = 0
if client.restore() is not None:
    print("restored", flush=True)
while step < steps:
    time.sleep(0.05)
    step += 1
    total += step * (rank + 1)
    if client.poll():
        client.path.write_text(f"{step} {total}")
        client.commit(client.path)
client.finish()
print(f"rank {rank} result {total}", flush=True)
"""


def _move(_quick: bool) -> list[Figure]:
    """Move the ranks of one of two nodes."""
    criu = shutil.which("criu")
    if criu is None or subprocess.run([criu, "check"], capture_output=True, check=False).returncode:
        raise NotHereError("there is no criu on PATH that works with this kernel")
    with scratch() as place, SlurmBed(nodes=3, cpus=4) as bed:
        place.chmod(0o755)
        home, out = place / "home", place / "out"
        home.mkdir(mode=0o700)
        for name in ("hold", "move"):
            shutil.copy(EXAMPLE / name, place / name)
        (place / "program.py").write_text(PROGRAM)
        (place / "spare").write_text("n03\n")
        ranks = f"srun --overlap --overcommit --no-kill -w n01,n02 -n{RANKS} --ntasks-per-node={RANKS // 2}"
        script = f"""#!/bin/sh
cd {place}
export WHESL_HOME={home} PYTHON={sys.executable} PATH={Path(criu).parent}:$PATH
$PYTHON -m whesl ckpt run --name moved --dir kept --migrate ./move --theta {THETA:g} -- \\
    {ranks} ./hold {sys.executable} program.py {RANKS} {STEPS}
echo status $?
"""
        bed.submit(script, "-N3", "--no-kill", "--no-requeue", f"--output={out}")
        address = until(lambda: find(home / "ckpt" / "moved"), "the coordinator", 120)
        os.environ["WHESL_HOME"] = str(home)

        def text() -> str:
            return out.read_text(errors="replace") if out.exists() else ""

        def ready() -> bool:
            nodes = control.ask(address, StatusAsked()).status["nodes"]
            return isinstance(nodes, dict) and sum(node["ranks"] for node in nodes.values()) == RANKS

        until(ready, "all ranks", 120)
        begun = time.time()
        control.ask(address, Predicted(node="n02", lead=LEAD, evidence="benchmark"))
        until(lambda: re.search("n02 was (not )?migrated|is aborted", text()), "the migration", 120)
        took = time.time() - begun
        if "n02 was migrated" not in text():
            raise RuntimeError(text()[-3000:])
        time.sleep(max(begun + LEAD - time.time(), 0))
        bed.kill_node("n02")
        control.ask(address, Requested())
        until(lambda: (place / "kept" / "1" / manifest.NAME).exists(), "a checkpoint after it", 120)
        until(lambda: "status" in text(), "the end", 300)
        said = "".join(file.read_text() for file in sorted(place.glob("rank-*.out")))
        total = STEPS * (STEPS + 1) // 2
        expected = "".join(f"rank {rank} result {total * (rank + 1)}\n" for rank in range(RANKS))
    return [
        Figure("moved by CRIU, the node killed: result equal", float(said == expected), "", 1, at_most=False),
        Figure("moved by CRIU: prediction to ranks on the spare", took, "s"),
    ]


if __name__ == "__main__":
    run_parts(arguments(__doc__ or ""), [("move", _move)])
