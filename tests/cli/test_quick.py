"""The quick reader of options understands what click does, or leaves it to click."""

from __future__ import annotations

from typing import Any

import click
from hypothesis import example, given
from hypothesis import strategies as st

from whesl.cli.completion import _VARIABLE
from whesl.cli.launch import quick
from whesl.cli.launch.exec import exec_

WORDS = [
    *quick.FLAGS,
    *quick.TEXTS,
    *quick.PATHS,
    *quick.SECONDS,
    "-e",
    "--rules",
    "--inner",
    "--spares",
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
    return {
        name: str(value) if name in quick.PATHS.values() and value is not None else value
        for name, value in found.items()
    }


@given(st.lists(st.sampled_from(WORDS), max_size=7))
@example(["--spares", "2", "--heartbeat", "0.1", "-e", "a", "-e", "b", "--no-summary", "--script", "-"])
@example(["-e", "r.esl", "a", "--quiet"])
@example(["a", "--", "--quiet"])
def test_what_it_understands_click_understands_alike(arguments: list[str]) -> None:
    found = quick.read(arguments)
    assert found is None or found == by_click(arguments)


def test_it_knows_every_option_and_its_default() -> None:
    declared = {
        option
        for parameter in exec_.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    known = {*quick.FLAGS, *quick.TEXTS, *quick.PATHS, *quick.SECONDS}
    assert declared == known | {"-e", "--rules", "--inner", "--spares"}
    assert by_click(["--", "a"]) == quick.read(["--", "a"]) == {**quick.DEFAULTS, "command": ("a",)}
    (inner,) = (each for each in exec_.params if each.name == "inner")
    assert isinstance(inner.type, click.Choice) and tuple(inner.type.choices) == quick.INNER
    assert quick.COMPLETING == _VARIABLE


def test_it_reads_what_wrapped_scripts_say() -> None:
    words = ["--workflow", "w", "--step", "s", "--instance", "I.1", "--workspace", "/x", "-e", "spec.json"]
    found = quick.read(
        [*words, "--nodes", "2", "--spares", "1", "--observe", "--no-own-node", "--script", "-"]
    )
    assert found is not None
    assert (found["rules"], found["script"], found["own_node"]) == (("spec.json",), "-", False)
    assert quick.read(["-e", "r.esl", "--"]) is None
