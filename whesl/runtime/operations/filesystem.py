"""FILESYSTEM.REPLACE, ADD, REMOVE: another root directory for a task's files, with its present files in it.

Only the failed job is restarted. Its finished files are linked (or moved) into the new root, its half-written
files are copied, and each path that the task names below the old prefix exists below the new one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from whesl.language.compiler.operation_signatures import FilesystemChange, FilesystemReplace
from whesl.language.detections.base import DiskMetric
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import CouldNotObserveError
from whesl.model.pathmap import PathMap
from whesl.runtime.detect.disk_usage import read_usage
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.recovery_step_progress import Progress, ProgressFile, token
from whesl.runtime.operations.relocation import mirror_plan, target_probe
from whesl.runtime.operations.relocation.linked_roots import linked_roots
from whesl.runtime.operations.relocation.mirror_plan import Policy, Rel
from whesl.runtime.operations.relocation.named_and_open_files import named_paths
from whesl.runtime.operations.relocation.safe_tree import Tree, make_root
from whesl.runtime.operations.relocation.target_probe import UnsuitableError, check_room
from whesl.runtime.operations.relocation.tree_relocation import Carrier, Report, find_work, roots, said

FILESYSTEMS = "WHESL_FILESYSTEMS"


def replace(
    step: PlanStep,
    arguments: FilesystemReplace,
    context: Context,
    directory: Path,
) -> StepResult:
    """Give the task another root in place of ``defaultpath``.

    Args:
        step: the step, whose id marks the unfinished files of an interrupted run.
        arguments: the candidates are tried in order.
        context: the task.
        directory: the task's directory, where the choice is recorded before the first change.

    Raises:
        RecoveryError: no candidate can be used (the text says why, for each), or the old root is unsafe.
    """
    present = context.configuration.path_map
    current = present.path(arguments.defaultpath)
    if not Path(current).is_dir():
        raise RecoveryError(
            f"FILESYSTEM.REPLACE: defaultpath {current} is not a directory that can be seen",
            hint="defaultpath is the present root of the task's files",
        )
    # Judged before files are moved, which would free inodes.
    place = f"{current} (no inodes left)" if _without_inodes(current) else current
    file = ProgressFile(directory, step.id)
    progress = file.read()
    linked = linked_roots(_named(context, ("/",)), arguments.defaultpath)
    prefixes = (arguments.defaultpath, current, *(rule.old for rule in linked.rules))
    named = tuple(dict.fromkeys(present.path(linked.path(path)) for path in _named(context, prefixes)))
    for root in _order(arguments, progress):
        replacement = _Replacement(step, arguments, context, current, root, named, linked)
        try:
            report = replacement.run(file, progress)
        except (UnsuitableError, RecoveryError, OSError) as error:
            if progress.moving or file.read().moving:
                raise RecoveryError(f"moving into {root} was interrupted: {said(error)}") from None
            progress = Progress(rejected={**progress.rejected, root: said(error)})
            continue
        result = _result(arguments, replacement, report, progress)
        return msgspec.structs.replace(result, note=f"{place} -> {result.note}")
    reasons = "; ".join(f"{root}: {why}" for root, why in progress.rejected.items())
    raise RecoveryError(
        f"FILESYSTEM.REPLACE: no file system can take the place of {place} ({reasons})",
        hint="free space or name another root in 'filesystem'",
    )


def _without_inodes(place: str) -> bool:
    """Whether a file system has no free inodes, which programs see as "No space left" too."""
    with contextlib.suppress(CouldNotObserveError):
        return read_usage(place, DiskMetric.INODES).fraction >= 1.0
    return False


def _order(arguments: FilesystemReplace, progress: Progress) -> tuple[str, ...]:
    """Return the candidates; the choice of an interrupted run comes first."""
    return tuple(dict.fromkeys([progress.chosen] if progress.chosen else [])) + tuple(
        root for root in arguments.filesystem if root != progress.chosen
    )


class _Replacement(msgspec.Struct, frozen=True):
    """A candidate for the new root."""

    step: PlanStep
    arguments: FilesystemReplace
    context: Context
    current: str
    root: str
    named: tuple[str, ...]
    linked: PathMap

    def run(self, file: ProgressFile, progress: Progress) -> Report:
        """Check the candidate and carry the files over. Raises UnsuitableError, RecoveryError, OSError."""
        if self.root == self.arguments.defaultpath:
            raise UnsuitableError("it is the file system to be replaced")
        repeat = self.root == self.current
        rules = self.context.configuration.path_map.rules
        sources = [rule.old for rule in rules if rule.new == self.root] if repeat else [self.current]
        report = Report()
        with make_root(self.root) as target:
            for source_root in sources:
                with Tree(source_root) as source:
                    if source.identity == target.identity:
                        raise UnsuitableError(f"it is the same directory as {source_root}")
                    self._carry(source, target, repeat, file, progress, report)
        return report

    def _carry(
        self, source: Tree, target: Tree, repeat: bool, file: ProgressFile, progress: Progress, report: Report
    ) -> None:
        context = self.context
        named = [mirror_plan.below(os.fsencode(self.current), os.fsencode(path)) for path in self.named]
        works = find_work(source, [rel for rel in named if rel is not None])
        policy = self._policy(source, target, repeat, roots(works))
        mark = token(self.step.id)
        shift = context.set_ahead + target_probe.ahead(source, policy.workspace or (), mark)
        policy = policy.dated(shift)
        carrier = Carrier(source, target, policy, mark)
        if progress.chosen != self.root:
            needs = carrier.measure(works, context.attempt_started and context.attempt_started + shift)
            size = max(self.arguments.min_free, needs.copied + needs.produced)
            check_room(target, policy.workspace or (), size, needs.names + 1, mark)
            progress = Progress(chosen=self.root, rejected=progress.rejected)
            try:
                file.write(progress)
            except OSError as error:
                if policy.move:
                    # Without a record, a second run might choose another root and miss the moved files.
                    report.notes.append(
                        f"linked, not moved: the choice could not be written down ({said(error)})"
                    )
                    policy = msgspec.structs.replace(policy, move=False)
                    carrier = Carrier(source, target, policy, mark)
        carrier.carry(works)
        if policy.move:
            file.write(Progress(chosen=self.root, moving=True, rejected=progress.rejected))
            carrier.finish_moves()
        for name in ("linked", "copied", "moved", "copied_bytes"):
            setattr(report, name, getattr(report, name) + getattr(carrier.report, name))
        report.notes += carrier.report.notes

    def _policy(self, source: Tree, target: Tree, repeat: bool, mirrored: tuple[Rel, ...]) -> Policy:
        context = self.context
        workspace = context.configuration.workdir or context.workspace or context.task.workspace
        place = None
        if workspace:
            present = context.configuration.path_map.path(self.linked.path(workspace))
            place = mirror_plan.below(os.fsencode(self.current), os.fsencode(present))
        opened = (
            mirror_plan.below(root, path)
            for path in context.open_files
            for root in {source.root, os.path.realpath(source.root), os.fsencode(self.current)}
        )
        times = [time for time in (self.step.raised.since, context.attempt_ended) if time > 0]
        return Policy(
            old=source.root,
            new=target.root,
            move=self.arguments.mode == "move",
            repeat=repeat,
            workspace=place,
            open_files=frozenset(rel for rel in opened if rel is not None),
            well_until=min(times, default=0.0),
            first_started=context.first_started or context.attempt_started,
            user=os.geteuid(),
            mirrored=mirrored,
        )


def _named(context: Context, prefixes: Sequence[str]) -> tuple[str, ...]:
    configuration = context.configuration
    environment = {**context.environment, **configuration.environment}
    command = configuration.command if configuration.command is not None else context.command
    workspace = context.workspace or context.task.workspace
    found = named_paths(command, context.script, environment, workspace, prefixes)
    if configuration.workdir:
        found = (*found, *named_paths((), "", {}, configuration.workdir, prefixes))
    return found


def _result(
    arguments: FilesystemReplace, replacement: _Replacement, report: Report, progress: Progress
) -> StepResult:
    context, root = replacement.context, replacement.root
    places = {arguments.defaultpath: root, replacement.current: root}
    places |= {rule.old: root + rule.new[len(arguments.defaultpath) :] for rule in replacement.linked.rules}
    rules, told = context.configuration.path_map, PathMap()
    for old, new in places.items():
        if old != new:
            rules, told = rules.with_rule(old, new), told.with_rule(old, new)
    configuration = msgspec.structs.replace(
        context.configuration, version=context.configuration.version + 1, path_map=rules
    )
    parts = [
        f"{root}: {report.linked} linked, {report.copied} copied ({report.copied_bytes} bytes)"
        + (f", {report.moved} moved" if report.moved else ""),
        *(f"passed over {other}: {why}" for other, why in progress.rejected.items()),
        *report.notes,
    ]
    return StepResult(
        configuration=configuration,
        dependents=Configuration(path_map=told),
        signal=arguments.signal,
        note="; ".join(parts),
    )


def add(arguments: FilesystemChange, context: Context) -> StepResult:
    """Offer the task one more root in ``WHESL_FILESYSTEMS``. Raises RecoveryError for an unusable root.

    Args:
        arguments: the operation's arguments.
        context: the task's data.
    """
    root = arguments.filesystem
    try:
        with Tree(root) as tree:
            check_room(tree, (), 1, 1, token(f"add {root}"))
    except (OSError, UnsuitableError) as error:
        raise RecoveryError(f"FILESYSTEM.ADD: {root} cannot be used: {said(error)}") from None
    present = _filesystems(context)
    if root in present:
        return StepResult(note=f"{root} is offered already")
    return _offered(context, (*present, root), f"{root} offered")


def remove(arguments: FilesystemChange, context: Context) -> StepResult:
    """Remove a root from the roots that the task is offered.

    Args:
        arguments: the operation's arguments.
        context: the task's data.
    """
    root = arguments.filesystem
    present = _filesystems(context)
    if root not in present:
        return StepResult(note=f"{root} is not offered")
    return _offered(context, tuple(other for other in present if other != root), f"{root} no longer offered")


def _filesystems(context: Context) -> tuple[str, ...]:
    both = {**context.environment, **context.configuration.environment}
    return tuple(part for part in both.get(FILESYSTEMS, "").split(":") if part)


def _offered(context: Context, offered: tuple[str, ...], note: str) -> StepResult:
    present = context.configuration
    environment = {**present.environment, FILESYSTEMS: ":".join(offered)}
    configuration = msgspec.structs.replace(present, version=present.version + 1, environment=environment)
    return StepResult(configuration=configuration, note=note)
