"""What is reached on the logs of the corpus; docs/why.md has what was reached before a log was looked at."""

from __future__ import annotations

import pytest

from tests.alike import alike
from tests.runtime.diagnose.corpus.composing import cases
from tests.runtime.diagnose.corpus.measuring import Answer, score
from tests.runtime.diagnose.corpus.short import Short, shorts
from tests.runtime.diagnose.logs import told, why
from whesl.runtime.diagnose.vocabulary import Outcome


def answer(text: str) -> Answer:
    diagnosis = why(text)
    if diagnosis.cause is None:
        return 0, "", "", None, None
    finding = diagnosis.cause.finding
    assert finding.entry.cause_class is not None
    return finding.line, finding.entry.cause_class.value, diagnosis.advice.value, finding.rank, finding.node


@pytest.mark.costly
@pytest.mark.parametrize("seen", alike([False, True]))
def test_composed_logs(seen: bool) -> None:
    found = score((case for case in cases() if case.seen is seen), answer)
    assert found.line >= 0.95, found.missed
    assert found.cls >= 0.95, found.missed
    assert found.advice >= 0.95, found.missed
    assert found.place >= 0.9
    assert found.wrong <= 0.03
    assert found.false_alarms <= 1 / 30


@pytest.mark.parametrize("short", shorts(), ids=lambda short: short.name)
def test_short_logs(short: Short) -> None:
    if not short.cls:
        assert why(short.log).outcome is not Outcome.FAILED
        return
    cls, line = told(short.log)
    assert cls == short.cls
    text = short.log.split("\n")[line - 1]
    assert any(words.lower() in text.lower() for words in short.says), text


@pytest.mark.costly
def test_the_same_log_each_time() -> None:
    made = cases()
    assert [case.text for case in made] == [case.text for case in cases()]
    assert len(made) + len(shorts()) >= 250
