"""Checks for patterns that find too many lines, or none, by trying them on sample lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whesl.language.compiler import syntax
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.diagnostics import Findings, Severity
from whesl.language.lint.statements import LEAST, Done, Watched, named
from whesl.language.patterns_and_places import Pattern

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
# Constructs of regular expressions that hardly occur literally in a line of a program.
_EXPRESSION = re.compile(
    r"""\.[*+](?=.|$) | \\[dDwWsSbB] | \\[.*+?()\[\]{}|^$/] | \[\^ | \[(?:0-9|a-z|A-Z) | \(\?[iP:<=!] |
        \([^()\s]+\|[^()]+\) | ^\^ | ^/[^/]+/i$ | ^/[^/]*\s[^/]*/[gmsx]*$ | \[([A-Za-z])(?i:\1)\] |
        ^[^=/]*[a-z]\?(?=[a-z]) | (?<=\w)\$$ | ^\w[\w ]*(?:\|\w[\w ]*)+$""",
    re.VERBOSE,
)
_NUMBER = "write MATCH, and \\d+ for a number"
# Notations that a shell, printf or another language expands and LOG does not: expression, hint.
_REPLACED = (
    (re.compile(r"^\*\w.*\w\*$|(?:^|\s)\*\.\w|\w\*$"), "leave the * out: a text is found anywhere in a line"),
    (re.compile(r"(?<![\d%])%\d*[dsufx]\b"), _NUMBER),
    (
        re.compile(r"\$\{\w+\}|\$(?:USER|HOME|HOSTNAME|PWD|SLURM_\w+)\b"),
        "variables are put in paths alone; write the part of the line that is always the same",
    ),
    (re.compile(r"^'\w[^']*\s[^']*\w'$"), "leave out the inner quotes"),
    (re.compile(r"\{(?:[a-zA-Z]|num|number|step|rank|node|time)\}|<(?:[a-zA-Z]|num|number|int)>"), _NUMBER),
    (re.compile(r"\\(?:[rt]|x[0-9a-fA-F]{2}|0[0-7]{2}|e\[)"), "write MATCH, where \\t and \\x1b are signs"),
)
# A word in brackets: a regular expression matches any one of its letters.
_BRACKETED = re.compile(r"(?<!\\)\[([A-Za-z]{4,})\](?![*+?{])")
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
        promise = each.detection.promised()
        if promise is not None and promise.pattern is not None and not promise.pattern.regex:
            _as_it_stands(findings, promise.pattern, each.statement.form.patterns[0])
        for pattern, written in each.patterns():
            if not pattern.regex:
                _as_it_stands(findings, pattern, written)
            elif (word := _BRACKETED.search(pattern.text)) is not None and sorted(word[1]) != [*word[1]]:
                findings.add(
                    "ESL056",
                    f"{word[0]} is any one of these letters in a regular expression",
                    written.text,
                    severity=Severity.WARNING,
                    hint=f"write LOG for a text as it stands, or \\[{word[1]}\\]",
                )
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
    findings.add(
        "ESL056",
        f"lines of a sound program have this pattern, as in {found[0].strip()!r}",
        written.text,
        severity=Severity.WARNING,
        hint="write a part of the line that tells the fault; for any output at all, use SILENCE",
    )
    return True


def _as_it_stands(findings: Findings, pattern: Pattern, written: syntax.PatternText) -> None:
    if "\\n" in pattern.text:
        findings.add(
            "ESL057",
            "LOG finds a text as it stands: \\n is a backslash and an n here",
            written.text,
            severity=Severity.WARNING,
            hint="lines are searched without their ends; for texts on several lines use MULTIPLE",
        )
    elif (part := _EXPRESSION.search(pattern.text)) is not None:
        findings.add(
            "ESL057",
            f"LOG finds a text as it stands, {part.group()} included",
            written.text,
            severity=Severity.WARNING,
            hint="write MATCH in place of LOG for a regular expression",
        )
    elif not _DRIVE.search(pattern.text):
        for replaced, hint in _REPLACED:
            if (part := replaced.search(pattern.text)) is not None:
                findings.add(
                    "ESL057",
                    f"LOG finds a text as it stands, {part.group().strip()} included",
                    written.text,
                    severity=Severity.WARNING,
                    hint=hint,
                )
                return


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
                findings.add(
                    "ESL083",
                    f"the restarted program is given {text[:60]!r}: when it prints that, it is ended again",
                    written.text,
                    severity=Severity.WARNING,
                    hint="write a part of the line that only the fault prints",
                )
                return
    line = next((line for line in _RESTARTS if found_in(pattern, line)), None)
    if line is not None and watched.exception.steps and named(pattern) >= LEAST:
        findings.add(
            "ESL083",
            f"a restart prints this pattern itself: {line!r}",
            written.text,
            severity=Severity.WARNING,
            hint="write what the fault itself prints; for lost nodes use NODE DOWN, for exits EXIT",
        )


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [f"{name}={text}" for name, text in value.items()]
    return [" ".join(map(str, value))] if isinstance(value, list) else []
