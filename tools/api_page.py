"""Print docs/api.md from the promised modules themselves; with --promises, tests/api/promises.txt.

Usage: python tools/api_page.py > docs/api.md; python tools/api_page.py --promises > tests/api/promises.txt
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec

from whesl.api.lazy_names_and_deprecation import STAYS, listed

MODULES = (
    "whesl.api",
    "whesl.api.resource_manager",
    "whesl.api.workflow_manager",
    "whesl.api.cloud_provider",
    "whesl.api.failure_predictor",
    "whesl.api.placement_policy",
    "whesl.api.checkpoints",
    "whesl.api.lab",
    "whesl.testing.contracts",
    "whesl",
)
HEAD = f"""\
# What other programs can rely on

Made by `tools/api_page.py` from the modules themselves; do not edit.

These modules are promised:

{"".join(f"* `{name}`{chr(10)}" for name in MODULES)}
Everything else in the package is private, however it is called, and may change with any release. All
promises, with their signatures and fields, stand in `tests/api/promises.txt`, which a test compares with the
code. A release may add names, arguments with a default, and fields with a default.

**Deprecation.** A promised name that is to go warns first (`DeprecationWarning`, with what to write instead),
and works for {STAYS} more minor releases: what 0.3 deprecates may be missing in 0.{3 + STAYS}.

All modules are typed, and import what is used when it is used. Records are frozen, but for the rows of a
report, which is a copy of what is recorded. Errors are `UsageError` (correct the call), `RefusedError` (the
other side said no), `TransientError` (the same call may work later) and `CouldNotObserveError` (nobody
answered, which never means that something is gone); each is a `WheslError` with a `message` and a `hint`.

```python
from whesl import api

for problem in api.check("rules.esl"):
    print(f"{{problem.file}}:{{problem.line}}: {{problem.message}}")
found = api.why("slurm-1234.out")
if found.cause is not None:
    print(found.cause.finding.text, found.advice.value)
    print(api.rule_for(found))
```

`examples/adapters` is a package of its own with a resource manager and a failure predictor, which import
`whesl.api` alone; the contract tests are its tests.
"""


class _Plain(str):
    """An annotation that is printed without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def names(module: str) -> dict[str, Any]:
    """Return what a module promises, by name."""
    there = import_module(module)
    if module == "whesl":
        return {name: getattr(there, name) for name in listed_for_whesl()}
    own = {
        name: value
        for name, value in vars(there).items()
        if inspect.isfunction(value) and value.__module__ == module and not name.startswith("_")
    }
    found = listed(module) or {name: "" for name, value in vars(there).items() if inspect.isclass(value)}
    return dict(sorted({**own, **{name: getattr(there, name) for name in found}}.items()))


def listed_for_whesl() -> list[str]:
    """Return what the package itself gives to those who write ``@whesl.task``."""
    tree = ast.parse(inspect.getsource(import_module("whesl")))
    (shown,) = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _sets(node, "__all__")]
    return list(ast.literal_eval(shown.value))


