"""``whesl check`` and ``whesl compile`` as they are called."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import msgspec
import pytest

import whesl.managers.workflow
from tests.language.corpus import EXAMPLES
from whesl import language
from whesl.cli import main
from whesl.language.spec import Spec
from whesl.model.errors import UsageError, WheslError
from whesl.model.workflow import Task, Workflow

BROKEN = "DECLARE ENTITY JOB\n\tDECLRE EXCEPTION_TYPE JOB_LEVEL\nEXCEPTION DETECTION A EXIT SIGNAL SIGSEG\n"


def call(*arguments: str | Path) -> int:
    """Run a command of whesl in this process; return its exit status."""
    with pytest.raises(SystemExit) as exited:
        main([str(argument) for argument in arguments])
    assert isinstance(exited.value.code, int)
    return exited.value.code


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.esl"
    path.write_text(EXAMPLES["crash.esl"])
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.esl"
    path.write_text(BROKEN)
    return path


def test_clean(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check", good) == 0
    assert capsys.readouterr().out == f"{good}: correct\n"


def test_warnings_are_no_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "warned.esl"
    path.write_text(EXAMPLES["hang.esl"].replace("120", "0.5"))
    assert call("check", path) == 0
    out = capsys.readouterr().out
    assert f"{path}:6:56: warning[ESL061]:" in out
    assert out.endswith("1 warning\n")


HANDLERS = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE HANDLER "./swap", ADD HANDLER "nobody-has-this"]
DECLARE EXCEPTION E JOB_LEVEL JOB [*]
EXCEPTION DETECTION E EXIT CODE 1
EXCEPTION RECOVERY STEP E JOB NODE.REPLACE {}
"""


def test_handlers_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found before anything runs, not by the first recovery; wherever the call is made from."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "rules.esl").write_text(HANDLERS)
    monkeypatch.chdir(tmp_path)
    assert call("check", "rules/rules.esl") == 0
    out = capsys.readouterr().out
    assert f"rules/rules.esl:3:39: warning[ESL077]: handler {tmp_path}/rules/swap is not an" in out
    assert "rules/rules.esl:3:61: warning[ESL077]: no handler called nobody-has-this is" in out

    (tmp_path / "rules" / "swap").write_text("#!/bin/sh\n")
    (tmp_path / "rules" / "swap").chmod(0o755)
    (tmp_path / "rules" / "rules.esl").write_text(HANDLERS.replace(', ADD HANDLER "nobody-has-this"', ""))
    assert call("check", "rules/rules.esl") == 0
    assert capsys.readouterr().out == "rules/rules.esl: correct\n"


@pytest.mark.parametrize(("attempt", "size"), [(1, "8"), (3, "2"), (7, "2")])
def test_the_handler_of_the_examples(attempt: int, size: str) -> None:
    request = {"step": {"arguments": {"batch": {"size": [8, 4, 2]}}}, "attempt": attempt}
    handler = Path(__file__).resolve().parents[2] / "examples" / "handlers" / "smaller-batch"
    done = subprocess.run(
        [handler], input=json.dumps(request), capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout)["configuration"]["environment"] == {"BATCH_SIZE": size}


