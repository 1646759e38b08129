"""What is said to need no isolator is what the detectors make nothing of, and nothing is told otherwise."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from tests.runtime.detect.build import SPAN, STDERR, STDOUT, TASK, exception, spec
from whesl.language.detections.exit import CodeRange, ExitDetection
from whesl.language.detections.kinds import Detection
from whesl.language.detections.log import LogDetection, Require
from whesl.language.detections.node import NodeCondition, NodeDetection
from whesl.language.detections.timers import HangDetection, ProgressDetection, SilenceDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Stream
from whesl.runtime.detect import short_task_needs_isolator
from whesl.runtime.detect.task_watch import Watch

OUTPUT = Source(stream=Stream.OUTPUT)
FILE = Source(stream=Stream.FILE, path="run.log")
WORDS = ("fail", "äb", "x y", "step 1", "quota")
STEP = Pattern(text=r"step (?P<n>\d)", regex=True, captures=("n",))


def detection(chance: random.Random) -> Detection:
    source = chance.choice((STDOUT, STDOUT, STDERR, OUTPUT, OUTPUT, FILE)[: chance.choice((5, 5, 6))])
    patterns = tuple(Pattern(text=word) for word in chance.sample(WORDS, chance.randint(1, 2)))
    if chance.random() < 0.1:
        patterns = (STEP,)
    seconds = chance.choice((0.5, 2.0, 60.0, 60.0))
    kinds: list[Detection] = [
        LogDetection(
            patterns=patterns,
            source=source,
            require=chance.choice((Require.ANY, Require.ALL)),
            times=chance.randint(1, 2),
            span=SPAN,
        ),
        ExitDetection(span=SPAN),
        ExitDetection(codes=(CodeRange(first=chance.randint(0, 2), last=3),), span=SPAN),
        HangDetection(pattern=patterns[0], source=source, timeout=seconds, span=SPAN),
        ProgressDetection(pattern=STEP, capture="n", source=source, timeout=seconds, span=SPAN),
        SilenceDetection(timeout=seconds, span=SPAN),
        NodeDetection(condition=NodeCondition.DOWN, span=SPAN),
    ]
    return chance.choice([*kinds, kinds[0], kinds[0]])


def printed(chance: random.Random) -> list[bytes]:
    """Return what is printed at once, one piece after the other; words may be torn."""
    text = " ".join(chance.choices((*WORDS, "well", "\n", "\n", "abc"), k=chance.randint(0, 6))).encode()
    cut = chance.randint(0, len(text))
    return [text[:cut], text[cut:]]


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(300))
def test_a_task_that_needs_no_isolator_raises_nothing_and_is_told_the_same(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    jobs = chance.choice((("solve",), ("*",), ("other",), ("sol*",)))
    some = [exception(f"E{n}", detection(chance), jobs=jobs) for n in range(chance.randint(1, 2))]
    rules = spec(*some, exception("LAST", detection(chance), detection(chance)))
    rules = msgspec.structs.replace(rules, coupled=())
    joined = chance.random() < 0.3
    out = tmp_path / "out"
    err = out if joined else tmp_path / "err"
    out.write_bytes(b"fail before\n")
    setup = {"spec": msgspec.to_builtins(rules), "task": msgspec.to_builtins(TASK), "nodes": ["node"]}
    task = msgspec.structs.replace(TASK, workspace=str(tmp_path))
    sources = {STDOUT: str(out), STDERR: str(err)}
    watch = Watch(rules, task, sources, "node", 0.0)
    found = short_task_needs_isolator.rules(setup)
    begun = {str(file): file.stat().st_size if file.exists() else 0 for file in (out, err)}
    needed = found is None
    output = None
    if found is not None:
        output = short_task_needs_isolator.Output(found, {"stdout": str(out), "stderr": str(err)}, begun)
    raised = []
    for file in (out, err):
        for piece in printed(chance) if chance.random() < 0.6 else []:
            with file.open("ab") as opened:
                opened.write(piece)
            needed = needed or (output is not None and output.matters())
            raised += watch.poll(short_task_needs_isolator.LONGEST * chance.random())
    while True:
        raised += watch.drain(short_task_needs_isolator.LONGEST)
        if watch.drained:
            break
    raised += watch.detectors.exited(0, short_task_needs_isolator.LONGEST)
    unseen = watch.unseen(failed=False)
    watch.close()
    if not needed:
        assert output is not None
        assert not output.matters()
        assert raised == []
        assert output.unseen() == unseen


def test_a_rule_on_nodes_needs_an_isolator_where_there_are_several() -> None:
    rules = spec(exception("LOST", NodeDetection(condition=NodeCondition.DOWN, span=SPAN)))
    setup = {"spec": msgspec.to_builtins(rules), "task": msgspec.to_builtins(TASK)}
    assert short_task_needs_isolator.rules({**setup, "nodes": ["n1"]}) is not None
    assert short_task_needs_isolator.rules({**setup, "nodes": ["n1", "n2"]}) is None
