"""Finds a launcher's own options before the launched command. Pure; standard library only.

Sources of the tables: srun(1) (``slurm/option_tables.py``); mpirun(1) of Open MPI 4 and 5, mpiexec of MPICH 4
(Hydra) and Intel MPI. An option that is not in a table counts as an option without an argument: at worst the
launched command seems to start too early, and the user's words stay unchanged.
"""

from __future__ import annotations

from whesl.managers.resource.slurm.option_tables import JOB, LATER_JOB, LATER_SRUN, SRUN

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Option:
    """An option of a call: its long name, its argument (None without one), its words on the command line.

    Not a dataclass or named tuple: importing either takes longer than the rest of this module.
    """

    __slots__ = ("name", "value", "words")

    def __init__(self, name: str, value: str | None, words: tuple[str, ...]) -> None:
        self.name = name
        self.value = value
        self.words = words


class Line:
    """A launcher's arguments: its options, and in ``rest`` the launched command with its arguments."""

    __slots__ = ("options", "rest")

    def __init__(self, options: tuple[Option, ...], rest: tuple[str, ...]) -> None:
        self.options = options
        self.rest = rest

    def value(self, *names: str) -> str | None:
        """Return the last argument of any of the named options, None without one."""
        return next((o.value for o in reversed(self.options) if o.name in names), None)

    def has(self, *names: str) -> bool:
        """Whether the call has any of the named options."""
        return any(option.name in names for option in self.options)

    def without(self, *names: str) -> list[str]:
        """Return the words of all options except the named ones."""
        return [word for option in self.options if option.name not in names for word in option.words]


class Table:
    """The options of a command, read from a text.

    In the text, ``nodes/N=`` is an option with an argument, ``no-kill/k?`` an option whose optional argument
    stands in the same word, ``hold/H`` an option without an argument.

    Args:
        text: the options, separated by white space.
        later: further options, which only newer releases of the command have.
        whole: whether the table is complete, so that abbreviated names can be resolved.
        stranger: the kind of long options that are not in the table: "=" with an argument, "" without one.
    """

    __slots__ = ("kinds", "later", "letters", "stranger", "whole")

    def __init__(self, text: str, *, later: str = "", whole: bool = True, stranger: str = "") -> None:
        self.kinds: dict[str, str] = {}
        self.letters: dict[str, str] = {}
        self.later: set[str] = set()
        self.stranger = stranger
        self.whole = whole
        self._add(text)
        known = set(self.kinds)
        self._add(later)
        self.later = set(self.kinds) - known

    def _add(self, text: str) -> None:
        for word in text.split():
            kind = word[-1] if word[-1] in "=?" else ""
            name, _, letter = word.removesuffix(kind).partition("/")
            self.kinds[name] = kind
            if letter:
                self.letters[letter] = name

    def full_name(self, given: str) -> str:
        """Return the long name of an option that may be abbreviated.

        An abbreviation that fits one option of the older releases means that option: a newer release with a
        second fitting option refuses the call itself.
        """
        if given in self.kinds or not self.whole:
            return given
        longer = [name for name in self.kinds if name.startswith(given)]
        longer = [name for name in longer if name not in self.later] or longer
        return longer[0] if len(longer) == 1 else given


def parse(arguments: Sequence[str], table: Table) -> Line:
    """Return the options (with long names) and the rest of a command's arguments.

    Args:
        arguments: the command's arguments.
        table: the command's options.
    """
    options: list[Option] = []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if not word.startswith("-") or word in ("-", "--"):
            break
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        options += _long(word, following, table) if word.startswith("--") else _short(word, following, table)
        # An option takes a second word only for a value in the next word.
        index += len(options[-1].words)
    return Line(tuple(options), tuple(arguments[index:]))


def _long(word: str, following: str | None, table: Table) -> list[Option]:
    given, equals, value = word[2:].partition("=")
    name = table.full_name(given)
    if equals:
        return [Option(name, value, (word,))]
    if table.kinds.get(name, table.stranger) == "=" and following is not None:
        return [Option(name, following, (word, following))]
    return [Option(name, None, (word,))]


def _short(word: str, following: str | None, table: Table) -> list[Option]:
    """Return the options of one word of letters, each as a word of its own (``-lN2`` as ``-l -N2``)."""
    options: list[Option] = []
    for position, letter in enumerate(word[1:], start=2):
        rest = word[position:]
        name = table.letters.get(letter, letter)
        kind = table.kinds.get(name, "")
        if kind and (rest or kind == "?"):
            return [*options, Option(name, rest.removeprefix("=") or None, (f"-{letter}{rest}",))]
        if kind:
            words = (f"-{letter}",) if following is None else (f"-{letter}", following)
            return [*options, Option(name, following, words)]
        options.append(Option(name, None, (f"-{letter}",)))
    return options


