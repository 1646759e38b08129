"""Which step a step daemon keeps, and whose steps are: pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.managers.resource import manager_table
from whesl.managers.resource.slurm import attempt_processes_by_slurmstepd
from whesl.managers.resource.slurm.attempt_processes_by_slurmstepd import (
    belonging,
    below,
    children_of,
    named,
    of_cgroup,
    own,
)
from whesl.runtime.node_agent.fencing.attempt_processes import Process


def process(pid: int, parent: int) -> Process:
    return Process(pid=pid, parent=parent, group=pid, session=pid, state="S", started=7, name="app")


@pytest.mark.parametrize(
    ("title", "step"),
    [
        (b"slurmstepd: [12.0]\0\0\0", "12.0"),
        (b"slurmstepd: [12.3]", "12.3"),
        (b"slurmstepd: [12+1.3]\0", "12.3"),
        (b"slurmstepd: [12.batch]\0", "12.batch"),
        (b"slurmstepd: [12.extern]\0", "12.extern"),
        (b"/usr/sbin/slurmstepd\0", ""),
        (b"", ""),
    ],
)
def test_the_step_of_a_daemon(title: bytes, step: str) -> None:
    assert named(title) == step


@pytest.mark.parametrize(
    ("content", "step"),
    [
        (b"9:pids:/\n6:freezer:/slurm_n01/uid_0/job_1/step_0\n0::/\n", "1.0"),
        (b"0::/system.slice/slurmstepd.scope/job_21/step_13/user/task_0\n", "21.13"),
        (b"6:freezer:/slurm/uid_0/job_1/step_batch\n", ""),
        (b"6:freezer:/slurm/uid_0/job_1\n", ""),
        (b"0::/user.slice/session-1.scope\n", ""),
    ],
)
def test_the_step_of_a_cgroup(content: bytes, step: str) -> None:
    assert of_cgroup(content) == step


def test_the_step_that_the_caller_runs_in() -> None:
    assert own({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "2"}) == "7.2"
    assert own({"SLURM_JOB_ID": "7"}) == own({}) == ""
    assert own({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "-5"}) == "", "a batch script of 26.05"


def test_daemons_of_other_jobs_and_of_no_launcher() -> None:
    daemons = {1: "7.0", 2: "7.batch", 3: "71.0", 4: "8.extern", 5: "", 6: "7.4"}
    assert attempt_processes_by_slurmstepd.of_other_jobs(daemons, "7") == [3, 4]
    assert attempt_processes_by_slurmstepd.of_launchers(daemons, "7.4") == {1: "7.0", 3: "71.0"}
    assert manager_table.jobs_of({"SLURM_JOB_ID": "7"}) == {"SLURM_JOB_ID": "7"}
    assert manager_table.jobs_of({"SLURM_JOB_ID": "8", "SLURM_HET_SIZE": "2"}) == {}


def test_a_step_is_one_attempt_s_as_a_whole() -> None:
    #  10 = daemon of 7.1: 11 (known) and 12 with 13 below; 20 = daemon of 7.2: 21
    children = children_of(
        process(*pair) for pair in [(11, 10), (12, 10), (13, 12), (21, 20), (10, 1), (20, 1)]
    )
    daemons = {10: "7.1", 20: "7.2"}
    assert belonging(daemons, {11}, children, ()) == {11, 12, 13}
    assert belonging(daemons, set(), children, ("7.2",)) == {21}
    assert belonging(daemons, {13}, children, ()) == set(), "only a task of the step itself tells whose it is"


@given(st.dictionaries(st.integers(1, 40), st.integers(1, 40)), st.sets(st.integers(1, 40)))
def test_descent_ends_whatever_parents_are_told(parents: dict[int, int], roots: set[int]) -> None:
    """Numbers are used again while the list is read, so that it may hold a circle."""
    children = children_of(process(pid, parent) for pid, parent in parents.items())
    found = below(roots, children)
    assert all(child in found for pid in found | roots for child in children.get(pid, ()))


@given(st.binary(max_size=80))
def test_no_content_is_too_odd(content: bytes) -> None:
    for text in (content, b"slurmstepd: [" + content, b"/job_1/step_" + content):
        assert (
            attempt_processes_by_slurmstepd.named(text).count(".") <= 1
            and attempt_processes_by_slurmstepd.of_cgroup(text).count(".") <= 1
        )
