"""What reading a specification gives."""

from __future__ import annotations

import msgspec

from whesl.language.diagnostics import Diagnostic, lines_of, render
from whesl.language.spec import Spec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What ``parse`` found. ``spec`` is None when there is an error among the diagnostics.

    ``texts`` are the files that were read, by the name that findings give them, for ``render_all``;
    ``included`` are the included ones by their real paths, with the digest of their bytes.
    """

    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...] = ()
    texts: dict[str, str] = {}
    included: dict[str, str] = {}

    @property
    def ok(self) -> bool:
        """Whether the specification can be used."""
        return self.spec is not None


def render_all(result: Result) -> list[str]:
    """Return all findings of a result for people, each with the line of the file that it is in."""
    lines = {file: lines_of(text) for file, text in result.texts.items()}
    return [render(diagnostic, lines.get(diagnostic.file, ())) for diagnostic in result.diagnostics]
