"""The bed's brokers are as Flux's own program for their start would make them."""

from __future__ import annotations

import pytest

from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed

pytestmark = pytest.mark.flux


def test_a_node_behind_the_first_has_loaded_what_flux_would_load() -> None:
    need_flux()
    with FluxBed(nodes=2) as bed:
        second = bed.uri_of("n02")
        wanted = bed.run("flux", "modprobe", "rc1", "--dry-run", FLUX_URI=second).stdout
        loaded = bed.run("flux", "module", "list", FLUX_URI=second).stdout
    modules = {line.split()[1] for line in wanted.splitlines() if line.startswith("load ")}
    assert modules
    assert modules <= {line.split()[0] for line in loaded.splitlines()}
