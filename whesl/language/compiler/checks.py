"""From statements to a checked specification: the meaning of all statements together."""

from __future__ import annotations

import fnmatch
import graphlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

from whesl.language import library
from whesl.language.compiler import quantities, syntax
from whesl.language.compiler.detection_checks import DetectionCheck
from whesl.language.compiler.parser import Parsed
from whesl.language.compiler.recovery_checks import Captured, RecoveryCheck, check_checkpoints
from whesl.language.compiler.source import Source
from whesl.language.compiler.symbol_table import Declarations
from whesl.language.compiler.syntax import Word, unquote
from whesl.language.detections import kinds
from whesl.language.detections.job_exception import FLUX_TYPES
from whesl.language.detections.kinds import Detection
from whesl.language.diagnostics import Range, nearest
from whesl.language.lint import exceptions_together, notations, paths, pattern_lines, recoveries
from whesl.language.lint.coupled_jobs import apart_from_each_other
from whesl.language.lint.notations import Where
from whesl.language.lint.statements import Done, Watched
from whesl.language.spec import (
    DEFAULT_LIMIT,
    DEFAULT_SEVERITY,
    ExceptionSpec,
    JobExceptionRaise,
    Level,
    Operation,
    Otherwise,
    RecoveryStep,
    ResourceKind,
    Spec,
)
from whesl.model.workflow import Workflow

_MAX_CYCLES = 20
_WILD = frozenset("*?[")
# A shell's exit status for a command that cannot be executed, and for one that is not found.
_SHELL = frozenset({126, 127})
_S = TypeVar("_S", bound=syntax.Statement)


def check(source: Source, parsed: Parsed, workflow: Workflow | None = None) -> Spec | None:
    """Check a specification; errors and warnings are added to the source's findings.

    Args:
        source: the specification's text.
        parsed: the statements of the text.
        workflow: when given, it has to contain the jobs that exceptions name.

    Returns:
        The specification, or None when the parser or a check has found an error.
    """
    return _Check(source, parsed, workflow).run()


