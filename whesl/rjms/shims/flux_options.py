"""Finds the options of Flux's commands before what they submit. Pure; standard library only.

Tables: flux-run(1), flux-submit(1), flux-bulksubmit(1), flux-alloc(1), flux-batch(1), flux-exec(1) of 0.50 to
0.88. An option that is not in a table is taken for one without an argument: at worst the command is seen to
start early, and the user's own words stay as they are.
"""

from __future__ import annotations

from whesl.rjms.shims.options import Line, Option

SUBMITTING = ("run", "submit", "bulksubmit", "alloc", "batch")

_ARGUMENTS = (
    "add-brokers add-file bank bcc begin-time broker-opt broker-opts cc conf config-path cores"
    " cores-per-slot cores-per-task cwd define dependency env env-file env-remove error flags"
    " gpus-per-node gpus-per-slot gpus-per-task input job-name log log-stderr nodes nslots ntasks"
    " output queue require requires rlimit sep setattr setopt signal taskmap tasks-per-core"
    " tasks-per-node time-limit urgency wait-event"
)
_WITH_ARGUMENT = frozenset(_ARGUMENTS.split())
_SHORT = {
    "B": "bank",
    "N": "nodes",
    "S": "setattr",
    "g": "gpus",
    "n": "ntasks",
    "o": "setopt",
    "q": "queue",
    "t": "time-limit",
    "c": "cores",
}
_SHORT_SWITCHES = {"u": "unbuffered", "l": "label-io", "x": "exclusive", "v": "verbose", "h": "help"}
_EXEC_WITH_ARGUMENT = frozenset(("dir", "exclude", "jobid", "label", "rank", "service", "setopt", "signal"))
_EXEC_SHORT = {"d": "dir", "j": "jobid", "r": "rank", "x": "exclude"}
_EXEC_SHORT_SWITCHES = {"l": "label-io", "n": "noinput", "q": "quiet", "v": "verbose", "h": "help"}
# flux(1): options before the name of the command. With the others flux prints something and ends, or talks
# to the enclosing instance.
_GLOBAL_SWITCHES = frozenset({"-v", "--verbose", "-S", "--sched"})


def split(arguments: list[str]) -> tuple[list[str], str, list[str]] | None:
    """Return flux's own options, the command's name and the command's arguments, or None.

    None: no command is named, or flux is told to talk to another instance (``--parent``).
    """
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            return arguments[:index], word, arguments[index + 1 :]
        if word not in _GLOBAL_SWITCHES:
            return None
    return None


def parse(command: str, arguments: list[str]) -> Line:
    """Return the options of a submitting command or of ``exec``, with long names."""
    if command == "exec":
        table, short, switches = _EXEC_WITH_ARGUMENT, _EXEC_SHORT, _EXEC_SHORT_SWITCHES
    else:
        table, short, switches = _WITH_ARGUMENT, _SHORT, _SHORT_SWITCHES
    options: list[Option] = []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if not word.startswith("-") or word in ("-", "--"):
            break
        following = arguments[index + 1] if index + 1 < len(arguments) else None
        long = word.startswith("--")
        taken = _long(word, following, table) if long else _cluster(word, following, short, switches)
        options += taken
        index += 2 if len(taken[-1].words) == 2 else 1
    return Line(tuple(options), tuple(arguments[index:]))


def _long(word: str, following: str | None, table: frozenset[str]) -> list[Option]:
    name, equals, value = word[2:].partition("=")
    if equals:
        return [Option(name, value, (word,))]
    if name in table and following is not None:
        return [Option(name, following, (word, following))]
    return [Option(name, None, (word,))]


def _cluster(
    word: str, following: str | None, short: dict[str, str], switches: dict[str, str]
) -> list[Option]:
    """Return the options of one word, each in a word of its own (``-lN2`` is ``-l -N2``)."""
    options: list[Option] = []
    for position, letter in enumerate(word[1:], start=2):
        rest = word[position:]
        if letter in short:
            if rest:
                return [*options, Option(short[letter], rest, (f"-{letter}{rest}",))]
            words = (f"-{letter}",) if following is None else (f"-{letter}", following)
            return [*options, Option(short[letter], following, words)]
        options.append(Option(switches.get(letter, letter), None, (f"-{letter}",)))
    return options
