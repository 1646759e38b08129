"""A kind of detection is one module: a made-up one works once it is registered, and no one else names one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import whesl
from whesl import language
from whesl.language.compiler.detection_checks import DetectionCheck
from whesl.language.compiler.syntax import Form
from whesl.language.detections import kinds
from whesl.language.detections.base import Detector, Found, Kind
from whesl.language.detections.kinds import KINDS
from whesl.language.pattern_and_stream_records import Span
from whesl.language.tools import sentences
from whesl.model.evidence import Evidence
from whesl.model.workflow import Task
from whesl.runtime.detect.detectors import Detectors

PACKAGE = Path(whesl.__file__).parent
RULES = """DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE EXCEPTION SUNSPOT JOB_LEVEL JOB [*]
EXCEPTION DETECTION SUNSPOT EXTERNAL
"""
# Counting comes after detection, and is a state of the isolator's own.
ELSEWHERE = {"CountDetection": {"runtime/detect/exception_transformation.py"}}


class Sunspot(Kind, frozen=True, kw_only=True, tag="sunspot"):
    """The job ended with more than so many sunspots."""

    alternatives = ("external",)

    limit: int = 41
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> Sunspot:
        """Return the record."""
        return Sunspot(span=span)

    def sentence(self) -> str:
        """Return what happens."""
        return f"more than {self.limit} spots are seen"

    def detector(self, exception: str, node: str) -> Detector[Sunspot]:
        """Return what counts the spots."""
        return _Spots(exception, node, self)


class _Spots(Detector[Sunspot]):
    def exited(self, code: int, signal: int | None, evidence: Evidence) -> Found:
        return (evidence,) if code == 42 else ()


def test_a_kind_is_registered_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read, checked, said, raised and restored: nothing but the list of kinds is told of it."""
    monkeypatch.setattr(kinds, "KINDS", (*KINDS, Sunspot))
    spec = language.parse(RULES, "rules.esl").spec
    assert spec is not None
    (explained,) = sentences.explain(spec)
    assert [said.text for said in explained.when] == ["more than 41 spots are seen"]

    detectors = Detectors(spec, Task(id="w/t", step="t"), "n1", 0.0)
    assert detectors.exited(41, 1.0) == []
    detectors.new_attempt(2.0)
    (raised,) = detectors.exited(42, 3.0)
    assert raised.exception == "SUNSPOT" and raised.evidence[0].node == "n1"
    detectors.restore(detectors.snapshot(), 4.0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_one_names_a_kind_but_its_module(kind: type[Kind]) -> None:
    own = {f"{kind.__module__.partition('.')[2].replace('.', '/')}.py", "language/detections/kinds.py"}
    # A pattern with a timer is a hang, however it is written.
    own |= {"language/detections/log.py"} if kind.__name__ == "HangDetection" else set()
    assert _naming(kind.__name__) == own | ELSEWHERE.get(kind.__name__, set())


def test_each_kind_says_how_it_is_written_and_what_it_means() -> None:
    alternatives = [alternative for kind in KINDS for alternative in kind.alternatives]
    assert len(alternatives) == len(set(alternatives))
    for kind in KINDS:
        assert kind.alternatives and kind.checked.__func__ is not Kind.checked.__func__  # type: ignore[attr-defined]  # a classmethod
        assert kind.sentence is not Kind.sentence


def _naming(name: str) -> set[str]:
    """Return the modules of the product that have a name in their code."""
    return {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if name in (text := path.read_text())
        and any(
            name in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", ""))
            for node in ast.walk(ast.parse(text))
        )
    }
