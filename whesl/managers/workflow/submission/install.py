"""Installs WHESL's submission commands, which stand first on a workflow manager's PATH and PYTHONPATH."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from whesl.files import file_retry
from whesl.managers.resource import manager_table
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import flux_bindings
from whesl.managers.workflow.submission.flux_command import python_directory
from whesl.model.errors import UsageError

_START = """import sys, whesl
whesl.begin()
from whesl.managers.workflow.submission.flux_command import main
sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))"""
# The commands' directory in the installation: files below WHESL_HOME may be unreadable at a submission.
COMMANDS = Path(__file__).with_name("commands")


def install(directory: Path, rjms: str = "slurm", environment: Mapping[str, str] | None = None) -> Path:
    """Return the directory with WHESL's submission command for a workflow's resource manager.

    Args:
        directory: the directory for a command of this workflow alone.
        rjms: the resource manager's name.
        environment: the environment whose PATH finds the real command; this process's own by default.

    The returned directory holds no command for a resource manager without a known submission command. Callers
    put it first on the workflow manager's PATH, with ``WHESL_PYTHON`` in the environment. Raises UsageError
    when the real command is missing.
    """
    command = manager_table.manager(rjms).command
    if command == "flux":
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = (os.environ if environment is None else environment).get("PATH", os.defpath)
        real = shutil.which("flux", path=path)
        if real is None:
            raise UsageError("there is no flux on PATH", hint="load Flux's module, or choose another --rjms")
        words = shlex.join([sys.executable, "-c", _START, str(directory), real])
        # The shell starts Python only for submissions.
        text = (
            f"#!{script_wrapping.faithful_shell()}\n"
            'case "$1 $2" in\n'
            f'"batch "*|"submit "*|"run "*|"job submit") exec {words} "$@";;\n'
            "esac\n"
            f'exec {shlex.quote(real)} "$@"\n'
        )
        file_retry.replace(directory / "flux", text.encode(), mode=0o700)
        flux_bindings.install(python_directory(directory), directory / "flux")
        return directory
    return COMMANDS / command
