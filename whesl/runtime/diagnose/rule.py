"""The rule that would have handled a failure, as text to paste. Pure."""

from __future__ import annotations

import re

from whesl.language.compiler.pattern_checks import PatternCheck
from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.detect.matcher import compile_patterns
from whesl.runtime.diagnose.diagnosis_records import Finding
from whesl.runtime.diagnose.labels import clean

# What differs between two runs: numbers, addresses, paths, and what columns are padded to.
_VALUES = re.compile(r"[^\x20-\x7e]|\d+|0x[0-9a-f]+|/[\w./-]+|[\"'`\\]|  +")
_AROUND = " :,;()[]<>=-"
_LONGEST = 80  # characters of a text that a rule looks for

# For each advice: the recovery, its limits, and what helps.
_STEPS = {
    Advice.OTHER_NODES: ("NODE.REPLACE", "LIMIT 2 ELSE FAIL", "again, on another node of the allocation"),
    Advice.SAME_NODES: ("JOB.REPLACE", "LIMIT 2 BACKOFF 60 ELSE FAIL", "again, after a pause"),
    Advice.OTHER_RESOURCES: (
        'JOB.REPLACE {"environment": {"SMALLER": "1"}}',
        "LIMIT 1 ELSE FAIL",
        "again, with other resources: say here what the program is given then",
    ),
}
_FILESYSTEM = (
    'FILESYSTEM.REPLACE {"filesystem": "/p/large/me", "defaultpath": "/p/fast/me"}',
    "LIMIT 1 ELSE PAUSE",
    "again, on another file system: name it here",
)
_NO_RESTART = "# No restart helps before that is mended: the job fails at once, and nothing is tried again."


def rule(finding: Finding, advice: Advice) -> str:
    """Return a specification that detects and recovers a failure.

    Args:
        finding: the cause.
        advice: the recovery that would help.

    Returns:
        The ESL text, without a recovery where a person has to repair the fault first; only a comment for a
        cause that the resource manager tells and no line of the output.
    """
    entry = finding.entry
    assert entry.cause_class is not None
    if not finding.line:
        return f"# {entry.means}\n# No line of the output tells it: no rule on the output would detect it.\n"
    name = entry.exception if entry.exception and advice in _STEPS else _name(entry.cause_class)
    lines = [f"# {entry.means}"]
    if advice not in _STEPS:
        lines += [_NO_RESTART, "DECLARE ENTITY JOB", "DECLARE EXCEPTION_TYPE JOB_LEVEL"]
        lines += [f"DECLARE EXCEPTION {name} JOB_LEVEL JOB [*] ELSE FAIL", _detection(name, finding), ""]
        return "\n".join(lines)
    filesystem = entry.cause_class in (CauseClass.FULL, CauseClass.QUOTA) and advice is Advice.OTHER_RESOURCES
    step, limits, why = _FILESYSTEM if filesystem else _STEPS[advice]
    level = "WORKFLOW_LEVEL" if filesystem else "JOB_LEVEL"
    lines.append(f"# What helps: {why}.")
    if entry.exception:
        lines.append(f'INCLUDE "{entry.library}"  # further messages of {name}')
    lines += [
        "DECLARE ENTITY JOB",
        f"DECLARE EXCEPTION_TYPE {level}",
        f"DECLARE RESOURCE {step.partition('.')[0]}[REPLACE]",
    ]
    lines.append(f"DECLARE EXCEPTION {name} {level} JOB [*] {limits}")
    lines += [_detection(name, finding), f"EXCEPTION RECOVERY STEP {name} JOB {step}", ""]
    return "\n".join(lines)


def _name(cause: CauseClass) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", cause.value.upper())


def _detection(name: str, finding: Finding) -> str:
    """Return the detection of a finding's line, from the part that another run would print, too."""
    own = clean(finding.text).text
    for expression in () if finding.entry.general else finding.entry.match:
        found = re.search(expression, own)
        if found is None:
            continue
        said = found.group().strip(_AROUND)
        part = next((part for part in _parts(own) if said and said in part), "")
        if part:
            return f"EXCEPTION DETECTION {name} LOG {quoted(part if len(part) <= _LONGEST else said)} output"
        # No single part of the line is the message: its own expression finds it.
        if '"' not in expression and PatternCheck().regex(expression) is None:
            matcher = compile_patterns([Pattern(text=expression, regex=True)])
            if matcher.open().feed(finding.text.encode() + b"\n", 0):
                return f'EXCEPTION DETECTION {name} MATCH "{expression}" output'
    return f"EXCEPTION DETECTION {name} LOG {quoted(telling_text(own))} output"


def telling_text(text: str) -> str:
    """Return the longest part of a line without numbers, addresses, paths and quotes."""
    return max(_parts(text), key=len)[:_LONGEST] or text.strip()[:_LONGEST]


def _parts(text: str) -> list[str]:
    return [part.strip(_AROUND) for part in _VALUES.split(text)]


def quoted(text: str) -> str:
    """Return a text in quotes, as ESL writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
