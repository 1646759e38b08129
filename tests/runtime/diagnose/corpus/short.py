"""Short logs in the words of public reports: ``short.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from whesl.files.toml import load

_STEPS = {
    "@S\n": "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(60)),
    "@L\n": "".join(f"[rank0]: iter {n}/5000 | loss 2.{n:03}\n" for n in range(60)),
    "@T\n": "".join(
        f"[2024-05-07 11:{n // 60:02}:{n % 60:02}] iteration {n} residual 1e-3\n" for n in range(120)
    ),
    "@N\n": "".join(f"{n:6d}  {n * 0.01:8.3f}  1.23456e-03  3.1000\n" for n in range(120)),
    "@R\n": "".join(f"{n % 8}: cycle {n} t={n * 0.01:.2f} dt=1e-3\n" for n in range(160)),
    "@P\n": "".join(f"\rEpoch 3: {n}%|{'#' * (n // 10)}| {n}/100 [00:01<00:10, 9.1it/s]" for n in range(100))
    + "\n",
}


class Short(NamedTuple):
    """A log; the class of its cause, empty where it ended well; texts that the decisive line may hold."""

    name: str
    cls: str
    says: tuple[str, ...]
    log: str


def shorts() -> list[Short]:
    """Return all short logs."""
    found = []
    for name, table in load(Path(__file__).with_name("short.toml"), "").values.items():
        log = table["log"]
        for mark, steps in _STEPS.items():
            log = log.replace(mark, steps)
        found.append(Short(name, table.get("class", ""), tuple(table.get("says", ())), log))
    return found
