"""The paths that a task names, and the files that its processes have open for writing."""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.model.pathmap import NAME, absolute, below, normal, paths_in_text

# Variables that the system and the resource manager set; their values do not name the task's data.
_SYSTEM = re.compile(r"HOME|PWD|OLDPWD|SHLVL|_|(?:SLURM|SLURMD|SBATCH|SRUN|FLUX|PMI|PMIX|PRTE|WHESL)_.*")
_UPWARD = re.compile(rf"(?<![{NAME}/$}}])(?:\./)*\.\.(?:/[{NAME}]*)*")
# Names with spaces: a whole argument, an option's value, or in quotes (escaped ones in a quoted command).
_WHOLE = re.compile(r"""(?:^|(?<=["'=]))/[^"'\\\n:]*(?=\\?["']|$)""")


def named_paths(
    command: Sequence[str],
    script: str,
    environment: Mapping[str, str],
    cwd: str,
    prefixes: Iterable[str],
) -> tuple[str, ...]:
    """Return the absolute paths at or below ``prefixes`` that a task names, sorted, each once.

    A prefix counts only at a path's boundary, as in PathMap.text. Relative paths that go up
    (``../other/out``) start from ``cwd``. Paths below ``cwd`` are covered by ``cwd`` itself; where ``cwd`` is
    below no prefix, they are searched in the arguments, as in PathMap.arguments.

    Args:
        command: the argument list.
        script: text of the script that the command runs, or "".
        environment: variables whose values count, except HOME and the resource manager's variables, which
            often name whole trees that the task does not use.
        cwd: working directory, absolute or "".
        prefixes: absolute paths; "/" for all that the task names.
    """
    roots = {normal(prefix) for prefix in prefixes if prefix.startswith("/")}
    if not roots:
        return ()
    pattern = paths_in_text(roots)
    candidates: list[str] = [cwd] if cwd.startswith("/") else []
    values = [value for name, value in environment.items() if not _SYSTEM.fullmatch(name)]
    if not any(below(root, cwd) for root in roots - {"/"}):
        candidates += [absolute(argument.rpartition("=")[2], cwd) for argument in command]
    for text in (*command, script, *values):
        candidates += (found["path"] for found in pattern.finditer(text))
        candidates += _WHOLE.findall(text)
        if cwd.startswith("/"):
            candidates += [posixpath.join(cwd, found) for found in _UPWARD.findall(text)]
    found = {path for path in map(_normal, candidates) if path and any(below(root, path) for root in roots)}
    return tuple(sorted(found))


def _normal(path: str) -> str:
    """Return a path without dots and doubled slashes, "" for an invalid file name."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return ""
    return "" if "\0" in path else normal(path)


class OpenFiles(msgspec.Struct, frozen=True, kw_only=True):
    """``paths``: regular files open for writing; ``unobserved``: processes whose files could not be read."""

    paths: tuple[bytes, ...] = ()
    unobserved: tuple[int, ...] = ()


def open_for_writing(pids: Iterable[int], root: str, *, proc: Path = Path("/proc")) -> OpenFiles:
    """Return the files below ``root`` that processes have open for writing; called before they are killed.

    Paths begin with ``root`` as given, even where it is reached through links. Deleted files do not count. A
    process that has ended has no files; a process that this user may not inspect is reported.

    Args:
        pids: processes on this node.
        root: absolute path.
        proc: the mount point of the proc file system.
    """
    real = os.fsencode(os.path.realpath(root))
    given = os.fsencode(root.rstrip("/"))
    found: set[bytes] = set()
    unobserved = []
    for pid in pids:
        try:
            descriptors = [link.name for link in (proc / str(pid) / "fd").iterdir()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        except PermissionError:
            unobserved.append(pid)
            continue
        for descriptor in descriptors:
            # Each of these files may vanish with its descriptor at any time.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                path = _written(proc / str(pid), descriptor)
                if path is not None and path.startswith(real.rstrip(b"/") + b"/"):
                    found.add(given + path[len(real.rstrip(b"/")) :])
    return OpenFiles(paths=tuple(sorted(found)), unobserved=tuple(unobserved))


def _written(process: Path, descriptor: str) -> bytes | None:
    link = process / "fd" / descriptor
    status = link.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_nlink == 0:
        return None
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "flags" and int(value, 8) & os.O_ACCMODE == os.O_RDONLY:
            return None
    return os.fsencode(link.readlink())
