"""Whether an isolator is needed to judge a task that ends soon and well. Standard library only, on JSON.

Nothing is decided here that an isolator would decide otherwise: whatever is not certain is left to it.
"""

from __future__ import annotations

import os

from whesl.runtime.detect.shared_output import Foreign

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LONGEST = 1.5  # seconds that a short task takes
_TIMERS = frozenset({"hang", "silence", "progress"})
# What a short task that ends well cannot have raised, or what others raise by a message.
_QUIET = frozenset({"node", "count", "external", "predicted"})
_MOST = 4 << 20  # bytes of output that are looked through
_BOTH = ("stdout", "stderr")


class Rules:
    """What the rules look for in a task.

    ``texts``: what a line of a stream has to contain to matter, by stream; b"" for any line.
    ``readers``: exceptions that only read, and the streams that each reads.
    """

    def __init__(self) -> None:
        self.texts: dict[str, set[bytes]] = {name: set() for name in _BOTH}
        self.readers: dict[str, set[str]] = {}


def rules(setup: Mapping[str, Any]) -> Rules | None:
    """Return what the rules look for; None where an isolator has to look from the beginning.

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
            read = _taken(detection, found)
            if read is None:
                return None
            streams = streams | read if streams is not None and read else None
        if streams:
            found.readers[exception["name"]] = streams
    return found if covering else None


def _taken(detection: Mapping[str, Any], found: Rules) -> set[str] | None:
    """Take a detection in, and return the streams that it reads; None where an isolator has to look."""
    kind = detection["type"]
    if kind in _TIMERS and detection["timeout"] + detection["warmup"] <= 2 * LONGEST:
        return None
    if kind in _QUIET or kind == "silence":
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
    """What a task's streams hold, looked through as they grow.

    Args:
        rules: what is looked for.
        files: the file of each stream; both may be the same.
        begun: how long the files were before.
    """

    def __init__(self, rules: Rules, files: Mapping[str, str], begun: Mapping[str, int]) -> None:
        self._rules = rules
        self._streams: dict[str, list[str]] = {}
        for name, file in files.items():
            self._streams.setdefault(file, []).append(name)
        self._begun = {file: begun.get(file, 0) for file in self._streams}
        self._read = dict(self._begun)

    def matters(self) -> bool:
        """Whether anything that is new may be for an isolator."""
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
        """Return what of the rules saw nothing, of a task that ended well (``Watch.unseen``)."""
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
