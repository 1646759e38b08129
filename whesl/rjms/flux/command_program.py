"""The bridge's far end by Flux's commands, where its Python cannot be used. See ``bridge``.

Only commands that are written in C are called; ``flux jobs``, ``resource``, ``run``, ``submit`` and ``batch``
are Python and fail like the bindings. Standard library only, run with ``python -I -S``: it costs 12 MB.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as the launcher does it
sys.path.insert(0, os.path.join(_HERE, os.pardir, os.pardir, os.pardir))  # noqa: PTH118 - as above

from whesl.rjms.flux import command_output as output  # noqa: E402 - only found through the path above
from whesl.rjms.flux.batch_jobspec import batch_jobspec  # noqa: E402 - as above
from whesl.rjms.flux.command_news import News  # noqa: E402 - as above
from whesl.rjms.flux.far_end import FarEnd, attempt_in, raised_in, token_in  # noqa: E402 - as above
from whesl.rjms.hostlist import expand  # noqa: E402 - as above

# Seconds for a command.
PATIENCE = 15.0
# Seconds that a look at a job's environment may take.
ATTRIBUTION = 2.0
# Commands side by side, for one request and for all.
LOOKUPS = 4
REQUESTS = 8
# Pokes of a broker that was asked for now, so many seconds apart: what is given to a connection whose other
# end has just died is answered by nobody, the next poke finds out.
INSIST = 4
INSIST_EVERY = 0.01


class CommandEnd(FarEnd):
    """Answers requests about one instance."""

    def __init__(self, uri: str) -> None:
        super().__init__()
        # In this locale Flux prints ids of jobs in ASCII.
        self.environ = {**os.environ, "LC_ALL": "C", **({"FLUX_URI": uri} if uri else {})}
        self.attributes = output.attributes(self.run("lsattr", "-v"))
        self.rank = int(self.attributes.get("rank", 0))
        self.owner = self.attributes.get("security.owner") == str(os.getuid())
        self.tokens: dict[int, str] = {}
        self.parents: dict[int, int] = {}
        self.lost: set[int] = set()
        self.lookups = ThreadPoolExecutor(LOOKUPS)
        self.operations = ThreadPoolExecutor(REQUESTS)
        self.news = News(self)

    def run(self, *words: str, given: str | None = None, uri: str = "", within: float = PATIENCE) -> str:
        """Return what a command of Flux prints.

        Args:
            words: the command.
            given: its standard input.
            uri: of another instance than this one.
            within: seconds for it.

        Raises OSError with what it says of its failure.
        """
        try:
            done = subprocess.run(
                ["flux", *words],
                env={**self.environ, **({"FLUX_URI": uri} if uri else {})},
                input=given,
                stdin=subprocess.DEVNULL if given is None else None,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=within,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OSError(errno.ETIMEDOUT, f"flux {words[0]} did not answer") from None
        if done.returncode == 0:
            return done.stdout
        code, text = output.failure(done.stderr) if done.returncode > 0 else (0, "was killed")
        raise OSError(code, text or f"flux {words[0]} ended with status {done.returncode}")

    def serve(self) -> None:
        """Answer until the client goes; then end with all that was started."""
        while (requests := self.requests()) is not None:
            for request in requests:
                self.operations.submit(self.perform, request)

    # The instance ------------------------------------------------------------------------------------

    def op_instance(self, _: int) -> Any:
        """What the instance is: attributes, hosts by rank."""
        resources = self.resources()
        job, above = (self.attributes.get(name, "") for name in ("jobid", "parent-uri"))
        number = output.job_number(job)
        return {
            **{name: self.attributes.get(name, "") for name in ("rank", "jobid", "parent-uri")},
            "security.owner": self.attributes.get("security.owner", ""),
            "hosts": self.hosts(resources),
            "uid": os.getuid(),
            # What the site's plug-ins add to ``flux run`` only Flux's Python could tell.
            "plain": False,
            "job": output.job_id(number) if above and number is not None else "",
        }

    def op_status(self, _: int) -> Any:
        """What the overlay network and the resource service's eventlog say of the nodes."""
        connected = output.overlay(self.run("overlay", "status", "--no-pretty"))
        reasons: dict[str, str] = {}
        if self.owner:
            with contextlib.suppress(OSError, ValueError):  # there is none before the first event
                reasons = output.drained(
                    self.run("kvs", "eventlog", "get", "--unformatted", "resource.eventlog")
                )
        for rank in sorted(self.lost):
            if connected.get(rank):
                self.news.returned(rank)
        return {
            "hosts": self.hosts(self.resources()),
            "online": sorted(rank for rank, online in connected.items() if online),
            "offline": sorted(rank for rank, online in connected.items() if not online),
            "torpid": [],
            "exclude": [],
            "drained": reasons,
        }

    def resources(self) -> str:
        """Return the instance's R, empty where this user may not read it or it is not made yet."""
        if not self.owner:
            return ""
        try:
            return self.run("kvs", "get", "resource.R")
        except OSError as error:
            if error.errno in (errno.EPERM, errno.ENOENT):
                return ""
            raise

    def hosts(self, resources: str) -> dict[str, str]:
        """Return host names by rank, of an R or else as the brokers call themselves."""
        if resources:
            return output.hosts(resources)
        names = expand(self.attributes.get("hostlist", ""))
        return {str(rank): name for rank, name in enumerate(names)}

    def op_gone(self, _: int, rank: int) -> Any:
        """Whether a broker has ended: Flux cannot send to it, although the broker above it answers."""
        if rank in self.lost:
            return {"gone": True}
        above = self.above(rank)
        if self.reached(rank):
            return {"gone": False}
        # A dead router makes all below it unreachable, which says nothing of them.
        return {"gone": above in (0, self.rank) or self.reached(above)}

    def reached(self, rank: int) -> bool:
        """Whether a broker answers, or at least is not known to be out of reach."""
        process = subprocess.Popen(
            ["flux", "ping", f"--count={INSIST}", f"--interval={INSIST_EVERY}", str(rank)],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        assert process.stdout is not None
        answered = any("seq=" in line for line in process.stdout)  # the first one will do
        process.kill()
        complaints = process.communicate()[1]
        watchdog.cancel()
        return answered or output.failure(complaints)[0] != errno.EHOSTUNREACH

    def above(self, rank: int) -> int:
        """Return the rank through which a broker is reached."""
        if rank not in self.parents:
            self.parents[rank] = int(self.run("overlay", "parentof", str(rank)))
        return self.parents[rank]

    def op_watch(self, _: int, since: float, ranks: list[int], job: str) -> Any:
        """Tell from now on of nodes, those of ``ranks`` at once, and of exceptions newer than ``since``."""
        try:
            heard = self.news.begin(since, [rank for rank in ranks if rank != self.rank], job)
        except OSError as error:
            # Some of it may be followed already; another program begins from the start.
            sys.stderr.write(f"{error.strerror}\n")
            os._exit(1)
        return {"heard": heard}

    # Deeds ------------------------------------------------------------------------------------------

    def op_raise(
        self,
        _: int,
        job: str,
        type: str,  # noqa: A002
        severity: int,
        note: str,
        above: bool,
        once: bool = False,
    ) -> Any:
        """Raise an exception on a job of this instance, or of the enclosing one; ``once``: look first."""
        uri = self.attributes.get("parent-uri", "") if above else ""
        if above and not uri:
            raise OSError(errno.ENOENT, "there is no enclosing instance")
        if once:
            text = self.run("job", "eventlog", "--format=json", "--", job, uri=uri)
            if raised_in(text, type, note):
                return
        options = (f"--severity={severity}", f"--type={type}", f"--message={note}")
        self.run("job", "raise", *options, "--", job, uri=uri)

    def op_drain(self, _: int, targets: str, reason: str) -> Any:
        """Refuse: the only command for it, flux-resource(1), is Python."""
        raise OSError(errno.EPERM, f"rank {targets} cannot be drained ({reason}) without Flux's Python")

    def op_undrain(self, _: int, targets: str) -> Any:
        """Refuse, as for ``drain``."""
        raise OSError(errno.EPERM, f"rank {targets} cannot be undrained without Flux's Python")

    def op_cancel(self, _: int, job: str, signal: int) -> Any:
        """Cancel a job, or send it a signal."""
        if signal:
            self.run("job", "kill", f"--signal={signal}", "--", job)
        else:
            self.run("job", "raise", "--severity=0", "--type=cancel", "--", job)

    def op_memo(self, _: int, job: str, memo: dict[str, Any]) -> Any:
        """Write a memo on a job."""
        self.run("job", "memo", "--", job, *(f"{name}={json.dumps(value)}" for name, value in memo.items()))

    # Jobs -------------------------------------------------------------------------------------------

    def op_submit(self, _: int, **job: Any) -> Any:
        """Submit a batch job, which becomes an instance of its own."""
        after = [output.job_number(other) for other in job["after_ok"]]
        job["after_ok"] = [output.job_id(number) for number in after if number is not None]
        if len(job["after_ok"]) < len(after):
            raise OSError(errno.EINVAL, "a dependency is no id of a job")
        found = self.run("job", "submit", given=json.dumps(batch_jobspec(job))).strip()
        number = output.job_number(found)
        if number is None:
            raise OSError(0, f"flux job submit printed {found[:80]!r}")
        return output.job_id(number)

    def op_find(self, _: int, token: str, since: float) -> Any:
        """Return the ids of this user's jobs with a token."""
        listed = [
            # First those that have not ended: one that ends meanwhile is in the second list.
            *output.jobs(self.run("job", "list")),
            *output.jobs(self.run("job", "list-inactive", f"--since={since:.6f}")),
        ]
        ids = [int(job["id"]) for job in listed if job.get("userid") == os.getuid()]
        self.learn(ids)
        return [output.job_id(job) for job in dict.fromkeys(ids) if self.tokens.get(job) == token]

    def learn(self, ids: list[int]) -> None:
        """Read the tokens of jobs that were not read before; a jobspec's user part never changes."""
        fresh = [job for job in dict.fromkeys(ids) if job not in self.tokens]
        for job, token in zip(fresh, self.lookups.map(self.token_of, fresh), strict=True):
            self.tokens[job] = token

    def token_of(self, job: int) -> str:
        """Return a job's token, empty for none and for somebody else's job."""
        try:
            return token_in(json.loads(self.run("job", "info", output.job_id(job), "jobspec")))
        except ValueError:
            return ""
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOENT):
                raise
            return ""

    def attempt_of(self, job: int) -> str | None:
        """Return the token of the attempt that a job belongs to, empty for none, None when it is not told.

        An instance may run several tasks side by side; a job's environment tells whose it is. Flux keeps it
        only in the request as it was signed.
        """
        try:
            text = self.run("job", "info", "--original", output.job_id(job), "jobspec", within=ATTRIBUTION)
            return attempt_in(json.loads(text))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def op_jobs(self, _: int, ids: list[str]) -> Any:
        """Return what is known of jobs, by the id that was asked for."""
        numbers = {job: number for job in ids if (number := output.job_number(job)) is not None}
        known = {int(job["id"]): job for job in self.listed(list(numbers.values()))}
        self.learn(list(known))
        return {
            job: {**output.worded(known[number]), "token": self.tokens[number]}
            for job, number in numbers.items()
            if number in known
        }

    def listed(self, numbers: list[int]) -> list[dict[str, Any]]:
        """Return the jobs of these numbers that Flux knows. Raises OSError when it does not tell."""
        if not numbers:
            return []
        command = ("job", "list-ids", *map(output.job_id, numbers))
        try:
            return list(output.jobs(self.run(*command)))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EINVAL):
                raise
        # One that is not known ends the command for all.
        if len(numbers) == 1:
            return []
        return [
            job for part in self.lookups.map(self.listed, [[number] for number in numbers]) for job in part
        ]


def leave() -> None:
    """End at once, with all that was started: the client has put them into a session of their own."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Serve one client until it goes."""
    try:
        end = CommandEnd(sys.argv[1] if len(sys.argv) > 1 else "")
    except OSError as error:
        sys.exit(error.strerror or str(error))
    end.say(event="hello", version=end.attributes.get("version", ""), rank=end.rank)
    end.serve()
    leave()


if __name__ == "__main__":
    main()
