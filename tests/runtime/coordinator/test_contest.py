"""Another job claims a task whose owner may have ended: it waits for the manager's answer."""

from __future__ import annotations

from tests.runtime.coordinator.world import World
from whesl.model.states import JobState, TaskState
from whesl.runtime.coordinator.core import contested_claims
from whesl.runtime.coordinator.json_views import health_view
from whesl.runtime.wire.messages import Command, Finished, Welcome


def claim(world: World, seconds: float, *alive: str) -> tuple[str, Welcome]:
    """A second job's isolator registers, as often as it is told to, for so many seconds."""

    def answer() -> Welcome:
        peer = world.register("a", job="job-2")
        return [each for to, each in world.sent if to == peer and isinstance(each, Welcome)][-1]

    welcome = answer()
    for _ in range(int(seconds / contested_claims.AGAIN)):
        if not welcome.again:
            break
        world.wait(welcome.again, *alive)
        welcome = answer()
    return "w/a#job-2.0", welcome


def test_the_next_job_runs_when_the_manager_says_that_the_owner_s_has_ended(world: World) -> None:
    """Its node died with its last words, a moment ago: nobody has called it silent yet."""
    world.register("a")
    world.ports.fake.put("job-a", JobState.NODE_FAIL, raw_state="NODE_FAIL")
    peer, welcome = claim(world, 30)
    assert welcome.admitted
    assert world.task("a").peer == peer and world.task("a").job_id == "job-2"
    assert not world.kinds("refused")


def test_a_manager_s_answer_that_cannot_be_written_down_is_waited_for(world: World) -> None:
    """The coordinator's disk was full for longer than a silent manager is waited for."""
    world.register("a")
    world.ports.fake.put("job-a", JobState.FAILED, raw_state="FAILED")
    world.full = True
    _, welcome = claim(world, 1.5 * contested_claims.LIMIT)
    assert not welcome.admitted and welcome.again
    world.full = False
    peer, welcome = claim(world, 30)
    assert welcome.admitted and world.task("a").peer == peer
    assert not world.kinds("refused")


def test_a_manager_that_answers_again_is_believed_at_once(world: World) -> None:
    """It could not be asked for as long as it is waited for, and answers before the claim is made again."""
    world.register("a")
    world.ports.fake.put("job-a", JobState.FAILED, raw_state="FAILED")
    world.ports.fake.silent = 10_000
    world.wait(60)  # silent
    claim(world, contested_claims.LIMIT - 2 * contested_claims.AGAIN)
    world.wait(15)  # its isolator's next message is lost
    world.ports.fake.silent = 0
    for _ in range(30):
        if world.task("a").over:
            break
        world.wait(1)
    assert world.task("a").over and not world.task("a").state.final
    peer, welcome = claim(world, 30)
    assert welcome.admitted and world.task("a").peer == peer
    assert not world.kinds("refused")


def test_it_is_refused_when_the_owner_is_heard(world: World) -> None:
    owner = world.register("a")
    world.ports.fake.silent = 1000
    _, welcome = claim(world, 30, owner)
    assert not welcome.admitted and not welcome.again and "job-a" in welcome.reason
    assert world.task("a").peer == owner


def test_it_is_refused_when_the_manager_says_that_the_owner_s_job_runs(world: World) -> None:
    owner = world.register("a")
    _, welcome = claim(world, 30)
    assert not welcome.admitted and not welcome.again
    assert world.task("a").peer == owner


def test_a_manager_that_cannot_be_asked_is_named_with_the_way_out(world: World) -> None:
    owner = world.register("a")
    world.wait(60)  # silent
    assert world.task("a").state is TaskState.UNOBSERVED
    world.ports.fake.silent = 10_000
    peer, welcome = claim(world, 2 * contested_claims.LIMIT)
    assert not welcome.admitted and not welcome.again
    assert "no answer" in welcome.reason and "whesl cancel w/a" in welcome.reason
    (said,) = health_view(world.state, {}, 0)["unreachable"]
    assert said == {"rjms": "fake", "why": "no answer", "tasks": ["w/a"]}
    world.tell("cli-2", Command(id="c", action="cancel", target="w/a"))
    assert world.register("a", job="job-2") == peer
    assert world.task("a").peer == peer != owner


def test_an_owner_that_was_only_out_of_reach_ends_and_the_next_one_runs(world: World) -> None:
    owner = world.register("a")
    world.ports.fake.silent = 1000
    peer = world.register("a", job="job-2")
    world.tell(owner, Finished(task="w/a", state=TaskState.FAILED, exit_code=1, attempts=1))
    world.register("a", job="job-2")
    assert world.told(peer, Welcome)[-1].admitted and world.task("a").peer == peer


def test_what_a_manager_answers_again_is_said_no_more(world: World) -> None:
    world.register("a")
    world.wait(60)
    world.ports.fake.silent = 1000
    world.wait(15)
    assert health_view(world.state, {}, 0)["unreachable"]
    world.ports.fake.silent = 0
    world.wait(30)
    assert not health_view(world.state, {}, 0)["unreachable"]
