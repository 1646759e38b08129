"""A job's script with what is known of it, and the record of a rule that does not fit it."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from whesl.doctor.job_script import facts as script_facts
from whesl.doctor.job_script import statuses
from whesl.doctor.job_script.commands import OWN, Command, Sink
from whesl.doctor.job_script.facts import ScriptFacts
from whesl.doctor.job_script.samples import PYTHON, Sample, Source, python, samples
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.detections.base import Kind, Reads
from whesl.language.pattern_and_stream_records import Pattern, Span, Stream
from whesl.language.spec import ExceptionSpec, RecoveryStep
from whesl.managers.resource.embedded.commands.options import seconds
from whesl.managers.workflow.submission.sbatch_options import parse_header
from whesl.model.errors import UsageError

OF_NODE = re.compile(r"/(?:tmp|var/tmp|dev/shm)(?:/|$)")  # directories that each node has for itself
_MOST = 1000  # lines of a script's own that are compared with patterns


class Unfit(NamedTuple):
    """A rule that does not fit: code, message and hint of the finding, the statement, and the text in it."""

    code: str
    message: str
    hint: str
    span: Span
    said: str


class Watch(NamedTuple):
    """A detection, its exception, all exceptions of the specification, and the scripts of other steps."""

    detection: Kind
    exception: ExceptionSpec
    all: Sequence[ExceptionSpec]
    others: Sequence[JobScript] = ()

    @property
    def span(self) -> Span:
        """The detection's statement."""
        return self.detection.span

    @property
    def heard(self) -> Reads | None:
        """What the detection reads of the job's streams, None where it reads a file or nothing."""
        reads = self.detection.reads()
        return None if reads is None or reads.source.stream is Stream.FILE else reads

    @property
    def place(self) -> Span:
        """The detection's statement, or in the user's own file a step for it where a library has it."""
        steps = self.exception.steps if self.detection.span.file is not None else ()
        return next((step.span for step in steps), self.detection.span)


class JobScript:
    """What is known of a job's script.

    Args:
        text: the text of the script, or of a whole workflow.
        alone: whether the text is the script of one step. Otherwise only its lines are looked at.
        step: the step's name.

    Attributes:
        texts: the texts of the files that it runs or prints, by the names that the script gives them.
    """

    def __init__(self, text: str, alone: bool, step: str = "") -> None:
        self.texts: Mapping[str, str] = {}
        self.text = text
        self.step = step
        self.lines = text.split("\n")
        self.facts = script_facts.read(text) if alone else ScriptFacts()
        self.commands = self.facts.commands
        self.shell = text if self.commands else ""
        self.header: Mapping[str, str | None] = dict(parse_header(text)) if alone else {}

    @functools.cached_property
    def always(self) -> list[Command]:
        """The commands that run in each run of the script."""
        return [each for each in self.commands if each.place.always]

    @functools.cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The lines that the script prints by its own words."""
        return tuple(itertools.islice(samples(self.commands, self.text, self.python), _MOST))

    @functools.cached_property
    def programs(self) -> list[Command]:
        """The user's programs, those in branches, too."""
        return [each for each in self.commands if each.program]

    @functools.cached_property
    def files(self) -> list[tuple[str, Command]]:
        """The files of Python programs that it runs, as it names them, each with its command."""
        words = [(inner(each, PYTHON)[1:], each) for each in self.programs]
        first = [(next((x for x in some if x[:1] != "-"), ""), each) for some, each in words]
        return [(name, each) for name, each in first if name.endswith(".py")]

    @functools.cached_property
    def shown(self) -> list[str]:
        """The files that it prints on its standard output before any program can have written them."""
        before = itertools.takewhile(lambda each: not each.program, self.commands)
        cats = [x for x in before if x.name == "cat" and x.place.always and not x.place.captured]
        files = [word for x in cats if x.place.output.stdout == Sink(OWN[0]) for word in x.words[1:]]
        return [each for each in files if re.fullmatch(r"[\w./-]+", each) and each not in self.facts.written]

    @functools.cached_property
    def python(self) -> list[Source]:
        """The Python programs that stand in the script, and those in files that it runs."""
        files = [each._replace(given=self.texts.get(name, "")) for name, each in self.files]
        return [*python(self.commands), *python(files)]

    @functools.cached_property
    def known(self) -> str:
        """The text of its only program, in Python with nothing but the standard library; "" for any other."""
        sources = self.python
        if len(sources) != 1 or [sources[0].command.words] != [each.words for each in self.programs]:
            return ""
        modules: set[str] = set()
        for each in ast.walk(sources[0].tree):
            if isinstance(each, ast.Import):
                modules |= {name.name.partition(".")[0] for name in each.names}
            elif isinstance(each, ast.ImportFrom):
                modules.add((each.module or "").partition(".")[0])
        own = sys.stdlib_module_names - {"subprocess", "ctypes", "runpy", "importlib"}
        return ast.unparse(sources[0].tree) if modules <= own else ""

    @functools.cached_property
    def ends(self) -> frozenset[int | str]:
        """The statuses with which it ends when one of its programs fails; empty where they are not known."""
        return frozenset(statuses.ends(self.shell) or ())

    @functools.cached_property
    def limit(self) -> float | None:
        """The time limit of the ``#SBATCH`` lines in seconds, None where they have none."""
        said = self.header.get("time")
        try:
            return seconds(said) if said else None
        except UsageError:
            return None

    @functools.cached_property
    def nodes(self) -> int:
        """The number of nodes of the ``#SBATCH`` lines; 1 where they name none."""
        found = re.match(r"\d+", self.header.get("nodes") or "")
        return int(found[0]) if found else 1

    def option(self, name: str) -> str:
        """Return the value of an option of the ``#SBATCH`` lines, "" without one."""
        return self.header.get(name) or ""

    def names(self, patterns: Sequence[Pattern]) -> bool:
        """Whether a line of the script's text itself has one of the patterns."""
        return any(found_in(pattern, line) for pattern in patterns for line in self.lines)

    def words(self) -> Iterator[str]:
        """Yield the words of all its commands."""
        for each in self.commands:
            yield from each.words


class DetectionCheck(Protocol):
    """A check of a detection against a script; ``checks.DETECTIONS`` lists all of them."""

    def __call__(self, script: JobScript, watch: Watch, /) -> Iterator[Unfit]:
        """Yield what does not fit. Pure.

        Args:
            script: the script of a step that the detection's exception covers.
            watch: the detection with what else the check may look at.
        """


class StepCheck(Protocol):
    """A check of a recovery step against a script; ``checks.STEPS`` lists all of them."""

    def __call__(self, script: JobScript, step: RecoveryStep, /) -> Iterator[Unfit]:
        """Yield what does not fit. Pure.

        Args:
            script: the script of a step that the recovery's exception covers.
            step: the recovery step.
        """


def inner(command: Command, *programs: str) -> tuple[str, ...]:
    """Return a program's name and arguments in a command; () where the command names none of the programs.

    The result leaves the launcher's words out: the launcher stands before the program.

    Args:
        command: the command.
        programs: regular expressions of the programs' names, without their directories.
    """
    for number, word in enumerate(command.words):
        if any(re.fullmatch(each, word.rpartition("/")[2]) for each in programs):
            return command.words[number:]
    return ()


def value(words: Sequence[str], *options: str) -> str | None:
    """Return the value that one of some options has among words (``-o x``, ``--o=x``), None without one."""
    for number, word in enumerate(words):
        if word in options:
            return " ".join(words[number + 1 : number + 2])
        name, equals, given = word.partition("=")
        if equals and name in options:
            return given
    return None
