"""Planning: arguments, captures, what is refused, and that a plan survives its journal."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.operations.builders import context, evidence, raised, spec, step
from whesl.language.spec import Entity
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_plan import (
    RecoveryError,
    make_plan,
    substitute,
)


def test_a_plan_survives_its_journal() -> None:
    plan = make_plan(
        spec(("FILESYSTEM.REPLACE", {"filesystem": "/new", "defaultpath": "/old"}), ("NODE.REPLACE", {})),
        raised(evidence("srun: error: Node failure on n02")),
        context(),
    )
    assert msgspec.json.decode(msgspec.json.encode(plan), type=tuple[PlanStep, ...]) == plan
    assert msgspec.convert(msgspec.to_builtins(plan[0]), PlanStep) == plan[0]
    assert [step.id for step in plan] == ["w/step_1#1.0", "w/step_1#1.1"]
    assert [step.suspect for step in plan] == ["", "n02"]


def test_only_the_job_s_own_steps() -> None:
    wms = spec(("FILESYSTEM.REPLACE", {"filesystem": "/n", "defaultpath": "/o"}), entity=Entity.WMS)
    assert make_plan(wms, raised(), context()) == ()


def test_an_unknown_exception_is_a_clear_error() -> None:
    with pytest.raises(RecoveryError, match="NOPE is not in"):
        make_plan(spec(), raised(exception="NOPE"), context())


def test_captures_and_built_in_names() -> None:
    made = step(
        "JOB.ADD",
        {"command": "clean --node ${node} --rank=${rank} ${task} ${step} ${workspace} ${attempt} $${HOME}"},
        evidence("rank 7 failed", captures={"rank": "7"}, node="n03"),
    )
    assert made.arguments["command"] == [
        "clean", "--node", "n03", "--rank=7", "w/step_1", "step", "/old/w", "1", "${HOME}",
    ]  # fmt: skip


def test_a_capture_adds_no_word_and_is_not_read_again() -> None:
    hostile = "x; rm -rf / ${workspace} 'y"
    made = step("JOB.ADD", {"command": "echo ${text}"}, evidence(captures={"text": hostile}))
    assert made.arguments["command"] == ["echo", hostile]


def test_the_latest_capture_wins_and_captures_win_over_built_ins() -> None:
    made = step(
        "JOB.ADD",
        {"command": ["echo", "${a}", "${step}"]},
        evidence(captures={"a": "late", "step": "mine"}, time=20.0),
        evidence(captures={"a": "early"}, time=10.0),
    )
    assert made.arguments["command"] == ["echo", "late", "mine"]


def test_a_missing_capture_says_where_and_what_is_known() -> None:
    with pytest.raises(RecoveryError, match=r"rules\.esl:3: JOB\.ADD of E: \$\{rank\}.*known: .*workspace"):
        step("JOB.ADD", {"command": ["echo", "${rank}"]})


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("FILESYSTEM.REPLACE", {"filesystem": "/n"}, "defaultpath"),
        ("FILESYSTEM.REPLACE", {"filesystem": [], "defaultpath": "/o"}, "at least one"),
        ("FILESYSTEM.REPLACE", {"filesystem": "<root>", "defaultpath": "/o"}, "absolute"),
        ("FILESYSTEM.REPLACE", {"filesystem": "/n\ud800", "defaultpath": "/o"}, "not valid text"),
        ("FILESYSTEM.REPLACE", {"filesystem": "/n/../m", "defaultpath": "/o"}, r"'\.\.'"),
        ("FILESYSTEM.REPLACE", {"filesystem": "/n", "defaultpath": "/"}, "root directory"),
        ("FILESYSTEM.REPLACE", {"filesystem": "/n", "defaultpath": "/o", "mode": "copy"}, "mode"),
        ("FILESYSTEM.REPLACE", {"filesystem": "/n", "defaultpath": "/o", "min_free": -1}, "negative"),
        ("FILESYSTEM.REPLACE", {"filesystem": "/n", "defaultpath": "/o", "signal": "SIGNOPE"}, "SIGNOPE"),
        ("NODE.REPLACE", {"unknown": "guess"}, "unknown"),
        ("NODE.ADD", {"count": 0}, "at least 1"),
        ("NODE.REPLACE", {"nodes": 3}, "nodes"),
        ("JOB.ADD", {}, "command"),
        ("JOB.ADD", {"command": "a && b"}, "no shell"),
        ("JOB.ADD", {"command": "a > b"}, "no shell"),
        ("JOB.ADD", {"command": "a 'b"}, "quotation"),
    ],
)
def test_bad_arguments_are_refused(name: str, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(RecoveryError, match=said):
        step(name, arguments)


def test_arguments_are_completed_and_typed() -> None:
    made = step(
        "FILESYSTEM.REPLACE",
        {"filesystem": "/n//x/", "defaultpath": "/o/.", "min_free": "${size}", "signal": "usr1"},
        evidence(captures={"size": "4096"}),
    )
    assert made.arguments["filesystem"] == ["/n/x"]
    assert (made.arguments["defaultpath"], made.arguments["min_free"]) == ("/o", 4096)
    assert (made.arguments["signal"], made.arguments["mode"]) == (10, "link")


def test_quoted_operators_are_words() -> None:
    made = step("JOB.ADD", {"command": "echo 'a && b' \"c > d\" #x"})
    assert made.arguments["command"] == ["echo", "a && b", "c > d", "#x"]


def test_custom_handlers_take_any_arguments() -> None:
    made = step("NODE.REPLACE", {"anything": {"deep": ["${attempt}"]}}, handler="mine")
    assert made.arguments == {"anything": {"deep": ["1"]}}
    assert made.handler == "mine"


@given(st.text(), st.dictionaries(st.text(min_size=1), st.text()))
def test_substitution_is_total_or_a_value_error(text: str, values: dict[str, str]) -> None:
    try:
        result = substitute(text, values)
    except ValueError:
        assert "${" in text
        return
    if "${" not in text:
        assert result == text