class _Check:
    def __init__(self, source: Source, parsed: Parsed, workflow: Workflow | None) -> None:
        self._source = source
        self._findings = source.findings
        self._parsed = parsed
        self._declarations = Declarations(source, parsed)
        self._jobs = _Jobs(workflow) if workflow is not None else None
        self._unclear = set(parsed.broken_handling)  # names of exceptions with a wrong detection
        self._live = live(source, parsed, self._declarations.exceptions)
        self._sound: list[tuple[syntax.Detected, Detection]] = []
        self._done: list[Done] = []

    def run(self) -> Spec | None:
        detected = [s for s in self._of(syntax.Detected) if s.exception.text in self._live]
        recovered = self._of(syntax.Recovered)
        detections = self._detections(detected)
        levels = {name: self._declarations.level(declared.level) for name, declared in self._declared()}
        steps = self._steps(recovered, levels, detections)
        exceptions = [
            self._exception(declared, levels[name], detections.get(name, []), steps.get(name, []))
            for name, declared in self._declared()
        ]
        self._declarations.collisions(self._live)
        undeclared = self._declarations.undeclared()
        self._completeness(detected, recovered, undeclared)
        self._never_started(detected, steps)
        check_checkpoints(self._findings, detected, recovered)
        self._cycles(detected)
        if not exceptions and not self._findings.failed:
            self._findings.warn(
                "ESL046",
                "no exception is declared: nothing is watched",
                Range(0, 0),
                hint="see the first example of docs/esl-reference.md"
                if len(self._source.parts) == 1
                else "an included exception is watched when a recovery step or a declaration names it",
            )
        coupled = tuple(self._coupled(statement) for statement in self._of(syntax.Coupled))
        if self._findings.failed:
            return None
        self._cannot_work({item.name: item for item in exceptions if item is not None})
        return Spec(
            file=self._source.file,
            entities=tuple(self._declarations.entities),
            levels=tuple(self._declarations.levels),
            resources=self._declarations.resource_declarations(),
            coupled=tuple(dict.fromkeys(coupled)),
            exceptions=tuple(exception for exception in exceptions if exception is not None),
        )

    def _of(self, kind: type[_S]) -> list[_S]:
        return [statement for statement in self._parsed.statements if isinstance(statement, kind)]

    def _declared(self) -> list[tuple[str, syntax.Declared]]:
        """Return the names and declarations of the watched exceptions."""
        return [(name, d) for name, d in self._declarations.exceptions.items() if name in self._live]

    # Parts ------------------------------------------------------------------------------------------

    def _detections(self, statements: list[syntax.Detected]) -> dict[str, list[Detection]]:
        checker = DetectionCheck(self._source, self._declarations.exception)
        forms = kinds.by_form()
        found: dict[str, list[Detection]] = {}
        for statement in statements:
            self._declarations.exception(statement.exception)
            form = statement.form
            span = self._source.span(statement.start, statement.end)
            # Each kind of ``kinds.by_form`` is a member of the union ``Detection``.
            detection = cast("Detection | None", forms[form.kind].checked(form, checker, span))
            if detection is not None:
                found.setdefault(statement.exception.text, []).append(detection)
                self._sound.append((statement, detection))
            else:
                self._unclear.add(statement.exception.text)
        return found

    def _steps(
        self,
        statements: list[syntax.Recovered],
        levels: dict[str, Level | None],
        detections: dict[str, list[Detection]],
    ) -> dict[str, list[RecoveryStep]]:
        checker = RecoveryCheck(self._source, self._declarations)
        captured: dict[str, Captured] = {}
        found: dict[str, list[RecoveryStep]] = {}
        for statement in statements:
            name = statement.exception.text
            self._declarations.exception(statement.exception)
            if name not in captured:
                captured[name] = _captured(name, detections)
            # The captures of a wrong detection are not known, so that no placeholder is reported as unknown.
            known = None if name in self._unclear else captured[name]
            step = checker.step(statement, levels.get(name), known)
            if step is not None:
                found.setdefault(name, []).append(step)
                self._done.append(Done(statement, step))
        return found

    def _exception(
        self,
        declared: syntax.Declared,
        level: Level | None,
        detections: list[Detection],
        steps: list[RecoveryStep],
    ) -> ExceptionSpec | None:
        limit, limit_within, without_progress, backoff = DEFAULT_LIMIT, None, False, 0.0
        otherwise, escalate_to, raises = Otherwise.FAIL, None, None
        seen: set[type[syntax.Clause]] = set()
        for clause in declared.clauses:
            if type(clause) in seen:
                keyword = clause.keyword
                self._findings.add("ESL013", f"{keyword.text} is given twice", keyword, hint="leave one out")
                continue
            seen.add(type(clause))
            if isinstance(clause, syntax.Limit):
                limit = quantities.count(self._findings, clause.count, "LIMIT", DEFAULT_LIMIT)
                limit_within = quantities.seconds(self._findings, clause.within, "WITHIN")
                without_progress = clause.without_progress is not None
            elif isinstance(clause, syntax.Backoff):
                backoff = quantities.seconds(self._findings, clause.seconds, "BACKOFF", zero=True) or 0.0
            elif isinstance(clause, syntax.Raise):
                raises = self._raises(clause)
            else:
                otherwise = Otherwise(clause.action.text)
                if clause.exception is not None:
                    self._declarations.exception(clause.exception)
                    escalate_to = clause.exception.text
        jobs = tuple(self._job(job) for job in declared.jobs)
        self._repeated_jobs(jobs, declared.jobs)
        if level is None:
            return None
        return ExceptionSpec(
            name=declared.name.text,
            level=level,
            jobs=tuple(dict.fromkeys(jobs)),
            detections=tuple(detections),
            steps=tuple(steps),
            limit=limit,
            limit_within=limit_within,
            without_progress=without_progress,
            backoff=backoff,
            otherwise=otherwise,
            escalate_to=escalate_to,
            raises=raises,
            span=self._source.span(declared.start, declared.end),
        )

    def _raises(self, clause: syntax.Raise) -> JobExceptionRaise | None:
        kind = quantities.job_exception(self._findings, clause.type)
        severity = quantities.severity(self._findings, clause.severity, 1, DEFAULT_SEVERITY)
        if kind is None or severity is None:
            return None
        if kind in FLUX_TYPES:
            hint = "write a type of your own, such as whesl-crash"
            message = "Flux itself raises this type, and others act on it"
            self._findings.warn("ESL095", message, clause.type, hint=hint)
        return JobExceptionRaise(exception_type=kind, severity=severity)

    def _coupled(self, statement: syntax.Coupled) -> tuple[str, ...]:
        """Return the globs of jobs that run together; report globs that couple no two jobs."""
        jobs = tuple(dict.fromkeys(self._job(job) for job in statement.jobs))
        hint = "name two steps or more, as in DECLARE COUPLED JOB [simulation, analysis]"
        if len(jobs) == 1 and not _WILD & set(jobs[0]):
            self._findings.add(
                "ESL090", "one job alone is coupled with nothing", statement.keyword, hint=hint
            )
        elif self._jobs is not None and all(self._jobs.has(job) for job in jobs):
            own = not self._source.included(statement.keyword.start)
            apart = apart_from_each_other(self._jobs.whole, jobs) if own else ""
            if apart:
                self._findings.warn("ESL090", apart, statement.keyword, hint=hint)
        return jobs

    def _job(self, job: Word) -> str:
        """Return the glob of a job's name; a bracket in a quoted name stands for itself."""
        pattern = name = job.text
        if name.startswith('"'):
            if not quantities.not_empty(self._findings, job, "job"):
                return ""
            name = unquote(job)
            pattern = name.replace("[", "[[]")
        notations.report(self._findings, name, Where.JOB, job)
        # A file that several workflows include may name the jobs of all of them.
        own = not self._source.included(job.start)
        if self._jobs is not None and own and not self._jobs.has(pattern):
            self._findings.add(
                "ESL045",
                f"the workflow {self._jobs.workflow} has no job {job.text[:40]}",
                job,
                hint=self._findings.nearest(job.text.strip('"'), self._jobs.names)
                or f"it has {', '.join(list(self._jobs.names)[:8])}",
            )
        return pattern

    def _cannot_work(self, exceptions: dict[str, ExceptionSpec]) -> None:
        """Find valid rules whose effect most likely differs from the intention of their author."""
        watched = [
            Watched(
                statement,
                detection,
                exceptions[statement.exception.text],
                not library.is_shown(self._source.part(statement.start).file),
            )
            for statement, detection in self._sound
        ]
        pattern_lines.check(self._findings, watched, self._done)
        paths.check(self._findings, watched, self._done, self._jobs.whole if self._jobs is not None else None)
        exceptions_together.check(self._findings, watched, exceptions, self._declarations.exceptions)
        recoveries.check(self._findings, watched, self._done, exceptions)

    # The whole --------------------------------------------------------------------------------------

    def _repeated_jobs(self, jobs: Sequence[str], words: Sequence[Word]) -> None:
        """Warn of jobs that a list names twice. Only globs are compared with all jobs: lists may be long."""
        wide = {job for job in jobs if "*" in job or "?" in job}
        seen: set[str] = set()
        for job, word in zip(jobs, words, strict=True):
            if job in seen or any(other != job and fnmatch.fnmatchcase(job, other) for other in wide):
                message = f"the job {word.text[:40]} is in this list twice, by itself or by * or ?"
                self._findings.warn("ESL093", message, word, hint="leave it out")
            seen.add(job)

    def _completeness(
        self,
        detected: Iterable[syntax.Detected],
        recovered: Iterable[syntax.Recovered],
        undeclared: frozenset[str],
    ) -> None:
        """Find exceptions that are never raised, and exceptions without a recovery.

        A statement about an undeclared exception may be meant for a declared one that lacks such a statement.
        """
        if self._parsed.incomplete:
            return
        seen = {statement.exception.text for statement in detected}
        handled = {statement.exception.text for statement in recovered}
        counted = {word.text for s in detected if (word := s.form.part("exceptionName")) is not None}
        clauses = [c for _, d in self._declared() for c in d.clauses]
        targets = {
            c.exception.text for c in clauses if isinstance(c, syntax.Else) and c.exception is not None
        }
        declared = [(n, d) for n, d in self._declared() if n not in self._parsed.broken_handling]
        silent = [(name, d.name) for name, d in declared if name not in seen | targets]
        elsewhere = undeclared & seen, self._lost(self._parsed.detections)
        for name, word in _unexplained(silent, *elsewhere):
            self._findings.add(
                "ESL040",
                f"the exception {name[:40]} is never detected",
                word,
                hint=f"add: EXCEPTION DETECTION {name[:40]} ...",
            )
        idle = [
            (name, d.name)
            for name, d in declared
            if name not in handled | counted
            and name in seen | targets
            and not any(isinstance(clause, syntax.Else) for clause in d.clauses)
        ]
        elsewhere = undeclared & (handled | counted), self._lost(self._parsed.recoveries)
        for name, word in _unexplained(idle, *elsewhere):
            self._findings.warn(
                "ESL041",
                f"the exception {name[:40]} has no recovery step: the task fails when it is raised",
                word,
                hint=f"add: EXCEPTION RECOVERY STEP {name[:40]} ..., or say ELSE FAIL if that is meant",
            )

    def _lost(self, names: Iterable[str]) -> int:
        """Return how many broken statements do not name a declared exception.

        Args:
            names: the exception that each broken statement names.
        """
        return sum(name not in self._declarations.exceptions for name in names)

    def _never_started(
        self, detected: Iterable[syntax.Detected], steps: Mapping[str, Sequence[RecoveryStep]]
    ) -> None:
        """Find exceptions that restart a task whose command cannot be executed."""
        for statement in detected:
            form = statement.form
            if form.kind != "exit":
                continue
            any_end = form.keyword("ANY")
            done = steps.get(statement.exception.text, ())
            codes = [*form.ranges("code")]
            if any_end is None:
                if done and not any(_starts_another(step) for step in done):
                    self._never_started_by_range(codes)
                continue
            spared = {code for first, last in codes for code in _SHELL if _between(first, code, last)}
            if spared == _SHELL or not done or any(_starts_another(step) for step in done):
                continue
            missing = ", ".join(str(code) for code in sorted(_SHELL - spared))
            self._findings.warn(
                "ESL048",
                f"EXIT ANY also restarts what ended with {missing.replace(', ', ' or ')}:"
                " a command that cannot be executed or is not found",
                any_end,
                hint=f"write EXIT ANY EXCEPT CODE {missing}; add 2 if the program ends so for wrong options"
                if not codes
                else f"add {missing} to its EXCEPT CODE",
            )

    def _never_started_by_range(self, codes: Iterable[tuple[Word, Word]]) -> None:
        for first, last in codes:
            meant = [
                str(code) for code in sorted(_SHELL) if first is not last and _between(first, code, last)
            ]
            if meant:
                self._findings.warn(
                    "ESL048",
                    f"EXIT CODE {first.text}-{last.text} also restarts what ended with {' or '.join(meant)}:"
                    " a command that cannot be executed or is not found",
                    Range(first.start, last.end),
                    hint="write 1-125, 128-255, or EXIT ANY EXCEPT CODE 126, 127",
                )

    def _cycles(self, detected: Iterable[syntax.Detected]) -> None:
        counted: dict[str, dict[str, Word]] = {}
        for statement in detected:
            if (word := statement.form.part("exceptionName")) is not None:
                counted.setdefault(statement.exception.text, {}).setdefault(word.text, word)
        self._circle(counted, "ESL043", "is transformed into itself", "an exception counts lower ones only")
        escalated: dict[str, dict[str, Word]] = {}
        for name, declared in self._declared():
            for clause in declared.clauses:
                if isinstance(clause, syntax.Else) and clause.exception is not None:
                    escalated.setdefault(name, {})[clause.exception.text] = clause.exception
        self._circle(escalated, "ESL044", "escalates to itself", "let the last one end in FAIL or PAUSE")

    def _circle(self, edges: dict[str, dict[str, Word]], code: str, what: str, hint: str) -> None:
        for _ in range(_MAX_CYCLES):
            try:
                graphlib.TopologicalSorter(edges).prepare()
            except graphlib.CycleError as error:
                # graphlib gives the cycle as a, b, ..., a, where each name is a predecessor of the next one.
                cycle = list(reversed(error.args[1]))
                word = edges[cycle[0]].pop(cycle[1])
                shown = " -> ".join(name[:40] for name in cycle[:8])
                self._findings.add(code, f"{cycle[0][:40]} {what}: {shown}", word, hint=hint)
            else:
                return


