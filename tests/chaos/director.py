"""What goes wrong next: pure. A seed, the number of the fault and what is alive decide, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec

MOST_OUT = 2  # nodes that are dead or cut off at one time


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node. ``whole``: it is up, connected, and its slurmd runs."""

    name: str
    whole: bool = True


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """A task that runs.

    Its job may be run ``again`` (once), and it may lose so many nodes (``spares``) before that is needed. A
    ``fragile`` one may lose any: its specification has it fail then. ``under_way``: its script has begun, and
    is not over; between its end and Slurm's hearing of that, the loss of the batch host is one that nobody
    can mend. ``isolator_kills`` are those of the last minute; ``ranks``,
    ``agents`` and ``responders`` are of living processes.
    """

    name: str
    batch_host: str
    nodes: tuple[str, ...]
    spares: int = 1
    again: bool = True
    fragile: bool = False
    under_way: bool = True
    isolator: bool = True
    isolator_kills: int = 0
    ranks: int = 1
    agents: int = 1
    responders: int = 1


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What the director knows. ``out``: nodes dead or cut off. ``disks``: with room; ``home``: it works."""

    nodes: tuple[NodeView, ...]
    tasks: tuple[TaskView, ...]
    out: int = 0
    disks: tuple[str, ...] = ()
    coordinator: bool = True
    controller: bool = True
    home: bool = True


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault: on a node, a task or a disk by name, undone after ``seconds``.

    ``pick`` (0 to 1) chooses among the target's processes.
    """

    number: int
    kind: str
    target: str
    pick: float
    seconds: float


class Kind(msgspec.Struct, frozen=True):
    """How often, relative to the others; how long (seconds, least and most); on whom."""

    weight: float
    least: float
    most: float
    targets: Callable[[View], list[str]]


def expendable(view: View) -> list[str]:
    """Nodes that may be lost: every task there can still go on, or is to fail visibly by its own rules."""
    if view.out >= MOST_OUT:
        return []
    return [
        node.name
        for node in view.nodes
        if node.whole and all(_may_lose(task, node.name) for task in view.tasks if node.name in task.nodes)
    ]


def _expendable_unseen(view: View) -> list[str]:
    """Of these, where ranks are and no script: without slurmctld no job can run again."""
    batch_hosts = {task.batch_host for task in view.tasks}
    used = {node for task in view.tasks if task.ranks for node in task.nodes} - batch_hosts
    return [node for node in expendable(view) if view.controller and node in used]


def _expendable_with_agents(view: View) -> list[str]:
    """Of these, where agents are: on a busy host the node may be called lost before it has another agent."""
    used = {node for task in view.tasks if task.agents and task.under_way for node in task.nodes}
    return [node for node in expendable(view) if node in used]


def _may_lose(task: TaskView, node: str) -> bool:
    if node == task.batch_host and not task.under_way:
        return False
    return task.fragile or task.again or (node != task.batch_host and task.spares > 0)


def _without_slurmd(view: View) -> list[str]:
    return [node.name for node in view.nodes if node.whole] if view.out < MOST_OUT else []


def _with_isolator(view: View) -> list[str]:
    # A keeper starts its isolator five times a minute; what happens then is not chaos but its limit.
    return [task.name for task in view.tasks if task.isolator and task.isolator_kills < 3]


def _with(word: str) -> Callable[[View], list[str]]:
    return lambda view: [task.name for task in view.tasks if getattr(task, word)]


def _suspendable(view: View) -> list[str]:
    return [task.name for task in view.tasks if task.under_way] if view.controller else []


def _signallable(view: View) -> list[str]:
    # Before its isolator is there, the shell alone has the signal: the job ends as without WHESL.
    return [task.name for task in view.tasks if task.isolator and task.ranks] if view.controller else []


def _daemon(word: str) -> Callable[[View], list[str]]:
    return lambda view: [word] if getattr(view, word) else []


