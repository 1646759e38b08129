"""Finds a launcher's own options before the command that it launches. Pure; standard library only.

Tables: srun(1) of 22.05 to 24.11; mpirun(1) of Open MPI 4 and 5, mpiexec of MPICH 4 (Hydra) and Intel MPI.
An option that is not in a table is taken for one without an argument: at worst the command is seen to start
early, and the user's own words stay as they are.
"""

from __future__ import annotations


class Option:
    """An option as given: ``words`` on the command line, ``value`` its argument (None: none).

    Not a dataclass or named tuple: importing either costs more than all the rest of this module.
    """

    __slots__ = ("name", "value", "words")

    def __init__(self, name: str, value: str | None, words: tuple[str, ...]) -> None:
        self.name = name
        self.value = value
        self.words = words


class Line:
    """A launcher's arguments: its options, and from ``rest`` on the command with its own arguments."""

    __slots__ = ("options", "rest")

    def __init__(self, options: tuple[Option, ...], rest: tuple[str, ...]) -> None:
        self.options = options
        self.rest = rest

    def value(self, *names: str) -> str | None:
        """Return the last argument given to any of these options."""
        return next((o.value for o in reversed(self.options) if o.name in names), None)

    def has(self, *names: str) -> bool:
        """Whether any of these options is given."""
        return any(option.name in names for option in self.options)

    def without(self, *names: str) -> list[str]:
        """Return the words of all other options."""
        return [word for option in self.options if option.name not in names for word in option.words]


# Joined to one string each, since a name per line would fill three pages.
_WITH_ARGUMENT = (
    "accel-bind account acctg-freq bb bbf bcast-exclude begin chdir cluster cluster-constraint clusters"
    " comment constraint container container-id core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu"
    " cpus-per-task deadline delay-boot dependency distribution epilog error exclude export extra extra-"
    " node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags"
    " het-group hint input job-name jobid licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu"
    " mem-per-gpu mincpus mpi msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-"
    " per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output pack-group partition"
    " power prefer priority profile prolog qos relative reservation segment signal slurmd-debug sockets-"
    " per-node switches task-epilog task-prolog thread-spec threads threads-per-core time time-min tmp"
    " tres-bind tres-per-task uid wait wckey"
)
_OTHERS = (
    "bcast compress contiguous disable-status exact exclusive external-launcher help hold immediate"
    " interactive kill-on-bad-exit label multi-prog nice no-allocate no-kill overcommit overlap"
    " oversubscribe preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports send-libs share"
    " spread-job stepmgr unbuffered usage use-min-nodes verbose version wait-for-children whole"
)
_SRUN_WITH_ARGUMENT = frozenset(_WITH_ARGUMENT.split())
_SRUN_ALL = _SRUN_WITH_ARGUMENT | frozenset(_OTHERS.split())
_SRUN_SHORT = {
    "A": "account",
    "B": "extra-node-info",
    "C": "constraint",
    "D": "chdir",
    "F": "nodefile",
    "G": "gpus",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "N": "nodes",
    "P": "dependency",
    "S": "core-spec",
    "T": "threads",
    "W": "wait",
    "b": "begin",
    "c": "cpus-per-task",
    "d": "dependency",
    "e": "error",
    "i": "input",
    "m": "distribution",
    "n": "ntasks",
    "o": "output",
    "p": "partition",
    "q": "qos",
    "r": "relative",
    "t": "time",
    "w": "nodelist",
    "x": "exclude",
}
_SRUN_SHORT_SWITCHES = {
    "E": "preserve-env",
    "O": "overcommit",
    "Q": "quiet",
    "V": "version",
    "X": "disable-status",
    "Z": "no-allocate",
    "h": "help",
    "l": "label",
    "s": "oversubscribe",
    "u": "unbuffered",
    "v": "verbose",
}
_SRUN_SHORT_OPTIONAL = {"I": "immediate", "K": "kill-on-bad-exit", "k": "no-kill"}


