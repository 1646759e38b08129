"""What an sbatch call says: its command line, and the ``#SBATCH`` lines of its script."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from whesl.rjms.shims.options import Table, parse
from whesl.rjms.slurm.option_tables import JOB, LATER_JOB, LATER_SBATCH, SBATCH

# A site's own options (SPANK plugins) mostly have a value.
_SBATCH = Table(JOB + SBATCH, later=LATER_JOB + LATER_SBATCH, stranger="=")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of sbatch: options in order (long name, value or None), script and its arguments."""

    options: tuple[tuple[str, str | None], ...]
    words: tuple[str, ...]
    script: str
    arguments: tuple[str, ...]

    def last(self, name: str) -> str | None:
        """Return the value of an option as sbatch takes it: the last one; None when it is not given."""
        found = [value for option, value in self.options if option == name]
        return (found[-1] or "") if found else None


def parse_call(arguments: Sequence[str]) -> Call:
    """Return what the words after ``sbatch`` mean; ``words`` are those before the script, as given.

    Words that are not understood are kept in ``words``, so nothing of the caller's is lost.
    """
    line = parse(arguments, _SBATCH)
    rest = line.rest[1:] if line.rest[:1] == ("--",) else line.rest
    return Call(
        options=tuple((option.name, option.value) for option in line.options),
        words=tuple(arguments[: len(arguments) - len(line.rest)]),
        script=rest[0] if rest else "",
        arguments=rest[1:],
    )


def parse_header(text: str) -> tuple[tuple[str, str | None], ...]:
    """Return the options of a script's ``#SBATCH`` lines, up to its first command as sbatch reads them."""
    found: list[tuple[str, str | None]] = []
    for line in header_lines(text):
        if line.startswith("#SBATCH") and line[7:8].isspace():
            try:
                words = shlex.split(line[7:], comments=True)
            except ValueError:
                continue
            found += parse_call(words).options
    return tuple(found)


def header_lines(text: str) -> Iterator[str]:
    """Yield a script's lines (without their ends) before its first command: blank ones and comments."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return
        yield line
