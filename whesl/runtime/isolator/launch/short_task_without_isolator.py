"""Short tasks, which end before their isolator has loaded and need no judgement.

Loading an isolator may take more processor time than the task itself. So the isolator waits while its keeper
looks whether the task ends within a second, with status 0, and without any output that the rules may match.
In that case, the keeper leaves the files that an isolator would leave; a test compares the two. Otherwise the
isolator loads and takes up the first attempt as usual. Standard library only.
"""

from __future__ import annotations

import json
import os
import select
import time

from whesl.files import file_retry
from whesl.runtime.detect import short_task_needs_isolator
from whesl.runtime.isolator.core import attempt_token_prefix, node_division
from whesl.runtime.journal import table

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_FIRST, _SELDOM = 0.02, 0.1  # seconds between two looks at the output: the first interval, and the longest


def gate(ends: tuple[int, int], job: Mapping[str, Any], *, started: bool) -> int:
    """Let an isolator load, or keep it waiting; return the pipe's end that lets it load, 0 where it loads.

    Args:
        ends: both ends of the pipe at which the isolator waits.
        job: the JSON of the task's ``Job``.
        started: whether the first attempt was started.
    """
    os.close(ends[0])
    if started and _possible(job):
        os.set_inheritable(ends[1], True)
        return ends[1]
    os.close(ends[1])
    return 0


def _possible(job: Mapping[str, Any]) -> bool:
    setup = job["setup"]
    plain = not (job["checkpoints"] or job["json_summary"] or setup["restarts"] or setup["earlier"])
    plain = plain and setup["task"]["id"].isprintable()  # only printable ids need no escapes in the summary
    # With a job that outlives a lost node, a launcher may end with 0 although it has lost ranks.
    sure = len(setup["nodes"]) == 1 or not (setup["kept"] or setup["components"])
    return plain and sure and short_task_needs_isolator.rules(setup) is not None


class Short:
    """A first attempt that may turn out to be a short task.

    Args:
        directory: the task's directory.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._job = json.loads(file_retry.content(f"{directory}/job.json") or b"")
        rules = short_task_needs_isolator.rules(self._job["setup"])
        assert rules is not None  # checked by ``_possible``
        own = {
            name: self._job[name]["path"] or f"{directory}/attempt-1/{name}" for name in ("stdout", "stderr")
        }
        if self._job["joined"]:
            own["stderr"] = own["stdout"]
        self._output = short_task_needs_isolator.Output(rules, own, self._job["first"]["sizes"])

    def wait(self, runner: int | None, others: Sequence[int | None]) -> bool:
        """Wait while the task may be a short one; return whether it has ended without any other news.

        Args:
            runner: a descriptor that becomes readable when the attempt ends; None when it has ended.
            others: descriptors that become readable when an isolator is needed.
        """
        poller = select.poll()
        for descriptor in (runner, *others):
            if descriptor is not None:
                poller.register(descriptor, select.POLLIN)
        deadline, pause = time.monotonic() + short_task_needs_isolator.LONGEST, _FIRST
        while not (ready := poller.poll(pause * 1000 if runner is not None else 0)) and runner is not None:
            if self._output.matters() or time.monotonic() > deadline:
                return False
            pause = min(pause * 2, _SELDOM)
        return [descriptor for descriptor, _ in ready] == ([] if runner is None else [runner])

    def end(self) -> dict[str, Any] | None:
        """Write the task's files, and return its ``Result``; None when an isolator has to judge the end.

        Raises OSError, sqlite3.Error.
        """
        status = (file_retry.content(f"{self._directory}/attempt-1/status") or b"").strip()
        asked = file_retry.exists(f"{self._directory}/raised")
        if status != b"0" or asked or self._output.matters():
            return None
        now, setup, began = time.time(), self._job["setup"], self._job["first"]["began"]
        task, claim = setup["task"]["id"], setup["claim"]
        active, spares = node_division.of_first_attempt(setup)
        about = {name: setup[name] for name in ("claim", "rjms", "job_id", "observe")}
        token = f"{attempt_token_prefix.token_prefix(setup['salt'], task)}1"
        used = {"active": active, "spares": spares, "lost": [], "swapped": {}}
        used["components"] = setup["components"]
        attempt = {"attempt": 1, "token": token, "nodes": active, "configuration_version": 0}
        unseen = self._output.unseen()
        exited = {"attempt": 1, "code": 0, "signal": 0} | ({"unseen": unseen} if unseen else {})
        ended = {"code": 0, "state": "completed"}
        records = [
            {"kind": "begun", **about},
            {"kind": "nodes", "nodes": used},
            {"kind": "attempt", **attempt},
            {"kind": "launched", "attempt": 1, "pid": 0, "started": 0, "began": began},
            {"kind": "exited", **exited},
            {"kind": "finished", **ended},
        ]
        table.write(f"{self._directory}/journal.db", records, now)
        said = f"whesl: {task} completed, exit status 0, 1 attempt, {max(now - began, 0.0):.1f} s"
        lines = [said, *(f"  {line}" for line in unseen)]
        text = "".join(f"{line}\n" for line in lines)
        file_retry.replace(f"{self._directory}/summary", text.encode())
        result = {**ended, "reason": "", "claim": claim, "notice": ""}
        file_retry.replace(f"{self._directory}/result.json", json.dumps(result).encode())
        return result
