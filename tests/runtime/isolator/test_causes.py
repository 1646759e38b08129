"""What a failed attempt died of: told without a rule, raised by a rule, not asked where nothing is open."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import commands
from tests.runtime.isolator.bench import Bench, bench
from whesl.model.printable import visible
from whesl.runtime.diagnose.attempt_cause_process import pieces

__all__ = ["bench"]

BUSY_GPU = "[rank3]: RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable"
ECC = "CUDA error: uncorrectable ECC error encountered"
FULL = "OSError: [Errno 28] No space left on device: '/scratch/me/ckpt.pt'"
AGAIN = """\
DECLARE EXCEPTION GPUBAD JOB_LEVEL JOB [app] LIMIT 1
EXCEPTION DETECTION GPUBAD CAUSE gpu-hardware, network-fabric
EXCEPTION RECOVERY STEP GPUBAD JOB JOB.REPLACE
DECLARE EXCEPTION ANYHOW JOB_LEVEL JOB [app] ELSE FAIL
EXCEPTION DETECTION ANYHOW EXIT ANY
"""


def test_without_a_rule_a_failure_says_why(bench: Bench) -> None:
    (bench.place / "err").write_text("an earlier job: Segmentation fault\n")
    code, out, err = bench.run(*bench.script(f'echo step 1\necho "{BUSY_GPU}" >&2\nexit 7\n'))
    assert (code, out) == (7, "step 1\n")
    (exited,) = [data for kind, data in bench.records() if kind == "exited"]
    cause = exited["cause"]
    assert (cause["cause"], cause["advice"], cause["rank"]) == ("gpu-hardware", "other-nodes", 3)
    assert (cause["text"], cause["line"]) == (BUSY_GPU, 2), "the line of the file, not of the attempt"
    assert "whesl:" not in err, "the output is the program's alone"
    (finished,) = [data for kind, data in bench.records() if kind == "finished"]
    assert "it died of gpu-hardware: " in finished["reason"]
    (line,) = [line for line in bench.directory.summary.read_text().splitlines() if "  cause: " in line]
    assert "gpu-hardware: " in line and BUSY_GPU in line and "on other nodes" in line


def test_a_rule_on_a_cause_comes_before_one_on_the_exit(bench: Bench) -> None:
    script = f'[ $WHESL_RESTART_COUNT = 0 ] || exit 0\necho "{BUSY_GPU}" >&2\nexit 1\n'
    assert bench.run(*bench.script(script), options=("-e", bench.rules(AGAIN)))[0] == 0
    (raised,) = bench.raised()
    (evidence,) = raised["evidence"]
    assert (raised["exception"], evidence["kind"], evidence["pattern"]) == ("GPUBAD", "cause", "gpu-hardware")
    assert evidence["captures"] == {"rank": "3"}


def test_a_broken_gpu_is_raised_while_the_program_waits_for_it(bench: Bench) -> None:
    script = f'[ $WHESL_RESTART_COUNT = 0 ] || exit 0\necho "n7: {ECC}" >&2\nexec sleep 600\n'
    assert bench.run(*bench.script(script), options=("-e", bench.rules(AGAIN)))[0] == 0
    (raised,) = bench.raised()
    (evidence,) = raised["evidence"]
    assert (raised["exception"], evidence["kind"], evidence["pattern"]) == ("GPUBAD", "cause", "gpu-hardware")
    assert evidence["captures"] == {"node": "n7"}


def test_what_a_program_may_survive_is_raised_at_its_end_only(bench: Bench) -> None:
    rules = bench.rules(AGAIN.replace("gpu-hardware, network-fabric", "filesystem-full, gpu-hardware"))
    script = bench.script(f'echo "{FULL}" >&2\necho "warning: {ECC}, retrying" >&2\nsleep 1\n')
    assert bench.run(*script, options=("-e", rules))[0] == 0
    assert not bench.raised()


def test_a_cause_of_another_class_leaves_the_exit_to_its_rule(bench: Bench) -> None:
    script = bench.script(f'echo "{FULL}" >&2\nexit 1\n')
    assert bench.run(*script, options=("-e", bench.rules(AGAIN)))[0] == 1
    assert [raised["exception"] for raised in bench.raised()] == ["ANYHOW"]


@pytest.mark.parametrize("script", ["exit 3\n", f'echo "{FULL}" >&2\n'])
def test_nothing_is_asked_of_silence_or_success(bench: Bench, script: str) -> None:
    code, _, err = bench.run(*bench.script(script))
    assert code in (0, 3) and "whesl:" not in err
    assert not any("cause" in data for kind, data in bench.records() if kind == "exited")


@pytest.mark.parametrize(("name", "known"), [("FPE", True), ("KILL", False)])
def test_of_a_silent_end_a_signal_of_its_own_says_why(bench: Bench, name: str, known: bool) -> None:
    bench.run(*bench.script(f"kill -{name} $$\n"))
    (exited,) = [data for kind, data in bench.records() if kind == "exited"]
    assert exited.get("cause", {}).get("cause") == ("segfault/app-bug" if known else None)
    assert ("SIGFPE" in bench.directory.summary.read_text()) == known


def test_a_cause_is_fit_for_a_terminal(bench: Bench) -> None:
    bench.run(*bench.script(f"printf '\\033[31m{BUSY_GPU}\\033[0m \\a\\n' >&2; exit 1\n"))
    lines = bench.directory.summary.read_text().splitlines()
    assert any(BUSY_GPU in line for line in lines) and lines == [visible(line) for line in lines]


def test_of_a_long_file_all_lines_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whesl.runtime.diagnose.attempt_cause_process.FIRST", 50)
    monkeypatch.setattr("whesl.runtime.diagnose.attempt_cause_process.LAST", 70)
    lines = [f"line {number}\n".encode() for number in range(1, 101)]
    path = tmp_path / "log"
    path.write_bytes(b"".join(lines))
    begin = len(b"".join(lines[:10]))
    size = path.stat().st_size
    read = b"".join(pieces(str(path), begin, size, float("inf"))).split(b"\n")
    assert len(read) == 101
    assert read[:10] == [b""] * 10 and read[10:15] == [line.strip() for line in lines[10:15]]
    assert read[99] == b"line 100" and b"line 50" not in read
    late = b"".join(pieces(str(path), begin, size, 0.0))
    assert late.count(b"\n") == 100 and late.endswith(b"line 100\n"), "when time is over, the end is read"


def test_the_shipped_policy_tries_again_what_passes_and_nothing_else(bench: Bench) -> None:
    bug = bench.script("echo 'Segmentation fault (core dumped)' >&2\nexit 139\n")
    assert bench.run(*bug, options=("-e", "default"))[0] == 139
    (decided,) = [data for kind, data in bench.records() if kind == "decided"]
    assert (decided["exception"], decided["action"]) == ("DEFAULT_MEND_FIRST", "fail")


def test_the_shipped_policy_goes_on_in_the_file_system_that_is_given(bench: Bench) -> None:
    full, other = bench.place / "full", bench.place / "other"
    full.mkdir()
    other.mkdir()
    bench.environment |= {"WHESL_DEFAULT_FILESYSTEM": str(other), "WHESL_DEFAULT_FILESYSTEM_OF": str(full)}
    script = f'case $1 in {other}*) exit 0;; esac\necho "{FULL}" >&2\nexit 1\n'
    assert bench.run(*bench.script(script), str(full), options=("-e", "default"))[0] == 0
    (raised,) = bench.raised()
    assert raised["exception"] == "DEFAULT_OTHER_FILESYSTEM"


def test_a_site_has_the_shipped_policy_observe_first(bench: Bench) -> None:
    bench.environment["WHESL_DEFAULT_OBSERVES"] = "1"
    script = bench.script(f'echo "{BUSY_GPU}" >&2\nexit 1\n')
    assert bench.run(*script, options=("-e", "default"))[0] == 1
    (observed,) = [data for kind, data in bench.records() if kind == "observed"]
    assert observed["exception"] == "DEFAULT_BAD_GPU"


def test_why_and_report_know_a_task_by_its_name(bench: Bench) -> None:
    def whesl(*words: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl(*words, env=bench.environment, cwd=bench.place)

    script = bench.script(f'echo "{BUSY_GPU}" >&2\nexit 1\n')
    assert whesl("exec", "--no-coordinator", "--name", "app", "--", *script).returncode == 1
    why = whesl("why", "exec/app", "--json")
    assert (why.returncode, json.loads(why.stdout)["cause"]["class"]) == (1, "gpu-hardware")
    report = json.loads(whesl("report", "exec", "--json").stdout)
    assert report["tasks"][0]["runs"][0]["cause"]["cause"] == "gpu-hardware"
    assert "cause: gpu-hardware: " in whesl("report", "exec").stdout
