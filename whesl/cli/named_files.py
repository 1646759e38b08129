"""An option that names several files: by their names one after another, or by a pattern of names."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import click

from whesl.cli.parameters import option
from whesl.model.errors import UsageError


class _SeveralWords(click.Option):
    """An option whose values are all words up to the next option, as a shell expands a pattern."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser take further words as this option's values; see ``click.Option``.

        Args:
            parser: click's parser of the command line.
            ctx: click's context.
        """
        super().add_to_parser(parser, ctx)
        # click has no option with any number of words, so that its parser's record of the option is changed.
        declared = parser._long_opt[self.opts[0]]
        one_word = declared.process

        def all_words(value: str, state: Any) -> None:
            one_word(value, state)
            while state.rargs and not state.rargs[0].startswith("-"):
                one_word(state.rargs.pop(0), state)

        declared.process = all_words


def named_files(help_: str, metavar: str, names: str = "") -> tuple[str, ...]:
    """Declare an option that names any number of files; a pattern stands for the files that it matches.

    Args:
        help_: one sentence.
        metavar: what the help calls a file.
        names: the option's name; by default the parameter's name.
    """
    return option((), help_, f"{metavar}...", names, cls=_SeveralWords, callback=_matching)


def _matching(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of all names and patterns, each once. Raises UsageError for one without a file."""
    files: dict[str, None] = {}
    for name in names:
        # A file may have a name with the letters of a pattern. Path.glob refuses absolute patterns.
        matched = [name] if Path(name).exists() else sorted(glob.glob(name, recursive=True))  # noqa: PTH207
        there = [each for each in matched if not Path(each).is_dir()]
        if not there:
            raise UsageError(f"no file is called {name}", hint="* and ? stand for any letters of a name")
        files.update(dict.fromkeys(there))
    return tuple(files)
