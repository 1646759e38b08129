"""The suite itself: its cases, what is done when, what is called a difference, and the table of those."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.neutrality import progress
from tests.neutrality.cases import FEATURES, NAMED, brief, generated, smaller, spread
from tests.neutrality.comparing import Known, defects, differences, mended, shown, unknown
from tests.neutrality.composing import RULES, features_of, fits, job_of, submits
from tests.neutrality.judging import Repeated, repeated
from tests.neutrality.observing import Places, fields, labels, outcome
from tests.neutrality.records import WAYS, Act, Case, Outcome, When
from tests.neutrality.running import PLAIN
from whesl import language
from whesl.managers.workflow.wrapping_changes import CHANGES, concerning, page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "what-wrapping-changes.md"


def test_each_feature_is_in_a_case_and_each_case_can_be_written() -> None:
    assert len(NAMED) >= 150
    assert len({case.name for case in NAMED}) == len(NAMED)
    assert {name for case in NAMED for name in case.features} == set(FEATURES)
    for case in (*NAMED, *(case for cases in brief().values() for case in cases)):
        assert fits(features_of(case, FEATURES)), case
    assert set(brief()) <= {way.name for way in WAYS}


def test_each_case_is_run_in_both_main_ways_and_the_others_take_turns() -> None:
    pairs = spread(NAMED, WAYS)
    programs = sum(submits(features_of(case, FEATURES)) for case in NAMED)
    assert len(pairs) == 3 * len(NAMED) - 2 * programs == len({(case.name, way.name) for case, way in pairs})
    assert {way.name for _, way in pairs} == {way.name for way in WAYS}
    assert [way.name for _, way in spread(NAMED[:2], WAYS[:1])] == ["run", "run"]


def test_the_same_seed_gives_the_same_combinations() -> None:
    assert generated(7, 50) == generated(7, 50)
    assert generated(7, 50) != generated(8, 50)
    assert generated(7, 20) == generated(7, 50)[:20]
    assert all(fits(features_of(case, FEATURES)) for case in generated(7, 50))


def test_the_rules_that_never_match_are_rules() -> None:
    for text in RULES.values():
        assert language.parse(text.encode(), "rules.esl", None).ok


def test_a_smaller_case_lacks_one_feature() -> None:
    case = Case(name="x", features=("python", "python-facts", "nodes-2"))
    assert [one.features for one in smaller(case)] == [("python", "nodes-2"), ("python", "python-facts")], (
        "without its interpreter the text would be another language's"
    )


def test_only_the_call_differs_between_the_scripts_around_a_command() -> None:
    case = Case(name="x", features=("trap-USR1", "arguments"))
    plain = job_of(case, FEATURES, PLAIN["exec"])
    wrapped = job_of(case, FEATURES, WAYS[3], b"whesl exec --")
    assert wrapped.script.replace(b"whesl exec -- ", b"") == plain.script
    assert wrapped.files == plain.files
    assert plain.script.splitlines()[-1] == b"exec \"$PWD/app\" 'one' 'two words' '' 'it'\\''s' '-x' '--'"


def test_a_job_without_a_script_has_its_options_in_the_call() -> None:
    case = Case(name="x", features=("call-wrap", "comment", "facts"))
    wrapped = job_of(case, FEATURES, WAYS[3], b"whesl exec --")
    assert wrapped.wrap and wrapped.script == b"whesl exec -- ./app"
    assert wrapped.command == ("--comment=my own comment", "--time=10")


@pytest.mark.parametrize(("later", "differs"), [("3.0", False), ("31.0", True)])
def test_a_signal_that_comes_much_later_is_a_difference(later: str, differs: bool) -> None:
    plain = Outcome(aspects={"when:got-TERM": "0.4"})
    wrapped = Outcome(aspects={"when:got-TERM": later})
    assert bool(differences(plain, wrapped)) == differs
    assert not differences(wrapped, plain), "a plain job that is late is no matter of wrapping"


def job(**more: str) -> Mapping[str, str]:
    return {"JobId": "710001", "JobState": "RUNNING", "BatchHost": "n03", "NodeList": "n[03-04]", **more}


def test_an_act_waits_for_what_it_names() -> None:
    act = Act(when=When.MARK, mark="ready", do=("scancel", "{job}", "{host}", "{node}", "{place}", "{other}"))
    assert not progress.due(act, progress.Seen(jobs=()))
    assert not progress.due(act, progress.Seen(jobs=(job(),), files=("other",)))
    seen = progress.Seen(jobs=(job(ArrayJobId="710000"),), files=("ready",))
    assert progress.due(act, seen)
    assert progress.command(act, seen, "/w/twin-1", ("n03", "n04")) == (
        "scancel",
        "710000",
        "n03",
        "n04",
        "/w/twin-1",
        "{other}",
    )
    again = Act(when=When.AGAIN, do=("x",))
    assert not progress.due(again, progress.Seen(jobs=(job(JobState="PENDING", Restarts="0"),)))
    assert progress.due(again, progress.Seen(jobs=(job(JobState="PENDING", Restarts="1"),)))
    assert progress.due(Act(when=When.SUSPENDED, do=("x",)), progress.Seen(jobs=(job(JobState="SUSPENDED"),)))


@pytest.mark.parametrize(
    ("state", "reason", "over"),
    [
        ("COMPLETED", "None", True),
        ("PENDING", "DependencyNeverSatisfied", True),
        ("PENDING", "Resources", False),
        ("COMPLETING", "None", False),
    ],
)
def test_a_job_that_can_never_begin_has_ended(state: str, reason: str, over: bool) -> None:
    assert progress.ended(job(JobState=state, Reason=reason)) == over


def test_fields_with_spaces_and_colons() -> None:
    found = fields(
        "JobId=7 JobName=two words UserId=root(0) AllocNode:Sid=vm:1 Comment=a=b c CPUs/Task=1 Power= "
    )
    assert found == {
        "JobId": "7",
        "JobName": "two words",
        "UserId": "root(0)",
        "AllocNode:Sid": "vm:1",
        "Comment": "a=b c",
        "CPUs/Task": "1",
        "Power": "",
    }


def test_ids_times_and_places_are_no_difference() -> None:
    """Of two runs of one job everything has another name."""

    def seen(first: int, place: str, node: str) -> Outcome:
        jobs: list[Mapping[str, str]] = [
            {
                "JobId": str(first),
                "ArrayJobId": str(first + 1),
                "ArrayTaskId": "0",
                "NodeList": node,
                "StartTime": place,
            },
            {"JobId": str(first + 1), "ArrayJobId": str(first + 1), "ArrayTaskId": "1", "NodeList": node},
        ]
        places = Places(directories=((place, "<place>"),), jobs=labels(jobs), nodes=[(node,)])
        message = (
            f"error: *** STEP {first}.{first % 3} ON {node} CANCELLED AT 2026-01-01T10:00:0{first % 9} ***"
        )
        text = f"{place}/a {first} on {node}\nslurmstepd-{node}: {message}\n"
        files = {f"out-00{first}": text.encode(), "environment": f"A={place}\0PPID={first}\0".encode()}
        steps = [
            (str(first), "batch", "batch COMPLETED 0:0"),
            (str(first), str(first % 5), "sh COMPLETED 0:0"),
        ]
        return outcome(jobs, steps, files, {"signals": 0.3}, [], places, "taken")

    one, other = seen(710001, "/w/1", "n01"), seen(710107, "/w/22", "n05")
    assert one == other
    assert one.aspects["file:out-<job 1_0>"] == "<place>/a <job 1_0> on <node 1>\n"
    assert one.aspects["step:1_0:0"] == "sh COMPLETED 0:0"
    assert "env:environment:PPID" not in one.aspects


def test_steps_of_agents_stand_apart() -> None:
    steps = [("710001", "0", "whesl-abc CANCELLED 0:9 1 1"), ("710001", "1", "sh COMPLETED 0:0 2 2")]
    places = Places(directories=(), jobs={"710001": "1"}, nodes=())
    found = outcome([], steps, {}, {}, [], places, "taken").aspects
    assert found == {"submitted": "taken", "agents:1": "a step", "step:1:0": "sh COMPLETED 0:0 2 2"}


def test_what_differs_is_new_known_mended_or_a_row_of_the_table() -> None:
    plain = Outcome(aspects={"job:1:ExitCode": "0:0", "env:e:PATH": "a", "file:out": "a\nb\n"})
    wrapped = Outcome(
        aspects={"job:1:ExitCode": "0:10", "env:e:PATH": "w:a", "file:out": "a\nc\n", "env:e:WHESL_TASK": "x"}
    )
    found = defects(differences(plain, wrapped), ())
    assert [one.aspect for one in found] == ["file:out", "job:1:ExitCode"]
    assert [one.aspect for one in defects(found, ("file:*",))] == ["job:1:ExitCode"]
    exits = Known(cases=("trap-*",), aspects=("job:*:ExitCode",), reason="")
    other = Known(cases=("trap-*",), aspects=("job:*:JobState",), reason="")
    elsewhere = Known(cases=("nothing",), aspects=("*",), reason="")
    assert [one.aspect for one in unknown("trap-USR1", "run", found, [exits])] == ["file:out"]
    assert len(unknown("trap-USR1", "exec", found, [exits])) == 2
    assert mended({("trap-USR1", "run"): found}, [exits, other, elsewhere]) == (other,)
    assert "'-b'" in shown(found)
    assert "plain '0:0', wrapped '0:10'" in shown(found)


@pytest.mark.parametrize(
    ("second", "control", "kind"),
    [
        ("ab", "", Repeated.AGAIN),
        ("ab", "a", Repeated.AGAIN),
        ("", "", Repeated.ONCE),
        ("a", "a", Repeated.CHANCE),
    ],
)
def test_a_difference_between_plain_runs_is_chance(second: str, control: str, kind: Repeated) -> None:
    assert repeated(frozenset("ab"), frozenset(second), frozenset(control)) is kind


def test_a_comment_that_looks_like_a_field_is_none() -> None:
    """A remark that quoted a script's last line, "Command=", hid the job's own field."""
    seen = fields("JobId=1 Command=/a/job.sh WorkDir=/a Comment= [whesl] by Command=  StdOut=/a/o")
    assert (seen["Command"], seen["StdOut"]) == ("/a/job.sh", "/a/o")


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text() == page(), "python -m tests.neutrality --page > docs/what-wrapping-changes.md"
    assert len({change.name for change in CHANGES}) == len(CHANGES)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("export PATH=/opt/bin:/bin", "path"),
        ("PATH=/bin ./x", "path"),
        ("ulimit -a", "memory-limit"),
        ("x=$(ulimit -S -m)", "memory-limit"),
        ("scancel ${SLURM_JOB_ID}.0", "agents"),
        ("sstat -j $SLURM_JOBID.0", "agents"),
        ("sacct -j $SLURM_JOB_ID", "flux-inside"),
        ("whesl exec -e r.esl -- ./app | head", "passed-on"),
    ],
)
def test_a_line_that_meets_a_change_is_named(line: str, name: str) -> None:
    found = concerning(f"#!/bin/bash\n{line}\n")
    assert [(notice.change.name, notice.line) for notice in found] == [
        (name, 0 if line.startswith("#") else 2)
    ]
    assert found[0].change.what in found[0].sentence("job.sh")


@pytest.mark.parametrize(
    "line",
    [
        "export PATH=/opt/bin:$PATH",
        'PATH="${PATH}:/x"',
        "ulimit -c 0",
        "# PATH=/bin",
        "LD_LIBRARY_PATH=/x",
        "echo $SLURM_JOB_ID",
    ],
)
def test_other_lines_are_not(line: str) -> None:
    assert concerning(f"#!/bin/bash\n{line}\n") == ()