def test_all_errors_at_once_with_their_lines(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check", broken) == 1
    captured = capsys.readouterr()
    assert (
        captured.out
        == f"""\
{broken}:2:2: error[ESL011]: no statement begins with DECLRE
  2 | \tDECLRE EXCEPTION_TYPE JOB_LEVEL
    | \t^^^^^^
  expected: DECLARE, EXCEPTION or INCLUDE
  hint: did you mean DECLARE?
{broken}:3:21: error[ESL034]: the exception A is not declared
  3 | EXCEPTION DETECTION A EXIT SIGNAL SIGSEG
    |                     ^
  hint: DECLARE EXCEPTION names it, its type and its jobs
{broken}:3:35: error[ESL065]: there is no signal SIGSEG
  3 | EXCEPTION DETECTION A EXIT SIGNAL SIGSEG
    |                                   ^^^^^^
  hint: did you mean SIGSEGV?
"""
    )
    assert captured.err == f"{broken}: 3 errors\n"


def test_json(good: Path, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check", "--json", good) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "diagnostics": [], "notices": []}
    assert call("check", good, broken, "--json") == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["ok"] is False
    assert printed["diagnostics"][0] == {
        "severity": "error",
        "code": "ESL011",
        "message": "no statement begins with DECLRE; expected DECLARE, EXCEPTION or INCLUDE",
        "hint": "did you mean DECLARE?",
        "file": str(broken),
        "line": 2,
        "column": 2,
        "end_column": 8,
    }
    assert [d["code"] for d in printed["diagnostics"]] == ["ESL011", "ESL034", "ESL065"]


@pytest.mark.parametrize("command", ["check", "compile"])
def test_usage(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(command) == 2
    assert call(command, tmp_path / "missing.esl") == 2
    assert call(command, tmp_path) == 2
    error = capsys.readouterr().err
    assert "cannot read" in error
    assert "No such file" in error
    assert "Traceback" not in error


def test_binary_input_gives_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "binary.esl"
    path.write_bytes(bytes(range(256)) * 20)
    assert call("check", path) == 1
    assert "ESL001" in capsys.readouterr().out
    assert call("compile", path) == 1


def test_compile(
    good: Path, broken: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert call("compile", good) == 0
    printed = capsysbinary.readouterr().out
    assert msgspec.json.decode(printed, type=Spec) == language.load(good)
    assert call("compile", good, "-o", tmp_path / "out.json") == 0
    assert (tmp_path / "out.json").read_bytes() == printed
    assert call("compile", good, "-o", tmp_path / "no" / "out.json") == 2
    assert call("compile", broken, "-o", tmp_path / "none.json") == 1
    assert not (tmp_path / "none.json").exists()


def test_jobs_are_looked_up_in_a_workflow(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = Workflow(id="w", name="w", wms="batch", root="/", tasks=(Task(id="w/x", step="run-luleh"),))
    monkeypatch.setattr(whesl.managers.workflow, "verified", lambda path: workflow)
    monkeypatch.setattr(whesl.managers.workflow, "scripts", lambda path: {})
    (tmp_path / "study.yaml").touch()
    assert call("check", good, "--workflow", tmp_path / "study.yaml") == 1
    out = capsys.readouterr().out
    assert "ESL045" in out
    assert "did you mean run-luleh?" in out


def test_load_tells_all_findings(broken: Path, good: Path) -> None:
    assert language.load(str(good)).file == str(good)
    with pytest.raises(WheslError) as raised:
        language.load(broken)
    assert raised.value.message.count("error[") == 3
    with pytest.raises(UsageError):
        language.load(broken.parent / "missing.esl")
    with pytest.raises(UsageError):
        language.load("\0")


def test_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "site.esl"
    text = (
        "DECLARE EXCEPTION_TYPE JOB_LEVEL\nDECLARE EXCEPTION E JOB_LEVEL JOB [*] ELSE FAIL\n"
        '#: sees disk is on fire\nEXCEPTION DETECTION E LOG "on fire" output\n'
    )
    path.write_text(text)
    assert call("check", "--samples", path) == 0
    assert capsys.readouterr().out == f"{path}: correct, 1 sample lines\n"
    path.write_text(text.replace("disk is", "disc is not"))
    assert call("check", "--samples", path) == 0
    path.write_text(text.replace("is on fire", "is wet"))
    assert call("check", path) == 0
    capsys.readouterr()
    assert call("check", "--samples", path) == 1
    assert f"{path}:3: error[sample]: E does not see: disk is wet" in capsys.readouterr().out
    assert call("check", "--samples", "--json", path) == 1
    found = json.loads(capsys.readouterr().out)
    assert [(d["code"], d["line"]) for d in found["diagnostics"]] == [("sample", 3), ("sample", 4)]


def test_lines_of_a_script_that_meet_what_wrapping_changes_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules, script = tmp_path / "rules.esl", tmp_path / "job.sh"
    rules.write_text(EXAMPLES["crash.esl"].replace("[run-lulesh]", "[*]"))
    script.write_text("#!/bin/bash\n\nexport PATH=/opt/bin\necho\n")
    assert call("check", rules, "--workflow", script) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert [line.partition(" meets ")[0] for line in told] == [f"note: {script}:3"]
    assert call("check", rules, "--workflow", script, "--json") == 0
    assert [f"note: {line}" for line in json.loads(capsys.readouterr().out)["notices"]] == told
