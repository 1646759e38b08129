"""Parses an sbatch call: its command line, ``SBATCH_*`` variables, and its script's ``#SBATCH`` lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from whesl.managers.resource.launcher_shims.launcher_options import Table, parse
from whesl.managers.resource.slurm.option_tables import JOB, LATER_JOB, LATER_SBATCH, SBATCH

# Unknown options, of a site's SPANK plugins or of later releases, count as options with a value.
_SBATCH = Table(JOB + SBATCH, later=LATER_JOB + LATER_SBATCH, stranger="=")
_WITHOUT = Table(JOB + SBATCH, later=LATER_JOB + LATER_SBATCH, stranger="")

# Variables of sbatch whose names differ from their options' (sbatch(1), "INPUT ENVIRONMENT VARIABLES").
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

# The words of a script's line that separates the components of a heterogeneous job.
SEPARATORS = ("hetjob", "packjob")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of sbatch: its options in order (long name, value or None), its script, the script's arguments.

    ``words`` are the words before the script, for each component of a heterogeneous job. ``guessed`` are
    unknown options, for which it is uncertain whether the next word is their value.
    """

    options: tuple[tuple[str, str | None], ...]
    words: tuple[tuple[str, ...], ...]
    script: str
    arguments: tuple[str, ...]
    guessed: tuple[str, ...] = ()

    def last(self, name: str) -> str | None:
        """Return the last value of an option, which is the one that sbatch uses; None without the option."""
        found = [value for option, value in self.options if option == name]
        return (found[-1] or "") if found else None


def parse_call(arguments: Sequence[str], *, valued: bool = True) -> Call:
    """Parse the words after ``sbatch``; colons separate the components of a heterogeneous job.

    Words that are not understood stay in ``Call.words``, so that the rewritten call keeps them.

    Args:
        arguments: the words after ``sbatch``.
        valued: whether the word after an unknown long option is the option's value.
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


def without(call: Call, name: str, instead: tuple[str, ...]) -> Call:
    """Return a call with other words for each component in place of an option.

    Args:
        call: the call.
        name: the option's long name.
        instead: the other words.
    """
    kept = tuple(
        tuple(
            word for option in parse(words, _SBATCH).options if option.name != name for word in option.words
        )
        for words in call.words
    )
    return msgspec.structs.replace(call, words=tuple((*words, *instead) for words in kept))


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


def options_by_component(options: Sequence[tuple[str, str | None]]) -> list[dict[str, str | None]]:
    """Return the options of each component of a job; most jobs have one."""
    found: list[dict[str, str | None]] = [{}]
    for name, value in options:
        if name in SEPARATORS:
            found.append({})
        else:
            found[-1][name] = value
    return found


def parse_variables(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the options in ``SBATCH_*`` variables, which override the script's options, but not the call's.

    The options are in the order of the variables' names, as in sbatch: of SBATCH_NO_REQUEUE and
    SBATCH_REQUEUE, the second counts.
    """
    found = []
    for name in sorted(environment):
        short = name.removeprefix("SBATCH_")
        option = _VARIABLES.get(short, short.lower().replace("_", "-"))
        if short != name and option in _SBATCH.kinds:
            found.append((option, environment[name]))
    return tuple(found)


def asked_of(call: Call, text: str, environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return all options of a submission: of those with one name, sbatch uses the last one.

    Args:
        call: the call of sbatch.
        text: the script's text.
        environment: the variables that sbatch will see.
    """
    found = (*parse_header(text), *parse_variables(environment), *call.options)
    return tuple((name, value or "") for name, value in found)


def header_lines(text: str) -> Iterator[str]:
    """Yield a script's blank lines and comments before its first command, without line ends."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return
        yield line
