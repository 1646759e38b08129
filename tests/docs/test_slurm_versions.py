"""The page of Slurm's releases is what JUnit files say."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "slurm_versions.py"))
X = "tests/a/test_x.py"
NODES = (f"{X}::test_one", f"{X}::C::test_two[x::y]", "tests/b/test_y.py::test_three")


def run(begun: str, cases: str) -> str:
    suite = f'<testsuite name="pytest" timestamp="{begun}T10:00:00+00:00">{cases}</testsuite>'
    return f"<testsuites>{suite}</testsuites>"


def case(classname: str, name: str, inside: str = "") -> str:
    return f'<testcase classname="{classname}" name="{name}">{inside}</testcase>'


def test_the_newest_result_counts_and_what_was_not_run_is_told() -> None:
    failure = '<failure message="AssertionError: &#10;in /tmp/here/file&#10;more">trace</failure>'
    gone = case("tests.a.test_x", "test_gone", failure)
    first = run("2026-01-01", case("tests.a.test_x", "test_one", failure) + gone)
    second = run("2026-01-02", case("tests.a.test_x", "test_one@group"))
    third = run("2026-01-03", case("tests.a.test_x.C", "test_two[x::y]", failure))
    ended = TOOL["newest"]([each for text in (third, first, second) for each in TOOL["results"](text)])
    tests = [TOOL["junit_name"](node) for node in NODES]
    page = TOOL["page"](tests, {"22.05.8": ended, "26.05.3": {}}, ["* x"])
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert rows[:5] == [
        "| tests | 22.05.8 | 26.05.3 |",
        "| --- | --- | --- |",
        "| `tests/a` (2) | 1 passed, 1 failed | 2 not run |",
        "| `tests/b` (1) | 1 not run | 1 not run |",
        "| run | 2026-01-02 to 2026-01-03 | - |",
    ]
    assert "* failed: `tests.a.test_x.C.test_two[x::y]`: `AssertionError: in file more`" in page
    assert "test_gone" not in page
    assert page.count("Nothing.") == 1


def test_an_error_at_the_end_of_a_test_counts() -> None:
    """pytest writes a second entry for it."""
    text = run("2026-01-01", case("t.a", "one", '<error message="left"/>') + case("t.a", "one"))
    (result,) = TOOL["newest"](list(TOOL["results"](text))).values()
    assert result.outcome.value == "failed"


def test_results_are_kept_without_the_runs_they_came_from() -> None:
    skipped = '<skipped message="needs a, `b`: /tmp/c"/>'
    text = run(
        "2026-01-01", case("tests.a.test_x", "test_one", skipped) + case("tests.a.test_x", "test_gone")
    )
    first = TOOL["newest"](list(TOOL["results"](text)))
    tests = [TOOL["junit_name"](node) for node in NODES]
    kept = TOOL["kept"](TOOL["to_keep"](tests, {"22.05.8": first, "26.05.3": {}}))
    (result,) = kept.pop("22.05.8")
    assert not kept
    assert (result.test, result.outcome.value) == ("tests.a.test_x.test_one", "skipped")
    assert result.reason == "needs a, 'b': c"
    later = TOOL["results"](run("2026-01-02", case("tests.a.test_x", "test_one")))
    assert TOOL["newest"]([result, *later])["tests.a.test_x.test_one"].outcome.value == "passed"
