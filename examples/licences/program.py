#!/usr/bin/env python3
"""The program: takes a seat at LICENCE_SERVER, computes, asks from time to time whether it still has it."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

server, steps, end = os.environ["LICENCE_SERVER"], int(sys.argv[1]), Path(sys.argv[2])
who = f"{os.environ.get('SLURM_JOB_ID', '')}-{os.environ.get('WHESL_RESTART_COUNT', '0')}"


def ask(path):
    body = json.dumps({"who": who}).encode()
    try:
        with urllib.request.urlopen(f"http://{server}{path}", body, timeout=5):
            return
    except urllib.error.HTTPError:
        print("licence denied: no seat is free", flush=True)
    except OSError:
        print("licence server does not answer", flush=True)
    sys.exit(3)


step = 0
while step < steps or not end.exists():
    ask("/take")
    print(f"step {step} with a seat of {server}", flush=True)
    step += 1
    time.sleep(0.2)
ask("/give")
