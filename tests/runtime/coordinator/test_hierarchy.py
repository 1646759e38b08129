"""Finding a task, and what depends on it, in workflows of many tasks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.journals import of_daemon
from whesl.language.spec import Spec
from whesl.model.configuration_changes import Configuration
from whesl.model.pathmap import PathMap
from whesl.model.workflow import Task, Workflow
from whesl.runtime.coordinator.core.changes.apply_record import apply
from whesl.runtime.coordinator.core.dependents_and_names import dependents, identify
from whesl.runtime.coordinator.core.recovery.dependent_reconfiguration import configure_by_change
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.wire.messages import Register

EMPTY = Spec(file="rules.esl", entities=(), levels=(), resources=(), exceptions=())


def state_of(*tasks: Task) -> State:
    workflow = Workflow(id="w", name="w", wms="batch", root="/w", tasks=tasks)
    data = {"workflow": workflow, "spec": EMPTY, "rjms": "local", "observe": False, "environment": {}}
    return apply(State(), of_daemon("workflow", data), 1.0)


def test_layers_that_depend_on_each_other_completely_are_walked_once() -> None:
    """Twelve layers of ten tasks: by paths there would be 10**11 of them to walk."""
    layers = [[f"w/{layer}_{number}" for number in range(10)] for layer in range(12)]
    tasks = [Task(id=name, step="s", instance=name) for name in layers[0]]
    for before, layer in pairwise(layers):
        tasks += [Task(id=name, step="s", instance=name, parents=tuple(before)) for name in layer]
    state = state_of(*tasks)
    expected = tuple(name for layer in layers[1:] for name in layer)
    assert dependents(state, "w/0_3") == expected == state.workflows["w"].workflow.dependents("w/0_3")
    assert dependents(state, "w/11_0") == () == dependents(state, "w/unknown")


TASKS = (
    Task(id="w/a", step="a", workspace="/w/a"),
    Task(id="w/b_1", step="b", instance="1", workspace="/w/b/1"),
    Task(id="w/b_2", step="b", instance="2", workspace="/w/b/2"),
    Task(id="w/c", step="c", workspace="/w/both"),
    Task(id="w/d", step="d", workspace="/w/both"),
)


@pytest.mark.parametrize(
    ("workspace", "step", "instance", "found"),
    [
        ("/w/b/1", "strange", "", "w/b_1"),
        ("/elsewhere", "b", "2", "w/b_2"),
        ("", "a", "7", "w/a"),
        ("/w/both", "d", "", "w/d"),
        ("/w/both", "strange", "", "w/other"),
        ("", "b", "", "w/other"),
        ("", "b", "3", "w/other"),
    ],
)
def test_an_unknown_name_is_found_by_what_one_task_alone_has(
    workspace: str, step: str, instance: str, found: str
) -> None:
    said = Register(
        task="w/other", workflow="w", step=step, instance=instance, workspace=workspace, claim="1.0"
    )
    assert identify(state_of(*TASKS), said) == found


def test_a_workflow_that_is_registered_again_is_looked_up_as_it_is_now() -> None:
    said = Register(task="w/other", workflow="w", step="z", workspace="/w/a", claim="1.0")
    assert identify(state_of(*TASKS), said) == "w/a"
    assert identify(state_of(Task(id="w/new", step="a", workspace="/w/a")), said) == "w/new"


def test_dependents_that_are_changed_alike_share_one_configuration() -> None:
    children = [Task(id=f"w/c{n}", step="c", instance=str(n), parents=("w/a",)) for n in range(50)]
    transition = Transition(state_of(TASKS[0], *children), 2.0)
    other = Configuration(environment={"OWN": "1"})
    configure_by_change(transition, {"w/c7": other}, because="E")
    moved = Configuration(path_map=PathMap().with_rule("/old", "/new"))
    configure_by_change(transition, dict.fromkeys(dependents(transition.state, "w/a"), moved), because="E")
    tasks = transition.state.tasks
    assert len({id(tasks[child.id].configuration) for child in children}) == 2
    assert tasks["w/c7"].configuration == Configuration().added(other).added(moved)
    assert tasks["w/c8"].configuration == Configuration().added(moved)
    before = transition.state
    configure_by_change(transition, dict.fromkeys(dependents(transition.state, "w/a"), moved), because="E")
    assert transition.state is before
