"""A diagnosis as one JSON object; docs/why.md has its schema."""

from __future__ import annotations

from typing import Any

from whesl.runtime.diagnose.diagnosis_records import Candidate, Diagnosis, Finding
from whesl.runtime.diagnose.rule import rule

SHOWN = 200  # greatest number of listed consequences


def document(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as JSON-ready values."""
    cause = diagnosis.cause
    return {
        "outcome": diagnosis.outcome.value,
        "cause": _cause(cause) if cause is not None else None,
        "advice": diagnosis.advice.value,
        "sure": diagnosis.sure,
        "consequences": [_consequence(finding) for finding in diagnosis.consequences[:SHOWN]],
        "consequences_in_all": len(diagnosis.consequences),
        "consequences_are_more": diagnosis.more,
        "candidates": [_candidate(candidate) for candidate in diagnosis.candidates],
        "unusual": [{"file": file, "line": line, "text": text} for file, line, text in diagnosis.unusual],
        "working": [{"file": file, "line": line} for file, line in diagnosis.working],
        "manager": diagnosis.told,
        "rule": rule(cause.finding, diagnosis.advice) if cause is not None else "",
    }


def _cause(cause: Candidate) -> dict[str, Any]:
    finding = cause.finding
    return {
        **_place(finding),
        "sentence": finding.entry.means,
        "node": finding.node,
        "rank": finding.rank,
        "device": finding.device,
        "path": finding.path,
        "known_as": finding.entry.name,
        "source": finding.entry.source,
        "reasons": list(cause.reasons),
    }


def _place(finding: Finding) -> dict[str, Any]:
    assert finding.entry.cause_class is not None
    return {
        "class": finding.entry.cause_class.value,
        "file": finding.file,
        "line": finding.line,
        "text": finding.text,
    }


def _consequence(finding: Finding) -> dict[str, Any]:
    return {**_place(finding), "rank": finding.rank, "node": finding.node}


def _candidate(candidate: Candidate) -> dict[str, Any]:
    finding = candidate.finding
    return {
        **_place(finding),
        "role": finding.entry.role.value,
        "score": candidate.score,
        "reasons": list(candidate.reasons),
    }
