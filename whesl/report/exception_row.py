"""One exception of a report: its evidence, its plan and its outcome, as records and in words."""

from __future__ import annotations

import msgspec

from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Evidence, LastLines, explain
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.suspect_node import find_suspect

# Outcomes of exceptions whose recovery has not ended.
UNDECIDED = frozenset({"open", "paused", "escalated"})
_OTHERS = 8


class ExceptionRow(msgspec.Struct, kw_only=True):
    """One exception. Times are seconds; ``time`` is since the epoch; None: did not happen or not known.

    ``node``: the node that the evidence blames, or the only node of the attempt; '' where it is not known.
    ``stacks``: the file with the stacks of the hung processes. ``others``: further evidence, in words.
    ``job``: the scheduler's job in which it was raised. ``last``: the failed attempt's last lines of output.
    ``because``: the sign that the restarted attempt got past the failure. ``ended``: when the task's job
    began again, which ended an undecided recovery.
    """

    task: str
    exception: str
    ordinal: int
    attempt: int
    time: float
    job: str = ""
    kind: str = ""
    pattern: str = ""
    line: str = ""
    file: str = ""
    offset: int = -1
    node: str = ""
    detail: str = ""
    last: LastLines = LastLines()
    stacks: str = ""
    others: list[str] = []
    transformed_from: tuple[str, ...] = ()
    action: str = ""
    reason: str = ""
    steps: list[str] = []
    outcome: str = "open"
    because: str = ""
    ended: float | None = None
    seconds: float | None = None
    lost_work: float | None = None
    resubmission: float | None = None
    saved: float | None = None
    node_hours: float | None = None

    @property
    def place(self) -> str:
        """The file with the evidence and the place in it: ``file, byte 104``; "" without a file."""
        return f"{self.file}, byte {self.offset}" if self.file and self.offset >= 0 else self.file


def intended(step: PlanStep) -> str:
    """Return a planned step in words: ``NODE.REPLACE of n03 (no heartbeat)``."""
    name = f"{step.name} of {step.suspect}" if step.suspect else step.name
    return f"{name} ({step.because})" if step.because else name


def noted(step: str, note: str) -> str:
    """Return a planned step with its result; a reason that the note repeats is shown once.

    Args:
        step: the planned step in words.
        note: the note of its result.
    """
    name, _, because = step.partition(" (")
    return f"{name if because and because.removesuffix(')') in note else step}: {note}"


def put_evidence(row: ExceptionRow, evidence: tuple[Evidence, ...], nodes: tuple[str, ...]) -> None:
    """Put the main evidence into the row: the first line of output, else the first evidence.

    Args:
        row: the row.
        evidence: the evidence.
        nodes: the attempt's nodes, () where they are not known.
    """
    if not evidence:
        return
    main = next((item for item in evidence if item.line), evidence[0])
    row.kind, row.pattern, row.line = main.kind, main.pattern, main.line.rstrip("\n")
    row.file, row.offset = main.file, main.offset
    others = (item for item in evidence if item is not main)
    row.others = [text for item in others if (text := explain(item.kind, item.line, item.detail))][:_OTHERS]
    told_of = ("node", "heartbeat", "job-exception", "external", "predicted")
    about = next((item.node for item in evidence if item.node and item.kind in told_of), "")
    # The host on which a line was read is not the node at fault, unless there is no other node.
    host = main.node if len(nodes) <= 1 else ""
    row.node = about or find_suspect(evidence, NodeSet(active=nodes)).node or host
    row.detail = next((item.detail for item in evidence if item.detail), "")[:2000]
