"""Copies a job's output files before a requeue, because Slurm may truncate them when the job runs again.

The files are copied, not moved: Slurm does not show whether a job truncates its output files or appends to
them, and a file that is appended to has to stay in place. A job of ``whesl run`` (with a token in its
comment) needs no copy: it appends, or its user chose otherwise. For any other job, the script and slurm.conf
may show that it appends; otherwise the copy may be unnecessary.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import shutil
import stat
from pathlib import Path

from whesl.managers.resource.port import JobRecord
from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.model.errors import WheslError

LOG = logging.getLogger(__name__)
_CHOSEN = re.compile(r"^#SBATCH\s+(?:.*\s)?--open-mode\b", re.MULTILINE)
_MOST = 1000  # how many file names are tried for a copy
_BLOCK = 1 << 20


def keep(commands: SlurmCommands, record: JobRecord) -> dict[str, str]:
    """Copy a job's output files, where Slurm may truncate them.

    Args:
        commands: the commands of the job's cluster.
        record: the job's record from before the requeue.

    Returns the copies' paths by the files' paths. A file that cannot be copied is logged, and does not
    prevent the requeue.
    """
    if record.token:
        return {}
    try:
        names = truncated(commands, record.id)
    except WheslError as error:
        LOG.warning("job %s: Slurm may truncate its output: %s", record.id, error)
        return {}
    kept = {}
    for name in names:
        try:
            if found := _copied(Path(name), record.restarts):
                kept[name] = found
                LOG.info("job %s: the output of the run that ends is kept in %s", record.id, found)
        except FileNotFoundError:
            LOG.info("job %s: %s is not to be seen from here", record.id, name)
        except OSError as error:
            LOG.warning(
                "job %s: Slurm may truncate %s, and it cannot be copied: %s", record.id, name, error.strerror
            )
    return kept


def truncated(commands: SlurmCommands, job_id: str) -> tuple[str, ...]:
    """Return a job's output files that Slurm may truncate when it runs the job again.

    Args:
        commands: the commands of the job's cluster.
        job_id: the id of a job that was not submitted by ``whesl run``.

    Raises the errors of ``SlurmCommands.run``.
    """
    if slurm_command_output.settings(commands.run("scontrol", "show", "config")).get("JobFileAppend") == "1":
        return ()
    if _CHOSEN.search(commands.run("scontrol", "write", "batch_script", job_id, "-")):
        return ()
    return slurm_command_output.output_files(commands.run("scontrol", "show", "job", job_id), job_id)


def forget(kept: dict[str, str]) -> None:
    """Remove the copies of a job that does not run again.

    Args:
        kept: the result of ``keep``.
    """
    for aside in kept.values():
        with contextlib.suppress(OSError):
            Path(aside).unlink()


def _copied(path: Path, number: int) -> str:
    """Copy a regular file of this user to ``<file>.<number>``, or to the next free number.

    A file of that name with the same size and date is an earlier copy, made before a requeue that got no
    answer, and is kept. Returns the copy's path, "" for a file that needs no copy. Raises OSError.
    """
    where = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        source = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=where)
        try:
            found = os.fstat(source)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or not found.st_size:
                return ""
            for one in range(number, number + _MOST):
                aside = f"{path.name}.{one}"
                try:
                    _copy(source, found, aside, where)
                except FileExistsError:
                    older = os.stat(aside, dir_fd=where, follow_symlinks=False)
                    if (older.st_size, older.st_mtime_ns) != (found.st_size, found.st_mtime_ns):
                        continue
                return str(path.with_name(aside))
        finally:
            os.close(source)
    finally:
        os.close(where)
    raise FileExistsError(errno.EEXIST, f"{path.name}.{number} and {_MOST - 1} more names are taken")


def _copy(source: int, found: os.stat_result, aside: str, where: int) -> None:
    target = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=where)
    try:
        room = os.fstatvfs(target)
        if room.f_bavail * room.f_frsize < found.st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with open(source, "rb", closefd=False) as reader, open(target, "wb", closefd=False) as writer:
            shutil.copyfileobj(reader, writer, _BLOCK)
        os.fchmod(target, stat.S_IMODE(found.st_mode))
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
    except OSError:
        os.unlink(aside, dir_fd=where)
        raise
    finally:
        os.close(target)
