"""A campaign's file: varied and fixed parameters, and the cells that they span.

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
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from whesl.files import toml
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ACCEPTED = "accepted: name, seed, and [[part]] with kind, fixed = {...}, over = {NAME = [...]}, seeds"
_KINDS = "schedule, workflow, torus, grid, predict, or a module that has cell(parameters, seed)"
# More cells than anybody waits for are a slip.
_MOST = 1_000_000


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One simulator with what is varied.

    Attributes:
        kind: a simulator, or a module of one's own that has ``cell(parameters, seed)``.
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
        parameters: in the file's order, names of files with their directory.
        shown: the same as they stand in the file.
        seed: of its random draws.
        replicate: which one of the same parameters, from 0.
        key: names its file; the same parameters on the same input files have the same one.
    """

    kind: str
    parameters: dict[str, Any]
    shown: dict[str, Any]
    seed: int
    replicate: int
    key: str


def read(path: Path, files: Callable[[str], frozenset[str] | None]) -> tuple[Campaign, list[Cell]]:
    """Read a campaign's file.

    Args:
        path: the file; names of files in it are relative to its directory.
        files: returns which parameters of a kind name files; None for a kind that it does not know.

    Raises:
        UsageError: it is no campaign; with its line.
    """
    document = toml.load(path, _ACCEPTED)
    campaign = document.whole(Campaign)
    if not campaign.part:
        document.wrong("no [[part]]")
    if campaign.seed < 0:
        document.wrong("seed is below 0", key="seed")
    for number, part in enumerate(campaign.part):
        if files(part.kind) is None:
            document.wrong(f"no kind {part.kind!r}; accepted are {_KINDS}", "part", number, "kind")
        if both := set(part.fixed) & set(part.over):
            document.wrong(f"{sorted(both)[0]} is in `fixed` and in `over`", "part", number, "over")
        seeds = part.seeds
        if (seeds < 1) if isinstance(seeds, int) else (not seeds or min(seeds) < 0):
            document.wrong("seeds is how many replicates, or a list of seeds from 0", "part", number, "seeds")
        if "seed" in {*part.fixed, *part.over}:
            document.wrong("seed is no parameter: `seeds` says which", "part", number, "fixed")
        if any(not values for values in part.over.values()):
            document.wrong("an empty list in `over`", "part", number, "over")
    document.check()
    cells = list(itertools.islice(_cells(campaign, path, files), _MOST + 1))
    if len(cells) > _MOST:
        raise UsageError(f"{path}: more than {_MOST:,} cells")
    return campaign, cells


def _cells(campaign: Campaign, path: Path, files: Callable[[str], frozenset[str] | None]) -> Iterator[Cell]:
    digests: dict[str, str] = {}
    seen: set[str] = set()
    for part in campaign.part:
        given = part.seeds
        seeds = [derived(campaign.seed, i) for i in range(given)] if isinstance(given, int) else given
        for values in itertools.product(*part.over.values()):
            parameters = {**part.fixed, **dict(zip(part.over, values, strict=True))}
            located, contents = dict(parameters), {}
            for name in (files(part.kind) or frozenset()) & parameters.keys():
                given_names = parameters[name] if isinstance(parameters[name], list) else [parameters[name]]
                contents[name] = [_digest(path, str(value), digests) for value in given_names]
                paths = [str(path.parent / str(value)) for value in given_names]
                located[name] = paths if isinstance(parameters[name], list) else paths[0]
            for replicate, seed in enumerate(seeds):
                identity = {"kind": part.kind, "parameters": parameters, "seed": seed, "files": contents}
                text = json.dumps(identity, sort_keys=True, default=str)
                key = hashlib.sha256(text.encode()).hexdigest()[:24]
                if key in seen:
                    raise UsageError(
                        f"{path}: the same cell twice: {part.kind} {parameters} with seed {seed}"
                    )
                seen.add(key)
                yield Cell(part.kind, located, parameters, seed, replicate, key)


def derived(seed: int, replicate: int) -> int:
    """Return a replicate's seed; it depends on nothing but the two."""
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1, np.uint64)[0] >> 1)


def _digest(path: Path, value: str, known: dict[str, str]) -> str:
    """Return the digest of a file's content, so that a cell of an older content is run again."""
    if value not in known:
        try:
            known[value] = hashlib.sha256((path.parent / value).read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"{path}: {path.parent / value}: {error.strerror}") from error
    return known[value]
