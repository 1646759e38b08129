"""Jobs that wait, or are lost, before their isolator has registered, while ``whesl run`` runs.

Until then only the scheduler can run a job again, and it does not always (docs/design/jobs.md). Afterwards
the coordinator looks after the job, and the scheduler refuses these requests.
An isolator that has not registered may have begun all the same, since a task does not wait for a coordinator
that does not answer. Such a job is left to another of its nodes that may take the task over.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.files import decode_errors
from whesl.managers.resource.port import ChangesLimits, JobRecord, RequeuesLost, Scheduler
from whesl.managers.workflow.submission.exactly_once_submission import Submission
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError, WheslError
from whesl.model.states import JobState
from whesl.runtime.coordinator.client.journal_state import Known, known_state
from whesl.runtime.coordinator.client.unheard_task_outcomes import submission_of, unheard
from whesl.runtime.coordinator.core.recovery.silent_tasks import MOVES_WITHIN
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.wire.client import request
from whesl.runtime.wire.messages import Command

LOG = logging.getLogger(__name__)
# Jobs in one query: their ids have to fit into the arguments of one command.
_AT_ONCE = 500
# Slurm's reasons for holding a requeued job: for two minutes, or until somebody releases it.
_HELD = ("BeginTime", "launch failed requeued held")
# Seconds between two queries while a job is about to run again.
_SOON = 3.0
# Tasks named in one sentence.
_NAMED = 3
_REPLY = 20.0
_NUMBERS = re.compile(r"\d+")


class _Setup(msgspec.Struct, frozen=True):
    """What an isolator has written down of its task at its start (``isolator.core.task_setup``)."""

    job_id: str = ""
    restarts: int = 0
    own_node: str = ""
    moves: bool = False


class _Begun(msgspec.Struct, frozen=True):
    """A task's ``job.json``."""

    setup: _Setup = _Setup()


