"""A specification in sentences: every part of it is said, and in words that are true."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.alike import examples
from tests.language.corpus import DETECT, DETECTIONS, EXAMPLES, HEADER, RECOVER, specifications
from whesl import language
from whesl.language.spec import Spec
from whesl.language.tools.sentences import Explained, explain


def spec_of(text: str) -> Spec:
    result = language.parse(text, "t.esl")
    assert result.spec is not None, [d.message for d in result.diagnostics]
    return result.spec


def one(detection: str = "EXIT ANY", step: str = "NODE.REPLACE", header: str = HEADER) -> Explained:
    text = f"{header}{DETECT}{detection}\n{RECOVER}JOB {step}\n"
    return next(item for item in explain(spec_of(text)) if item.name == "E")


@given(specifications())
@settings(max_examples=examples(60), deadline=None)
@pytest.mark.costly
def test_nothing_is_left_out(text: str) -> None:
    spec = spec_of(text)
    for exception, item in zip(spec.exceptions, explain(spec), strict=True):
        assert (item.name, item.jobs) == (exception.name, exception.jobs)
        assert len(item.when) == len(exception.detections)
        assert len(item.then) == len(exception.steps)
        assert all(said.text and said.place.startswith("t.esl:") for said in (*item.when, *item.then))
        assert item.otherwise


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_can_be_explained(name: str) -> None:
    assert explain(spec_of(EXAMPLES[name]))


@pytest.mark.parametrize(
    ("detection", "sentence"),
    [
        ('LOG "a b" stdout', 'a line of standard output contains "a b"'),
        ('MATCH "a+" file "x" RECURRING 3 WITHIN 9', "a line of the file x matches /a+/, 3 times within 9 s"),
        (
            'MULTIPLE ["a", MATCH "b+"] output WITHIN 90',
            'all of these have been seen in standard output or standard error within 90 s: "a", /b+/',
        ),
        (
            'HANG LOG "cycle" stderr TIMEOUT 120 WARMUP 3600',
            'no line of standard error that contains "cycle" appears for 2 min'
            " (the clock starts with the first, or 1 h after the job)",
        ),
        ("SILENCE TIMEOUT 86400", "the job prints nothing for 1 day"),
        (
            "SILENCE TIMEOUT 600 STOPPED",
            "the job prints nothing for 10 min, while some of its ranks are stopped by a signal",
        ),
        (
            "EXIT ANY EXCEPT CODE 2, 126-127",
            "the job ends with any failure: a status other than 0, or a signal; "
            "but not with status 2 or 126 to 127",
        ),
        ("EXIT CODE 1, 3-5", "the job ends with status 1 or 3 to 5"),
        ("EXIT SIGNAL SEGV, 9", "the job is ended by SIGSEGV (11) or SIGKILL (9)"),
        ('OUTPUT "out/*" MISSING', "the job ends with status 0, and there is no file out/*"),
        ('OUTPUT "out/*" EMPTY', "the job ends with status 0, and a file out/* is empty"),
        (
            'OUTPUT "out/*" OLDER THAN "in/*"',
            "the job ends with status 0, and a file out/* is older than the newest in/*",
        ),
        (
            'OUTPUT "log" NOT LOG "Done"',
            'the job ends with status 0, and no line of a file log contains "Done"',
        ),
        ('SUCCESS IF OUTPUT "out/*"', "the job ends with status 0, and there is no file out/*"),
        (
            'SUCCESS IF OUTPUT "out/*" NOT EMPTY',
            "the job ends with status 0, and there is no file out/*, or a file out/* is empty",
        ),
        (
            'SUCCESS IF OUTPUT "out/*" NEWER THAN "in/*"',
            "the job ends with status 0, and there is no file out/*, "
            "or a file out/* is older than the newest in/*",
        ),
        (
            'SUCCESS IF OUTPUT "log" LOG "Done"',
            "the job ends with status 0, and there is no file log, "
            'or no line of a file log contains "Done"',
        ),
        ("NODE DRAINED", "a node of the job is being taken out of service"),
        ('QUOTA "/h" ABOVE 90.5%', "more than 90.5% of the user's quota on the file system of /h is used"),
        (
            'JOB EXCEPTION "exec" SEVERITY 1',
            "the resource manager raises an exception of type 'exec' of severity 1 or worse on the job",
        ),
        (
            'JOB EXCEPTION "exec" SEVERITY 0',
            "the resource manager raises an exception of type 'exec' of severity 0 on the job",
        ),
    ],
)  # fmt: skip
def test_detections(detection: str, sentence: str) -> None:
    assert detection.split()[0] in {form.split()[0] for form in DETECTIONS}
    assert [said.text for said in one(detection).when] == [sentence]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            'FILESYSTEM.REPLACE {"filesystem": ["/a", "/b"], "defaultpath": "/c",'
            ' "mode": "move", "min_free": 5}',
            ("below /c is moved below the first with room of /a or /b", "5 bytes free"),
        ),
        ('NODE.REPLACE {"node": "${host}"}', ("the node ${host}", "1 h to 24 h", "on the same nodes")),
        ('NODE.REMOVE {"unknown": "fail", "expires": 60, "min_nodes": 2}', ("1 min", "fails", "2 or more")),
        ('NODE.ADD {"count": 2}', ("2 spares of the allocation are taken into use",)),
        ("NODE.ADD", ("a spare of the allocation is taken into use",)),
        ('JOB.ADD {"command": ["a", "b c"], "timeout": 30}', ("a b c is run", "at most 30 s")),
        (
            'JOB.REPLACE {"nodes": 4, "environment": {"A": "1", "B": ""}, "workdir": "/w"}',
            ("gets 4 nodes", "A is set to '1'", "B is taken out", "works in /w"),
        ),
        (
            'JOB.REPLACE {"attempts": [{"command_append": "-b 32"}, {}]}',
            ("at recovery 1: -b 32 stands behind its command; at recovery 2 and later ones: as it is",),
        ),
        ("JOB.REPLACE", ("the task runs again as it is",)),
        ('JOB.REMOVE {"reason": "no input"}', ("skipped and counts as done: no input",)),
        ('FILESYSTEM.ADD {"filesystem": "/a"}', ("may use /a as well",)),
    ],
)  # fmt: skip
def test_steps(step: str, words: tuple[str, ...]) -> None:
    detection = 'MATCH "(?P<host>x)" stdout'
    (said,) = one(detection, step, HEADER.replace('ADD HANDLER "own.handler"', "ADD")).then
    assert said.text.startswith(f"JOB: {step.partition(' ')[0]}: ")
    for word in words:
        assert word in said.text


def test_what_a_new_run_is_given() -> None:
    text = f'{HEADER}{DETECT}EXIT CODE 1\n{RECOVER}SCHEDULER JOB.REPLACE {{"time": 90, "memory": "64G"}}\n'
    (said,) = next(item for item in explain(spec_of(text)) if item.name == "E").then
    assert "its time limit is 90 min; it gets 64G of memory on each node" in said.text


def test_a_handler_is_named() -> None:
    header = HEADER.replace("NODE[ADD, REMOVE, REPLACE]", 'NODE[REPLACE HANDLER "./swap"]')
    assert header != HEADER
    (said,) = one(step='NODE.REPLACE {"x": 1}', header=header).then
    assert said.text == 'JOB: NODE.REPLACE by your handler ./swap with {"x":1}'


def test_budget_and_end() -> None:
    text = HEADER.replace("ELSE FAIL", "LIMIT 5 WITHIN 3600 BACKOFF 10 ELSE ESCALATE LOW", 1)
    item = one(header=text)
    assert (
        item.budget
        == "at most 5 times for each task within 1 h, after a wait of 10 s, then 20 s, then 40 s and so on"
    )
    assert item.otherwise == "LOW is raised instead"
    progress = one(header=HEADER.replace("ELSE FAIL", "LIMIT 5 WITHOUT PROGRESS", 1)).budget
    assert progress.startswith("at most 5 times for each task since it last got further")
    for clause, end in (
        ("ELSE PAUSE", "paused"),
        ("ELSE FAIL", "fails"),
        ("ELSE ESCALATE", "coordinator decides"),
    ):
        assert end in one(header=HEADER.replace("ELSE FAIL", clause, 1)).otherwise


def test_what_the_resource_manager_is_told() -> None:
    item = one(header=HEADER.replace("ELSE FAIL", 'ELSE FAIL RAISE "lost" SEVERITY 3', 1))
    assert "type 'lost' and severity 3" in item.told
    assert one().told == ""