def live(source: Source, parsed: Parsed, declared: Mapping[str, syntax.Declared]) -> frozenset[str]:
    """Return the names of the exceptions that are watched.

    Watched are all exceptions that the specification's own file names, all that a recovery step of any file
    names, and all that these count or escalate to. Other exceptions of included files are ignored.

    Args:
        source: the text, which tells included files from the specification's own.
        parsed: the statements of all files.
        declared: the declarations of exceptions, by name.
    """
    names: set[str] = set()
    leads: dict[str, set[str]] = {}
    for statement in parsed.statements:
        if isinstance(statement, syntax.Recovered):
            names.add(statement.exception.text)
        elif isinstance(statement, syntax.Declared):
            if not source.included(statement.start):
                names.add(statement.name.text)
        elif isinstance(statement, syntax.Detected):
            name = statement.exception.text
            if not source.included(statement.start):
                names.add(name)
            if (word := statement.form.part("exceptionName")) is not None:
                leads.setdefault(name, set()).add(word.text)
    for name, statement in declared.items():
        targets = (c.exception for c in statement.clauses if isinstance(c, syntax.Else))
        leads.setdefault(name, set()).update(target.text for target in targets if target is not None)
    work = list(names)
    while work:
        fresh = leads.get(work.pop(), set()) - names
        names |= fresh
        work += fresh
    return frozenset(names)


