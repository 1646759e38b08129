"""The commands of a shell script: where each stands, and where its output goes. Pure.

tree-sitter's grammar of bash reads the script. What stands in branches, loops, functions and sub-shells, and
behind ``&&`` and ``||``, may run or not: it is told apart by ``Place.always``. Variables that are set once,
to a constant, are replaced by their values.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import tree_sitter
import tree_sitter_bash

from whesl.managers.resource.launcher_shims.launcher_options import parse_srun

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
# Commands of the shell and of systems that prepare, copy and show things; all others are the user's programs.
_TOOLS = re.compile(
    r"[.:\[]|\[\[|alias|awk|basename|bc|break|builtin|cat|cd|chgrp|chmod|chown|clear|conda|continue|cp|curl|cut|"
    r"date|declare|df|dirname|dirs|disown|du|echo|egrep|enable|env|eval|exit|export|expr|false|fg|fgrep|"
    r"file|free|getopts|git|grep|groups|gunzip|gzip|hash|head|hostname|id|install|jobs|kill|let|ln|"
    r"local|logger|logout|ls|lscpu|mamba|md5sum|mkdir|mkfifo|mktemp|ml|module|mount|mv|nl|nproc|numfmt|"
    r"nvidia-smi|od|paste|popd|printenv|printf|ps|pushd|pwd|read|readlink|readonly|realpath|return|rm|"
    r"rmdir|rsync|scp|sed|seq|set|sha256sum|shift|shopt|sleep|sort|source|spack|split|stat|sync|tac|"
    r"tail|tar|tee|test|touch|tr|trap|true|ts|type|ulimit|umask|unalias|uname|uniq|unset|unzip|uptime|"
    r"wait|wc|wget|which|whoami|xz|zcat|zip|sbatch|qsub|bsub|condor_submit|sacct|scancel|scontrol|sinfo|"
    r"squeue|sstat"
)
# Commands before the name of a program.
_BEFORE = {"exec", "time", "nohup", "command", "env"}
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_FIRST_DIRECTORY = re.compile(r"^\$(?:SLURM_SUBMIT_DIR|\{SLURM_SUBMIT_DIR\}|PBS_O_WORKDIR)(?=/|$)/?")
_MOST = 10_000  # commands of a script: functions that call each other can make any number of them
OWN = ("&1", "&2")  # the job's own standard output and standard error
UNKNOWN = "?"


class Sink(NamedTuple):
    """Where a stream goes: a file, one of ``OWN``, or ``UNKNOWN``; through the commands of a pipe.

    Declarations, groups and loops in the pipe have no words, and are left out of ``through``.
    """

    file: str
    through: tuple[tuple[str, ...], ...] = ()

    @property
    def own(self) -> bool:
        """Whether it is a stream of the job."""
        return self.file in OWN


class Output(NamedTuple):
    """Where standard output and error go."""

    stdout: Sink = Sink(OWN[0])
    stderr: Sink = Sink(OWN[1])


class Loop(NamedTuple):
    """A loop: how often it runs, 0 where that is not known, and the seconds that it sleeps each time.

    ``last`` are the numbers that variables have at the end, of this loop and of those around it.
    """

    times: int
    pause: float
    last: tuple[tuple[str, str], ...] = ()


class Place(NamedTuple):
    """Where a command stands.

    With ``captured``, a variable gets its output; a ``dead`` one stands behind an ``exit`` that always runs.
    ``arms`` are the branches around it: the number of the statement, and of the branch in it.
    """

    output: Output = Output()
    always: bool = True
    background: bool = False
    captured: bool = False
    loop: Loop | None = None
    dead: bool = False
    arms: tuple[tuple[int, int], ...] = ()


class Command(NamedTuple):
    """A command of a script.

    Attributes:
        words: the name of the program and its arguments.
        place: where the command stands.
        given: the text of its here-document.
        variables: the assignments that stand before the name of the program.
    """

    words: tuple[str, ...]
    place: Place
    given: str = ""
    variables: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program's name without its directory."""
        return posixpath.basename(self.words[0])

    @property
    def program(self) -> bool:
        """Whether it is a program of the user's, or starts one."""
        return is_program(self.words[0])


def is_program(name: str) -> bool:
    """Whether a command with this first word starts a program of the user's, and no tool of the system."""
    tool = posixpath.basename(name) if name.startswith(("/bin/", "/usr/bin/")) else name
    return _TOOLS.fullmatch(tool) is None and re.match(r"[\w./~$-]", name) is not None


