"""The cloud's prices (CCM): a dated TOML file that users edit."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import msgspec

from whesl.cloud.core.plan_records import CLUSTER, Domain, Platform, PriceList, Processor
from whesl.files import toml
from whesl.files.toml import Document

_NAME = re.compile(r"""\s*name\s*=\s*["']([^"']*)["']""")
_HINT = "`whesl cloud prices` prints the file that is used without one, as an example"


_Price = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=86400)]
_Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]


class _Head(msgspec.Struct, kw_only=True):
    dated: datetime.date
    currency: str
    source: str = ""
    assumptions: tuple[str, ...] = ()
    start: _Seconds = 120.0
    least: _Seconds = 60.0
    revoked: _Share = 0.05
    read: _Price | None = None
    write: _Price | None = None
    stored: _Price | None = None
    leaving: _Price | None = None


class _Row(msgspec.Struct, kw_only=True):
    name: str
    price: _Price
    processor: Processor = Processor.CPU
    spot: _Price | None = None
    limit: Annotated[int, msgspec.Meta(ge=0)] = 1_000_000
    start: _Seconds | None = None
    revoked: _Share | None = None
    assumed: bool = False


def default_text() -> str:
    """Return the text of WHESL's own file of prices."""
    return resources.files("whesl.cloud").joinpath("prices.toml").read_text(encoding="utf-8")


def with_numbers(text: str, key: str, found: Mapping[str, float], today: str) -> str:
    """Return the text of a price file with one number of its platforms replaced.

    Args:
        text: the file's text.
        key: ``spot``, the price of a spot instance's hour, or ``limit``, the largest number of instances.
        found: new numbers by platform; other platforms keep theirs.
        today: date of the numbers, for the comment.
    """
    lines, name = [], ""
    own = re.compile(rf"\s*{key}\s*=")
    for line in text.splitlines():
        if match := _NAME.match(line):
            name = match[1]
            lines.append(line)
            if name in found:
                lines.append(f"{key} = {found[name]:g}   # of {today}")
        elif not (name in found and own.match(line)):
            lines.append(line)
    return "\n".join(lines) + "\n"


def load(path: Path | None = None) -> PriceList:
    """Read prices.

    Args:
        path: the file; None for WHESL's own file.

    Raises:
        UsageError: the file cannot be read, a price is missing or negative, or a name occurs twice; all
            errors are named with their lines.
    """
    return parse(default_text(), "prices.toml") if path is None else _prices(toml.load(path, _HINT))


def parse(text: str, path: str) -> PriceList:
    """Return the prices of a text. Raises UsageError as ``load``.

    Args:
        text: the content of a price file, which is TOML.
        path: the file's name for error messages; nothing is read from it.
    """
    return _prices(Document(path, text, _HINT))


def _prices(document: Document) -> PriceList:
    head = document.row(_Head, {key: value for key, value in document.values.items() if key != "platform"})
    rows = document.rows(_Row, "platform")
    if not rows:
        document.wrong("there is no [[platform]]")
    seen: dict[str, int] = {}
    for number, row in enumerate(rows):
        if row is None:
            continue
        if row.name in seen:
            document.wrong(f"platform {row.name!r} is there twice", "platform", number, "name")
        if row.name.strip() in ("", CLUSTER):
            document.wrong(
                f"name {row.name!r}: a text is accepted, but {CLUSTER!r}, which the cluster has",
                "platform",
                number,
                "name",
            )
        seen[row.name] = number
    document.check()
    assert head is not None
    prices = {key: getattr(head, key) for key in ("read", "write", "stored", "leaving")}
    assumptions = list(head.assumptions)
    if missing := [key for key, price in prices.items() if price is None]:
        assumptions.append(f"no price is given for {', '.join(missing)}: counted as free")
    if assumed := [row.name for row in rows if row is not None and row.assumed]:
        assumptions.append(f"the prices of {', '.join(assumed)} are assumed")
    usual = {"start": head.start, "revoked": head.revoked}
    platforms: list[dict[str, Any]] = [
        usual | {key: value for key, value in msgspec.structs.asdict(row).items() if value is not None}
        for row in rows
        if row is not None
    ]
    return PriceList(
        dated=head.dated.isoformat(),
        source=head.source,
        currency=head.currency,
        platforms=tuple(Platform(domain=Domain.CLOUD, **platform) for platform in platforms),
        least=head.least,
        assumptions=tuple(assumptions),
        **{key: price or 0.0 for key, price in prices.items()},
    )
