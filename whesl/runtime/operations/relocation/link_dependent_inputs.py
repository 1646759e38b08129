"""Links for a dependent's start: the paths that it names below an old root are linked into the new root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from whesl.model.pathmap import PathMap
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.recovery_step_progress import token
from whesl.runtime.operations.relocation import mirror_plan
from whesl.runtime.operations.relocation.mirror_plan import Policy, Rel
from whesl.runtime.operations.relocation.safe_tree import Tree, make_root
from whesl.runtime.operations.relocation.tree_relocation import Carrier, Report, find_work, roots, said


def prepare_dependent(path_map: PathMap, named: Sequence[str], task: str) -> Report:
    """Link the paths that a task names below old roots into the new roots, before the task starts.

    Args:
        path_map: the path map of the task's configuration.
        named: the paths that the task names (``named_paths``), by their old names.
        task: the task's id.

    Raises:
        RecoveryError: a new root cannot be used, or an unsafe directory is on the way.
    """
    report = Report()
    wanted: dict[tuple[str, str], list[Rel]] = {}
    for path in named:
        rule = max(
            (
                rule
                for rule in path_map.rules
                if mirror_plan.below(os.fsencode(rule.old), os.fsencode(path)) is not None
            ),
            key=lambda rule: len(rule.old),
            default=None,
        )
        rel = mirror_plan.below(os.fsencode(rule.old), os.fsencode(path)) if rule is not None else None
        if rule is None or rel is None:
            continue
        # After moves from A to B and from B to C, files that belong in C may lie in A and in B.
        for other in path_map.rules:
            if other.new == rule.new:
                wanted.setdefault((other.old, other.new), []).append(rel)
    try:
        for old, new in sorted(wanted, key=lambda pair: _last_used(pair[0], wanted[pair]), reverse=True):
            _link_named(old, new, wanted[old, new], token(f"prepare {task}"), report)
    except OSError as error:
        raise RecoveryError(f"what {task} needs could not be linked: {said(error)}") from None
    return report


def _last_used(root: str, rels: Sequence[Rel]) -> float:
    """Return the time of the last change of the named paths below a root.

    The root with the newest files wins.
    """
    times = [0.0]
    for rel in rels:
        try:
            times.append(os.lstat(b"/".join((os.fsencode(root), *rel))).st_mtime)
        except OSError:
            continue  # the path does not exist below this root
    return max(times)


def _link_named(old: str, new: str, rels: Sequence[Rel], name: str, report: Report) -> None:
    if not Path(old).is_dir():
        report.notes.append(f"{old} cannot be seen: nothing of it was linked")
        return
    with Tree(old) as source, make_root(new) as target:
        works = find_work(source, rels)
        policy = Policy(
            old=source.root, new=target.root, copy_unfinished=False, mirrored=roots(works), user=os.geteuid()
        )
        carrier = Carrier(source, target, policy, name)
        carrier.carry(works)
        report.linked += carrier.report.linked
        report.notes += carrier.report.notes
