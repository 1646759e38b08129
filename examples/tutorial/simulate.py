"""A program that goes wrong the first time: half way through, its disk is full."""

import json
import os
import sys
import time
from pathlib import Path

checkpoint = Path("checkpoint.json")
done = json.loads(checkpoint.read_text())["step"] if checkpoint.exists() else 0
print(f"starting at step {done}", flush=True)
for step in range(done + 1, 11):
    time.sleep(0.2)
    if step == 6 and os.environ.get("WHESL_RESTART_COUNT", "0") == "0":
        print("write failed: Disk quota exceeded", flush=True)
        sys.exit(1)
    checkpoint.write_text(json.dumps({"step": step}))
    print(f"step {step}", flush=True)
print("done", flush=True)
