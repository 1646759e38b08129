"""Declarations of a command's options and arguments, as defaults of its function's parameters.

``shape: str = option("4x4x8", "Nodes of the torus [4x4x8].", "XxYxZ")`` declares ``--shape`` with a word. The
annotation gives the type: a bool is a flag, a tuple can be repeated, an int or a float may have limits. A
dataclass whose fields are options declares all of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import click

Result = TypeVar("Result")
Value = TypeVar("Value")

_LIMITS = {"least": "min", "above": "min", "most": "max", "below": "max"}


class _Declared(NamedTuple):
    """An option or argument before its name and type are known: settings for ``click``, and limits."""

    decorator: Callable[..., Callable[[Any], Any]]
    names: str
    limits: dict[str, float]
    choices: tuple[str, ...]
    settings: dict[str, Any]


class Finite(click.FloatRange):
    """The type of a finite number within limits; click alone would accept not-a-number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number; see ``click.ParamType.convert``.

        Args:
            value: the word on the command line.
            param: click's parameter.
            ctx: click's context.
        """
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()


def option(
    default: Value,
    help_: str,
    metavar: str | None = None,
    names: str = "",
    *,
    choices: tuple[str, ...] = (),
    shown: bool = False,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    **settings: Any,
) -> Value:
    """Declare an option.

    Args:
        default: the option's value if it is not given.
        help_: one sentence; ``{default}`` in it stands for the default.
        metavar: the value's name in the help.
        names: the option's names, separated by spaces; by default the parameter's name.
        choices: the allowed words.
        shown: whether the help shows the default.
        least: the least allowed number.
        above: a number that the value has to exceed.
        most: the greatest allowed number.
        below: a number that the value has to be less than.
        settings: further settings of ``click.option``, such as ``type`` and ``callback``.
    """
    limits = {"least": least, "above": above, "most": most, "below": below}
    settings |= {"default": default, "metavar": metavar, "show_default": shown or None}
    settings["help"] = help_.replace("{default}", str(default))
    given = {name: limit for name, limit in limits.items() if limit is not None}
    declared: Any = _Declared(click.option, names, given, choices, settings)
    return declared  # type: ignore[no-any-return] # ``parameters`` gives the function the value


def required(help_: str, metavar: str | None = None, names: str = "", **settings: Any) -> Any:
    """Declare an option that has to be given.

    Args:
        help_: one sentence.
        metavar: the value's name in the help.
        names: the option's names, separated by spaces; by default the parameter's name.
        settings: further arguments of ``option``.
    """
    return option(None, help_, metavar, names, required=True, **settings)


def argument(**settings: Any) -> Any:
    """Declare an argument: a word without a name. Settings are those of ``click.argument``."""
    return _Declared(click.argument, "", {}, (), settings)


def parameters(function: Callable[..., Result]) -> Callable[..., Result]:
    """Give a command the options and arguments that its function declares, in their order.

    Args:
        function: the command's function, called with the values; a dataclass of options is one value.
    """
    groups: dict[str, Any] = {}
    declared: list[tuple[str, Any, Any]] = []
    hints = get_type_hints(function)
    for name, given in inspect.signature(function).parameters.items():
        if is_dataclass(hints.get(name)):
            groups[name] = hints[name]
            own = get_type_hints(hints[name])
            declared += [(field.name, own[field.name], field.default) for field in fields(hints[name])]
        elif isinstance(given.default, _Declared):
            declared.append((name, hints[name], given.default))

    @wraps(function)
    def called(*values: Any, **named: Any) -> Result:
        for name, group in groups.items():
            named[name] = group(**{field.name: named.pop(field.name) for field in fields(group)})
        return function(*values, **named)

    for name, hint, given in reversed(declared):
        assert given is not MISSING, f"{name} of {function.__name__} is declared by option() or argument()"
        called = _decorator(name, hint, given)(called)
    return called


def _decorator(name: str, hint: Any, given: _Declared) -> Callable[[Any], Any]:
    """Return click's decorator for a declaration with a name and a type."""
    settings = dict(given.settings)
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    kind = kinds[0] if len(kinds) == 1 and get_origin(hint) is not tuple else hint
    if get_origin(kind) is tuple and get_args(kind)[-1] is Ellipsis:
        if given.decorator is click.option:
            settings["multiple"] = True
        kind = get_args(kind)[0]
    if given.decorator is click.argument:
        return click.argument(name, **settings)
    names = given.names.split() or [f"--{name.replace('_', '-')}"]
    if given.choices:
        settings["type"] = click.Choice(given.choices)
    elif kind is bool:
        settings |= {} if any("/" in one for one in names) else {"is_flag": True}
    elif "type" not in settings:
        settings["type"] = _type(kind, given.limits)
    # Newer releases of click take None for a value that was given, also of an option that has to be given.
    if settings["default"] is None:
        del settings["default"]
    return click.option(*names, name, **settings)


def _type(kind: Any, limits: dict[str, float]) -> click.ParamType[Any] | None:
    """Return click's type for a single value; None for click's default."""
    ends: dict[str, Any] = {_LIMITS[name]: limit for name, limit in limits.items()}
    ends |= {f"{_LIMITS[name]}_open": True for name in limits if name in ("above", "below")}
    if kind is int:
        return click.IntRange(**ends) if ends else click.INT
    if kind is float:
        return Finite(**ends)
    return click.Path(path_type=Path) if kind is Path else None