def parse_srun(arguments: list[str]) -> Line:
    """Return srun's arguments, with long names for all options (abbreviations included)."""
    options: list[Option] = []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if not word.startswith("-") or word in ("-", "--"):
            break
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        taken = [_srun_long(word, following)] if word.startswith("--") else _srun_short(word, following)
        options.extend(taken)
        # Only a value that stands in the next word takes a second one.
        index += 2 if len(taken[-1].words) == 2 else 1
    return Line(tuple(options), tuple(arguments[index:]))


def _srun_long(word: str, following: str | None) -> Option:
    given, equals, value = word[2:].partition("=")
    name = _full_name(given)
    if equals:
        return Option(name, value, (word,))
    if name in _SRUN_WITH_ARGUMENT and following is not None:
        return Option(name, following, (word, following))
    return Option(name, None, (word,))


def _full_name(given: str) -> str:
    if given in _SRUN_ALL:
        return given
    longer = [name for name in _SRUN_ALL if name.startswith(given)]
    return longer[0] if len(longer) == 1 else given


def _srun_short(word: str, following: str | None) -> list[Option]:
    """Return the options of one word, each in a word of its own (``-lN2`` is ``-l -N2``)."""
    options: list[Option] = []
    for position, letter in enumerate(word[1:], start=2):
        rest = word[position:]
        if letter in _SRUN_SHORT_OPTIONAL:
            return [*options, Option(_SRUN_SHORT_OPTIONAL[letter], rest or None, (f"-{letter}{rest}",))]
        if letter in _SRUN_SHORT:
            name = _SRUN_SHORT[letter]
            if rest:
                return [*options, Option(name, rest, (f"-{letter}{rest}",))]
            words = (f"-{letter}",) if following is None else (f"-{letter}", following)
            return [*options, Option(name, following, words)]
        options.append(Option(_SRUN_SHORT_SWITCHES.get(letter, letter), None, (f"-{letter}",)))
    return options


_OPENMPI = (
    "H am app bind-to c cpu-list cpu-set cpus-per-proc cpus-per-rank default-hostfile display dvm dvm-uri"
    " host hostfile launch-agent launcher machinefile map-by max-restarts memory-updates n np npernode"
    " npersocket N num-proc ompi-server output output-filename parsable path personality prefix preload-"
    " files rank-by rankfile report-events report-uri rf runtime-options server-wait-time slot-list stdin"
    " timeout tune wd wdir x xml-file xterm"
)
_OPENMPI_PAIRS = "mca gmca omca gomca pmixmca gpmixmca prtemca"
_HYDRA = (
    "arch bind-to bootstrap bootstrap-exec ckpoint-interval ckpoint-num ckpoint-prefix configfile demux"
    " envlist errfile-pattern f genvlist gpath gwdir host hostfile hosts iface launcher launcher-exec"
    " machinefile map-by membind n nameserver np outfile-pattern path perhost ppn prepend-pattern rmk"
    " topolib umask usize wdir"
)
_HYDRA_PAIRS = "env genv"
# Number of arguments, where there are any. Flavours share the names that mean the same.
_MPI_ARGUMENTS = {
    "openmpi": {**dict.fromkeys(_OPENMPI.split(), 1), **dict.fromkeys(_OPENMPI_PAIRS.split(), 2)},
    "hydra": {**dict.fromkeys(_HYDRA.split(), 1), **dict.fromkeys(_HYDRA_PAIRS.split(), 2)},
}
MPI_HOSTS = {"openmpi": ("H", "host"), "hydra": ("hosts", "host")}
MPI_RANKFILES = frozenset({"rankfile", "rf"})  # Open MPI's alone
MPI_HOSTFILES = {"openmpi": ("hostfile", "machinefile"), "hydra": ("f", "hostfile", "machinefile")}


def parse_mpi(arguments: list[str], flavour: str) -> list[Line]:
    """Return the application contexts of an mpirun or mpiexec (those between ``:``)."""
    table = _MPI_ARGUMENTS[flavour]
    lines: list[Line] = []
    contexts: list[list[str]] = [[]]
    for word in arguments:
        if word == ":":
            contexts.append([])
        else:
            contexts[-1].append(word)
    for words in contexts:
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
