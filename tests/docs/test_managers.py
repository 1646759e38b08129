"""The pages of workflow managers are what the tests' table says, with each manager once."""

from __future__ import annotations

import runpy
from pathlib import Path

from tests.managers.table import ELSEWHERE, MANAGERS, UNTRIED

ROOT = Path(__file__).resolve().parents[2]
# Document 003, table 4.1, and Merlin.
NAMED = [
    "Snakemake",
    "Cylc",
    "RADICAL-EnTK",
    "Cromwell",
    "RADICAL-AsyncFlow",
    "SmartSim",
    "FireWorks",
    "Makeflow",
    "Work Queue",
    "TaskVine",
    "AiiDA",
    "Toil",
    "Covalent",
    "libEnsemble",
    "Pegasus",
    "Dask",
    "Globus Compute",
    "Swift/T",
    "Parsl",
    "Nextflow",
    "Maestro",
    "PyCOMPSs",
    "Galaxy",
    "pyiron",
    "executorlib",
    "Merlin",
]


def test_the_pages_are_the_table_s() -> None:
    docs = ROOT / "docs"
    made = runpy.run_path(str(ROOT / "tools" / "managers_page.py"))["pages"]()
    found = {str(file.relative_to(docs)): file.read_text() for file in docs.glob("managers/*.md")}
    found["managers.md"] = (docs / "managers.md").read_text()
    assert found == made, "run python tools/managers_page.py"


def test_each_manager_has_one_row() -> None:
    names = [each.name for each in (*MANAGERS, *ELSEWHERE, *UNTRIED)]
    assert sorted(names) == sorted(NAMED)
