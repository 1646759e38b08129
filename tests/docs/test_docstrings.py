"""Public functions say what their arguments are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from whesl.doctor.job_script.checks import DETECTIONS, STEPS

pytestmark = pytest.mark.xdist_group("architecture")  # the process that parses all modules anyway
ROOT = Path(__file__).resolve().parents[2]
# Decorators of functions whose parameters are documented elsewhere: a command's options by the help of each,
# since the docstring is the command's help; overloads by the function itself; fixtures are other fixtures.
_ELSEWHERE = re.compile(r"\b(?:command|parameters|overload|fixture)\b")


class _Function(NamedTuple):
    place: str
    name: str
    several: bool  # whether it uses two arguments or more
    documents: bool | None  # None without a docstring
    owner: str  # its class, "" for none


class _Class(NamedTuple):
    bases: tuple[str, ...]
    methods: dict[str, bool | None]  # whether a method's docstring documents arguments; None without one


Classes = dict[str, list[_Class]]  # by name; several modules may have a class of one name


def _read(node: ast.Module | ast.ClassDef, module: str, classes: Classes) -> Iterator[_Function]:
    """Yield public functions, and public methods of public classes; note all classes."""
    owner = node.name if isinstance(node, ast.ClassDef) else ""
    for part in node.body:
        if isinstance(part, ast.ClassDef):
            bases = tuple(re.sub(r"\[.*|.*\.", "", ast.unparse(base)) for base in part.bases)
            methods = {
                each.name: None if (text := ast.get_docstring(each)) is None else "Args:" in text
                for each in part.body
                if isinstance(each, ast.FunctionDef)
            }
            classes.setdefault(part.name, []).append(_Class(bases, methods))
            found = _read(part, module, classes)
            yield from () if part.name.startswith("_") else found
        elif isinstance(part, ast.FunctionDef) and not part.name.startswith(("_", "test_")):
            text = ast.get_docstring(part)
            elsewhere = any(_ELSEWHERE.search(ast.unparse(each)) for each in part.decorator_list)
            several = len(_arguments(part.args)) > 1 and not elsewhere
            documents = None if text is None else "Args:" in text
            yield _Function(f"{module}:{part.lineno} {part.name}", part.name, several, documents, owner)


def _arguments(given: ast.arguments) -> list[str]:
    """Return the arguments that a function uses: neither ``self``, nor what is named as ignored."""
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def _inherits(owner: str, name: str, classes: Classes) -> bool:
    """Whether help() shows a base's docstring for a method without one, and that has the arguments."""
    for base in (base for known in classes.get(owner, ()) for base in known.bases):
        for known in classes.get(base, ()):
            documents = known.methods.get(name)
            if documents or (documents is None and base != owner and _inherits(base, name, classes)):
                return True
    return False


def test_public_functions_of_two_arguments_and_more_document_them() -> None:
    """An override without a docstring has that of the class it derives from, which is what help() shows.

    Checks of a table have the arguments of the table's type, which their modules' docstrings name.
    """
    classes: Classes = {}
    found: list[_Function] = []
    for path in sorted((ROOT / "whesl").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found += _read(ast.parse(path.read_text()), module, classes)
    checks = {(getattr(x, "__module__", ""), getattr(x, "__name__", "")) for x in (*DETECTIONS, *STEPS)}
    wrong = [
        each.place
        for each in found
        if each.several
        and (each.place.partition(":")[0], each.name) not in checks
        and not (_inherits(each.owner, each.name, classes) if each.documents is None else each.documents)
    ]
    assert not wrong
