"""Finds rules that do not fit their job's script: what it prints, where its output goes, how it ends."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whesl.doctor import script_facts
from whesl.doctor.script_facts import UNKNOWN
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.detections.base import Kind, Reads
from whesl.language.pattern_and_stream_records import Pattern, Span, Stream
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
        elif detection.timer() is not None:
            yield from self._sent_elsewhere(Stream.OUTPUT, span, ())
        if self._restarts and (alone := detection.one_line()) is not None:
            yield from self._ends_torchrun(alone, span)
        if (timer := detection.timer()) is not None:
            yield from self._too_late(timer, span)
        if detection.of_ends and detection.promised() is None and self._facts.hidden_by:
            message = (
                f"a failure of {self._facts.program} is not seen: {self._facts.hidden_by} hides its status"
            )
            yield Unfit("ESL096", message, "write set -eo pipefail at the script's beginning", span, "EXIT")
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

    def _other_file(self, reads: Reads, span: Span) -> Iterator[Unfit]:
        """Find files that the script writes under a name or in a directory that is another, much like it."""
        path = posixpath.normpath(reads.source.path or "")
        written = [file for file in self._facts.written if "$" not in file and not file.startswith("/")]
        if path.startswith(("/", "~", "$")) or not written or self.writes(path) or set("*?[$") & set(path):
            return
        same = [file for file in written if posixpath.basename(file) == posixpath.basename(path)]
        stem = [file for file in written if posixpath.splitext(file)[0] == posixpath.splitext(path)[0]]
        near = same or stem or difflib.get_close_matches(path, written, n=1, cutoff=0.75)
        if near:
            message = f"the script writes {near[0]}, and nothing in it writes {path}"
            yield Unfit("ESL081", message, f"did you mean {near[0]}?", span, reads.source.path or "")

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


def _time_limit(header: Sequence[tuple[str, str | None]]) -> float | None:
    """Return the time limit in the options of ``#SBATCH`` lines in seconds, None where they have none."""
    said = dict(header).get("time")
    try:
        return seconds(said) if said else None
    except UsageError:
        return None
