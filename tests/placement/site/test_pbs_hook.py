"""The decisions of PBS's hook: which jobs ask for which resource, and that enough nodes are left for each."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from tests.placement.site.flux.tables import publish
from whesl.model.errors import CouldNotObserveError
from whesl.placement.site import plugin_paths
from whesl.placement.site.pbs import hook_decisions
from whesl.placement.site.pbs.hook_decisions import Options, Vnode, Waiting
from whesl.placement.site.publish import risk_table

HORIZONS = [int(one) for one in risk_table.HORIZONS]
MEMORY = 16 << 20  # in KiB


@pytest.fixture(scope="module")
def hook() -> Any:
    """The hook's script without PBS: its module ``pbs`` has no event."""
    spec = importlib.util.spec_from_file_location("pbs_hook", plugin_paths.find("pbs/whesl_placement.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pbs", types.ModuleType("pbs"))
        spec.loader.exec_module(module)
    return module


def options(table: Path, *, share: float = 0.5, acts: bool = True) -> Options:
    return {
        "predictions": str(table),
        "packages": "",
        "table": "",
        "acts": acts,
        "share": share,
        "horizons": HORIZONS,
    }


def vnodes(count: int, queue: str = "") -> list[Vnode]:
    return [Vnode(f"n{at}[0]", f"n{at}", queue, 4 if at % 2 else 8, MEMORY, True) for at in range(count)]


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ("2:ncpus=4:mpiprocs=4:mem=8gb+1", (3, 4, 8 << 20)),
        ("ncpus=2:ompthreads=2", (1, 2, 0)),
        ("1:mem=512kb", (1, 1, 512)),
        ("1:ngpus=1", None),
        ("1:host=n01", None),
        ('1:note="a+b"', None),
        ("1:mem=much", None),
        ("", None),
    ],
)
def test_what_a_job_may_need(hook: Any, select: str, found: tuple[int, int, int] | None) -> None:
    if found is None:
        with pytest.raises(ValueError):
            hook.counted(select)
    else:
        assert hook.counted(select) == found


@given(
    chances=st.lists(st.sampled_from([0.01, 0.6, 0.95]), min_size=1, max_size=12),
    share=st.sampled_from([0.1, 0.25, 0.5]),
    need=st.integers(1, 12),
    cpus=st.sampled_from([1, 4, 8]),
    waits=st.integers(0, 12),
)
@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_enough_nodes_are_left(
    hook: Any, tmp_path: Path, chances: list[float], share: float, need: int, cpus: int, waits: int
) -> None:
    """A job that asks for the resource can run on what is left, also one that waits already."""
    table = publish(tmp_path / "t", {f"n{at}": chance for at, chance in enumerate(chances)})
    now = risk_table.read(table).written
    machine = vnodes(len(chances))
    waiting = [Waiting(f"{waits}:ncpus=1:whesl_fit_3600=True", "workq", 3600, now)] if waits else []
    state, unfit = hook_decisions.decided(options(table, share=share), machine, waiting, now)
    out = unfit["whesl_fit_3600"]
    assert len(out) <= share * len(machine)
    assert waits > len(machine) or waits + len(out) <= len(machine)
    assert all(chances[machine.index(one)] >= 0.5 for one in machine if one.name in out)
    asked = hook.chosen(state, f"{need}:ncpus={cpus}", "workq", 3000, now)
    left = [one for one in machine if one.name not in out and one.cpus >= cpus]
    assert asked == ("whesl_fit_3600" if out and len(left) >= need else "")


def test_a_job_that_has_waited_for_its_own_length_frees_its_resource(tmp_path: Path) -> None:
    table = publish(tmp_path / "t", {"n1": 0.9, "n2": 0.01})
    now = risk_table.read(table).written
    for waited, out in ((3000.0, ("n1[0]",)), (3700.0, ())):
        waiting = [Waiting("1:ncpus=1:whesl_fit_3600=True", "workq", 3600, now - waited)]
        _, unfit = hook_decisions.decided(options(table), vnodes(4), waiting, now)
        assert unfit["whesl_fit_3600"] == out
        assert unfit["whesl_fit_7200"] == ("n1[0]",)


def test_a_queue_with_nodes_of_its_own(hook: Any, tmp_path: Path) -> None:
    table = publish(tmp_path / "t", {"n1": 0.9, "n2": 0.01, "n3": 0.01})
    now = risk_table.read(table).written
    state, _ = hook_decisions.decided(
        options(table), [*vnodes(4), Vnode("x", "x", "own", 1, 0, True)], [], now
    )
    assert hook.chosen(state, "1", "workq", None, now) == "whesl_fit_604800"
    assert not hook.chosen(state, "1", "own", None, now)


def test_it_observes_or_has_expired(hook: Any, tmp_path: Path) -> None:
    table = publish(tmp_path / "t", {"n1": 0.9, "n2": 0.01, "n3": 0.01})
    now = risk_table.read(table).written
    state, unfit = hook_decisions.decided(options(table, acts=False), vnodes(4), [], now)
    assert not unfit
    assert not hook.chosen(state, "1", "workq", 60, now)
    state, _ = hook_decisions.decided(options(table), vnodes(4), [], now)
    assert hook.chosen(state, "1", "workq", 60, now)
    assert not hook.chosen(state, "1", "workq", 60, now + 200.0)
    with pytest.raises(CouldNotObserveError):
        hook_decisions.decided(options(tmp_path / "none"), vnodes(4), [], now)
