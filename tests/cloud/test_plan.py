"""``whesl cloud plan``: workflows in, a menu out, and everything wrong said before anything starts."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.cloud.samples import PRICES
from whesl.cli.cloud.plan import plan
from whesl.cli.cloud.plan import prices as print_prices
from whesl.cloud import plan_inputs as planning
from whesl.cloud import prices
from whesl.cloud.core.plan_records import HOUR, Domain, FreeForecast, Measurement, Profile
from whesl.cloud.plan_inputs import moments
from whesl.cloud.runner.plan_choice import choose
from whesl.cloud.workflow.format_detection import read
from whesl.model.errors import UsageError

TABLE = """\
name = "maps"
[[stage]]
name = "map"
tasks = 600
seconds = 60
input = "1 GB"
output = "10 MB"
command = ["./map", "{index}"]
[[stage]]
name = "reduce"
tasks = 1
after_all = ["map"]
seconds = 120
command = ["./reduce"]
"""
STUDY = """\
description: {name: sweep, description: a sweep}
study:
  - {name: simulate, description: s, run: {cmd: "./sim $(SIZE)", nodes: 1, procs: 1}}
  - {name: analyse, description: a, run: {cmd: "cat $(simulate.workspace)/x", depends: [simulate]}}
  - {name: report, description: r, run: {cmd: "echo", depends: ["analyse_*"], gpus: 1}}
global.parameters:
  SIZE: {values: [1, 2, 3, 4], label: "SIZE.%%"}
