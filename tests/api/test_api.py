"""``whesl.api``: what is promised is there, typed, documented, and what was promised before."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tools import api_page
from whesl import __version__, api
from whesl.api.lazy_names_and_deprecation import STAYS, Deprecated, lazily

ROOT = Path(__file__).resolve().parents[2]
DEAD = """\
step 1
step 2
slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.
"""


def test_nothing_that_was_promised_has_changed() -> None:
    """A line that is lost or changed breaks programs: deprecate it. What is new may come at any time."""
    promised = (ROOT / "tests" / "api" / "promises.txt").read_text().splitlines()
    assert len(promised) > 600
    assert not set(promised) - set(api_page.promises().splitlines())


def test_the_page_is_that_of_the_modules() -> None:
    assert api_page.page() == (ROOT / "docs" / "api.md").read_text(), "make api"


def test_the_types_of_promises_are_promised() -> None:
    """The lab's are those of its own rooms, which its functions give and take."""
    lines = api_page.promises().splitlines()
    text = "\n".join(line for line in lines if not re.match(r"[\w.]+ = |whesl\.api\.lab\.", line))
    used = set(re.findall(r"\b[A-Z]\w+", re.sub(r"'[^']*'", "", text)))
    given = {name for module in api_page.MODULES for name in api_page.names(module)} | set(dir(builtins))
    library = {"Any", "Callable", "Collection", "Iterator", "Literal", "Mapping", "Path", "PathLike", "Own"}
    library |= {"Flags", "Floats", "Integers", "NDArray", "Sequence"}
    assert used - given - library == set()


@pytest.mark.parametrize("module", api_page.MODULES)
def test_every_promise_is_typed_and_documented(module: str) -> None:
    for name, thing in api_page.names(module).items():
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            _check_documented(thing, all_of_it=module == "whesl.api")
        for part, value in vars(thing).items() if inspect.isclass(thing) else ():
            if inspect.isfunction(value) and not part.startswith(("_", "test_")):
                assert inspect.getdoc(value), (name, part)
                _check_documented(value, all_of_it=False)


def _check_documented(function: Any, *, all_of_it: bool) -> None:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    assert all(p.annotation is not p.empty for p in parameters), function
    assert "return" in function.__annotations__, function
    if not all_of_it:
        return
    text = inspect.getdoc(function) or ""
    for parameter in parameters:
        assert re.search(rf"^    {parameter.name}: ", text, re.MULTILINE), (function, parameter.name)
    assert "Returns:" in text or re.match(r"Return |Say |Raise |Tell ", text), function
    assert "Raises" in text or function.__name__ in ("check_text", "rule_for"), function


def test_importing_it_loads_nothing() -> None:
    code = "import sys, whesl.api, whesl.api.lab\nprint(*sorted(n for n in sys.modules if 'whesl' in n))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    assert done.stdout.split() == [
        "whesl",
        "whesl.api",
        "whesl.api.lab",
        "whesl.api.lazy_names_and_deprecation",
    ]


def test_what_is_misspelled_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'chek'"):
        api.chek  # type: ignore[attr-defined]  # noqa: B018  # the point of the test


# Names that go ---------------------------------------------------------------------------------------------


def test_a_deprecated_name_warns_and_works() -> None:
    old = {"diagnose": Deprecated("0.3", use="whesl.api.why", place="whesl.api:why")}
    attribute, _ = lazily("whesl.api", deprecated=old)
    expected = "whesl.api.diagnose is deprecated since 0.3 and goes in 0.5: use whesl.api.why"
    with pytest.warns(DeprecationWarning, match=re.escape(expected)) as caught:
        assert attribute("diagnose") is api.why
    assert caught[0].filename == __file__, "the line that uses the name is shown"


@pytest.mark.parametrize(
    ("since", "version", "overdue"),
    [
        ("0.3", "0.3.0", False),
        ("0.3", "0.4.9", False),
        ("0.3", "0.5.0", True),
        ("0.9", "0.10.3", False),
        ("1.9", "1.11.0", True),
        ("1.9", "2.0.0", True),
    ],
)
def test_a_deprecated_name_stays_for_two_releases(since: str, version: str, overdue: bool) -> None:
    assert STAYS == 2
    assert Deprecated(since, use="x", place="x:x").overdue(version) is overdue


@pytest.mark.parametrize("module", [name for name in api_page.MODULES if name.startswith("whesl.api")])
def test_deprecated_names_are_there_until_they_may_go(module: str) -> None:
    old = getattr(importlib.import_module(module), "DEPRECATED", {})
    for name, gone in old.items():
        assert not gone.overdue(__version__), f"{module}.{name} may go now: remove it"
        with pytest.warns(DeprecationWarning):
            getattr(importlib.import_module(module), name)


# What the functions do -------------------------------------------------------------------------------------


def test_rules_are_checked_explained_and_rehearsed(tmp_path: Path) -> None:
    wrong = api.check_text("DECLARE ENTITY JOBB\n")
    assert wrong[0].severity is api.Severity.ERROR and wrong[0].line == 1
    assert api.check("default") == ()
    explained = api.explain("default")
    assert explained and all(item.when for item in explained if item.then)
    rules = tmp_path / "rules.esl"
    rules.write_text(
        textwrap.dedent(
            """\
            DECLARE ENTITY JOB
            DECLARE EXCEPTION_TYPE JOB_LEVEL
            DECLARE RESOURCE JOB[REPLACE]
            DECLARE EXCEPTION OOM JOB_LEVEL JOB [solve] LIMIT 1
            EXCEPTION DETECTION OOM LOG "oom_kill" output
            EXCEPTION RECOVERY STEP OOM JOB JOB.REPLACE
            """
        )
    )
    log = tmp_path / "job.out"
    log.write_text(DEAD)
    found = api.rehearse(rules, log, status=1)
    assert found.counts == {"OOM": 1}
    assert (found.occurrences[0].line, found.occurrences[0].file) == (3, str(log))
    with pytest.raises(api.UsageError, match="cannot read"):
        api.check(tmp_path / "missing.esl")


def test_a_dead_job_is_diagnosed_and_has_a_rule(tmp_path: Path) -> None:
    (tmp_path / "job.out").write_text(DEAD)
    for place in (tmp_path, tmp_path / "job.out"):
        found = api.why(place)
        assert found.outcome is api.Outcome.FAILED and found.cause is not None
        assert found.cause.finding.line == 3
        assert found.cause.finding.entry.cause_class is api.CauseClass("out-of-memory-host")
    rule = api.rule_for(found)
    assert not [one for one in api.check_text(rule) if one.severity is api.Severity.ERROR]
    with pytest.raises(api.UsageError, match="no log was named"):
        api.why()
    with pytest.raises(AttributeError):
        found.sure = 1.0  # type: ignore[misc]  # records are frozen: the point of the test


def test_what_run_refuses_is_told_as_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a workflow runs is seen by a person's own commands: tests/managers/workflow/test_run.py."""
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    said: list[str] = []
    with pytest.raises(api.UsageError) as caught:
        api.run(tmp_path / "none.yaml", rules="default", progress=said.append)
    assert caught.value.message.startswith(f"cannot read {tmp_path / 'none.yaml'}")
    assert said


def test_a_report_of_what_never_ran(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with pytest.raises(api.UsageError, match="nothing was run yet"):
        api.report(home=home)
    with pytest.raises(api.UsageError, match="study"):
        api.report("study", home=home)
