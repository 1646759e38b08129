"""Keeps what a job's first run wrote: Slurm truncates the output files of a job that it runs again.

Each file is renamed, not copied: that takes no room, and whatever of the first run still writes goes on in
the renamed file. How a job was submitted is in none of Slurm's answers: a job of ``whesl run`` (its comment
has a token) is appended to, or its user chose otherwise; for any other the script and slurm.conf tell.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from whesl.model.errors import WheslError
from whesl.rjms.port import JobRecord
from whesl.rjms.slurm import records
from whesl.rjms.slurm.command import SlurmCommands

LOG = logging.getLogger(__name__)
_CHOSEN = re.compile(r"^#SBATCH\s+(?:.*\s)?--open-mode\b", re.MULTILINE)
_MOST = 1000  # names that are tried


def keep(commands: SlurmCommands, record: JobRecord) -> dict[str, str]:
    """Rename a job's output files, where Slurm would truncate them.

    Args:
        commands: the cluster's.
        record: the job's, before it is run again.

    Returns the new names by the old ones. What could not be kept is told in the log, and keeps no job from
    running again.
    """
    if record.token:
        return {}
    try:
        if records.settings(commands.run("scontrol", "show", "config")).get("JobFileAppend") == "1":
            return {}
        if _CHOSEN.search(commands.run("scontrol", "write", "batch_script", record.id, "-")):
            return {}
        names = records.output_files(commands.run("scontrol", "show", "job", record.id), record.id)
    except WheslError as error:
        LOG.warning("job %s: Slurm may truncate its output: %s", record.id, error)
        return {}
    kept = {}
    for name in names:
        try:
            if found := _put_aside(Path(name), record.restarts):
                kept[name] = found
                LOG.info("job %s: the output of its run so far is in %s", record.id, found)
        except FileNotFoundError:
            LOG.info("job %s: %s is put aside already, or not to be seen from here", record.id, name)
        except OSError as error:
            LOG.warning("job %s: Slurm will truncate %s: %s", record.id, name, error.strerror)
    return kept


def put_back(kept: dict[str, str]) -> None:
    """Give files their names again: the job is not run again.

    Args:
        kept: as ``keep`` returned it.
    """
    for name, aside in kept.items():
        try:
            os.link(aside, name, follow_symlinks=False)
            Path(aside).unlink()
        except OSError as error:
            LOG.warning("%s stays in %s: %s", name, aside, error.strerror)


def _put_aside(path: Path, number: int) -> str:
    """Rename a regular file of this user to ``<file>.<number>``, or the first number after it that is free.

    A link is made before the name goes: it never replaces a file, and a coordinator killed between them does
    the rest the next time. Returns the new name; empty where nothing has to be kept. Raises OSError.
    """
    where = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        found = os.stat(path.name, dir_fd=where, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or not found.st_size:
            return ""
        name = _link(path.name, found, range(number, number + _MOST), where)
        os.unlink(path.name, dir_fd=where)
    finally:
        os.close(where)
    return str(path.with_name(name))


def _link(name: str, found: os.stat_result, numbers: Sequence[int], where: int) -> str:
    for number in numbers:
        aside = f"{name}.{number}"
        try:
            os.link(name, aside, src_dir_fd=where, dst_dir_fd=where, follow_symlinks=False)
        except FileExistsError:
            if not os.path.samestat(os.stat(aside, dir_fd=where, follow_symlinks=False), found):
                continue
        return aside
    raise FileExistsError(0, f"{name}.{numbers[0]} to {name}.{numbers[-1]} are there already")
