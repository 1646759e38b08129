"""A made-up site with two bad nodes: avoiding them saves jobs, and the page says how sure that is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from whesl.cli.group import cli
from whesl.lab.replay.policy_comparison import candidate
from whesl.model.errors import UsageError, WheslError

pytest.importorskip("selenium", reason="selenium is in the extra 'test'")
from tests.report.browser import FAINT, LOOKS, TOO_WIDE, Browser, started  # noqa: F401 - a fixture

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "lab"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, str(EXAMPLES / "made_up_site.py"), str(folder)], check=True, timeout=60)
    return folder


def replay(site: Path, *options: str) -> str:
    words = ["lab", "replay", "-q", "--jobs", str(site / "jobs.txt"), "--failures", str(site / "events.txt")]
    result = CliRunner().invoke(cli, [*words, "--zone", "UTC", *options])
    if isinstance(result.exception, WheslError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def results(made: Path) -> Iterator[Path]:
    own = f"{EXAMPLES / 'shortest_first.py'}:ShortestFirst"
    policies = ("reliable+survival", "reliable+exact", "fcfs", own, f"{own}+survival")
    replay(made, "--out", str(made / "out"), *(word for name in policies for word in ("--policy", name)))
    yield made / "out"


def test_avoiding_bad_nodes_saves_jobs(results: Path) -> None:
    found = json.loads((results / "summary.json").read_text())
    assert found["nodes"] == 16
    assert found["today"]["candidate"] == "easy"
    saved = {one["candidate"]: one["saved"] for one in found["candidates"]}
    best = saved["reliable+survival"]
    assert best["kills"]["saved"] > 5
    assert best["kills"]["low"] > 0, "more than chance"
    assert saved["reliable+exact"]["kills"]["saved"] > 5
    assert [one["foresees"] for one in found["candidates"]] == [False, True, False, False, False]


def test_a_policy_of_ones_own_asks_the_predictor(results: Path) -> None:
    found = json.loads((results / "summary.json").read_text())
    blind, seeing = (one["kills"] for one in found["candidates"][-2:])
    assert seeing < blind - 5


def test_its_files(results: Path) -> None:
    jobs = parquet.read_table(results / "reliable+survival" / "jobs.parquet").to_pydict()
    summary = json.loads((results / "summary.json").read_text())
    assert len(jobs["job"]) == summary["compared"] < summary["jobs"]
    assert sum(jobs["killed"]) == summary["candidates"][0]["kills"]
    assert (results / "savings.csv").read_text().count("\n") == 6
    assert (results / "saved-lost.svg").exists()


@LOOKS
def test_its_page(browser: Browser, results: Path, tmp_path: Path, width: int, scheme: str) -> None:
    browser.show(results / "index.html", width=width, scheme=scheme)
    browser.picture(tmp_path / f"{width}-{scheme}.png")
    assert browser.complaints() == []
    assert browser.ask(TOO_WIDE) == []
    assert browser.ask(FAINT) == []
    text = browser.ask("return document.body.innerText")
    assert "reliable+exact (knows the future)" in text
    assert browser.ask("return document.querySelectorAll('figure svg').length") == 3


def test_one_seed_gives_one_result(made: Path) -> None:
    options = ("--policy", "reliable+aoa:0.7", "--seed", "5", "--json")
    assert replay(made, *options) == replay(made, *options)


def test_what_cannot_be_replayed(made: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no failure is known before .* nothing to fit survival to"):
        replay(made, "--train", "0", "--policy", "reliable+survival")
    with pytest.raises(UsageError, match="no job was submitted after the first 99 %"):
        replay(made, "--train", "0.99", "--policy", "fcfs")
    with pytest.raises(UsageError, match="no time zone 'Mars'"):
        replay(made, "--zone", "Mars")
    broken = tmp_path / "broken.py"
    broken.write_text("class Broken:\n    name = 'broken'\n")
    with pytest.raises(UsageError, match="it has no name, or no decide"):
        replay(made, "--policy", f"{broken}:Broken")
    with pytest.raises(UsageError, match=r"FileNotFoundError"):
        replay(made, "--policy", f"{tmp_path / 'none.py'}:X")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 1 / 0", r"wrong\.py:Wrong, line 4: ZeroDivisionError: "),
        (
            "return None",
            r"wrong\.py:Wrong: AttributeError: .*\n.*returns whesl\.placement\.policies\.port\.Decisions",
        ),
    ],
)
def test_a_policy_of_ones_own_that_is_wrong(made: Path, tmp_path: Path, body: str, said: str) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        f"class Wrong:\n    name = 'wrong'\n    def decide(self, view, predictor, now):\n        {body}\n"
    )
    with pytest.raises(UsageError, match=said):
        replay(made, "--policy", f"{wrong}:Wrong")


@pytest.mark.parametrize("text", ["easier", "fcfs+survival", "reliable", "reliable+oracle"])
def test_candidates_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        candidate(text)


def test_a_regular_expression_that_is_none(made: Path) -> None:
    words = ["lab", "replay", "--jobs", os.devnull, "--failures", os.devnull, "--leave-out", "("]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert "not a regular expression" in result.stderr
