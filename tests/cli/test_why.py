"""``whesl why`` as it is called."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from whesl import esl
from whesl.cli import main
from whesl.cli.inspect.why_job import look_up
from whesl.model.errors import UsageError, WheslError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "why.md"
STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(50))
LOG = STEPS + "[rank3]: \x1b[31mtorch.OutOfMemoryError\x1b[0m: CUDA out of memory. Tried to allocate 2 GiB\n"
SHOWN = """\
JobId=12 JobName=a
   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)
   ExitCode=0:125 NodeList=n02
   StdOut={out}
"""


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
    result = esl.parse(capsys.readouterr().out, "a.esl")
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
    assert call(tmp_path / "none") == 2


class Slurm:
    """Answers as scontrol or sacct would."""

    def __init__(self, shown: str | None, accounted: str = "") -> None:
        self._shown, self._accounted = shown, accounted

    def run(self, *command: str) -> str:
        if command[0] == "sacct":
            return self._accounted
        if self._shown is None:
            raise WheslError("Invalid job id specified")
        return self._shown


def test_a_job_by_its_number(tmp_path: Path) -> None:
    out = tmp_path / "slurm-12.out"
    out.write_text("")
    files, accounting = look_up("12", Slurm(SHOWN.format(out=out)))
    assert files == [str(out)]
    assert (accounting.state, accounting.status) == ("OUT_OF_MEMORY", 253)
    files, accounting = look_up("12", Slurm(None, "CANCELLED by 1000|0:15|1G|2G|01:00:00|00:10:00|n02\n"))
    assert (files, accounting.state, accounting.status) == ([], "CANCELLED", 143)
    with pytest.raises(UsageError, match="does not know job 12"):
        look_up("12", Slurm(None))