def parsed(text: str) -> tree_sitter.Node | None:
    """Return the statements of a script, None where the grammar finds an error, or misreads it."""
    root = _PARSER.parse(text.encode(errors="surrogateescape")).root_node
    misread = re.search(r"!\s+\{", text)  # the grammar takes the braces behind ! for commands
    return None if root.has_error or misread else root


def read(text: str) -> tuple[Command, ...] | None:
    """Return the commands of a script, those of a function where it is called.

    None where the grammar finds an error, or there are too many to read.

    Args:
        text: the script.
    """
    root = parsed(text)
    if root is None:
        return None
    try:
        commands = tuple(itertools.islice(_Reader(root).read(), _MOST + 1))
    except RecursionError:
        return None
    return commands if len(commands) <= _MOST else None


class _Reader:
    """Reads the statements of a script in their order; keeps the directory and the streams after ``exec``."""

    def __init__(self, root: tree_sitter.Node) -> None:
        self._root = root
        self._directories = [""]
        self._default = Output()
        self._ended = False
        self._inside: list[str] = []
        self._functions: dict[str, tree_sitter.Node] = {}
        self._constants: dict[str, str] = {}
        assigned: list[tuple[str, tree_sitter.Node]] = []
        for node in descendants(root):
            name = node.child_by_field_name("name") or node.child_by_field_name("variable")
            if node.type == "function_definition" and name is not None:
                self._functions[text_of_node(name)] = node.named_children[-1]
            elif node.type in ("variable_assignment", "for_statement") and name is not None:
                assigned.append((text_of_node(name), node))
        times = Counter(variable for variable, _ in assigned)
        for variable, node in assigned:
            value = node.child_by_field_name("value")
            once = node.type == "variable_assignment" and times[variable] == 1
            made = text_of_node(value, self._constants) if once and value is not None else "$"
            if "$" not in made or made.startswith("$(mktemp"):
                self._constants[variable] = made

    def read(self) -> Iterator[Command]:
        """Yield the script's commands."""
        for each in self._root.named_children:
            yield from self._statement(each, Place())

    def _statement(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        if self._ended:
            place = place._replace(always=False, dead=True)
        if node.next_sibling is not None and node.next_sibling.type == "&":
            place = place._replace(background=True)
        step = getattr(self, f"_{node.type}", None)
        if step is not None:
            yield from step(node, place)
        elif node.type in ("compound_statement", "do_group"):
            for each in node.named_children:
                yield from self._statement(each, place)

    def _command(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        yield from self._captured(node, place._replace(captured=True))
        words = words_of(node, self._constants)
        before = [text_of_node(each, self._constants) for each in node.named_children]
        before = before[: before.index(words[0])] if words and words[0] in before else before
        if words in (("exec",), ()):
            if words and place.always:
                self._default = place.output
            return
        body = self._functions.get(words[0])
        if body is not None and words[0] not in self._inside:
            self._inside.append(words[0])
            kept = self._constants
            given = {str(number): word for number, word in enumerate(words) if number and "$" not in word}
            self._constants = {**kept, **given}
            yield from self._statement(body, place)
            self._constants = kept
            self._inside.pop()
            return
        if words[0] in ("cd", "pushd", "popd") and not place.background:
            self._moved(words, place.always)
        if words[0] == "exit" and place.always and not place.background:
            self._ended = True
        output = _by_option(words, place.output)
        yield Command(words, place._replace(output=Output(*map(self._placed, output))), "", tuple(before))

    def _declaration_command(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        words = tuple(text_of_node(each, self._constants) for each in node.children)
        yield from self._captured(node, place._replace(captured=True))
        yield Command(words, place)

    def _variable_assignment(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        yield from self._captured(node, place._replace(captured=True))
        yield Command(("declare", text_of_node(node, self._constants)), place)

    def _captured(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        for each in descendants(node):
            if each.type == "command_substitution":
                for one in each.named_children:
                    yield from self._statement(one, place)

    def _redirected_statement(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        given = ""
        for each in node.children_by_field_name("redirect"):
            for one in each.named_children:
                if one.type == "heredoc_body":
                    given = text_of_node(one)
                elif one.type == "process_substitution":
                    for inner in one.named_children:
                        yield from self._statement(inner, place)
        body = node.child_by_field_name("body")
        if body is not None:
            output = _redirected(node, place.output, self._constants)
            for command in self._statement(body, place._replace(output=output)):
                yield command._replace(given=given or command.given)

    def _pipeline(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        stages = node.named_children
        words = [words_of(each, self._constants) for each in stages]
        end = _redirected(stages[-1], place.output, self._constants).stdout
        if any(not each for each in words[1:]):  # a group or a loop reads the pipe
            end = Sink(UNKNOWN)
        for number, stage in enumerate(stages):
            last = number == len(stages) - 1
            sink = Sink(end.file, (*filter(None, words[number + 1 :]), *end.through))
            inner = place if last else place._replace(output=Output(sink, place.output.stderr))
            yield from self._statement(stage, inner)

    def _list(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        first, behind = node.named_children[0], node.named_children[-1]
        instead = node.children[1].type == "||"
        yield from self._statement(first, _arm(place, node, 0) if instead else place)
        other = place._replace(always=False)
        yield from self._statement(behind, _arm(other, node, 1) if instead else other)

    def _negated_command(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        yield from self._statement(node.named_children[-1], place)

    def _if_statement(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        conditions = {each.id for each in node.children_by_field_name("condition")}
        for number, each in enumerate(node.named_children):
            clause = number if each.type in ("elif_clause", "else_clause") else 0
            branch = _arm(place._replace(always=False), node, clause)
            inner = place if each.id in conditions else branch
            if each.type in ("elif_clause", "else_clause"):
                for one in each.named_children:
                    yield from self._statement(one, inner)
            else:
                yield from self._statement(each, inner)

    def _case_statement(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        for number, each in enumerate(node.named_children):
            for one in each.named_children if each.type == "case_item" else ():
                yield from self._statement(one, _arm(place._replace(always=False), node, number))

    def _subshell(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        kept = list(self._directories), self._default
        for each in node.named_children:
            yield from self._statement(each, place)
        self._directories, self._default = kept
        self._ended = False

    def _for_statement(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        words = [text_of_node(each, self._constants) for each in node.children_by_field_name("value")]
        times = len(words)
        counter: tuple[tuple[str, str], ...] = ()
        if len(words) == 1 and (
            counted := re.fullmatch(r"\$\(seq (?:(\d+) )?(\d+)\)|\{(\d+)\.\.(\d+)\}", words[0])
        ):
            first, last = counted[1] or counted[3] or "1", counted[2] or counted[4]
            times = max(0, int(last) - int(first) + 1)
            counter = ((text_of_node(node.child_by_field_name("variable") or node), last),)
        elif any(set("$*?{") & set(each) for each in words):
            times = 0
        yield from self._loop(node, place._replace(always=place.always and times > 0), times, counter)

    def _while_statement(self, node: tree_sitter.Node, place: Place) -> Iterator[Command]:
        yield from self._loop(node, place._replace(always=False), 0)

    _c_style_for_statement = _while_statement

    def _loop(
        self, node: tree_sitter.Node, place: Place, times: int, counter: tuple[tuple[str, str], ...] = ()
    ) -> Iterator[Command]:
        slept = [
            found
            for each in descendants(node)
            if each.type == "command" and (found := pause(words_of(each, self._constants))) is not None
        ]
        outer = place.loop or Loop(1, 0)
        loop = Loop(times * outer.times, sum(slept), (*outer.last, *counter))
        for each in node.named_children:
            yield from self._statement(each, place._replace(loop=loop))

    def _moved(self, words: tuple[str, ...], always: bool) -> None:
        """Note a change of the directory; one that may happen or not makes it unknown."""
        if words[0] == "popd":
            self._directories = self._directories[:-1] or [UNKNOWN]
            return
        known = always and len(words) == 2 and words[1] != "-"
        made = _joined(self._directories[-1], words[1]) if known else UNKNOWN
        self._directories = [*(self._directories if words[0] == "pushd" else self._directories[:-1]), made]

    def _placed(self, sink: Sink) -> Sink:
        """Return a sink with its file from the job's first directory on, after ``exec``."""
        if sink.own:
            kept = self._default[OWN.index(sink.file)]
            return Sink(kept.file, (*sink.through, *kept.through))
        return sink if sink.file == UNKNOWN else sink._replace(file=_joined(self._directories[-1], sink.file))


def _arm(place: Place, node: tree_sitter.Node, number: int) -> Place:
    """Return a place in one of the branches of a statement."""
    return place._replace(arms=(*place.arms, (node.id, number)))


def pause(words: Sequence[str]) -> float | None:
    """Return the seconds that a command sleeps, None for any other command, or where it is not known."""
    found = re.fullmatch(r"sleep (\d+(?:\.\d+)?)([smhd]?)", " ".join(words))
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] if found else None


def descendants(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield all nodes below one, each before those below it."""
    for each in node.named_children:
        yield each
        yield from descendants(each)


def words_of(node: tree_sitter.Node, constants: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the name of the program and its arguments, of a command with or without redirections.

    Args:
        node: the command in the parsed script.
        constants: values of the script's constants by name; None leaves names as they are.
    """
    if node.type == "redirected_statement" and (body := node.child_by_field_name("body")) is not None:
        return words_of(body, constants)
    if node.type != "command":
        return ()
    fields = [*node.children_by_field_name("name"), *node.children_by_field_name("argument")]
    words = [text_of_node(each, constants) for each in fields]
    while words and (words[0] in _BEFORE or re.match(r"\w+=", words[0])) and len(words) > 1:
        del words[0]
    return tuple(words)


def text_of_node(node: tree_sitter.Node, constants: Mapping[str, str] | None = None) -> str:
    """Return a word without its quotation marks, with the values of constants.

    Args:
        node: the word in the parsed script.
        constants: values of the script's constants by name; None leaves names as they are.
    """
    if node.type in ("concatenation", "variable_assignment") and constants is not None:
        return "".join(text_of_node(each, constants) for each in node.children)
    text = (node.text or b"").decode(errors="surrogateescape")
    text = text[1:-1] if node.type in ("string", "raw_string") and len(text) > 1 else text
    if not constants or node.type == "raw_string":
        return text
    return _VARIABLE.sub(lambda found: constants.get(found[1] or found[2], found[0]), text)


def _redirected(node: tree_sitter.Node, output: Output, constants: dict[str, str]) -> Output:
    """Return where the output of a redirected statement goes, read from left to right as the shell does."""
    ends = {"1": output.stdout, "2": output.stderr}
    given = node.children_by_field_name("redirect")
    for each in [*given, *(one for here in given for one in here.children_by_field_name("redirect"))]:
        target = each.child_by_field_name("destination")
        if each.type != "file_redirect" or target is None:
            continue
        descriptor = each.child_by_field_name("descriptor")
        number = text_of_node(descriptor) if descriptor is not None else "1"
        operator, file = (
            next((text_of_node(c) for c in each.children if not c.is_named), ""),
            text_of_node(target, constants),
        )
        sink = Sink(file)
        if target.type == "process_substitution":
            inner = target.named_children[0]
            end = _redirected(inner, output, constants).stdout
            sink = (
                Sink(end.file, (words_of(inner, constants), *end.through))
                if words_of(inner)
                else Sink(UNKNOWN)
            )
        if operator == ">&" and file.isdecimal():
            ends[number] = ends.get(file, Sink(UNKNOWN))
        elif operator in ("&>", "&>>", ">&"):
            ends["1"] = ends["2"] = sink
        elif operator in (">", ">>", ">|"):
            ends[number] = sink
    return Output(ends["1"], ends["2"])


def _by_option(words: tuple[str, ...], output: Output) -> Output:
    """Return where the output of a launcher or program goes that is told files."""
    line = " ".join(words)
    if re.search(r"(?:^|[ /])torchrun ", line) and not re.search(r" (?:--tee|-t)\b", line):
        kept = re.search(r" (?:--redirects|-r)[ =]([123])\b", line)
        both, one = Sink("*/std*.log"), kept[1] if kept else ""
        return Output(
            both if one in ("1", "3") else output.stdout, both if one in ("2", "3") else output.stderr
        )
    screen = re.search(r"(?:^|[ /])(?:lmp\S* (?:.* )?-sc(?:reen)?|cp2k\S* (?:.* )?-o) (\S+)", line)
    if screen is not None:
        return output._replace(stdout=Sink(screen[1].replace("none", "/dev/null")))
    if words[0] != "srun":
        return output
    told = {option.name: option.value for option in parse_srun(words[1:]).options}
    stdout, stderr = told.get("output"), told.get("error")
    if stdout is None and stderr is None:
        return output
    here = Sink(_of_job(stdout)) if stdout else output.stdout
    return Output(here, Sink(_of_job(stderr)) if stderr else here if stdout else output.stderr)


def _of_job(pattern: str) -> str:
    """Return a file name pattern of sbatch with a variable or a glob in place of each % code."""
    return re.sub(
        r"%\d*[a-zA-Z]", "*", re.sub("%[jA]", "$SLURM_JOB_ID", pattern.replace("none", "/dev/null"))
    )


def _joined(directory: str, file: str) -> str:
    path = _FIRST_DIRECTORY.sub("", file) or "."
    if path != file:
        return posixpath.normpath(path)
    if directory == UNKNOWN and not path.startswith("/"):
        return UNKNOWN
    return posixpath.normpath(posixpath.join("" if path.startswith("$(") else directory, path))
