"""What is known of messages: each entry finds its samples, and none of what it must not find."""

from __future__ import annotations

import re

import pytest

from whesl.language import library
from whesl.language.tools import sample_comments
from whesl.runtime.diagnose.diagnosing import scanner
from whesl.runtime.diagnose.diagnosis_records import Entry, Finding
from whesl.runtime.diagnose.prepared_knowledge import FILE, encoded, made, prepared
from whesl.runtime.diagnose.search.required_literals import SHORTEST, needles
from whesl.runtime.diagnose.vocabulary import NOT_SOUGHT, Role

ENTRIES = [entry for entry in prepared().entries if entry.role not in NOT_SOUGHT]
WORDS = [entry for entry in prepared().entries if entry.role is Role.WORDS]
TOPICS = [entry for entry in prepared().entries if entry.role is Role.TOPIC]


def found(*lines: str) -> tuple[Finding, ...]:
    reader = scanner()
    reader.begin("a.log")
    reader.feed("\n".join(lines).encode() + b"\n")
    reader.finish()
    return reader.observed().findings


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_samples(entry: Entry) -> None:
    assert entry.sees
    for sample in entry.sees:
        names = [finding.entry.name for finding in found(sample)]
        if entry.role is Role.HARMLESS:
            assert not [f for f in found(sample) if f.entry.role in (Role.CAUSE, Role.SYMPTOM)], (
                sample,
                names,
            )
        else:
            classes = [f.entry.cause_class for f in found(sample)]
            assert entry.cause_class in classes, (sample, names)
    for sample in entry.ignores:
        assert entry.name not in [finding.entry.name for finding in found(sample)], sample


@pytest.mark.parametrize("topic", TOPICS, ids=lambda entry: entry.name)
@pytest.mark.parametrize("heading", ["amrex::Abort::3::{} !!!", "--> FOAM FATAL ERROR: \n{}"])
def test_a_message_of_any_trouble_is_of_the_class_of_its_words(topic: Entry, heading: str) -> None:
    for sample in topic.sees:
        lines = heading.format(sample).split("\n")
        assert topic.cause_class in {finding.entry.cause_class for finding in found(*lines)}, sample


@pytest.mark.parametrize("words", WORDS, ids=lambda entry: entry.name)
def test_each_expression_of_words_has_a_sample(words: Entry) -> None:
    for expression in words.match:
        assert any(re.search(expression, sample, re.IGNORECASE) for sample in words.sees), expression
    sought = "|".join(words.match)
    assert not [sample for sample in words.ignores if re.search(sought, sample, re.IGNORECASE)]


def test_what_is_prepared_is_of_the_tables() -> None:
    """Else each process would read them anew: ``make knowledge`` writes the file."""
    assert made() == prepared()
    same = FILE.read_bytes() == encoded(made())
    assert same, "make knowledge"  # pytest would write out for a minute how they differ


def test_every_expression_has_a_text_that_it_cannot_do_without() -> None:
    for entry in ENTRIES:
        for expression in entry.match:
            texts = needles(expression)
            assert texts, (entry.name, expression)
            assert min(len(needle.text) for needle in texts) >= SHORTEST, (entry.name, expression, texts)


def test_the_library_of_rules_and_the_knowledge_agree() -> None:
    """What a rule of the library would see is a cause or a symptom here, too."""
    unknown = []
    for name in library.names():
        for note in sample_comments.read(library.place(name).read_bytes(), name).detections:
            for sample in note.sees:
                roles = {finding.entry.role for finding in found(sample.text)}
                if not roles & {Role.CAUSE, Role.SYMPTOM}:
                    unknown.append(f"{name}: {note.exception}: {sample.text}")
    assert not unknown


def test_exceptions_that_entries_name_are_in_the_library() -> None:
    for entry in ENTRIES:
        if entry.exception:
            assert entry.library in library.having(entry.exception), entry.name
