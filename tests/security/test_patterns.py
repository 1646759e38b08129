"""What rules and job output can make the program do is bounded: compiling, matching, and reading evidence.

Bounds are the kernel's: the work is done by a child with little processor time and memory, and a child that
needs more is killed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runtime.isolator.bench import HEAD
from whesl.language.compiler.pattern_checks import PatternCheck
from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Evidence
from whesl.runtime.detect.matcher import compile_patterns
from whesl.runtime.operations.suspect_node import WORDINGS, Suspect, find_suspect

MEMORY = 1 << 30  # bytes of address space that may be added
NASTY = {
    # Exponential for an engine that goes back; none of ours does.
    "nested plus": r"(a+)+$",
    "alternation of the same": r"(a|a)*b",
    "overlapping alternation": r"(a|ab|abc|.)*x",
    "optional times": "a?" * 300 + "a" * 300,
    "all named": "".join(f"(?P<g{n}>a*)" for n in range(90)) + "b",
    # Large for an engine that unfolds.
    "any thousand": r".{1000}",
    "two gaps": r"x.{0,400}y.{0,400}z",
    "large repeat": r"a{1,60000}",
    "repeat of repeats": r"((a{1,99}){1,99}){1,99}",
    "classes": r"[ab]{0,300}c[ab]{0,300}d[ab]{0,300}e",
    "wide": r"[^a]{20}[^b]{20}[^c]{20}[^d]{20}.*" * 10,
    "many gaps": ".*".join("abcdefghij" * 20),
    "many ends": "|".join(f"{chr(97 + n % 26)}.*{n}" for n in range(300)),
    # Exponential for hyperscan's compiler.
    "deep": "(?:" * 30 + "a" + "b?)*c" * 30,
    "deep plus": "(" * 40 + "a" + "b+)+" * 40,
    "deeper": "(?:" * 180 + "a" + "b?)*c" * 180,
    "parentheses": "(" * 900 + "a" + ")" * 900,
    # Not for a stream at all.
    "look-ahead": r"(?=a)b",
    "look-behind": r"(?<!a)b",
    "back-reference": r"(a+)\1",
    "atomic": r"(?>a+)b",
    "recursive": r"(a(?1)?b)",
    "long": "a" * 100_000,
}
TEXT = b"a" * 300_000 + b"\n" + b"xabcabc def 12 zzz\n" * 2000 + b"ab" * 100_000 + b"!\n"


def bounded(work: Callable[[], object], seconds: int = 20, memory: int = MEMORY) -> None:
    """Do something in a child that may use so many seconds of a processor, and so much more memory."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
            used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
            resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds, int(used) + seconds))
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"the child ended with {status}"


@pytest.mark.costly
@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_pattern_is_refused_with_a_reason_or_runs_in_bounds(name: str) -> None:
    text = NASTY[name]

    def work() -> None:
        problem = PatternCheck().regex(text)
        if problem is not None:
            assert problem.code in ("ESL051", "ESL053")
            assert problem.message
            return
        for engine in ("hyperscan", "re2"):
            stream = compile_patterns((Pattern(text=text, regex=True),), engine).open()
            stream.feed(TEXT, 0)
            stream.finish()

    bounded(work)


@pytest.mark.costly
def test_the_command_names_every_bad_pattern_and_ends(tmp_path: Path) -> None:
    bad = [name for name, text in NASTY.items() if PatternCheck().regex(text) is not None]
    assert {"deep", "deeper", "large repeat", "look-ahead", "back-reference", "recursive"} <= set(bad)
    rules = tmp_path / "rules.esl"
    rules.write_text(
        HEAD
        + "".join(
            f"DECLARE EXCEPTION E{number} JOB_LEVEL JOB [*] ELSE FAIL\n"
            f'EXCEPTION DETECTION E{number} MATCH "{NASTY[name]}" stdout\n'
            for number, name in enumerate(bad)
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "whesl", "check", str(rules)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)),
    )
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    said = done.stdout + done.stderr
    for number in range(len(bad)):
        line = 6 + 2 * number
        assert f":{line}:" in said, f"{bad[number]} is not named:\n{said}"


@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
def test_thousands_of_patterns(engine: str) -> None:
    patterns = tuple(Pattern(text=f"error number {number} of disk {number * 7}") for number in range(3000))

    def work() -> None:
        found = compile_patterns(patterns, engine).open().feed(b"error number 2999 of disk 20993\n" * 50, 0)
        assert len(found) == 50 * sum("error number 2999 of disk 20993".startswith(p.text) for p in patterns)

    bounded(work)


@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
@pytest.mark.costly
def test_a_line_without_an_end_needs_no_memory(engine: str) -> None:
    """A quarter of a gigabyte without a line break, in a child that may add a quarter of that."""
    patterns = (Pattern(text="needle"), Pattern(text=r"(a+)+b(?P<n>\d*)", regex=True))
    megabyte = b"a" * (1 << 20)

    def work() -> None:
        stream = compile_patterns(patterns, engine).open()
        found = [stream.feed(megabyte, offset << 20) for offset in range(256)]
        assert not any(found)
        assert [match.pattern for match in stream.feed(b"needle\n", 256 << 20)] == [0]

    bounded(work, memory=64 << 20)


@pytest.mark.costly
def test_no_line_of_a_log_keeps_the_isolator_busy() -> None:
    """Evidence is read with expressions of our own: for the node to blame, in all words of a long line."""
    nodes = NodeSet(active=tuple(f"n{number:04d}" for number in range(2000)))
    lines = [(wording.sample + " ") * (65_536 // (len(wording.sample) + 1)) for wording in WORDINGS]
    starts = ("mpi/pmix:", "mpi/pmix: a:", "srun: error: ", "rank ", "[proxy:0@a] ", "Remote daemon: [")
    lines += [start * (65_536 // len(start)) for start in starts]
    lines += [
        "srun: error: " + "a." * 30_000,
        "srun: error: Node failure on n[1-65536] " * 1000,
        "srun: error: Node failure on n[" + "0" * 3000 + "1-16000] ",
    ]

    def work() -> None:
        for line in lines:
            find_suspect([Evidence(kind="log", time=0.0, line=line)], nodes)

    bounded(work, seconds=30)


def test_absurd_lists_of_hosts_blame_nobody() -> None:
    nodes = NodeSet(active=("n1", "n2"))
    line = "srun: error: Node failure on n[2-16000] " * 5
    found = find_suspect([Evidence(kind="log", time=0.0, line=line)], nodes)
    assert found == Suspect(because="unknown: the evidence names more than 65536 hosts")
    for text in ("n[" + "0" * 100 + "1-2]", "n[1-99999999999999999999]"):
        line = f"srun: error: Node failure on {text}"
        assert not find_suspect([Evidence(kind="log", time=0.0, line=line)], nodes).node
