"""Links from a task's old file places to the files that it wrote at the new places, made at the task's end.

Some managers look for a task's outputs where they were declared (Snakemake, Nextflow, Parsl's files), and
take no path map. Without the links they miss files that were written at the new place only, and take
half-written files of the failed attempt at the old place for complete ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from whesl.model.pathmap import PathMap
from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.recovery_step_progress import token
from whesl.runtime.operations.relocation import mirror_plan, target_probe
from whesl.runtime.operations.relocation.copying import replace_by_link
from whesl.runtime.operations.relocation.mirror_plan import Action, Decision, Entry, Kind, Policy, Rel
from whesl.runtime.operations.relocation.safe_tree import Tree
from whesl.runtime.operations.relocation.tree_relocation import Carrier, Report, find_work, roots, said


class Since(msgspec.Struct, frozen=True):
    """When a task began and when a recovery first moved its files, seconds since the epoch.

    A file in the new root that is older than ``moved`` was carried there. It may belong to another task,
    which may have changed or removed the original since then.
    """

    began: float
    moved: float


def put_up(
    path_map: PathMap,
    named: Sequence[str],
    task: str,
    since: Since,
    streams: Iterable[str] = (),
) -> Report:
    """Make links at the old places to the files that a successful task wrote at the new places.

    A file that was written at the new place since the move and is missing at the old place gets a link there.
    A link replaces an existing file only if that file was last written between the task's beginning and the
    move, since it is then a rest of the failed attempt.

    Args:
        path_map: the path map of the task's configuration.
        named: the paths that the task names (``named_paths``), by their old names.
        task: the task's id.
        since: when the task began and when its files were moved.
        streams: files of the task's output, which stay, since the script around the task still writes to
            them.

    Returns the report: ``linked`` counts links; a note names each file that was kept despite a newer one.
    Raises RecoveryError: a root is unusable, or an unsafe directory is on the way.
    """
    wanted: dict[tuple[str, str], list[Rel]] = {}
    for path in named:
        found = {rule: mirror_plan.below(os.fsencode(rule.old), os.fsencode(path)) for rule in path_map.rules}
        rule = max((r for r in found if found[r] is not None), key=lambda r: len(r.old), default=None)
        if rule is not None and (rel := found[rule]) is not None:
            wanted.setdefault((rule.old, rule.new), []).append(rel)
    report = Report()
    kept = frozenset(identity for identity in map(_identity, streams) if identity is not None)
    for (old, new), rels in wanted.items():
        try:
            with Tree(old) as target, Tree(new) as source:
                if source.identity != target.identity:
                    _put_up(source, target, rels, task, since, kept, report)
        except OSError as error:
            raise RecoveryError(f"{old} got no links to {new}: {said(error)}") from None
    return report


def _put_up(
    source: Tree,
    target: Tree,
    rels: Sequence[Rel],
    task: str,
    since: Since,
    kept: frozenset[tuple[int, int]],
    report: Report,
) -> None:
    name = token(f"output link {task}")
    works = find_work(source, rels)
    here = rels[0][:-1]
    policy = Policy(
        old=source.root, new=target.root, copy_unfinished=False, mirrored=roots(works), user=os.geteuid()
    )
    # Each file system may date files by a different clock.
    new, old = (target_probe.ahead(tree, here, name) for tree in (source, target))
    meant = _Meant(
        written=since.moved + new - _MARGIN,
        # A first attempt starts before its isolator notes the time.
        left_first=since.began + old - mirror_plan.UNFINISHED_WINDOW,
        left_last=since.moved + old + _MARGIN,
        kept=kept,
    )
    signs = _Signs(source, target, policy, name, meant)
    signs.carry(works)
    report.linked += signs.report.linked
    report.notes += signs.report.notes


# Seconds: twice the difference of clocks that ``target_probe.ahead`` ignores.
_MARGIN = 2 * target_probe.TOLERATED


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Meant(msgspec.Struct, frozen=True, kw_only=True):
    """The files to link: written at the new place since ``written``, left at the old one between two times.

    Times are seconds by the file systems' clocks. ``kept``: device and inode of files that always stay.
    """

    written: float
    left_first: float
    left_last: float
    kept: frozenset[tuple[int, int]]


class _Signs(Carrier):
    """Makes links in the old root to the new root, which may replace the task's own old files.

    Args:
        source: the new root.
        target: the old root.
        policy: nothing is copied or moved.
        token: this task's.
        meant: which files.
    """

    def __init__(self, source: Tree, target: Tree, policy: Policy, token: str, meant: _Meant) -> None:
        super().__init__(source, target, policy, token)
        self._meant = meant

    def _apply(
        self, rel: Rel, entry: Entry, present: Entry | None, decision: Decision, source: int, target: int
    ) -> None:
        if entry.mtime_ns < self._meant.written * 1e9:
            return
        if decision.action in (Action.LINK, Action.RELINK):
            try:
                super()._apply(rel, entry, present, decision, source, target)
            except OSError as error:  # usually the old disk is full; other files may still be replaced
                self._note(f"{self._target.place((*rel, entry.name))} got no link: {said(error)}")
        elif present is not None and present.kind is Kind.FILE:
            if entry.kind is Kind.FILE:
                text = b"/".join((self._policy.old.rstrip(b"/"), *rel, entry.name))
                self._replace(rel, entry, present, text, target)
            # After two moves, the newest root may have a link to the root before.
            elif entry.text.startswith(b"/") and mirror_plan.below(self._policy.new, entry.text) is None:
                self._replace(rel, entry, present, entry.text, target)

    def _replace(self, rel: Rel, entry: Entry, present: Entry, text: bytes, directory: int) -> None:
        if (entry.size, entry.mtime_ns) == (present.size, present.mtime_ns):
            return  # the file is a copy of the old one
        if (present.device, present.inode) in self._meant.kept:
            return
        place = self._target.place((*rel, entry.name))
        left = self._meant.left_first * 1e9 <= present.mtime_ns <= self._meant.left_last * 1e9
        if present.uid != self._policy.user or not left:
            self._note(f"{place} is kept: it is not what this task's failed attempt left")
            return
        how = replace_by_link(present, directory, text, self._token)
        self.report.linked += how == "linked"
        if how != "linked":
            self._note(f"{place} was {how}: a newer one is in the new root")
