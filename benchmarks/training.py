"""What comes after a fault of a training run: torchrun's own restarts beside the rules of examples/training.

python benchmarks/training.py [--quick] [--json FILE] [--only WORD]

Two ranks train on this host. PyTorch is found as by the tests: TORCH_PYTHON names a Python that has it. The
floor of each time is what the program needed from its first instruction to its first step in the same run.
Processor time is that of all processes of the run, WHESL's included.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from measure import Figure, NotHereError, arguments, run_parts, scratch

from whesl.testing.processes import running

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "training"
PATIENCE = 90.0  # seconds after which a run is taken as one that does not go on
TIMEOUT = 20  # seconds without a step, of the rule
WHESL = (sys.executable, "-m", "whesl", "exec", "--no-coordinator", "-e", "rules.esl", "--")
PR_SET_CHILD_SUBREAPER = 36
FAULTS = ("a rank is killed", "a rank is stopped", "torchrun itself is killed")


def main() -> None:
    """Measure."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # processes without a parent stay below this one
    parts = [
        (f"{fault}, {way}", lambda quick, fault=fault, way=way: _one(fault, way))
        for fault in FAULTS
        for way in ("torchrun --max-restarts 3", "whesl exec")
    ]
    run_parts(arguments("What comes after a fault of a training run."), parts)


class _Run:
    """A training run in a directory of its own."""

    def __init__(self, place: Path, command: Sequence[str]) -> None:
        self.place = place
        self._out = (place / "out").open("ab")
        self.began = time.monotonic()
        environment = {
            **os.environ,
            "STEPS": "100000",
            "OMP_NUM_THREADS": "1",
            "WHESL_HOME": str(place / "home"),
        }
        self.process = subprocess.Popen(
            command, cwd=place, env=environment, stdout=self._out, stderr=self._out, start_new_session=True
        )

    def steps(self) -> list[int]:
        lines = (self.place / "out").read_text(errors="replace").splitlines()
        return [int(line.split()[1]) for line in lines if line.startswith("step ")]

    def until(self, condition: Callable[[], bool]) -> bool:
        """Wait, and return whether it came."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                return False
            time.sleep(0.05)
        return True

    def processes(self, *, ranks: bool) -> list[psutil.Process]:
        """Its ranks, or what starts them."""
        found = []
        for process in running():
            with suppress(psutil.Error):
                if process.cmdline()[-1:] == ["train.py"] and process.cwd() == str(self.place):
                    own = process.environ()
                    if process.pid != self.process.pid and "--" in process.cmdline():
                        continue  # WHESL itself
                    if ("RANK" in own) == ranks and "whesl" not in process.cmdline():
                        found.append(process)
        return sorted(found, key=lambda process: process.pid)

    def processor_time(self) -> float:
        """Seconds of processor time that all processes below this one have used, ended ones included."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        total = ended.ru_utime + ended.ru_stime
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                total += sum(process.cpu_times()[:4])
        return total

    def end(self) -> None:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        for process in (*self.processes(ranks=False), *self.processes(ranks=True)):
            with suppress(psutil.Error):
                process.kill()
        with suppress(ProcessLookupError):
            self.process.kill()
        self._out.close()


def _one(fault: str, way: str) -> list[Figure]:
    python = os.environ.get("TORCH_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        raise NotHereError("PyTorch is not installed: set TORCH_PYTHON to a Python that has it")
    torchrun = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    own = way.startswith("torchrun")
    command = [*torchrun, "--max-restarts", "3", "train.py"] if own else [*WHESL, *torchrun, "train.py"]
    with scratch() as place:
        slower = "optimizer.step(); __import__('time').sleep(0.05)"  # twenty steps in a second
        source = (EXAMPLE / "train.py").read_text().replace("optimizer.step()", slower)
        (place / "train.py").write_text(source)
        rules = (EXAMPLE / "rules.esl").read_text().replace("TIMEOUT 300", f"TIMEOUT {TIMEOUT}")
        rules = rules.replace("JOB NODE.REPLACE", "JOB JOB.REPLACE")  # there is no spare on one host
        (place / "rules.esl").write_text(rules)
        run = _Run(place, command)
        before = run.processor_time()
        try:
            run.until(lambda: bool(run.steps()))
            floor = time.monotonic() - run.began, run.processor_time() - before
            run.until(lambda: len(run.steps()) > 40)
            return _measured(run, fault, f"{fault}, {way}", floor)
        finally:
            run.end()


def _measured(run: _Run, fault: str, name: str, floor: tuple[float, float]) -> list[Figure]:
    """Let the fault happen; return the time until there is a new step, and how many were done again."""
    ranks = run.processes(ranks=True)
    victims = ranks if "rank" in fault else run.processes(ranks=False)
    at, used = time.monotonic(), run.processor_time()
    victims[-1].send_signal(signal.SIGSTOP if "stopped" in fault else signal.SIGKILL)
    # Ranks whose torchrun is gone train on until somebody ends them.
    run.until(lambda: not all(rank.is_running() and rank.status() != "zombie" for rank in ranks))
    time.sleep(0.3)  # what is on its way is printed
    done = len(run.steps())
    before = max(run.steps())
    if not run.until(lambda: len(run.steps()) > done):
        ended = run.process.poll()
        why = f"no step in {PATIENCE:.0f} s" if ended is None else f"it ended with status {ended}"
        return [Figure(f"{name}: goes on after", float("inf"), "s", floor=floor[0], note=why)]
    seconds, used = time.monotonic() - at, run.processor_time() - used
    load = f"load {os.getloadavg()[0]:.0f}"
    again = before - run.steps()[done] + 1
    return [
        Figure(f"{name}: goes on after", seconds, "s", floor=floor[0], note=load),
        Figure(f"{name}: processor time until then", used, "s", floor=floor[1]),
        Figure(f"{name}: steps done again", float(again), "steps"),
    ]


if __name__ == "__main__":
    main()
