"""Everything together: coordinator, isolators, cluster, the workflow's manager, a person."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tests.equipment.world import START
from tests.simulation.cluster import Cluster, Job
from tests.simulation.coordinator import Place
from tests.simulation.invariants import Watch
from tests.simulation.network import Client, Network
from tests.simulation.scenario import NodeFault, Prediction, Raise, Scenario, TaskPlan
from tests.simulation.site import WORKFLOW, Site
from tests.simulation.world import InvariantError, World
from whesl.model.evidence import PredictedFailure
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import Task, Workflow
from whesl.runtime.wire.messages import (
    AnyMessage,
    Command,
    PredictFailure,
    RaiseException,
    RegisterWorkflow,
    Reply,
)

LOOK = 5.0
REPLY_LIMIT = 30.0


class WorkflowManager:
    """Submits a task when its parents have succeeded, and looks at how jobs end."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.outcomes: dict[str, bool] = {}
        self.submitted: dict[str, int] = {}

    def start(self) -> None:
        """Submit what depends on nothing."""
        self._submit_ready()

    def _submit_ready(self) -> None:
        for plan in self._system.world.scenario.tasks:
            ready = self._started if plan.beside else self.outcomes.get
            if plan.name not in self.submitted and all(ready(parent) for parent in plan.parents):
                self._submit(plan)

    def _started(self, name: str) -> bool:
        return self._system.sites[name].job is not None

    def job_started(self) -> None:
        """What runs beside it may be submitted."""
        self._system.world.after(LOOK, self._submit_ready)

    def _submit(self, plan: TaskPlan) -> None:
        self.submitted[plan.name] = self.submitted.get(plan.name, 0) + 1
        self._system.cluster.submit_task(plan, self._system.sites[plan.name])

    def ended(self, job: Job) -> None:
        """A job has ended: seen at the manager's next look."""
        self._system.world.after(LOOK, self._look, job)

    def _look(self, job: Job) -> None:
        name = job.plan.name
        if not job.state.ended or name in self.outcomes:
            return
        if job.state is JobState.COMPLETED:
            self.outcomes[name] = True
            self._submit_ready()
        elif job.plan.resubmitted and self.submitted[name] < 2 and job.state is not JobState.CANCELLED:
            self._submit(job.plan)
        else:
            self.outcomes[name] = False


