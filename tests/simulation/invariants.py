"""The invariants, held while the world goes on and when it has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.simulation.auditing import CoordinatorAudit, TaskAudit
from tests.simulation.rulebook import OLD
from tests.simulation.timing import BackOffs
from tests.simulation.world import InvariantError
from whesl.model.states import JobState, TaskState
from whesl.runtime.coordinator.core.events_and_commands import RunStep as CoordinatorStep
from whesl.runtime.isolator.core.events_and_commands import RunStep, StartAttempt
from whesl.runtime.isolator.core.state import State
from whesl.runtime.wire.messages import Escalate, RecoveryDone

if TYPE_CHECKING:
    from tests.simulation.coordinator import Coordinator
    from tests.simulation.isolator import Isolator
    from tests.simulation.site import Files, Site
    from tests.simulation.system import System

_GOOD = (TaskState.COMPLETED, TaskState.SKIPPED)


class Watch:
    """Sees everything that is written down and done. Raises InvariantError."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._rules = {rule["name"]: rule for rule in system.world.scenario.rules}
        self._audits: dict[tuple[str, int], TaskAudit] = {}
        self.coordinator = CoordinatorAudit(1, self._rules)
        world = system.world
        self._back_offs = {plan.name: BackOffs(plan.name, world) for plan in world.scenario.tasks}
        self._taken: set[tuple[str, str]] = set()  # what was raised from outside, by task
        self._ancestors: dict[str, tuple[str, ...]] = {}
        for plan in system.world.scenario.tasks:
            found = dict.fromkeys(plan.parents)
            for parent in plan.parents:
                found.update(dict.fromkeys(self._ancestors[parent]))
            self._ancestors[plan.name] = tuple(found)

    def audit(self, site: Site, files: Files) -> TaskAudit:
        """Return the audit of one of a task's journals."""
        key = (site.name, files.number)
        if key not in self._audits:
            self._audits[key] = TaskAudit(site.id, self._rules)
        return self._audits[key]

    # While it goes on --------------------------------------------------------------------------------------

    def written(self, isolator: Isolator, kind: str, data: dict[str, Any], time: float, true: float) -> None:
        """A record is on disk. ``time``: by the isolator's clock, ``true``: by the world's."""
        name = isolator.site.name
        self._back_offs[name].record(kind, data, time, true, isolator.number)
        self.audit(isolator.site, isolator.files).record(kind, data, time)
        if kind == "control" and data["action"] == "raise":
            if (name, data["id"]) in self._taken:
                raise InvariantError("no exception raised twice", f"{name} takes {data['id']} again")
            self._taken.add((name, data["id"]))
        self._system.written(name, kind)

    def fenced(self, isolator: Isolator, attempt: int) -> None:
        """No process of an attempt is left, as far as anybody can know."""
        self.audit(isolator.site, isolator.files).fenced(attempt)

    def attempt(self, isolator: Isolator, command: StartAttempt) -> None:
        """An attempt is started: what its ancestors' files need has to be known to it."""
        if not isolator.informed:
            return  # an isolator before this one was, and started an attempt
        job = isolator.site.job
        wanted = (
            self.coordinator.wanted.get(f"{isolator.site.id}@{job.id}.{job.restarts - 1}") if job else None
        )
        if (
            wanted is not None
            and command.configuration.environment != wanted | command.configuration.environment
        ):
            raise InvariantError(
                "no step skipped",
                f"{isolator.site.id} runs again without what its recovery changed: {wanted}",
            )
        for name in self._ancestors[isolator.site.name]:
            site = self._system.sites[name]
            if not site.began < site.ended < isolator.site.began or any(
                isinstance(message, RecoveryDone) for message in site.unheard
            ):
                continue  # it still runs, or its isolator had to leave unheard: that is said in its log
            if self.audit(site, site.files).moved and command.configuration.path_map.path(OLD) == OLD:
                raise InvariantError(
                    "every dependent has the path map",
                    f"{isolator.site.id} attempt {command.attempt} starts without what {site.id} decided",
                )

    def refused(self, isolator: Isolator, reason: str) -> None:
        """An isolator is told that it does not own its task."""
        job = isolator.site.job
        present = job is not None and job.claim == isolator.setup.claim and job.state is JobState.RUNNING
        # The job before of its manager's has ended: only a scheduler that is silent for long keeps that back.
        unasked = "cannot be asked" in reason
        if present and not unasked and "cancelled" not in reason:
            raise InvariantError("no task lost", f"{isolator.site.id}: its owner is sent away: {reason}")

    def isolator_step(self, isolator: Isolator, state: State, command: RunStep) -> None:
        """A step is carried out."""
        if not isolator.unwritten:
            self.audit(isolator.site, isolator.files).may_run(command.ordinal, command.index)

    def coordinator_step(self, coordinator: Coordinator, command: CoordinatorStep) -> None:
        """A step of the coordinator's is carried out; not by one that is gone, or for what was given up."""
        recovery = coordinator.state.recoveries.get(command.recovery)
        if not coordinator.dead and recovery is not None and recovery.open:
            self.coordinator.may_run(command.recovery, command.index)

    # Rest --------------------------------------------------------------------------------------------------

    def open(self) -> str:
        """Return what has not come to rest, an empty string for nothing."""
        system = self._system
        outcomes = system.manager.outcomes
        for plan in system.world.scenario.tasks:
            hopeless = any(outcomes.get(parent) is False for parent in plan.parents) or any(
                parent not in system.manager.submitted and outcomes for parent in plan.parents
            )
            if plan.name not in outcomes and not (hopeless and plan.name not in system.manager.submitted):
                return f"{plan.name} has no outcome"
            site = system.sites[plan.name]
            if site.isolator is not None or site.lives():
                return f"{plan.name} still has processes"
        coordinator = system.place.present
        if coordinator is None:
            return "the coordinator is down"
        state = coordinator.state
        for plan in system.world.scenario.tasks:
            entry = state.tasks[f"w/{plan.name}"]
            # A task that never reached the coordinator is known to its manager alone.
            if entry.claim and not entry.state.final:
                return f"the coordinator thinks that {plan.name} is {entry.state.value}"
        for job in system.cluster.all_jobs.values():
            if not job.state.ended:
                return f"job {job.id} is {job.state.value}"
        for order in state.requeues.values():
            if order.status in ("decided", "begun"):
                return f"requeue {order.token} is {order.status}"
        for recovery in state.recoveries.values():
            if recovery.open:
                return f"recovery {recovery.id} is open"
        return f"jobs are to be cancelled: {state.cancels}" if state.cancels else ""

    def _lost_a_node(self, reason: str) -> bool:
        """Whether a task has failed for nodes that the scheduler has really called down, with status 0."""
        names, said, _ = reason.partition(" lost while it ran, and its command ended with status 0")
        nodes = names.removesuffix(" was").removesuffix(" were").split(", ")
        return bool(said) and self._system.cluster.called_down.issuperset(nodes)

    def check_end(self) -> None:
        """The world has come to rest: what does the coordinator know, and is it so?"""
        system = self._system
        coordinator = system.place.present
        assert coordinator is not None
        coordinator.compare()
        waiting = [control for control in coordinator.state.controls.values() if control.action == "raise"]
        if waiting:
            raise InvariantError("every exception ends", f"{waiting} are still to be taken")
        for run in system.cluster.all_jobs.values():
            if run.restarts > (ordered := self.coordinator.ordered(run.id)):
                raise InvariantError(
                    "no step done twice", f"job {run.id} was run again {run.restarts} times, {ordered} wanted"
                )
        for site in system.sites.values():
            entry = coordinator.state.tasks[site.id]
            job = site.job
            if job is None or entry.job_id != job.id:
                continue
            # With a full disk, its end is in no journal but the coordinator's.
            told = bool(site.files.unwritten) and entry.told_by == "isolator"
            over = told or self.audit(site, site.files).ended is not None
            if job.state in (JobState.TIMEOUT, JobState.CANCELLED) and over:
                continue  # its node died when all was done but the goodbye: its manager sees that
            good = job.state is JobState.COMPLETED and job.exit_code == 0
            if good and entry.state is TaskState.FAILED and self._lost_a_node(entry.reason):
                continue  # the job outlives losses by its user's own wish, and ends as its script does
            if (entry.state in _GOOD) != good and not entry.cancelled:
                raise InvariantError(
                    "no task lost",
                    f"{site.id} is {entry.state.value} to the coordinator ({entry.reason}), "
                    f"its job {job.state.value}",
                )
            if site.files.unwritten:
                continue  # its disk was full to the end
            audit = self.audit(site, site.files)
            ended = audit.ended
            if good and ended is not None and self._lost_a_node(ended.get("reason", "")):
                continue  # its isolator could not tell the coordinator, which knows the job's end alone
            if good and (ended is None or ended["state"] not in ("completed", "skipped")):
                raise InvariantError("no task lost", f"{site.id}: its job says success, its isolator {ended}")
            for ordinal in audit.escalated:
                unheard = any(isinstance(message, Escalate) for message in site.unheard)
                wanted = ended is not None and ended["state"] != "cancelled" and not unheard
                known = self.coordinator.escalated | self.coordinator.too_late
                if wanted and (site.id, ordinal) not in known:
                    raise InvariantError(
                        "every exception ends", f"{site.id}: the escalation of {ordinal} was never taken"
                    )
            unheard = site.forgetful or any(isinstance(message, RecoveryDone) for message in site.unheard)
            for ordinal, outcome in audit.outcomes.items():
                one = (site.id, ordinal, audit.raised[ordinal])
                taken = outcome != "handled" or one in self.coordinator.taken
                if ended is not None and not unheard and not taken:
                    raise InvariantError(
                        "every exception ends",
                        f"{site.id}: the recovery of {ordinal} was never taken note of",
                    )
            if audit.open and ended is not None:
                raise InvariantError("every exception ends", f"{site.id}: {audit.open}")
            if (
                good
                and site.runs
                and ended is not None
                and ended["state"] == "completed"
                and site.runs[-1].status != 0
            ):
                raise InvariantError(
                    "no task lost", f"{site.id} completed, its last run with {site.runs[-1].status}"
                )
