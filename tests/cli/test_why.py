"""``whesl why`` as it is called."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from whesl import language
from whesl.cli import main
from whesl.managers.resource.outcomes import lookup
from whesl.managers.resource.outcomes.record import JobOutcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "why.md"
STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(50))
LOG = STEPS + "[rank3]: \x1b[31mtorch.OutOfMemoryError\x1b[0m: CUDA out of memory. Tried to allocate 2 GiB\n"


def call(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as exited:
        main([str(argument) for argument in ("why", *arguments)])
    assert isinstance(exited.value.code, int)
    return exited.value.code


def asked(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    call(*arguments, "--json")
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    schema = re.search(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert schema is not None
    jsonschema.validate(answer, json.loads(schema[1]))
    return answer


def test_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.out.gz"
    log.write_bytes(gzip.compress(LOG.encode()))
    answer = asked(capsys, log)
    assert answer["outcome"] == "failed"
    assert answer["advice"] == "other-resources"
    cause = answer["cause"]
    assert (cause["class"], cause["line"], cause["rank"]) == ("out-of-memory-gpu", 51, 3)
    assert cause["text"].startswith("[rank3]: torch.OutOfMemoryError: CUDA")
    assert call(log) == 1
    printed = capsys.readouterr().out
    assert ">      51" in printed
    assert "rank 3" in printed


@pytest.mark.parametrize(
    "line", ["Xid (PCI:0000:44:00): 79, GPU", "KeyError: 'x'", "x: No space left on device", "TimeoutError"]
)
def test_the_rule_is_a_specification(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "a.out"
    log.write_text(f"{STEPS}{'NVRM: ' if 'Xid' in line else ''}{line}\n")
    call(log, "--rule")
    result = language.parse(capsys.readouterr().out, "a.esl")
    assert result.spec is not None, result.diagnostics
    assert result.spec.exceptions


def test_the_other_outcomes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, good = tmp_path / "a.out", tmp_path / "good.out"
    log.write_text(STEPS + "Training complete.\n")
    assert call(log) == 0
    log.write_text("reading\nsomething odd\nsolving\n")
    good.write_text("reading\nsolving\n")
    assert call(log) == 3
    capsys.readouterr()
    answer = asked(capsys, log, "--good", good)
    assert [line["text"] for line in answer["unusual"]] == ["something odd"]
    assert answer["working"] == []
    log.write_text(STEPS)
    assert asked(capsys, log)["working"] == [{"file": str(log), "line": 50}]
    assert call(log) == 3
    assert f"{log}:50 is a step of work, and the last line" in capsys.readouterr().out
    assert call(tmp_path / "none") == 2


def test_good_logs_are_named_as_a_shell_expands_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All but the first one were read as logs of the job, which so had ended well."""
    log, *good = (tmp_path / name for name in ("dead[1].out", "good1.out", "good2.out"))
    log.write_text(STEPS + "something odd\nhalo gave up\n")
    for number, each in enumerate(good):
        each.write_text(STEPS + ("something odd\n" if number else "") + "Solver finished normally\n")
    for named in (good, [tmp_path / "good*"], [good[0], "--good", good[1]]):
        answer = asked(capsys, log, "--good", *named)
        assert [line["text"] for line in answer["unusual"]] == ["halo gave up"], named
    assert call("--good", good[0], log) == 2
    assert "write it before --good" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ending", "cause"),
    [
        ("arena: request for 18 GiB denied\nemergency exit\n", "out-of-memory-host"),
        ("solver: pivot vanished in block 8\nproc 3 quits\nproc 4 quits\n", "numerical"),
        ("61 of 64 workers registered, 3 are missing\nstartup: giving up\n", "launcher/rendezvous"),
        ("checking for NaN: none found\nclosing the files\n", None),
    ],
)
def test_an_unknown_program_s_own_words(
    ending: str, cause: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was said of a line without the word error, though it is the only one that tells of trouble."""
    log = tmp_path / "a.out"
    log.write_text(STEPS + ending)
    told = asked(capsys, log)["cause"]
    assert (told and (told["line"], told["class"])) == (cause and (51, cause))


def test_a_job_by_its_id(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What the manager keeps itself is read, and what it says counts."""

    def look_up(job: str) -> JobOutcome:
        state = {"f2cwMVeF": "FAILED", "12": "RUNNING", "13": "TIMEOUT"}[job]
        text = {"f2cwMVeF": LOG, "12": f"{STEPS}a: 18 GiB denied, worker stopped\n", "13": None}[job]
        return JobOutcome(state=state, text=text, told=f"status {state}", files=("/none/a.out",))

    monkeypatch.setattr(lookup, "look_up", look_up)
    answer = asked(capsys, "f2cwMVeF")
    assert (answer["outcome"], answer["cause"]["class"]) == ("failed", "out-of-memory-gpu")
    assert call("12") == 3
    assert "The resource manager says: status RUNNING" in capsys.readouterr().out
    assert call("f2cwMVeF") == 1
    assert "The resource manager says: status FAILED" in capsys.readouterr().out
    assert asked(capsys, "13")["cause"]["class"] == "time-limit"
    assert call("13") == 1
    assert "not to be found here (/none/a.out)" in capsys.readouterr().err


LOST = "slurmstepd-n02: error: *** JOB 1 ON n02 CANCELLED AT 12:00:00 DUE TO NODE FAILURE ***"
OOM = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed."
)


