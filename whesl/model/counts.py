"""What counting rules have seen (``whesl.detect.transform``)."""

from __future__ import annotations

import msgspec


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Occurrences not yet used up, for each counting rule: times in seconds, oldest first."""

    counts: dict[str, tuple[float, ...]] = {}
