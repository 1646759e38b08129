"""The fast reader of options understands what click does, or leaves it to click."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whesl.cli.completion import _VARIABLE
from whesl.cli.launch import fast_exec
from whesl.cli.launch.exec import exec_
from whesl.runtime.isolator.launch.options import BY_NAME, DEFAULTS, OPTIONS, Option

WORDS = [
    *BY_NAME,
    "--",
    "-",
    "--no-such",
    "--workflow=w",
    "--help",
    "-er.esl",
    "",
    "a",
    "w/x",
    "0",
    "2",
    "-1",
    "0.1",
    ".5",
    "1.",
    "1e3",
    "nan",
    "inf",
    "1_0",
    "²",
    "flux",
    "auto",
]


def by_click(arguments: list[str]) -> dict[str, Any] | None:
    """Return what click makes of arguments, None for an error or an early end."""
    try:
        found = exec_.make_context("exec", list(arguments)).params
    except (click.ClickException, click.exceptions.Exit):
        return None
    return {name: str(value) if isinstance(value, Path) else value for name, value in found.items()}


@given(st.lists(st.sampled_from(WORDS), max_size=7))
@example(["--spares", "2", "--heartbeat", "0.1", "-e", "a", "-e", "b", "--no-summary", "--script", "-"])
@example(["-e", "r.esl", "a", "--quiet"])
@example(["a", "--", "--quiet"])
def test_what_it_understands_click_understands_alike(arguments: list[str]) -> None:
    found = fast_exec.read(arguments)
    assert found is None or found == by_click(arguments)


def test_every_option_of_the_table_is_declared_with_its_default() -> None:
    declared = {
        option
        for parameter in exec_.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert declared == BY_NAME.keys()
    assert by_click(["--", "a"]) == fast_exec.read(["--", "a"]) == {**DEFAULTS, "command": ("a",)}
    assert fast_exec.COMPLETING == _VARIABLE


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_each_option_is_read_alike(option: Option) -> None:
    for name in option.names:
        words = {"choice": option.choices[-1:], "flag": (), "switch": ()}.get(option.kind, ("2",))
        found = fast_exec.read([name, *words, "--", "a"])
        assert found is not None
        assert found == by_click([name, *words, "--", "a"])
        assert found[option.key] != option.default or option.kind == "switch"


def test_it_reads_what_wrapped_scripts_say() -> None:
    words = ["--workflow", "w", "--step", "s", "--instance", "I.1", "--workspace", "/x", "-e", "spec.json"]
    found = fast_exec.read(
        [*words, "--nodes", "2", "--spares", "1", "--observe", "--no-own-node", "--script", "-"]
    )
    assert found is not None
    assert (found["rules"], found["script"], found["own_node"]) == (("spec.json",), "-", False)
    assert fast_exec.read(["-e", "r.esl", "--"]) is None
