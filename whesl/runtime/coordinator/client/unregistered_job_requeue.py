"""Jobs that are lost before their isolator has registered, while ``whesl run`` runs.

Until an isolator has registered, only the scheduler can run its job again (``sbatch --requeue``), and it does
not always: Slurm lets a job of several nodes run on for ever without its script when the script's node is
lost, and holds a requeued job for two minutes. Once the isolator has registered, the coordinator looks after
the job, and the scheduler refuses the requests of this module.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from whesl.managers.resource.port import JobRecord, RequeuesLost, Scheduler
from whesl.model.errors import CouldNotObserveError, WheslError
from whesl.model.states import JobState
from whesl.runtime.coordinator.client.journal_state import Known, known_state
from whesl.runtime.coordinator.client.unheard_task_outcomes import submission_of, unheard

LOG = logging.getLogger(__name__)
# Jobs in one query: their ids have to fit into the arguments of one command.
_AT_ONCE = 500
# Slurm's reasons for holding a requeued job: for two minutes, or until somebody releases it.
_HELD = ("BeginTime", "launch failed requeued held")
# Seconds between two queries while a job is about to run again.
_SOON = 3.0


class LostStarts:
    """Looks after jobs whose isolators have not registered, in a thread of its own.

    Args:
        home: the WHESL home.
        workflow: the workflow's id.
        scheduler: the scheduler of the jobs; one that cannot requeue jobs makes this class idle.
        every: seconds between two queries.
        say: is called in that thread with a sentence for each action.
    """

    def __init__(
        self, home: Path, workflow: str, scheduler: Scheduler, every: float, say: Callable[[str], None]
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
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lost-starts", daemon=True)

    def __enter__(self) -> LostStarts:
        if isinstance(self._scheduler, RequeuesLost):
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
        for task, job in jobs.items():
            if job in records:
                self._look_after(task, records[job])
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

    def _look_after(self, task: str, record: JobRecord) -> None:
        scheduler = self._scheduler
        assert isinstance(scheduler, RequeuesLost)
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
