"""Checks for patterns that find too many lines, or none, by trying them on sample lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whesl.language.compiler import syntax
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.diagnostics import Findings
from whesl.language.lint import notations
from whesl.language.lint.notations import Where
from whesl.language.lint.statements import LEAST, Done, Watched, named
from whesl.language.pattern_and_stream_records import Pattern

# Sample lines of programs without a fault; a pattern found in most of them indicates no fault.
_ORDINARY = (
    "Starting run 7 on 2024-05-01 12:00:03",
    "step 120 of 1000, t = 1.25e-03, residual 4.2e-07",
    "[INFO] reading the input file mesh_012.h5",
    "rank 0 of 4 is on node01.cluster.example.org",
    "   0.1230   4.5600   7.8900  12.0140",
    "epoch 3: loss=0.5321 accuracy=0.912 (12.1 it/s)",
    "Written: /scratch/user/out/restart_0040.nc",
    "All tasks are done. Elapsed time: 12.3 s",
    "done",
)
_MOST = 2  # sample lines that a pattern with fewer than ``LEAST`` letters and digits may be found in
# Lines that launchers print when an attempt is ended and the next one starts.
_RESTARTS = (
    "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
    "srun: forcing job termination",
    "srun: job 1234 queued and waiting for resources",
    "srun: job 1234 has been allocated resources",
    "srun: Step created for StepId=1234.1",
    "slurmstepd: error: *** STEP 1234.0 ON node01 CANCELLED AT 2024-05-01T12:00:03 ***",
    "mpirun: Forwarding signal 15 to job",
    "flux-job: task(s) Terminated",
    "Terminated",
)
# Lines of programs that cannot start, or lack what they need.
_MISSING = (
    "bash: line 1: ./solver: command not found",
    "./solver: error while loading shared libraries: libx.so: cannot open shared object file",
    "ModuleNotFoundError: No module named 'numpy'",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "slurmstepd: error: execve(): ./solver: No such file or directory",
)
# The line of a job whose time is over.
_OVER = "slurmstepd: error: *** JOB 1234 ON node01 CANCELLED AT 2024-05-01T12:00:03 DUE TO TIME LIMIT ***"
# A word in brackets: a regular expression matches any one of its letters.
_BRACKETED = re.compile(r"(?<!\\)\[([A-Za-z]{4,})\](?![*+?{])")
# A word with parentheses, as in a call: those of a regular expression are no part of the text that it finds.
_CALLED = re.compile(r"(?<![\\\w])\w{2,}\((?!\?)[\w ,=-]*\)(?![*+?{])")
_QUOTED = re.compile(r"(?<=.)(?:\bb|(?<!\w))(['\"])\S.*?\1")  # a value in quotes behind other words
_DRIVE = re.compile(r"\b[A-Za-z]:\\")  # start of a path with backslashes


def check(findings: Findings, watched: Sequence[Watched], done: Sequence[Done]) -> None:
    """Find patterns of ordinary lines, of no line, and of lines that a restart prints.

    Args:
        findings: the collection that warnings are added to.
        watched: all detections of the watched exceptions.
        done: all recovery steps.
    """
    for each in watched:
        if not each.own:
            continue
        form = each.statement.form
        if form.kind == "progress":
            notations.report(findings, syntax.unquote(form.texts[0], regex=True), Where.NUMBER, form.texts[0])
        promise = each.detection.promised()
        if promise is not None and promise.pattern is not None:
            _notations(findings, each, promise.pattern, each.statement.form.patterns[0])
        for pattern, written in each.patterns():
            if _notations(findings, each, pattern, written):
                continue
            call = _CALLED.search(pattern.text) if pattern.regex else None
            word = _BRACKETED.search(pattern.text) if pattern.regex and call is None else None
            if call is not None or (word is not None and sorted(word[1]) != [*word[1]]):
                meant = (call or word or [""])[0]
                is_ = "has a group for its parentheses" if call is not None else "is any one of these letters"
                hint = f"write LOG for a text as it stands, or {re.escape(meant)}"
                message = f"{meant} {is_} in a regular expression"
                findings.warn("ESL056", message, written.text, hint=hint)
                continue
            if not each.detection.timed and not _everything(findings, pattern, written):
                _restart(findings, each, pattern, written, done)


def _everything(findings: Findings, pattern: Pattern, written: syntax.PatternText) -> bool:
    """Report a pattern that is found in ordinary lines; return whether it is one."""
    if not pattern.regex and not pattern.text.strip():
        return True  # reported as ESL051
    text = pattern.text.strip()
    short = named(pattern) < LEAST if not pattern.regex else not named(pattern)
    found = [line for line in _ORDINARY if found_in(pattern, line)]
    if not found or (len(found) < (_MOST if short else len(_ORDINARY)) and len(text) > 1):
        return False
    findings.warn(
        "ESL056",
        f"lines of a sound program have this pattern, as in {found[0].strip()!r}",
        written.text,
        hint="write a part of the line that tells the fault; for any output at all, use SILENCE",
    )
    return True


def _notations(findings: Findings, watched: Watched, pattern: Pattern, written: syntax.PatternText) -> bool:
    """Report a pattern in another notation, or one that is no sign of what it is taken for."""
    text = syntax.unquote(written.text, regex=pattern.regex)
    promised = watched.detection.promised() is not None
    awaited = [Where.SIGN] if watched.detection.timed else [Where.SUCCESS] if promised else []
    if not pattern.regex:  # the repr of a value has such signs in its quotes
        text = _QUOTED.sub(lambda part: part[0].replace("\\", "/"), text)
    if not pattern.regex and "\\n" in text:
        findings.warn(
            "ESL057",
            "LOG finds a text as it stands: \\n is a backslash and an n here",
            written.text,
            hint="lines are searched without their ends; for texts on several lines use MULTIPLE",
        )
        return True
    if not pattern.regex and _DRIVE.search(text):
        return False
    wheres = (Where.EXPRESSION if pattern.regex else Where.TEXT, *awaited)
    return any(notations.report(findings, text, where, written.text) for where in wheres)


def _restart(
    findings: Findings,
    watched: Watched,
    pattern: Pattern,
    written: syntax.PatternText,
    done: Sequence[Done],
) -> None:
    """Report a pattern that is found in lines printed at the end or the restart of an attempt."""
    name = watched.exception.name
    own = [each.step.arguments for each in done if each.statement.exception.text == name]
    for arguments in own:
        for text in (*_texts(arguments.get("command")), *_texts(arguments.get("environment"))):
            if named(pattern) >= LEAST and found_in(pattern, text):
                findings.warn(
                    "ESL083",
                    f"the restarted program is given {text[:60]!r}: when it prints that, it is ended again",
                    written.text,
                    hint="write a part of the line that only the fault prints",
                )
                return
    if found_in(pattern, _OVER) and not found_in(pattern, _OVER.partition(" DUE")[0]):
        if watched.in_vain(over=True):
            findings.warn(
                "ESL048",
                "no time is left in a job that prints this: nothing can be started in it again",
                written.text,
                hint='let SCHEDULER do JOB.REPLACE with more "time", or take a checkpoint before the end',
            )
        return
    line = next((line for line in _MISSING if found_in(pattern, line)), None)
    if line is not None and not pattern.regex and named(pattern) >= LEAST and watched.in_vain(over=False):
        message = f"a restart helps nothing against this: {line!r}"
        hint = "leave this out, or let JOB.ADD or JOB.REPLACE change what is missing"
        findings.warn("ESL048", message, written.text, hint=hint)
        return
    line = next((line for line in _RESTARTS if found_in(pattern, line)), None)
    if line is not None and watched.exception.steps and named(pattern) >= LEAST:
        findings.warn(
            "ESL083",
            f"a restart prints this pattern itself: {line!r}",
            written.text,
            hint="write what the fault itself prints; for lost nodes use NODE DOWN, for exits EXIT",
        )


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [f"{name}={text}" for name, text in value.items()]
    return [" ".join(map(str, value))] if isinstance(value, list) else []
