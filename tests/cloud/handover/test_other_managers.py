"""Tasks that are handed over to a real Flux or a real PBS, behind a real sshd on loopback."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud.handover.test_handover import Site
from tests.conftest import need_flux, need_pbs
from tests.equipment.fluxbed import FluxBed
from tests.equipment.pbsbed import PbsBed
from tests.equipment.sshd import Sshd, sshd
from tests.waiting import until
from whesl.managers.resource import scheduler

__all__ = ["sshd"]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("flux", marks=pytest.mark.flux),
        pytest.param("pbs", marks=[pytest.mark.pbs, pytest.mark.xdist_group("pbs")]),
    ],
)
def there(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, str]]]:
    """A cluster's manager, and the environment of its login node."""
    if request.param == "flux":
        need_flux()
        with FluxBed(2) as flux:
            yield "flux", flux.outside
    else:
        need_pbs()
        with PbsBed(2) as pbs:
            yield "pbs", pbs.outside


@pytest.fixture
def site(tmp_path: Path, sshd: Sshd, there: tuple[str, dict[str, str]]) -> Site:
    manager, environment = there
    named = [f"{name}={environment[name]}" for name in ("FLUX_URI", "PBS_CONF_FILE") if name in environment]
    return Site(tmp_path, sshd, " ".join([f"PATH={environment['PATH']}", *named]), manager)


def test_status_files_a_signal_and_lost_owners(site: Site, there: tuple[str, dict[str, str]]) -> None:
    """One run ends by itself, one by a signal, one by the next attempt, one since nobody looks at it."""
    failing = site.start("first", "now", "7")
    out, said = failing.communicate(timeout=90)
    assert failing.returncode == 7, said
    assert out.startswith("on ") and (site.work / "out" / "result").read_text() == "DATA\n"
    assert not list((site.place / "there").iterdir())
    stopped = site.start("second", "wait")
    site.begun("second")
    stopped.send_signal(signal.SIGTERM)
    _, said = stopped.communicate(timeout=90)
    assert stopped.returncode == 128 + signal.SIGTERM, said
    manager, environment = there
    cluster = scheduler(manager, environ=environment)

    def living(run: Path) -> bool:
        record = cluster.find(run.name)
        return record is not None and not record.state.ended

    def without_owner(name: str) -> Path:
        killed = site.start(name, "wait")
        site.begun(name)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        (run,) = (site.place / "there").iterdir()
        return run

    third = without_owner("third")
    assert living(third)
    fourth = without_owner("fourth")
    assert living(fourth) and not living(third), "never two copies"
    until(lambda: not living(fourth), "its lease is over", 90)
