"""Shows a file under another file's path, to one process and its children only.

sbatch records the path of the script that it has read (``Command=`` of ``scontrol show job``), and scripts
find their own directory by that path. So the real sbatch reads a wrapped copy under the path of the user's
own file: in a mount namespace of its own (mount_namespaces(7)), and for ordinary users inside a user
namespace in which they keep their ids (user_namespaces(7)). Both namespaces end with the process.
"""

from __future__ import annotations

import ctypes
import os

# Constants of sched.h and sys/mount.h.
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_BIND = 4096
_MS_REC = 16384
_MS_PRIVATE = 1 << 18


def put(copy: str, place: str) -> None:
    """Let this process, which must have only one thread, see a file under another file's path.

    Args:
        copy: the file with the content.
        place: the file under whose path the content appears.

    Raises OSError where the system does not allow mounts.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWNS):
        _check(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
        _write("setgroups", "deny")
        _write("uid_map", f"{user} {user} 1")
        _write("gid_map", f"{group} {group} 1")
    # Private mounts are not visible outside this namespace.
    _check(libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
    _check(libc.mount(os.fsencode(copy), os.fsencode(place), None, _MS_BIND, None))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - between fork and exec, with little else
        file.write(text)
