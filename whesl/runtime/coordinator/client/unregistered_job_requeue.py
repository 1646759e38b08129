"""Jobs that are lost before their isolator has registered, while ``whesl run`` runs.

Until an isolator has registered, the scheduler alone can run its job again, and does (``sbatch --requeue``),
but not always: Slurm lets a job of several nodes run on for ever without its script when the script's node is
lost, and holds a job that it runs again for two minutes. Once the isolator is heard, the coordinator looks
after the job, and the scheduler refuses the requests that are made here.
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
# Jobs in one question: their ids have to fit into the arguments of one command.
_AT_ONCE = 500
# The reason of a job that Slurm holds before it runs again: for two minutes, or until it is released.
_HELD = ("BeginTime", "launch failed requeued held")
# Seconds between two looks while a job is about to run again.
_SOON = 3.0


class LostStarts:
    """Looks after the jobs that the coordinator has not heard of, in a thread of its own.

    Args:
        home: the WHESL home.
        workflow: its id.
        scheduler: where the jobs are; one that never runs a job again has nothing to look after.
        every: seconds between two looks.
        say: takes a sentence for each thing that was done, in that thread.
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
        self._hosts: dict[tuple[str, int], str] = {}  # where the script of a job's run was first seen
        self._busy = False
        self._say = say
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lost-starts", daemon=True)

    def __enter__(self) -> LostStarts:
        if isinstance(self._scheduler, RequeuesLost):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A scheduler that does not answer holds up no exit: the thread ends with the process.
        self._over.set()

    def _run(self) -> None:
        while not self._over.wait(min(self._every, _SOON) if self._busy else self._every):
            try:
                self.look()
            except WheslError as error:
                LOG.info("jobs that were not heard of could not be looked at: %s", error)

    def look(self) -> None:
        """Look once at all jobs that were not heard of. Raises as the scheduler's calls do."""
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
        """Return the jobs of tasks that have one."""
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
        # After a restart, Slurm names another node in the place of a batch host that the job has lost.
        if not record.batch_host_lost and record.batch_host in ("", host):
            return
        if not suspected:
            # The job's isolator may have been heard meanwhile, or be heard soon: the next look tells.
            self._suspects[record.id] = record.restarts
        elif scheduler.requeue_lost(record.id):
            self._say(f"{task}: job {record.id} lost {host or 'its node'} before it began: it is run again")
