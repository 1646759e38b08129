"""Rules are compiled once, and again when they or what they include have changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from whesl import language
from whesl.language import rules_cache
from whesl.language.rules_file import load_rules
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
    monkeypatch.setattr(language, "checked", None)  # calling it would be a TypeError
    assert limit(rules, tmp_path / "cache") == 2


def test_warnings_are_told_each_time_and_shortly(rules: Path, tmp_path: Path) -> None:
    """They were told by ``whesl check`` alone, and of what is in the cache never."""
    detections = "\n".join(f'EXCEPTION DETECTION FLAP MATCH "x{n}" stdout' for n in range(5))
    rules.write_text(f"{RULES}{detections}\n".replace('"x', '".|x'))
    said: list[str] = []
    for _ in range(2):
        load_rules([str(rules)], tmp_path / "cache", any_job=False, warn=said.append)
    assert said[:4] == said[4:]
    assert len(said) == 8, said
    assert all(f"{rules}:" in each and ": warning[ESL" in each for each in said[:3])
    assert said[3].endswith(f"more: whesl check {rules}")


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


ALONE = """\
INCLUDE "disk"
DECLARE ENTITY JOB
DECLARE RESOURCE NODE[REPLACE]
EXCEPTION RECOVERY STEP DISK_FULL JOB NODE.REPLACE
"""


def test_the_same_rules_elsewhere_are_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.esl").write_text(ALONE)
    first = load_rules([str(tmp_path / "one" / "rules.esl")], tmp_path / "cache", any_job=False)
    monkeypatch.setattr(language, "checked", None)
    second = load_rules([str(tmp_path / "two" / "rules.esl")], tmp_path / "cache", any_job=False)
    assert first is not None and second is not None
    assert (first.file, second.file) == tuple(str(tmp_path / name / "rules.esl") for name in ("one", "two"))
    assert msgspec.structs.replace(second, file=first.file) == first


def test_a_compiled_file_is_recalled_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "rules.esl").write_text(ALONE)
    whole = load_rules([str(tmp_path / "rules.esl")], tmp_path / "cache", any_job=False)
    compiled = tmp_path / "elsewhere.json"
    compiled.write_bytes(msgspec.json.encode(whole))
    for _ in range(2):
        assert load_rules([str(compiled)], tmp_path / "cache", any_job=False) == whole
    known = rules_cache.recall(str(tmp_path / "cache"), str(compiled), compiled.read_bytes())
    assert known is not None and known["spec"]["file"] == str(tmp_path / "rules.esl")


def test_a_damaged_verdict_is_no_verdict(tmp_path: Path) -> None:
    rules = tmp_path / "rules.esl"
    rules.write_text(ALONE)
    cache = tmp_path / "cache"
    whole = load_rules([str(rules)], cache, any_job=False)
    (place,) = cache.iterdir()
    content = place.read_bytes()
    assert rules_cache.recall(str(cache), str(rules), rules.read_bytes()) is not None
    for damaged in (content[:-9], content.replace(b"DISK_FULL", b"DISK_FALL", 1), b"", b"{}"):
        place.write_bytes(damaged)
        assert rules_cache.recall(str(cache), str(rules), rules.read_bytes()) is None
        assert load_rules([str(rules)], cache, any_job=False) == whole


def test_rules_are_checked_where_nothing_can_be_kept(tmp_path: Path) -> None:
    rules = tmp_path / "rules.esl"
    rules.write_text(ALONE)
    (tmp_path / "cache").write_text("no directory")
    assert load_rules([str(rules)], tmp_path / "cache", any_job=False) is not None


def test_what_was_kept_longest_ago_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_cache, "KEPT", 2)
    cache = tmp_path / "cache"
    known = []
    for number in range(4):
        content = ALONE.encode() + b"\n" * number
        rules_cache.remember(str(cache), "/rules.esl", content, {"number": number}, {}, [])
        known.append(content)
        for file in cache.iterdir():
            stat = file.stat()
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns - 1_000_000))
    found = [rules_cache.recall(str(cache), "/rules.esl", content) for content in known]
    assert [known and known["spec"]["number"] for known in found] == [None, None, 2, 3]


OWN = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE HANDLER "./mend", ADD HANDLER "/site/add", REMOVE HANDLER "installed"]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION CRASH LOG "crashed" output
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE {}
"""
MEND = """\
#!/bin/sh
echo mended > mended.txt
echo '{"outcome": "continue"}'
"""


def handlers(files: list[str], cache: Path) -> list[str]:
    spec = load_rules(files, cache, any_job=False)
    assert spec is not None
    return [each.handler or "" for one in spec.resources for each in one.operations]


def test_handlers_are_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative rules, the same bytes elsewhere, compiled ones, several: each from the cache as well."""
    cache = tmp_path / "cache"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.esl").write_text(OWN)
    monkeypatch.chdir(tmp_path / "one")
    (tmp_path / "compiled.json").write_bytes(msgspec.json.encode(language.load("../two/rules.esl")))
    (tmp_path / "one" / "other.esl").write_text(ALONE)
    for _ in range(2):
        for files, place in (
            (["rules.esl"], "one"),
            (["../two/rules.esl"], "one/../two"),
            ([str(tmp_path / "two" / "rules.esl")], "two"),
            (["rules.esl", "other.esl"], "one"),
        ):
            found = handlers(files, cache)
            assert found[:3] == [str(tmp_path / place / "mend"), "/site/add", "installed"]
    (tmp_path / "two" / "compiled.json").write_bytes(msgspec.json.encode(language.load("rules.esl")))
    for _ in range(2):
        assert handlers([str(tmp_path / "two" / "compiled.json")], cache)[0] == str(tmp_path / "two" / "mend")


@pytest.mark.costly
def test_a_handler_beside_rules_that_are_named_as_one_types_them(tmp_path: Path) -> None:
    home, place, work = tmp_path / "home", tmp_path / "place", tmp_path / "place" / "work"
    work.mkdir(parents=True)
    (place / "rules.esl").write_text(OWN)
    (place / "mend").write_text(MEND)
    (place / "mend").chmod(0o755)
    program = ["sh", "-c", "test $WHESL_RESTART_COUNT -gt 0 || { echo crashed; sleep 60; }"]
    for name in ("first", "from the cache"):
        rules = ["-e", "../rules.esl", "--name", name]
        command = [sys.executable, "-m", "whesl", "exec", *rules, "--", *program]
        environment = {**os.environ, "WHESL_HOME": str(home)}
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, timeout=100, check=False
        )
        assert (done.returncode, done.stdout) == (0, "crashed\n"), done.stderr


def test_warnings_name_the_file_as_it_is_called_now(rules: Path, tmp_path: Path) -> None:
    steps = (
        "EXCEPTION RECOVERY STEP FLAP JOB JOB.REPLACE\nDECLARE RESOURCE JOB[REPLACE]\nDECLARE ENTITY JOB\n"
    )
    text = f"{SITE}{steps}"
    said: list[str] = []
    places = [tmp_path / name for name in ("first.esl", "second.esl")]
    for place in places:
        place.write_text(text.replace("link flap", "link (flap|down)"))
        load_rules([str(place)], tmp_path / "cache", any_job=False, warn=said.append)
    assert [each.partition(":")[0] for each in said] == [
        str(tmp_path / name) for name in ("first.esl", "second.esl")
    ]
