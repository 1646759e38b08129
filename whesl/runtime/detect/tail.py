"""Follows growing files by path and hands their bytes out, each once, in bounded pieces.

inotify wakes the reader where the kernel knows of every write; on network file systems (``filesystem_type``),
when the kernel has no watch to give, or with ``WHESL_TAIL=poll``, files are polled: every 5 ms while they
grow, seldomer and seldomer up to 250 ms while they do not. A poll opens the file anew, because that is when
NFS asks the server for the true size. Even with inotify each path is looked at once a second.

Rotation (another file under the path, also by a changed link): the new file is held open at once, so that
it may be renamed in its turn; the old one is read to its end, and left only once the new one has bytes, since
a writer that has begun the new one is done with the old. A new file that begins with all that was read of the
old one, or with the end of that, goes on behind it. A truncated or overwritten one is read from 0, unless it
is empty at first and begins so, too. Not seen: a file that was truncated and grew past the old offset between
two looks, with the same first KiB as before, and a file that came and went between two looks.

Nothing here blocks or touches what is not a regular file: a path is opened with O_PATH, judged, and only
then opened for reading. A file that cannot be opened is kept and tried again; ``problems`` says why.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import inotify_simple

from whesl.files import file_retry
from whesl.runtime.detect.filesystem_type import REMOTE, magic_of
from whesl.runtime.detect.followed_file import FollowedFile, Known, UnfitError, open_file

FASTEST, SLOWEST = 0.005, 0.25  # seconds between two polls
SAFETY = 1.0  # seconds between two looks at a path that inotify watches
READ_SIZE = 1 << 20  # bytes
SEARCH_LIMIT = 10_000  # names of a directory that are searched for a rotated file
QUEUE_LIMIT = 16  # files held for one path

# inotify(7), struct inotify_event: watch, mask, cookie, length of the name that follows. Taken apart here,
# since a program that prints much is heard of hundreds of times a second.
_EVENT = struct.Struct("iIII")
_EVENTS_SIZE = 1 << 14  # bytes of events that are read at once; unread events keep the descriptor readable
_OVERFLOW = int(inotify_simple.flags.Q_OVERFLOW)
_MODIFIED = int(inotify_simple.flags.MODIFY)
_MASK = (
    inotify_simple.flags.MODIFY
    | inotify_simple.flags.ATTRIB  # reported when an open file loses its name as well
    | inotify_simple.flags.MOVE_SELF
    | inotify_simple.flags.DELETE_SELF
)


@dataclass(frozen=True)
class Chunk:
    """Bytes of a file from ``offset``. ``rotated``: they begin another file, or the file begins anew."""

    path: str
    offset: int
    data: bytes
    rotated: bool = False


@dataclass(eq=False)
class _Followed:
    """A path, its files (the one that is read, then those that have taken its place), and when to look."""

    path: str
    files: list[FollowedFile] = field(default_factory=list)
    fresh: bool = False  # the next chunk begins a file that is not the one before
    suspect: bool = True  # the path may lead to another file now
    more: bool = False  # the last read was full
    interval: float = FASTEST
    due: float = 0.0
    problem: str = ""  # why it cannot be read now
    missed: str = ""  # a sentence on bytes that could not be read
    known: Known | None = None  # marks of the file before, which had gone when this one was found

    @property
    def file(self) -> FollowedFile | None:
        return self.files[0] if self.files else None

    @property
    def polled(self) -> bool:
        return any(file.watch is None for file in self.files) or not self.files


class Tailer:
    """Follows several files. Not for use by several threads. Close it, or use it as a context manager."""

    def __init__(self, mode: str | None = None) -> None:
        """Start with no file. ``mode``: ``auto`` or ``poll``; by default what WHESL_TAIL says."""
        self._followed: dict[str, _Followed] = {}
        self._watches: dict[int, list[_Followed]] = {}
        # What the kernel told the last time that it told of growth alone: mostly it is the same again.
        self._growth = b""
        self._grown: tuple[_Followed, ...] = ()
        self._inotify: Any = None
        if (mode or os.environ.get("WHESL_TAIL", "auto")) != "poll":
            try:
                self._inotify = inotify_simple.INotify(nonblocking=True)
            except OSError:
                self._inotify = None  # no instance left for this user: poll

    def __enter__(self) -> Tailer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let all files go."""
        for path in tuple(self._followed):
            self.unfollow(path)
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def fileno(self) -> int | None:
        """Return a descriptor that becomes readable when something happened; None when all is polled."""
        return None if self._inotify is None else int(self._inotify.fileno())

    def follow(
        self,
        path: str,
        offset: int | None = 0,
        *,
        own: bool = False,
        position: Mapping[str, Any] | None = None,
    ) -> int:
        """Follow a path from ``offset`` bytes on (None: from its present end) and return where that is.

        It is 0 for a file that is not there yet, or is shorter than ``offset``. ``own``: as everywhere else
        here, the offset counts the task's own bytes alone, of a file that other tasks append to as well.
        ``position``: what the file was at that offset (``old_files``); it may have been replaced since.
        """
        before = self._followed.get(path)
        last = before.files[-1] if before is not None and before.files else None
        known = before.known if before is not None else None
        if last is not None:
            known = last.known(last.size())
        self.unfollow(path)
        followed = self._followed[path] = _Followed(path)
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

    def unfollow(self, path: str) -> None:
        """Let a path go; one that is not followed is no error."""
        followed = self._followed.pop(path, None)
        while followed is not None and followed.files:
            self._drop(followed)

    def paths(self) -> tuple[str, ...]:
        """Return the followed paths."""
        return tuple(self._followed)

    def problems(self) -> dict[str, str]:
        """Return why paths cannot be read at present, or what may have been missed."""
        return {f.path: f.problem or f.missed for f in self._followed.values() if f.problem or f.missed}

    @property
    def pending(self) -> bool:
        """Whether the last read left bytes behind."""
        return any(followed.more for followed in self._followed.values())

    def next_poll(self, now: float) -> float | None:
        """Return when to call ``read`` next at the latest; None when nothing is followed."""
        if self.pending:
            return now
        return min((followed.due for followed in self._followed.values()), default=None)

    def read(self, now: float, max_bytes: int = READ_SIZE, *, force: bool = False) -> list[Chunk]:
        """Return what is new, at most ``max_bytes`` of each file (twice that when a file was rotated).

        Args:
            now: any clock in seconds, always the same.
            max_bytes: per file.
            force: look at polled files too that are not due.
        """
        self._take_events()
        chunks: list[Chunk] = []
        for followed in self._followed.values():
            # A time far ahead means that the clock was set back.
            due = now >= followed.due or followed.due > now + 2 * SAFETY
            if force or followed.more or not followed.polled or due:
                read = self._read(followed, now, max_bytes, force)
                chunks += read
                self._schedule(followed, now, bool(read))
        return chunks

    def grown(self) -> list[str] | None:
        """Return the paths whose files have grown; None when ``read`` has to look, for whatever else it is.

        What is new in them is for ``peek`` and ``skip``, or for ``read``; it is told of only once. ``read``
        has to be called all the same when ``next_poll`` says so: of polled files nothing is known here.
        """
        grown = self._take_events()
        if grown is None:
            return None
        for followed in grown:
            if followed.suspect or followed.fresh or followed.more or len(followed.files) != 1:
                return None
        return [followed.path for followed in grown]

    def peek(self, path: str, room: memoryview) -> int:
        """Read what is next and return how many bytes it is; nothing is taken by that.

        Returns -1 when the file cannot be read, or is not as it was read.
        """
        return self._followed[path].files[0].peek(room)

    def skip(self, path: str, count: int, last: bytes) -> None:
        """Take ``count`` bytes of what ``peek`` has seen; ``last`` are the last of them, 64 at most."""
        self._followed[path].files[0].skip(count, last)

    def give_back(self, path: str, count: int) -> None:
        """Take back the last ``count`` bytes of the chunk that ``read`` gave of a path: they come again."""
        followed = self._followed[path]
        file = followed.files[0]
        file.begin(file.offset - count)
        followed.more = True

    def unread(self) -> int:
        """Return how many bytes wait at this moment, over all files and what has replaced them."""
        total = 0
        for followed in self._followed.values():
            with contextlib.suppress(OSError):  # not there, or not to be seen: nothing to read
                total += sum(max(0, file.size() - file.offset) for file in followed.files)
                there = Path(followed.path).stat()
                if (there.st_dev, there.st_ino) not in {file.identity for file in followed.files}:
                    total += there.st_size
        return total

    def state(self, restart: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
        """Return JSON-ready positions. ``restart`` gives smaller offsets for paths to be read again from."""
        states = []
        for followed in self._followed.values():
            file = followed.file if followed.known is None else None
            known = followed.known or Known()
            if file is not None:
                known = file.as_read(min(file.offset, (restart or {}).get(followed.path, file.offset)))
            device, inode = file.identity if file is not None else (0, 0)
            states.append(
                {
                    "path": followed.path,
                    "device": device,
                    "inode": inode,
                    "offset": known.offset,
                    "head": known.head.hex(),
                    "mark": known.mark.hex(),
                    "fresh": followed.fresh,
                }
            )
        return states

    def restore(self, states: Iterable[Mapping[str, Any]]) -> None:
        """Follow the paths of a saved state from where they were.

        A file that was renamed meanwhile is found by its inode in the same directory, read to its end, and
        then followed by the new one. What was rotated away for good is named in ``problems``.
        """
        for state in states:
            path, identity = str(state["path"]), (int(state["device"]), int(state["inode"]))
            head, mark = (bytes.fromhex(state[name]) for name in ("head", "mark"))
            known = Known(int(state["offset"]), head, mark)
            self.unfollow(path)
            followed = self._followed[path] = _Followed(path, fresh=bool(state["fresh"]))
            self._open_first(followed)
            file = followed.file
            if identity == (0, 0):
                followed.known = known if known.offset else None
            elif file is None or file.identity != identity:
                self._find_renamed(followed, identity, known)
            elif file.holds(known):
                file.begin(known.offset)
            else:
                followed.fresh = True

    def _find_renamed(self, followed: _Followed, identity: tuple[int, int], known: Known) -> None:
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
        if old is not None and old.identity == identity and old.size() >= known.offset:
            old.begin(known.offset)
            self._take(followed, old, first=True)
            return
        if old is not None:
            file_retry.close(old.handle)
        followed.known = known
        followed.missed = f"rotated away unseen after byte {known.offset}: lines may have been missed"

    def _take_events(self) -> Sequence[_Followed] | None:
        """Take in what the kernel told, and return what has grown; None when it told of anything else."""
        if self._inotify is None:
            return ()
        try:
            content = os.read(self._inotify.fileno(), _EVENTS_SIZE)
        except BlockingIOError:
            return ()
        if content == self._growth:
            return self._grown
        growth = True
        grown: dict[_Followed, None] = {}
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

    def _schedule(self, followed: _Followed, now: float, active: bool) -> None:
        unsettled = followed.polled or followed.suspect
        if active:
            followed.interval = FASTEST
        elif unsettled:
            followed.interval = min(followed.interval * 2, SLOWEST)
        followed.due = now + (followed.interval if unsettled else SAFETY)

    def _read(self, followed: _Followed, now: float, size: int, force: bool) -> list[Chunk]:
        followed.more = False
        try:
            if force or followed.polled or followed.suspect or now >= followed.due:
                self._look(followed)
            known = followed.known
            if known is not None and followed.file is not None and followed.file.size():
                kept = followed.file.kept(known.mark, whole=len(known.mark) == known.offset)
                if self._succeed(followed, known, kept):
                    followed.missed = ""
            chunks = self._read_on(followed, size)
            while any(file.size() for file in followed.files[1:]):
                # Once more, for what came before the new file had bytes.
                chunks = chunks or self._read_on(followed, size)
                if chunks:
                    followed.more = True  # the event of this change may have been handled already
                    break
                old = followed.files[0]
                known = followed.known or old.as_read(old.offset)
                kept = old.kept_in(followed.files[1])
                self._drop(followed)
                self._succeed(followed, known, kept)
                chunks = self._read_on(followed, size)
        except OSError as error:
            followed.problem = _said(error)
            followed.more = isinstance(error, BlockingIOError)  # its table is written: at once again
            if error.errno == errno.ESTALE:
                # The server has removed the file behind our back: whatever is at the path comes next.
                self._drop(followed)
                followed.fresh = followed.suspect = True
            return []
        return chunks

    def _read_on(self, followed: _Followed, size: int) -> list[Chunk]:
        file = followed.file
        if file is None:
            return []
        if file.written_anew():
            known = file.as_read(file.offset)
            file.begin(0)
            if not file.size():  # old lines may be written into the emptied file again
                followed.known = known
                return []
            followed.fresh = True
        offset, rotated = file.offset, followed.fresh
        data = file.read(size)
        if not data and not rotated:
            return []
        followed.fresh = False
        followed.more = len(data) == size
        return [Chunk(followed.path, offset, data, rotated)]

    @staticmethod
    def _succeed(followed: _Followed, known: Known, kept: int) -> bool:
        """Begin with a path's first file, which takes the place of one of which so much was read.

        ``kept``: how many of its first bytes are the end of that. Returns whether it begins with any of that.
        """
        file = followed.files[0]
        followed.known = None
        if file.holds(known):
            file.begin(known.offset)
            return True
        file.begin(kept)
        followed.fresh = True
        return bool(kept)

    def _look(self, followed: _Followed) -> None:
        """Take in the file that the path leads to, if it is another one than before."""
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
            self._take(followed, found)

    def _open_first(self, followed: _Followed) -> None:
        try:
            self._take(followed, open_file(followed.path))
        except FileNotFoundError:
            pass  # not there yet
        except (OSError, UnfitError) as error:
            followed.problem = _said(error)

    def _take(self, followed: _Followed, file: FollowedFile, *, first: bool = False) -> None:
        followed.files.insert(0 if first else len(followed.files), file)
        followed.suspect = True  # the file may have been renamed before it was watched
        if self._inotify is None or magic_of(file.handle) in REMOTE:
            return
        try:
            # By descriptor, so that it is this very file that is watched.
            watch = int(self._inotify.add_watch(f"/proc/self/fd/{file.handle}", _MASK))
        except OSError:
            return  # no watch left for this user: poll
        file.watch = watch
        self._growth = b""
        self._watches.setdefault(watch, []).append(followed)

    def _drop(self, followed: _Followed) -> None:
        """Let the first file of a path go, if there is one."""
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
                with contextlib.suppress(OSError):  # the kernel removed it together with the file
                    self._inotify.rm_watch(file.watch)
        file_retry.close(file.handle)


def _said(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
