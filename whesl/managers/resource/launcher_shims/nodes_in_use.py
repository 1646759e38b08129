"""A task's nodes, read from the variables that WHESL sets for launchers. Pure; standard library only."""

from __future__ import annotations

from whesl.model.hostlist import compress, expand

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TOKEN = "WHESL_ATTEMPT_TOKEN"  # noqa: S105 - a variable's name
# The variable with the nodes of the allocation that no step may use; set by the allocation's adapter.
HIDDEN_NODES = "WHESL_HIDDEN_NODES"
# The variable with the id of the job that WHESL's variables are about; jobs that a task submits inherit it.
JOB = "WHESL_JOB"
_IDS = ("SLURM_JOB_ID", "PBS_JOBID")
# Bytes of a variable's value beyond which it is shortened: Linux takes 131,072 of a variable (execve(2)).
LONG = 100_000
HET_SIZE = "SLURM_HET_SIZE"  # the number of components of a heterogeneous job; unset in other jobs


def of_this_job(environ: Mapping[str, str]) -> bool:
    """Whether WHESL's variables are about the job that a process with this environment is in.

    Args:
        environ: the environment.
    """
    told, ids = environ.get(JOB), [environ[name] for name in _IDS if environ.get(name)]
    return not told or not ids or told in ids


class Nodes:
    """A task's nodes in use, hidden nodes and replaced nodes, read from an environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.active = _names(environ.get("WHESL_NODELIST", "")) if of_this_job(environ) else ()
        self.hidden = _names(environ.get(HIDDEN_NODES, ""))
        self._swapped: dict[str, str] = {}
        swapped = environ.get("WHESL_SWAPPED")
        if swapped:
            # Imported here because it takes milliseconds, and most attempts have no replaced node.
            import json

            parsed = json.loads(swapped) if swapped.startswith("{") else {}
            self._swapped = {str(old): str(new) for old, new in parsed.items()}
        told = swapped is not None or "WHESL_LOST_NODES" in environ
        lost = bool(self._swapped) or bool(environ.get("WHESL_LOST_NODES"))
        # A step with a lost node keeps its CPUs on other nodes until the resource manager gives the node up:
        # the next steps have to overlap with it.
        self.overlap = lost if told else environ.get("WHESL_RESTART_COUNT", "0") not in ("", "0")

    def of_group(self, number: int, environ: Mapping[str, str]) -> Nodes:
        """Return the same nodes for the steps of one component of a heterogeneous job.

        Args:
            number: the component's number.
            environ: the environment, with the components' nodes in use.
        """
        found = Nodes(environ)
        of_component = expand(environ.get(f"SLURM_JOB_NODELIST_HET_GROUP_{number}", ""))
        found.active = tuple(node for node in self.active if node in of_component)
        return found

    def current(self, name: str) -> str:
        """Return the node that has replaced a node, or the node itself where it was not replaced."""
        return self._swapped.get(name, name)

    def translate(self, names: Sequence[str]) -> list[str]:
        """Return the nodes in use for given nodes, without spares, lost nodes and nodes of other jobs."""
        active = frozenset(self.active)
        return [name for name in map(self.current, names) if name in active]


def told(names: Iterable[str]) -> str:
    """Return names of nodes as a variable's value: separated by commas; a host list where that is long."""
    text = ",".join(names)
    return text if len(text) <= LONG else compress(text.split(","))


def _names(text: str) -> tuple[str, ...]:
    if "[" in text:
        return expand(text)
    return tuple(name for name in text.replace("\n", ",").split(",") if name)
