"""Options that several commands have."""

from __future__ import annotations

import pytest

from whesl.cli.options import moment
from whesl.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "time"),
    [("1970-01-02", 86400), ("1970-01-01 01:00", 3600), ("1970-01-01T02:00+02:00", 0)],
)
def test_a_date_counts_in_the_zone_that_it_names(text: str, time: float) -> None:
    """A forecast took a date's own zone for UTC."""
    assert moment("--until", text) == time


def test_what_is_no_date_is_refused() -> None:
    with pytest.raises(UsageError, match="--until 'yesterday' is no date"):
        moment("--until", "yesterday")
