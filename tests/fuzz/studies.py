"""What people hand in: Maestro studies, batch scripts with directives, jobspecs."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.fuzz.harness import Harness, text_of
from whesl.model.errors import WheslError
from whesl.workflows import script_wrapping
from whesl.workflows.batch import script as scripts
from whesl.workflows.batch.manager import Batch
from whesl.workflows.maestro import study
from whesl.workflows.maestro.expand import expand
from whesl.workflows.maestro.manager import Maestro
from whesl.workflows.port import FluxifyOptions
from whesl.workflows.submit import flux_directives, jobspec, once, sbatch_options

_OPTIONS = FluxifyOptions(workflow="w", spec="/rules.esl", home="/home", program=("whesl",))


def maestro(data: bytes) -> None:
    """Read a study, expand it, wrap its commands, and take them out again."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return  # refused by ``load``
    study.looks_like_study(text)
    with contextlib.suppress(WheslError):
        found = study.parse(text, "study.yaml")
        for task in expand(found, "/root/of").tasks:
            assert task.name
    try:
        wrapped = Maestro().fluxify(text, Path("/w/study.yaml"), _OPTIONS).text
    except WheslError:
        return
    if not script_wrapping.is_wrapped(text) and "WHESL" not in text:
        assert Maestro().undo(wrapped, Path("/w/study.yaml")) == text


def batch(data: bytes) -> None:
    """Read a batch script, wrap it, read what is wrapped, and take it out again."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    flux_directives.parse(text)
    sbatch_options.parse_header(text)
    try:
        scripts.parse_script(text, Path("/w/job.sh"))
        wrapped = Batch().fluxify(text, Path("/w/job.sh"), _OPTIONS).text
        script_wrapping.read_wrapped(text)
    except WheslError:
        return
    if "WHESL" in text:
        return  # our own marks in somebody's text
    if len(text.splitlines()) != len(text.removesuffix("\n").split("\n")) or "\r" in text:
        return  # line ends that a shell does not know: what is taken out may differ in them
    known = script_wrapping.read_wrapped(wrapped)
    assert known is not None
    assert known.workflow == "w"
    assert Batch().undo(wrapped, Path("/w/job.sh")) == text


def submission(data: bytes) -> None:
    """Read the words of a submission, what the submission printed, and a jobspec."""
    text = text_of(data)
    call = sbatch_options.parse_call(text.split("\n"))
    assert len(call.words) <= len(text.split("\n"))
    once.job_id(text)
    with contextlib.suppress(WheslError):
        spec = _jobspec(text)
        jobspec.is_instance(spec)
        jobspec.node_count(spec)


def _jobspec(text: str) -> jobspec.Jobspec:
    from whesl.workflows.submit import flux_command

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
            "#WHESL begin\n",
            "#WHESL end\n",
            "#WHESL was: ",
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
