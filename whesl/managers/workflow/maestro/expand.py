"""Expands a study's steps and parameters into tasks, with Maestro's names and workspaces.

Maestro's rules (maestrowf 1.1 and 1.2, datastructures/core/study.py): first, the environment is substituted
in every step. A step uses the parameters whose tokens it contains, the parameters of the steps that it
depends on (except funnels, ``step_*``), and the parameters of the steps whose workspaces it names. A step
becomes one task for every distinct combination of its parameters, named ``<step>_<labels in the order of the
keys, joined by dots>``, in ``<root>/<step>/<labels>``. A step without parameters is one task in
``<root>/<step>``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from whesl.managers.workflow.maestro.study import Study, StudyStep, safe_name
from whesl.model.errors import UsageError

_WORKSPACE = re.compile(r"\$\(([-!\$%\^&\*\(\)_\+\|~=`{}\[\]:;<>\?,\.\/\w]+)\.workspace\)")
_FUNNEL = re.compile(r"_\*|\*")
_SOURCE = "_source"


class StudyTask(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a study; ``instance`` is '' for a step without parameters.

    ``command`` is the step's command with parameters and workspaces substituted, but without the
    substitutions of Maestro's adapter (``LAUNCHER``).
    """

    step: str
    instance: str
    workspace: str
    parents: tuple[str, ...]
    nodes: int
    procs: int
    scheduled: bool
    command: str = ""

    @property
    def name(self) -> str:
        """Maestro's name of the task, of its job and of its output files."""
        return f"{self.step}_{self.instance}" if self.instance else self.step


class Expansion(msgspec.Struct, frozen=True, kw_only=True):
    """All tasks of a study in Maestro's order of staging, and each step's parameters."""

    root: str
    tasks: tuple[StudyTask, ...]
    parameters: dict[str, tuple[str, ...]]


def expand(study: Study, root: str, *, hashed: bool = False) -> Expansion:
    """Return a study's tasks.

    Args:
        study: the study.
        root: the run's directory (``Study.output_root``).
        hashed: whether a step's combinations have numbered directories (``maestro run --hashws``).

    Raises UsageError for a study that Maestro would refuse: an unknown or later dependency, a cycle, a
    workspace that is used before it is made.
    """
    environment = _environment(study, root)
    steps: dict[str, StudyStep] = {}
    for step in study.steps:
        # Maestro drops a second step of the same name, with a line in its log.
        steps.setdefault(step.name, _apply(step, environment))
    edges = _edges(study, steps)
    return _Stage(study, root, hashed, steps).run(_topological(edges))


def _environment(study: Study, root: str) -> Callable[[str], str]:
    """Return Maestro's substitution of variables, labels and dependencies (StudyEnvironment)."""
    labels: dict[str, str] = {}
    substitutions: dict[str, str] = {}
    entries = [(name, value) for name, value in study.variables.items() if name != "OUTPUT_PATH"]
    entries += list(study.labels.items())
    # absolute(), not resolve(): Maestro does not follow links.
    entries += [("OUTPUT_PATH", root), ("SPECROOT", str(Path(study.path).absolute().parent))]
    for name, value in entries:
        label = isinstance(value, str) and "$" in value and bool(substitutions)
        (labels if label else substitutions)[name] = str(value)
    order = (*labels.items(), *study.dependencies, *substitutions.items())

    def substitute(text: str) -> str:
        for name, value in order:
            text = text.replace(f"$({name})", value)
        return text

    return substitute


def _apply(step: StudyStep, change: Callable[[str], str]) -> StudyStep:
    return StudyStep(
        name=step.name,
        description=change(step.description),
        run={key: _deep(value, change) for key, value in step.run.items()},
    )


