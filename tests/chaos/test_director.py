"""The director's choice, the bookkeeping of losses, and the verdict: pure."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.director import KINDS, Fault, Losses, NodeView, TaskView, View, choose
from tests.chaos.programs import work
from tests.chaos.verdict import Verdict, by_kind, failure_asked, ledger_faults, output_faults
from tests.chaos.workload import Places, expected, plan, write
from whesl import language
from whesl.managers.workflow.batch.manager import Batch


def task(name: str = "solve-0", **changes: Any) -> TaskView:
    return TaskView(**{"name": name, "batch_host": "n01", "nodes": ("n01", "n02", "n03"), **changes})


def view(*tasks: TaskView, **changes: Any) -> View:
    nodes = tuple(NodeView(name=f"n{number:02d}") for number in range(1, 5))
    return View(**{"nodes": nodes, "tasks": tasks, "disks": ("/a", "/b"), **changes})


def test_a_seed_repeats_the_choice_and_another_one_makes_another() -> None:
    seen = view(task(), task("prepare-1", batch_host="n04", nodes=("n04",)))
    first = [choose(7, number, seen) for number in range(200)]
    assert first == [choose(7, number, seen) for number in range(200)]
    assert first != [choose(8, number, seen) for number in range(200)]
    assert {fault.kind for fault in first if fault} == set(KINDS), "a kind that is never chosen"


def test_only_what_is_there_may_fail() -> None:
    assert choose(1, 0, view(disks=(), coordinator=False, controller=False), ("disk filled",)) is None
    idle = view(coordinator=False, controller=False, home=False, disks=(), out=2)
    assert all(choose(1, number, idle) is None for number in range(50))
    ranks = view(task(ranks=0), task("prepare-1", ranks=1))
    assert {f.target for n in range(50) if (f := choose(1, n, ranks, ("rank killed",)))} == {"prepare-1"}


def targets(seen: View, kind: str = "node killed") -> set[str]:
    return {fault.target for number in range(100) if (fault := choose(1, number, seen, (kind,)))}


def test_no_task_loses_more_than_its_rules_can_bear() -> None:
    assert targets(view(task())) == {"n01", "n02", "n03", "n04"}
    # Run again already: the spare is left, the batch host is not.
    assert targets(view(task(again=False))) == {"n02", "n03", "n04"}
    assert targets(view(task(again=False, spares=0))) == {"n04"}
    assert targets(view(task(again=False, spares=0, fragile=True))) == {"n01", "n02", "n03", "n04"}
    # Its script has not begun, or is over and Slurm does not know it.
    assert targets(view(task(under_way=False))) == {"n02", "n03", "n04"}
    assert targets(view(out=2)) == set()


def test_agents_are_killed_together_only_where_the_node_may_be_lost() -> None:
    assert targets(view(task()), "agents killed") == {"n01", "n02", "n03"}
    assert targets(view(task(agents=0)), "agents killed") == set()
    assert targets(view(task(again=False, spares=0)), "agents killed") == set()


def test_a_failure_is_predicted_where_it_could_be_borne() -> None:
    """A prediction that comes true is a loss, and one that does not costs a spare all the same."""
    assert targets(view(task(again=False)), "node predicted") == {"n02", "n03", "n04"}
    assert targets(view(out=2), "node predicted") == set()


def test_an_isolator_is_not_killed_beyond_its_keepers_limit() -> None:
    often = view(task(isolator_kills=3), task("prepare-1"))
    assert targets(often, "isolator killed") == {"prepare-1"}


def test_losses_are_counted_for_each_run_of_a_job() -> None:
    losses = Losses()
    run = task("solve-0", nodes=("n01", "n02", "n03"))
    losses.lost("n02", (run,))
    losses.lost("n02", (run,))  # the same node once more
    losses.lost("n04", (run,))  # none of its nodes
    assert (losses.spares("solve-0", 1), losses.ran_again("solve-0")) == (0, False)
    losses.lost("n03", (task("solve-0", nodes=("n01", "n02", "n03"), spares=0),))
    assert (losses.spares("solve-0", 1), losses.ran_again("solve-0")) == (1, True)
    losses.lost("n01", (task("solve-1", batch_host="n01", nodes=("n01",)),))
    assert losses.ran_again("solve-1")
    assert not losses.ran_again("solve-2")


@pytest.mark.parametrize("count", [6, 10, 14, 40])
def test_the_workload_is_one_that_whesl_run_takes(count: int, tmp_path: Path) -> None:
    jobs = plan(count, 20)
    assert len(jobs) == len({job.name for job in jobs}) == count
    places = Places(root=tmp_path)
    places.make()
    sources, rules = write(jobs, places, 0.1)
    workflow = Batch().read(sources, workflow="w")
    spec = language.load(str(rules), workflow)
    assert next(exception.name for exception in spec.exceptions if exception.steps) == "NODELOST"
    before = {"w/" + job.name: {"w/" + name for name in job.after} for job in jobs}
    assert {item.id: set(item.parents) for item in workflow.tasks} == before


def finish(places: Places, root: Path, name: str, state: str, parts: dict[str, bytes]) -> Path:
    place = root / places.relative(name)
    place.mkdir(parents=True)
    (place / "result.json").write_text(f'{{"task": "{name}", "state": "{state}"}}')
    for part, data in parts.items():
        (place / part).write_bytes(data)
    return place


def test_outputs_are_compared_with_what_was_computed_beforehand(tmp_path: Path) -> None:
    places = Places(root=tmp_path)
    jobs = plan(6, 10)
    job = jobs[1]
    state, parts = expected(jobs)[job.name]
    assert sorted(parts) == ["part-0005", "part-0010"]
    assert output_faults(places, job, state, parts) == [f"{job.name}: there is no result"]
    place = finish(places, places.relief, job.name, state, parts)
    assert output_faults(places, job, state, parts) == []
    (place / "part-0005").write_bytes(work.part("other"))
    assert "part-0005" in output_faults(places, job, state, parts)[0]
    (place / "result.json").write_text('{"task": "x", "state": "y"}')
    assert "wrong result" in output_faults(places, job, state, parts)[0]


def test_the_ledger_proves_what_ran() -> None:
    job = plan(6, 10)[0]
    start = {"event": "start", "time": 1.0, "node": "n01", "job": "7", "restarts": "0"}
    end = {**start, "event": "end", "time": 2.0, "state": "s"}
    assert ledger_faults(job, [start, end], 3.0, "s") == []
    assert "wrong state" in ledger_faults(job, [start, end], 3.0, "other")[0]
    assert "without having reached" in ledger_faults(job, [start], 3.0, "s")[0]
    assert (
        "while another was alive"
        in ledger_faults(job, [start, {**start, "event": "overlap"}, end], 3.0, "s")[0]
    )
    assert "after its end" in ledger_faults(job, [start, end, {**start, "time": 4.0}], 3.0, "s")[0]


def test_only_a_failure_that_the_rules_ask_for_is_accepted() -> None:
    solve, fragile = plan(6, 10)[1], plan(6, 10)[3]
    assert (solve.fragile, fragile.fragile) == (False, True)
    row = {"task": "w/x", "state": "failed", "reason": "FRAGILE: limit of 1 reached"}
    raised = [{"exception": "FRAGILE", "task": "w/x"}]
    assert failure_asked(fragile, row, raised, 2)
    assert not failure_asked(fragile, row, [], 2), "nothing was raised"
    assert not failure_asked(fragile, row, raised, 0), "no fault explains it"
    assert not failure_asked(fragile, {**row, "reason": ""}, raised, 2), "not told why"
    assert not failure_asked(fragile, {**row, "state": "running"}, raised, 2), "not told at all"
    assert not failure_asked(solve, row, raised, 2)
    spent = {**row, "reason": "its batch host is lost; the job was run again already, and is not ..."}
    assert failure_asked(solve, spent, [], 2)
    assert not failure_asked(solve, spent, [], 1)


def test_faults_are_told_by_kind() -> None:
    fault = Fault(number=1, kind="node killed", target="n01", pick=0, seconds=1)
    verdict = Verdict(completed=["a"], failed={"b": "as asked"})
    (row,) = by_kind([(fault, ("a", "b")), (fault, ("a",))], verdict)
    assert row == {"kind": "node killed", "injected": 2, "hit": 3, "survived": 2, "failed": 1}


def test_the_expected_result_is_what_the_program_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program, run here without a cluster, and started twice as after a crash."""
    places = Places(root=tmp_path)
    places.make()
    jobs = plan(6, 10)
    job = next(job for job in jobs if job.name == "prepare-0")
    state, parts = expected(jobs)[job.name]
    out = places.scratch / places.relative(job.name)
    words = ["--task", job.name, "--cycles", str(job.cycles), "--pace", "0", "--out", str(out)]
    words += ["--ledger", str(places.ledger), "--hub", "127.0.0.1", "--alone"]
    for token in ("one", "two"):
        monkeypatch.setenv("WHESL_ATTEMPT_TOKEN", token)
        monkeypatch.setattr("sys.argv", ["work.py", *words])
        assert work.main() == 0
    assert f"start at cycle = {job.cycles}" in capsys.readouterr().out
    assert output_faults(places, job, state, parts) == []
    events = Counter(line.split('"event": "')[1].split('"')[0] for line in ledger(places, job.name))
    # The first run's lock is held by this very process, so the second one has to tell.
    assert events == {"start": 2, "end": 2, "overlap": 1}


def ledger(places: Places, name: str) -> list[str]:
    return (places.ledger / f"{name}.jsonl").read_text().splitlines()
