"""Decides what happens to each entry when a tree is mirrored into a new root. Pure: from two listings.

The new place gets the entries that it lacks. No existing entry is replaced, except a symbolic link that an
earlier recovery made to a file that now has to be copied.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec

from whesl.model.digest import hexdigest

# Names of unfinished copies, which lie in the directory of the final file: the token and the name's hash.
_PART = re.compile(rb"\.whesl-part-([0-9a-f]{16})-[0-9a-f]{16}")
UNFINISHED_WINDOW = 2.0  # seconds between the last write to a file and the failure that it led to

Rel = tuple[bytes, ...]  # a path below a root, by components; () is the root


class Kind(Enum):
    """What an entry is."""

    DIRECTORY = "directory"
    FILE = "file"
    LINK = "link"
    FIFO = "fifo"
    OTHER = "socket or device"


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of a directory. ``text`` is a link's. Times in nanoseconds since the epoch."""

    name: bytes
    kind: Kind
    mode: int = 0o644
    uid: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    device: int = 0
    inode: int = 0
    links: int = 1
    text: bytes = b""


class Action(Enum):
    """An action for an entry."""

    LEAVE = "leave"  # no action: the new place has the entry, or only another user may carry it over
    ENTER = "enter"  # make the directory and continue inside
    LINK = "link"  # symbolic link to the old place
    RELINK = "relink"  # the old entry is a link; the new one leads to the same place
    COPY = "copy"
    COPY_OVER = "copy over"  # the link of an earlier recovery becomes a copy
    MOVE = "move"  # copy, and later a link in the old place
    MOVE_OVER = "move over"
    FINISH_MOVE = "finish move"  # the new place has a copy: if it is equal, the old place becomes a link
    FIFO = "fifo"
    CONFLICT = "conflict"  # a directory on one side only


COPYING = frozenset({Action.COPY, Action.COPY_OVER, Action.MOVE, Action.MOVE_OVER})
MOVING = frozenset({Action.MOVE, Action.MOVE_OVER, Action.FINISH_MOVE})


class Decision(msgspec.Struct, frozen=True):
    """An action, with the text of the link that it makes, if any."""

    action: Action
    text: bytes = b""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for mirroring a tree.

    ``old`` and ``new`` are the absolute roots. ``workspace`` is the task's own directory below ``old``,
    None when it is elsewhere. ``open_files`` were open for writing. ``well_until`` is the latest time at
    which the failed attempt had certainly not failed yet, ``first_started`` the beginning of the task's first
    attempt (s since the epoch, 0: not known). ``repeat``: links to the task's own files become copies.
    ``user``: the user id whose files may be moved.
    """

    old: bytes
    new: bytes
    move: bool = False
    repeat: bool = False
    copy_unfinished: bool = True
    workspace: Rel | None = None
    open_files: frozenset[Rel] = frozenset()
    well_until: float = 0.0
    first_started: float = 0.0
    user: int = 0
    mirrored: tuple[Rel, ...] = ()

    def dated(self, ahead: float) -> Policy:
        """Return the policy for files that are dated by a clock that is ``ahead`` seconds ahead."""
        times = {
            name: time + ahead for name in ("well_until", "first_started") if (time := getattr(self, name))
        }
        return msgspec.structs.replace(self, **times)

    def in_workspace(self, rel: Rel) -> bool:
        """Whether a path is at or below the task's own directory."""
        return self.workspace is not None and rel[: len(self.workspace)] == self.workspace

    def own(self, rel: Rel, entry: Entry) -> bool:
        """Whether the task produced a file: one in its workspace, or one newer than its first start.

        Args:
            rel: the path below the roots, by components.
            entry: the file.
        """
        newer = bool(self.first_started) and entry.mtime_ns >= self.first_started * 1e9
        return self.in_workspace(rel) or newer

    def unfinished(self, rel: Rel, entry: Entry) -> bool:
        """Whether the failed attempt may have left a file half-written.

        The time of the last write decides: mtime, or ctime, since programs that copy or unpack files set
        mtime back. The time counts in the workspace only: elsewhere another task may write at the same time,
        and a copy of its file would hide its later writes.

        Args:
            rel: the path below the roots, by components.
            entry: the file.
        """
        if not self.copy_unfinished:
            return False
        if rel in self.open_files:
            return True
        if not self.well_until or (self.workspace is not None and not self.in_workspace(rel)):
            return False
        return max(entry.mtime_ns, entry.ctime_ns) >= (self.well_until - UNFINISHED_WINDOW) * 1e9


