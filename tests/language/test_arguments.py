"""Arguments as they are described and as the recovery reads them: what the check lets through can be done."""

from __future__ import annotations

from typing import Any

import pytest

from whesl.language.compiler.operation_signatures import OPERATIONS, Argument, ArgumentType, arguments_of
from whesl.language.signals import signal_number
from whesl.language.spec import Operation, ResourceKind
from whesl.runtime.operations.recovery_step_arguments import checked, of_attempt, split_command


def values(argument: Argument) -> list[Any]:
    """Return values of an argument that the check accepts."""
    if argument.choices:
        return list(argument.choices)
    text = "/a/b" if argument.path else "./run --fast 'two words'"
    accepted: dict[ArgumentType, list[Any]] = {
        ArgumentType.STRING: [text],
        ArgumentType.STRINGS: [text, [text, "/c"]],
        ArgumentType.INTEGER: [max(argument.minimum or 0, 1), 2**40],
        ArgumentType.NUMBER: [1, 0.5],
        ArgumentType.ENVIRONMENT: [{}, {"A": "", "B": "1"}],
        ArgumentType.MEMORY: ["64G", "0.5 TiB", "900"],
        ArgumentType.ATTEMPTS: [[{}], [{"environment": {"A": "1"}}, {"command_append": "--small"}]],
        ArgumentType.SIGNAL: ["SIGUSR1", "TERM", "15"],
    }
    return accepted[argument.type]


@pytest.mark.parametrize(("resource", "operation"), OPERATIONS)
def test_the_recovery_takes_what_the_check_accepts(resource: ResourceKind, operation: Operation) -> None:
    table = arguments_of(resource, operation)
    needed = {argument.name: values(argument)[0] for argument in table if argument.required}
    names = checked(resource, operation, split_command(needed)).keys()
    assert names == {argument.name for argument in table} - {"attempts"}
    for argument in table:
        for value in values(argument):
            chosen = of_attempt({**needed, argument.name: value}, 1)
            checked(resource, operation, split_command(chosen))
    for name in needed:
        with pytest.raises(ValueError, match=name):
            checked(resource, operation, {key: value for key, value in needed.items() if key != name})


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("SIGTERM", 15),
        ("term", 15),
        ("9", 9),
        ("SIGNOTHING", None),
        ("0", None),
        ("SIG", None),
        ("", None),
        ("\u0665", None),
        ("9" * 5000, None),
    ],
)
def test_signals(text: str, number: int | None) -> None:
    assert signal_number(text) == number
