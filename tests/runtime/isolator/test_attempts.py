"""``attempts`` of JOB.REPLACE: the n-th recovery from an exception takes the n-th entry, then the last."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.isolator.bench import Bench, bench
from tests.runtime.isolator.conftest import World, detect, exception, step
from whesl import language
from whesl.runtime.operations.recovery_step_arguments import of_attempt

__all__ = ["bench"]

Make = Callable[..., World]
BATCHES: list[dict[str, Any]] = [
    {"command_append": "--batch 32", "environment": {"SLOW": "1"}},
    {"command_append": ["--batch", "16"]},
]


@pytest.mark.parametrize(
    ("before", "append", "slow"),
    [
        (0, "--batch 32", {"A": "0", "SLOW": "1"}),
        (1, ["--batch", "16"], {"A": "0"}),
        (7, ["--batch", "16"], {"A": "0"}),
    ],
)
def test_the_entry_of_an_attempt(before: int, append: object, slow: dict[str, str]) -> None:
    given = of_attempt({"environment": {"A": "0"}, "attempts": BATCHES}, before)
    assert given == {"environment": slow, "command_append": append}


def test_each_exception_counts_its_own(world: Make) -> None:
    """A node that was lost meanwhile makes the batch no smaller."""
    shrinks = exception(limit=9, steps=(step(attempts=BATCHES),))
    made = world(shrinks, exception("OTHER", limit=9))
    for name, append in (
        ("CRASH", ("--batch", "32")),
        ("OTHER", ("--batch", "32")),
        ("CRASH", ("--batch", "16")),
        ("CRASH", ("--batch", "16")),
    ):
        detect(made, name).advance(1)
        planned = [data["steps"] for kind, data, _ in made.records if kind == "decided"][-1][0]
        if name == "CRASH":
            assert planned["arguments"]["command_append"] == list(append)
            assert "attempts" not in planned["arguments"]


RULES = """\
DECLARE EXCEPTION OOM JOB_LEVEL JOB [*] LIMIT 3
EXCEPTION DETECTION OOM LOG "CUDA out of memory" output
EXCEPTION RECOVERY STEP OOM JOB JOB.REPLACE {"attempts": %s}
"""


def test_a_smaller_batch_at_each_attempt(bench: Bench) -> None:
    script = (
        'echo "batch ${*: -1} ${SLOW-}"\n[ "${*: -1}" -lt 20 ] || { echo CUDA out of memory >&2; exit 1; }\n'
    )
    rules = bench.rules(RULES % json.dumps(BATCHES))
    code, out, _ = bench.run(*bench.script(script), "64", options=("-e", rules))
    assert (code, out.splitlines()) == (0, ["batch 64 ", "batch 32 1", "batch 16 1"])


def finding(arguments: str, entity: str = "JOB") -> list[tuple[str, str]]:
    text = (
        "DECLARE ENTITY JOB, SCHEDULER\nDECLARE EXCEPTION_TYPE WORKFLOW_LEVEL\n"
        "DECLARE RESOURCE JOB[REPLACE]\nDECLARE EXCEPTION E WORKFLOW_LEVEL JOB [*]\n"
        "EXCEPTION DETECTION E EXIT CODE 1\n"
        f"EXCEPTION RECOVERY STEP E {entity} JOB.REPLACE {arguments}\n"
    )
    return [(each.code, each.message) for each in language.parse(text, "t.esl").diagnostics]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ('{"attempts": {}}', "ESL072", "takes a list of objects"),
        ('{"attempts": []}', "ESL073", "is empty"),
        ('{"attempts": [1]}', "ESL072", "takes a list of objects"),
        ('{"attempts": [{}, {"batch": 3}]}', "ESL070", "attempts[2] has no argument 'batch'"),
        ('{"attempts": [{"attempts": []}]}', "ESL070", "attempts[1] has no argument 'attempts'"),
        ('{"attempts": [{"workdir": "/a"}]}', "ESL070", "attempts[1] has no argument 'workdir'"),
        ('{"attempts": [{"nodes": "x"}]}', "ESL072", "attempts[1]: 'nodes' takes a whole number"),
        (
            '{"attempts": [{"command_append": "a | b"}]}',
            "ESL073",
            "attempts[1]: 'command_append' uses the shell",
        ),
        ('{"attempts": [{"environment": {"A": "${x}"}}]}', "ESL074", "captures x"),
        ('{"memory": "lots"}', "ESL073", "'memory' is no size"),
        ('{"memory": 64}', "ESL072", "'memory' takes a size"),
    ],
)
def test_what_is_wrong_is_said(arguments: str, code: str, said: str) -> None:
    assert any(found == code and said in message for found, message in finding(arguments, "SCHEDULER"))


@pytest.mark.parametrize(
    "arguments", ['{"time": 90}', '{"memory": "64G"}', '{"attempts": [{}, {"memory": "64G"}]}']
)
def test_time_and_memory_are_a_new_run_s(arguments: str) -> None:
    """``time`` was taken by every step, and nobody ever gave it."""
    assert finding(arguments, "SCHEDULER") == []
    ((code, said),) = finding(arguments, "JOB")
    assert code == "ESL088" and "only a new run of it gets another" in said
