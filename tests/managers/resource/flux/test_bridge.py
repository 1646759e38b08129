"""The bridge's near end, with programs that die, lie, or say nothing. No Flux needed."""

from __future__ import annotations

import ast
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from whesl.managers.resource.flux.bridge_client import MODULES, PROGRAM, STARTS, Bridge, FluxRefusedError
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError

PRELUDE = """
import json, os, sys
def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
with open(COUNT, "a") as file:
    file.write("x")
starts = os.path.getsize(COUNT)
say(event="hello")
for line in sys.stdin:
    request = json.loads(line)
    number, op = request.pop("id"), request.pop("op")
"""
ECHO = "    say(id=number, ok=[op, request])\n"


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Callable[..., Bridge]]:
    """Return a maker of bridges to a program whose loop has the given body."""
    made: list[Bridge] = []

    def make(body: str, timeout: float = 20.0, prelude: str = PRELUDE, idle: float | None = None) -> Bridge:
        program = tmp_path / "program.py"
        program.write_text(f"COUNT = {str(tmp_path / 'count')!r}\n{prelude}{body}")
        command = [sys.executable, str(program)]
        made.append(Bridge(os.environ, timeout=timeout, idle=idle, program=command))
        return made[-1]

    yield make
    for one in made:
        one.close()


def starts(tmp_path: Path) -> int:
    return (tmp_path / "count").stat().st_size


def test_answers_come_to_who_asked(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    found = bridge(ECHO)
    assert not found.alive
    assert found.call("one", a=1) == ["one", {"a": 1}]
    assert found.call("two") == ["two", {}]
    assert found.alive
    assert starts(tmp_path) == 1


def test_a_long_request_arrives_whole(bridge: Callable[..., Bridge]) -> None:
    assert (
        bridge("    say(id=number, ok=len(request['text']))\n").call("x", text="y" * 1_000_000) == 1_000_000
    )


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (1, FluxRefusedError),
        (22, RefusedError),
        (11, TransientError),
        (110, CouldNotObserveError),
        (113, CouldNotObserveError),
        (0, CouldNotObserveError),
    ],
)
def test_flux_s_refusals(bridge: Callable[..., Bridge], code: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="because of this"):
        bridge(f"    say(id=number, errno={code}, error='because of this')\n").call("x")


def test_a_program_that_dies_is_started_again(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    found = bridge("    if starts == 1: sys.stderr.write('broken'); os._exit(1)\n" + ECHO)
    with pytest.raises(CouldNotObserveError, match="broken"):
        found.call("x")
    assert found.call("y") == ["y", {}]
    assert starts(tmp_path) == 2


def test_a_program_that_nobody_needs_is_ended_and_comes_back(
    bridge: Callable[..., Bridge], tmp_path: Path
) -> None:
    found = bridge(ECHO, idle=0.5)
    assert found.call("x") == ["x", {}]
    until(lambda: not found.alive, "its end", 30.0)
    assert found.call("y") == ["y", {}]
    assert starts(tmp_path) == 2


def test_one_that_starts_slowly_is_not_taken_for_one_that_nobody_needs(
    bridge: Callable[..., Bridge], tmp_path: Path
) -> None:
    late = PRELUDE.replace('say(event="hello")', 'import time; time.sleep(1); say(event="hello")')
    assert bridge(ECHO, prelude=late, idle=0.5).call("x") == ["x", {}]
    assert starts(tmp_path) == 1


def test_one_that_listens_is_kept(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    found = bridge("    say(id=number, ok={'heard': [op]})\n", idle=0.05)
    found.watch()
    time.sleep(0.5)
    assert found.alive
    assert starts(tmp_path) == 1


def test_one_that_dies_always_is_left_alone(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    found = bridge("    os._exit(1)\n")
    for _ in range(STARTS + 3):
        with pytest.raises(CouldNotObserveError):
            found.call("x")
    assert starts(tmp_path) == STARTS


@pytest.mark.parametrize("nonsense", ["{", "[]", "nonsense", '"text"', "\\xff"])
def test_nonsense_is_no_answer(bridge: Callable[..., Bridge], nonsense: str) -> None:
    found = bridge(f"    sys.stdout.write({nonsense!r} + '\\n'); sys.stdout.flush()\n")
    with pytest.raises(CouldNotObserveError):
        found.call("x")


def test_no_answer_is_not_waited_for_for_ever(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    found = bridge("    if op != 'hang': say(id=number, ok=op)\n", timeout=3)
    with pytest.raises(CouldNotObserveError, match="no answer"):
        found.call("hang")
    assert found.call("other") == "other"
    assert starts(tmp_path) == 2


def test_a_look_in_a_hurry_ends_no_program(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    found = bridge("    if op != 'hang': say(id=number, ok=op)\n")
    assert found.call("other") == "other"
    with pytest.raises(CouldNotObserveError):
        found.call("hang", within=0.05)
    assert found.call("other") == "other"
    assert starts(tmp_path) == 1


def test_no_greeting_is_not_reached(bridge: Callable[..., Bridge]) -> None:
    found = bridge("", prelude="import time; time.sleep(60)", timeout=0.5)
    with pytest.raises(CouldNotObserveError, match="not reached"):
        found.call("x")


def test_no_flux_here() -> None:
    with pytest.raises(CouldNotObserveError, match="could not be started"):
        Bridge({"PATH": "/nowhere"}, program=["/nowhere/flux"]).call("x")


def test_news_make_the_descriptor_readable(bridge: Callable[..., Bridge]) -> None:
    body = "    say(id=number, ok={'heard': ['x']}); say(event='node', time=1e12, ranks=[1])\n"
    found = bridge(body)
    descriptor = found.watch()
    assert select.select([descriptor], [], [], 20)[0]
    assert [event["ranks"] for event in found.events()] == [[1]]
    assert not select.select([descriptor], [], [], 0)[0]
    assert found.events() == []


def test_who_hears_nothing_says_so(bridge: Callable[..., Bridge]) -> None:
    with pytest.raises(CouldNotObserveError, match="tells this user nothing"):
        bridge("    say(id=number, ok={'heard': []})\n").watch()


def test_listening_goes_on_after_a_death(bridge: Callable[..., Bridge], tmp_path: Path) -> None:
    """And it goes on where it ended: what was told before is not asked for again."""
    body = (
        "    since = request['since']\n"
        "    say(id=number, ok={'heard': ['x']})\n"
        "    say(event='node', time=since + 1000 * starts, since=since)\n"
        "    if starts < 3: sys.stdout.flush(); os._exit(1)\n"
    )
    found = bridge(body)
    found.watch()
    heard: list[dict[str, float]] = []
    deadline = time.monotonic() + 60
    while len(heard) < 3 and time.monotonic() < deadline:
        heard += found.events()
        time.sleep(0.01)
    assert starts(tmp_path) == 3
    first = heard[0]["since"]
    assert [round(event["since"] - first) for event in heard] == [0, 1000, 3000]


def test_a_host_without_whesl_gets_each_module_of_the_program() -> None:
    """A module that was split off once was missing there, and the program did not start."""
    shipped = {*MODULES, Path(PROGRAM[-1]).stem}
    place = Path(PROGRAM[-1]).parent
    for name in shipped:
        tree = ast.parse((place / f"{name}.py").read_text())
        named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        beside = {module for module in named if (place / f"{module}.py").exists()}
        assert beside <= shipped, name
