"""A Flux instance inside a job, seen through a home that fails for the moment."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import cast

import pytest

from tests.equipment.nfsbed import NfsBed
from whesl.managers.resource.flux.nested_instance import Instance
from whesl.managers.resource.port import Allocation


@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE], ids=["EIO", "ESTALE"])
def test_a_home_that_fails_for_the_moment(nfs_bed: Callable[..., NfsBed], error: int) -> None:
    """One failed look ended the thread that follows the instance, and each srun then waited for 20 s."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    place = bed.at("login") / "flux"
    place.mkdir()
    (place / "uri").write_text("local://here\n")
    instance = Instance(place, cast(Allocation, None), "1.0", {})
    bed.change("login", error=error, error_rate=1.0, error_count=3, operations=("getattr",))
    assert instance.wait_ready() == ""
    bed.change("login", error_count=3, operations=("create", "open"))
    instance.give_up("a reason")
    assert (place / "failed").read_text() == "a reason\n"
    assert instance.wait_ready() == "it was given up"
