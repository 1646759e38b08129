"""The policy of ``-e default``: one choice for each class of causes, the one that is the advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl import language
from whesl.language import shipped_policy
from whesl.language.detections.cause import CauseDetection
from whesl.language.rules_file import load_rules
from whesl.language.spec import ExceptionSpec
from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.vocabulary import ADVICE

# What is not done, though another try might end otherwise: somebody wanted its end.
_WANTED = {CauseClass.CANCELLED}
_STEP = {Advice.OTHER_NODES: ["NODE.REPLACE"], Advice.SAME_NODES: ["JOB.REPLACE"]}


def choices() -> dict[CauseClass, list[ExceptionSpec]]:
    found: dict[CauseClass, list[ExceptionSpec]] = {each: [] for each in CauseClass}
    for exception in language.load(shipped_policy.FILE).exceptions:
        for detection in exception.detections:
            for each in detection.classes if isinstance(detection, CauseDetection) else ():
                found[each].append(exception)
    return found


def test_it_is_correct_to_the_last_warning() -> None:
    assert language.parse(Path(shipped_policy.FILE).read_bytes(), shipped_policy.FILE).diagnostics == ()


@pytest.mark.parametrize("cause", CauseClass)
def test_each_cause_has_one_choice_which_is_the_advice(cause: CauseClass) -> None:
    (exception,) = choices()[cause]
    steps = [f"{step.resource}.{step.operation}" for step in exception.steps]
    assert steps == ([] if cause in _WANTED else _STEP.get(ADVICE[cause], []))
    assert not steps or 1 <= exception.limit <= 2


def test_its_name_stands_for_it_unless_a_file_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_rules(("default",), tmp_path / "cache", any_job=True)
    assert loaded is not None and loaded.exceptions
    (tmp_path / "default").write_text("")
    assert shipped_policy.place("default") == "default"


def test_another_file_system_that_is_given_goes_before_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(shipped_policy.FILESYSTEM, "/scratch2/me")
    assert shipped_policy.place("default") == shipped_policy.FILE, "nothing says what it takes the place of"
    monkeypatch.setenv(shipped_policy.OF, "/scratch/me")
    file = shipped_policy.place("default")
    assert language.parse(Path(file).read_bytes(), file).diagnostics == ()
    first, *others = language.load(file).exceptions
    assert [step.operation for step in first.steps] == ["REPLACE"] and first.limit == 1
    assert {each.name for each in others} == {
        each.name for each in language.load(shipped_policy.FILE).exceptions
    }
    assert shipped_policy.observed(("default",), {shipped_policy.OBSERVED: "1"})


def test_a_site_has_it_observe_first() -> None:
    told = {shipped_policy.OBSERVED: "1"}
    assert shipped_policy.observed(("default",), told)
    assert not shipped_policy.observed(("mine.esl",), told)
    assert not shipped_policy.observed(("default",), {})
