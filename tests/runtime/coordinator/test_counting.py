"""The coordinator's core on a virtual clock: exceptions that are counted over tasks become others."""

from __future__ import annotations

import msgspec

from tests.journals import report
from tests.runtime.coordinator.world import SPAN, World, exception, raised, spec, step
from whesl.language.detections.external_and_counted import CountDetection
from whesl.language.spec import Entity, Operation, ResourceKind
from whesl.runtime.coordinator.core.events_and_commands import Arrived
from whesl.runtime.wire.messages import RecoveryGrant, RecoveryRequest


class TestCounting:
    def glitch(self, world: World, name: str, ordinal: int = 1) -> None:
        entry = world.state.tasks.get(f"w/{name}")
        peer = entry.peer if entry and entry.peer else world.register(name)
        data = {"raised": msgspec.to_builtins(raised("GLITCH", name, ordinal))}
        world.tell(peer, report(task=f"w/{name}", kind="raised", time=world.now, data=data))

    def test_what_happens_once_in_each_of_three_tasks_happened_three_times(self, world: World) -> None:
        for name in "ab":
            self.glitch(world, name)
        assert not world.ports.fake.marked
        self.glitch(world, "c")
        assert world.ports.fake.marked == ["n9"]
        assert world.kinds("counted")[-1]["became"] == "STORM"
        for name in "xa":
            self.glitch(world, name, 2)
        assert len(world.kinds("step-done")) == 1, "counting has to begin anew"

    def test_a_report_that_overtakes_its_registration_counts(self, world: World) -> None:
        for name in "ab":
            self.glitch(world, name)
        data = {"raised": msgspec.to_builtins(raised("GLITCH", "c"))}
        early = report(task="w/c", kind="raised", time=world.now, data=data)
        world.feed(Arrived(peer="w/c#job-c.0", message=early))
        world.register("c")
        assert world.ports.fake.marked == ["n9"]

    def test_repeats_are_counted_once(self, world: World) -> None:
        for _ in range(5):
            self.glitch(world, "a")
        assert len(world.kinds("counted")) == 1 and not world.ports.fake.marked

    def test_observe_mode_counts_and_touches_nothing(self) -> None:
        world = World()
        world.workflow(observe=True)
        for name in "abc":
            self.glitch(world, name)
        assert world.kinds("counted")[-1]["became"] == "STORM"
        assert not world.ports.fake.marked

    def test_a_request_is_transformed_before_it_is_handled(self) -> None:
        rules = spec(
            exception(
                "LOW", step(Entity.WMS, ResourceKind.FILESYSTEM, defaultpath="/old", filesystem="/new")
            ),
            exception(
                "HIGH",
                step(Entity.SCHEDULER, ResourceKind.NODE, Operation.REMOVE, node="n7"),
                detections=(CountDetection(exception="LOW", times=2, span=SPAN),),
            ),
        )
        world = World()
        world.workflow(rules)
        a, b = world.register("a"), world.register("b")
        world.tell(a, RecoveryRequest(raised=raised("LOW", "a")))
        world.tell(b, RecoveryRequest(raised=raised("LOW", "b")))
        assert world.ports.wms.calls == 1
        assert world.ports.fake.marked == ["n7"]
        assert world.told(a, RecoveryGrant)[0].transformed == ""
        assert world.told(b, RecoveryGrant)[0].transformed == "HIGH"
