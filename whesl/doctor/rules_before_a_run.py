"""Warnings about rules before a task or a workflow starts with them; ``--strict`` makes errors of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from whesl.doctor.rules_on_this_host import Surroundings
from whesl.language import shipped_policy
from whesl.language.diagnostics import brief
from whesl.language.path_expansion import expanded
from whesl.language.result import Result
from whesl.language.rules_cache import is_compiled
from whesl.language.rules_file import load_rules
from whesl.managers.resource import allocation_from_environment
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow, job_matches
from whesl.runtime.wire.keys import home


class Asked(Protocol):
    """The options of ``whesl exec`` that these checks need."""

    rules: tuple[str, ...]
    workflow: str
    step: str
    name: str
    spares: int
    strict: bool
    quiet: bool


def look(asked: Asked) -> None:
    """Print warnings about a task's rules on standard error.

    Args:
        asked: the options of ``whesl exec``.

    Raises UsageError for a warning under ``strict``, and for wrong rules.
    """
    if not asked.rules:
        return
    warnings: list[str] = []
    spec = load_rules(asked.rules, places.rules_cache(home()), any_job=False, warn=warnings.append)
    assert spec is not None
    if asked.workflow:  # whesl run has given these warnings already
        warnings += map(str, expanded(spec, os.environ)[1])
    else:
        name = asked.step or asked.name
        if name and not any(job_matches(each.jobs, name, name) for each in spec.exceptions):
            warnings.append(f"{', '.join(asked.rules)}: no exception is declared for the job {name}")
        for file in asked.rules:
            warnings += _here(file, name, asked.spares)
    said = allowed(list(dict.fromkeys(warnings)), strict=asked.strict)
    if not asked.quiet:
        sys.stderr.write("".join(f"whesl: {each}\n" for each in said))


def told(
    result: Result,
    rules: Path,
    workflow: Workflow,
    spares: int,
    scripts: Mapping[str, str],
    *,
    strict: bool,
) -> list[str]:
    """Return the warnings of ``whesl run``, a line each.

    Args:
        result: the result of checking the rules.
        rules: the file of the rules.
        workflow: the workflow to run.
        spares: the number of spare nodes of each of its jobs.
        scripts: the text of each step's script (``managers.workflow.scripts``).
        strict: whether a warning is an error.

    Raises UsageError where it is one.
    """
    assert result.spec is not None
    here = Surroundings(result.spec, rules, result.texts, workflow, None, spares, os.environ, scripts)
    return allowed(brief(str(rules), (*result.diagnostics, *here.findings())), strict=strict)


def allowed(warnings: list[str], *, strict: bool) -> list[str]:
    """Return warnings, a line each. Raises UsageError with all of them where ``strict`` is true.

    Args:
        warnings: the warnings.
        strict: warnings are errors.
    """
    if strict and warnings:
        raise UsageError(
            "\n".join(("nothing is started, since --strict allows no warning:", *warnings)),
            hint="correct the rules, or leave out --strict",
        )
    return warnings


def _here(file: str, name: str, spares: int) -> list[str]:
    """Return a warning for each rule of a file that is unsuitable for this host or allocation."""
    path = Path(shipped_policy.place(file))
    content = path.read_bytes()
    spec = load_rules((file,), places.rules_cache(home()), any_job=not name)
    assert spec is not None
    given = allocation_from_environment.given(os.environ)
    nodes = len(given.nodes) if given is not None and given.job_id else 0
    here = os.getcwd()  # noqa: PTH109
    task = Task(id="exec/task", step=name or "task", workspace=here, nodes=max(1, nodes - spares))
    workflow = Workflow(id="exec", name="exec", wms="", root=here, tasks=(task,))
    texts = {} if is_compiled(content) else {str(path): content.decode("utf-8", "replace")}
    left = max(0, nodes - task.nodes) if nodes else None  # outside a job the number of nodes is not known
    found = Surroundings(spec, path, texts, workflow, Path(here), left, os.environ, in_job=True).findings()
    return brief(file, found)
