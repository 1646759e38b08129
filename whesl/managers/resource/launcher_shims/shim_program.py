"""The script that a shim starts: rewrites a launcher's arguments and becomes the real launcher.

Runs with ``python -I -S``, and imports only the standard library and small modules of WHESL.
"""

# os.path instead of pathlib: importing pathlib takes as long as the rest of a launcher's start.
# ruff: noqa: PTH100, PTH109, PTH113, PTH116, PTH118, PTH120, PTH123
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing typing for this constant would cost milliseconds
if TYPE_CHECKING:
    from typing import NoReturn

    from whesl.managers.resource.launcher_shims.srun_to_flux import Run

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.join(_HERE, os.pardir, os.pardir, os.pardir, os.pardir)
sys.path.insert(0, _ROOT)

from whesl import become  # noqa: E402 - only found through the path above
from whesl.managers.resource.launcher_shims import MARKER  # noqa: E402 - only found through the path above
from whesl.managers.resource.launcher_shims.launcher_node_swap import rewrite  # noqa: E402 - as above
from whesl.managers.resource.launcher_shims.nodes_in_use import of_this_job  # noqa: E402 - as above

NOT_FOUND = 127
_MOST_STEPS = 4096  # more steps never run at once: the launchers of all steps run on one node


def _find_real(name: str, path: str) -> str | None:
    """Return the path of the first command of a name that is not a shim, None without one."""
    for directory in path.split(os.pathsep):
        candidate = os.path.join(directory, name)
        if _has_shims(directory):
            continue
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _has_shims(directory: str) -> bool:
    """Whether a directory holds shims, which would rewrite once more, or fails to be read."""
    marker = os.path.join(directory, MARKER)
    try:
        os.stat(marker)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    except OSError:
        from whesl.files import file_retry

        try:
            return file_retry.exists(marker, file_retry.BRIEF)
        except OSError:
            return True
    return True


def mpi_flavour(real: str) -> str:
    """Return a launcher's MPI, ``hydra`` or ``openmpi``, by its real path or its ``--version``."""
    names = f"{real} {os.path.realpath(real)}".lower()
    if any(word in names for word in ("hydra", "mpich", "intel", "mvapich")):
        return "hydra"
    if any(word in names for word in ("orterun", "openmpi", "ompi", "prterun", "prte")):
        return "openmpi"
    told = printed(real, "--version")
    return "hydra" if any(word in told for word in ("HYDRA", "Intel", "MPICH")) else "openmpi"


