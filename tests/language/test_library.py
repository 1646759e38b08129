"""The pattern library: each pattern has a source and samples, run by both engines; no false alarms."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest

from tests.language.corpus import ROOT
from whesl import language
from whesl.language import library
from whesl.language.detections.log import LogDetection
from whesl.language.pattern_and_stream_records import Pattern
from whesl.language.spec import Spec
from whesl.language.tools import sample_comments
from whesl.language.tools.sample_comments import Note, Sample
from whesl.runtime.detect import sample_lines as running
from whesl.runtime.detect.matcher import compile_patterns

SYSLOG = ROOT.parent / "shared" / "data" / "syslog"
LIBRARIES = [name for name in library.names() if name != "mpi"]  # which has no patterns of its own


def load(name: str) -> tuple[bytes, Spec]:
    content = library.place(name).read_bytes()
    result = language.parse(content, str(library.place(name)))
    assert result.diagnostics == ()
    assert result.spec is not None
    return content, result.spec


def every_pattern() -> dict[Pattern, str]:
    return {
        pattern: f"{name}: {exception.name}"
        for name in LIBRARIES
        for exception in load(name)[1].exceptions
        for detection in exception.detections
        if isinstance(detection, LogDetection)
        for pattern in detection.patterns
    }


@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_samples(name: str, engine: str) -> None:
    content, spec = load(name)
    count, failures = running.run(spec, sample_comments.read(content, name), engine)
    assert [failure.text for failure in failures] == []
    assert count >= 4


@pytest.mark.parametrize("name", LIBRARIES)
def test_everything_is_said_about_everything(name: str) -> None:
    content, spec = load(name)
    notes = sample_comments.read(content, name)
    assert all(notes.exceptions[exception.name].about for exception in spec.exceptions)
    lines = {d.span.line for e in spec.exceptions for d in e.detections if isinstance(d, LogDetection)}
    for note in notes.detections:
        assert note.source, note
        if note.line in lines:
            assert note.sees, note
            assert note.ignores, note


def test_libraries_agree_on_the_exceptions_that_they_share() -> None:
    text = "".join(f'INCLUDE "{name}"\n' for name in library.names())
    names = {exception.name for name in LIBRARIES for exception in load(name)[1].exceptions}
    steps = "".join(f"EXCEPTION RECOVERY STEP {name} JOB NODE.REPLACE\n" for name in sorted(names))
    result = language.parse(f"{text}DECLARE ENTITY JOB\nDECLARE RESOURCE NODE[REPLACE]\n{steps}", "all.esl")
    assert result.diagnostics == ()
    assert result.spec is not None
    assert {exception.name for exception in result.spec.exceptions} == names


def test_a_sample_of_one_library_is_a_false_alarm_of_no_other() -> None:
    """What a pattern sees is its own exception's, or of one that belongs to it."""
    related = {("MACHINE_CHECK", "KERNEL_PANIC")}
    patterns = every_pattern()
    matcher = compile_patterns(tuple(patterns))
    for name in LIBRARIES:
        for note in sample_comments.read(load(name)[0], name).detections:
            for sample in note.sees:
                for match in matcher.open().feed(sample.text.encode() + b"\n", 0):
                    seen = patterns[matcher.patterns[match.pattern]].partition(": ")[2]
                    assert seen == note.exception or (note.exception, seen) in related, sample


@pytest.mark.skipif(not SYSLOG.is_dir(), reason="the system logs are not on this machine")
@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
def test_no_false_alarms_in_real_system_logs(engine: str) -> None:
    """6,000 lines of three machines; the first word of a line says what its administrators called it."""
    patterns = every_pattern()
    matcher = compile_patterns(tuple(patterns), engine)
    hits = []
    for path in sorted(SYSLOG.glob("*_2k.log.xz")):
        with lzma.open(path) as file:
            hits += [
                (path.name, patterns[matcher.patterns[match.pattern]], match.line.decode())
                for match in matcher.open().feed(file.read() + b"\n", 0)
            ]
    # One, and it is right: a job could not enter its directory.
    ((log, name, line),) = hits
    assert (log, name) == ("BGL_2k.log.xz", "disk: DISK_ERROR")
    assert line.startswith("APPOUT ")
    assert "failed: Input/output error" in line


def test_the_samples_of_a_site(tmp_path: Path) -> None:
    text = """\
DECLARE EXCEPTION_TYPE JOB_LEVEL
#: The link went up and down.
DECLARE EXCEPTION FLAP JOB_LEVEL JOB [*] ELSE FAIL
#: source our switches
#: sees eth0: link flap
#: sees eth0: all is well
#: ignores link flapping is normal
EXCEPTION DETECTION FLAP ANY ["link flap", "carrier lost"] output
#: sees anything
EXCEPTION DETECTION FLAP EXIT CODE 1
"""
    notes = sample_comments.read(text, "t.esl")
    assert notes.exceptions["FLAP"].about == "The link went up and down."
    assert notes.detections[0] == Note(
        exception="FLAP",
        line=8,
        source="our switches",
        sees=(Sample("eth0: link flap", 5), Sample("eth0: all is well", 6)),
        ignores=(Sample("link flapping is normal", 7),),
    )
    spec = language.parse(text, "t.esl").spec
    assert spec is not None
    count, failures = running.run(spec, notes)
    assert count == 4
    assert [failure.line for failure in failures] == [6, 7, 8, 9]


@pytest.mark.parametrize("name", LIBRARIES)
def test_sources_can_be_looked_up(name: str) -> None:
    """A repository with a path, an address, or whose words they are where there is no public source."""
    known = re.compile(
        r"(?:[\w.-]+/[\w.-]+(?: [\w.-]+)?(?: \(.*?\))?(?:, | and )|https://|glibc, E\w+"
        r"|CUDA runtime, cuda|HPE PALS;|nvidia-smi|IBM, |whesl: |the same page )"
    )
    for note in sample_comments.read(load(name)[0], name).detections:
        assert known.match(note.source), note.source
