"""The stream of ``placement_stream.py`` on a real Flux whose brokers die, by itself and by predictions.

    python benchmarks/placement_flux.py [--failures FILE --system ID] [--seeds 1-5] [--modes ...] [--out FILE]
        [--wait-for-better SECONDS]

16 brokers that find one another by their configuration, as a system instance's do, each in a namespace that
is killed with all its processes; it is started again when its repair is over, and joins. Rank 0 is the leader
and does not die: its failures are left out, in the lab too. The queue is ``sched-backfill``'s in all modes. A
job that was killed is submitted again ahead of the others. The table is published every half second, as by a
service. Jobs may wait for a better node, by the same rule as in the lab, whose simulation of the same jobs
and failures stands beside each mode.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType

import msgspec
import psutil
from placement_stream import (
    LIMIT,
    NODES,
    Attempt,
    RunError,
    Stream,
    given,
    parser,
    run_all,
    without_the_leader,
)

from whesl.files import file_retry
from whesl.placement.site.flux import module_loading
from whesl.placement.site.publish import risk_table
from whesl.prediction.failures.failure_history import History

PATIENCE = 900.0
NAMES = tuple(f"n{number:02d}" for number in range(1, NODES + 1))
HORIZONS = (LIMIT / 4, LIMIT / 2, LIMIT, 2 * LIMIT)
# Submits what it is told to, and tells of each end; a command of Flux for each would keep a processor busy.
_CLIENT = """
import os
import flux
from flux.job import JobspecV1, JournalConsumer, submit_async

handle, names, jobs, rest = flux.Flux(), {}, {}, b""

def submit(at, nodes, urgency, limit, run):
    spec = JobspecV1.from_command(
        ["sleep", run], num_tasks=int(nodes), num_nodes=int(nodes), exclusive=True, duration=float(limit),
        output="/dev/null", cwd="/",
    )
    spec.setattr_shell_option("cpu-affinity", "off")
    def taken(future):
        print("job", at, int(future.get_id()), flush=True)
    submit_async(handle, spec, urgency=int(urgency)).then(taken)

def told(handle, watcher, fd, revents, args):
    global rest
    data = os.read(0, 65536)
    if not data:
        handle.reactor_stop()
    *lines, rest = (rest + data).split(b"\\n")
    for line in lines:
        submit(*line.decode().split())

def seen(event):
    start, end, killed = jobs.get(event.jobid, (0.0, 0.0, 0))
    failed = event.name == "exception" and event.context["severity"] == 0
    if event.name == "start":
        start = event.timestamp
    elif event.name == "finish" or failed:
        end, killed = end or event.timestamp, killed or int(failed or event.context["status"] != 0)
    elif event.name == "clean":
        print("end", int(event.jobid), start, end, killed, flush=True)
    jobs[event.jobid] = start, end, killed

watcher = handle.fd_watcher_create(0, told)
watcher.start()
consumer = JournalConsumer(handle, full=False)
consumer.set_callback(seen)
consumer.start()
handle.reactor_run()
"""
_INIT = 'mount -t proc proc /proc; hostname "$1"; shift; "$@"; exit $?'


class Instance:
    """Brokers that can be killed and come back; a context manager."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="whesl-flux-"))
        self._brokers: dict[str, subprocess.Popen[bytes]] = {}
        self._clean = {k: v for k, v in os.environ.items() if not k.startswith(("FLUX_", "PYTHON"))}
        # Flux's scripts read the user's start files, and must not be killed while those change anything.
        self._clean["HOME"] = str(self.directory)
        self.environment = {**self._clean, "FLUX_URI": f"local://{self.directory}/run/n01/local-0"}

    def __enter__(self) -> Instance:
        subprocess.run(
            ["flux", "keygen", str(self.directory / "curve.cert")], check=True, capture_output=True
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            leader = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        (self.directory / "bed.toml").write_text(
            f'[bootstrap]\ncurve_cert = "{self.directory}/curve.cert"\n'
            f'[[bootstrap.hosts]]\nhost = "n01"\nbind = "{leader}"\nconnect = "{leader}"\n'
            f'[[bootstrap.hosts]]\nhost = "n[02-{NODES:02d}]"\n'
            f'[resource]\nnoverify = true\n[[resource.config]]\nhosts = "n[01-{NODES:02d}]"\ncores = "0-1"\n'
            '[heartbeat]\nperiod = "0.2s"\n'
        )
        for name in NAMES:
            self.start(name)
        until = time.monotonic() + PATIENCE
        while self.flux("resource", "list", "-no", "{nnodes}", "-s", "up") != str(NODES):
            if time.monotonic() > until:
                raise RunError("the instance does not start")
            time.sleep(0.5)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in reversed(NAMES):
            self.kill(name)
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, name: str) -> None:
        """Start a node with its broker."""
        if name in self._brokers:
            return
        place = self.directory / "run" / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--mount", "--uts", "--fork"]
        command += ["--kill-child=KILL", "sh", "-c", _INIT, "init", name, "flux", "broker"]
        command += [f"--config-path={self.directory / 'bed.toml'}", f"-Srundir={place}", "-Sbroker.quorum=1"]
        if name == NAMES[0]:
            command += ["sleep", "36000"]
        with (self.directory / f"{name}.log").open("ab") as log:
            self._brokers[name] = subprocess.Popen(command, env=self._clean, stdout=log, stderr=log)

    def kill(self, name: str) -> None:
        """Kill a node with all its processes."""
        process = self._brokers.pop(name, None)
        if process is None:
            return
        for child in psutil.Process(process.pid).children():
            child.send_signal(signal.SIGKILL)
        process.wait()

    def flux(self, *words: str) -> str:
        """Return what a command of Flux prints."""
        done = subprocess.run(
            ["flux", *words], env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )
        return done.stdout.strip()


