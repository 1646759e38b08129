"""What a stand-in of a scheduler needs besides what its test plays."""

from __future__ import annotations

from whesl.rjms.port import JobRecord, JobRequest


class Unasked:
    """The calls of the port that a coordinator never makes; one that does is found out.

    A stand-in that inherits from it has all of the port's calls, so a port that changes is seen by mypy.
    """

    def submit(self, request: JobRequest) -> str:
        """See the port."""
        raise AssertionError(f"a coordinator submits no job: {request}")

    def find(self, token: str) -> JobRecord | None:
        """See the port."""
        raise AssertionError(f"a coordinator looks for no token: {token}")

    def annotate(self, job_id: str, comment: str) -> None:
        """See the port."""
        raise AssertionError(f"a coordinator writes on no job: {job_id}: {comment}")

    def unmark_node(self, node: str) -> bool:
        """See the port."""
        raise AssertionError(f"a coordinator returns no node to service: {node}")
