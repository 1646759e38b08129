"""The experiments by name. Each stands in a module of the part that it is about, imported when it is run."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whesl.lab.results.table_and_figure import Figure, Table
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whesl.lab.execution.progress_interface import Progress

# name: the module that registers it with ``@experiment``.
EXPERIMENTS: dict[str, str] = {
    # FLAW
    "flaw-example": "whesl.lab.reproductions.workflow.reproduce",
    "flaw": "whesl.lab.reproductions.workflow.reproduce",
    "stg": "whesl.lab.reproductions.workflow.compare_with_stg_optima",
    # FFP
    "desktop": "whesl.lab.reproductions.desktop.reproduce",
    # BlueGene/L
    "torus-example": "whesl.lab.reproductions.torus.reproduce",
    "torus-sdsc": "whesl.lab.reproductions.torus.reproduce",
    "torus-nasa": "whesl.lab.reproductions.torus.reproduce",
    "torus-llnl": "whesl.lab.reproductions.torus.reproduce",
    "torus-rates": "whesl.lab.reproductions.torus.reproduce",
    # Complete data sets
    "grid-metacentrum": "whesl.lab.reproductions.grid.reproduce",
    "grid-2013": "whesl.lab.reproductions.grid.reproduce",
    "grid-first-fit": "whesl.lab.reproductions.grid.reproduce_failures",
    "grid-generator": "whesl.lab.reproductions.grid.reproduce_failures",
    # A cluster and a cloud
    "cloud-observations": "whesl.lab.reproductions.cloud.reproduce",
    "cloud-small": "whesl.lab.reproductions.cloud.reproduce",
    "cloud-calibration": "whesl.lab.reproductions.cloud.reproduce",
    # Predictors
    "predict-weibull": "whesl.lab.reproductions.reproduce_failure_fits",
    "predict-periods": "whesl.lab.reproductions.reproduce_failure_fits",
    "predict-records": "whesl.lab.reproductions.reproduce_failure_fits",
    # Checkpoints
    "ckpt-ratios": "whesl.lab.reproductions.checkpoints.reproduce",
    "ckpt-overheads": "whesl.lab.reproductions.checkpoints.reproduce",
    "ckpt-observations": "whesl.lab.reproductions.checkpoints.observation_checks",
    "ckpt-alpha": "whesl.lab.reproductions.checkpoints.reproduce",
    "ckpt-lanl": "whesl.lab.reproductions.checkpoints.reproduce_recorded_failures",
}


# Those that take less in plain Python than to compile them.
TOYS = frozenset({"flaw-example"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One printed statement beside what was measured here.

    Attributes:
        name: short, for a table.
        source: the document and its figure, table or section.
        statement: what it says, in one sentence.
        printed: its figure, with a unit.
        measured: what came out here, with the same unit.
        holds: whether it holds here; None where the traces cannot show it, or chance decides.
        difference: by how much it differs, with a unit or in per cent.
        why: the reason where it does not hold, or what was put in place of what is lacking.
    """

    name: str
    source: str
    statement: str
    printed: str
    measured: str
    holds: bool | None
    difference: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What an experiment returns.

    Attributes:
        findings: statement by statement.
        tables: its figures as numbers.
        figures: as pictures.
        values: what ``whesl lab reproduce NAME --json`` prints.
    """

    findings: Sequence[Finding] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


class Run(Protocol):
    """An experiment's function."""

    def __call__(self, progress: Progress, data: Path | None, quick: bool) -> Report:
        """Run it.

        Args:
            progress: told how far it is.
            data: the directory of traces; None where there is none.
            quick: smaller, in seconds: for tests and first looks.

        Raises:
            WheslError: the traces that it needs are not there.
        """


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that is registered.

    Attributes:
        name: as on the command line.
        source: the document.
        about: one line.
        run: the function.
    """

    name: str
    source: str
    about: str
    run: Run


_registered: dict[str, Experiment] = {}

_Function = TypeVar("_Function", bound=Run)


def experiment(name: str, source: str, about: str) -> Callable[[_Function], _Function]:
    """Register a function as an experiment; its module stands in ``EXPERIMENTS``.

    Args:
        name: as on the command line.
        source: the document.
        about: one line.
    """

    def register(run: _Function) -> _Function:
        _registered[name] = Experiment(name, source, about, run)
        return run

    return register


def load(name: str) -> Experiment:
    """Import and return an experiment.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else "`whesl lab reproduce --list` names them"
        raise UsageError(f"no experiment {name!r}", hint=hint)
    importlib.import_module(EXPERIMENTS[name])
    return _registered[name]


def needed(data: Path | None, file: str) -> Path:
    """Return a trace's path.

    Args:
        data: the directory of traces, as an experiment got it.
        file: the path below it.

    Raises:
        UsageError: it is not there.
    """
    if data is None:
        raise UsageError(f"this needs {file}", hint="--data DIR names the directory of traces")
    path = data / file
    if not path.exists():
        raise UsageError(f"{path} is not there", hint="--data DIR names the directory of traces")
    return path
