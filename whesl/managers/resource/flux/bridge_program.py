"""The bridge's far end, which uses Flux's Python interface under Flux's own Python. See ``bridge_client``.

The program imports only the standard library, ``flux`` and the two modules beside it, and uses no
syntax newer than that of Flux's Python. It ends when its standard input ends.

Protocols: Flux RFC 20 (R), 21 (job events), 22 (idsets), 25 and 14 (jobspec); the RPCs are those behind
flux-resource(1), flux-overlay(1), flux-jobs(1), flux-job(1) of flux-core 0.88.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import sys
import time
from typing import Any

import flux  # type: ignore[import-not-found]
import flux.constants  # type: ignore[import-not-found]
import flux.job  # type: ignore[import-not-found]
import flux.kvs  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from whesl.managers.resource.flux.bridge_base import LATER, FarEnd, attempt_in, raised_in, token_in
    from whesl.managers.resource.flux.bridge_records import as_shipped, hosts_of, ranks_of
else:  # run as a script in a Python without WHESL
    from bridge_base import LATER, FarEnd, attempt_in, raised_in, token_in
    from bridge_records import as_shipped, hosts_of, ranks_of

# A poke is a small RPC that shows whether a broker lives: seconds between rounds, most pokes a second.
POKE = 0.05
POKES_PER_SECOND = 500
# The most unanswered pokes of one broker: those of a hung broker must not pile up.
UNANSWERED = 20
# ``_op_gone`` pokes a broker up to INSIST times, INSIST_EVERY seconds apart.
INSIST = 10
INSIST_EVERY = 0.01
# Seconds to wait for an answer of one of the instance's services.
PATIENCE = 15.0
LOOKUPS = 256
# Seconds to wait for the environment of a job (``attempt_of``).
ATTRIBUTION = 2.0
ATTRIBUTES = ("rank", "jobid", "parent-uri", "security.owner")


class ApiEnd(FarEnd):
    """Answers requests about one instance."""

    def __init__(self, uri: str) -> None:
        super().__init__()
        # Blocking calls inside a callback use the handle ``waiting``, which the reactor does not watch.
        self.h = flux.Flux(uri) if uri else flux.Flux()
        self.waiting = flux.Flux(uri) if uri else flux.Flux()
        self.rank = int(self.attribute("rank") or 0)
        self.size = int(self.attribute("size") or 1)
        self.parents: dict[int, int] = {}
        self.tokens: dict[int, str] = {}
        self.attempts: dict[int, str] = {}
        self.unanswered: dict[int, int] = {}
        self.lost: set[int] = set()
        self.keep: list[Any] = []  # objects that must not be collected while the reactor runs

    # Requests ---------------------------------------------------------------------------------------

    def hear(self, *_: Any) -> None:
        """Read and perform requests; end the program at the end of standard input."""
        requests = self.requests()
        if requests is None:
            os._exit(0)
        for request in requests:
            self.perform(request)

    def attribute(self, name: str) -> str:
        """Return a broker attribute, empty when it is not set."""
        try:
            return str(self.waiting.attr_get(name))
        except OSError:
            return ""

    def _ask(self, topic: str, payload: Any = None) -> Any:
        """Return the answer of a service on rank 0. Raises OSError, with ETIMEDOUT when none comes."""
        future = self.waiting.rpc(topic, payload, 0)
        try:
            return future.wait_for(PATIENCE).get()
        except TimeoutError:
            raise OSError(errno.ETIMEDOUT, topic + " did not answer") from None

    def parent(self) -> Any:
        """Return a handle of the enclosing instance, None when there is none."""
        uri = self.attribute("parent-uri")
        return flux.Flux(uri) if uri else None

    # The instance ------------------------------------------------------------------------------------

    def _op_instance(self, _: int) -> Any:
        """Return the instance's attributes, hosts by rank, own job, and the id of this user."""
        status = self._ask("resource.status")
        answer: dict[str, Any] = {name: self.attribute(name) for name in ATTRIBUTES}
        answer["hosts"] = hosts_of(status.get("R"))
        answer["uid"] = os.getuid()
        answer["plain"] = as_shipped()
        answer["job"] = job_id(answer["jobid"]) if answer["jobid"] and answer["parent-uri"] else ""
        return answer

    def _op_status(self, _: int) -> Any:
        """Return the resource service's view: hosts by rank, ranks by state, and why ranks are drained."""
        status = self._ask("resource.status")
        drained = {}
        for ranks, entry in (status.get("drain") or {}).items():
            for rank in ranks_of(ranks):
                drained[str(rank)] = entry.get("reason") or ""
        return {
            "hosts": hosts_of(status.get("R")),
            # A broker that a poke found lost stays offline until the resource service reports it online.
            "online": sorted(set(ranks_of(status.get("online"))) - self.lost),
            "offline": sorted({*ranks_of(status.get("offline")), *self.lost}),
            "torpid": ranks_of(status.get("torpid")),
            "exclude": ranks_of(status.get("exclude")),
            "drained": drained,
        }

    def _op_resources(self, _: int) -> Any:
        """Return the scheduler's view of the resources (RFC 20), and the instance's configuration."""
        return {"seen": self._ask("resource.sched-status"), "configuration": self._ask("config.get")}

    def _op_gone(self, number: int, rank: int) -> Any:
        """Answer whether a broker has ended: Flux cannot send to it, although its parent broker answers.

        The answer is None when the parent broker does not answer either.
        """
        if rank in self.lost:
            return {"gone": True}
        above = self.above(rank)

        def judged(reached: bool) -> None:
            if reached or above in (0, self.rank):
                self.say(id=number, ok={"gone": not reached})
            else:
                # A dead parent broker makes all brokers below it unreachable, whether they live or not.
                self.insist(above, lambda router: self.say(id=number, ok={"gone": router or None}))

        self.insist(rank, judged)
        return LATER

    def insist(self, rank: int, done: Any) -> None:
        """Poke a broker until it answers, at most INSIST times.

        A message to a connection whose other end has just died gets no answer; the next poke fails.

        Args:
            rank: the broker's rank.
            done: is called once, with whether the broker can be reached; never where no poke gets an answer.
        """
        state = {"answered": False, "sent": 0}

        def answered(reached: bool) -> None:
            if not state["answered"]:
                state["answered"] = True
                timer.stop()
                done(reached)

        def again(*_: Any) -> None:
            state["sent"] += 1
            if state["sent"] >= INSIST:
                timer.stop()
            self._poke(rank, answered)

        timer = self.h.timer_watcher_create(INSIST_EVERY, again, repeat=INSIST_EVERY)
        timer.start()
        again()

    def above(self, rank: int) -> int:
        """Return the rank of a broker's parent in the tree of brokers."""
        if not self.parents:
            self._descend(self._ask("overlay.topology", {"rank": 0}), 0)
        return self.parents.get(rank, 0)

    def _descend(self, node: Any, parent: int) -> None:
        """Record the parents of all brokers in a subtree of the topology."""
        self.parents[int(node["rank"])] = parent
        for child in node.get("children") or ():
            self._descend(child, int(node["rank"]))

    def _poke(self, rank: int, done: Any) -> None:
        """Send a broker a small RPC, since Flux notices a broker's death only when it sends to it."""

        def answered(future: Any) -> None:
            try:
                future.get()
            except OSError as error:
                done(error.errno != errno.EHOSTUNREACH)
                return
            done(True)

        self.h.rpc("attr.get", {"name": "rank"}, rank).then(answered)

    # Events ------------------------------------------------------------------------------------

    def _op_watch(self, _: int, since: float, ranks: list[int], job: str) -> Any:
        """Begin to send events: changes of nodes, and exceptions on jobs.

        The instance sends its owner the events of all nodes and jobs. Another user gets those of ``job``
        alone, and learns by pokes which brokers have ended.

        Args:
            since: seconds since the epoch, after which events count.
            ranks: the brokers to poke, also for the owner; empty for no pokes.
            job: id of the client's own job where that is one of this instance's, else empty.
        """
        begins = {"resources": self.watch_resources, "jobs": self.watch_jobs, "own job": self.watch_own_job}
        if self.attribute("security.owner") != str(os.getuid()):
            begins = {"own job": lambda since: self._follow(self.h, job, since)} if job else {}
        heard = []
        for name, begin in begins.items():
            # Events that an older Flux lacks, or denies this user, are left out.
            with contextlib.suppress(OSError, ImportError, AttributeError):
                begin(since)
                heard.append(name)
        ranks = [rank for rank in ranks if rank != self.rank]
        if ranks:
            heard.append("nodes")
            turn = [0]
            at_once = max(1, min(len(ranks), int(POKE * POKES_PER_SECOND)))

            def poke_some(*_: Any) -> None:
                for _index in range(at_once):
                    rank = ranks[turn[0] % len(ranks)]
                    turn[0] += 1
                    if rank not in self.lost and self.unanswered.get(rank, 0) < UNANSWERED:
                        self.unanswered[rank] = self.unanswered.get(rank, 0) + 1
                        self._poke(rank, lambda reached, rank=rank: self._seen(rank, reached))

            timer = self.h.timer_watcher_create(POKE, poke_some, repeat=POKE)
            timer.start()
            self.keep.append(timer)
        return {"heard": heard}

    def _seen(self, rank: int, reached: bool) -> None:
        """Handle a poke's result; a broker below a dead parent is left to the resource service."""
        self.unanswered[rank] = max(0, self.unanswered.get(rank, 0) - 1)
        if not reached and rank not in self.lost and self.above(rank) in (0, self.rank):
            self.lost.add(rank)
            self.say(event="node", ranks=[rank], change="offline", reason="broker lost", time=time.time())

    def watch_resources(self, since: float) -> None:
        """Send an event for each change of a node in the resource service's journal."""
        from flux.resource.journal import ResourceJournalConsumer  # type: ignore[import-not-found]

        def told(event: Any) -> None:
            if event is None or event.name not in (
                "online",
                "offline",
                "drain",
                "undrain",
                "torpid",
                "lively",
            ):
                return
            context = event.context or {}
            ranks = ranks_of(context.get("idset"))
            if event.name == "online":
                self.lost.difference_update(ranks)
                for rank in ranks:
                    self.unanswered.pop(rank, None)
            reason = context.get("reason") or ""
            self.say(event="node", ranks=ranks, change=event.name, reason=reason, time=event.timestamp)

        consumer = ResourceJournalConsumer(self.h, since=since)
        consumer.set_callback(told)
        consumer.start()
        self.keep.append(consumer)

    def watch_jobs(self, since: float) -> None:
        """Send an event for each exception on this instance's jobs, which only its owner may follow."""
        from flux.job.journal import JournalConsumer  # type: ignore[import-not-found]

        def told(event: Any) -> None:
            if event is not None and event.name == "exception":
                attempt = self.attempt_of(event.jobid)
                self.exception(str(event.jobid.f58plain), event.timestamp, event.context, attempt)

        consumer = JournalConsumer(self.h, since=since)
        consumer.set_callback(told)
        consumer.start()
        self.keep.append(consumer)

    def watch_own_job(self, since: float) -> None:
        """Send an event for each exception on this instance's own job in the enclosing instance."""
        above = self.parent()
        own = self.attribute("jobid")
        if above is None or not own:
            return
        above.set_reactor(self.h.get_reactor())
        self._follow(above, own, since)

    def _follow(self, handle: Any, job: str, since: float) -> None:
        """Send an event for each exception on one job."""

        def told(future: Any) -> None:
            try:
                event = future.get_event()
            except OSError:
                return
            if event is not None and event.name == "exception" and event.timestamp > since:
                self.exception(job_id(job), event.timestamp, event.context)

        future = flux.job.event_watch_async(handle, flux.job.JobID(job))
        future.then(told)
        self.keep += [handle, future]

    def attempt_of(self, job: Any) -> str | None:
        """Return the token of a job's attempt; empty for no attempt, None when Flux does not show the job.

        An instance may run several tasks at once; a job's environment (RFC 14) names its attempt. Flux keeps
        the environment only in the signed request (RFC 15: header, payload and signature in base64).
        """
        try:
            asked = self.waiting.rpc("job-info.lookup", {"id": int(job), "keys": ["J"], "flags": 0})
            payload = asked.wait_for(ATTRIBUTION).get()["J"].split(".")[1]
            return attempt_in(json.loads(base64.b64decode(payload + "=" * (-len(payload) % 4))))
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None

    def _op_places(self, _: int, since: float) -> Any:
        """Return ranks and attempt's token of each running job, and of each that a node's loss ended lately.

        Args:
            since: seconds since the epoch, from which on an end by a lost node counts.
        """
        names = ["ranks", "exception_type", "t_inactive"]
        states = flux.constants.FLUX_JOB_STATE_RUNNING | flux.constants.FLUX_JOB_STATE_INACTIVE
        asked = flux.job.job_list(self.waiting, max_entries=0, attrs=names, since=since, states=states)
        found = []
        for job in asked.get_jobs():
            if "ranks" not in job or (job.get("t_inactive") and job.get("exception_type") != "exec"):
                continue
            if job["id"] not in self.attempts:
                self.attempts[job["id"]] = self.attempt_of(job["id"]) or ""
            found.append({"ranks": ranks_of(job["ranks"]), "attempt": self.attempts[job["id"]]})
        return found

    # Actions ------------------------------------------------------------------------------------------

    def _op_raise(
        self,
        _: int,
        job: str,
        type: str,  # noqa: A002
        severity: int,
        note: str,
        above: bool,
        once: bool = False,
    ) -> Any:
        """Raise an exception on a job of this instance or of the enclosing one."""
        handle = self.parent() if above else self.waiting
        if handle is None:
            raise OSError(errno.ENOENT, "there is no enclosing instance")
        number = flux.job.JobID(job)
        if once:
            asked = {"id": int(number), "keys": ["eventlog"], "flags": 0}
            text = handle.rpc("job-info.lookup", asked).wait_for(PATIENCE).get()["eventlog"]
            if raised_in(text, type, note):
                return
        flux.job.job_raise(handle, number, type, severity, note)

    def _op_drain(self, _: int, targets: str, reason: str) -> Any:
        """Take nodes out of service."""
        self._ask("resource.drain", {"targets": targets, "reason": reason, "mode": "update"})

    def _op_undrain(self, _: int, targets: str) -> Any:
        """Return nodes to service."""
        self._ask("resource.undrain", {"targets": targets})

    def _op_cancel(self, _: int, job: str, signal: int) -> Any:
        """Cancel a job, or send it a signal."""
        if signal:
            flux.job.kill(self.waiting, flux.job.JobID(job), signal)
        else:
            flux.job.cancel(self.waiting, flux.job.JobID(job))

    # Jobs -------------------------------------------------------------------------------------------

    def _op_submit(self, _: int, **job: Any) -> Any:
        """Submit a batch job, which becomes an instance of its own."""
        spec = flux.job.JobspecV1.from_batch_command(
            script=job["script"],
            jobname=job["name"],
            args=job["arguments"],
            num_slots=job["tasks"] or job["nodes"],
            num_nodes=job["nodes"],
            exclusive=job["tasks"] is None,
            broker_opts=job["broker_options"],
            conf=job["configuration"],
        )
        spec.cwd = job["workdir"]
        spec.environment = job["environment"]
        spec.duration = job["seconds"]
        spec.stdout = job["output"]
        if job["error"]:
            spec.stderr = job["error"]
        for name, value in job["shell_options"].items():
            spec.setattr_shell_option(name, value)
        for name, value in job["attributes"].items():
            spec.setattr(name, value)
        dependencies = [
            {"scheme": "afterok", "value": str(flux.job.JobID(other).f58plain)} for other in job["after_ok"]
        ]
        if dependencies:
            spec.setattr("system.dependencies", dependencies)
        if job["queue"]:
            spec.setattr("system.queue", job["queue"])
        if job["bank"]:
            spec.setattr("system.bank", job["bank"])
        if job["exclude"]:
            spec.setattr("system.constraints", {"not": [{"hostlist": [",".join(job["exclude"])]}]})
        number = flux.job.submit(self.waiting, spec, urgency=0 if job.get("held") else 16)
        return str(flux.job.JobID(number).f58plain)

    def _op_find(self, _: int, token: str, since: float) -> Any:
        """Return the ids of this user's jobs with a submission token."""
        listed = flux.job.job_list(self.waiting, max_entries=0, attrs=["userid"], since=since).get_jobs()
        ids = [int(job["id"]) for job in listed]
        self.learn(ids)
        return [job_id(job) for job in ids if self.tokens.get(job) == token]

    def learn(self, ids: list[int]) -> None:
        """Read the submission tokens of jobs once each, since a jobspec's user part never changes."""
        fresh = [job for job in ids if job not in self.tokens]
        for first in range(0, len(fresh), LOOKUPS):
            part = fresh[first : first + LOOKUPS]
            asked = [
                self.waiting.rpc("job-info.lookup", {"id": job, "keys": ["jobspec"], "flags": 0})
                for job in part
            ]
            for job, future in zip(part, asked):  # noqa: B905 - an old Python may run this
                try:
                    spec = json.loads(future.wait_for(PATIENCE).get()["jobspec"])
                except OSError as error:
                    if error.errno not in (errno.EPERM, errno.ENOENT):
                        raise
                    spec = {}  # another user's job
                self.tokens[job] = token_in(spec)

    def _op_jobs(self, _: int, ids: list[str]) -> Any:
        """Return the records of jobs, by the ids in ``ids``.

        Args:
            ids: the jobs' ids in any form of Flux's.
        """
        asked = {}
        for job in ids:
            try:
                number = int(flux.job.JobID(job))
            except (ValueError, OSError):
                continue  # not a Flux job's id, so that Flux knows no such job
            asked[job] = self.waiting.rpc("job-list.list-id", {"id": number, "attrs": ["all"]})
        found = {}
        for job, future in asked.items():
            try:
                info = future.wait_for(PATIENCE).get()["job"]
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINVAL):
                    continue
                raise
            number = int(info["id"])
            self.learn([number])
            info["token"] = self.tokens[number]
            info["id"] = job_id(number)
            info["state"] = flux.job.info.statetostr(info["state"])
            if "result" in info:
                info["result"] = flux.job.info.resulttostr(info["result"])
            found[job] = info
        return found


def job_id(number: Any) -> str:
    """Return a job's id in ASCII F58, which Flux's commands accept."""
    return str(flux.job.JobID(number).f58plain)


def main() -> None:
    """Serve one client until standard input ends."""
    bridge = ApiEnd(sys.argv[1] if len(sys.argv) > 1 else "")
    watcher = bridge.h.fd_watcher_create(0, bridge.hear, flux.constants.FLUX_POLLIN)
    watcher.start()
    bridge.say(event="hello", version=bridge.attribute("version"), rank=bridge.rank, size=bridge.size)
    bridge.h.reactor_run()


if __name__ == "__main__":
    main()
