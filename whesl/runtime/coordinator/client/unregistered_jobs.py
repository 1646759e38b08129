"""Jobs that wait, or are lost, before their isolator has registered, while ``whesl run`` runs.

The user is told why a job waits, in the words of its resource manager.

Until an isolator has registered, only the scheduler can run its job again (``sbatch --requeue``), and it does
not always: Slurm lets a job of several nodes run on for ever without its script when the script's node is
lost, and holds a requeued job for two minutes. Once the isolator has registered, the coordinator looks after
the job, and the scheduler refuses the requests of this module.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from whesl.managers.resource.port import JobRecord, RequeuesLost, Scheduler
from whesl.model.errors import CouldNotObserveError, WheslError
from whesl.model.states import JobState
from whesl.runtime.coordinator.client.journal_state import Known, known_state
from whesl.runtime.coordinator.client.unheard_task_outcomes import submission_of, unheard
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


class UnregisteredJobs:
    """Looks after jobs whose isolators have not registered, in a thread of its own.

    Args:
        home: the WHESL home.
        workflow: the workflow's id.
        scheduler: the scheduler of the jobs.
        every: seconds between two queries.
        say: is called in that thread with a sentence for each reason and each action.
        act: whether lost jobs are run again.
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
    ) -> None:
        self._home = home
        self._workflow = workflow
        self._scheduler = scheduler
        self._every = every
        self._known: Known | None = None
        self._suspects: dict[str, int] = {}
        self._hosts: dict[tuple[str, int], str] = {}  # by job and restart: the batch host seen first
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
            except WheslError as error:
                LOG.info("jobs that were not heard of could not be looked at: %s", error)

    def look(self) -> None:
        """Query all jobs without a registered isolator once. Raises the errors of the scheduler's calls."""
        self._known = known_state(self._home, self._known)
        jobs = self._submitted(unheard(self._known.state, self._workflow))
        ids = sorted(set(jobs.values()))
        records: dict[str, JobRecord] = {}
        for first in range(0, len(ids), _AT_ONCE):
            records |= self._scheduler.jobs(ids[first : first + _AT_ONCE])
        found = {task: records[job] for task, job in jobs.items() if job in records}
        self._tell(waiting(self._known.state, self._workflow, found), jobs)
        if self._lost is None:
            return
        for task, record in found.items():
            self._look_after(self._lost, task, record)
        held = any(r.restarts and r.reason.startswith(_HELD) for r in records.values())
        self._busy = bool(self._suspects) or held

    def _submitted(self, tasks: Sequence[str]) -> dict[str, str]:
        """Return the job ids of those tasks that have a job."""
        assert self._known is not None
        jobs = {}
        for task in tasks:
            entry = self._known.state.tasks[task]
            with contextlib.suppress(CouldNotObserveError, OSError):
                found = submission_of(self._home, task, entry.step, entry.instance)
                if found is not None and found.job:
                    jobs[task] = found.job
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

    def _look_after(self, scheduler: RequeuesLost, task: str, record: JobRecord) -> None:
        scheduler.lift_hold(record)
        suspected = self._suspects.pop(record.id, None) == record.restarts
        if record.state is not JobState.RUNNING:
            return
        host = self._hosts.setdefault((record.id, record.restarts), record.batch_host)
        # A Slurm controller that restarts after the loss may name another node of the job as the batch host.
        if not record.batch_host_lost and record.batch_host in ("", host):
            return
        if not suspected:
            # The job's isolator may register before the next query, which then leaves the job alone.
            self._suspects[record.id] = record.restarts
        elif scheduler.requeue_lost(record.id):
            self._say(f"{task}: job {record.id} lost {host or 'its node'} before it began: it is run again")


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
