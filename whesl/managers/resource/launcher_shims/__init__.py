"""Shims: launchers in front on a task's PATH, so that launchers in the user's script use the nodes in use.

A shim is a few lines of sh. It starts ``shim_program.py`` (without site-packages, for speed), which rewrites
the arguments (``launcher_node_swap.py``) and becomes the real launcher. The shim of srun (``srun.sh``) itself
rewrites the usual calls, because their speed counts during a recovery.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the launcher imports this module at every start: typing and pathlib cost milliseconds
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

COMMANDS = ("srun", "flux", "mpirun", "mpiexec", "pbsdsh", "pbs_tmrsh")
# Launchers with a shim only where the real command exists, because scripts test whether they exist.
_WHERE_THERE = ("flux", "pbsdsh", "pbs_tmrsh")
# The file that marks a directory of shims, which the search for the real command skips; nested tasks have
# several such directories on PATH.
MARKER = ".whesl-shims"
_GUARD = f"{__file__.rpartition('/')[0]}/guard"


def in_front(shims: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return PATH with the shims' directory in front, and the variable with the shims' interpreter.

    A shell that fails to read the shims' directory goes on to the next directory on PATH, and would find the
    real launcher there, which runs on all nodes of the job. So a guard directory with shims on another file
    system comes second. Its shim of ``flux`` is there only inside a Flux instance, because a script may test
    whether ``flux`` exists.

    Args:
        shims: the shims' directory.
        environ: the caller's environment, with or without PATH.
    """
    import sys

    rest = environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    guard = f"{_GUARD}:{_GUARD}_flux" if environ.get("FLUX_URI") else _GUARD
    return {"PATH": f"{shims}:{guard}:{rest}", "WHESL_PYTHON": sys.executable}


def install(directory: str | os.PathLike[str], python: str = "", path: str | None = None) -> None:
    """Write the shims into a directory (created with mode 0700), replacing older shims.

    Shims of Flux's and PBS's launchers are written only where the real commands exist. Raises OSError.

    Args:
        directory: the shims' directory, on a file system that the nodes share.
        python: the interpreter that the shims start; this process's own by default.
        path: the search path for the real commands; PATH by default.
    """
    import contextlib
    import os
    import shlex
    import sys

    from whesl.files import file_retry

    here, directory = __file__.rpartition("/")[0], os.fspath(directory)
    os.makedirs(directory, 0o700, exist_ok=True)  # noqa: PTH103 - pathlib costs milliseconds
    file_retry.replace(f"{directory}/{MARKER}", b"")
    # The shell sources the shim: a shell that runs a script takes a read error for the script's end, and ends
    # with 0 as if the launcher had succeeded. bash -p skips BASH_ENV (a site's modules). dash, second choice,
    # drops functions that bash exports.
    words = (("/bin/bash", "-pc"), ("/bin/dash", "-c"), ("/bin/sh", "-c"))
    program, option = next(found for found in words if os.access(found[0], os.X_OK))
    shell = f"""/usr/bin/env -S {program} {option} '. "$0"; exit 126'"""
    start = shlex.join((python or sys.executable, "-I", "-S", f"{here}/shim_program.py"))
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