class Run:
    """One mode on one instance. ``wait``: seconds for which a job may wait for better nodes."""

    def __init__(
        self, instance: Instance, mode: str, jobs: Stream, truth: History, seed: int, wait: float
    ) -> None:
        self.instance, self.mode, self.jobs, self.truth, self.seed = instance, mode, jobs, truth, seed
        self.wait = wait
        self.names: dict[str, int] = {}
        self.attempts: list[Attempt] = []
        self.table = instance.directory / "table.json"
        self.zero = 0.0
        self.said: queue.SimpleQueue[str] = queue.SimpleQueue()

    def go(self) -> list[Attempt]:
        """Return the attempts: job, start, end, killed."""
        events: list[tuple[float, str, int]] = []
        for node, start, end in zip(self.truth.node, self.truth.start, self.truth.end, strict=True):
            if start >= 0:
                events += [(float(start), "down", int(node)), (float(end), "up", int(node))]
        events += [(float(at), "job", number) for number, at in enumerate(self.jobs.submit)]
        events.sort()
        self.instance.flux("module", "remove", "sched-simple")
        self.instance.flux("module", "load", "sched-backfill")
        self.zero = time.time() + 5.0
        if self.mode != "off":
            self._publish()
            acts = self.mode != "observing"
            options = module_loading.Options(
                predictions=str(self.table), acts=acts, wait=self.wait if acts else 0.0
            )
            module_loading.load(options, self.instance.environment)
        client = subprocess.Popen(
            ["flux", "python", "-c", _CLIENT], env=self.instance.environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.client = client
        threading.Thread(target=self._listen, daemon=True).start()
        self.zero = time.time() + 2.0
        until, told = time.monotonic() + PATIENCE, 0.0
        while len({at for at, _, _, killed in self.attempts if not killed}) < len(self.jobs.size):
            now = time.time() - self.zero
            while events and events[0][0] <= now:
                self._event(*events.pop(0)[1:])
            if now - told >= 0.5 and self.mode != "off":
                self._publish()
                told = now
            self._look()
            if time.monotonic() > until or client.poll() is not None:
                raise RunError(f"{self.mode}: not done within {PATIENCE:g} s, or the client has ended")
            time.sleep(0.02)
        client.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        client.wait(60)
        return self.attempts

    def _event(self, what: str, which: int) -> None:
        if what == "job":
            self._submit(which, 16)
        elif what == "down":
            self.instance.kill(NAMES[which])
        else:
            self.instance.start(NAMES[which])

    def _submit(self, at: int, urgency: int) -> None:
        line = f"{at} {self.jobs.size[at]} {urgency} {LIMIT:g} {self.jobs.run[at]}"
        print(line, file=self.client.stdin, flush=True)

    def _listen(self) -> None:
        for line in self.client.stdout or ():
            self.said.put(line)

    def _look(self) -> None:
        while not self.said.empty():
            what, *words = self.said.get().split()
            if what == "job":
                self.names[words[1]] = int(words[0])
                continue
            at, start, end, killed = (
                self.names.pop(words[0]),
                float(words[1]),
                float(words[2]),
                words[3] == "1",
            )
            if start > 0:
                self.attempts.append((at, start - self.zero, end - self.zero, killed))
            if killed:
                self._submit(at, 20)

    def _publish(self) -> None:
        """Write the table that the mode's predictor gives now."""
        now = time.time()
        predictor = given(self.mode, self.truth, self.seed)
        made = risk_table.make(predictor, NAMES, now - self.zero, valid_for=3600.0, horizons=HORIZONS)
        moved = msgspec.structs.replace(made, written=now, valid_until=now + 60.0)
        file_retry.replace(self.table, risk_table.encode(moved))


def main() -> None:
    """Run the modes of each seed, and print a table."""

    made = parser(__doc__)
    made.add_argument("--wait-for-better", type=float, default=LIMIT, help="seconds, 0 for not at all")
    options = made.parse_args()

    def run(mode: str, jobs: Stream, truth: History, seed: int) -> list[Attempt]:
        with Instance() as instance:
            return Run(instance, mode, jobs, truth, seed, options.wait_for_better).go()

    run_all(options, "flux", run, without_the_leader)


if __name__ == "__main__":
    main()
