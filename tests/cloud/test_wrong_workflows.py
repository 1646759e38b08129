"""What is wrong with a study or a CSV file, as ``whesl cloud plan`` says it."""

from __future__ import annotations

from pathlib import Path

from tests.cloud.test_plan import STUDY, refused
from whesl.cloud.workflow.format_detection import read


def test_steps_of_one_name_and_a_step_that_waits_for_itself_are_refused(tmp_path: Path) -> None:
    # The first was planned without the second of them; the other was a KeyError.
    step = '  - {{name: {0}, description: d, run: {{cmd: "x", depends: [{1}]}}}}\n'
    head = "description: {name: a, description: b}\nstudy:\n"
    many = '  - {name: u, description: d, run: {cmd: "x", nodes: zz, procs: $(P)}}\n'
    said = refused(tmp_path, head + many + step.format("s", "") * 2 + step.format("t", "'t_*'"), "x.yaml")
    assert [line.rpartition("x.yaml: ")[2] for line in said.splitlines()[:-1]] == [
        "step s is there 2 times",
        "step t depends on itself",
        "nodes of step u: 'zz'",
    ]


def test_a_study_whose_parameters_have_no_values_is_refused(tmp_path: Path) -> None:
    # It was a TypeError.
    text = STUDY.replace("[1, 2, 3, 4]", "[]")
    text = text[: text.index("  - {name: analyse")] + text[text.index("global.parameters") :]
    assert "no step has a task" in refused(tmp_path, text, "x.yaml")


def test_a_spreadsheet_s_table_is_read_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\ufeffname,tasks\na,1\n", encoding="utf-8")
    assert [one.name for one in read(tmp_path / "t.csv").stages] == ["a"]
    assert "x.csv:2: 2 cells are needed, there are more" in refused(tmp_path, "name,tasks\na,1,2\n", "x.csv")
    assert "x.csv:1: column 'name' is there twice" in refused(tmp_path, "name,name,tasks\na,b,1\n", "x.csv")