KINDS: dict[str, Kind] = {
    "node killed": Kind(8, 8, 16, expendable),
    "node killed unseen": Kind(4, 6, 14, _expendable_unseen),
    "node cut off": Kind(8, 1, 9, expendable),
    "node unheard": Kind(4, 1, 8, expendable),
    "node predicted": Kind(6, 2, 12, expendable),  # to fail so many seconds ahead, truly or not
    "slurmd killed": Kind(8, 1, 5, _without_slurmd),
    "isolator killed": Kind(14, 0, 0, _with_isolator),
    "isolator stopped": Kind(6, 1, 5, _with_isolator),
    "responder killed": Kind(4, 0, 0, _with("responders")),
    "responder stopped": Kind(3, 1, 5, _with("responders")),
    "job suspended": Kind(5, 1, 5, _suspendable),
    "coordinator killed": Kind(9, 0.2, 4, _daemon("coordinator")),
    "coordinator stopped": Kind(4, 1, 5, _daemon("coordinator")),
    "rank killed": Kind(8, 0, 0, _with("ranks")),
    "rank stopped": Kind(7, 0, 0, _with("ranks")),
    "agent killed": Kind(5, 0, 0, _with("agents")),
    "agents killed": Kind(4, 0, 0, _expendable_with_agents),
    "shell signalled": Kind(5, 0, 0, _signallable),
    "exception raised": Kind(4, 0, 0, _with("isolator")),
    "disk filled": Kind(9, 3, 9, lambda view: list(view.disks)),
    "home failing": Kind(4, 2, 8, _daemon("home")),
    "home stalled": Kind(3, 1, 6, _daemon("home")),
    "slurmctld restarted": Kind(5, 0.2, 4, _daemon("controller")),
    "slurmctld stopped": Kind(4, 1, 4, _daemon("controller")),
}

# Kinds that touch no program: of these alone no exception may come.
HARMLESS = frozenset(
    {
        *("isolator killed", "isolator stopped", "responder killed", "responder stopped", "job suspended"),
        *("coordinator killed", "coordinator stopped", "home failing", "home stalled"),
    }
)

OF_HOMES = ("home failing", "home stalled")


def choose(seed: int, number: int, view: View, kinds: tuple[str, ...] = tuple(KINDS)) -> Fault | None:
    """Return the fault of this number, or None when nothing is there that may fail.

    Args:
        seed: repeats the choice: with the same views, the same faults.
        number: of the fault.
        view: what is alive, and what may be lost.
        kinds: of these only.
    """
    draw = Random(f"{seed}/{number}")
    left = [name for name in KINDS if name in kinds]
    while left:
        name = draw.choices(left, [KINDS[name].weight for name in left])[0]
        left.remove(name)
        kind = KINDS[name]
        # Drawn before the targets are looked at, so that a view of other size shifts nothing else.
        where, pick, seconds = draw.random(), draw.random(), draw.uniform(kind.least, kind.most)
        targets = sorted(kind.targets(view))
        if targets:
            target = targets[int(where * len(targets))]
            return Fault(number=number, kind=name, target=target, pick=pick, seconds=round(seconds, 2))
    return None


class Losses:
    """What the faults so far may have cost each task, and so what it can bear yet."""

    def __init__(self) -> None:
        self._again: set[str] = set()
        self._nodes: dict[str, set[str]] = {}  # of the present run

    def lost(self, node: str, tasks: tuple[TaskView, ...]) -> None:
        """A node is lost to the tasks that have it; ``tasks`` are as they were before that."""
        for task in tasks:
            gone = self._nodes.setdefault(task.name, set())
            if node not in task.nodes or node in gone:
                continue
            gone.add(node)
            if node == task.batch_host or task.spares == 0:
                self._again.add(task.name)
                # The next run has other nodes, and its spares again.
                gone.clear()

    def spares(self, task: str, had: int) -> int:
        """Return how many of the spares that a run had at first are left."""
        return max(0, had - len(self._nodes.get(task, ())))

    def ran_again(self, task: str) -> bool:
        """Whether a task's job has had to run again, so that it may not once more."""
        return task in self._again
