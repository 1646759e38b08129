"""Rules are compiled once, and again when they or what they include have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from whesl import esl
from whesl.isolator.rulesfile import load_rules
from whesl.model.errors import UsageError

RULES = """\
INCLUDE "site.esl"
INCLUDE "disk"
DECLARE ENTITY JOB
DECLARE RESOURCE NODE[REPLACE]
EXCEPTION RECOVERY STEP FLAP JOB NODE.REPLACE
EXCEPTION RECOVERY STEP DISK_FULL JOB NODE.REPLACE
"""
SITE = """\
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE EXCEPTION FLAP JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION FLAP LOG "link flap" output
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.esl"
    path.write_text(RULES)
    (tmp_path / "site.esl").write_text(SITE)
    return path


def limit(rules: Path, cache: Path) -> int:
    spec = load_rules([str(rules)], cache, any_job=False)
    assert spec is not None
    return spec.exception("FLAP").limit


def test_nothing_is_compiled_twice(rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert limit(rules, tmp_path / "cache") == 2
    monkeypatch.setattr(esl, "load_all", None)  # calling it would be a TypeError
    assert limit(rules, tmp_path / "cache") == 2


def test_what_is_included_may_change(rules: Path, tmp_path: Path) -> None:
    assert limit(rules, tmp_path / "cache") == 2
    (tmp_path / "site.esl").write_text(SITE.replace("LIMIT 2", "LIMIT 5"))
    assert limit(rules, tmp_path / "cache") == 5
    (tmp_path / "site.esl").unlink()
    with pytest.raises(UsageError, match=r"site\.esl cannot be included"):
        limit(rules, tmp_path / "cache")


def test_the_same_name_in_another_directory_is_another_file(
    rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "rules.esl").write_text(RULES)
    (other / "site.esl").write_text(SITE.replace("LIMIT 2", "LIMIT 9"))
    for directory, expected in ((tmp_path, 2), (other, 9), (tmp_path, 2)):
        monkeypatch.chdir(directory)
        assert limit(Path("rules.esl"), tmp_path / "cache") == expected


def test_two_files_may_not_define_the_same(rules: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.esl"
    second.write_text(RULES)
    with pytest.raises(UsageError, match=r"site\.esl:2: exception FLAP is also in"):
        load_rules([str(rules), str(second)], tmp_path / "cache", any_job=False)
