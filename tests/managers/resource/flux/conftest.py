"""What the modules here share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from whesl.managers.resource.flux.allocation import FluxAllocation


@pytest.fixture
def opened() -> Iterator[Callable[..., FluxAllocation]]:
    made: list[FluxAllocation] = []

    def make(environ: dict[str, str], **options: object) -> FluxAllocation:
        made.append(FluxAllocation(environ, **options))  # type: ignore[arg-type]  # of any type
        return made[-1]

    yield make
    for allocation in made:
        allocation.close()
