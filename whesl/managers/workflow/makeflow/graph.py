"""Reads Makeflow's workflows in JSON: rules with a command, its input files and its output files.

The format is JX without expressions (``makeflow --json``). ``jx2json`` of CCTools writes it from JX; Makeflow
runs exactly the resulting rules.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

import msgspec

from whesl.model.errors import UsageError


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: its index, its task's names, its command, and the rules whose output files it reads."""

    index: int
    step: str
    instance: str
    command: str
    parents: tuple[int, ...]

    @property
    def name(self) -> str:
        """The task's name inside its workflow."""
        return f"{self.step}_{self.instance}" if self.instance else self.step


def looks_like_makeflow(text: str) -> bool:
    """Whether a text is a JSON object with rules that have outputs."""
    try:
        found = msgspec.json.decode(text.encode(errors="surrogateescape"))
    except (msgspec.DecodeError, RecursionError):
        return False
    rules = found.get("rules") if isinstance(found, dict) else None
    return isinstance(rules, list) and all(isinstance(rule, dict) and "outputs" in rule for rule in rules)


def parse(text: str, path: str) -> dict[str, Any]:
    """Return a workflow's JSON object.

    Args:
        text: the workflow's text.
        path: the workflow's file, for messages.

    Raises UsageError for other text.
    """
    try:
        found = msgspec.json.decode(text.encode(errors="surrogateescape"), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{path} is no workflow of Makeflow in JSON: {error}") from None
    return found


def rules(found: dict[str, Any], path: str) -> list[Rule]:
    """Return a workflow's rules.

    A task's step is the rule's ``category``, or else the name of its first output file up to the first dot.
    Where several rules have the same step, the first output file is the task's instance. Where two tasks
    would still have one name, their instances end with the rules' numbers.

    Args:
        found: the workflow's JSON object.
        path: the workflow's file, for messages.

    Raises UsageError for rules that Makeflow would refuse, or that cannot be wrapped.
    """
    wrong: list[str] = []
    made: dict[str, int] = {}
    listed = found.get("rules")
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{path}: 'rules' has to be a list of rules")
    steps: list[str] = []
    for index, rule in enumerate(listed):
        outputs = _files(rule, "outputs") if isinstance(rule, dict) else None
        if outputs is None:
            wrong.append(f"rule {index + 1} has no list 'outputs' of files")
            steps.append("")
            continue
        first = outputs[0] if outputs else "rule"  # Makeflow runs rules without outputs, too
        if not isinstance(rule.get("command"), str):
            wrong.append(
                f"rule {index + 1} ({first}) has no 'command'; workflows in workflows are not wrapped"
            )
        if _files(rule, "inputs") is None:
            wrong.append(f"rule {index + 1} ({first}): 'inputs' has to be a list of files")
        for file in outputs:
            if file in made:
                wrong.append(f"rules {made[file] + 1} and {index + 1} both write {file}")
            made.setdefault(file, index)
        category = rule.get("category")
        steps.append(
            _name(category if isinstance(category, str) else PurePosixPath(first).name.split(".")[0])
        )
    if wrong:
        raise UsageError(f"{path}: {'; '.join(wrong)}")
    many = Counter(steps)
    read = [
        Rule(
            index=index,
            step=steps[index],
            instance=_name((_files(rule, "outputs") or [""])[0]) if many[steps[index]] > 1 else "",
            command=rule["command"],
            parents=tuple(dict.fromkeys(made[file] for file in _files(rule, "inputs") or [] if file in made)),
        )
        for index, rule in enumerate(listed)
    ]
    names = Counter(rule.name for rule in read)
    return [
        msgspec.structs.replace(rule, instance=f"{rule.instance}-{rule.index + 1}".strip("-"))
        if names[rule.name] > 1
        else rule
        for rule in read
    ]


def _files(rule: dict[str, Any], key: str) -> list[str] | None:
    """Return a rule's files by their names in the workflow, None for a value that is no list of files."""
    listed = rule.get(key, [])
    if not isinstance(listed, list):
        return None
    # A file that has another name in the task's directory is an object.
    names = [file.get("dag_name") if isinstance(file, dict) else file for file in listed]
    found = [name for name in names if isinstance(name, str) and name]
    return found if len(found) == len(names) else None


def _name(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text).strip("-") or "rule"
