"""What an sbatch call says: its command line, and the ``#SBATCH`` lines of its script."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from whesl.managers.resource.launcher_shims.launcher_options import Table, parse
from whesl.managers.resource.slurm.option_tables import JOB, LATER_JOB, LATER_SBATCH, SBATCH

# A site's own options (SPANK plugins), and those of releases to come, mostly have a value.
_SBATCH = Table(JOB + SBATCH, later=LATER_JOB + LATER_SBATCH, stranger="=")
_WITHOUT = Table(JOB + SBATCH, later=LATER_JOB + LATER_SBATCH, stranger="")

# Variables of sbatch that are not named as their options are (sbatch(1), "INPUT ENVIRONMENT VARIABLES").
_VARIABLES = {
    "ARRAY_INX": "array",
    "BURST_BUFFER": "bb",
    "CPU_FREQ_REQ": "cpu-freq",
    "DEBUG": "verbose",
    "MEM_PER_NODE": "mem",
    "REQ_SWITCH": "switches",
    "SEGMENT_SIZE": "segment",
    "TIMELIMIT": "time",
}

# What stands alone in a script's line between the components of a heterogeneous job.
SEPARATORS = ("hetjob", "packjob")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of sbatch: options in order (long name, value or None), script and its arguments.

    ``words`` are those before the script, for each component of a heterogeneous job; ``guessed`` are options
    that no release has, of which the call alone does not tell whether the next word is their value.
    """

    options: tuple[tuple[str, str | None], ...]
    words: tuple[tuple[str, ...], ...]
    script: str
    arguments: tuple[str, ...]
    guessed: tuple[str, ...] = ()

    def last(self, name: str) -> str | None:
        """Return the value of an option as sbatch takes it: the last one; None when it is not given."""
        found = [value for option, value in self.options if option == name]
        return (found[-1] or "") if found else None


def parse_call(arguments: Sequence[str], *, valued: bool = True) -> Call:
    """Return what the words after ``sbatch`` mean; components of a heterogeneous job stand between colons.

    Words that are not understood are kept in ``words``, so nothing of the caller's is lost.

    Args:
        arguments: the words.
        valued: take the word behind a long option that no release has for its value.
    """
    table = _SBATCH if valued else _WITHOUT
    guessed: list[str] = []
    options: list[tuple[str, str | None]] = []
    words: list[tuple[str, ...]] = []
    rest = tuple(arguments)
    while not words or rest[:1] == (":",):
        rest = rest[1:] if words else rest
        line = parse(rest, table)
        options += [(option.name, option.value) for option in line.options]
        guessed += [
            " ".join(option.words)
            for option in line.options
            if option.name not in table.kinds and "=" not in option.words[0]
        ]
        words.append(rest[: len(rest) - len(line.rest)])
        rest = line.rest
    rest = rest[1:] if rest[:1] == ("--",) else rest
    return Call(
        options=tuple(options),
        words=tuple(words),
        script=rest[0] if rest else "",
        arguments=rest[1:],
        guessed=tuple(guessed),
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
            found += [(word, None) for word in words[:1] if word in SEPARATORS]
    return tuple(found)


def parse_variables(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the options that ``SBATCH_*`` variables stand for, which sbatch reads between script and call.

    They come in the order of their names, as they do in sbatch: of SBATCH_NO_REQUEUE and SBATCH_REQUEUE the
    second one counts.
    """
    found = []
    for name in sorted(environment):
        short = name.removeprefix("SBATCH_")
        option = _VARIABLES.get(short, short.lower().replace("_", "-"))
        if short != name and option in _SBATCH.kinds:
            found.append((option, environment[name]))
    return tuple(found)


def header_lines(text: str) -> Iterator[str]:
    """Yield a script's lines (without their ends) before its first command: blank ones and comments."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return
        yield line
