"""Campaign files: varied and fixed parameters, and the cells (single simulations) that they span.

    name = "policies"
    seed = 42

    [[part]]
    kind = "schedule"
    seeds = 5
    fixed = { log = "SDSC.swf.xz", processors = 128 }
    over = { policy = ["fcfs", "easy"], load = [1.0, 1.2] }

Each combination of the lists in ``over`` is run with each seed. Replicate i has the same seed in all
combinations of a part (common random numbers); that seed depends only on the campaign's seed and on i.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whesl.files import toml
from whesl.model.errors import UsageError

_ACCEPTED = "accepted: name, seed, and [[part]] with kind, fixed = {...}, over = {NAME = [...]}, seeds"
_KINDS = "schedule, workflow, torus, grid, predict, or a module that has cell(parameters, seed)"
# Largest number of cells of a campaign; a larger one is taken for a mistake in the file.
_MOST = 1_000_000


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One part of a campaign: a simulator, its fixed parameters and its varied parameters.

    Attributes:
        kind: name of a simulator, or of a user's module that defines ``cell(parameters, seed)``.
        fixed: parameters with the same value in all cells.
        over: list of values of each varied parameter; each combination of values is a cell.
        seeds: number of replicates, or the list of seeds.
    """

    kind: str
    fixed: dict[str, Any] = {}
    over: dict[str, list[Any]] = {}
    seeds: int | list[int] = 1


class Campaign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a campaign file.

    Attributes:
        part: the campaign's parts, at least one.
        name: the campaign's name in titles.
        seed: the campaign's seed, from which the seeds of all replicates are derived.
    """

    part: list[Part]
    name: str = "campaign"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """One simulation of a campaign.

    Attributes:
        kind: name of the simulator.
        parameters: values by name, in the file's order; names of files include their directory.
        shown: the parameters as the campaign file spells them.
        seed: random seed of the simulation.
        replicate: number of the replicate among the cells with the same parameters, from 0.
        key: base name of the cell's result file; equal parameters and equal input files give equal keys.
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
        files: returns the parameters of a kind whose values name files; None for an unknown kind.

    Raises:
        UsageError: the file is no valid campaign; the message names the line.
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
    """Return a replicate's seed, a function of the campaign's seed and the replicate's number alone.

    Args:
        seed: the campaign's seed.
        replicate: the replicate's number, from 0.
    """
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1, np.uint64)[0] >> 1)


def _digest(path: Path, value: str, known: dict[str, str]) -> str:
    """Return the digest of a file's content; a change of the content makes the cell run again."""
    if value not in known:
        try:
            known[value] = hashlib.sha256((path.parent / value).read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"{path}: {path.parent / value}: {error.strerror}") from error
    return known[value]
