"""Destinations of a step's output: srun's stdout and stderr, one file, or a file per task or node."""

from __future__ import annotations

import os

from whesl.managers.resource.embedded.environment import file_name
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Step
from whesl.model.errors import RefusedError


class Sinks:
    """Writes each task's stdout and stderr to their destinations.

    Args:
        output: pattern of ``--output``; empty for srun's own stdout, ``none`` to discard.
        error: pattern of ``--error``; empty takes that of ``output``.
        append: add to files instead of emptying them first.
        label: put the task's number before each line.
        takes_input: whether srun's standard input is passed on.
    """

    def __init__(self, output: str, error: str, *, append: bool, label: bool, takes_input: bool) -> None:
        self._patterns = {1: output, 2: error or output}
        self._append, self._label, self.takes_input = append, label, takes_input
        self._targets: dict[tuple[int, int], int] = {}
        self._opened: dict[str, int] = {}
        self._width = 1
        self._middle: set[tuple[int, int]] = set()

    def open(self, job: Job, step: Step) -> None:
        """Open the files of a step's tasks. Raises RefusedError.

        Args:
            job: the step's job.
            step: the step with its tasks.
        """
        last = max(task for share in step.shares for task in share.tasks)
        self._width = len(str(last))
        for index, share in enumerate(step.shares):
            for task in share.tasks:
                for stream, pattern in self._patterns.items():
                    own = pattern in ("", "all")
                    self._targets[task, stream] = (
                        stream
                        if own
                        else self._file(pattern, job, step, node=share.node, index=index, task=task)
                    )

    def _file(self, pattern: str, job: Job, step: Step, *, node: str, index: int, task: int) -> int:
        if pattern == "none":
            return -1
        name = file_name(pattern, job, node=node, node_index=index, step=step.id, task=task)
        # A relative name is below srun's working directory, not the job's.
        if not pattern.startswith("/"):
            name = os.path.join(os.getcwd(), os.path.relpath(name, job.spec.workdir))  # noqa: PTH109, PTH118
        if name not in self._opened:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            try:
                self._opened[name] = os.open(name, flags | (0 if self._append else os.O_TRUNC), 0o666)
            except OSError as error:
                raise RefusedError(f"Could not open stdout file {name}: {error.strerror}") from None
        return self._opened[name]

    def write(self, task: int, stream: int, data: bytes) -> None:
        """Write output of a task to its destination.

        Args:
            task: the task's number; -1 for a message of the node.
            stream: 1 (stdout) or 2 (stderr).
            data: the output.
        """
        target = self._targets.get(
            (max(task, 0), stream), self._targets.get((min(self._targets)[0], stream), stream)
        )
        if target < 0:
            return
        if self._label and task >= 0:
            data = self._labelled(task, stream, data)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(target, view) :]
        except OSError:
            # As in Slurm, output is dropped when its reader has ended or the disk is full; the tasks go on.
            self._targets[max(task, 0), stream] = -1

    def _labelled(self, task: int, stream: int, data: bytes) -> bytes:
        prefix = f"{task:{self._width}d}: ".encode()
        lines = data.splitlines(keepends=True)
        started = (task, stream) in self._middle
        if data.endswith(b"\n"):
            self._middle.discard((task, stream))
        else:
            self._middle.add((task, stream))
        return b"".join(line if started and not i else prefix + line for i, line in enumerate(lines))

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._opened.values():
            os.close(descriptor)
