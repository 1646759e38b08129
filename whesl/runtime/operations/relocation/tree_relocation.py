"""Carries a tree over into a new root: walks, decides (``mirror_plan``) and does (``safe_tree``).

The work may be interrupted at any point: a second run continues where the first one stopped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import msgspec

from whesl.runtime.operations.recovery_plan import RecoveryError
from whesl.runtime.operations.relocation import mirror_plan
from whesl.runtime.operations.relocation.copying import (
    UnreadableError,
    copy_file,
    link_copy,
    replace_by_link,
    same_content,
)
from whesl.runtime.operations.relocation.mirror_plan import Action, Decision, Entry, Kind, Policy, Rel, decide
from whesl.runtime.operations.relocation.safe_tree import (
    ForeignDirectoryError,
    Tree,
    entry_at,
    listing,
    make_fifo,
    make_link,
)

# symbolic links that are followed in a path; the kernel's limit is the same (path_resolution(7))
_MOST_LINKS = 40


class Select(Enum):
    """The selected entries of a directory."""

    ALL = "all"  # all entries and their content
    NAME = "name"
    PREFIX = "prefix"
    NONE = "none"  # the directory alone


class Work(msgspec.Struct, frozen=True):
    """A directory of the old root, with its selected entries."""

    directory: Rel
    select: Select
    name: bytes = b""

    def wants(self, name: bytes) -> bool:
        """Whether an entry of that name is selected."""
        if self.select is Select.NAME:
            return name == self.name
        return self.select is Select.ALL or (self.select is Select.PREFIX and name.startswith(self.name))


class Needs(msgspec.Struct, kw_only=True):
    """The needs of carrying over: bytes to copy, new names, and the failed attempt's output."""

    copied: int = 0
    names: int = 0
    produced: int = 0


class Report(msgspec.Struct, kw_only=True):
    """Counts of the work by kind; ``notes`` are sentences on remarkable events."""

    linked: int = 0
    copied: int = 0
    moved: int = 0
    copied_bytes: int = 0
    notes: list[str] = []


_MOST_NOTES = 20


def find_work(source: Tree, rels: Iterable[Rel]) -> tuple[Work, ...]:
    """Return the work that the named paths stand for in a tree.

    A directory counts with all its content. The path of a missing file stands for all entries whose names
    begin with it, since outputs are often named by a prefix. A link on the way is carried over, with its
    destination if that is inside the root.

    Args:
        source: the tree.
        rels: the named paths below its root.
    """
    found: dict[Work, None] = {}
    for rel in rels:
        _find(source, rel, found, 0)
    return tuple(found)


def _find(source: Tree, rel: Rel, found: dict[Work, None], links: int) -> None:
    for depth in range(1, len(rel) + 1):
        here, last = rel[:depth], depth == len(rel)
        try:
            entry = source.look(here)
        except ForeignDirectoryError as error:
            found[Work(error.rel[:-1], Select.NAME, error.rel[-1])] = None
            return
        if entry is None:
            found[Work(here[:-1], Select.PREFIX if last else Select.NONE, here[-1])] = None
            return
        if entry.kind is Kind.DIRECTORY:
            continue
        found[Work(here[:-1], Select.NAME, here[-1])] = None
        if entry.kind is Kind.LINK and links < _MOST_LINKS:
            text = entry.text
            absolute = text.startswith(b"/")
            led = mirror_plan.below(source.root, text) if absolute else mirror_plan.resolve(here[:-1], text)
            if led is not None:
                _find(source, (*led, *rel[depth:]), found, links + 1)
        return
    found[Work(rel, Select.ALL)] = None


def roots(works: Iterable[Work]) -> tuple[Rel, ...]:
    """Return the paths that will exist in the new root; links may lead to them."""
    found = []
    for work in works:
        if work.select is Select.ALL:
            found.append(work.directory)
        elif work.select is Select.NAME:
            found.append((*work.directory, work.name))
    return tuple(found)


def said(error: Exception) -> str:
    """Return the message of an error of file work, with the file's name."""
    if isinstance(error, OSError):
        if not isinstance(error.filename, (str, bytes)):
            return error.strerror or str(error)
        # A file's name may be invalid text, which journals cannot store.
        name = os.fsencode(error.filename).decode(errors="backslashreplace")
        return f"{error.strerror} ({name})"
    return error.message if isinstance(error, RecoveryError) else str(error)