def printed(real: str, option: str) -> str:
    """Return what a launcher prints for an option such as ``--help``; "" for one that cannot be asked.

    Args:
        real: path of the launcher itself, not of WHESL's shim.
        option: the one argument that it gets.

    The launcher's standard error does not count. A launcher without an answer within ten seconds gives "".
    """
    import subprocess

    try:
        asked = subprocess.run([real, option], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return asked.stdout


def free_ordinal(host_file: str) -> int:
    """Take the lowest number that no other running step of the task has, until this step's launcher ends.

    The number places a step that uses only some of the nodes. Steps that run one after another all run on the
    first nodes, where Slurm would put them and a script expects them; steps that run at once run on different
    nodes. A number is a lock on one byte of a file beside the host file. The launcher that this process
    becomes keeps the lock until its end. Returns 0 where the file cannot be locked.
    """
    if not host_file:
        return 0
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        descriptor = os.open(f"{host_file}.steps", flags, 0o600)
    except OSError:
        return 0
    for number in range(_MOST_STEPS):
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except BlockingIOError:
            continue
        except OSError:
            break
        os.set_inheritable(descriptor, True)
        return number
    os.close(descriptor)
    return 0


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _keep(text: str) -> str:
    """Write a text for the launcher into a file beside the host file, and return the file's path."""
    path = f"{os.environ['WHESL_HOSTFILE']}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def inner(name: str, argv: list[str], ordinal: int) -> Run | None:
    """Select the Flux instance inside the job, where there is one; return the ``flux run`` for an srun.

    Args:
        name: the launcher: ``srun`` or ``flux``.
        argv: the launcher's arguments.
        ordinal: the step's number among the running steps (``free_ordinal``).
    """
    from whesl.managers.resource.launcher_shims import flux_instance_files
    from whesl.managers.resource.launcher_shims.flux_node_swap import INSTANCE, RANKS
    from whesl.managers.resource.launcher_shims.srun_to_flux import flux_run

    directory = os.environ[flux_instance_files.DIRECTORY]
    # Inside a nested instance that the task itself has started, nothing is changed.
    if os.environ.get("FLUX_URI") != os.environ.get(INSTANCE):
        return None
    uri = flux_instance_files.uri(directory)
    if not uri:
        return None
    os.environ["FLUX_URI"] = os.environ[INSTANCE] = uri
    try:
        facts, ranks = flux_instance_files.facts(directory)
    except ValueError:
        return None
    os.environ[RANKS] = ranks
    return flux_run(argv, os.environ, facts, read=_read, ordinal=ordinal) if name == "srun" else None


def become_flux(run: Run) -> None:
    """Become a ``flux run`` with the user's files as standard streams; return where that is impossible."""
    real = _find_real("flux", os.environ.get("PATH", os.defpath))
    if real is None:
        return
    beginning = os.O_WRONLY | os.O_CREAT
    files = [(0, run.input, os.O_RDONLY)] if run.input else []
    for descriptor, target in ((1, run.output), (2, run.error)):
        if target is not None:
            path, append = target
            files.append((descriptor, path, beginning | (os.O_APPEND if append else os.O_TRUNC)))
    for descriptor, path, flags in files:
        try:
            opened = os.open(path, flags, 0o666)
        except OSError as error:
            sys.stderr.write(f"srun: {path}: {error.strerror}\n")
            sys.exit(1)
        os.dup2(opened, descriptor)
        os.close(opened)
        if descriptor == 1 and run.error is None:
            os.dup2(1, 2)  # as in srun, standard error goes to standard output's file by default
    attach(real, run)


def attach(real: str, run: Run) -> None:
    """Submit a job and become ``flux job attach``, or become ``flux run``, which does both.

    Returns when the Flux instance has ended, which the isolator may not have noticed yet.

    Args:
        real: the path of the real ``flux``.
        run: the ``flux run``.
    """
    job, options = submit(real, run)
    if not job and not listening(os.environ.get("FLUX_URI", "")):
        return
    words = ["job", "attach", *options, job] if job else ["run", *run.words]
    become(real, ["flux", *words])


def listening(uri: str) -> bool:
    """Whether the broker at a URI accepts connections; True for a URI of no local socket."""
    import socket

    if not uri.startswith("local://"):
        return True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(uri.removeprefix("local://"))
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def submit(real: str, run: Run) -> tuple[str, list[str]]:
    """Submit the job of a ``flux run``; return the job's id and the options of ``flux job attach``.

    The id is empty where the submission failed, or needs ``flux run``: the real ``flux run`` then submits the
    job, or reports the error.

    Args:
        real: the path of the real ``flux``.
        run: the ``flux run``.
    """
    import json
    import subprocess

    from whesl.managers.resource.launcher_shims.flux_run_to_jobspec import core_limits, jobspec

    made = jobspec(run.words, os.environ, os.getcwd(), core_limits())
    if made is None:
        return "", []
    specification, options = made
    try:
        text = json.dumps(specification).encode()
        done = subprocess.run([real, "job", "submit"], input=text, capture_output=True, check=False)
    except (OSError, ValueError):
        return "", []
    return os.fsdecode(done.stdout.strip()) if done.returncode == 0 else "", options


def _become_tasks(name: str, argv: list[str], whole: str) -> None:
    """Become the program that starts PBS's tasks on the nodes in use; return where that is impossible."""
    from whesl.managers.resource.launcher_shims.pbs_rewriting import tasks

    try:
        words = tasks(name, argv, os.environ, _read(whole).split())
    except (OSError, ValueError):
        return
    if words is not None:
        program = os.path.join(_HERE, os.pardir, "pbs", "tm_program.py")
        become(sys.executable, [sys.executable, "-I", program, *words])


def main(arguments: list[str]) -> NoReturn:
    """Become the real launcher; end with status 127 when PATH has no real launcher."""
    name, *argv = arguments
    inside = bool(os.environ.get("WHESL_NODELIST")) and of_this_job(os.environ)
    steps = os.environ.get("WHESL_HOSTFILE", "")
    ordinal = free_ordinal(steps) if inside and name == "srun" else 0
    if inside and name in ("srun", "flux") and os.environ.get("WHESL_FLUX_INSTANCE"):
        run = inner(name, argv, ordinal)
        if run is not None:
            become_flux(run)
    real = _find_real(name, os.environ.get("PATH", os.defpath))
    if real is None:
        sys.stderr.write(f"whesl: {name}: command not found on PATH behind WHESL's own\n")
        sys.exit(NOT_FOUND)
    whole = os.environ.get("WHESL_PBS_NODEFILE", "") if inside else ""
    told = dict(os.environ)
    if whole:
        # PBS's file of the nodes in use has a line for each slot of a node.
        told["WHESL_HOSTFILE"] = told.get("PBS_NODEFILE", steps)
        # PBS's task manager, and MPI launchers that use it, number the job's nodes by the lines of the whole
        # file. Rewritten options name the nodes in use.
        os.environ["PBS_NODEFILE"] = whole
        if name in ("pbsdsh", "pbs_tmrsh"):
            _become_tasks(name, argv, whole)
    words = rewrite(
        name,
        argv,
        told,
        read=_read,
        flavour=lambda: mpi_flavour(real),
        ordinal=ordinal,
        keep=_keep if steps else None,
        ask=lambda: printed(real, "--help"),
    )
    if inside and name == "flux" and os.environ.get("WHESL_FLUX_PLAIN"):
        from whesl.managers.resource.launcher_shims.flux_run_direct_submission import plain_run

        run = plain_run(words, os.environ)
        if run is not None:
            attach(real, run)
    become(real, [name, *words])


if __name__ == "__main__":
    main(sys.argv[1:])
