"""Rules from runs: what separates them is found, judged on later runs, and never made up."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from whesl import language
from whesl.cli.group import cli
from whesl.runtime.rule_learning.learn import learn
from whesl.runtime.rule_learning.run_log_reader import run_of
from whesl.runtime.rule_learning.run_records import FEWEST, Learned, Run
from whesl.runtime.rule_learning.specification import specification

DEAD = "solver: residual did not converge in {} iterations"


def written(place: Path, name: str, good: bool, when: int, seed: random.Random, dead: str = DEAD) -> str:
    """Write the log of a run that begins shortly before midnight and prints a step each half minute."""
    seconds, lines = 23 * 3600 + 55 * 60, []
    for step in range(seed.randint(15, 25)):
        seconds = (seconds + seed.randint(20, 40)) % 86400
        stamp = f"[{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}]"
        lines.append(f"{stamp} step {step} energy = {seed.random():.5f}\n")
        if seed.random() < 0.2:
            lines.append(f"{stamp} warning: time step reduced to {seed.random():.3f}\n")
    lines.append("run finished, maxrss: 1500 MB\n" if good else f"{dead.format(seed.randint(1, 999))}\n")
    path = place / name
    path.write_text("".join(lines))
    os.utime(path, (when, when))
    return str(path)


def runs(place: Path, good: int, bad: int, dead: str = DEAD) -> list[Run]:
    seed = random.Random(7)
    made = [(written(place, f"ok{n}", True, 100 + n, seed), True) for n in range(good)]
    made += [(written(place, f"dead{n}", False, 100 + n, seed, dead), False) for n in range(bad)]
    return [run_of([path], good=well) for path, well in made]


def test_the_line_of_bad_runs_is_found_and_judged_on_later_ones(tmp_path: Path) -> None:
    learned = learn(runs(tmp_path, 9, 6))
    (line,) = learned.lines
    assert line.text == "solver: residual did not converge in"
    assert (learned.past_good, learned.past_bad, learned.future_good, learned.future_bad) == (6, 4, 3, 2)
    assert (line.past.found, line.past.false, line.future.found, line.future.false) == (4, 0, 2, 0)
    assert learned.all_lines is not None and (learned.all_lines.precision, learned.all_lines.recall) == (1, 1)


def test_what_later_good_runs_print_too_costs_precision(tmp_path: Path) -> None:
    made = runs(tmp_path, 9, 6)
    latest = max((run for run in made if run.good), key=lambda run: run.ended)
    latest.forms["solver: residual did not converge in # iterations"] = DEAD.format(3)
    (line,) = learn(made).lines
    assert (line.future.found, line.future.false, line.future.precision) == (2, 1, 2 / 3)


def test_a_timer_has_the_false_alarms_of_each_choice(tmp_path: Path) -> None:
    made = runs(tmp_path, 9, 6)
    latest = max((run for run in made if run.good), key=lambda run: run.ended)
    timer = learn(made).timer
    assert timer is not None and timer.text == "energy" and 20 <= timer.longest <= 40
    (form,) = [form for form in latest.gaps if form.startswith("step")]
    latest.gaps[form] = timer.longest * 1.6
    timer = learn(made).timer
    assert timer is not None
    told = {choice.seconds: (choice.false_past, choice.false_future) for choice in timer.choices}
    assert told[timer.chosen] == (0, 1) and told[max(told)] == (0, 0)


@pytest.mark.parametrize(
    ("line", "kibibytes"),
    [
        ("Maximum resident set size (kbytes): 12345", 12345),
        ("MaxRSS 12345K", 12345),
        ("maxrss=2048", 2),
        ("peak memory 11.5 GB", 11.5 * 2**20),
        ("peak memory on node 3: 5 GiB", 5 * 2**20),
        ("peak RSS was 812 MB, time: 30 s", 812 * 2**10),
        ("Memory used: 3 GiB", 3 * 2**20),
        ("mem usage 31.5/32.0 GB", 31.5 * 2**20),
        ("used 31.5 of 32.0 GB of memory", 31.5 * 2**20),
        ("used 31.5 of 32.0 GB of /scratch", None),
        ("memory limit 32 GB", None),
        ("peak memory at step 7", None),
        ("GPU memory used: 3 GiB", None),
    ],
)
def test_memory_is_read_as_programs_write_it(tmp_path: Path, line: str, kibibytes: float | None) -> None:
    # "peak memory 11.2 GB", without a colon, was not read.
    (tmp_path / "log").write_text(f"{line}\n")
    memory = run_of([str(tmp_path / "log")], good=True).memory
    assert memory == (None if kibibytes is None else kibibytes * 1024)


def test_limits_are_those_of_good_runs(tmp_path: Path) -> None:
    limits = learn(runs(tmp_path, 4, 0)).limits
    assert limits is not None and limits.memory == 1500 << 20 and limits.measured == 4
    assert limits.seconds is not None and 15 * 20 <= limits.seconds <= 25 * 40, "past midnight"


@pytest.mark.parametrize(("good", "bad"), [(0, 0), (9, FEWEST - 1), (FEWEST - 1, 9), (0, 9)])
def test_too_little_is_said(tmp_path: Path, good: int, bad: int) -> None:
    learned = learn(runs(tmp_path, good, bad))
    assert learned.too_little and not learned.lines
    assert "too little to learn from" in specification(learned)


def test_what_nothing_separates_is_not_made_up(tmp_path: Path) -> None:
    learned = learn(runs(tmp_path, 6, 6, dead="warning: time step reduced to 0.{}"))
    assert not learned.lines and "No line stands in" in specification(learned)


@pytest.mark.parametrize(
    "dead", [DEAD, 'fatal error in "quoted" \\ text of {}', "größer als {} erwartet: Abbruch"]
)
def test_what_is_printed_is_a_correct_specification(tmp_path: Path, dead: str) -> None:
    learned: Learned = learn(runs(tmp_path, 9, 6, dead))
    assert len(learned.lines) == 1
    assert language.parse(specification(learned), "learned.esl").diagnostics == ()


def test_the_command(tmp_path: Path) -> None:
    runs(tmp_path, 9, 6)
    globs = ["learn", "--good", str(tmp_path / "ok*"), "--bad", str(tmp_path / "dead*")]
    assert 'LOG "solver: residual did not converge in"' in CliRunner().invoke(cli, globs).output
    ok, dead = (sorted(map(str, tmp_path.glob(names))) for names in ("ok*", "dead*"))
    words = ["learn", "--good", *ok, "--bad", *dead]
    assert CliRunner().invoke(cli, words).output == CliRunner().invoke(cli, globs).output, (
        "as a shell expands"
    )
    wrong = CliRunner().invoke(cli, ["learn", "--good", str(tmp_path / "none*")])
    assert wrong.exit_code and "no file is called" in str(wrong.exception)


def test_a_line_that_announces_the_failure_is_learned_beside_it(tmp_path: Path) -> None:
    early = "node{} reports correctable memory errors"
    made = []
    for number in range(12):
        good = number % 2 == 0
        lines = [f"step {step} energy = {step / 7}" for step in range(30)]
        if not good:
            lines += ["Traceback of rank 3 in the solver", DEAD.format(number)]
            if number != 3:
                lines.insert(12 + number, early.format(number))
        path = tmp_path / f"run{number}"
        path.write_text("\n".join([*lines, "the end of it"]) + "\n")
        os.utime(path, (100 + number, 100 + number))
        made.append(run_of([str(path)], good=good))
    learned = learn(made)
    failure, announced = learned.lines
    assert failure.text == "Traceback of rank" and failure.lead == 0
    assert announced.text == "reports correctable memory errors"
    assert (announced.past.found, announced.past.bad, announced.future.found) == (3, 4, 2)
    assert 5 <= announced.lead <= 20
    assert f"by {announced.lead} lines in the middle" in specification(learned)
