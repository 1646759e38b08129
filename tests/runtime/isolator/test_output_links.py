"""A task without a workflow of ours: its outputs are found whole where they were declared."""

from __future__ import annotations

import json

import pytest

from tests.runtime.isolator.bench import Bench, bench

__all__ = ["bench"]

RULES = """\
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE EXCEPTION FULL JOB_LEVEL JOB [*]
EXCEPTION DETECTION FULL MATCH "No space left on device" stdout
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
"""
# What a program leaves on a full disk: one output half-written, the other not begun.
PROGRAM = """\
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  printf ha > "$1"; echo "No space left on device"; sleep 600
fi
echo whole > "$1"; echo later > "$2"
[ -z "$OPENED" ] || chmod 777 "$OPENED"
[ -z "$FAILS" ]
"""


def call(bench: Bench, *options: str) -> int:
    small, large = bench.place / "small", bench.place / "large"
    (small / "run").mkdir(parents=True)
    large.mkdir()
    arguments = json.dumps({"filesystem": str(large), "defaultpath": str(small)})
    rules = bench.rules(RULES % arguments)
    outputs = (str(small / "run/first"), str(small / "run/second"))
    return bench.run(*bench.script(PROGRAM), *outputs, options=("-e", rules, *options))[0]


@pytest.mark.parametrize("options", [(), ("--workflow", "w")])
def test_outputs_are_found_at_their_old_places(bench: Bench, options: tuple[str, ...]) -> None:
    """Managers look where outputs were declared, also those of workflows that WHESL runs."""
    assert call(bench, *options, "--step", "app") == 0
    for name, text in (("first", "whole\n"), ("second", "later\n")):
        old = bench.place / "small/run" / name
        assert old.readlink() == bench.place / "large/run" / name
        assert old.read_text() == text


def test_not_after_a_failure(bench: Bench) -> None:
    """A manager that sees a failure removes the outputs."""
    bench.environment["FAILS"] = "yes"
    assert call(bench, "--step", "app") == 1
    old = bench.place / "small/run"
    assert (old / "first").read_text() == "ha" and not (old / "first").is_symlink()
    assert not (old / "second").exists()


def test_what_cannot_be_linked_is_told(bench: Bench) -> None:
    """Its manager would take the half-written output for whole."""
    bench.environment["OPENED"] = str(bench.place / "small/run")  # others could exchange what is put there
    assert call(bench, "--step", "app") == 0
    told = (bench.directory.path / "summary").read_text()
    assert "no links lead there" in told
    assert "may be half-written: use the new ones" in told
