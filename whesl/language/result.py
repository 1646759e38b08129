"""The result of reading a specification."""

from __future__ import annotations

import msgspec

from whesl.language.diagnostics import Diagnostic, lines_of, render
from whesl.language.spec import Spec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of ``parse``. ``spec`` is None when an error is among the diagnostics.

    ``texts`` are the texts of all files by their name in findings, for ``render_all``; ``included`` are the
    digests of the included files' bytes, by real path.
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
    """Return all findings of a result as text, each with the line of the file that it is about."""
    lines = {file: lines_of(text) for file, text in result.texts.items()}
    return [render(diagnostic, lines.get(diagnostic.file, ())) for diagnostic in result.diagnostics]