def _sets(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def promises() -> str:
    """Return each promise in a line: signatures, fields, values."""
    first: dict[int, str] = {}
    lines: list[str] = []
    for module in MODULES:
        for name, thing in names(module).items():
            place = f"{module}.{name}"
            before = first.setdefault(id(thing), place)
            lines += [f"{place} = {before}"] if before != place else _told(place, thing)
    return "".join(f"{line}\n" for line in lines)


def _told(place: str, thing: Any) -> Iterator[str]:
    if not inspect.isclass(thing):
        yield f"{place}{signature(thing)}"
    elif issubclass(thing, enum.Enum):
        yield from (f"{place}.{one.name} = {one.value!r}" for one in thing)
    elif not place.startswith("whesl.testing"):
        bases = thing.__bases__ if issubclass(thing, Exception) else ()
        yield f"{place}({', '.join(base.__name__ for base in bases)})"
        yield from (f"{place}.{part}{text}" for part, text in members(thing))
    else:
        fixtures = sorted(name for name in dir(thing) if not name.startswith(("_", "test_")))
        yield f"{place}: {', '.join(fixtures)}"


def members(thing: type) -> Iterator[tuple[str, str]]:
    """Yield fields, then public methods and properties of a class, each with its type or signature."""
    own = [base for base in thing.__mro__ if base.__module__.startswith("whesl")]
    seen: set[str] = set()
    for base in own[::-1]:
        for name, text in vars(base).get("__annotations__", {}).items():
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, f": {getattr(text, '__forward_arg__', text)}"
    for base in own:
        for name, value in vars(base).items():
            function = getattr(value, "fget", None) or getattr(value, "func", None) or value
            function = getattr(function, "__func__", function)
            if name in seen or name.startswith("_") or not inspect.isfunction(function):
                continue
            seen.add(name)
            is_value = function is not value and not isinstance(value, staticmethod | classmethod)
            yield name, f": {function.__annotations__['return']}" if is_value else signature(function)
    made = vars(thing).get("__init__")
    if (
        inspect.isfunction(made)
        and not issubclass(thing, msgspec.Struct)
        and not vars(thing).get("_is_protocol")
    ):
        yield "__init__", signature(made)


def signature(function: Any) -> str:
    """Return a function's signature as it is written."""
    found = inspect.signature(function)
    parameters = [
        one.replace(annotation=_Plain(one.annotation.strip("'"))) if isinstance(one.annotation, str) else one
        for one in found.parameters.values()
    ]
    result = found.return_annotation
    shown = found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    return f"{shown} -> {result}" if isinstance(result, str) else str(found)


def page() -> str:
    """Return the page."""
    return HEAD + "".join(_section(module) for module in MODULES)


def _section(module: str) -> str:
    there = import_module(module)
    about = inspect.getdoc(there) or ""
    if module == "whesl":
        about = "Python functions as tasks: [the page](functions.md)."
    text = f"\n## {module}\n\n{_marked(about)}\n"
    found = names(module)
    functions = {name: thing for name, thing in found.items() if not inspect.isclass(thing)}
    for name, thing in functions.items():
        if module == "whesl.api":
            text += f"\n### {name}\n\n```python\n{_wrapped(name, thing)}\n```\n\n{_described(thing)}\n"
    rest = {name: thing for name, thing in found.items() if inspect.isclass(thing) or module != "whesl.api"}
    return text + "\n" + "".join(f"* `{name}`: {_first(thing)}\n" for name, thing in rest.items())


def _wrapped(name: str, thing: Any) -> str:
    whole = f"{name}{signature(thing)}"
    if len(whole) <= 110:
        return whole
    inside, _, result = whole[len(name) + 1 :].rpartition(") -> ")
    parts = re.split(r", (?=\*|\w+:)", inside)
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f") -> {result}"])


def _described(thing: Any) -> str:
    """Return a docstring with its Args, Returns and Raises as lists."""
    lines, inside = [], False
    for line in (inspect.getdoc(thing) or "").splitlines():
        if re.fullmatch(r"(Args|Returns|Raises):", line):
            lines += [f"**{line[:-1]}**", ""]
            inside = True
        elif inside and re.match(r"    \w+: ", line):
            name, _, text = line.strip().partition(": ")
            lines.append(f"* `{name}`: {text}")
        else:
            lines.append(("  " if inside and line.startswith("        ") else "") + line.strip())
    return _marked("\n".join(lines))


def _first(thing: Any) -> str:
    """Return the first paragraph of a docstring, in one line."""
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return _marked(" ".join(paragraph.split()))


def _marked(text: str) -> str:
    """Return a docstring's text as Markdown has it."""
    return re.sub(r"``([^`]*)``", r"`\1`", text)


if __name__ == "__main__":
    sys.stdout.write(promises() if "--promises" in sys.argv else page())
