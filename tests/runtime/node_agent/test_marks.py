"""The mark in a resource limit: one attempt's is no other's, and shells and programs leave it as it is."""

from __future__ import annotations

import resource
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import waiting
from tests.runtime.node_agent.started import Start, start, token
from whesl.model import attempt_rlimit_mark
from whesl.runtime.node_agent.agent import attempts_of
from whesl.runtime.node_agent.fencing import attempt_processes

__all__ = ["start", "token"]  # fixtures

PREFIXES = st.text("0123456789abcdef", min_size=16, max_size=16)
NUMBERS = st.integers(min_value=1, max_value=4095)


def in_kib(token: str) -> int:
    """Return a token's mark as a shell's ``ulimit`` takes it."""
    return attempt_rlimit_mark.of_token(token) >> 10


@given(prefix=PREFIXES, other=PREFIXES, number=NUMBERS, later=NUMBERS)
def test_a_mark_tells_attempts_and_tasks_apart(prefix: str, other: str, number: int, later: int) -> None:
    mark = attempt_rlimit_mark.of_token(f"{prefix}.{number}")
    assert attempt_rlimit_mark.carries(mark, f"{prefix}.{number}") and attempt_rlimit_mark.carries(
        mark, f"{prefix}."
    )
    assert attempt_rlimit_mark.carries(mark, f"{prefix}.{later}") == (number == later)
    if prefix != other:
        assert not any(attempt_rlimit_mark.carries(mark, f"{other}.{end}") for end in ("", number))


@given(prefix=PREFIXES, number=NUMBERS)
def test_a_mark_limits_nothing_and_survives_a_shell_s_kibibytes(prefix: str, number: int) -> None:
    token = f"{prefix}.{number}"
    mark = attempt_rlimit_mark.of_token(token)
    assert (1 << 62) <= mark < (1 << 63), "more than any memory, and no reader's sign bit"
    assert in_kib(token) * 1024 == mark and attempt_rlimit_mark.is_mark(mark)


@pytest.mark.parametrize(
    "limit", [resource.RLIM_INFINITY & attempt_rlimit_mark.UNLIMITED, 0, 8 << 30, (1 << 62) + 1]
)
def test_an_ordinary_limit_is_no_mark(limit: int) -> None:
    assert not attempt_rlimit_mark.is_mark(limit)


def test_a_process_is_found_by_its_mark_alone(token: str) -> None:
    """Without environment, session or parent of the attempt; as one that is another user's or unreadable."""
    limit = f"ulimit -S -m {in_kib(token)} && exec env -i setsid sleep 300"
    with subprocess.Popen(["/bin/sh", "-c", limit]) as child:
        try:
            waiting.until(
                lambda: (found := attempt_processes.read(child.pid)) and found.name == "sleep", "it", 30
            )
            assert [process.pid for process in attempt_processes.of_attempt(token)] == [child.pid]
            assert attempt_processes.of_attempt(f"{token}0") == []
            assert attempt_processes.kill_all(token).left == []
            assert child.wait(120) == -9
        finally:
            child.kill()


def test_an_environment_that_cannot_be_read_hides_nothing(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set-uid or non-dumpable program's belongs to root (proc(5)); its limits are for everybody to read."""
    limit = f"ulimit -S -m {in_kib(token)}; echo; exec sleep 300"
    with subprocess.Popen(["/bin/sh", "-c", limit], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None and child.stdout.readline()
            monkeypatch.setattr(attempt_processes, "environment_of", lambda pid: None)
            assert [process.pid for process in attempt_processes.of_attempt(token, node="n02")] == [child.pid]
        finally:
            child.kill()


def test_the_attempts_of_processes_are_told_by_mark_or_environment(start: Start, token: str) -> None:
    prefix = f"{token.partition('.')[0]}."
    start(f"ulimit -S -m {in_kib(prefix + '3')}; env -i sleep 300", f"{prefix}3")
    start("exec sleep 300", f"{prefix}7")
    start("exec sleep 300", f"{token[::-1]}.9")
    found = attempt_processes.of_attempt(prefix)
    assert attempts_of(found, prefix) == (3, 7)


def test_a_site_s_own_hard_limit_keeps_no_program_from_running(start: Start, token: str) -> None:
    """Below a mark there is none; the processes are found by their environment as before."""
    script = f"ulimit -m 1000000; ulimit -S -m {in_kib(token)} 2>/dev/null; sleep 300"
    child = start(script, token)
    assert child.pid in [process.pid for process in attempt_processes.of_attempt(token)]
