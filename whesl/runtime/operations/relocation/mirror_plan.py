"""What becomes of each entry when a tree is mirrored into a new root: pure, given two listings.

The rule is "whatever the new place lacks"; nothing that exists there is replaced, except a symbolic link
that a former recovery made to the very file that is now to be copied.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec

from whesl.model.digest import hexdigest

# Unfinished files under this name lie in the directory of the file that they become: token, name's hash.
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
    """What becomes of an entry."""

    LEAVE = "leave"  # the new place has the entry, or another user has to carry it over
    ENTER = "enter"  # directory: make it and go on inside
    LINK = "link"  # symbolic link to the old place
    RELINK = "relink"  # the old entry is a link; the new one leads to the same place
    COPY = "copy"
    COPY_OVER = "copy over"  # the link that was made becomes a copy
    MOVE = "move"  # copy, and later a link in the old place
    MOVE_OVER = "move over"
    FINISH_MOVE = "finish move"  # a copy is there: when it is equal, the old place becomes a link
    FIFO = "fifo"
    CONFLICT = "conflict"  # a directory on one side only


COPYING = frozenset({Action.COPY, Action.COPY_OVER, Action.MOVE, Action.MOVE_OVER})
MOVING = frozenset({Action.MOVE, Action.MOVE_OVER, Action.FINISH_MOVE})


class Decision(msgspec.Struct, frozen=True):
    """An action, and a link's text where it makes one."""

    action: Action
    text: bytes = b""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How a tree is mirrored.

    ``old`` and ``new`` are the absolute roots. ``workspace`` is the task's own directory below ``old``,
    None when it is elsewhere. ``open_files`` had been open for writing. ``well_until`` is the latest time at
    which the failed attempt had certainly not failed yet, ``first_started`` when the task's first attempt
    began (s since the epoch, 0: not known). ``repeat``: links to the task's own files become copies. ``user``
    is whose files may be moved.
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
        """Return the policy for files that are dated by a clock so far ahead, s."""
        times = {
            name: time + ahead for name in ("well_until", "first_started") if (time := getattr(self, name))
        }
        return msgspec.structs.replace(self, **times)

    def in_workspace(self, rel: Rel) -> bool:
        """Whether a path is at or below the task's own directory."""
        return self.workspace is not None and rel[: len(self.workspace)] == self.workspace

    def own(self, rel: Rel, entry: Entry) -> bool:
        """Whether this task produced a file: it is in its workspace, or newer than its first start."""
        newer = bool(self.first_started) and entry.mtime_ns >= self.first_started * 1e9
        return self.in_workspace(rel) or newer

    def unfinished(self, rel: Rel, entry: Entry) -> bool:
        """Whether the failed attempt may have left a file half-written.

        By the time at which it was written, which programs that copy or unpack files set back (mtime) and the
        file system notes all the same (ctime). By time only in the workspace: elsewhere another task may be
        writing at the same moment, and a copy of its file would hide what it writes later.
        """
        if not self.copy_unfinished:
            return False
        if rel in self.open_files:
            return True
        if not self.well_until or (self.workspace is not None and not self.in_workspace(rel)):
            return False
        return max(entry.mtime_ns, entry.ctime_ns) >= (self.well_until - UNFINISHED_WINDOW) * 1e9


def decide(directory: Rel, source: Entry, target: Entry | None, policy: Policy) -> Decision:
    """Return what becomes of one entry.

    Args:
        directory: where it lies, below both roots.
        source: the entry in the old root.
        target: the entry of the same name in the new root, None where it is lacking.
        policy: how the tree is mirrored.
    """
    rel = (*directory, source.name)
    old_place = b"/".join((policy.old.rstrip(b"/"), *rel))
    new_place = b"/".join((policy.new.rstrip(b"/"), *rel))
    if target is None and policy.repeat:
        # The entry was carried over before, and the task has removed it since.
        return Decision(Action.LEAVE)
    if source.kind is Kind.DIRECTORY:
        if target is None or target.kind is Kind.DIRECTORY:
            return Decision(Action.ENTER)
        linked = target.kind is Kind.LINK and target.text == old_place
        return Decision(Action.LEAVE if linked else Action.CONFLICT)
    if target is not None and target.kind is Kind.DIRECTORY:
        # The task itself has made a directory in the place of an old link to one, which stays.
        return Decision(Action.LEAVE if source.kind is Kind.LINK else Action.CONFLICT)
    if source.kind is Kind.FILE:
        return _decide_file(rel, source, target, old_place, policy)
    if target is not None or source.kind is Kind.OTHER:
        return Decision(Action.LEAVE)
    if source.kind is Kind.FIFO:
        return Decision(Action.FIFO)
    if source.text == new_place:  # moved before
        return Decision(Action.LEAVE)
    return Decision(Action.RELINK, link_text(directory, source.text, old_place, policy))


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


def link_text(directory: Rel, text: bytes, old_place: bytes, policy: Policy) -> bytes:
    """Return the text of a link that is carried over, so that it means what it meant.

    A link into what is mirrored leads to the mirrored one; any other leads where it led.
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
    """Return where a relative link leads below the root, by its text alone; None when it leaves the root."""
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
    """Return an absolute path's components below a root, None when it is elsewhere or has ``..``."""
    parts = tuple(part for part in path.split(b"/") if part not in (b"", b"."))
    base = tuple(part for part in root.split(b"/") if part not in (b"", b"."))
    if b".." in parts or parts[: len(base)] != base:
        return None
    return parts[len(base) :]


def _covered(rel: Rel, mirrored: Iterable[Rel]) -> bool:
    return any(rel[: len(root)] == root for root in mirrored)


def part_name(token: str, name: bytes) -> bytes:
    """Return the name under which a file is prepared by one recovery step (token: 16 hexadecimal digits).

    It holds only the name's hash: a name may be as long as the file system allows.
    """
    return f".whesl-part-{token}-{hexdigest(name, 8)}".encode()


def is_part(name: bytes, token: str | None = None) -> bool:
    """Whether a name is an unfinished copy that was made here; of one step when its token is given."""
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
