"""Follows growing files by path and returns their bytes, each once, in bounded pieces.

inotify wakes the reader where the kernel knows every write; docs/administration.md says which files are
polled instead. A poll opens the file again, because NFS then asks the server for the true size. Even with
inotify each path is checked once a second.

Rotation puts another file under the path (docs/design/launch.md). The new file is opened at once, so that it
may be renamed in its turn. The old file is left only when the new file has bytes, since its writer is then
done with the old one. Two cases go unnoticed between two checks: a file that was truncated and grew past the
old offset with the same first KiB, and a file that appeared and vanished.

No method blocks, and only regular files are opened: a path is opened with O_PATH, checked, and only then
opened for reading. A file that cannot be opened is tried again later; ``problems`` says why.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import inotify_simple

from whesl.files import file_retry
from whesl.runtime.detect.filesystem_type import REMOTE, magic_of
from whesl.runtime.detect.followed_file import (
    FASTEST,
    Chunk,
    FollowedFile,
    FollowedPath,
    Group,
    Known,
    UnfitError,
    copies_last,
    open_file,
    saved,
)

SLOWEST = 0.25  # seconds between two polls
SAFETY = 1.0  # seconds between two checks of a path that inotify watches
READ_SIZE = 1 << 20  # bytes of one read
SEARCH_LIMIT = 10_000  # the most names of a directory that are searched for a rotated file
QUEUE_LIMIT = 16  # the most open files of one path

# inotify(7), struct inotify_event: watch, mask, cookie, length of the following name. It is decoded here for
# speed, since much output causes hundreds of events a second.
_EVENT = struct.Struct("iIII")
_EVENTS_SIZE = 1 << 14  # bytes of events that one call reads; unread events keep the descriptor readable
_OVERFLOW = int(inotify_simple.flags.Q_OVERFLOW)
_MODIFIED = int(inotify_simple.flags.MODIFY)
_MASK = (
    inotify_simple.flags.MODIFY
    | inotify_simple.flags.ATTRIB  # also reported when an open file loses its name
    | inotify_simple.flags.MOVE_SELF
    | inotify_simple.flags.DELETE_SELF
)


class Tailer:
    """Follows several files. Not for use by several threads. Close it, or use it as a context manager."""

    def __init__(self, mode: str | None = None) -> None:
        """Start without a file. ``mode``: ``auto`` or ``poll``; None: the value of WHESL_TAIL."""
        self._followed: dict[str, FollowedPath] = {}
        self._watches: dict[int, list[FollowedPath]] = {}
        self._groups: dict[str, Group] = {}  # by pattern of file names
        # The events of the last pure growth: the next events are mostly equal.
        self._growth = b""
        self._grown: tuple[FollowedPath, ...] = ()
        self._inotify: Any = None
        if (mode or os.environ.get("WHESL_TAIL", "auto")) != "poll":
            try:
                self._inotify = inotify_simple.INotify(nonblocking=True)
            except OSError:
                self._inotify = None  # this user has no inotify instance left: poll

    def __enter__(self) -> Tailer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        for path in tuple(self._followed):
            self.unfollow(path)
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def fileno(self) -> int | None:
        """Return a descriptor that becomes readable at events; None when all files are polled."""
        return None if self._inotify is None else int(self._inotify.fileno())

    def follow(
        self,
        path: str,
        offset: int | None = 0,
        *,
        own: bool = False,
        position: Mapping[str, Any] | None = None,
        pattern: str = "",
    ) -> int:
        """Follow a path and return the offset at which reading begins.

        The result is 0 for a file that does not exist yet, or is shorter than ``offset``.

        Args:
            path: the file.
            offset: the first byte to read; None: the present end.
            own: the offset counts only the task's own bytes in a file that other tasks append to.
            position: the file's marks at the offset (``old_files``), since it may have been replaced.
            pattern: the pattern of file names that has led to the path. What was read of one of its files is
                not read again under another name, nor in a copy.
        """
        before = self._followed.get(path)
        last = before.files[-1] if before is not None and before.files else None
        known = before.known if before is not None else None
        if last is not None:
            known = last.known(last.size())
        self.unfollow(path)
        group = self._group(pattern) if pattern else None
        followed = self._followed[path] = FollowedPath(path, group)
        self._open_first(followed)
        file = followed.file
        if file is None and position is not None:
            self.restore([position])
            return int(position["offset"])
        if file is None:
            followed.known = known
            return 0
        if position is not None and not file.foreign.present():
            self.restore([position])
            return int(position["offset"])
        size = file.size()
        if offset and not own:
            offset = file.own(offset)
        if offset is None or offset <= size:
            file.begin(size if offset is None else offset)
        return file.offset

    def leave(self, pattern: str, positions: Iterable[Mapping[str, Any]]) -> None:
        """Remember contents as read, for the files of a pattern of file names.

        Args:
            pattern: the pattern.
            positions: the contents' ends (``old_files.positions``).
        """
        for position in positions:
            self._group(pattern).leave(position["path"], *saved(position))

    def left(self) -> dict[str, list[dict[str, Any]]]:
        """Return, by pattern of file names, the contents that were read, as JSON builtins for ``leave``."""
        return {pattern: group.state() for pattern, group in self._groups.items()}

    def _group(self, pattern: str) -> Group:
        return self._groups.setdefault(pattern, Group())

    def unfollow(self, path: str) -> None:
        """Stop following a path; a path that is not followed is no error."""
        followed = self._followed.pop(path, None)
        while followed is not None and followed.files:
            self._drop(followed)

    def paths(self) -> tuple[str, ...]:
        """Return the followed paths."""
        return tuple(self._followed)

    def problems(self) -> dict[str, str]:
        """Return, by path, why it cannot be read at present, or which bytes may have been missed."""
        return {f.path: f.problem or f.missed for f in self._followed.values() if f.problem or f.missed}

    @property
    def pending(self) -> bool:
        """Whether the last read left bytes behind."""
        return any(followed.more for followed in self._followed.values())

    def next_poll(self, now: float) -> float | None:
        """Return the latest time for the next call of ``read``; None when no path is followed."""
        if self.pending:
            return now
        return min((followed.due for followed in self._followed.values()), default=None)

    def read(self, now: float, max_bytes: int = READ_SIZE, *, force: bool = False) -> list[Chunk]:
        """Return new bytes, at most ``max_bytes`` of each file (twice that when a file was rotated).

        Args:
            now: seconds of one clock.
            max_bytes: the most bytes of each file.
            force: also read polled files that are not due.
        """
        self._take_events()
        chunks: list[Chunk] = []
        for followed in sorted(self._followed.values(), key=copies_last):
            # A due time far in the future means that the clock was set back.
            due = now >= followed.due or followed.due > now + 2 * SAFETY
            if force or followed.more or not followed.polled or due:
                read = self._read(followed, now, max_bytes, force)
                chunks += read
                self._schedule(followed, now, bool(read))
        return chunks

    def grown(self) -> list[str] | None:
        """Return the paths whose files have grown; None when other events make a call of ``read`` necessary.

        Each growth is reported once. ``read`` is also due at the time of ``next_poll``, for polled files.
        """
        grown = self._take_events()
        if grown is None:
            return None
        for followed in grown:
            if followed.unsettled():
                return None
        return [followed.path for followed in grown]

    def peek(self, path: str, room: memoryview) -> int:
        """Read the next bytes without taking them; return their number, -1 for unreadable or changed files.

        Args:
            path: the file.
            room: takes the bytes.
        """
        return self._followed[path].files[0].peek(room)

    def skip(self, path: str, count: int, last: bytes) -> None:
        """Take bytes that ``peek`` has read.

        Args:
            path: the file.
            count: the number of bytes.
            last: the last of these bytes, 64 at most.
        """
        self._followed[path].files[0].skip(count, last)

    def give_back(self, path: str, count: int) -> None:
        """Return the last bytes of a path's chunk to the reader: ``read`` returns them again.

        Args:
            path: the file.
            count: the number of bytes.
        """
        followed = self._followed[path]
        file = followed.files[0]
        file.begin(file.offset - count)
        followed.more = True

    def unread(self) -> int:
        """Return the number of bytes that wait now, over all files and their successors."""
        total = 0
        held = {file.identity for followed in self._followed.values() for file in followed.files}
        for followed in self._followed.values():
            with contextlib.suppress(OSError):  # a missing or invisible file has no bytes to read
                total += sum(max(0, file.size() - file.offset) for file in followed.files)
                there = Path(followed.path).stat()
                if (there.st_dev, there.st_ino) not in held:
                    total += there.st_size
        return total

    def state(self, restart: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
        """Return positions as JSON builtins.

        ``restart``: by path, a smaller offset from which to read again.
        """
        states = []
        for followed in self._followed.values():
            states.append(followed.state((restart or {}).get(followed.path)))
        return states

    def restore(self, states: Iterable[Mapping[str, Any]]) -> None:
        """Follow the paths of a saved state from their saved positions.

        A renamed file is found by its inode in the same directory and read to its end before the new file.
        """
        for state in states:
            path, (identity, known) = str(state["path"]), saved(state)
            group = self._followed[path].group if path in self._followed else None
            self.unfollow(path)
            followed = self._followed[path] = FollowedPath(path, group, fresh=bool(state["fresh"]))
            self._open_first(followed)
            file = followed.file
            if identity == (0, 0):
                followed.known = known if known.offset else None
            elif file is None or file.identity != identity:
                self._find_renamed(followed, identity, known)
            elif file.holds(known):
                file.begin(known.offset)
                file.elsewhere = int(state.get("elsewhere", 0))
            else:
                followed.fresh = True
                if group is not None:
                    group.leave(path, identity, known)

    def _find_renamed(self, followed: FollowedPath, identity: tuple[int, int], known: Known) -> None:
        while followed.files:  # the present file follows the old one, unless another path has led to it
            self._drop(followed)
        directory = Path(followed.path).parent
        old = None
        try:
            with os.scandir(directory) as entries:
                for count, entry in enumerate(entries):
                    if entry.inode() == identity[1] or count >= SEARCH_LIMIT:
                        old = open_file(entry.path)
                        break
        except (OSError, UnfitError):
            old = None
        if old is not None and old.identity == identity and old.holds(known):
            old.begin(known.offset)
            self._take(followed, old)
            return
        if old is not None:
            file_retry.close(old.handle)
        followed.known = known
        if followed.group is not None:
            followed.group.leave(followed.path, identity, known)
        followed.missed = f"rotated away unseen after byte {known.offset}: lines may have been missed"

    def _take_events(self) -> Sequence[FollowedPath] | None:
        """Handle the kernel's events, and return the grown files; None when there were other events."""
        if self._inotify is None:
            return ()
        try:
            content = os.read(self._inotify.fileno(), _EVENTS_SIZE)
        except BlockingIOError:
            return ()
        if content == self._growth:
            return self._grown
        growth = True
        grown: dict[FollowedPath, None] = {}
        position = 0
        while position < len(content):
            watch, mask, _, length = _EVENT.unpack_from(content, position)
            position += _EVENT.size + length
            concerned = self._followed.values() if mask & _OVERFLOW else self._watches.get(watch, ())
            if mask == _MODIFIED:
                grown.update(dict.fromkeys(concerned))
                continue
            growth = False
            for followed in concerned:
                followed.suspect = True
        if not growth:
            return None
        self._growth, self._grown = content, tuple(grown)
        return self._grown

    def _schedule(self, followed: FollowedPath, now: float, active: bool) -> None:
        unsettled = followed.polled or followed.suspect
        if active:
            followed.interval = FASTEST
        elif unsettled:
            followed.interval = min(followed.interval * 2, SLOWEST)
        followed.due = now + (followed.interval if unsettled else SAFETY)

    def _read(self, followed: FollowedPath, now: float, size: int, force: bool) -> list[Chunk]:
        followed.more = False
        try:
            if force or followed.polled or followed.suspect or now >= followed.due:
                self._look(followed)
            known = followed.known
            if known is not None and followed.file is not None and followed.file.size():
                kept = followed.file.kept(known.mark, whole=len(known.mark) == known.offset)
                if followed.succeed(known, kept):
                    followed.missed = ""
            chunks = followed.read_on(size, self._others(followed))
            while any(file.size() for file in followed.files[1:]):
                # Read once more: bytes may have been written before the new file had any.
                chunks = chunks or followed.read_on(size, self._others(followed))
                if chunks:
                    followed.more = True  # this change's event may have been handled already
                    break
                old = followed.files[0]
                known = followed.known or old.as_read(old.offset)
                kept = old.kept_in(followed.files[1])
                followed.leave()
                self._drop(followed)
                followed.succeed(known, kept)
                chunks = followed.read_on(size, self._others(followed))
        except OSError as error:
            followed.problem = _said(error)
            followed.more = isinstance(
                error, BlockingIOError
            )  # the table is being written: try again at once
            if error.errno == errno.ESTALE:
                # The file server has removed the file: the file that is now at the path comes next.
                self._drop(followed)
                followed.fresh = followed.suspect = True
            return []
        return chunks

    def _look(self, followed: FollowedPath) -> None:
        """Open the file that the path leads to, if it is another file than before."""
        try:
            found = open_file(followed.path)
        except FileNotFoundError:
            followed.suspect = True
            return
        except (OSError, UnfitError) as error:
            followed.problem = _said(error)
            return
        followed.problem = ""
        if followed.files and found.identity == followed.files[-1].identity:
            followed.suspect = False
            file_retry.close(found.handle)
        elif len(followed.files) >= QUEUE_LIMIT:
            file_retry.close(found.handle)
        else:
            self._take_free(followed, found)

    def _others(self, followed: FollowedPath) -> list[FollowedPath]:
        """Return the other paths of a path's group."""
        group = followed.group
        return [
            other
            for other in self._followed.values()
            if group is not None and other.group is group and other is not followed
        ]

    def _take_free(self, followed: FollowedPath, file: FollowedFile) -> None:
        """Take a file, unless it is still read under another name of the same pattern."""
        if any(file.identity == each.identity for other in self._others(followed) for each in other.files):
            followed.suspect = True
            file_retry.close(file.handle)
        else:
            self._take(followed, file)

    def _open_first(self, followed: FollowedPath) -> None:
        try:
            self._take_free(followed, open_file(followed.path))
        except FileNotFoundError:
            pass  # the file does not exist yet
        except (OSError, UnfitError) as error:
            followed.problem = _said(error)

    def _take(self, followed: FollowedPath, file: FollowedFile) -> None:
        followed.files.append(file)
        followed.suspect = True  # a rename before the watch has no event
        if self._inotify is None or magic_of(file.handle) in REMOTE:
            return
        try:
            # The watch is by descriptor, so that it belongs to this very file.
            watch = int(self._inotify.add_watch(f"/proc/self/fd/{file.handle}", _MASK))
        except OSError:
            return  # this user has no watch left: poll
        file.watch = watch
        self._growth = b""
        self._watches.setdefault(watch, []).append(followed)

    def _drop(self, followed: FollowedPath) -> None:
        """Close the first file of a path, if there is one."""
        if not followed.files:
            return
        file = followed.files.pop(0)
        self._growth = b""
        if file.watch is not None:
            watching = self._watches.get(file.watch, [])
            if followed in watching:
                watching.remove(followed)
            if not watching:
                self._watches.pop(file.watch, None)
                with contextlib.suppress(OSError):  # the kernel removed the watch with the file
                    self._inotify.rm_watch(file.watch)
        file_retry.close(file.handle)


def _said(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