@pytest.mark.parametrize(
    ("state", "text", "cause"),
    [
        ("OUT_OF_MEMORY", f"{STEPS}{OOM}\n{STEPS}", ("out-of-memory-host", 51, "n01")),
        ("COMPLETED", f"{STEPS}{OOM}\n{STEPS}", None),
        ("BOOT_FAIL", "", ("node-lost", 0, "n01")),
        ("NODE_FAIL", f"{STEPS}{LOST}", ("node-lost", 51, "n01")),
        ("DEADLINE", STEPS, ("time-limit", 0, "n01")),
        ("REVOKED", "", None),
    ],
)
def test_the_state_of_a_job(
    state: str,
    text: str,
    cause: tuple[str, int, str] | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps of others outlived a rank that the kernel killed, although the manager told of it."""
    job = JobOutcome(state=state, status=0, node="n01", text=text, files=())
    monkeypatch.setattr(lookup, "look_up", lambda _: job)
    told = asked(capsys, "12")["cause"]
    assert (told and (told["class"], told["line"], told["node"])) == cause


def test_only_files_that_a_job_has_written_are_its_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that waited was judged by the output file of an older job with the same name."""
    (tmp_path / "a.out").write_text(LOG)
    (tmp_path / "rank-0.txt").write_text("Segmentation fault (core dumped)\n")
    os.utime(tmp_path / "a.out", (1000, 1000))
    job = JobOutcome(
        state="FAILED", files=(f"{tmp_path}/a.out",), globs=(f"{tmp_path}/rank-*",), since=2000, hidden="why"
    )
    monkeypatch.setattr(lookup, "look_up", lambda _: job)
    assert asked(capsys, "12")["cause"]["class"] == "segfault/app-bug"
    waiting = msgspec.structs.replace(job, state="PENDING", since=math.inf)
    monkeypatch.setattr(lookup, "look_up", lambda _: waiting)
    assert call("12") == 3
    assert "job 12 has not begun" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "status", "told", "cause"),
    [
        (f"OSError: [Errno 28] No space left on device: '/scratch/x'\n{STEPS}", 1, "", "filesystem-full"),
        ("", 139, "ExitCode=0:11", "segfault/app-bug"),
        ("", 127, "start failed: ./nothere: No such file or directory", "input/config-error"),
        ("", 3, "exit status 3", None),
    ],
)
def test_a_failed_job_whose_output_is_held_back_or_empty(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    status: int,
    told: str,
    cause: str | None,
) -> None:
    """Steps after the error were printed before it; where the log is silent the manager's words count."""
    job = JobOutcome(state="FAILED", status=status, text=output, told=told, files=())
    monkeypatch.setattr(lookup, "look_up", lambda _: job)
    answer = asked(capsys, "12")
    assert (answer["cause"] or {"class": None})["class"] == cause
