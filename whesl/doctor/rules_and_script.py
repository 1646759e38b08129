"""Finds rules that do not fit their job's script: what it prints, where its output goes, how it ends."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whesl.doctor import script_commands, script_facts
from whesl.doctor.script_commands import OWN, UNKNOWN, Sink
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.detections.base import Kind, Reads
from whesl.language.pattern_and_stream_records import Pattern, Span, Stream
from whesl.language.spec import Operation, RecoveryStep, ResourceKind
from whesl.managers.resource.embedded.commands.options import seconds
from whesl.managers.workflow.submission.sbatch_options import parse_header
from whesl.model.errors import UsageError

# Settings by which a shell prints each command before it runs it.
_TRACED = re.compile(r"^\s*set\s+(?:-\w*x|-o\s+xtrace)|^#!.*\s-\w*x", re.MULTILINE)
# Options by which torchrun restarts its workers itself, and lines that are printed before that.
_TORCHRUN = re.compile(r"^[^#\n]*--max[-_]restarts[= ]+[\"']?([1-9]\d*)", re.MULTILINE)
_PAIR = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537]"
_WORKERS_LINES = (
    "elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 15) of binary: python",
    "[rank0]: Traceback (most recent call last):",
    f"[rank0]: {_PAIR} Connection closed by peer [::1]:9.",
    f"[rank0]: {_PAIR} Read error [::1]:9: Connection reset by peer.",
    "RuntimeError: DataLoader worker (pid 12345) is killed by signal: Killed.",
    "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "[rank3]:[E1218 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: Work",
)
# Commands of a pipe: those that hand no line on, and those that hand none on before the end, or soon none.
_TAKES = {"logger": "hands all lines to the system's log", "wc": "prints numbers alone"}
_HOLDS = {
    "tail": "prints nothing before the end",
    "sort": "prints nothing before the end",
    "head": "ends soon",
}
_LOWER = re.compile(r"tr \W*(?:A-Z|:upper:)\W* \W*(?:a-z|:lower:)\W*")
# Lines on standard error that are not a program's own, and one that a program prints there.
_OF_OTHERS = (
    "job.sh: line 4: 4711 Segmentation fault (core dumped) ./app",
    "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch. Some processes may have been killed",
    "Killed, Aborted, Bus error",
)
_ON_STDERR = "Traceback (most recent call last):"
_LAUNCHERS = {"srun", "mpirun", "mpiexec", "flux"}


class Unfit(NamedTuple):
    """A rule that does not fit: code, message and hint of the finding, the statement, and the text in it."""

    code: str
    message: str
    hint: str
    span: Span
    said: str


class ScriptChecks:
    """Checks detections against the texts of their jobs' scripts.

    Args:
        commands: the texts of the workflow's scripts, or of its study.
        alone: whether ``commands`` is the script of all jobs of the workflow.
    """

    def __init__(self, commands: str, alone: bool) -> None:
        self._lines = commands.split("\n")
        traced = self._lines if _TRACED.search(commands) else []
        self._traced = [f"+ {line.strip()}" for line in traced if not line.lstrip().startswith("#")]
        restarting = _TORCHRUN.search(commands)
        self._restarts = restarting[1] if restarting is not None else ""
        self._facts = script_facts.read(commands) if alone else script_facts.ScriptFacts()
        header = parse_header(commands) if alone else ()
        self._limit = _time_limit(header)
        self._shell = commands if self._facts.commands else ""
        files = dict(header)
        self._apart = bool(files.get("error")) and files.get("error") != files.get("output")
        self._for_slurm = bool(header) and "flux" not in commands

    def writes(self, path: str) -> bool:
        """Whether the script itself writes a file of this path, or makes its directory."""
        place = posixpath.normpath(path)
        return place in self._facts.written or posixpath.dirname(place) in self._facts.made

    def findings(self, detection: Kind) -> Iterator[Unfit]:
        """Yield what does not fit in a detection."""
        reads, span = detection.reads(), detection.span
        if reads is not None and reads.source.stream is Stream.FILE:
            yield from self._other_file(reads, span)
        elif reads is not None:
            yield from self._printed(reads, span, detection.one_line() is not None)
            yield from self._sent_elsewhere(reads.source.stream, span, reads.patterns)
            yield from self._filtered(reads, span, detection.timer() is not None)
            yield from self._other_stream(reads, span)
        elif detection.timer() is not None:
            yield from self._sent_elsewhere(Stream.OUTPUT, span, ())
        if self._restarts and (alone := detection.one_line()) is not None:
            yield from self._ends_torchrun(alone, span)
        if (timer := detection.timer()) is not None:
            yield from self._too_late(timer, span)
            yield from self._kept_going(timer, reads, span)
        if detection.of_ends and detection.promised() is None and self._facts.hidden_by:
            message = (
                f"a failure of {self._facts.program} is not seen: {self._facts.hidden_by} hides its status"
            )
            hint = {"wait": "wait for each by its number: wait $pid"}.get(self._facts.hidden_by, "")
            if self._facts.hidden_by.startswith("||"):
                hint = f"leave {self._facts.hidden_by} out"
            elif self._facts.hidden_by in ("local", "export", "declare", "readonly"):
                hint = f"write {self._facts.hidden_by} on a line of its own, before the assignment"
            hint = hint or "write set -eo pipefail at the script's beginning"
            yield Unfit("ESL096", message, hint, span, "EXIT")
        elif detection.of_ends and detection.promised() is None and self._ends_well("EXIT"):
            message = "the script's trap of EXIT ends with exit 0 in all cases: no failure is seen"
            yield Unfit("ESL096", message, "keep the status: rc=$?, and exit $rc", span, "EXIT")
        if self._for_slurm and detection.hears_manager:
            message = "Slurm raises no exceptions on jobs: nothing is ever detected this way"
            yield Unfit("ESL095", message, "watch for lines, exits or nodes", span, "JOB EXCEPTION")

    def _printed(self, reads: Reads, span: Span, fault: bool) -> Iterator[Unfit]:
        """Find patterns that the script itself prints: a traced command, or a line of echo."""
        echoed = self._facts.printed if fault and reads.source.stream is not Stream.STDERR else ()
        for pattern in reads.patterns:
            traced = next((line for line in self._traced if found_in(pattern, line)), None)
            line = traced or next((line for line in echoed if found_in(pattern, line)), None)
            if line is not None:
                who, how = ("the script's shell", " (set -x)") if traced is not None else ("the script", "")
                hint = f"write what only the fault prints{', or leave set -x out' if how else ''}"
                message = f"{who} prints this pattern itself{how}: {line[:80]!r}"
                yield Unfit("ESL083", message, hint, span, pattern.text)

    def _sent_elsewhere(self, stream: Stream, span: Span, patterns: Sequence[Pattern]) -> Iterator[Unfit]:
        """Find streams to which nothing of the script's programs comes, and no line of the script's own."""
        stdout, stderr = self._facts.output
        both = stdout if not stderr.own and stderr.file != UNKNOWN else stderr
        sink = {Stream.STDOUT: stdout, Stream.STDERR: stderr}.get(stream, both)
        if any(found_in(pattern, line) for pattern in patterns for line in self._lines):
            return
        if sink.own or sink.file == UNKNOWN:
            return
        said, file = patterns[0].text if patterns else "SILENCE", sink.file
        message = f"the script sends this output of {self._facts.program} to {file}: nothing of it comes here"
        hint = f'write file "{file}"' if patterns else f'write LOG "..." file "{file}" TIMEOUT'
        yield Unfit("ESL096", message, hint, span, said)

    def _filtered(self, reads: Reads, span: Span, timed: bool) -> Iterator[Unfit]:
        """Find pipes behind the programs out of which no line with a pattern comes, or none in time."""
        stream = reads.source.stream
        through = self._facts.output[stream is Stream.STDERR].through
        pattern = reads.patterns[0]
        if any(found_in(each, line) for each in reads.patterns for line in self._lines):
            return
        for words in through if stream is not Stream.OUTPUT or self._facts.output.stderr.through else ():
            why = _loss(words, reads.patterns, timed)
            if why:
                message = f"{words[0]} {why}: the lines of {self._facts.program} do not come here so"
                hint = "keep a copy before it: | tee run.log, and watch that file"
                yield Unfit("ESL096", message, hint, span, pattern.text)
                return

    def _other_stream(self, reads: Reads, span: Span) -> Iterator[Unfit]:
        """Find patterns of lines that come on the other of two streams, which have files of their own."""
        stream, output = reads.source.stream, self._facts.output
        if not self._apart or stream is Stream.OUTPUT or not self._shell:
            return
        own = {Stream.STDOUT: OWN[0], Stream.STDERR: OWN[1]}[stream]
        other = "stderr" if stream is Stream.STDOUT else "stdout"
        for pattern in reads.patterns:
            ways = {
                each.place.output.stdout.file
                for each in self._facts.commands
                if any(found_in(pattern, line) for line in script_facts.said(each, self._shell))
            }
            merged = stream is Stream.STDERR and output.stderr.file == OWN[0]
            merged = merged and not any(found_in(pattern, line) for line in (*_OF_OTHERS, *self._lines))
            known = stream is Stream.STDOUT and output.stderr == Sink(OWN[1]) and self._facts.program
            if merged or (known and found_in(pattern, _ON_STDERR)) or (ways and ways <= set(OWN) - {own}):
                message = f"this comes on {other}, which has another file (#SBATCH --error)"
                yield Unfit("ESL096", message, f"write {other} or output", span, pattern.text)
                return

    def _kept_going(self, timer: tuple[float, float], reads: Reads | None, span: Span) -> Iterator[Unfit]:
        """Find timers that a sleep of the script outlasts, or that a loop of it in the background resets."""
        commands = self._facts.commands
        if reads is not None and reads.source.stream is Stream.FILE:
            return
        beside = [each for each in commands if each.place.background]
        for each in beside:
            lines = script_facts.said(each, self._shell) if each.place.output.stdout.own else []
            loop, patterns = each.place.loop, reads.patterns if reads is not None else ()
            resets = lines if reads is None else [x for x in lines if any(found_in(p, x) for p in patterns)]
            if resets and loop is not None and 0 < loop.pause < timer[0]:
                message = f"a loop of the script in the background prints {resets[0][:40]!r} all the time"
                hint = "watch what the program itself prints"
                yield Unfit("ESL096", f"{message}, also when the program hangs", hint, span, "TIMEOUT")
                return
        slept = [script_commands.pause(each.words) or 0 for each in commands if each.place.always]
        longest = max(slept, default=0.0)
        if not beside and longest >= sum(timer):
            message = f"the script sleeps for {longest:g} s, and the timer ends it after {sum(timer):g} s"
            yield Unfit("ESL094", message, "write more seconds, or a longer WARMUP", span, "TIMEOUT")

    def _ends_well(self, signal: str) -> bool:
        """Whether the script ends with 0 in all cases in its trap of a signal."""
        for each in self._facts.commands:
            if each.place.always and each.name == "trap" and signal in each.words[2:]:
                body = re.search(
                    rf"^\s*{re.escape(each.words[1])}\s*\(\)\s*\{{([^}}]*)\}}", self._shell, re.MULTILINE
                )
                return re.search(r"\bexit\s+0\W*$", body[1] if body else each.words[1]) is not None
        return False

    def undone(self, step: RecoveryStep) -> Iterator[Unfit]:
        """Yield what the script itself undoes of a recovery step."""
        always = [each for each in self._facts.commands if each.place.always]
        given = step.arguments.get("environment")
        for name in given if isinstance(given, dict) else ():
            own = rf"{re.escape(name)}=(?!.*\$\{{?{re.escape(name)}\b)"
            if any(re.match(own, word) for each in always for word in (*each.words[1:], *each.variables)):
                message = f"the script sets {name} itself, whatever it is given"
                hint = f"write {name}=${{{name}:-...}} in the script"
                yield Unfit("ESL096", message, hint, step.span, name)
        if (
            step.arguments.get("command_append")
            and self._shell
            and not re.search(r"\$\{?[@*1-9#]", self._shell)
        ):
            message = "the words come to the script, which hands on none of its own"
            yield Unfit("ESL096", message, 'write "$@" behind the program', step.span, "command_append")
        workdir = step.arguments.get("workdir")
        moved = next((each.words[1] for each in always if each.words[0] == "cd" and len(each.words) == 2), "")
        if workdir and moved.startswith("/"):
            message = f"the script changes to {moved} itself"
            yield Unfit("ESL096", message, "leave cd out of the script", step.span, str(workdir))
        if (step.resource, step.operation) == (ResourceKind.NODE, Operation.REPLACE):
            for each in always:
                if each.words[0].startswith("/") and each.name in _LAUNCHERS:
                    message = f"{each.words[0]}, by its path, starts on the replaced node, too"
                    yield Unfit("ESL096", message, f"write {each.name}", step.span, step.operation)

    def _other_file(self, reads: Reads, span: Span) -> Iterator[Unfit]:
        """Find files that the script writes under a name or in a directory that is another, much like it."""
        path = posixpath.normpath(reads.source.path or "")
        written = [
            file
            for file in self._facts.written
            if file.startswith("$(mktemp") or not ("$" in file or file.startswith("/"))
        ]
        if path.startswith(("/", "~", "$")) or not written or self.writes(path) or set("*?[$") & set(path):
            return
        same = [file for file in written if posixpath.basename(file) == posixpath.basename(path)]
        stem = [file for file in written if posixpath.splitext(file)[0] == posixpath.splitext(path)[0]]
        near = same or stem or difflib.get_close_matches(path, written, n=1, cutoff=0.75)
        if near:
            message = f"the script writes {near[0]}, and nothing in it writes {path}"
            hint = "cd to a directory of a fixed name" if "$" in near[0] else f"did you mean {near[0]}?"
            yield Unfit("ESL081", message, hint, span, reads.source.path or "")

    def _ends_torchrun(self, reads: Reads, span: Span) -> Iterator[Unfit]:
        """Find patterns in lines that are printed before torchrun itself restarts its workers."""
        for pattern in reads.patterns:
            if any(found_in(pattern, line) for line in _WORKERS_LINES):
                times = f"{self._restarts} time{'' if self._restarts == '1' else 's'}"
                message = (
                    f"torchrun starts its workers anew up to {times} (--max-restarts), and this is printed"
                    " before: the rule ends the attempt first"
                )
                hint = "leave --max-restarts out, or watch for ChildFailedError, torchrun's last word"
                yield Unfit("ESL089", message, hint, span, pattern.text)

    def _too_late(self, timer: tuple[float, float], span: Span) -> Iterator[Unfit]:
        """Find timers that end after the job's time limit."""
        for name, value in zip(("TIMEOUT", "WARMUP"), timer, strict=True):
            if self._limit is not None and value >= self._limit:
                message = f"{name} {value:g} is not over before the job's time limit of {self._limit:g} s is"
                hint = "write fewer seconds, or give the job more time"
                yield Unfit("ESL094", message, hint, span, name)
                return


