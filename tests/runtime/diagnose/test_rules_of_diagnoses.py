"""The rule that is printed for a failure: run on the log that it was made of, it is raised at the failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.diagnose.corpus.composing import cases
from tests.runtime.diagnose.corpus.short import shorts
from tests.runtime.diagnose.logs import why
from whesl import language
from whesl.language.diagnostics import Severity
from whesl.language.pattern_and_stream_records import Source, Stream
from whesl.model.workflow import Task
from whesl.runtime.diagnose.diagnosing import rehearsed
from whesl.runtime.diagnose.prepared_knowledge import prepared
from whesl.runtime.diagnose.rule import rule
from whesl.runtime.diagnose.vocabulary import Outcome, Role

TASK = Task(id="rehearse/job", step="job")
STREAMS = (Source(stream=Stream.STDOUT), Source(stream=Stream.STDERR), Source(stream=Stream.OUTPUT))
SAMPLES = [
    (entry.name, sample)
    for entry in prepared().entries
    if entry.role in (Role.CAUSE, Role.SYMPTOM)
    for sample in entry.sees
]


def printed(log: str) -> tuple[str, int]:
    """Return the rule for a log, without the library that it includes, and the decisive line; "" for none."""
    found = why(log)
    if found.outcome is not Outcome.FAILED:
        return "", 0
    assert found.cause is not None
    lines = rule(found.cause.finding, found.advice).splitlines()
    own = [line for line in lines if not line.startswith("INCLUDE ")]
    return "\n".join(own) + "\n", found.cause.finding.line


def raised(rules: str, log: str, place: Path) -> list[int]:
    """Return the lines of a log at which a rule is raised."""
    (place / "job.out").write_text(log)
    checked = language.parse(rules, "printed.esl")
    assert checked.spec is not None, checked.diagnostics
    assert not [each for each in checked.diagnostics if each.severity is Severity.ERROR]
    found = rehearsed(checked.spec.for_any_job(), TASK, {str(place / "job.out"): STREAMS}, None)
    return [each.line for each in found.occurrences]


@pytest.mark.costly
@pytest.mark.parametrize(
    "corpus",
    [
        "short logs",
        pytest.param("composed logs", marks=pytest.mark.variant),
        pytest.param("samples", marks=pytest.mark.variant),
    ],
)
def test_each_rule_is_raised_at_the_line_that_it_was_made_of(corpus: str, tmp_path: Path) -> None:
    logs = {
        "short logs": lambda: [(short.name, short.log) for short in shorts()],
        "composed logs": lambda: [(case.name, case.text) for case in cases() if case.cls],
        "samples": lambda: [(name, f"{sample}\n") for name, sample in SAMPLES],
    }
    missed = []
    rules = 0
    for name, log in logs[corpus]():
        text, line = printed(log)
        if not text:
            continue
        rules += 1
        if line not in raised(text, log, tmp_path):
            missed.append((name, text))
    assert rules > 100
    assert not missed


LINES = [
    # a failure, a line of the same fault in another run, a line of another fault
    (
        "run.sh: line 12: 41212 Killed                  ./app a.in",
        "/x/job9.sh: line 7:  88 Killed                  python3 b.py",
        "bash: line 12: module: command not found",
    ),
    (
        "run.sh: line 12: 41212 Segmentation fault      (core dumped) ./app a.in",
        "x.sh: line 7:  88 Segmentation fault      ./other",
        "bash: line 12: module: command not found",
    ),
    (
        "OSError: [Errno 28] No space left on device: '/scratch/me/ckpt-1200.pt'",
        "OSError: [Errno 28] No space left on device: '/tmp/a'",
        "OSError: [Errno 2] No such file or directory: '/tmp/a'",
    ),
    (
        "=>> PBS: job killed: walltime 43210 exceeded limit 43200",
        "=>> PBS: job killed: walltime 7 exceeded limit 5",
        "=>> PBS: job killed: mem 43210kb exceeded limit 43200kb",
    ),
    (
        "slurmstepd: error: *** JOB 4711 ON n01 CANCELLED AT 2024-05-01T12:00:00 DUE TO TIME LIMIT ***",
        "slurmstepd: error: *** STEP 9.0 ON n2 CANCELLED AT 2025-06-02T02:00:00 DUE TO TIME LIMIT ***",
        "slurmstepd: error: *** JOB 4711 ON n01 CANCELLED AT 2024-05-01T12:00:00 DUE TO PREEMPTION ***",
    ),
]


@pytest.mark.parametrize(("failure", "same", "other"), LINES)
def test_a_rule_finds_the_same_fault_and_no_other(
    failure: str, same: str, other: str, tmp_path: Path
) -> None:
    text, _ = printed(f"step 1\n{failure}\n")
    assert raised(text, f"{same}\n{other}\n", tmp_path) == [1]


def test_a_rule_includes_the_further_messages_that_the_library_has_of_its_fault() -> None:
    found = why("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    assert found.cause is not None
    text = rule(found.cause.finding, found.advice)
    assert 'INCLUDE "cuda"  # further messages of CUDA_OUT_OF_MEMORY\n' in text
    assert 'EXCEPTION DETECTION CUDA_OUT_OF_MEMORY LOG "torch.OutOfMemoryError' in text
