"""Logs that are damaged, in an encoding that nothing names, or spread over folders."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from whesl.client.job_logs import logs_of
from whesl.model.errors import UsageError
from whesl.runtime.diagnose.diagnosing import diagnose_files
from whesl.runtime.diagnose.diagnosis_records import Diagnosis

STEPS = "".join(f"step {n} loss 2.{n}\n" for n in range(300))
CAUSE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def _line(found: Diagnosis) -> int:
    assert found.cause is not None
    return found.cause.finding.line


def test_what_stands_before_a_damaged_part_counts_and_the_damage_is_told(tmp_path: Path) -> None:
    log = tmp_path / "log.gz"
    noise = random.Random(1).randbytes(4000).hex()  # so that packed bytes stand behind the cause
    log.write_bytes(gzip.compress((STEPS + CAUSE + noise).encode())[:-1000])
    said: list[str] = []
    assert _line(diagnose_files([str(log)], unread=said.append)) == 301
    (sentence,) = said
    assert "to its end" in sentence


def test_a_log_that_has_vanished_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    log, gone = tmp_path / "log", tmp_path / "gone"
    log.write_text(STEPS + CAUSE)
    said: list[str] = []
    assert _line(diagnose_files([str(gone), str(log)], unread=said.append)) == 301
    assert [str(gone) in sentence for sentence in said] == [True]
    with pytest.raises(UsageError):
        diagnose_files([str(gone)])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "latin-1"])
def test_an_encoding_is_seen_without_a_mark(tmp_path: Path, encoding: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(f"Größe\n{STEPS}{CAUSE}".encode(encoding))
    assert _line(diagnose_files([str(log)])) == 302


def test_a_line_of_any_length_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("x" * 5_000_000 + "\n" + STEPS + CAUSE)
    assert _line(diagnose_files([str(log)])) == 302


def test_a_folder_s_logs_are_found_below_it_by_the_names_that_programs_give_them(tmp_path: Path) -> None:
    logs = (
        "run.o1234",
        "run.e1234-7",
        "a/0/stderr",
        "slurm-7.out",
        "slurm-7.out.1",
        "a/1/stdout.log",
        "x.gz",
    )
    for name in (*logs, "data.bin", "Makefile", "notes.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    said: list[str] = []
    found, _ = logs_of([str(tmp_path)], tmp_path, said.append)
    assert found == sorted(str(tmp_path / name) for name in logs)