def _loss(words: Sequence[str], patterns: Sequence[Pattern], timed: bool) -> str:
    """Return what a command of a pipe does so that no line with a pattern comes out of it, or ""."""
    name, options = posixpath.basename(words[0]), [word for word in words[1:] if word.startswith("-")]
    texts = [word for word in words[1:] if not word.startswith("-")]
    if name in _TAKES:
        return _TAKES[name]
    if timed and name in _HOLDS and not any(re.match(r"-\w*[fF]|--follow", each) for each in options):
        return _HOLDS[name]
    if (
        name == "grep"
        and len(texts) == 1
        and any(re.fullmatch(r"-\w*v\w*|--invert-match", x) for x in options)
    ):
        plain = re.fullmatch(r"[\w :-]+", texts[0]) and not any(each.regex for each in patterns)
        return "takes them out" if plain and all(texts[0] in each.text for each in patterns) else ""
    if _LOWER.fullmatch(" ".join(words)):
        capitals = all(re.search("[A-Z]", re.sub(r"\\.|\(\?.*", "", each.text)) for each in patterns)
        return "makes all letters small" if capitals else ""
    begun = re.fullmatch(r"s(.)\^\1([^\\&:\[]+)\1g?", texts[0]) if name == "sed" and len(texts) == 1 else None
    if begun and all(each.regex and re.match(r"\^[\w ]", each.text) for each in patterns):
        other = all(each.text[1] != begun[2][0] for each in patterns)
        return f"begins each line with {begun[2]!r}, so that ^ finds nothing" if other else ""
    return ""


def _time_limit(header: Sequence[tuple[str, str | None]]) -> float | None:
    """Return the time limit in the options of ``#SBATCH`` lines in seconds, None where they have none."""
    said = dict(header).get("time")
    try:
        return seconds(said) if said else None
    except UsageError:
        return None
