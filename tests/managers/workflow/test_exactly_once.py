"""One job for each submission, on a scheduler that loses replies, and is killed at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whesl.managers.resource.port import JobRecord
from whesl.managers.workflow.submission import exactly_once_submission
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError
from whesl.model.states import JobState


class Scheduler:
    """A scheduler in memory; ``blind`` looks fail before one succeeds, ``late`` looks miss a new job."""

    def __init__(self) -> None:
        self.accepted: dict[str, tuple[str, JobState]] = {}
        self.blind = 0
        self.late = 0
        self.known = True
        self.forgotten = False
        self.submitted = 5.0  # when its jobs were, as ``submit`` says

    def find(self, token: str) -> JobRecord | None:
        if self.blind:
            self.blind -= 1
            raise CouldNotObserveError("no answer")
        if self.late:
            self.late -= 1
            return None
        if token in self.accepted and self.known:
            job, state = self.accepted[token]
            return JobRecord(id=job, token=token, state=state)
        return None

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        made = {job: state for job, state in self.accepted.values() if job in ids and not self.forgotten}
        return {job: JobRecord(id=job, state=made[job], submitted=self.submitted) for job in made}

    def accept(self, token: str) -> str:
        assert token not in self.accepted, "submitted twice"
        self.accepted[token] = (str(100 + len(self.accepted)), JobState.PENDING)
        return self.accepted[token][0]

    def end(self, state: JobState) -> None:
        token, (job, _) = list(self.accepted.items())[-1]
        self.accepted[token] = (job, state)


class KilledError(Exception):
    """The submitting process ends here."""


def submit(
    directory: Path, scheduler: Scheduler, how: Callable[[str], str] | None = None, task: str = "w/a task"
) -> str:
    ledger = exactly_once_submission.Ledger(directory, task)
    with ledger.locked():
        return exactly_once_submission.submit_once(
            ledger, task, scheduler, how or scheduler.accept, lambda _: None, lambda: 5.0
        )


def lost(scheduler: Scheduler, error: Exception) -> Callable[[str], str]:
    """Accept, and lose the reply."""

    def accept(token: str) -> str:
        scheduler.accept(token)
        raise error

    return accept


def test_a_lost_reply_is_one_job(tmp_path: Path) -> None:
    scheduler = Scheduler()
    scheduler.late = 2
    assert submit(tmp_path, scheduler, lost(scheduler, TransientError("timed out"))) == "100"
    assert len(scheduler.accepted) == 1


@pytest.mark.parametrize("state", list(JobState))
def test_killed_before_the_reply_is_one_job(state: JobState, tmp_path: Path) -> None:
    """Whatever became of the job meanwhile: the manager has never heard of it, so this is it."""
    scheduler = Scheduler()
    with pytest.raises(KilledError):
        submit(tmp_path, scheduler, lost(scheduler, KilledError()))
    scheduler.end(state)
    assert submit(tmp_path, scheduler) == "100"
    assert len(scheduler.accepted) == 1


@pytest.mark.parametrize("state", list(JobState))
def test_a_second_submission_after_the_reply(state: JobState, tmp_path: Path) -> None:
    scheduler = Scheduler()
    assert submit(tmp_path, scheduler) == "100"
    scheduler.end(state)
    means_another = state.ended and state is not JobState.COMPLETED
    assert submit(tmp_path, scheduler) == ("101" if means_another else "100")
    # And the new one is as safe from a lost reply as the first.
    assert submit(tmp_path, scheduler) == ("101" if means_another else "100")


def test_a_job_that_is_forgotten_has_ended(tmp_path: Path) -> None:
    scheduler = Scheduler()
    submit(tmp_path, scheduler)
    scheduler.known, scheduler.forgotten = False, True
    assert submit(tmp_path, scheduler) == "101"


def test_a_job_whose_owner_changed_its_comment_is_known_by_its_id(tmp_path: Path) -> None:
    """Where Slurm has no accounting, a study that was run again submitted it a second time."""
    scheduler = Scheduler()
    submit(tmp_path, scheduler)
    scheduler.known = False
    assert submit(tmp_path, scheduler) == "100"
    scheduler.submitted = -1000.0  # a job of another time has the id: Slurm counts anew
    assert submit(tmp_path, scheduler) == "101"


def test_not_seen_is_not_gone(tmp_path: Path) -> None:
    scheduler = Scheduler()
    submit(tmp_path, scheduler)
    scheduler.blind = 3
    assert submit(tmp_path, scheduler) == "100"
    scheduler.blind = 99
    with pytest.raises(CouldNotObserveError):
        submit(tmp_path, scheduler)
    assert len(scheduler.accepted) == 1


def test_a_task_s_name_may_be_longer_than_a_file_s(tmp_path: Path) -> None:
    scheduler = Scheduler()  # sbatch ended with a traceback: File name too long
    assert [submit(tmp_path, scheduler, task=f"w/{'é' * 100}{end}") for end in "121"] == ["100", "101", "100"]


def test_a_refusal_is_told_and_may_be_tried_again(tmp_path: Path) -> None:
    scheduler = Scheduler()

    def refuse(token: str) -> str:
        raise RefusedError("invalid partition")

    with pytest.raises(RefusedError):
        submit(tmp_path, scheduler, refuse)
    ledger = exactly_once_submission.Ledger(tmp_path, "w/a task")
    refused = ledger.read()
    assert refused is not None and (refused.refused, refused.job) == ("invalid partition", "")
    assert submit(tmp_path, scheduler) == "100"
    accepted = ledger.read()
    assert accepted is not None and (accepted.refused, accepted.job) == ("", "100")


@settings(deadline=None)  # files are written, and machines are busy
@given(
    st.lists(
        st.sampled_from(["ok", "lost", "killed", "late", "refused", "fail", "finish", "blind"]), max_size=12
    )
)
def test_never_two_living_jobs_for_one_task(events: list[str]) -> None:
    import tempfile

    scheduler = Scheduler()
    with tempfile.TemporaryDirectory() as name:
        for event in events:
            living = [job for job, state in scheduler.accepted.values() if not state.ended]
            assert len(living) <= 1
            if event in ("fail", "finish") and scheduler.accepted:
                scheduler.end(JobState.FAILED if event == "fail" else JobState.COMPLETED)
                continue
            how: Callable[[str], str] = scheduler.accept
            if event in ("lost", "late"):
                how = lost(scheduler, CouldNotObserveError("?"))
                scheduler.late = 3 if event == "late" and not scheduler.accepted else 0
            elif event == "killed":
                how = lost(scheduler, KilledError())
            elif event == "refused":

                def how(token: str) -> str:
                    raise RefusedError("no")

            scheduler.blind = 2 if event == "blind" else 0
            try:
                submit(Path(name), scheduler, how)
            except (KilledError, RefusedError):
                continue
            finally:
                scheduler.late = scheduler.blind = 0


@pytest.mark.parametrize("task", ["w/a", "w/a b", "w/ü#1", "w/x\ty"])
def test_a_token_is_one_word(task: str) -> None:
    assert len(exactly_once_submission.token(task, 3).split()) == 1
    assert exactly_once_submission.token(task, 3).endswith("#3")
    assert exactly_once_submission.token(task, 3) != exactly_once_submission.token(task + "x", 3)


@pytest.mark.parametrize(
    ("output", "job"),
    [
        ("Submitted batch job 17\n", "17"),
        ("Submitted batch job 17 on cluster alpha\n", "17"),
        ("17\n", "17"),
        ("17;alpha\n", "17"),
        ("sbatch: 3 nodes are down\nSubmitted batch job 5\n", "5"),
        ("", ""),
        ("error 17 times", ""),
    ],
)
def test_replies(output: str, job: str) -> None:
    assert exactly_once_submission.job_id(output) == job
