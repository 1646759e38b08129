"""Every workflow manager that is built in passes the contract that adapters of others have to pass."""

from __future__ import annotations

import json

import pytest

from tests.managers.workflow.test_fluxify import STUDY
from tests.managers.workflow.test_graphs import FLOW, SNAKEFILE
from whesl.managers.workflow import manager as built_in
from whesl.managers.workflow.port import WorkflowManager
from whesl.testing.contracts import WorkflowManagerContract

RULES = [
    {"command": "make > made", "outputs": ["made"], "inputs": []},
    {"command": "use made", "outputs": ["used"], "inputs": ["made"]},
]
TEXTS = {
    "maestro": ("study.yaml", STUDY),
    "batch": ("job.sh", "#!/bin/bash\n#SBATCH -N 2\n\nsrun ./app  \n"),
    "makeflow": ("graph.json", json.dumps({"rules": RULES}, indent=1)),
    "cylc": ("run/flow.cylc", FLOW),
    "snakemake": ("Snakefile", SNAKEFILE),
}


@pytest.mark.parametrize("name", TEXTS, scope="class")
class TestBuiltIn(WorkflowManagerContract):
    @pytest.fixture
    def manager(self, name: str) -> WorkflowManager:
        self.file, self.text = TEXTS[name]
        self.program = name if name in ("cylc", "snakemake") else ""
        return built_in(name)
