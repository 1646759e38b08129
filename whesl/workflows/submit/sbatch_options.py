"""What an sbatch call says: its command line, and the ``#SBATCH`` lines of its script."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

# sbatch(1), Slurm 22.05 to 24.11. Short options that take a value, by their long names.
_SHORT = {
    "A": "account",
    "a": "array",
    "B": "extra-node-info",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "F": "nodefile",
    "G": "gpus",
    "i": "input",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "S": "core-spec",
    "t": "time",
    "w": "nodelist",
    "x": "exclude",
}
# Long options without a value, or whose value may only be given with "=".
_FLAGS = frozenset(
    {
        "contiguous",
        "disable-stdout-job-summary",
        "exclusive",
        "get-user-env",
        "help",
        "hold",
        "ignore-pbs",
        "immediate",
        "nice",
        "no-kill",
        "no-requeue",
        "no-shell",
        "overcommit",
        "oversubscribe",
        "parsable",
        "propagate",
        "quiet",
        "reboot",
        "requeue",
        "resv-ports",
        "share",
        "spread-job",
        "stepmgr",
        "test-only",
        "usage",
        "use-min-nodes",
        "verbose",
        "version",
        "wait",
    }
)
_SHORT_FLAGS = {
    "h": "help",
    "H": "hold",
    "k": "no-kill",
    "O": "overcommit",
    "Q": "quiet",
    "s": "oversubscribe",
}
_SHORT_FLAGS |= {"u": "usage", "V": "version", "v": "verbose", "W": "wait"}


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
    options, count = _options(arguments)
    rest = list(arguments[count:])
    if rest and rest[0] == "--":
        rest = rest[1:]
    return Call(
        options=tuple(options),
        words=tuple(arguments[:count]),
        script=rest[0] if rest else "",
        arguments=tuple(rest[1:]),
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
            found += _options(words)[0]
    return tuple(found)


def header_lines(text: str) -> Iterator[str]:
    """Yield a script's lines (without their ends) before its first command: blank ones and comments."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return
        yield line


def _options(words: Sequence[str]) -> tuple[list[tuple[str, str | None]], int]:
    found: list[tuple[str, str | None]] = []
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("-") or word in ("-", "--"):
            break
        index += 1
        following = words[index] if index < len(words) else None
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if equals:
                found.append((name, value))
            elif name in _FLAGS:
                found.append((name, None))
            else:
                found.append((name, following))
                index += 1
        else:
            taken = _short(word[1:], following, found)
            index += taken
    return found, min(index, len(words))


def _short(letters: str, following: str | None, found: list[tuple[str, str | None]]) -> int:
    """Take one word of short options apart; return how many more words it needs (0 or 1)."""
    for place, letter in enumerate(letters):
        if letter in _SHORT:
            value = letters[place + 1 :].removeprefix("=")
            found.append((_SHORT[letter], value or following))
            return 0 if value else 1
        found.append((_SHORT_FLAGS.get(letter, letter), None))
    return 0