_LATER_SRUN = LATER_JOB + LATER_SRUN
_SRUN = Table(JOB + SRUN, later=_LATER_SRUN)


def parse_srun(arguments: Sequence[str], ask: Callable[[], str] | None = None) -> Line:
    """Return the options (with long names, also of abbreviations) and the rest of srun's arguments.

    Args:
        arguments: srun's arguments.
        ask: returns the output of ``srun --help``; called for an option that is not in the table, of a site's
            SPANK plugin or of a newer release. An option that is not there either is refused by srun itself.
    """
    line = parse(arguments, _SRUN)
    if ask is None or all(option.name in _SRUN.kinds for option in line.options):
        return line
    return parse(arguments, Table(JOB + SRUN, later=f"{_LATER_SRUN} {_of_help(ask())}"))


def _of_help(text: str) -> str:
    """Return the options in the output of ``srun --help`` that are not in the table, in ``Table``'s form.

    An argument in brackets alone is optional (``--beegfs=[size]``), as in Slurm's own lines.
    """
    import re

    shown = re.findall(r"^ +(?:-\w, )?--([\w-]+)(=\[[^]\s]*\](?=\s)|=)?", text, re.MULTILINE)
    return " ".join(f"{name}{'?' if kind[1:] else kind}" for name, kind in shown if name not in _SRUN.kinds)


_OPENMPI = (
    "H am app bind-to c cpu-list cpu-set cpus-per-proc cpus-per-rank default-hostfile display dvm dvm-uri"
    " host hostfile launch-agent launcher machinefile map-by max-restarts memory-updates n np npernode"
    " npersocket N num-proc ompi-server output output-filename parsable path personality prefix"
    " preload-files rank-by rankfile report-events report-uri rf runtime-options server-wait-time"
    " slot-list stdin timeout tune wd wdir x xml-file xterm"
)
_OPENMPI_PAIRS = "mca gmca omca gomca pmixmca gpmixmca prtemca"
_HYDRA = (
    "arch bind-to bootstrap bootstrap-exec ckpoint-interval ckpoint-num ckpoint-prefix configfile demux"
    " envlist errfile-pattern f genvlist gpath gwdir host hostfile hosts iface launcher launcher-exec"
    " machinefile map-by membind n nameserver np outfile-pattern path perhost ppn prepend-pattern rmk"
    " topolib umask usize wdir"
)
_HYDRA_PAIRS = "env genv"
# The number of arguments of each option with arguments, by MPI flavour.
_MPI_ARGUMENTS = {
    "openmpi": {**dict.fromkeys(_OPENMPI.split(), 1), **dict.fromkeys(_OPENMPI_PAIRS.split(), 2)},
    "hydra": {**dict.fromkeys(_HYDRA.split(), 1), **dict.fromkeys(_HYDRA_PAIRS.split(), 2)},
}
MPI_HOSTS = {"openmpi": ("H", "host"), "hydra": ("hosts", "host")}
MPI_RANKFILES = frozenset({"rankfile", "rf"})  # options that only Open MPI has
MPI_HOSTFILES = {"openmpi": ("hostfile", "machinefile"), "hydra": ("f", "hostfile", "machinefile")}


def parts(arguments: Sequence[str]) -> list[list[str]]:
    """Return the parts of a call between the words ``:``; each part has a command of its own."""
    found: list[list[str]] = [[]]
    for word in arguments:
        if word == ":":
            found.append([])
        else:
            found[-1].append(word)
    return found


def joined(found: Sequence[Sequence[str]]) -> list[str]:
    """Return the parts of a call as one list of arguments, with ``:`` between them."""
    return [word for number, words in enumerate(found) for word in ((":", *words) if number else words)]


def parse_mpi(arguments: list[str], flavour: str) -> list[Line]:
    """Return the options and the rest of each application context (between ``:``) of an mpirun or mpiexec.

    Args:
        arguments: the launcher's arguments.
        flavour: the launcher's MPI, ``openmpi`` or ``hydra``.
    """
    table = _MPI_ARGUMENTS[flavour]
    lines: list[Line] = []
    for words in parts(arguments):
        options: list[Option] = []
        index = 0
        while index < len(words) and words[index].startswith("-") and words[index] not in ("-", "--"):
            name, equals, value = words[index].lstrip("-").partition("=")
            end = index + 1 + (0 if equals else table.get(name, 0))
            taken = tuple(words[index:end])
            options.append(Option(name, value if equals else (taken[-1] if len(taken) > 1 else None), taken))
            index = end
        lines.append(Line(tuple(options), tuple(words[index:])))
    return lines
