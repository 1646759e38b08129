"""A failed exit is told with what was printed last: "why: exit status 1" explains nothing."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.isolator.bench import Bench, bench
from whesl.model.evidence import LastLines, shortened
from whesl.model.printable import visible
from whesl.runtime.isolator.observe.attempt_output_destination import Outputs, last_lines

__all__ = ["bench"]

ANYHOW = """\
DECLARE EXCEPTION ANYHOW JOB_LEVEL JOB [app] LIMIT 1
EXCEPTION DETECTION ANYHOW EXIT ANY
EXCEPTION RECOVERY STEP ANYHOW JOB JOB.REPLACE
"""


def of(path: Path, begin: int | None = None) -> tuple[str, ...]:
    begun = {} if begin is None else {str(path): begin}
    own = str(path.parent) if begin is None else "/elsewhere"
    return last_lines(Outputs(stdout=str(path), stderr=str(path)), begun, own).stdout


def test_five_lines_and_two_kib(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("".join(f"{n}\n" for n in range(100)))
    assert of(path) == ("95", "96", "97", "98", "99")
    path.write_text("".join(f"{n}{'x' * 900}\n" for n in range(9)))
    assert [line[0] for line in of(path)] == ["7", "8"], "no line without its beginning"
    path.write_text("x" * 5000)
    assert of(path) == ("x" * 2048,)


def test_what_stood_there_before_is_not_the_attempts(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("of another job\n")
    assert of(path, begin=path.stat().st_size) == ()
    assert of(path, begin=1000) == ("of another job",), "a file that was emptied meanwhile"
    with path.open("a") as file:
        file.write("own\n")
    assert of(path, begin=15) == ("own",)
    assert last_lines(Outputs(stdout=str(path), stderr=str(path)), {}, "/elsewhere") == LastLines()


@given(st.text(), st.integers(8, 50))
def test_a_long_line_keeps_its_end(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short) <= most and (short == text or len(short) == most)
    assert short[-most // 2 :] == text[-most // 2 :]


def test_what_is_no_regular_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert of(tmp_path / "pipe") == of(tmp_path / "missing") == of(tmp_path) == ()


@given(st.binary(max_size=6000), st.integers(0, 6000))
def test_any_content_can_be_shown(content: bytes, begin: int) -> None:
    descriptor = os.memfd_create("out")
    try:
        os.write(descriptor, content)
        lines = of(Path(f"/proc/self/fd/{descriptor}"), begin)
    finally:
        os.close(descriptor)
    assert len(lines) <= 5
    assert all(line and line == visible(line) and "\n" not in line for line in lines)


def test_a_failure_that_no_rule_covers_says_what_was_printed_last(bench: Bench) -> None:
    (bench.place / "out").write_text("of an earlier job\n")
    code, _, _ = bench.run(*bench.script("echo reads input\necho 'no \033[31mmesh' >&2\nexit 3\n"))
    assert code == 3
    (exited,) = [data for kind, data in bench.records() if kind == "exited"]
    assert exited["last"] == {"stdout": ["reads input"], "stderr": ["no ␛[31mmesh"]}
    (finished,) = [data for kind, data in bench.records() if kind == "finished"]
    assert finished["reason"].endswith("; the last line: no ␛[31mmesh")
    summary = bench.directory.summary.read_text()
    assert "  last of stdout: reads input\n  last of stderr: no ␛[31mmesh\n" in summary


def test_an_exit_that_a_rule_covers_says_it_of_each_attempt(bench: Bench) -> None:
    command = bench.script("echo attempt $WHESL_RESTART_COUNT is lost >&2; exit 1\n")
    assert bench.run(*command, options=("-e", bench.rules(ANYHOW)))[0] == 1
    lines = [raised["evidence"][-1]["line"] for raised in bench.raised()]
    assert lines == ["attempt 0 is lost", "attempt 1 is lost"]
    (finished,) = [data for kind, data in bench.records() if kind == "finished"]
    assert "exit status 1; the last line: attempt 1 is lost" in finished["reason"]


def test_both_streams_in_one_file(bench: Bench) -> None:
    both = bench.place / "both"
    with both.open("ab") as file:
        child = bench.exec(*bench.script("echo one; echo two >&2; exit 1\n"), stdout=file, stderr=file)
        assert child.wait(120) == 1
    (exited,) = [data for kind, data in bench.records() if kind == "exited"]
    assert exited["last"] == {"stdout": ["one", "two"]}


def test_success_and_silence_say_nothing(bench: Bench) -> None:
    assert bench.run("echo", "done")[0] == 0
    (exited,) = [data for kind, data in bench.records() if kind == "exited"]
    assert "last" not in exited


def test_a_task_that_has_ended_holds_no_room(bench: Bench) -> None:
    """128 KiB of each: 2.5 GB of a home in which 20,000 tasks had run."""
    assert bench.run("sh", "-c", "sleep 1")[0] == 0
    assert not (bench.directory.path / "reserve").exists()