class UnregisteredJobs:
    """Looks after jobs whose isolators have not registered, in a thread of its own.

    Args:
        home: the WHESL home.
        workflow: the workflow's id.
        scheduler: the scheduler of the jobs.
        every: seconds between two queries.
        say: is called in that thread with a sentence for each reason and each action.
        act: whether lost jobs are run again.
        now: the clock, seconds.
    """

    def __init__(
        self,
        home: Path,
        workflow: str,
        scheduler: Scheduler,
        every: float,
        say: Callable[[str], None],
        *,
        act: bool = True,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home = home
        self._workflow = workflow
        self._scheduler = scheduler
        self._every = every
        self._known: Known | None = None
        self._now = now
        self._suspects: dict[tuple[str, int], float] = {}  # by job and restart: since when it seems lost
        self._hosts: dict[tuple[str, int], str] = {}  # by job and restart: the batch host seen first
        self._used: dict[str, tuple[str, ...]] = {}  # by job: the nodes of its last run
        self._busy = False
        self._say = say
        self._lost = scheduler if act and isinstance(scheduler, RequeuesLost) else None
        self._waiting: dict[str, str] = {}  # why each task's job waited at the query before
        self._told: dict[str, str] = {}  # the reasons that the coordinator knows
        self._said: set[tuple[str, str]] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unregistered-jobs", daemon=True)

    def __enter__(self) -> UnregisteredJobs:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The exit does not wait for a scheduler that does not answer: the thread ends with the process.
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(min(self._every, _SOON) if self._busy else self._every):
            try:
                self.look()
            except (WheslError, OSError) as error:
                LOG.info("jobs that were not heard of could not be looked at: %s", error)

    def look(self) -> None:
        """Query all jobs without a registered isolator once. Raises OSError and the scheduler's errors."""
        self._known = known_state(self._home, self._known)
        submitted = self._submitted(unheard(self._known.state, self._workflow))
        jobs = {task: found.job for task, found in submitted.items()}
        ids = sorted(set(jobs.values()))
        records: dict[str, JobRecord] = {}
        for first in range(0, len(ids), _AT_ONCE):
            records |= self._scheduler.jobs(ids[first : first + _AT_ONCE])
        found = {task: records[job] for task, job in jobs.items() if job in records}
        self._tell(waiting(self._known.state, self._workflow, found), jobs)
        if self._lost is None:
            return
        for task, record in found.items():
            self._look_after(self._lost, task, record, submitted[task].sizes)
        held = any(r.restarts and r.reason.startswith(_HELD) for r in records.values())
        self._busy = bool(self._suspects) or held

    def _submitted(self, tasks: Sequence[str]) -> dict[str, Submission]:
        """Return the submissions of those tasks that have a job."""
        assert self._known is not None
        jobs = {}
        for task in tasks:
            entry = self._known.state.tasks[task]
            with contextlib.suppress(CouldNotObserveError, OSError):
                found = submission_of(self._home, task, entry.step, entry.instance)
                if found is not None and found.job:
                    jobs[task] = found
        return jobs

    def _tell(self, reasons: Mapping[str, str], jobs: Mapping[str, str]) -> None:
        """Tell user and coordinator the reasons that held at two queries in a row, the user once each."""
        stay = {task: reason for task, reason in reasons.items() if self._waiting.get(task) == reason}
        self._waiting = dict(reasons)
        new: dict[str, list[str]] = {}
        for task, reason in stay.items():
            # How many jobs or nodes there are elsewhere makes no other reason.
            kind = (task, _NUMBERS.sub("", reason))
            if kind not in self._said:
                self._said.add(kind)
                new.setdefault(reason, []).append(f"{task} (job {jobs[task]})")
        for reason, tasks in new.items():
            more = f" and {len(tasks) - _NAMED} more wait" if len(tasks) > _NAMED else " wait"
            self._say(f"{', '.join(tasks[:_NAMED])}{more if tasks[1:] else ' waits'}: {reason}")
        changed = {task: reason for task, reason in stay.items() if self._told.get(task) != reason}
        if changed:
            told = {task: f"job {jobs[task]} waits: {reason}" for task, reason in changed.items()}
            request(self._home, Command(id=uuid.uuid4().hex, action="job-waits", arguments=told), _REPLY)
            self._told |= changed

    def _look_after(
        self, scheduler: RequeuesLost, task: str, record: JobRecord, sizes: tuple[int, int]
    ) -> None:
        if record.restarts and any(sizes) and isinstance(scheduler, ChangesLimits):
            scheduler.fit_waiting(record, self._used.get(record.id, ()), sizes)
        scheduler.lift_hold(record)
        run = (record.id, record.restarts)
        since = self._suspects.pop(run, None)
        if record.state is not JobState.RUNNING:
            return
        self._used[record.id] = record.nodes
        host = self._hosts.setdefault(run, record.batch_host)
        # A Slurm controller that restarts after the loss may name another node of the job as the batch host.
        if not record.batch_host_lost and record.batch_host in ("", host):
            return
        begun = self._begun(task, record)
        if begun is not None and begun.own_node in record.nodes:
            return  # another node has taken the task over
        wait = MOVES_WITHIN if begun is not None and begun.moves else 0.0
        if since is None or self._now() < since + wait:
            # The job's isolator may register before the next query, which then leaves the job alone.
            self._suspects[run] = self._now() if since is None else since
        elif scheduler.requeue_lost(record.id):
            self._say(f"{task}: job {record.id} lost {host or 'its node'} before it began: it is run again")

    def _begun(self, task: str, record: JobRecord) -> _Setup | None:
        """Return what the isolator of a job's present run has written down, None where none has begun."""
        begun = decode_errors.load(Path(places.task(str(self._home), task)) / "job.json", _Begun)
        if begun is None or (begun.setup.job_id, begun.setup.restarts) != (record.id, record.restarts):
            return None
        return begun.setup


def waiting(state: State, workflow: str, records: Mapping[str, JobRecord]) -> dict[str, str]:
    """Return why jobs wait, by task. Tasks that wait for others of their workflow are left out.

    Args:
        state: the coordinator's state.
        workflow: the workflow's id.
        records: the scheduler's records of the workflow's jobs, by task.
    """
    known = state.workflows.get(workflow)
    parents = {task.id: task.parents for task in known.workflow.tasks} if known is not None else {}

    def ended(task: str) -> bool:
        entry = state.tasks.get(task)
        return entry is not None and entry.state.final

    return {
        task: record.reason
        for task, record in records.items()
        if record.state is JobState.PENDING and record.reason and all(map(ended, parents.get(task, ())))
    }
