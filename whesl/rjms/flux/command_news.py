"""What happens in an instance, followed by commands that print it as it happens; nothing is polled.

``flux kvs eventlog get --watch`` tells of drained nodes, ``flux event sub`` of exceptions that somebody
raises and of jobs whose eventlogs have changed, ``flux job eventlog --follow`` of the job that the instance
is. Lost brokers are found by one ``flux exec`` that runs a ``cat`` on each node and is given an empty line
all the time, since Flux sees a broker's death when it sends it something.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import subprocess
import sys
import threading
import time
from collections import OrderedDict

from whesl.rjms.flux import command_output as output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from whesl.rjms.flux.command_program import CommandEnd

# Seconds between two pokes, and how many brokers are poked in a second at most.
POKE = 0.05
POKES_PER_SECOND = 500
# What a broker that hangs does not read gathers, and would hold the lines for all others back at last.
RENEW = 60.0
# Seconds between two looks into changed eventlogs; what changes meanwhile is read together.
GATHER = 0.05
# Seconds until a command that follows has to have said something, and between two tries to be heard by it.
BEGIN = 10.0
TRY = 0.02
# Jobs of which it is known how far they have been read.
KEPT = 20_000
# Eventlogs that are read by one command.
TOGETHER = 100
_CHANGES = ("job-exception", "kvs.namespace-primary-setroot")


class Follower:
    """A command that prints lines as things happen.

    Args:
        end: the far end that it belongs to.
        words: the command.
        told: is called with each line, in a thread of its own.
        uri: of another instance than this one.
    """

    def __init__(
        self, end: CommandEnd, words: Sequence[str], told: Callable[[str], None], uri: str = ""
    ) -> None:
        self._words = words
        self._told = told
        self.speaking = threading.Event()
        self.ended = threading.Event()
        self.process = subprocess.Popen(
            ["flux", *words],
            env={**end.environ, **({"FLUX_URI": uri} if uri else {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._told(line.rstrip("\n"))
            self.speaking.set()
        status = self.process.wait()
        self.ended.set()
        if self.speaking.is_set() and status != 0:
            # The client starts another program, which listens from where this one ended.
            sys.stderr.write(f"flux {' '.join(self._words)} ended with status {status}\n")
            os._exit(1)
        self.speaking.set()

    def heard(self) -> bool:
        """Wait until it says something; return False when it has ended instead."""
        self.speaking.wait(BEGIN)
        return self.speaking.is_set() and not self.ended.is_set()


class News:
    """What is told of one instance."""

    def __init__(self, end: CommandEnd) -> None:
        self._end = end
        self._since = 0.0
        self._changed: set[int] = set()
        self._change = threading.Condition()
        self._read: OrderedDict[int, int] = OrderedDict()
        self._watchword = f"whesl.listening.{secrets.token_hex(8)}"

    def begin(self, since: float, ranks: list[int], job: str) -> list[str]:
        """Begin to tell; return what can be heard.

        An instance tells all of it to its owner. Others hear of their own ``job`` there.

        Args:
            since: what was told before is not told again.
            ranks: brokers whose end is to be told at once.
            job: the caller's own, when it is one of the instance's jobs.
        """
        self._since = since
        heard = []
        if not self._end.owner:
            return ["own job"] if job and self._follow(job, "") else []
        if self._watch_resources():
            heard.append("resources")
        if self._watch_jobs():
            heard.append("jobs")
        own, above = (self._end.attributes.get(name, "") for name in ("jobid", "parent-uri"))
        if own and above and self._follow(own, above):
            heard.append("own job")
        if ranks:
            threading.Thread(target=self._poke, args=(ranks,), daemon=True).start()
            heard.append("nodes")
        return heard

    # Nodes -------------------------------------------------------------------------------------------

    def _watch_resources(self) -> bool:
        """Follow what the resource service writes down; there is no command for its whole journal."""
        words = ("kvs", "eventlog", "get", "--watch", "--unformatted", "resource.eventlog")
        return Follower(self._end, words, self._resources).heard()

    def _resources(self, line: str) -> None:
        for entry in output.events(line):
            if entry["name"] in ("drain", "undrain") and entry["timestamp"] > self._since:
                ranks = output.idset(entry["context"].get("idset"))
                reason = str(entry["context"].get("reason") or "")
                self._node(ranks, entry["name"], reason, entry["timestamp"])

    def _node(self, ranks: list[int], change: str, reason: str, when: float) -> None:
        self._end.say(event="node", ranks=ranks, change=change, reason=reason, time=when)

    def returned(self, rank: int) -> None:
        """Tell that a broker that was lost is there again."""
        self._end.lost.discard(rank)
        self._node([rank], "online", "", time.time())

    def _poke(self, ranks: list[int]) -> None:
        """Send all brokers something all the time, and tell of those that cannot be reached."""
        every = max(POKE, len(ranks) / POKES_PER_SECOND)
        rank_option = f"--rank={','.join(map(str, ranks))}"
        while True:
            process = subprocess.Popen(
                ["flux", "exec", "--dir=/", rank_option, "sh", "-c", "exec cat >/dev/null"],
                env=self._end.environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
            )
            threading.Thread(target=self._unreached, args=(process,), daemon=True).start()
            assert process.stdin is not None
            descriptor = process.stdin.fileno()
            os.set_blocking(descriptor, False)
            until = time.monotonic() + RENEW
            while time.monotonic() < until and process.poll() is None:
                with contextlib.suppress(OSError):
                    os.write(descriptor, b"\n")
                time.sleep(every)
            early = time.monotonic() < until
            process.kill()
            process.wait()
            process.stdin.close()
            if early:
                # All brokers are lost, or steps cannot be started here; then agents and the looks at nodes
                # have to do.
                time.sleep(RENEW)

    def _unreached(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            rank = output.lost_rank(line)
            if rank is None or rank in self._end.lost:
                continue
            try:
                below_a_router = self._end.above(rank) not in (0, self._end.rank)
            except (OSError, ValueError):
                continue
            # One below a dead router is left to the regular looks.
            if not below_a_router:
                self._end.lost.add(rank)
                self._node([rank], "offline", "broker lost", time.time())

    # Jobs --------------------------------------------------------------------------------------------

    def _follow(self, job: str, uri: str) -> bool:
        """Follow one job's events, in the enclosing instance when its URI is given."""
        number = output.job_number(job)
        name = job if number is None else output.job_id(number)

        def told(line: str) -> None:
            for entry in output.events(line):
                if entry["name"] == "exception" and entry["timestamp"] > self._since:
                    self._end.exception(name, entry["timestamp"], entry["context"])

        words = ("job", "eventlog", "--follow", "--format=json", name)
        return Follower(self._end, words, told, uri).heard()

    def _watch_jobs(self) -> bool:
        """Follow the exceptions of this instance's jobs; its owner may."""
        follower = Follower(self._end, ("event", "sub", *_CHANGES, self._watchword), self._changes)
        # It does not say when it hears.
        deadline = time.monotonic() + BEGIN
        while not follower.speaking.wait(TRY) and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                self._end.run("event", "pub", self._watchword)
        if not follower.heard():
            return False
        # What has happened before it heard.
        listed = self._end.run("job", "list", "--user=all")
        listed += self._end.run("job", "list-inactive", f"--since={self._since:.6f}")
        self._look({int(job["id"]) for job in output.jobs(listed)})
        threading.Thread(target=self._gather, daemon=True).start()
        return True

    def _changes(self, line: str) -> None:
        if jobs := output.changed_jobs(line):
            with self._change:
                self._changed |= jobs
                self._change.notify()

    def _gather(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._changed)
                jobs, self._changed = self._changed, set()
            try:
                self._look(jobs)
            except OSError as error:
                sys.stderr.write(f"{error.strerror}\n")
                os._exit(1)
            time.sleep(GATHER)

    def _look(self, jobs: set[int]) -> None:
        """Read the eventlogs of jobs, and tell of new exceptions. Raises OSError when they are not told."""
        wanted = sorted(jobs)
        for first in range(0, len(wanted), TOGETHER):
            part = wanted[first : first + TOGETHER]
            for job, entries in self._eventlogs(part).items():
                for entry in entries[self._read.pop(job, 0) :]:
                    if entry["name"] == "exception" and entry["timestamp"] > self._since:
                        attempt = self._end.attempt_of(job)
                        self._end.exception(output.job_id(job), entry["timestamp"], entry["context"], attempt)
                self._read[job] = len(entries)
        while len(self._read) > KEPT:
            self._read.popitem(last=False)

    def _eventlogs(self, jobs: list[int]) -> dict[int, list[dict[str, Any]]]:
        """Return eventlogs by the numbers of jobs, without those that have been purged."""
        keys = [output.eventlog_key(job) for job in jobs]
        try:
            return output.eventlogs(self._end.run("kvs", "get", "--label", *keys))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
        # One that does not exist ends the command for those after it.
        if len(jobs) == 1:
            return {}
        half = len(jobs) // 2
        return {**self._eventlogs(jobs[:half]), **self._eventlogs(jobs[half:])}
