"""The destination of an attempt's output, and its replacement when the destination is full.

A task's log is often on the same file system that runs full. Then the line that reports the full disk is
lost, and no pattern can match it. So when a failed task's log cannot be written, the system's error text
counts as the log's next line, and the next attempt's output follows the path map.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.files.untrusted_path import make_directories, planted
from whesl.language.pattern_and_stream_records import Source, Stream
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Detected, Evidence, LastLines
from whesl.model.pathmap import PathMap
from whesl.model.printable import visible
from whesl.runtime.detect import named_files, old_files
from whesl.runtime.isolator.task.taskdir import First, Job, TaskDir

# Bytes that a file system with room takes: more than WHESL's own reserves (1 MiB for Maestro,
# ``runtime/isolator/task/disk_reserve.py`` for each task), which may have been freed since lines were lost.
ROOM = 4 << 20
# Bytes of ``ROOM`` that are really written, since quotas of network file systems refuse only writes.
_WRITTEN = 64 * 1024
_LAST_LINES = 5
_LAST_BYTES = 2048
_TAIL_BYTES = 64 * 1024
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


class Outputs(msgspec.Struct, frozen=True, kw_only=True):
    """The files of an attempt's two streams; both may be the same."""

    stdout: str
    stderr: str


def present(directory: TaskDir, job: Job, number: int) -> Outputs:
    """Return the files of an attempt's output, as chosen when the attempt was started.

    Args:
        directory: the task's directory.
        job: the task.
        number: the attempt's number.
    """
    chosen = decode_errors.load(_file(directory, number), Outputs)
    return chosen if chosen is not None else _own(directory, job, number)


def choose(directory: TaskDir, job: Job, number: int, paths: PathMap) -> Outputs:
    """Choose the files of a new attempt's output: the caller's own files, unless their file system is full.

    Args:
        directory, job, number: as ``present``.
        paths: the path map from full roots to new ones.
    """
    own = _own(directory, job, number)
    chosen = Outputs(stdout=_place(own.stdout, paths), stderr=_place(own.stderr, paths))
    if chosen != own:
        file_retry.replace(_file(directory, number), msgspec.json.encode(chosen))
    return chosen


def sources(directory: TaskDir, job: Job, number: int, configuration: Configuration) -> dict[Source, str]:
    """Return the files in which an attempt's output is searched.

    Args:
        directory, job, number: as ``present``.
        configuration: the attempt's configuration.
    """
    outputs = present(directory, job, number)
    found = {Source(stream=Stream.STDOUT): outputs.stdout, Source(stream=Stream.STDERR): outputs.stderr}
    for source in _files(job):
        found[source] = named(job, configuration, source.path or "")
    return found


def beginning(directory: TaskDir, job: Job, number: int, configuration: Configuration) -> First:
    """Return the state of an attempt's files just before its start, and the time.

    Args:
        directory, job, number: as ``present``.
        configuration: the attempt's configuration.
    """
    found = sources(directory, job, number, configuration)
    sizes = named_files.sizes(found.values())
    streams = {path for source, path in found.items() if source.stream is not Stream.FILE}
    before = old_files.positions(path for path in sizes if path not in streams)
    return First(sizes=sizes, before=tuple(before), began=time.time())


def named(job: Job, configuration: Configuration, path: str) -> str:
    """Return the path of a file that the rules name; a relative path is in the attempt's working directory.

    Args:
        job: the task.
        configuration: the attempt's configuration.
        path: the path in the rules.
    """
    paths = configuration.path_map
    return paths.path(str(Path(paths.path(configuration.workdir or job.workdir)) / path))


def _files(job: Job) -> set[Source]:
    return {
        reads.source
        for exception in job.setup.exceptions()
        for detection in exception.detections
        if (reads := detection.reads()) is not None and reads.source.stream is Stream.FILE
    }


def _own(directory: TaskDir, job: Job, number: int) -> Outputs:
    out = str(directory.output(number, job.stdout, "stdout"))
    err = out if job.joined else str(directory.output(number, job.stderr, "stderr"))
    return Outputs(stdout=out, stderr=err)


def _file(directory: TaskDir, number: int) -> Path:
    return directory.attempt(number) / "outputs.json"


def _place(path: str, paths: PathMap) -> str:
    moved = paths.path(path)
    if moved == path or not full(path):
        return path
    try:
        make_directories(Path(moved).parent)
        # The file is made at once: in a directory open to all, another user could make it a moment later.
        os.close(os.open(moved, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666))
    except OSError as error:
        if error.errno != errno.ELOOP:  # a link of the task leads to the file
            return path
    return path if planted(moved, os.geteuid(), os.lstat, os.readlink) else moved


def full(path: str) -> str:
    """Return the system's error text when a file's file system refuses ``ROOM`` bytes, "" when it has room.

    The bytes are written to a nameless file in the file's directory, of which nothing is left.
    """
    from whesl.runtime.operations.relocation.syscalls import reserve  # imported here, as in ``_matches``

    try:
        descriptor = _nameless(Path(path).parent)
        try:
            left = _WRITTEN
            while left:
                left -= os.write(descriptor, b"\0" * left)
            os.fsync(descriptor)
            reserve(descriptor, ROOM)
        finally:
            os.close(descriptor)
    except OSError as error:
        return os.strerror(error.errno or 0) if error.errno in _FULL else ""
    return ""


