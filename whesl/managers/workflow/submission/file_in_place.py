"""A file seen in another one's place, by one process and its children alone.

sbatch writes down the path by which it has read a script (``Command=`` of ``scontrol show job``), and scripts
find their own directory by it. So the real sbatch reads a wrapped copy under the name of the user's own file:
in a mount namespace of its own (mount_namespaces(7)), and for ordinary users in a user namespace around that,
in which they stay who they are (user_namespaces(7)). Both end with the process.
"""

from __future__ import annotations

import ctypes
import os

# sched.h and sys/mount.h
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_BIND = 4096
_MS_REC = 16384
_MS_PRIVATE = 1 << 18


def put(copy: str, place: str) -> None:
    """Let this process, which has no other thread, see a file in another one's place.

    Args:
        copy: the file to be seen.
        place: the file whose name it is to have.

    Raises OSError where the system does not allow that.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWNS):
        _check(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
        _write("setgroups", "deny")
        _write("uid_map", f"{user} {user} 1")
        _write("gid_map", f"{group} {group} 1")
    # What is mounted here is to be seen nowhere else.
    _check(libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))
    _check(libc.mount(os.fsencode(copy), os.fsencode(place), None, _MS_BIND, None))


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - between fork and exec, with little else
        file.write(text)
