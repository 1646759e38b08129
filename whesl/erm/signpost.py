"""At a task's end: links at the old places to what was written at the new ones.

For managers that look for a task's outputs where they were declared (Snakemake, Nextflow, Parsl's files) and
that nobody can tell a path map. Without the links they miss what was written at the new place only, and,
worse, take for whole what the failed attempt left half-written at the old one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from whesl.erm import dates, mirror
from whesl.erm.carry import Carrier, Report, find_work, roots, said
from whesl.erm.mirror import Action, Decision, Entry, Kind, Policy, Rel
from whesl.erm.plan import RecoveryError
from whesl.erm.progress import token
from whesl.erm.tree import Checkpoint, Tree, no_checkpoint, replace_by_link
from whesl.model.pathmap import PathMap


def put_up(
    path_map: PathMap,
    named: Sequence[str],
    task: str,
    first_started: float,
    checkpoint: Checkpoint = no_checkpoint,
) -> Report:
    """Link, at the old places, what a task that has succeeded wrote at the new ones.

    What is lacking at the old place becomes a link, if it was written since the task began. A file there is
    replaced by one only when both were: the recovery has copied it, and the new one is what came of it.

    Args:
        path_map: of the task's configuration.
        named: the paths that the task names, as ``named_paths`` gives them, by their old names.
        task: its id.
        first_started: when its first attempt began, s since the epoch.
        checkpoint: called between changes.

    Returns the report: ``linked`` links in all, a note for each file that was kept in spite of a newer one.
    Raises RecoveryError: a root cannot be used, or an unsafe directory is on the way.
    """
    wanted: dict[tuple[str, str], list[Rel]] = {}
    for path in named:
        found = {rule: mirror.below(os.fsencode(rule.old), os.fsencode(path)) for rule in path_map.rules}
        rule = max((r for r in found if found[r] is not None), key=lambda r: len(r.old), default=None)
        if rule is not None and (rel := found[rule]) is not None:
            wanted.setdefault((rule.old, rule.new), []).append(rel)
    report = Report()
    for (old, new), rels in wanted.items():
        try:
            with Tree(old) as target, Tree(new) as source:
                if source.identity != target.identity:
                    _put_up(source, target, rels, task, first_started, checkpoint, report)
        except OSError as error:
            raise RecoveryError(f"{old} got no links to {new}: {said(error)}") from None
    return report


def _put_up(
    source: Tree,
    target: Tree,
    rels: Sequence[Rel],
    task: str,
    first_started: float,
    checkpoint: Checkpoint,
    report: Report,
) -> None:
    name = token(f"signpost {task}")
    works = find_work(source, rels)
    here = rels[0][:-1]
    policy = Policy(
        old=source.root, new=target.root, copy_unfinished=False, mirrored=roots(works), user=os.geteuid()
    )
    # Each file system may date files by another clock. A first attempt runs before its isolator notes it.
    began = first_started - mirror.UNFINISHED_WINDOW
    begun = tuple(began + dates.ahead(tree, here, name) for tree in (source, target))
    signs = _Signs(source, target, policy, name, checkpoint, begun=(begun[0], begun[1]))
    signs.carry(works)
    report.linked += signs.report.linked
    report.notes += signs.report.notes


class _Signs(Carrier):
    """Carries links from the new root to the old one, over what the task itself left there.

    Args:
        source: the new root.
        target: the old root.
        policy: nothing is copied or moved.
        token: this task's.
        checkpoint: called between changes.
        begun: when the task began, by the clocks that date files in ``source`` and ``target``, s.
    """

    def __init__(
        self,
        source: Tree,
        target: Tree,
        policy: Policy,
        token: str,
        checkpoint: Checkpoint,
        *,
        begun: tuple[float, float],
    ) -> None:
        super().__init__(source, target, policy, token, checkpoint)
        self._begun = begun

    def _leave(self, rel: Rel, entry: Entry, present: Entry | None) -> None:
        if present is None or (entry.kind, present.kind) != (Kind.FILE, Kind.FILE):
            return
        own = present.uid == self._policy.user
        times = zip((entry, present), self._begun, strict=True)
        if not own or any(file.mtime_ns < begun * 1e9 for file, begun in times):
            if entry.mtime_ns >= self._begun[0] * 1e9:
                self._note(f"{self._target.place((*rel, entry.name))} is kept: this task did not write it")
            return
        text = b"/".join((self._policy.old.rstrip(b"/"), *rel, entry.name))
        with self._target.directory(rel) as directory:
            how = replace_by_link(present, directory, text, self._token, self._checkpoint)
        self.report.linked += how == "linked"
        if how != "linked":
            self._note(f"{self._target.place((*rel, entry.name))} was {how}: a newer one is in the new root")

    def _apply(
        self, rel: Rel, entry: Entry, present: Entry | None, decision: Decision, source: int, target: int
    ) -> None:
        if decision.action is Action.LEAVE:
            self._leave(rel, entry, present)
        # What lay in the new root before is not this task's: last week's output must not appear as today's.
        elif decision.action in (Action.LINK, Action.RELINK) and entry.mtime_ns >= self._begun[0] * 1e9:
            super()._apply(rel, entry, present, decision, source, target)
