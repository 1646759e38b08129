"""A small real file system for the demo, made without root where the kernel allows it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from whesl.files.untrusted_path import planted

MARK = "WHESL_DEMO_STORAGE"  # set in the namespace: "tmpfs"
PLACE = "WHESL_DEMO_OUTPUT"  # set in the namespace: the directory that was chosen before


def without_blanks(directory: Path) -> Path:
    """Return a name of a directory in which no blank stands: itself, or a link to it.

    Maestro hands its paths to sbatch without quotation marks.
    """
    if chosen := os.environ.get(PLACE):
        return Path(chosen)
    if not any(map(str.isspace, str(directory))):
        return directory
    link = Path(tempfile.mkdtemp(prefix="whesl-demo-")) / directory.name
    link.symlink_to(directory)
    os.environ[PLACE] = str(link)
    return link


def enter_namespace(output: Path) -> None:
    """Start the demo again in a mount namespace of its own, where it may mount; returns if there is none.

    A user namespace makes this possible without root. Nothing outside the namespace changes, and the
    kernel unmounts everything when the demo ends.

    Args:
        output: where the demo writes. In a user namespace root is a stranger like any other: where only
            root's word makes this place trustworthy, the demo stays outside.
    """
    if os.environ.get(MARK) or not shutil.which("unshare"):
        return
    for options in (["--mount"], ["--user", "--map-root-user", "--mount"]):
        if "--user" in options and _strange(str(output)):
            continue
        probe = ["unshare", *options, "--", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            command = ["unshare", *options, "--", sys.executable, "-m", "demo", *sys.argv[1:]]
            # The same program once more, and nothing else: no shell is wanted.
            os.execvpe(command[0], command, {**os.environ, MARK: "tmpfs"})  # noqa: S606


def _strange(path: str) -> bool:
    """Whether WHESL would refuse a path in a user namespace, which knows this user and nobody else."""
    me = os.geteuid()

    def lstat(part: str) -> os.stat_result:
        found = os.lstat(part)
        return os.stat_result([*found[:4], me if found.st_uid == me else -1, *found[5:10]])

    return planted(path, me, lstat, os.readlink) is not None


def make_small(directory: Path, size: int) -> bool:
    """Mount a file system of ``size`` bytes on ``directory``; False when this demo may not mount."""
    directory.mkdir(parents=True, exist_ok=True)
    if os.environ.get(MARK) != "tmpfs":
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(directory)]
    return subprocess.run(command, check=False).returncode == 0