def decide(directory: Rel, source: Entry, target: Entry | None, policy: Policy) -> Decision:
    """Return the decision about one entry.

    Args:
        directory: the entry's directory, relative to both roots.
        source: the entry in the old root.
        target: the entry of the same name in the new root, None where it is missing.
        policy: the rules for mirroring.
    """
    rel = (*directory, source.name)
    old_place = b"/".join((policy.old.rstrip(b"/"), *rel))
    new_place = b"/".join((policy.new.rstrip(b"/"), *rel))
    if target is None and policy.repeat:
        # The entry was carried over before, and the task has removed it since then.
        return Decision(Action.LEAVE)
    if source.kind is Kind.DIRECTORY:
        if target is None or target.kind is Kind.DIRECTORY:
            return Decision(Action.ENTER)
        linked = target.kind is Kind.LINK and target.text == old_place
        return Decision(Action.LEAVE if linked else Action.CONFLICT)
    if target is not None and target.kind is Kind.DIRECTORY:
        # A directory that the task itself made in the place of an old link stays.
        return Decision(Action.LEAVE if source.kind is Kind.LINK else Action.CONFLICT)
    if source.kind is Kind.FILE:
        return _decide_file(rel, source, target, old_place, policy)
    if target is not None or source.kind is Kind.OTHER:
        return Decision(Action.LEAVE)
    if source.kind is Kind.FIFO:
        return Decision(Action.FIFO)
    if source.text == new_place:  # moved before
        return Decision(Action.LEAVE)
    return Decision(Action.RELINK, _link_text(directory, source.text, old_place, policy))


def _decide_file(rel: Rel, source: Entry, target: Entry | None, old_place: bytes, policy: Policy) -> Decision:
    own = policy.own(rel, source)
    moving = policy.move and own and source.uid == policy.user
    if target is None:
        if moving:
            return Decision(Action.MOVE)
        if policy.unfinished(rel, source):
            return Decision(Action.COPY)
        return Decision(Action.LINK, old_place)
    if target.kind is Kind.LINK and target.text == old_place:
        if moving:
            return Decision(Action.MOVE_OVER, old_place)
        if policy.unfinished(rel, source) or (policy.repeat and own):
            return Decision(Action.COPY_OVER, old_place)
    if moving and target.kind is Kind.FILE and target.size == source.size:
        return Decision(Action.FINISH_MOVE)
    return Decision(Action.LEAVE)


def _link_text(directory: Rel, text: bytes, old_place: bytes, policy: Policy) -> bytes:
    """Return the text of a link that is carried over, so that it keeps its meaning.

    A link into the mirrored tree leads to the mirrored entry; any other link keeps its destination.
    """
    if text.startswith(b"/"):
        inside = below(policy.old, text)
        if inside is not None and _covered(inside, policy.mirrored):
            return b"/".join((policy.new.rstrip(b"/"), *inside))
        return text
    resolved = resolve(directory, text)
    if resolved is not None and _covered(resolved, policy.mirrored):
        return text
    return old_place


def resolve(directory: Rel, text: bytes) -> Rel | None:
    """Return the destination below the root of a relative link, by its text alone; None outside the root.

    Args:
        directory: the link's directory below the root.
        text: the link's text.
    """
    parts = list(directory)
    for part in text.split(b"/"):
        if part in (b"", b"."):
            continue
        if part != b"..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return None
    return tuple(parts)


def below(root: bytes, path: bytes) -> Rel | None:
    """Return an absolute path's components below a root, None when it is elsewhere or has ``..``.

    Args:
        root: an absolute path.
        path: an absolute path.
    """
    parts = tuple(part for part in path.split(b"/") if part not in (b"", b"."))
    base = tuple(part for part in root.split(b"/") if part not in (b"", b"."))
    if b".." in parts or parts[: len(base)] != base:
        return None
    return parts[len(base) :]


def _covered(rel: Rel, mirrored: Iterable[Rel]) -> bool:
    return any(rel[: len(root)] == root for root in mirrored)


def part_name(token: str, name: bytes) -> bytes:
    """Return the name under which a file is prepared by one recovery step (token: 16 hexadecimal digits).

    The name contains only a hash of the final name, which may be as long as the file system allows.

    Args:
        token: the recovery step's token, 16 hexadecimal digits.
        name: the final name.
    """
    return f".whesl-part-{token}-{hexdigest(name, 8)}".encode()


def is_part(name: bytes, token: str | None = None) -> bool:
    """Whether a name is that of an unfinished copy; with a token, of one made by that step.

    Args:
        name: the name.
        token: the step's token; None: any step.
    """
    match = _PART.fullmatch(name)
    return match is not None and (token is None or match.group(1) == token.encode())


def kind_of(mode: int) -> Kind:
    """Return the kind of an entry by its mode (stat(2))."""
    return _KINDS.get(stat.S_IFMT(mode), Kind.OTHER)


_KINDS: Mapping[int, Kind] = {
    stat.S_IFDIR: Kind.DIRECTORY,
    stat.S_IFREG: Kind.FILE,
    stat.S_IFLNK: Kind.LINK,
    stat.S_IFIFO: Kind.FIFO,
}
