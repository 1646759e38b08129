"""A run whose parts are killed at random moments: ``python -m tests.cloud.runner.kills --seconds 60``.

Killed are the runner, the provider's server, instances and their watchdogs. The seed says what, and after how
long a pause. Whatever was killed: all outputs are right, nothing is done twice, nothing is left running.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from tests.cloud.runner import worlds
from tests.processes import words
from tests.waiting import until
from whesl.cloud.runner import run_lifecycle as runs
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.cluster_directory import Cluster

KINDS = ("runner", "server", "instance", "watchdog")
LONGEST = 1.5  # seconds between two kills
PROGRAM = "import sys, pathlib\n"
PROGRAM += f"from {runs.__name__} import carry_out\n"
PROGRAM += "carry_out(pathlib.Path(sys.argv[1]))"


class Kills:
    """One run, and what is killed of it.

    Args:
        place: a directory.
        cluster: the cluster's side.
        seed: of all choices.
        seconds: for which parts are killed.
    """

    def __init__(self, place: Path, cluster: Cluster, seed: int, seconds: float) -> None:
        self.seed, self.killed = seed, Counter[str]()
        self._seconds = seconds
        self._chance = random.Random(seed)
        self._world = worlds.World(
            place,
            cluster,
            nodes=1,
            instances=1,
            width=max(3, int(seconds / 2)),
            seconds=0.5,
            backup=False,
            hours=3 + int(seconds / worlds.HOUR),
        )
        self._log = place / "log"

    def play(self) -> None:
        """Kill parts for the time, let the run end, and look at what came of it. Raises AssertionError."""
        runner = self._begun()
        try:
            limit = time.monotonic() + self._seconds
            while time.monotonic() < limit and runner.poll() is None:
                time.sleep(self._chance.uniform(0.1, LONGEST))
                kind = self._chance.choice(KINDS)
                if kind == "runner":
                    runner.kill()
                    runner.wait()
                    self.killed[kind] += 1
                    time.sleep(self._chance.uniform(0.0, 0.5))
                    runner = self._begun()
                elif self._kill(kind):
                    self.killed[kind] += 1
            until(lambda: runner.poll() is not None, "the run ends", worlds.PATIENCE)
        finally:
            runner.kill()
            runner.wait()
        assert runner.returncode == 0, self._log.read_text()
        self._world.right(runs.state_of(self._world.place))

    def _begun(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            command = [sys.executable, "-c", PROGRAM, str(self._world.place)]
            return subprocess.Popen(command, stdout=log, stderr=log)

    def _kill(self, kind: str) -> bool:
        """Kill something of a kind; return whether there was any."""
        place = self._world.place / "instances"
        if kind == "server":
            pid = daemons.server_pid(Cluster(str(place / "cluster"))) if place.exists() else None
            pids = [pid] if pid is not None else []
        else:
            files = sorted(place.glob("instances/*/pid"))
            pids = [
                int(file.read_text().split()[kind == "watchdog"]) for file in files if file.stat().st_size
            ]
        alive = [pid for pid in pids if psutil.pid_exists(pid) and self._own(pid)]
        if alive:
            os.kill(self._chance.choice(alive), signal.SIGKILL)
        return bool(alive)

    def _own(self, pid: int) -> bool:
        try:
            return any(str(self._world.place) in word for word in words(psutil.Process(pid)))
        except psutil.NoSuchProcess:
            return False


def main() -> int:
    """Play one run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of kills [60]")
    parser.add_argument("--seed", type=int, help="default: by chance")
    parser.add_argument("--runs", type=int, default=1, help="with the seeds that follow [1]")
    given = parser.parse_args()
    first = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    for seed in range(first, first + given.runs):
        print(f"seed {seed}", flush=True)
        with tempfile.TemporaryDirectory(prefix="whesl-kills-") as directory:
            cluster = worlds.local_cluster(Path(directory) / "cluster", 1)
            try:
                (Path(directory) / "run").mkdir()
                kills = Kills(Path(directory) / "run", cluster, seed, given.seconds)
                kills.play()
            finally:
                daemons.stop(cluster)
        print(f"right; killed: {dict(kills.killed)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