def _deep(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_deep(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _deep(item, change) for key, item in value.items()}
    return value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _edges(study: Study, steps: dict[str, StudyStep]) -> dict[str, list[str]]:
    """Return each step's children, in the order in which Maestro adds the edges."""
    children: dict[str, list[str]] = {_SOURCE: []}
    for raw in study.steps:
        step = steps[raw.name]
        children.setdefault(step.name, [])
        parents = [_FUNNEL.sub("", name) for name in step.depends] or [_SOURCE]
        for parent in parents:
            if parent == step.name:
                raise UsageError(f"{study.path}: step '{step.name}' depends on itself")
            if parent not in children:
                known = parent in {other.name for other in study.steps}
                raise UsageError(
                    f"{study.path}: step '{step.name}' depends on '{parent}', which "
                    + ("comes later in the file" if known else "does not exist"),
                    hint="Maestro wants a step below all that it depends on",
                )
            if step.name not in children[parent]:
                children[parent].append(step.name)
    return children


def _topological(children: dict[str, list[str]]) -> list[str]:
    """Return the steps in the order of Maestro's DAG.topological_sort: depth first, reversed."""
    order: list[str] = []
    visited: set[str] = set()
    for start in children:
        if start in visited:
            continue
        visited.add(start)
        path = [(start, iter(children[start]))]
        while path:
            node, rest = path[-1]
            following = next((child for child in rest if child not in visited), None)
            if following is None:
                path.pop()
                order.append(node)
            else:
                visited.add(following)
                path.append((following, iter(children[following])))
    return [name for name in reversed(order) if name != _SOURCE]


class _Stage:
    """The state of one expansion (Study._stage)."""

    def __init__(self, study: Study, root: str, hashed: bool, steps: dict[str, StudyStep]) -> None:
        self.study, self.root, self.hashed, self.steps = study, root, hashed, steps
        self.used: dict[str, frozenset[str]] = {}
        self.combinations: dict[str, dict[str, None]] = {}
        self.tasks: dict[str, StudyTask] = {}
        self.count = len(study.parameters[0].values) if study.parameters else 0
        self.parameters = {parameter.key: parameter for parameter in study.parameters}

    def run(self, order: list[str]) -> Expansion:
        """Stage every step in topological order."""
        for name in order:
            self._step(self.steps[name])
        return Expansion(
            root=self.root,
            tasks=tuple(self.tasks.values()),
            parameters={name: tuple(sorted(used)) for name, used in self.used.items()},
        )

    def _step(self, step: StudyStep) -> None:
        funnels = {_FUNNEL.sub("", parent) for parent in step.depends if "*" in parent}
        parents = dict.fromkeys(parent for parent in step.depends if "*" not in parent)
        used = self._tokens(step)
        for parent in parents:
            used |= self.used[parent]
        text = f"{step.run.get('cmd', '')} {step.run.get('restart', '')}"
        for other in _WORKSPACE.findall(text):
            if other not in self.used:
                raise UsageError(
                    f"{self.study.path}: step '{step.name}' uses the workspace of '{other}', which does not"
                    " come before it",
                    hint=f"add '{other}' to the step's 'depends', or correct the name",
                )
            if other not in funnels:
                used |= self.used[other]
        self.used[step.name] = frozenset(used)
        self.combinations[step.name] = {}
        if not used:
            self._add(step, "", f"{self.root}/{safe_name(step.name)}", parents, funnels, -1)
            return
        names = {self._labels(used, index): index for index in reversed(range(self.count))}
        ordered = sorted(names, key=lambda label: names[label])
        width = len(str(len(ordered) - 1))
        numbers = {label: f"{step.name}_instance_{place:0{width}d}" for place, label in enumerate(ordered)}
        for index in range(self.count):
            label = self._labels(used, index)
            leaf = numbers[label] if self.hashed else label
            workspace = f"{self.root}/{safe_name(step.name)}/{safe_name(leaf)}"
            self._add(step, label, workspace, parents, funnels, index)

    def _tokens(self, step: StudyStep) -> set[str]:
        texts = [step.name, step.description, *_strings(step.run)]
        return {
            key
            for key in self.parameters
            if any(re.search(rf"\$\({re.escape(key)}(\.\w+)?\)", text) for text in texts)
        }

    def _labels(self, used: set[str] | frozenset[str], index: int) -> str:
        return ".".join(self.parameters[key].labels[index] for key in sorted(used))

    def _add(
        self,
        step: StudyStep,
        instance: str,
        workspace: str,
        parents: dict[str, None],
        funnels: set[str],
        index: int,
    ) -> None:
        name = f"{step.name}_{instance}" if instance else step.name
        found: dict[str, None] = {}
        for parent in parents:
            used = self.used[parent]
            found[f"{parent}_{self._labels(used, index)}" if used else parent] = None
        for funnel in sorted(funnels):
            found.update(self.combinations[funnel])
        self.combinations[step.name][name] = None
        if name in self.tasks:
            # Two combinations with equal labels are one task: the first one's, with the parents of both.
            first = self.tasks[name]
            merged = tuple(dict.fromkeys((*first.parents, *found)))
            self.tasks[name] = msgspec.structs.replace(first, parents=merged)
            return
        batch = self.study.batch
        self.tasks[name] = StudyTask(
            step=step.name,
            instance=instance,
            workspace=workspace,
            parents=tuple(found),
            nodes=self._count(step.run.get("nodes") or batch.get("nodes"), index),
            procs=self._count(step.run.get("procs") or batch.get("procs"), index),
            scheduled=step.scheduled,
            command=self._command(step, workspace, funnels, index),
        )

    def _command(self, step: StudyStep, workspace: str, funnels: set[str], index: int) -> str:
        """Return a task's command with first parameters, then workspaces substituted, as in Maestro."""
        text = str(step.run.get("cmd", ""))
        if index >= 0:
            for key, parameter in self.parameters.items():
                text = text.replace(f"$({key}.label)", parameter.labels[index])
                text = text.replace(f"$({key}.name)", parameter.name)
                text = text.replace(f"$({key})", parameter.values[index])
        text = text.replace("$(WORKSPACE)", workspace)
        for other in dict.fromkeys(_WORKSPACE.findall(text)):
            used = self.used.get(other)
            place = f"{self.root}/{safe_name(other)}"
            if used and other not in funnels:
                place += f"/{safe_name(self._labels(used, index))}"
            text = text.replace(f"$({other}.workspace)", place)
        return text

    def _count(self, value: Any, index: int) -> int:
        """Return a step's number of nodes or processes with parameters substituted; 0 for no number."""
        text = str(value or "")
        if index >= 0:
            for parameter in self.parameters.values():
                text = text.replace(f"$({parameter.key})", parameter.values[index])
        return int(text) if text.isascii() and text.isdigit() else 0
