"""The rule that would have handled a failure, as text to paste. Pure."""

from __future__ import annotations

import re

from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.diagnosis_records import Finding

_STEPS = {
    Advice.OTHER_NODES: ("NODE[REPLACE]", "NODE.REPLACE", "LIMIT 2 ELSE FAIL"),
    Advice.SAME_NODES: ("JOB[REPLACE]", "JOB.REPLACE", "LIMIT 2 BACKOFF 60 ELSE FAIL"),
    Advice.OTHER_RESOURCES: ("JOB[REPLACE]", "JOB.REPLACE", "LIMIT 1 ELSE FAIL"),
}
_FILESYSTEM = (
    "FILESYSTEM[REPLACE]",
    'FILESYSTEM.REPLACE {"filesystem": "/p/large/me", "defaultpath": "/p/fast/me"}',
    "LIMIT 1 ELSE PAUSE",
)
_WHY = {
    Advice.OTHER_NODES: "again, on another node of the allocation",
    Advice.SAME_NODES: "again, after a pause",
    Advice.OTHER_RESOURCES: "again, with other resources: say here what the program is given then",
}


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
    filesystem = entry.cause_class in (CauseClass.FULL, CauseClass.QUOTA) and advice is Advice.OTHER_RESOURCES
    if advice not in _STEPS:
        return _without_recovery(finding)
    resource, step, limits = _FILESYSTEM if filesystem else _STEPS[advice]
    why = "again, on another file system: name it here" if filesystem else _WHY[advice]
    level = "WORKFLOW_LEVEL" if filesystem else "JOB_LEVEL"
    name = entry.exception or _name(entry.cause_class)
    if step == "JOB.REPLACE" and advice is Advice.OTHER_RESOURCES:
        step = 'JOB.REPLACE {"environment": {"SMALLER": "1"}}'
    lines = [f"# {entry.means}", f"# What helps: {why}."]
    if entry.exception:
        lines.append(f'INCLUDE "{entry.library}"')
    lines += ["DECLARE ENTITY JOB", f"DECLARE EXCEPTION_TYPE {level}", f"DECLARE RESOURCE {resource}"]
    lines.append(f"DECLARE EXCEPTION {name} {level} JOB [*] {limits}")
    if not entry.exception:
        lines.append(f"EXCEPTION DETECTION {name} LOG {quoted(telling(finding))} output")
    lines.append(f"EXCEPTION RECOVERY STEP {name} JOB {step}")
    return "\n".join(lines) + "\n"


def _without_recovery(finding: Finding) -> str:
    entry = finding.entry
    assert entry.cause_class is not None
    name = _name(entry.cause_class)
    return "\n".join(
        (
            f"# {entry.means}",
            "# No restart helps before that is mended: the job fails at once, and nothing is tried again.",
            "DECLARE ENTITY JOB",
            "DECLARE EXCEPTION_TYPE JOB_LEVEL",
            f"DECLARE EXCEPTION {name} JOB_LEVEL JOB [*] ELSE FAIL",
            f"EXCEPTION DETECTION {name} LOG {quoted(telling(finding))} output",
            "",
        )
    )


def _name(cause: CauseClass) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", cause.value.upper())


def telling(finding: Finding) -> str:
    """Return a part of a finding's line that another run would also print: no numbers, addresses or paths."""
    return telling_text(finding.text)


def telling_text(text: str) -> str:
    """Return the longest part of a line without numbers, addresses, paths and quotes."""
    parts = re.split(r"[^\x20-\x7e]|\d+|0x[0-9a-f]+|/[\w./-]+|[\"'`\\]", text)
    best = max((part.strip(" :,;()[]<>=-") for part in parts), key=len, default="")
    return best[:80] or text.strip()[:80]


def quoted(text: str) -> str:
    """Return a text in quotes, as ESL writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
