"""INCLUDE: what it brings in, what is watched of it, and where findings about it point."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whesl import language
from whesl.language import library
from whesl.language.compiler.includes import MAX_DEPTH, MAX_FILES
from whesl.language.detections.log import LogDetection
from whesl.language.diagnostics import Diagnostic
from whesl.language.pattern_and_stream_records import Stream
from whesl.language.result import Result, render_all
from whesl.language.spec import Level, Spec

HEAD = "DECLARE ENTITY JOB\nDECLARE EXCEPTION_TYPE JOB_LEVEL\nDECLARE RESOURCE NODE[REPLACE]\n"
STEP = "EXCEPTION RECOVERY STEP {} JOB NODE.REPLACE\n"
SITE = """\
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE EXCEPTION FLAP JOB_LEVEL JOB [*] LIMIT 7 ELSE FAIL
EXCEPTION DETECTION FLAP LOG "link flap" stderr
DECLARE EXCEPTION UNUSED JOB_LEVEL JOB [*] ELSE FAIL
EXCEPTION DETECTION UNUSED LOG "never mind" stderr
"""


def check(tmp_path: Path, text: str, **files: str) -> Result:
    for name, content in files.items():
        (tmp_path / f"{name}.esl").write_text(content)
    return language.parse(text, str(tmp_path / "rules.esl"))


def accepted(result: Result) -> Spec:
    assert [d for d in result.diagnostics if d.severity == "error"] == []
    assert result.spec is not None
    return result.spec


def finding(result: Result) -> Diagnostic:
    (found,) = result.diagnostics
    return found


def test_a_recovery_step_is_enough(tmp_path: Path) -> None:
    result = check(tmp_path, f'INCLUDE "site.esl"\n{HEAD}{STEP.format("FLAP")}', site=SITE)
    assert result.diagnostics == ()
    (exception,) = accepted(result).exceptions
    assert (exception.name, exception.jobs, exception.limit) == ("FLAP", ("*",), 7)
    (detection,) = exception.detections
    assert detection.span.file == exception.span.file == str(tmp_path / "site.esl")
    assert (detection.span.line, detection.span.column) == (3, 1)
    assert exception.steps[0].span.file is None


def test_the_files_own_declaration_counts(tmp_path: Path) -> None:
    own = "DECLARE EXCEPTION FLAP JOB_LEVEL JOB [solve] LIMIT 2\n"
    (exception,) = accepted(
        check(tmp_path, f'INCLUDE "site.esl"\n{HEAD}{own}{STEP.format("FLAP")}', site=SITE)
    ).exceptions
    assert (exception.jobs, exception.limit, exception.span.file) == (("solve",), 2, None)
    assert len(exception.detections) == 1


def test_own_detections_come_first_and_add_up(tmp_path: Path) -> None:
    own = 'EXCEPTION DETECTION FLAP LOG "lost carrier" stdout\n'
    (exception,) = accepted(check(tmp_path, f'INCLUDE "site.esl"\n{HEAD}{own}', site=SITE)).exceptions
    texts = [d.patterns[0].text for d in exception.detections if isinstance(d, LogDetection)]
    assert texts == ["lost carrier", "link flap"]


@pytest.mark.parametrize(
    "use",
    [
        "DECLARE EXCEPTION BAD JOB_LEVEL JOB [a]\nEXCEPTION DETECTION BAD EXCEPTION FLAP 3 TIMES\n",
        "DECLARE EXCEPTION BAD JOB_LEVEL JOB [a] ELSE ESCALATE FLAP\nEXCEPTION DETECTION BAD EXIT CODE 1\n",
    ],
    ids=["counted", "escalated to"],
)
def test_what_is_counted_or_escalated_to_is_watched(tmp_path: Path, use: str) -> None:
    result = check(tmp_path, f'INCLUDE "site.esl"\n{HEAD}{use}{STEP.format("BAD")}', site=SITE)
    assert [e.name for e in accepted(result).exceptions] == ["BAD", "FLAP"]


def test_what_is_only_included_costs_nothing(tmp_path: Path) -> None:
    result = check(tmp_path, f'INCLUDE "site.esl"\n{HEAD}', site=SITE)
    assert accepted(result).exceptions == ()
    assert finding(result).code == "ESL046"
    assert "when a recovery step or a declaration names it" in finding(result).hint


def test_a_policy_of_the_site_with_recoveries_is_followed(tmp_path: Path) -> None:
    policy = f'INCLUDE "site.esl"\n{HEAD}{STEP.format("FLAP")}'
    spec = accepted(check(tmp_path, 'INCLUDE "policy.esl"\n', policy=policy, site=SITE))
    assert [e.name for e in spec.exceptions] == ["FLAP"]
    assert len(spec.exceptions[0].steps) == 1


def test_a_policy_overrides_what_it_includes_itself(tmp_path: Path) -> None:
    policy = f'DECLARE EXCEPTION FLAP JOB_LEVEL JOB [x] LIMIT 9\nINCLUDE "site.esl"\n{HEAD}'
    result = check(tmp_path, f'INCLUDE "policy.esl"\n{STEP.format("FLAP")}', policy=policy, site=SITE)
    assert accepted(result).exceptions[0].limit == 9


def test_two_files_that_disagree(tmp_path: Path) -> None:
    other = SITE.replace("LIMIT 7", "LIMIT 8").replace("link flap", "carrier")
    text = f'INCLUDE "site.esl"\nINCLUDE "other.esl"\n{HEAD}'
    result = check(tmp_path, text + STEP.format("FLAP"), site=SITE, other=other)
    assert (finding(result).code, finding(result).file) == ("ESL029", str(tmp_path / "other.esl"))
    assert "site.esl" in finding(result).message
    # Nobody has to care about what is not used, and one's own declaration settles it.
    assert [d.code for d in check(tmp_path, text).diagnostics] == ["ESL046"]
    own = "DECLARE EXCEPTION FLAP JOB_LEVEL JOB [a]\n"
    assert len(accepted(check(tmp_path, text + own + STEP.format("FLAP"))).exceptions[0].detections) == 2


def test_findings_point_into_the_file(tmp_path: Path) -> None:
    broken = "# fine\nDECLRE ENTITY JOB\n" + SITE.replace("stderr", "stder", 1)
    result = check(tmp_path, f'INCLUDE "./site.esl"\n{HEAD}{STEP.format("NONE")}', site=broken)
    assert [(Path(d.file).name, d.line, d.code) for d in result.diagnostics] == [
        ("rules.esl", 5, "ESL034"),
        ("site.esl", 2, "ESL011"),
        ("site.esl", 5, "ESL010"),
    ]
    assert "  2 | DECLRE ENTITY JOB" in render_all(result)[1]
    assert "5 | EXCEPTION RECOVERY STEP NONE" in render_all(result)[0]


def test_relative_paths_start_from_their_own_file(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "a.esl").write_text('INCLUDE "deep/b.esl"\n')
    (tmp_path / "sub" / "deep" / "b.esl").write_text('INCLUDE "../../site.esl"\n')
    spec = accepted(check(tmp_path, f'INCLUDE "sub/a.esl"\n{HEAD}{STEP.format("FLAP")}', site=SITE))
    assert spec.exceptions[0].name == "FLAP"


def test_each_file_is_read_once(tmp_path: Path) -> None:
    twice = f'INCLUDE "a.esl"\nINCLUDE "site.esl"\nINCLUDE "./site.esl"\n{HEAD}{STEP.format("FLAP")}'
    spec = accepted(check(tmp_path, twice, a='INCLUDE "site.esl"\n', site=SITE))
    assert len(spec.exceptions[0].detections) == 1


def test_patterns_look_where_the_statement_says(tmp_path: Path) -> None:
    text = f'INCLUDE "a.esl" file "/var/log/messages"\nINCLUDE "site.esl" output\n{HEAD}{STEP.format("FLAP")}'
    spec = accepted(check(tmp_path, text, a='INCLUDE "site.esl"\n', site=SITE))
    sources = [d.source for d in spec.exceptions[0].detections if isinstance(d, LogDetection)]
    assert [(s.stream, s.path) for s in sources] == [
        (Stream.FILE, "/var/log/messages"),
        (Stream.OUTPUT, None),
    ]


def test_a_handler_of_an_included_file_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "node.esl").write_text(
        'DECLARE RESOURCE NODE[REPLACE HANDLER "./swap", ADD HANDLER "pool"]\n'
    )
    text = f'INCLUDE "site/node.esl"\nINCLUDE "site.esl"\nDECLARE ENTITY JOB\n{STEP.format("FLAP")}'
    (node,) = accepted(check(tmp_path, text, site=SITE)).resources
    assert [o.handler for o in node.operations] == [f"{tmp_path}/site/./swap", "pool"]
    own = text + "DECLARE RESOURCE NODE[REPLACE]\n"
    assert accepted(check(tmp_path, own)).resources[0].operations[0].handler is None


def test_circles(tmp_path: Path) -> None:
    result = check(tmp_path, 'INCLUDE "a.esl"\n', a='INCLUDE "b.esl"\n', b='# here\nINCLUDE "a.esl"\n')
    (found,) = (d for d in result.diagnostics if d.code != "ESL046")
    assert (found.code, Path(found.file).name, found.line) == ("ESL019", "b.esl", 2)
    assert "a.esl -> b.esl -> a.esl" in found.hint
    (tmp_path / "rules.esl").write_text('INCLUDE "rules.esl"\n')
    assert check(tmp_path, 'INCLUDE "rules.esl"\n').diagnostics[0].code == "ESL019"


def test_depth_and_number_are_limited(tmp_path: Path) -> None:
    for number in range(MAX_DEPTH + 2):
        (tmp_path / f"n{number}.esl").write_text(f'INCLUDE "n{number + 1}.esl"\n')
    result = check(tmp_path, 'INCLUDE "n0.esl"\n')
    assert "deep" in result.diagnostics[0].message
    for number in range(MAX_FILES + 1):
        (tmp_path / f"m{number}.esl").write_text("")
    text = "".join(f'INCLUDE "m{number}.esl"\n' for number in range(MAX_FILES + 1))
    found = [d for d in check(tmp_path, text).diagnostics if d.code == "ESL019"]
    assert [d.line for d in found] == [MAX_FILES + 1]


def test_an_unknown_library(tmp_path: Path) -> None:
    found = finding(check(tmp_path, f'INCLUDE "slrum"\n{HEAD}{STEP.format("X")}'))
    assert (found.code, found.hint) == ("ESL017", "did you mean slurm?")
    assert "mpi" in finding(check(tmp_path, f'INCLUDE "zzzzzz"\n{STEP.format("X")}')).hint


def test_an_exception_of_a_library_that_is_not_included(tmp_path: Path) -> None:
    assert finding(check(tmp_path, HEAD + STEP.format("SOFT_LOCKUP"))).hint == 'add: INCLUDE "kernel"'
    assert finding(check(tmp_path, HEAD + STEP.format("NODE_FAIL"))).hint == 'add: INCLUDE "flux" or "slurm"'
    assert "DECLARE EXCEPTION names it" in finding(check(tmp_path, HEAD + STEP.format("NONE"))).hint


def test_files_that_cannot_be_included(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.esl")
    (tmp_path / "dir.esl").mkdir()
    (tmp_path / "wide.esl").write_bytes("DECLARE ENTITY JOB\n".encode("utf-16"))
    cases = {"missing.esl": "No such file", "pipe.esl": "regular", "dir.esl": "directory", "": "empty"}
    for name, reason in cases.items():
        found = check(tmp_path, f'INCLUDE "{name}"\n{STEP.format("FLAP")}').diagnostics
        assert [d.code for d in found] == ["ESL018" if name else "ESL047"], name
        assert reason in found[0].message
    (found_wide,) = check(tmp_path, 'INCLUDE "wide.esl"\n' + STEP.format("FLAP")).diagnostics
    assert (found_wide.code, Path(found_wide.file).name) == ("ESL001", "wide.esl")


def test_a_misspelled_statement_does_not_make_everything_undeclared(tmp_path: Path) -> None:
    assert [
        d.code for d in check(tmp_path, f"INCLUDE mpi\n{HEAD}{STEP.format('MPI_ABORT')}").diagnostics
    ] == ["ESL010"]


def test_jobs_of_included_files_may_be_of_another_workflow(tmp_path: Path) -> None:
    from whesl.model.workflow import Task, Workflow

    site = SITE.replace("FLAP JOB_LEVEL JOB [*]", "FLAP JOB_LEVEL JOB [of-another-workflow]")
    (tmp_path / "site.esl").write_text(site)
    workflow = Workflow(id="w", name="w", wms="batch", root="/", tasks=(Task(id="w/a", step="a"),))
    text = f'INCLUDE "site.esl"\n{HEAD}{STEP.format("FLAP")}'
    assert language.parse(text, str(tmp_path / "rules.esl"), workflow).ok


def test_the_short_way(tmp_path: Path) -> None:
    text = 'INCLUDE "mpi"\nDECLARE ENTITY JOB\nDECLARE RESOURCE NODE[REPLACE]\n' + STEP.format(
        "MPI_RANK_DIED"
    )
    result = check(tmp_path, text)
    assert result.diagnostics == ()
    (exception,) = accepted(result).exceptions
    assert exception.level is Level.JOB_LEVEL
    assert {d.span.file for d in exception.detections} == {"<openmpi>", "<mpich>"}
    assert set(library.names()) >= {
        "cuda",
        "disk",
        "flux",
        "gpfs",
        "kernel",
        "lustre",
        "mpi",
        "nccl",
        "slurm",
        "torch",
    }
