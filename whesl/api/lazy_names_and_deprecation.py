"""How modules of ``whesl.api`` load what they promise, and how a promise ends.

A module lists its names once, below ``if TYPE_CHECKING:``, as ``from place import name as name``: type
checkers read that list, and so does ``lazily``, which imports a name when it is first used.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

# A deprecated name stays, and works, for so many minor releases; before 1.0 as after it.
STAYS = 2


class Deprecated:
    """A name that will go.

    Args:
        since: the first release that warns, ``major.minor``.
        use: what to write instead, for the warning.
        place: what is given until then, ``module:name``.
    """

    def __init__(self, since: str, *, use: str, place: str) -> None:
        self.since, self.use, self.place = since, use, place

    @property
    def goes(self) -> str:
        """The first release that may be without the name."""
        major, minor = map(int, self.since.split("."))
        return f"{major}.{minor + STAYS}"

    def overdue(self, version: str) -> bool:
        """Whether a release may be without the name.

        Args:
            version: the release, ``major.minor.patch``.
        """
        return _numbers(version)[:2] >= _numbers(self.goes)


def lazily(
    module: str, *, extra: str = "", deprecated: Mapping[str, Deprecated] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a module whose names are loaded when they are used.

    Args:
        module: its name.
        extra: what has to be installed for its names, as ``whesl[lab]``; "" for nothing more.
        deprecated: names that warn, by name; they are no longer in the list.
    """
    old = deprecated or {}
    places: dict[str, str] = {}

    def known() -> dict[str, str]:
        if not places:
            places.update(listed(module))
        return places

    def attribute(name: str) -> Any:
        if name in old:
            import warnings

            gone = old[name]
            text = f"{module}.{name} is deprecated since {gone.since} and goes in {gone.goes}: use {gone.use}"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return _loaded(gone.place, module, extra)
        if name.startswith("__") or name not in known():
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = _loaded(known()[name], module, extra)
        setattr(sys.modules[module], name, found)
        return found

    return attribute, lambda: sorted({*vars(sys.modules[module]), *known()})


def listed(module: str) -> dict[str, str]:
    """Return the names that a module lists for type checkers, each with its place, ``module:name``.

    Args:
        module: the name of a module that is imported.
    """
    import ast
    from importlib.util import find_spec

    spec = find_spec(module)
    assert spec is not None and spec.loader is not None
    source = spec.loader.get_source(module)  # type: ignore[attr-defined]  # the loaders of files and archives
    blocks = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    return {
        alias.asname: f"{node.module}:{alias.name}"
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }


def _loaded(place: str, wanted_by: str, extra: str) -> Any:
    from importlib import import_module

    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if not extra:
            raise
        from whesl.model.errors import missing

        raise missing(error, wanted_by, extra) from error


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]