class Carrier:
    """Carries works from one tree to another under one policy.

    Args:
        source: the old root.
        target: the new root.
        policy: the rules for entries.
        token: the recovery step's token.
    """

    def __init__(self, source: Tree, target: Tree, policy: Policy, token: str) -> None:
        self._source = source
        self._target = target
        self._policy = policy
        self._token = token
        self._copies: dict[tuple[int, int], Rel] = {}
        self._moved: list[tuple[Rel, Entry]] = []
        self.report = Report()

    def measure(self, works: Sequence[Work], produced_since: float) -> Needs:
        """Return the needs of carrying works over, without any change.

        Args:
            works: the works.
            produced_since: the beginning of the failed attempt's output, seconds since the epoch.
        """
        needs = Needs()

        def count(rel: Rel, _descriptor: int, entries: list[Entry]) -> list[bytes]:
            present: dict[bytes, Entry] = {}
            with contextlib.suppress(FileNotFoundError), self._target.directory(rel) as directory:
                present = listing(directory)
            entering = []
            for entry in entries:
                decision = decide(rel, entry, present.get(entry.name), self._policy)
                if decision.action is Action.ENTER:
                    entering.append(entry.name)
                if decision.action in mirror_plan.COPYING:
                    needs.copied += entry.size
                needs.names += decision.action is not Action.LEAVE
                if produced_since and entry.kind is Kind.FILE and entry.mtime_ns >= produced_since * 1e9:
                    needs.produced += entry.size
            return entering

        self._walk(works, count, lambda _rel: None)
        return needs

    def carry(self, works: Sequence[Work]) -> None:
        """Carry missing entries over to the new root. Raises RecoveryError, OSError; no file is lost."""

        def do(rel: Rel, descriptor: int, entries: list[Entry]) -> list[bytes]:
            with self._target.directory(rel, like=self._source) as directory:
                self._sweep(directory)
                present = listing(directory)
                entering = []
                for entry in entries:
                    decision = decide(rel, entry, present.get(entry.name), self._policy)
                    if decision.action is Action.ENTER:
                        entering.append(entry.name)
                    else:
                        self._apply(rel, entry, present.get(entry.name), decision, descriptor, directory)
                return entering

        self._walk(works, do, self._link_whole)

    def finish_moves(self) -> None:
        """Replace the originals of moved files by links, after all copies are safe in the new root."""
        for rel, entry in self._moved:
            copy = self._target.look((*rel, entry.name))
            if copy is None or copy.kind is not Kind.FILE or copy.size != entry.size:
                self._note(f"{self._source.place((*rel, entry.name))} is kept: its copy is not as it was")
                continue
            with self._source.directory(rel) as directory:
                self._sweep(directory)
                text = b"/".join((self._target.root.rstrip(b"/"), *rel, entry.name))
                how = replace_by_link(entry, directory, text, self._token)
            if how != "linked":
                self._note(f"{self._source.place((*rel, entry.name))} was {how} after it had been copied")
            self.report.moved += how != "kept"

    def _walk(
        self,
        works: Sequence[Work],
        handle: Callable[[Rel, int, list[Entry]], list[bytes]],
        unreadable: Callable[[Rel], None],
    ) -> None:
        pending = list(reversed(works))
        seen: set[Rel] = set()
        while pending:
            work = pending.pop()
            rel = work.directory
            if work.select is Select.ALL:
                if rel in seen:
                    continue
                seen.add(rel)
            with contextlib.ExitStack() as stack:
                try:
                    descriptor = stack.enter_context(self._source.directory(rel))
                    status = os.fstat(descriptor)
                    if (status.st_dev, status.st_ino) == self._target.identity:
                        continue  # the new root lies inside the old one
                    entries = [
                        entry
                        for entry in self._entries(descriptor, work)
                        if work.wants(entry.name) and not mirror_plan.is_part(entry.name)
                    ]
                except FileNotFoundError:
                    continue
                except (ForeignDirectoryError, PermissionError) as error:
                    whole = error.rel if isinstance(error, ForeignDirectoryError) else rel
                    if not whole:
                        raise RecoveryError(f"{self._source.place(())} cannot be read") from None
                    unreadable(whole)
                    continue
                entering = handle(rel, descriptor, entries)
            pending += [Work((*rel, name), Select.ALL) for name in reversed(entering)]

    @staticmethod
    def _entries(descriptor: int, work: Work) -> Iterable[Entry]:
        if work.select is Select.NAME:
            entry = entry_at(descriptor, work.name)
            return [] if entry is None else [entry]
        return [] if work.select is Select.NONE else listing(descriptor).values()

    def _sweep(self, directory: int) -> None:
        """Remove the unfinished files that an interrupted run of the same step left."""
        for name in os.listdir(directory):
            if mirror_plan.is_part(os.fsencode(name), self._token):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=directory)

    def _link_whole(self, rel: Rel) -> None:
        """Link another user's directory, or an unreadable one, as a whole; its content is not touched."""
        if self._policy.repeat:
            return
        text = b"/".join((self._policy.old.rstrip(b"/"), *rel))
        with self._target.directory(rel[:-1], like=self._source) as directory:
            if entry_at(directory, rel[-1]) is None:
                make_link(text, directory, rel[-1])
                self.report.linked += 1
                self._note(f"{self._source.place(rel)} is linked as a whole: another user's, or not readable")

    def _apply(
        self, rel: Rel, entry: Entry, present: Entry | None, decision: Decision, source: int, target: int
    ) -> None:
        action = decision.action
        if action is Action.LEAVE:
            self._leave(rel, entry, present)
        elif action is Action.CONFLICT:
            raise RecoveryError(
                f"{self._target.place((*rel, entry.name))} exists, and one of it and "
                f"{self._source.place((*rel, entry.name))} is a directory while the other is not",
                hint="remove what is in the way in the new file system",
            )
        elif action in (Action.LINK, Action.RELINK):
            make_link(decision.text, target, entry.name)
            self.report.linked += 1
        elif action is Action.FIFO:
            make_fifo(entry, target)
        elif action is Action.FINISH_MOVE:
            if same_content(entry, source, target):
                self._moved.append((rel, entry))
                self._leave(rel, entry, present)
        else:
            self._copy(rel, entry, decision, source, target)

    def _leave(self, rel: Rel, entry: Entry, present: Entry | None) -> None:
        if entry.kind is Kind.OTHER:
            self._note(f"{self._source.place((*rel, entry.name))} is a {entry.kind.value} and stays")
        if entry.links == 1 or present is None or present.kind is not Kind.FILE:
            return
        if (present.size, present.mtime_ns) == (entry.size, entry.mtime_ns):
            # An earlier run copied this file, which may have further names (hard links).
            self._copies.setdefault((entry.device, entry.inode), (*rel, entry.name))

    def _copy(self, rel: Rel, entry: Entry, decision: Decision, source: int, target: int) -> None:
        over = decision.text if decision.action in (Action.COPY_OVER, Action.MOVE_OVER) else None
        moving = decision.action in mirror_plan.MOVING
        try:
            if not self._linked_copy(entry, target, over):
                copy_file(entry, source, target, self._token, over=over, verify=moving)
                self.report.copied_bytes += entry.size
        except UnreadableError:
            self._note(f"{self._source.place((*rel, entry.name))} cannot be read: linked, not copied")
            if over is None:
                text = b"/".join((self._policy.old.rstrip(b"/"), *rel, entry.name))
                make_link(text, target, entry.name)
                self.report.linked += 1
            return
        self.report.copied += 1
        if entry.links > 1:
            self._copies.setdefault((entry.device, entry.inode), (*rel, entry.name))
        if moving:
            self._moved.append((rel, entry))

    def _linked_copy(self, entry: Entry, target: int, over: bytes | None) -> bool:
        first = self._copies.get((entry.device, entry.inode)) if entry.links > 1 else None
        if first is None:
            return False
        with self._target.directory(first[:-1]) as directory:
            return link_copy(first[-1], directory, entry, target, self._token, over)

    def _note(self, text: str) -> None:
        if len(self.report.notes) < _MOST_NOTES:
            self.report.notes.append(text)
