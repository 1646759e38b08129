"""Writes the Python package ``flux`` that stands first on a workflow manager's PYTHONPATH.

Maestro's Flux adapter submits with ``flux.job.submit`` in its own process, where no command on PATH can
intervene. The package replaces itself by the real bindings, and passes submissions of wrapped scripts to
WHESL's ``flux`` command (``whesl.managers.workflow.submission.flux_command``); everything else stays with the
real bindings. The package runs under the manager's Python, of any version, so it imports nothing of WHESL.
"""

from __future__ import annotations

from pathlib import Path

from whesl.files import file_retry

# The variable with the user's own PYTHONPATH.
OUTER = "WHESL_OUTER_PYTHONPATH"
_PACKAGE = '''\
"""Stands in front of Flux's Python bindings: wrapped scripts are submitted once, by the command in front."""

import functools
import importlib
import os
import subprocess
import sys

_HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_COMMAND = {command}
_MARKER = "/@whesl/"


def _is_wrapped(jobspec):
    if _MARKER in jobspec.dumps():  # the script itself is in it
        return True
    for word in jobspec.tasks[0]["command"]:
        try:
            with open(os.path.join(jobspec.cwd or "", word), encoding="utf-8", errors="replace") as script:
                if _MARKER in script.readline(4096):
                    return True
        except (OSError, ValueError):
            pass
    return False


def _in_front(job, real):
    @functools.wraps(real)
    def submit(flux_handle, jobspec, urgency=16, waitable=False, debug=False, *args, **kwargs):
        if isinstance(jobspec, (str, bytes)) or args or kwargs or not _is_wrapped(jobspec):
            return real(flux_handle, jobspec, urgency, waitable, debug, *args, **kwargs)
        flags = [name for name, wanted in (("waitable", waitable), ("debug", debug)) if wanted]
        command = [_COMMAND, "job", "submit", "--urgency=%d" % urgency]
        command += ["--flags=" + ",".join(flags)] if flags else []
        result = subprocess.run(
            command,
            input=jobspec.dumps(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        sys.stderr.write(result.stderr)
        if result.returncode != 0:
            raise OSError(result.stderr.strip() or "flux job submit: status %d" % result.returncode)
        return job.JobID(result.stdout.strip())

    return submit


def _step_aside():
    ours = sys.modules.pop("flux")
    sys.path[:] = [place for place in sys.path if os.path.realpath(place) != _HERE]
    try:
        importlib.import_module("flux")
        job = importlib.import_module("flux.job")
    except ImportError:
        sys.modules["flux"] = ours  # the import that failed takes this name away itself
        raise
    job.submit = _in_front(job, job.submit)
    # Steps and jobs are to see what the user had.
    outer = os.environ.pop("{outer}", None)
    if outer is not None:
        os.environ["PYTHONPATH"] = outer
        if not outer:
            del os.environ["PYTHONPATH"]


_step_aside()
'''


def install(directory: Path, command: Path) -> None:
    """Write the package.

    Args:
        directory: the package's directory, for PYTHONPATH; created when missing.
        command: the path of WHESL's ``flux``.
    """
    package = directory / "flux"
    package.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = _PACKAGE.format(command=repr(str(command)), outer=OUTER)
    file_retry.replace(package / "__init__.py", text.encode())
