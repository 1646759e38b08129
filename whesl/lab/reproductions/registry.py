"""The experiments by name; an experiment's module is imported when the experiment runs."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from whesl.lab.execution.progress_interface import Progress, Silent
from whesl.lab.results.report_figures import Figure
from whesl.lab.results.report_tables import Table
from whesl.model.errors import UsageError

# The module of each experiment, which registers the experiment with ``@experiment``.
EXPERIMENTS: dict[str, str] = {
    # Workflows (FLAW)
    "flaw-example": "whesl.lab.reproductions.workflow.reproduce",
    "flaw": "whesl.lab.reproductions.workflow.reproduce",
    "stg": "whesl.lab.reproductions.workflow.compare_with_stg_optima",
    # Desktop grid (FFP)
    "desktop": "whesl.lab.reproductions.desktop.reproduce",
    # Torus (BlueGene/L)
    "torus-example": "whesl.lab.reproductions.torus.reproduce",
    "torus-sdsc": "whesl.lab.reproductions.torus.reproduce",
    "torus-nasa": "whesl.lab.reproductions.torus.reproduce",
    "torus-llnl": "whesl.lab.reproductions.torus.reproduce",
    "torus-rates": "whesl.lab.reproductions.torus.reproduce",
    # Several clusters (complete data sets)
    "grid-metacentrum": "whesl.lab.reproductions.grid.reproduce",
    "grid-2013": "whesl.lab.reproductions.grid.reproduce",
    "grid-first-fit": "whesl.lab.reproductions.grid.reproduce_failures",
    "grid-generator": "whesl.lab.reproductions.grid.reproduce_failures",
    # Cluster and cloud
    "cloud-observations": "whesl.lab.reproductions.cloud.reproduce",
    "cloud-small": "whesl.lab.reproductions.cloud.reproduce",
    "cloud-calibration": "whesl.lab.reproductions.cloud.reproduce",
    # Failure predictors
    "predict-weibull": "whesl.lab.reproductions.reproduce_failure_fits",
    "predict-periods": "whesl.lab.reproductions.reproduce_failure_fits",
    "predict-records": "whesl.lab.reproductions.reproduce_failure_fits",
    # Checkpoint models
    "ckpt-ratios": "whesl.lab.reproductions.checkpoints.reproduce",
    "ckpt-overheads": "whesl.lab.reproductions.checkpoints.reproduce",
    "ckpt-observations": "whesl.lab.reproductions.checkpoints.observation_checks",
    "ckpt-alpha": "whesl.lab.reproductions.checkpoints.reproduce",
    "ckpt-lanl": "whesl.lab.reproductions.checkpoints.reproduce_recorded_failures",
}


# Experiments that run faster in plain Python than their event loop compiles.
TOYS = frozenset({"flaw-example"})


@dataclass(frozen=True, slots=True)
class Finding:
    """A printed statement beside its measured counterpart.

    Attributes:
        name: short name for a table.
        source: the document and its figure, table or section.
        statement: the statement in one sentence.
        printed: the printed value, with a unit.
        measured: the measured value, with the same unit.
        holds: whether the statement holds here; None if the traces cannot show it, or if chance decides.
        difference: the difference between the two values, with a unit or in per cent.
        why: the reason why the statement does not hold, or the substitute for missing data.
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
    """The result of an experiment.

    Attributes:
        findings: one finding per statement.
        tables: the results as tables.
        figures: the results as figures.
        values: the output of ``whesl lab reproduce NAME --json``.
    """

    findings: Sequence[Finding] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inputs:
    """What each experiment is given.

    Attributes:
        progress: progress display.
        data: the directory of traces; None if there is none.
        quick: whether to run a smaller version that takes seconds, for tests and first looks.
    """

    progress: Progress = field(default_factory=Silent)
    data: Path | None = None
    quick: bool = False

    def trace(self, file: str) -> Path:
        """Return the path of the trace ``file`` below ``data``; raise UsageError if it is missing."""
        if self.data is None:
            raise UsageError(f"this needs {file}", hint="--data DIR names the directory of traces")
        path = self.data / file
        if not path.exists():
            raise UsageError(f"{path} is not there", hint="--data DIR names the directory of traces")
        return path


Run = Callable[[Inputs], Report]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A registered experiment.

    Attributes:
        name: the experiment's name on the command line.
        source: the reproduced document.
        about: a description of one line.
        run: the function that runs the experiment.
    """

    name: str
    source: str
    about: str
    run: Run


_registered: dict[str, Experiment] = {}

_Function = TypeVar("_Function", bound=Run)


def experiment(name: str, source: str, about: str) -> Callable[[_Function], _Function]:
    """Register a function as an experiment; ``EXPERIMENTS`` has to name the function's module.

    Args:
        name: the experiment's name on the command line.
        source: the reproduced document.
        about: a description of one line.
    """

    def register(run: _Function) -> _Function:
        _registered[name] = Experiment(name, source, about, run)
        return run

    return register


def load(name: str) -> Experiment:
    """Import and return an experiment.

    Raises:
        UsageError: there is no experiment of that name.
    """
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else "`whesl lab reproduce --list` names them"
        raise UsageError(f"no experiment {name!r}", hint=hint)
    importlib.import_module(EXPERIMENTS[name])
    return _registered[name]