class Person:
    """Resumes what is paused, after a while; a third time it is cancelled."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._world = system.world
        self._said: dict[str, int] = {}
        self._seen: dict[str, float] = {}
        self._count = 0

    def start(self) -> None:
        """Look at the workflow from time to time, and say what was planned."""
        self._world.after(10.0, self._look)
        for word in self._world.scenario.words:
            self._world.at(START + word.at, self.say, word.task, word.action)
        for number, wanted in enumerate(self._world.scenario.raises):
            self._world.at(START + wanted.at, self._raise, number, wanted)

    def say(self, task: str, action: str) -> None:
        """Tell the coordinator, until it has answered."""
        self._count += 1
        self._world.note("person", f"{action} {task}")
        command = Command(id=f"word{self._count}", action=action, target=f"{WORKFLOW}/{task}")
        self._system.ask(f"word{self._count}", command)

    def _raise(self, number: int, wanted: Raise) -> None:
        """Raise an exception, and again with the same id, as by a tool that has forgotten that it did."""
        job = self._system.sites[wanted.task].job
        node, task = "", f"{WORKFLOW}/{wanted.task}"
        if wanted.node is not None and job is not None and job.nodes:
            node, task = job.nodes[min(wanted.node, len(job.nodes) - 1)], ""
        self._world.note("person", f"raises {wanted.exception} on {node or task}")
        message = RaiseException(id=f"raise{number}", exception=wanted.exception, task=task, node=node)
        self._system.ask(f"raise{number}", message)
        if wanted.again:
            later = self._world.now + wanted.again
            self._world.at(later, self._system.ask, f"raise{number}again", message)

    def _look(self) -> None:
        coordinator = self._system.place.present
        if coordinator is not None:
            for site in self._system.sites.values():
                entry = coordinator.state.tasks.get(site.id)
                if entry is None or entry.state is not TaskState.PAUSED:
                    self._seen.pop(site.name, None)
                    continue
                since = self._seen.setdefault(site.name, self._world.now)
                if self._world.now - since >= self._world.scenario.patience:
                    said = self._said[site.name] = self._said.get(site.name, 0) + 1
                    self.say(site.name, "resume" if said < 3 else "cancel")
                    self._seen[site.name] = self._world.now
        self._world.after(10.0, self._look)


class System:
    """One world with all that is in it.

    Args:
        scenario: what happens.
        trace: keep a readable trace in ``world.lines``.
    """

    def __init__(self, scenario: Scenario, *, trace: bool = False) -> None:
        self.world = World(scenario, trace=trace)
        self.network = Network(self.world)
        wanted = sum(plan.nodes + plan.spares for plan in scenario.tasks)
        failing = len(scenario.nodes) + sum(each.fails for each in scenario.predictions)
        self.cluster = Cluster(self.world, wanted + failing + 1)
        self.watch = Watch(self)
        self.place = Place(self)
        self.sites = {plan.name: Site(self, plan) for plan in scenario.tasks}
        self.manager = WorkflowManager(self)
        self.person = Person(self)
        self.spool: list[list[bytes]] = []  # what isolators have left for a coordinator that was away
        self._faults: list[NodeFault] = []
        self._foreseen: list[tuple[int, Prediction]] = []

    def run(self) -> None:
        """Live through it, and look at the end. Raises InvariantError."""
        self.place.start()
        self._register()
        self.person.start()
        for fault in self.world.scenario.nodes:
            if fault.kind:
                self._faults.append(fault)
            else:
                self.world.at(START + fault.at, self._strike, fault)
        for each in self.world.scenario.signals:
            self.world.at(START + each.at, self.sites[each.task].shell_signalled)
        for number, prediction in enumerate(self.world.scenario.predictions):
            if prediction.kind:
                self._foreseen.append((number, prediction))
            else:
                self.world.at(START + prediction.at, self._foretell, number, prediction)
        if not self.world.rests(lambda: not self.watch.open()):
            raise InvariantError(
                "no task lost", f"no end within {self.world.now - START:.0f} s: {self.watch.open()}"
            )
        self.watch.check_end()

    def _register(self) -> None:
        tasks = tuple(
            Task(
                id=f"{WORKFLOW}/{plan.name}",
                step=plan.name,
                workspace=f"/scratch/{plan.name}",
                parents=tuple(f"{WORKFLOW}/{parent}" for parent in plan.parents),
                nodes=plan.nodes,
                spares=plan.spares,
            )
            for plan in self.world.scenario.tasks
        )
        spec = self.world.spec
        workflow = Workflow(id=WORKFLOW, name=WORKFLOW, wms="sim", root="/scratch", tasks=tasks).with_coupled(
            ()
        )
        message = RegisterWorkflow(workflow=workflow, spec=msgspec.json.encode(spec), rjms="sim")
        # The workflow is handed over only when the coordinator knows it.
        self.ask("run", message, self.manager.start)

    def ask(
        self, name: str, message: AnyMessage, then: Callable[[], None] = lambda: None, number: int = 0
    ) -> None:
        """Do as the command line does: say it, wait for the reply, and say it anew after a while."""
        replied = False

        def heard(answer: AnyMessage) -> None:
            nonlocal replied
            if isinstance(answer, Reply) and not replied:
                replied = True
                client.close()
                then()

        def anew() -> None:
            if not replied:
                client.close()
                self.ask(name, message, then, number + 1)

        client = Client(self.network, "person", f"cli-{name}", str(number), heard, lambda _there: None)
        client.send(message)
        self.world.after(REPLY_LIMIT, anew)

    def written(self, task: str, kind: str) -> None:
        """A task's isolator has written a record: a node's fault, or a prediction, may have waited for it."""
        for number, said in self._foreseen:
            if (said.task, said.kind) == (task, kind) and self.world.now >= START + said.at / 4:
                self._foreseen.remove((number, said))
                self.world.after(0.0, self._foretell, number, said)
                break
        for fault in self._faults:
            if (fault.task, fault.kind) == (task, kind) and self.world.now >= START + fault.at / 4:
                self._faults.remove(fault)
                self.world.after(0.0, self._strike, fault)
                return

    def _foretell(self, number: int, said: Prediction) -> None:
        """A node's failure is predicted, as soon as the task has nodes; it comes, or it does not."""
        job = self.sites[said.task].job
        if job is None or job.state is not JobState.RUNNING:
            if self.world.now < START + 300.0 and not (job is not None and job.state.ended):
                self.world.after(3.0, self._foretell, number, said)
            return
        node = job.nodes[min(said.which, len(job.nodes) - 1)]
        prediction = PredictedFailure(node=node, time=self.world.now, lead=said.lead, evidence="EDAC")
        self.world.note("person", f"{prediction}{'' if said.fails else ', wrongly'}")
        self.ask(f"predict{number}", PredictFailure(id=f"predict{number}", prediction=prediction))
        if said.fails:
            fault = NodeFault(task=said.task, which=said.which, at=0.0)
            self.world.after(said.lead, self._strike, fault)

    def _strike(self, fault: NodeFault) -> None:
        """A node's fault; it waits until there is a job whose agents are up."""
        site = self.sites[fault.task]
        job = site.job
        if job is None or job.state is not JobState.RUNNING or site.isolator is None:
            if self.world.now < START + 300.0 and not (job is not None and job.state.ended):
                self.world.after(3.0, self._strike, fault)
            return
        name = job.nodes[min(fault.which, len(job.nodes) - 1)]
        if site.isolator.agents.missing():
            self.world.after(0.6, self._strike, fault)
        elif fault.cut and name != job.nodes[0]:
            self.cluster.cut(name, fault.cut, closes=fault.closes)
        elif not fault.cut:
            self.cluster.lose(name, fault.noticed)


def play(scenario: Scenario, *, trace: bool = False) -> System:
    """Run a scenario and return its world. Raises InvariantError with the world's trace in ``lines``."""
    system = System(scenario, trace=trace)
    try:
        system.run()
    except InvariantError as violation:
        violation.lines = system.world.lines
        raise
    except Exception as error:
        failed = InvariantError("no daemon fails", f"{type(error).__name__}: {error}")
        failed.lines = system.world.lines
        raise failed from error
    return system
