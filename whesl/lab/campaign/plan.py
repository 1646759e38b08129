"""A campaign's file: what is varied and what is not, and the cells that come of it.

    name = "policies"
    seed = 42

    [[part]]
    kind = "schedule"
    seeds = 5
    fixed = { log = "SDSC.swf.xz", processors = 128 }
    over = { policy = ["fcfs", "easy"], load = [1.0, 1.2] }

Each combination of the lists in ``over`` is run with each seed. Replicate i has one seed in all combinations
of a part (common random numbers), which depends on the campaign's seed and on i alone.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from whesl.lab import toml
from whesl.lab.toml import line_of
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# name: the module that has ``cell(parameters, seed)``, which returns measures by name.
KINDS = {
    "schedule": "whesl.lab.campaign.schedule",
    "workflow": "whesl.lab.campaign.workflow",
    "torus": "whesl.lab.campaign.torus",
    "grid": "whesl.lab.campaign.grid",
}
FILE_PARAMETERS = ("log", "failures", "resources", "machines", "workflow", "policy")
_ACCEPTED = "accepted: name, seed, and [[part]] with kind, fixed = {...}, over = {NAME = [...]}, seeds"
# More cells than anybody waits for are a slip.
_MOST = 1_000_000


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One simulator with what is varied.

    Attributes:
        kind: one of ``KINDS``, or a module of one's own that has ``cell(parameters, seed)``.
        fixed: parameters that all cells have.
        over: lists of values; each combination is a cell.
        seeds: how many replicates, or which seeds.
    """

    kind: str
    fixed: dict[str, Any] = {}
    over: dict[str, list[Any]] = {}
    seeds: int | list[int] = 1


class Campaign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign's file.

    Attributes:
        part: its parts, at least one.
        name: as in titles.
        seed: of all replicates.
    """

    part: list[Part]
    name: str = "campaign"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One simulation.

    Attributes:
        kind: its simulator.
        parameters: in the file's order.
        seed: of its random draws.
        replicate: which one of the same parameters, from 0.
        key: names its file; the same parameters on the same input files have the same one.
    """

    kind: str
    parameters: dict[str, Any]
    seed: int
    replicate: int
    key: str


def read(path: Path) -> tuple[Campaign, list[Cell]]:
    """Read a campaign's file.

    Args:
        path: the file; names of files in it are relative to its directory.

    Raises:
        UsageError: it is no campaign; with its line.
    """
    campaign, text = toml.read(path, Campaign, _ACCEPTED)
    if not campaign.part:
        raise UsageError(f"{path}: no [[part]]")
    for part in campaign.part:
        if part.kind not in KINDS and not _has_cell(part.kind):
            hint = f"known: {', '.join(KINDS)}, or a module that has cell(parameters, seed)"
            raise UsageError(f"{path}{line_of(text, 'kind')}: no kind {part.kind!r}", hint=hint)
        if both := set(part.fixed) & set(part.over):
            raise UsageError(f"{path}: {sorted(both)[0]} is in `fixed` and in `over`")
        if any(not values for values in part.over.values()):
            raise UsageError(f"{path}: an empty list in `over`")
    cells = list(itertools.islice(_cells(campaign, path), _MOST + 1))
    if len(cells) > _MOST:
        raise UsageError(f"{path}: more than {_MOST:,} cells")
    return campaign, cells


def _has_cell(kind: str) -> bool:
    try:
        return callable(getattr(importlib.import_module(kind), "cell", None))
    except (ImportError, ValueError):
        return False


def _cells(campaign: Campaign, path: Path) -> Iterator[Cell]:
    digests: dict[str, str] = {}
    seen: set[str] = set()
    for part in campaign.part:
        given = part.seeds
        seeds = [derived(campaign.seed, i) for i in range(given)] if isinstance(given, int) else given
        for values in itertools.product(*part.over.values()):
            parameters = {**part.fixed, **dict(zip(part.over, values, strict=True))}
            files = {
                name: _digest(path, value, digests)
                for name, value in parameters.items()
                if name in FILE_PARAMETERS and isinstance(value, str) and _is_file(value)
            }
            located = {
                name: str(path.parent / value) if name in files else value
                for name, value in parameters.items()
            }
            for replicate, seed in enumerate(seeds):
                identity = {"kind": part.kind, "parameters": parameters, "seed": seed, "files": files}
                text = json.dumps(identity, sort_keys=True, default=str)
                key = hashlib.sha256(text.encode()).hexdigest()[:24]
                if key in seen:
                    raise UsageError(
                        f"{path}: the same cell twice: {part.kind} {parameters} with seed {seed}"
                    )
                seen.add(key)
                yield Cell(part.kind, located, seed, replicate, key)


def derived(seed: int, replicate: int) -> int:
    """Return a replicate's seed; it depends on nothing but the two."""
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1, np.uint64)[0] >> 1)


def _is_file(value: str) -> bool:
    """Whether a value is a file's name rather than the name of a policy."""
    return "." in value or "/" in value


def _digest(path: Path, value: str, known: dict[str, str]) -> str:
    """Return the digest of a file's content, so that a cell of an older content is run again."""
    name = value.partition(".py:")[0] + (".py" if ".py:" in value else "")
    if name not in known:
        try:
            known[name] = hashlib.sha256((path.parent / name).read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"{path}: {path.parent / name}: {error.strerror}") from error
    return known[name]
