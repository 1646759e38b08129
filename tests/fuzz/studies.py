"""What people hand in: Maestro studies, batch scripts with directives, jobspecs."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.harness import Harness, text_of
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.batch import script as scripts
from whesl.managers.workflow.batch.manager import Batch
from whesl.managers.workflow.maestro import study
from whesl.managers.workflow.maestro.expand import expand
from whesl.managers.workflow.maestro.manager import Maestro
from whesl.managers.workflow.port import Fluxified, FluxifyOptions
from whesl.managers.workflow.submission import (
    exactly_once_submission,
    flux_directives,
    jobspec,
    sbatch_options,
)
from whesl.model.errors import WheslError

_PLACE = tempfile.TemporaryDirectory(prefix="w")
_OPTIONS = FluxifyOptions(
    workflow="w", spec="/rules.esl", home="/home", program=("whesl",), place=_PLACE.name
)


@contextlib.contextmanager
def _written(fluxified: Fluxified) -> Iterator[str]:
    """Write the programs that a wrapped text names, and remove them afterwards."""
    for program in fluxified.programs:
        program.write()
    try:
        yield fluxified.text
    finally:
        for program in fluxified.programs:
            shutil.rmtree(Path(program.path).parent)


def maestro(data: bytes) -> None:
    """Read a study, expand it, wrap its commands, and take them out again."""
    text = os.fsdecode(data)
    study.looks_like_study(text)
    with contextlib.suppress(WheslError):
        found = study.parse(text, "study.yaml")
        for task in expand(found, "/root/of").tasks:
            assert task.name
    try:
        made = Maestro().fluxify(text, Path("/w/study.yaml"), _OPTIONS)
    except WheslError:
        return
    if "WHESL" not in text and "@whesl" not in text:
        with _written(made) as wrapped:
            assert Maestro().undo(wrapped, Path("/w/study.yaml")) == text


def batch(data: bytes) -> None:
    """Read a batch script, wrap it, read what is wrapped, and take it out again."""
    text = os.fsdecode(data)
    flux_directives.parse(text)
    sbatch_options.parse_header(text)
    try:
        scripts.parse_script(text, Path("/w/job.sh"))
        made = Batch().fluxify(text, Path("/w/job.sh"), _OPTIONS)
        script_wrapping.read_wrapped(text)
    except WheslError:
        return
    with _written(made) as wrapped:
        known = script_wrapping.read_wrapped(wrapped)
        assert known is not None
        assert "WHESL" in text or known.workflow == "w"
        assert Batch().undo(wrapped, Path("/w/job.sh")) == text


def submission(data: bytes) -> None:
    """Read the words of a submission, what the submission printed, and a jobspec."""
    text = text_of(data)
    call = sbatch_options.parse_call(text.split("\n"))
    assert len(call.words) <= len(text.split("\n"))
    exactly_once_submission.job_id(text)
    with contextlib.suppress(WheslError):
        spec = _jobspec(text)
        jobspec.is_instance(spec)
        jobspec.node_count(spec)


def _jobspec(text: str) -> jobspec.Jobspec:
    from whesl.managers.workflow.submission import flux_command

    return flux_command._decode(text)


HARNESSES = (
    Harness(
        "maestro",
        maestro,
        (
            "description:\n  name: a\n  description: b\n",
            "study:\n  - name: s\n    description: d\n    run:\n      cmd: echo\n",
            "      cmd: |\n        echo a\n        echo b\n",
            "      depends: [s, s_*]\n",
            "      nodes: 1\n      procs: $(P)\n",
            "global.parameters:\n  P:\n    values: [1, 2]\n    label: P.%%\n",
            "env:\n  variables:\n    OUTPUT_PATH: ./out\n  labels:\n    L: $(P).x\n",
            "  dependencies:\n    paths:\n      - name: D\n        path: /p\n",
            "batch:\n  type: slurm\n  shell: /bin/bash\n",
            "&a ",
            "*a",
            "!!binary ",
            "2001-99-99",
            "<<: ",
            "$(s.workspace)",
        ),
    ),
    Harness(
        "batch",
        batch,
        (
            "#!/bin/sh\n",
            "#!/usr/bin/env python3\n",
            "#SBATCH --nodes=2 -J name\n",
            "#SBATCH --array=0-5:2%3\n",
            "#flux: -N4 --job-name=a\n",
            '# flux: --conf="""\n',
            "#!/w/@whesl/0123456789/sh -e\n",
            "#WHESL\t--step\ts\t",
            "exit 1\n",
            "\r\n",
        ),
    ),
    Harness(
        "submission",
        submission,
        (
            "--nodes=2\n",
            "-N2\n",
            "--wrap\n",
            "Submitted batch job 12\n",
            "12;cluster\n",
            '{"resources":[{"type":"node","count":2,"with":[{"type":"slot","count":1,"with":[]}]}],',
            '"tasks":[{"command":["a"],"slot":"task","count":{"per_slot":1}}],',
            '"attributes":{"system":{"duration":0}},"version":1}',
        ),
    ),
)
