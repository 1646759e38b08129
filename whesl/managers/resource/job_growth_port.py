"""The port to a job that gets further nodes while it runs."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes that a job has got: ``nodes`` are all of the job, with the lost ones; ``added`` the new ones.

    ``variables``: the job's variables that have changed. ``note``: where the nodes come from, for people.
    """

    nodes: tuple[str, ...]
    added: tuple[str, ...]
    variables: dict[str, str]
    note: str


@runtime_checkable
class Grows(Protocol):
    """Optional, on an allocation whose job can get further nodes."""

    def grow(self, count: int, name: str, wait: float) -> Growth:
        """Ask for further nodes once, wait for them, and make them nodes of this job.

        A repeated call with the same name takes up the nodes of an interrupted one. Nothing is left waiting
        in the queue, also when this process is killed.

        Args:
            count: how many nodes.
            name: identifies this request.
            wait: seconds to wait at most.

        Raises RefusedError with the reason where the job cannot grow, or did not within the time; the port's
        other errors.
        """