def _nameless(directory: Path) -> int:
    with contextlib.suppress(OSError):  # network file systems offer no O_TMPFILE
        return os.open(directory, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    import tempfile  # a slow import, and rarely needed

    descriptor, name = tempfile.mkstemp(prefix=".whesl-", dir=directory)
    os.unlink(name)  # noqa: PTH108  # mkstemp gives a text
    return descriptor


def last_lines(outputs: Outputs, begun: Mapping[str, int], own: str) -> LastLines:
    """Return the last lines of an attempt's output, at most five and 2 KiB of each stream.

    Args:
        outputs: the attempt's files.
        begun: the files' sizes when the attempt was started; content before that is not the attempt's.
        own: the task's directory, whose files are the attempt's alone.
    """
    found = []
    for lines in _ends(outputs, begun, own, _LAST_BYTES):
        # Only the last state of an overwritten line (a progress bar) counts.
        shown = (visible(line.rstrip("\r").rpartition("\r")[2].rstrip()) for line in lines)
        found.append(tuple(line for line in shown if line)[-_LAST_LINES:])
    return LastLines(stdout=found[0], stderr=found[1] if len(found) > 1 else ())


def tail(outputs: Outputs, begun: Mapping[str, int], own: str) -> list[str]:
    """Return the lines in the last 64 KiB of an attempt's streams, standard output last.

    Args:
        outputs, begun, own: as ``last_lines``.
    """
    return [line for lines in reversed(_ends(outputs, begun, own, _TAIL_BYTES)) for line in lines]


def begins(outputs: Outputs, begun: Mapping[str, int], own: str) -> dict[str, int]:
    """Return for each file of an attempt's output the byte at which the output begins, where that is known.

    Args:
        outputs, begun, own: as ``last_lines``.
    """
    both = dict.fromkeys((outputs.stdout, outputs.stderr))
    found = {path: begun.get(path, 0 if path.startswith(f"{own}/") else None) for path in both}
    return {path: begin for path, begin in found.items() if begin is not None}


def _ends(outputs: Outputs, begun: Mapping[str, int], own: str, size: int) -> list[list[str]]:
    """Return the lines in the last ``size`` bytes of each of an attempt's files."""
    known = begins(outputs, begun, own)
    both = dict.fromkeys((outputs.stdout, outputs.stderr))
    return [_end(path, known[path], size) if path in known else [] for path in both]


def _end(path: str, begin: int, size: int) -> list[str]:
    from whesl.runtime.detect.followed_file import UnfitError, open_file  # imported here, as in ``_matches``

    try:
        file = open_file(path)
    except (OSError, UnfitError):
        return []
    try:
        length = file.size()
        begin = file.own(begin)
        begin = begin if begin <= length else 0  # the file was emptied meanwhile
        place = max(begin, length - size)
        file.begin(place)
        content = file.read(size)
    except OSError:
        return []
    finally:
        file_retry.close(file.handle)
    lines = content.decode("utf-8", "replace").split("\n")
    if place > begin and len(lines) > 1:
        del lines[0]  # the first line lacks its beginning
    return lines


def lost_lines(job: Job, outputs: Outputs, now: float, since: float) -> list[Detected]:
    """Return the rules' detections in the error text for a failed task's log that cannot be written.

    Args:
        job: the task.
        outputs: the failed attempt's files.
        now: seconds since the epoch.
        since: time when the attempt was last seen running, seconds since the epoch.
    """
    if job.setup.spec is None:
        return []
    said = {path: reason for path in {outputs.stdout, outputs.stderr} if (reason := full(path))}
    streams = {Stream.STDOUT: outputs.stdout, Stream.STDERR: outputs.stderr}
    found = []
    for stream, path in streams.items():
        if path in said:
            line = f"{path}: {said[path]}"
            seen = Evidence(kind="log", time=now, node=job.setup.own_node, line=line, file=path, since=since)
            found += _matches(job, stream, seen)
    return list({item.exception: item for item in found}.values())


def _matches(job: Job, stream: Stream, seen: Evidence) -> list[Detected]:
    # Imported here since the start of a first attempt must load little.
    from whesl.runtime.detect.matcher import compile_patterns

    line = seen.line.encode(errors="replace") + b"\n"
    found = []
    for exception in job.setup.exceptions():
        for detection in exception.detections:
            reads = detection.one_line()
            if reads is None or reads.source.stream not in (stream, Stream.OUTPUT):
                continue
            matches = compile_patterns(reads.patterns).open(0).feed(line, 0)
            if matches:
                evidence = msgspec.structs.replace(
                    seen,
                    pattern=reads.patterns[matches[0].pattern].text,
                    captures=matches[0].captures,
                    detail="the log itself could not be written: this is the system's word instead",
                )
                found.append(Detected(exception=exception.name, evidence=(evidence,)))
    return found