"""


def asked(*words: str | Path) -> Any:
    return CliRunner().invoke(plan, [str(word) for word in words])


def refused(tmp_path: Path, text: str, name: str, *words: str) -> str:
    path = tmp_path / name
    path.write_text(text)
    result = asked(path, *words)
    assert isinstance(result.exception, UsageError), result.output
    assert result.output == ""
    return f"{result.exception.message}\n{result.exception.hint}"


# -- the menu --


def test_a_menu_as_table_json_and_page(tmp_path: Path) -> None:
    path = tmp_path / "maps.toml"
    path.write_text(TABLE)
    words: list[str | Path] = [path, "--deadlines", "2h,6h", "--free", "1,2,4", "--courses", "40"]
    shown = asked(*words, "--budget", "0.5", "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert lines[0].split()[:4] == ["deadline", "instances", "cost", "probability"]
    assert lines[1].startswith("2 h ")
    assert "note: prices of 2026-01-01" in shown.output
    values = json.loads((tmp_path / "out" / "menu.json").read_text())
    assert values["tasks"] == 601
    assert [offer["plan"]["schedule"]["deadline"] - values["start"] for offer in values["offers"]] == [
        2 * HOUR,
        6 * HOUR,
    ]
    assert all(offer["reached"] for offer in values["offers"])
    dear, cheap = (offer["plan"]["expected_cost"] for offer in values["offers"])
    assert cheap <= dear
    assert "<svg" in (tmp_path / "out" / "menu.html").read_text()


def test_a_hundred_thousand_tasks(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    path.write_text("name,tasks,after,seconds\na,50000,,30\nb,50000,a,60\n")
    result = asked(path, "--deadlines", "12h", "--free", "40", "--courses", "20", "--json")
    assert result.exit_code == 0
    values = json.loads(result.output)
    assert values["tasks"] == 100_000


def test_a_profile_and_a_forecast_are_what_the_plan_rests_on(tmp_path: Path) -> None:
    path = tmp_path / "maps.toml"
    path.write_text(TABLE)
    entry = Measurement(stage="map", platform="cluster", seconds=600, deviation=5, count=9)
    profile = tmp_path / "profile.json"
    profile.write_bytes(msgspec.json.encode(Profile(workflow="maps", measurements=(entry,), cost=1.5)))
    forecast = tmp_path / "free.json"
    foreseen = FreeForecast(
        made=0, start=0, capacity=9, levels=(0.1, 0.5, 0.9), nodes=((1, 2, 3),), source="tests"
    )
    forecast.write_bytes(msgspec.json.encode(foreseen))
    words: list[str | Path] = [
        "--profile",
        profile,
        "--forecast",
        forecast,
        "--courses",
        "20",
        "--deadlines",
        "6h",
        "--json",
    ]
    values = json.loads(asked(path, *words).output)
    assert "free nodes: tests" in values["notes"]
    assert any("as on cluster" in note for note in values["notes"])
    assert any("the forecast begins" in note for note in values["notes"])
    assert values["offers"][0]["plan"]["cost"]["benchmark"] == 1.5


SPOT = """\
dated = 2026-01-01
currency = "USD"
revoked = 0.1
[[platform]]
name = "a"
price = 1.0
spot = 0.3
"""


def test_spot_instances_have_a_row_of_their_own(tmp_path: Path) -> None:
    """Plans had counted on-demand prices where the run asked for spot instances."""
    path, listed = tmp_path / "maps.toml", tmp_path / "prices.toml"
    path.write_text(TABLE)
    listed.write_text(SPOT)
    words: list[str | Path] = [path, "--deadlines", "2h,6h", "--prices", listed, "--courses", "40"]
    values = json.loads(asked(*words, "--json").output)
    assert [offer["plan"]["spot"] for offer in values["offers"]] == [False, True, False, True]
    for dear, cheap in zip(values["offers"][::2], values["offers"][1::2], strict=True):
        assert cheap["plan"]["expected_cost"] < 0.5 * dear["plan"]["expected_cost"]
    assert any("10 % of the spot instances are taken away in an hour" in note for note in values["notes"])
    shown = asked(*words, "--out", tmp_path / "out").output
    assert "2 h       on demand" in shown and "2 h       spot" in shown
    page = (tmp_path / "out" / "menu.html").read_text()
    assert "2 of 2 deadlines" in page and "Deadline 2 h, spot instances" in page


def test_spot_prices_of_today_are_put_into_a_file() -> None:
    text = prices.with_numbers(SPOT, "spot", {"a": 0.25}, "2026-02-02")
    assert prices.parse(text, "p").platform("a").spot == 0.25
    assert "0.3" not in text and "2026-02-02" in text
    assert prices.with_numbers(SPOT, "spot", {"b": 1.0}, "") == SPOT


def test_a_site_that_would_not_be_asked_is_refused(tmp_path: Path) -> None:
    """It was passed over, also where there is no such file."""
    result = CliRunner().invoke(print_prices, ["--site", str(tmp_path / "nowhere.toml")])
    assert isinstance(result.exception, UsageError) and "--spot" in result.exception.message


def test_without_a_spot_price_there_is_no_spot_plan(tmp_path: Path) -> None:
    path = tmp_path / "maps.toml"
    path.write_text(TABLE)
    with pytest.raises(UsageError, match="no spot price"):
        planning.on_spot(planning.case(path, 0.0))
    for wrong in ("revoked = 1.5", "revoked = -1"):
        with pytest.raises(UsageError, match="revoked is"):
            prices.parse(SPOT.replace("revoked = 0.1", wrong), "p")


# -- workflows in --


def test_a_table_has_tasks_where_it_has_commands(tmp_path: Path) -> None:
    path = tmp_path / "maps.toml"
    path.write_text(TABLE)
    flow = read(path)
    assert len(flow.tasks) == 601
    assert flow.tasks[7].command == ("./map", "7")
    assert flow.tasks[-1].parents == tuple(f"map-{number}" for number in range(600))
    assert flow.stages[0].input_bytes == 1e9
    assert flow.stages[1].parents[0].barrier


def test_many_tasks_behind_many_others_name_them_once(tmp_path: Path) -> None:
    """Each with names of its own would be a million of them here, and billions in a large workflow."""
    path = tmp_path / "wide.toml"
    path.write_text(TABLE.replace("tasks = 1\n", "tasks = 2000\n"))
    behind = [task.parents for task in read(path).tasks if task.stage == "reduce"]
    assert len(behind) == 2000
    assert all(parents is behind[0] for parents in behind)


def test_a_maestro_study_has_a_stage_for_each_step(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    flow = read(path)
    found = {stage.name: stage for stage in flow.stages}
    assert {name: stage.tasks for name, stage in found.items()} == {"simulate": 4, "analyse": 4, "report": 1}
    assert not found["analyse"].parents[0].barrier
    assert found["report"].parents[0].barrier
    assert found["report"].processor.value == "gpu"


def test_all_steps_of_several_nodes_are_refused(tmp_path: Path) -> None:
    """Executors are single nodes: such a step was planned as if one did, and a run told it had no command."""
    text = STUDY.replace("nodes: 1, procs: 1", 'nodes: "$(SIZE)", procs: 1')
    text = text.replace("depends: [simulate]", "nodes: 3, depends: [simulate]")
    said = refused(tmp_path, text, "s.yaml")
    assert "step simulate asks for 4 nodes" in said and "step analyse asks for 3 nodes" in said
    assert "report" not in said and "whesl run" in said


def wfcommons(tasks: dict[str, list[str]]) -> str:
    names = list(tasks)
    return json.dumps(
        {
            "name": "w",
            "workflow": {
                "specification": {
                    "tasks": [
                        {"name": name, "id": name, "parents": parents, "outputFiles": [f"{name}.out"]}
                        for name, parents in tasks.items()
                    ],
                    "files": [{"id": f"{name}.out", "sizeInBytes": 10} for name in names],
                },
                "execution": {
                    "tasks": [
                        {"id": name, "runtimeInSeconds": 5, "command": {"program": name.partition("_")[0]}}
                        for name in names
                    ]
                },
            },
        }
    )


def test_a_wfcommons_execution_has_a_stage_for_each_program(tmp_path: Path) -> None:
    path = tmp_path / "w.json.xz"
    path.write_bytes(
        lzma.compress(wfcommons({"a_1": [], "a_2": [], "b_1": ["a_1"], "b_2": ["a_2"]}).encode())
    )
    flow = read(path)
    assert [(stage.name, stage.tasks, stage.seconds) for stage in flow.stages] == [("a", 2, 5), ("b", 2, 5)]
    assert flow.stages[1].output_bytes == 10
    assert flow.tasks[0].command == ("a",)


def test_kinds_that_wait_for_each_other_are_a_stage_for_each_depth(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(wfcommons({"a_1": [], "b_1": ["a_1"], "a_2": ["b_1"], "c_1": ["a_2"]}))
    assert [stage.name for stage in read(path).stages] == ["a@0", "b@1", "a@2", "c"]


@pytest.mark.skipif(
    not (Path(__file__).resolve().parents[3] / "shared/data/workflows/wfinstances").is_dir(),
    reason="the shared WfCommons instances are not here",
)
def test_every_shared_wfcommons_instance_is_read() -> None:
    folder = Path(__file__).resolve().parents[3] / "shared/data/workflows/wfinstances"
    for path in sorted(folder.glob("*.json.xz")):
        flow = read(path)
        assert len(flow.tasks) == sum(stage.tasks for stage in flow.stages)
        assert len(flow.stages) <= 100, path.name


# -- prices --


def test_the_shipped_prices_are_table_3_1_and_say_what_is_assumed() -> None:
    listed = prices.load()
    assert {one.name: one.price for one in listed.platforms} == {
        "c5a.4xlarge": 0.616,
        "c4.4xlarge": 0.796,
        "c5n.4xlarge": 0.864,
        "g4ad.4xlarge": 0.867,
        "g3.4xlarge": 1.14,
        "g5.xlarge": 1.006,
    }
    assert all(one.domain is Domain.CLOUD for one in listed.platforms)
    assert listed.dated == "2026-01-01"
    assert any("files, storage and transfer" in text for text in listed.assumptions)
    assert PRICES.leaving == listed.leaving


def test_all_that_is_wrong_with_prices_is_said_with_its_line() -> None:
    text = (
        'dated = "soon"\ncurrency = "USD"\nread = -1\n[[platform]]\nname = "a"\nprice = -0.5\n'
        '[[platform]]\nname = "b"\n[[platform]]\nname = "a"\nprice = 1\nsort = 3\n'
    )
    with pytest.raises(UsageError) as caught:
        prices.parse(text, "p.toml")
    said = caught.value.message.splitlines()
    assert said[0].startswith("p.toml:1: dated is ")
    assert said[1] == "p.toml:3: read is -1: expected `float` >= 0.0"
    assert said[2] == "p.toml:6: price is -0.5: expected `float` >= 0.0"
    assert said[3] == "p.toml:7: price is missing"
    assert said[4].startswith("p.toml:12: 'sort' is not known here")


@pytest.mark.parametrize("name", ["cluster", "", " "])
def test_an_instance_type_is_not_called_as_the_cluster_is(name: str) -> None:
    # Its run times had been taken for the cluster's.
    text = f'dated = 2026-01-01\ncurrency = "USD"\n[[platform]]\nname = "{name}"\nprice = 1\n'
    with pytest.raises(UsageError, match=f"p.toml:4: name '{name}'"):
        prices.parse(text, "p.toml")


def test_a_tiny_workflow_saves_nothing_and_no_course_shows_certainty(tmp_path: Path) -> None:
    # It said "saves -1011 %" and "100 %".
    (tmp_path / "w.toml").write_text('[[stage]]\nname = "a"\ntasks = 4\nseconds = 60\n')
    row = asked(tmp_path / "w.toml", "--deadlines", "1h", "--free", "0").output.splitlines()[1]
    assert re.search(r"  nothing: 0\.\d\d more  ", row) and "  > 99 %  " in row


# -- bad input --


@pytest.mark.parametrize(
    ("deadlines", "said"),
    [
        ("5m", "shorter than the critical path of 3 min"),
        ("2001-01-01T00:00", "a deadline is in the past"),
        ("soon,1h,later", "'soon' is no deadline\n'later' is no deadline"),
        ("-3h", "'-3h' is no deadline"),
        ("0h", "0h: a deadline is now\n"),
    ],
)
def test_deadlines_that_nothing_can_meet_are_refused(tmp_path: Path, deadlines: str, said: str) -> None:
    text = TABLE if deadlines != "5m" else TABLE.replace("seconds = 60", "seconds = 400")
    said = said if deadlines != "5m" else "shorter than the critical path of 9 min: map -> reduce"
    assert said in refused(tmp_path, text, "w.toml", "--deadlines", deadlines)


@pytest.mark.parametrize("seconds", [50, 60, 70])
def test_a_budget_that_a_refusal_names_is_enough(tmp_path: Path, seconds: int) -> None:
    (tmp_path / "w.toml").write_text(TABLE.replace("seconds = 60", f"seconds = {seconds}"))
    made = planning.case(tmp_path / "w.toml", 0.0)
    with pytest.raises(UsageError) as refusal:
        choose(made, 12 * 3600.0, budget=0.01, courses=20)
    (named,) = re.findall(r"a budget of ([\d.]+),", refusal.value.hint)
    assert choose(made, 12 * 3600.0, budget=float(named), courses=20).plan.expected_cost <= float(named)


def test_a_refused_deadline_is_said_in_the_times_of_the_user(tmp_path: Path) -> None:
    # With hours of a minute, 9 s became "a deadline of 9 min" and the path of 180 s one of 3 h.
    (tmp_path / "w.toml").write_text(TABLE)
    with pytest.raises(UsageError, match="deadline of 9 s is shorter than the critical path of 3 min"):
        choose(planning.case(tmp_path / "w.toml", 0.0), 9.0, hour=60.0, courses=20)


def test_a_cycle_is_named(tmp_path: Path) -> None:
    text = 'stage = [{name="a", tasks=1, after=["b"]}, {name="b", tasks=1, after=["a"]}]'
    assert "wait for each other" in refused(tmp_path, text, "w.toml")
    assert (
        "a_1 -> b_1 -> a_1"
        in (said := refused(tmp_path, wfcommons({"a_1": ["b_1"], "b_1": ["a_1"]}), "w.json"))
        or "b_1 -> a_1 -> b_1" in said
    )


def test_all_that_is_wrong_with_a_table_is_said_with_its_line(tmp_path: Path) -> None:
    text = (
        '[[stage]]\nname = "a"\ntasks = 1\n[[stage]]\nname = "a"\ntasks = 5\noutput = "much"\n'
        '[[stage]]\nname = "b"\ntasks = 1\nafter = ["c"]\n[[stage]]\nname = "d"\ntasks = 1\nafter = ["d"]\n'
    )
    lines = refused(tmp_path, text, "w.toml").splitlines()
    place = tmp_path / "w.toml"
    assert lines[0] == f"{place}:5: stage 'a' is there twice"
    assert lines[1].startswith(f"{place}:7: output of a: 'much' is no size")
    assert lines[2] == f"{place}:11: stage b comes after 'c', which is no stage"
    assert lines[3] == f"{place}:15: the stages d -> d wait for each other; none may"


def test_a_wrong_value_hides_nothing_else_that_is_wrong_with_a_table(tmp_path: Path) -> None:
    # A row with a value of another form, not-a-number or "tpu", was not looked at any further.
    text = (
        '[[stage]]\nname = "a"\ntasks = 0\nseconds = nan\n[[stage]]\nname = "b"\ntasks = 1\nafter = ["b"]\n'
        '[[stage]]\nname = "c"\ntasks = 99999999999999999999\nseconds = 1e300\nprocessor = "tpu"\n'
    )
    lines = refused(tmp_path, text, "w.toml").splitlines()
    place = tmp_path / "w.toml"
    assert lines[:6] == [
        f"{place}:3: tasks is 0: expected `int` >= 1",
        f"{place}:4: seconds is nan: expected `float` >= 0.0",
        f"{place}:8: the stages b -> b wait for each other; none may",
        f"{place}:11: tasks is 99999999999999999999: expected `int` <= 10000000",
        f"{place}:12: seconds is 1e+300: expected `float` <= 31622400.0",
        f"{place}:13: processor is 'tpu': known are cpu, gpu",
    ]
    csv = refused(tmp_path, "name,tasks,seconds,after\na,x,nan,\nb,0,-1,b\n,1,,\n", "w.csv").splitlines()
    assert [line.rpartition("w.csv:")[2] for line in csv[:5]] == [
        "2: seconds is 'nan': expected `float` >= 0.0",
        "2: tasks is 'x': expected `int`, got `str`",
        "3: seconds is '-1': expected `float` >= 0.0",
        "3: tasks is '0': expected `int` >= 1",
        "4: name is missing",
    ]


@pytest.mark.parametrize("name", ["w.json", "w.toml", "w.csv", "w.yaml"])
def test_text_of_another_encoding_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfea\0")
    result = asked(tmp_path / name)
    assert isinstance(result.exception, UsageError) and name in result.exception.message


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("w.toml", '[[stage]]\nname = "a\\nb"\ntasks = 1\n', "w.toml:2: name 'a\\nb'; a text of one line"),
        ("w.toml", '[[stage]]\nname = " "\ntasks = 1\n', "a text of one line is accepted"),
        (
            "w.toml",
            'name = "a\\tb"\n[[stage]]\nname = "a"\ntasks = 1\n',
            "w.toml:1: name: a text of one line",
        ),
        ("w.toml", "x = ", "no TOML"),
        ("w.toml", "", "there is no [[stage]]"),
        ("w.csv", "", "column 'name' is missing"),
        ("w.txt", "x", "accepted are Maestro studies"),
        ("w.json", "[]", "workflow"),
        ("w.yaml", "a: 1", "is not a Maestro study"),
    ],
)
def test_what_is_no_workflow_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    assert said in refused(tmp_path, text, name)


def test_options_that_fit_nothing_are_refused(tmp_path: Path) -> None:
    assert "one number, or three rising" in refused(tmp_path, TABLE, "w.toml", "--free", "3,2,1")
    assert "no numbers" in refused(tmp_path, TABLE, "w.toml", "--free", "many")
    bad = tmp_path / "bad.json"
    bad.write_text('{"workflow": 3}')
    assert "no profile" in refused(tmp_path, TABLE, "w.toml", "--profile", str(bad))
    # What `plan` itself writes has a workflow's name too; entries of other stages say nothing of these.
    bad.write_text('{"workflow": "maps", "offers": []}')
    assert "no profile" in refused(tmp_path, TABLE, "w.toml", "--profile", str(bad))
    other = Measurement(stage="align", platform="cluster", seconds=600, deviation=5, count=9)
    bad.write_bytes(msgspec.json.encode(Profile(workflow="genes", measurements=(other,))))
    said = refused(tmp_path, TABLE, "w.toml", "--profile", str(bad))
    assert "genes" in said and "align" in said and "map, reduce" in said
    bad.write_text('{"workflow": 3}')
    assert "no forecast" in refused(tmp_path, TABLE, "w.toml", "--forecast", str(bad))
    assert "cannot read" in refused(tmp_path, TABLE, "w.toml", "--prices", str(tmp_path / "none.toml"))
    gpu = TABLE.replace("seconds = 120", 'processor = "gpu"\nseconds = 120')
    cpus = tmp_path / "cpus.toml"
    cpus.write_text('dated = 2026-01-01\ncurrency = "USD"\n[[platform]]\nname = "a"\nprice = 1\n')
    assert "no platform for reduce (gpu)" in refused(tmp_path, gpu, "w.toml", "--prices", str(cpus))


def test_all_that_is_wrong_with_all_inputs_is_said_at_once(tmp_path: Path) -> None:
    # The first input that was refused hid the others.
    (tmp_path / "prices.toml").write_text("currency = 3\n")
    (tmp_path / "empty.json").touch()
    words = ("--deadlines", "10x,2001-01-01T00:00,99999999999h", "--free", "many")
    files = ("--prices", str(tmp_path / "prices.toml"), "--profile", str(tmp_path / "empty.json"))
    said = refused(tmp_path, "[[stage]]\n", "w.toml", *words, *files)
    for part in (
        "'10x' is no deadline",
        "2001-01-01T00:00: a deadline is in the past, by ",
        "99999999999h: a deadline of ",
        "--free many: no numbers",
        "w.toml:1: tasks is missing",
        "prices.toml:1: currency is 3",
        "empty.json: no profile",
    ):
        assert part in said


@pytest.mark.parametrize("free", ["nan", "-4", "1e308", "1e400", "1,2", ""])
def test_free_nodes_that_no_cluster_has_are_refused(tmp_path: Path, free: str) -> None:
    assert "--free" in (said := refused(tmp_path, TABLE, "w.toml", f"--free={free}")) or "free nodes" in said


def test_a_forecast_of_too_many_nodes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(
        msgspec.json.encode(
            FreeForecast(made=0, start=0, capacity=9, levels=(0.5,), nodes=((1e308,),), source="a test")
        )
    )
    assert "f.json: hour 1" in refused(tmp_path, TABLE, "w.toml", "--forecast", str(path))


def test_deadlines_from_now_and_by_the_clock() -> None:
    assert moments("90m, 2d", 100.0) == (100 + 5400, 100 + 2 * 86400)
    assert moments("2026-05-01T18:00", 1.7775e9)[0] > 1.7775e9
