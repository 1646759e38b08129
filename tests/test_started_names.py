"""Modules and files that are started by their names: those in shell scripts, and names within texts."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import whesl

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "whesl"
NO_MODULES = {"whesl.handlers", "whesl.wire.zap"}  # a group of entry points, and the name of a logger


def _is_there(name: str) -> bool:
    """Whether there is such a module, or such a function of the package itself."""
    place = ROOT / name.replace(".", "/")
    return place.is_dir() or place.with_suffix(".py").is_file() or hasattr(whesl, name.partition(".")[2])


def test_each_is_there() -> None:
    """A file was renamed, and a script that no quick test starts still called the old name."""
    missing, scripts = [], 0
    for path in (path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        text = path.read_text(errors="replace")
        names = re.findall(r'"(whesl(?:\.\w+)+)"', text) if path.suffix == ".py" else []
        if text.startswith("#!/bin/"):
            scripts += 1
            names = re.findall(r"\bwhesl(?:\.\w+)+", text)
            beside = re.findall(r"\$\{0%/\*\}/([\w./-]+)", text)
            missing += [f"{path}: {name}" for name in beside if not (path.parent / name).is_file()]
        missing += [f"{path}: {name}" for name in set(names) - NO_MODULES if not _is_there(name)]
    assert missing == []
    assert scripts > 5


def calls(path: Path) -> Iterator[tuple[Callable[..., object], ast.Call]]:
    """The calls in a plugin's file of what it imports from WHESL."""
    tree = ast.parse(path.read_text())
    named = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("whesl.")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (words := ast.unparse(node.func).split("."))[0] in named:
            whole = ".".join([named[words[0]], *words[1:]])
            if callable(found := pkgutil.resolve_name(whole)):
                yield found, node


def test_what_a_plugin_calls_takes_its_arguments() -> None:
    """Flux's scheduler module passed arguments that were gone: it placed nothing, seen with Flux alone.

    The types of these files cannot be checked, since they are programs of other managers' Pythons.
    """
    found = [each for path in sorted((ROOT / "plugins").rglob("*.py")) for each in calls(path)]
    assert len(found) > 3
    for called, call in found:
        words = {word.arg: None for word in call.keywords if word.arg is not None}
        inspect.signature(called).bind(*call.args, **words)