def _unexplained(
    lacking: list[tuple[str, Word]], undeclared: Iterable[str], lost: int
) -> list[tuple[str, Word]]:
    """Return the exceptions that lack a statement and that no other statement is likely to be meant for.

    Args:
        lacking: names of exceptions without a statement of this kind, with the word that declares each.
        undeclared: undeclared names in statements of this kind; each takes the most similar exception out.
        lost: number of statements of this kind without a declared name; each takes one exception out.
    """
    rest = dict(lacking)
    for name in undeclared:
        if rest:
            rest.pop(nearest(name, rest) or next(iter(rest)))
    return list(rest.items())[lost:]


def _between(first: Word, code: int, last: Word) -> bool:
    return float(first.text) <= code <= float(last.text)


def _starts_another(step: RecoveryStep) -> bool:
    """Whether a step gives the task another command, or skips the task."""
    if step.resource != ResourceKind.JOB:
        return False
    return step.operation == Operation.REMOVE or "command" in step.arguments


def _captured(name: str, detections: dict[str, list[Detection]]) -> Captured:
    """Return the names that the detections of an exception, and of the exceptions it counts, capture."""
    sets: list[frozenset[str]] = []  # captured names of each detection
    seen = {name}
    work = [name]
    while work:
        for detection in detections.get(work.pop(), ()):
            counted = detection.counted()
            if counted is None:
                sets += detection.captured()
            elif counted not in seen:
                seen.add(counted)
                work.append(counted)
    return Captured(frozenset().union(*sets), frozenset.intersection(*sets) if sets else frozenset())


class _Jobs:
    """The names of a workflow's jobs: those of its steps and those of its tasks."""

    def __init__(self, workflow: Workflow) -> None:
        self.whole = workflow
        self.workflow = workflow.name
        self.names = dict.fromkeys(name for task in workflow.tasks for name in (task.step, task.name))

    def has(self, pattern: str) -> bool:
        """Whether a glob covers any job, by the rules of ``whesl.model.workflow.job_matches``."""
        return pattern in self.names or any(fnmatch.fnmatchcase(name, pattern) for name in self.names)
