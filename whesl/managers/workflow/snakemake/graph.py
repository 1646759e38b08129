"""Prints the jobs that Snakemake would run, as JSON; Snakemake's own interpreter runs this file.

The arguments are those of ``snakemake``. Source: snakemake 9.27, ``dag.py``: ``DAG.d3dag`` is what the option
``--d3dag`` calls once all jobs are known, and before any of them starts.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MARK = "WHESL's graph: "  # begins the line with the result


def described(dag: Any, default: str) -> dict[str, Any]:
    """Return the jobs of a DAG that would run, and the resources that the command line sets for rules.

    Args:
        dag: Snakemake's ``DAG``.
        default: the shell of rules that name none.

    A job has ``rule``, ``wildcards`` (their values), ``shell`` ('' for a rule without ``shell:``),
    ``command``, ``checkpoint`` and ``parents``, which are indexes of the list.
    """
    jobs = [job for job in dag.jobs if dag.needrun(job) and not job.is_norun]
    index = {job: number for number, job in enumerate(jobs)}
    own = dag.workflow.resource_settings.overwrite_resources or {}
    return {
        "jobs": [
            {
                "rule": job.rule.name,
                "wildcards": [str(value) for value in job.wildcards],
                "shell": (job.resources.get("shell_exec") or default) if job.is_shell else "",
                "command": _command(job),
                "checkpoint": job.is_checkpoint,
                "parents": sorted(index[parent] for parent in dag.dependencies[job] if parent in index),
            }
            for job in jobs
        ],
        "resources": [
            f"{rule}:{name}={value.raw}" for rule, found in own.items() for name, value in found.items()
        ],
    }


def _command(job: Any) -> str:
    """Return a job's shell command, "" where it has none or names what is known only when it runs."""
    try:
        return job.shellcmd or ""
    except Exception:  # the Snakefile's own functions may raise anything
        return ""


def main() -> None:
    """Let Snakemake read its arguments and make its DAG; print that instead of a drawing."""
    from snakemake.cli import main as snakemake
    from snakemake.dag import DAG
    from snakemake.shell import shell

    def tell(dag: Any, *_: object) -> None:
        found = described(dag, shell.get_executable() or "/bin/sh")
        sys.stdout.write(f"{MARK}{json.dumps(found)}\n")

    DAG.d3dag = tell
    snakemake([*sys.argv[1:], "--d3dag"])


if __name__ == "__main__":
    main()
