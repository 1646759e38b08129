"""Launchers put in front on a task's PATH, so that those in the user's own script reach the nodes in use.

A shim is a few lines of sh. It starts ``launcher.py`` (without site-packages, for speed), which rewrites the
arguments (``launcher_node_swap.py``) and becomes the real command. The usual calls of srun are rewritten by
its shim itself (``srun.sh``), since a recovery waits for them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the launcher imports this module at every start: typing and pathlib cost milliseconds
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

COMMANDS = ("srun", "flux", "mpirun", "mpiexec", "pbsdsh", "pbs_tmrsh")
# Launchers whose presence scripts look for.
_WHERE_THERE = ("flux", "pbsdsh", "pbs_tmrsh")
# A directory with this file is skipped in the search for the real command: nested tasks have several.
MARKER = ".whesl-shims"
_GUARD = f"{__file__.rpartition('/')[0]}/guard"


def in_front(shims: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return PATH with the directory of our launchers in front, and what they start with.

    A shell that cannot look a shim up goes on to the next directory on PATH: the real launcher's, which runs
    on all nodes of the job. So a directory with the same shims on another file system comes in between. That
    has one for ``flux`` inside an instance of Flux only: a script may look whether there is one.

    Args:
        shims: the directory.
        environ: the caller's environment, with or without PATH.
    """
    import sys

    rest = environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    guard = f"{_GUARD}:{_GUARD}_flux" if environ.get("FLUX_URI") else _GUARD
    return {"PATH": f"{shims}:{guard}:{rest}", "WHESL_PYTHON": sys.executable}


def install(directory: str | os.PathLike[str], python: str = "", path: str | None = None) -> None:
    """Write the shims into a directory (made with mode 0700 when missing), replacing older ones.

    Those of Flux and PBS only where their commands are. Raises OSError.

    Args:
        directory: what to put in front on PATH; on a file system that the nodes share.
        python: the interpreter they start; this process's own by default.
        path: where commands are looked up; PATH by default.
    """
    import contextlib
    import os
    import shlex
    import sys

    from whesl.files import file_retry

    here, directory = __file__.rpartition("/")[0], os.fspath(directory)
    os.makedirs(directory, 0o700, exist_ok=True)  # noqa: PTH103 - pathlib costs milliseconds
    file_retry.replace(f"{directory}/{MARKER}", b"")
    # A shell takes an error for the end of its script, and ends with 0 as if the launcher had succeeded, but
    # not where it sources it. -p: no BASH_ENV (a site's modules). dash drops functions that bash exports.
    words = (("/bin/bash", "-pc"), ("/bin/dash", "-c"), ("/bin/sh", "-c"))
    program, option = next(found for found in words if os.access(found[0], os.X_OK))
    shell = f"""/usr/bin/env -S {program} {option} '. "$0"; exit 126'"""
    start = shlex.join((python or sys.executable, "-I", "-S", f"{here}/launcher.py"))
    places = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    for name in COMMANDS:
        if name in _WHERE_THERE and not any(os.access(f"{place or '.'}/{name}", os.X_OK) for place in places):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{directory}/{name}")  # noqa: PTH108 - as above
            continue
        note = f"# Becomes the real {name}; see whesl.managers.resource.launcher_shims."
        text = f'#!{shell}\n{note}\nexec {start} {name} "$@"\n'
        if name == "srun":
            text = (file_retry.content(f"{here}/srun.sh") or b"").decode()
            text = (
                text.replace("#!/bin/sh", f"#!{shell}", 1)
                .replace("@START@", start)
                .replace("@MARKER@", MARKER)
            )
        file_retry.replace(f"{directory}/{name}", text.encode(), mode=0o700)
