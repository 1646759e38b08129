"""Other names of a root: directories that lead into it by links, by which a task names files of the root."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from whesl.files.untrusted_path import planted
from whesl.model.pathmap import PathMap, PathRule, below


def linked_roots(paths: Iterable[str], root: str) -> PathMap:
    """Return rules from the directories that lead into a root by links to their places below the root.

    With ``/scratch -> /p/fast/me``, a task that names ``/scratch/run`` uses files of ``/p/fast``. So does a
    task that was started in ``/p/fast/me`` where the root is ``/scratch``, since a process knows its
    directory by the path without links. A program that is named is no such use. A link that another user
    could have planted is not followed.

    Args:
        paths: the absolute paths that the task names (``named_paths``).
        root: the root's absolute path.
    """
    real = os.path.realpath(root)
    found: dict[str, str] = {}
    for path in paths:
        program = Path(path).is_file() and os.access(path, os.X_OK)
        if program or below(root, path) or not below(real, os.path.realpath(path)):
            continue
        for directory in reversed((path, *map(str, Path(path).parents))):
            place = os.path.realpath(directory)
            if below(real, place):
                if Path(place).is_dir() and not planted(directory, os.geteuid(), os.lstat, os.readlink):
                    found[directory] = root + place[len(real) :]
                break
    return PathMap(tuple(sorted(PathRule(old, new) for old, new in found.items())))
