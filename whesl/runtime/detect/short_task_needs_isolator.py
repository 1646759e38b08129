"""Decides whether a short, successful task needs an isolator. Standard library only, on JSON.

The decision never differs from an isolator's: every uncertain case is left to the isolator.
"""

from __future__ import annotations

import os

from whesl.runtime.detect.shared_output import Foreign

TYPE_CHECKING = False  # the imports of typing and collections.abc take milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LONGEST = 1.5  # the longest run of a short task, seconds
_TIMERS = frozenset({"hang", "silence", "progress"})
# Detections that a short, successful task cannot trigger, or that messages of others trigger.
_QUIET = frozenset({"count", "external"})
_NODES = frozenset({"node", "predicted"})  # these cannot trigger in a job of one node
_MOST = 4 << 20  # the most bytes of output that are searched
_BOTH = ("stdout", "stderr")


class Rules:
    """The relevant content of a task's rules.

    ``texts``: by stream, texts of which a relevant line contains one; b"" for any line.
    ``readers``: exceptions that only read output, with the streams that each reads.
    """

    def __init__(self) -> None:
        self.texts: dict[str, set[bytes]] = {name: set() for name in _BOTH}
        self.readers: dict[str, set[str]] = {}


def rules(setup: Mapping[str, Any]) -> Rules | None:
    """Return the relevant content of a task's rules; None where the task needs an isolator from its start.

    Args:
        setup: the JSON of the task's ``Setup``.
    """
    found = Rules()
    if setup["spec"] is None:
        return found
    names = {setup["task"]["step"], setup["task"]["id"].partition("/")[2]}
    covering = []
    for exception in setup["spec"]["exceptions"]:
        jobs = set(exception["jobs"])
        if "*" in jobs or names & jobs:
            covering.append(exception)
        elif any(set("*?[") & set(job) for job in jobs):
            return None
    for exception in covering:
        streams: set[str] | None = set()
        for detection in exception["detections"]:
            read = _taken(detection, found, several=len(setup["nodes"]) > 1)
            if read is None:
                return None
            streams = streams | read if streams is not None and read else None
        if streams:
            found.readers[exception["name"]] = streams
    return found if covering else None


def _taken(detection: Mapping[str, Any], found: Rules, *, several: bool) -> set[str] | None:
    """Add a detection, and return the streams that it reads; None where the task needs an isolator."""
    kind = detection["type"]
    if kind in _TIMERS and detection["timeout"] + detection["warmup"] <= 2 * LONGEST:
        return None
    if several and kind in _NODES:
        return None
    if kind in _QUIET or kind in _NODES or kind == "silence":
        return set()
    if kind == "exit":
        return None if any(codes["first"] <= 0 for codes in detection["codes"]) else set()
    if kind not in ("log", "hang", "progress"):
        return None
    stream = detection["source"]["stream"]
    if stream not in (*_BOTH, "output"):
        return None
    if kind == "log":
        for pattern in detection["patterns"]:
            text = b"" if pattern["regex"] else pattern["text"].encode()
            for name in _BOTH if stream == "output" else (stream,):
                found.texts[name].add(text)
    return {stream}


class Output:
    """The output of a task's streams, searched as it grows.

    Args:
        rules: the relevant content of the rules.
        files: the file of each stream; both may be the same.
        begun: the sizes of the files before the task, in bytes.
    """

    def __init__(self, rules: Rules, files: Mapping[str, str], begun: Mapping[str, int]) -> None:
        self._rules = rules
        self._streams: dict[str, list[str]] = {}
        for name, file in files.items():
            self._streams.setdefault(file, []).append(name)
        self._begun = {file: begun.get(file, 0) for file in self._streams}
        self._read = dict(self._begun)

    def matters(self) -> bool:
        """Whether new output may need an isolator."""
        return any(self._look(file, streams) for file, streams in self._streams.items())

    def _look(self, file: str, streams: list[str]) -> bool:
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return self._read[file] > 0
        except OSError:
            return True
        try:
            status = os.fstat(descriptor)
            done = self._read[file]
            if status.st_size < done or status.st_size - self._begun[file] > _MOST:
                return True
            if status.st_size == done:
                return False
            texts = {text for name in streams for text in self._rules.texts[name]}
            begin = max(self._begun[file], done - max(map(len, texts), default=0))
            content = os.pread(descriptor, status.st_size - begin, begin)
            self._read[file] = begin + len(content)
            return any(text in content for text in texts) or Foreign(status).present()
        except OSError:
            return True
        finally:
            os.close(descriptor)

    def unseen(self) -> tuple[str, ...]:
        """Return the detections without any input of a successful task (as ``Watch.unseen``)."""
        seen = {
            name for file, of in self._streams.items() for name in of if self._read[file] > self._begun[file]
        }
        seen |= {"output"} if seen else set()
        told = []
        for name, streams in self._rules.readers.items():
            if not (streams & seen or streams <= {"stderr"}):
                where = " or ".join(sorted(streams))
                told.append(f"{name} saw no line: nothing was printed on {where}")
        return tuple(told)
