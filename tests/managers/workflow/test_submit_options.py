"""Options of sbatch that no release has are passed on, and told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.managers.workflow.test_submit import script
from whesl.managers.workflow.submission import sbatch_command
from whesl.managers.workflow.submission.sbatch_options import asked_of, parse_call
from whesl.managers.workflow.submission.sbatch_rewriting import rewrite


@pytest.mark.parametrize(
    ("words", "script_name", "guessed"),
    [
        (["--later", "run.sh", "x"], "run.sh", ["--later"]),  # it has no value: the job ran without WHESL
        (["--later", "7", "run.sh"], "run.sh", ["--later 7"]),
        (["--later=7", "run.sh"], "run.sh", []),
        (["--nodes", "1", "run.sh"], "run.sh", []),
        (["--later", "7", "gone.sh"], "7", ["--later"]),
    ],
)
def test_the_script_shows_whether_an_option_that_no_release_has_takes_a_word(
    words: list[str], script_name: str, guessed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.sh").write_text(script())
    call, text, said = sbatch_command.read(words)
    assert (call.script, list(call.guessed)) == (script_name, guessed)
    assert (said is not None) is (script_name == "run.sh")
    if said is not None:
        result = rewrite(call, text, said, "c", {})
        told = [notice.rpartition(": ")[2] for notice in result.notices if "not known" in notice]
        assert told == [f"sbatch {word}" for word in guessed]
        assert result.words[: len(words) - 1][0] == words[0], "it is passed on"


def test_a_comment_that_a_variable_asks_for_is_kept() -> None:
    """The token's ``--comment`` took its place."""
    variables = {"SBATCH_COMMENT": "set"}
    assert dict(asked_of(parse_call(["run.sh"]), script(), variables))["comment"] == "set"
    assert dict(asked_of(parse_call(["--comment=mine", "run.sh"]), "", variables))["comment"] == "mine"
