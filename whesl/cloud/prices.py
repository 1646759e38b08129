"""CCM: prices as a dated TOML file that users edit."""

from __future__ import annotations

import datetime
import re
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

from whesl.cloud.core.records import Domain, Platform, PriceList, Processor
from whesl.model import toml
from whesl.model.toml import Document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NAME, _SPOT = re.compile(r"""\s*name\s*=\s*["']([^"']*)["']"""), re.compile(r"\s*spot\s*=")
_HINT = "`whesl cloud prices` prints the file that is used without one, as an example"


class _Head(msgspec.Struct, kw_only=True):
    dated: datetime.date
    currency: str
    source: str = ""
    assumptions: tuple[str, ...] = ()
    start: float = 120.0
    least: float = 60.0
    revoked: float = 0.05
    read: float | None = None
    write: float | None = None
    stored: float | None = None
    leaving: float | None = None


class _Row(msgspec.Struct, kw_only=True):
    name: str
    price: float
    processor: Processor = Processor.CPU
    spot: float | None = None
    limit: int = 1_000_000
    start: float | None = None
    revoked: float | None = None
    assumed: bool = False


def default_text() -> str:
    """Return the file that comes with the project."""
    return resources.files("whesl.cloud").joinpath("prices.toml").read_text(encoding="utf-8")


def with_spot(text: str, spot: Mapping[str, float], today: str) -> str:
    """Return a file's text with other spot prices.

    Args:
        text: the file's.
        spot: prices of an hour by platform; the others' are left as they are.
        today: when they are asked for, for the comment.
    """
    lines, name = [], ""
    for line in text.splitlines():
        if match := _NAME.match(line):
            name = match[1]
            lines.append(line)
            if name in spot:
                lines.append(f"spot = {spot[name]:g}   # of {today}")
        elif not (name in spot and _SPOT.match(line)):
            lines.append(line)
    return "\n".join(lines) + "\n"


def load(path: Path | None = None) -> PriceList:
    """Read prices.

    Args:
        path: the file; None for the one that comes with the project.

    Raises:
        UsageError: it cannot be read, a price is missing or negative, or a name stands twice; all errors are
            named with their lines.
    """
    return parse(default_text(), "prices.toml") if path is None else _prices(toml.load(path, _HINT))


def parse(text: str, path: str) -> PriceList:
    """Return the prices of a text. Raises UsageError as ``load``."""
    return _prices(Document(path, text, _HINT))


def _prices(document: Document) -> PriceList:
    head = document.row(_Head, {key: value for key, value in document.values.items() if key != "platform"})
    rows = document.rows(_Row, "platform")
    if not rows:
        document.wrong("there is no [[platform]]")
    if head is not None:
        for key in ("start", "least", "read", "write", "stored", "leaving"):
            value = getattr(head, key)
            if value is not None and not 0 <= value < float("inf"):
                document.wrong(f"{key} is {value:g}; a number from 0 is accepted", key=key)
        if not 0 <= head.revoked < 1:
            document.wrong(
                f"revoked is {head.revoked:g}; a share from 0 to below 1 is accepted", key="revoked"
            )
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        if row is None:
            continue
        if row.name in seen:
            document.wrong(f"platform {row.name!r} is there twice", "platform", number, "name")
        seen[row.name] = number
        for key in ("price", "spot", "start"):
            value = getattr(row, key)
            if value is not None and not 0 <= value < float("inf"):
                document.wrong(
                    f"{key} of {row.name} is {value:g}; a number from 0 is accepted", "platform", number, key
                )
        if row.revoked is not None and not 0 <= row.revoked < 1:
            document.wrong(
                f"revoked of {row.name} is {row.revoked:g}; a share from 0 to below 1 is accepted",
                "platform",
                number,
                "revoked",
            )
        if row.limit < 1:
            document.wrong(
                f"limit of {row.name} is {row.limit}; at least 1 is accepted", "platform", number, "limit"
            )
    document.check()
    assert head is not None
    missing = [key for key in ("read", "write", "stored", "leaving") if getattr(head, key) is None]
    assumptions = list(head.assumptions)
    if missing:
        assumptions.append(f"no price is given for {', '.join(missing)}: counted as free")
    if assumed := [row.name for row in rows if row is not None and row.assumed]:
        assumptions.append(f"the prices of {', '.join(assumed)} are assumed")
    return PriceList(
        dated=head.dated.isoformat(),
        source=head.source,
        currency=head.currency,
        platforms=tuple(
            Platform(
                name=row.name,
                domain=Domain.CLOUD,
                processor=row.processor,
                price=row.price,
                start=head.start if row.start is None else row.start,
                limit=row.limit,
                spot=row.spot,
                revoked=head.revoked if row.revoked is None else row.revoked,
                assumed=row.assumed,
            )
            for row in rows
            if row is not None
        ),
        read=head.read or 0.0,
        write=head.write or 0.0,
        stored=head.stored or 0.0,
        leaving=head.leaving or 0.0,
        least=head.least,
        assumptions=tuple(assumptions),
    )
