"""Checks the files that a task has promised, after its successful end, in bounded time.

A file that cannot be checked (in an unreadable directory, or on a file system that does not answer) is
neither missing nor wrong, but unknown. Links are followed, since the user made them.

A file system that caches names and attributes (NFS) may not show another node's recent writes yet. There a
broken promise is checked again until the time of caching is over.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from whesl.language.detections.base import Broken, Promise
from whesl.runtime.detect.filesystem_type import CACHED_BY_TIME, magic_of

if TYPE_CHECKING:
    from whesl.runtime.detect.matcher import Matcher

TIME = 60.0  # seconds for all promises of a task
LAG = 35.0  # seconds; NFS keeps a directory's attributes for 30 (acdirmin)
AGAIN = 0.5  # seconds between two checks
_END = 8 << 20  # bytes at a file's end that are searched first, since a program reports success at its end
_PIECE = 1 << 20
_GONE = (FileNotFoundError, NotADirectoryError)


class Look(NamedTuple):
    """The result of checking a promise.

    ``wrong``: the defect of ``file`` (or of the glob without a matching file), "" for none. ``unknown``: why
    the file could not be checked.
    """

    promise: Promise
    file: str = ""
    wrong: str = ""
    unknown: str = ""


class Looking:
    """Checks promises in a separate thread, since a dead file system does not answer.

    Args:
        promises: the promises.
        place: converts a path of the rules to the present path.
    """

    def __init__(self, promises: Sequence[Promise], place: Callable[[str], str]) -> None:
        self._began = time.monotonic()
        self._left = list(promises)
        self._looks: list[Look] = []
        self._place = place
        threading.Thread(target=self._run, name="promises", daemon=True).start()

    def _run(self) -> None:
        for promise in tuple(self._left):
            look = looked(promise, self._place, self._began + LAG, self._began + TIME)
            self._looks.append(look)
            self._left.remove(promise)

    def over(self) -> bool:
        """Whether all paths are checked, or the time for checks is over."""
        return not self._left or time.monotonic() >= self._began + TIME

    def looks(self) -> list[Look]:
        """Return the result for each path; unchecked paths count as unknown."""
        late = f"its file system did not answer within {TIME:g} s"
        return [*self._looks, *(Look(promise, unknown=late) for promise in tuple(self._left))]


def looked(promise: Promise, place: Callable[[str], str], lag: float, until: float) -> Look:
    """Check a promise.

    Args:
        promise: the file and its promised properties.
        place: converts a path of the rules to the present path.
        lag: the time on the monotonic clock until which another node's writes may not be visible.
        until: the deadline on the monotonic clock.
    """
    path, than = place(promise.path), None if promise.than is None else place(promise.than)
    try:
        while True:
            file, wrong = _wrong(promise, path, than, until)
            if not wrong or time.monotonic() >= min(lag, until) or not _lags(path):
                return Look(promise, file, wrong)
            time.sleep(AGAIN)
    except TimeoutError:
        return Look(promise, unknown=f"looking at it took more than {TIME:g} s")
    except OSError as error:
        return Look(promise, unknown=f"{error.filename or path}: {error.strerror}")


def _wrong(promise: Promise, path: str, than: str | None, until: float) -> tuple[str, str]:
    """Return a file and its defect; empty texts without a defect."""
    if promise.broken is Broken.MISSING or promise.needed:
        if next(found(path, until), None) is None:
            return path, f"{path} is missing: no file is called so"
        if promise.broken is Broken.MISSING:
            return "", ""
    files = sorted(found(path, until))
    if promise.broken is Broken.EMPTY:
        return _told(
            [file for file, is_ in files if stat.S_ISREG(is_.st_mode) and not is_.st_size], "is empty"
        )
    if promise.broken is Broken.OLDER:
        assert than is not None
        newest = max(((is_.st_mtime_ns, file) for file, is_ in found(than, until)), default=(0, ""))
        older = [file for file, is_ in files if is_.st_mtime_ns < newest[0]]
        return _told(older, f"is older than {newest[1]}")
    from whesl.runtime.detect.matcher import compile_patterns  # a slow import

    assert promise.pattern is not None
    matcher = compile_patterns((promise.pattern,))
    unmatched = [
        file for file, is_ in files if stat.S_ISREG(is_.st_mode) and not has_line(file, matcher, until)
    ]
    verb = "matches" if promise.pattern.regex else "contains"
    return _told(unmatched, f'has no line that {verb} "{promise.pattern.text}"')


def _told(files: list[str], wrong: str) -> tuple[str, str]:
    if not files:
        return "", ""
    more = f", and so {'is' if len(files) == 2 else 'are'} {len(files) - 1} more" if len(files) > 1 else ""
    return files[0], f"{files[0]} {wrong}{more}"


def found(pattern: str, until: float) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files and directories that match an absolute glob, each with its status.

    Args:
        pattern: the glob; an existing file of that name is the only match.
        until: the deadline on the monotonic clock.

    Raises OSError for an unreadable directory or file, TimeoutError at the deadline.
    """
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        if (status := _status(pattern)) is not None:
            yield pattern, status
        return
    yield from _below("/", [part for part in pattern.split("/") if part], until)


def _below(folder: str, parts: Sequence[str], until: float) -> Iterator[tuple[str, os.stat_result]]:
    first, rest = parts[0], parts[1:]
    for name in [first] if not glob.has_magic(first) else _names(folder, first, until):
        path = f"{folder.rstrip('/')}/{name}"
        if rest:
            yield from _below(path, rest, until)
        elif (status := _status(path)) is not None:
            yield path, status


def _names(folder: str, pattern: str, until: float) -> Iterator[str]:
    try:
        entries = os.scandir(folder)
    except _GONE:
        return
    with entries:
        for entry in entries:
            _in_time(until)
            hidden = entry.name.startswith(".") and not pattern.startswith(".")
            if not hidden and fnmatch.fnmatchcase(entry.name, pattern):
                yield entry.name


def _status(path: str) -> os.stat_result | None:
    """Return the status of a path, None where it leads nowhere. Raises OSError."""
    try:
        return os.stat(path)  # noqa: PTH116 - a text is wanted
    except _GONE:
        return None


def has_line(file: str, matcher: Matcher, until: float) -> bool:
    """Whether a file has a line with a pattern; its end is read first.

    Args:
        file: its path.
        matcher: the pattern.
        until: the deadline on the monotonic clock.

    Raises OSError, TimeoutError.
    """
    with _opened(file) as descriptor:
        size = os.fstat(descriptor).st_size
        begin = max(size - _END, 0)
        if begin:
            begin += os.pread(descriptor, _PIECE, begin).find(b"\n") + 1
        return _matches(descriptor, matcher, begin, size, until) or _matches(
            descriptor, matcher, 0, begin, until
        )


@contextmanager
def _opened(file: str) -> Iterator[int]:
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _matches(descriptor: int, matcher: Matcher, begin: int, end: int, until: float) -> bool:
    stream = matcher.open(begin)
    while begin < end:
        _in_time(until)
        data = os.pread(descriptor, min(_PIECE, end - begin), begin)
        if not data:
            break
        if stream.feed(data, begin):
            return True
        begin += len(data)
    return bool(stream.finish())


def _in_time(until: float) -> None:
    if time.monotonic() >= until:
        raise TimeoutError


def _lags(pattern: str) -> bool:
    """Whether the file system of a glob may show another node's writes with a delay."""
    folder = Path(pattern).parent
    while glob.has_magic(str(folder)) or not folder.exists():
        folder = folder.parent
    try:
        return magic_of(str(folder)) in CACHED_BY_TIME
    except OSError:
        return False
