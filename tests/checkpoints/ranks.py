"""One rank that counts and writes its checkpoints. ``ranks.py RANK RANKS STEPS [fail|silent|slow]``.

It does not write while there is a file ``hold-RANK``; it ends when there is a file ``end``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from whesl.api.checkpoints import Client, CommitError


def main() -> None:
    rank = int(os.environ.get("FLUX_TASK_RANK") or os.environ.get("SLURM_PROCID", sys.argv[1]))
    ranks, steps = int(sys.argv[2]), int(sys.argv[3])
    slow = sys.argv[4:] == ["slow"]
    trouble = sys.argv[4] if len(sys.argv) > 4 and rank == ranks - 1 else ""
    client = Client(rank, ranks)
    state = {"step": 0, "sum": 0}
    restored = client.restore()
    if restored is not None:
        state = json.loads(restored.read_text())
        print(f"rank {rank} restored step {state['step']} of checkpoint {client.epoch}", flush=True)
    end = Path("end")
    while state["step"] < steps and not end.exists():
        time.sleep(0.03 if slow else 0.005)
        state["step"] += 1
        state["sum"] += state["step"] * (rank + 1)
        if trouble == "silent" or not client.poll():
            continue
        while Path(f"hold-{rank}").exists():
            time.sleep(0.005)
        try:
            if trouble == "fail":
                client.path.mkdir()  # what cannot be opened for writing, nor read as a file
            else:
                client.path.write_text(json.dumps(state))
            client.commit(client.path)
            print(f"rank {rank} wrote step {state['step']}", flush=True)
        except CommitError as error:
            print(f"rank {rank}: {error}", flush=True)
        except OSError as error:
            client.give_up(str(error))
            print(f"rank {rank} gave up: {error}", flush=True)
    client.finish()
    print(f"rank {rank} ends {'early' if end.exists() else 'at'} {state['step']} {state['sum']}", flush=True)


main()
