"""Lines that raise a cause while the program runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl import api
from whesl.model.evidence import CauseClass
from whesl.runtime.diagnose.diagnosing import DecisiveLines

ECC = "[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
GLOO = "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 9ms for recv operation"
FULL = "OSError: [Errno 28] No space left on device: '/scratch/x'"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE EXCEPTION BAD JOB_LEVEL JOB [*] ELSE FAIL
EXCEPTION DETECTION BAD CAUSE {}
"""


@pytest.mark.parametrize(
    ("line", "cause", "node"),
    [
        ("n7: CUDA error: uncorrectable ECC error encountered", CauseClass.GPU, "n7"),
        ("srun: error: Node failure on nid005012", CauseClass.NODE, "nid005012"),
        (GLOO, CauseClass.HANG, ""),
        ("whesl: rank 3 on n02: no heartbeat for 300 s", CauseClass.HANG, "n02"),
        ("whesl: rank 3 on n02: a heartbeat again, after 312 s", None, ""),
        ("TimeoutError: the licence server did not answer", None, ""),
        ("WARNING: uncorrectable ECC error encountered, retrying", None, ""),
        ("srun: error: n2: task 3: Exited with exit code 1", None, ""),
        (FULL, None, ""),
    ],
)
def test_what_a_line_tells(line: str, cause: CauseClass | None, node: str) -> None:
    found = DecisiveLines().cause(line, "log")
    assert (found.cause, found.node) == (cause, node) if found is not None else cause is None


@pytest.mark.costly
@pytest.mark.parametrize(
    ("classes", "raised"),
    [
        ("gpu-hardware", [2, 4]),
        ("gpu-hardware CONFIDENCE 0.99", []),
        ("filesystem-full", []),
        ("node-lost", []),
    ],
)
def test_a_rehearsal_counts_decisive_lines(tmp_path: Path, classes: str, raised: list[int]) -> None:
    rules, log = tmp_path / "rules.esl", tmp_path / "log"
    rules.write_text(RULES.format(classes))
    log.write_text(f"step 1\n{ECC}\n{FULL}\n{ECC}\n")
    assert [each.line for each in api.rehearse(rules, log).occurrences] == raised


@pytest.mark.costly
@pytest.mark.parametrize(
    ("log", "status", "raised"),
    [
        (FULL, 1, [("BAD", 51)]),
        (FULL, None, [("BAD", 51)]),
        (FULL, 0, []),
        ("KeyError: 'x'", 1, []),
        (GLOO, None, [("BAD", 51)]),
        (f"{GLOO}\nstep 50 loss 2.0\nstep 51 loss 2.0\nstep 52 loss 2.0", None, []),  # torchrun has mended it
        ("srun: error: Node failure on nid005012", 1, [("BAD", 51)]),  # told while it ran, and not again
    ],
)
def test_a_rehearsal_looks_into_the_log_at_its_end(
    tmp_path: Path, log: str, status: int | None, raised: list[tuple[str, int]]
) -> None:
    rules, file = tmp_path / "rules.esl", tmp_path / "log"
    rules.write_text(RULES.format("filesystem-full, node-lost, hang/collective-timeout"))
    file.write_text("".join(f"step {n} loss 2.{n}\n" for n in range(50)) + log + "\n")
    found = api.rehearse(rules, file, status=status)
    assert [(each.exception, each.line) for each in found.occurrences] == raised
