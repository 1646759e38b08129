"""Turns a request into a ``qsub`` command. Pure, except that the script is read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from whesl.managers.resource.pbs.records import TOKEN
from whesl.managers.resource.pbs.select import Chunk, parse, written
from whesl.managers.resource.port import JobRequest
from whesl.managers.resource.request_script import script_text
from whesl.model.errors import UsageError

_START = 'cd "$1" || exit 1; shift; exec "$@"'
# Letters of qsub's options without a value.
_ALONE = "fhIVXzG"
# Resources that a request sets itself.
_SAID = ("select", "place", "nodes", "ncpus", "mpiprocs", "mem")
_DIRECTIVE = re.compile(r"#PBS\s")


def submission(request: JobRequest, workdir: str, hosts: tuple[str, ...] = ()) -> list[str]:
    """Return the qsub command for a request.

    PBS would start a script in its user's home, without arguments, under a login shell that ends at signals
    which the script itself handles (qsig(1B)). So PBS gets a command that starts the script in its working
    directory, with its arguments (qsub(1B), "--"). The options of the script's ``#PBS`` lines come before the
    request's options.

    The job outlives the loss of any node except its first (``tolerate_node_failures``). It writes its output
    files in place while it runs (``-k oed``), so that a lost node or a requeue leaves them there.

    Args:
        request: the request.
        workdir: the script's working directory.
        hosts: the names of the job's nodes, where the request excludes some: PBS has no option that excludes
            nodes.

    Raises UsageError for a request that PBS cannot fulfil.
    """
    if not re.fullmatch(r"[^\s,'\"\\\x00-\x1f]+", request.token):
        raise UsageError(f"a submission token has no blanks, commas and quotes: {request.token!r}")
    if request.demands.qos:
        raise UsageError("PBS is not asked for qos", hint="leave it out: a queue stands for it")
    if request.time_limit is not None and request.time_limit <= 0:
        raise UsageError(f"a time limit has to be above zero: {request.time_limit:g} minutes")
    options = [
        ("-l", f"select={written(chunks(request, hosts))}"),
        ("-l", f"place=scatter{':excl' if request.demands.exclusive else ''}"),
        ("-l", "" if request.time_limit is None else f"walltime={_clock(request.time_limit)}"),
        ("-N", name(request.name or Path(request.script).name)),
        ("-q", request.partition),
        ("-A", request.demands.account),
        ("-o", request.output),
        ("-e", request.error),
        ("-W", f"depend=afterok:{':'.join(request.after_ok)}" if request.after_ok else ""),
    ]
    given = [
        word for option, value in options if value and not value.endswith("=") for word in (option, value)
    ]
    joined = [] if request.error else ["-j", "oe"]
    own, variables, command = _script(request, workdir)
    named = ",".join([*variables, f"{TOKEN}={request.token}"])
    return [
        "qsub", *own, "-V", "-v", named, "-W", "tolerate_node_failures=all",
        "-k", "oed", "-r", "y" if request.requeue else "n", *joined, *given,
        "--", "/bin/sh", "-c", _START, "whesl", workdir, *command,
    ]  # fmt: skip


def chunks(request: JobRequest, hosts: tuple[str, ...] = ()) -> tuple[Chunk, ...]:
    """Return the chunks of a request: for each node a processor for each of its ranks, and the demands.

    Args:
        request: the request.
        hosts: the names of the job's nodes, where they are chosen.
    """
    tasks = max(request.tasks or request.nodes, request.nodes)
    each = -(-tasks // request.nodes)
    asked = [("ncpus", str(each)), ("mpiprocs", str(each))]
    asked += [("mem", request.demands.memory)] if request.demands.memory else []
    for text in (request.demands.constraint, request.demands.gres):
        asked += [pair for chunk in parse(text) for pair in chunk.resources] if text else []
    if hosts:
        return tuple(Chunk(1, (*asked, ("host", host))) for host in hosts)
    return (Chunk(request.nodes, tuple(asked)),)


def _script(request: JobRequest, workdir: str) -> tuple[list[str], list[str], list[str]]:
    """Return the options and variables in a script's ``#PBS`` lines, and the command that runs the script.

    Resources that the request sets are left out, because qsub refuses a resource twice. Variables are
    returned separately, because only qsub's last list of variables counts.
    """
    text = script_text(request, "surrogateescape")
    first = text.split("\n", 1)[0]
    # The kernel passes everything after the first word as one argument.
    interpreter = first[2:].strip().split(None, 1)
    own: list[str] = []
    variables: list[str] = []
    for option, value in directives(text):
        if option == "-v":
            variables.append(value)
        elif option == "-l":
            kept = [part for part in parts(value) if part.partition("=")[0] not in _SAID]
            if request.time_limit is not None:
                kept = [part for part in kept if not part.startswith("walltime=")]
            own += ["-l", ",".join(kept)] if kept else []
        else:
            own += [option, *([value] if value else [])]
    return own, variables, [*interpreter, str(Path(workdir, request.script)), *request.arguments]


def parts(text: str) -> list[str]:
    """Return the resources in a value of ``-l``, split at the commas outside quotes."""
    return re.findall(r"""((?:[^,"']|"[^"]*"|'[^']*')+)""", text)


def directives(text: str) -> list[tuple[str, str]]:
    """Return the options in a script's ``#PBS`` lines with their values ("" for an option without a value).

    ``#PBS`` lines count only before the script's first command (qsub(1B)). Raises UsageError.
    """
    words: list[str] = []
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            break
        if match := _DIRECTIVE.match(line):
            try:
                words += shlex.split(line[match.end() :], comments=True)
            except ValueError as error:
                raise UsageError(f"{line!r}: {error}") from None
    found, rest = options(words)
    if rest:
        raise UsageError(f"not an option of qsub, in a #PBS line: {rest[0]!r}")
    return found


def options(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return qsub's options with their values ("" for an option without a value), and the other words.

    An option may follow the script's name, but not ``--``, which is one of the other words. Raises UsageError
    for an option that lacks its value.
    """
    found: list[tuple[str, str]] = []
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            return found, [*others, word, *rest]
        if len(word) < 2 or word[0] != "-":
            others.append(word)
            continue
        letters = word[1:]
        while letters and letters[0] in _ALONE:
            found.append((f"-{letters[0]}", ""))
            letters = letters[1:]
        if len(letters) == 1 and not rest:
            raise UsageError(f"an option of qsub without its value: -{letters}")
        if letters:
            found.append((f"-{letters[0]}", letters[1:] or rest.pop(0)))
    return found, others


def name(text: str) -> str:
    """Return a text as a valid job name: at most 230 characters, without blanks (qsub(1B), -N)."""
    kept = re.sub(r"[^\w.+-]", "_", text, flags=re.ASCII)[:230]
    return kept if re.match(r"[A-Za-z0-9_]", kept) else f"j{kept}"


def _clock(minutes: float) -> str:
    whole = max(1, round(minutes * 60))
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
