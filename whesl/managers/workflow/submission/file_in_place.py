"""Gives the real sbatch a wrapped script where it looks for the user's own.

sbatch records the path of the script that it has read (``Command=`` of ``scontrol show job``), and scripts
find their own directory by that path. So the real sbatch reads a wrapped copy under the path of the user's
own file: in a mount namespace of its own (mount_namespaces(7)), and for ordinary users inside a user
namespace in which they keep their ids (user_namespaces(7)). Both namespaces end with the process. A script
on standard input, or on another descriptor (``sbatch <(...)``), comes on the same descriptor.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import command_call

# Constants of sched.h and sys/mount.h.
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_BIND = 4096
_MS_REC = 16384
_MS_PRIVATE = 1 << 18


def descriptor_of(script: str) -> int | None:
    """Return the descriptor from which sbatch reads a script, None for a file; '' is standard input.

    Args:
        script: the script's path, as sbatch is given it.
    """
    found = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,4})", script)
    return 0 if script in ("", "/dev/stdin") else int(found[1]) if found else None


class ScriptInPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a script.

    Attributes:
        script: the script's path, as sbatch is given it; '' for standard input.
        copy: the file that another text of the script is written to, unless that comes on a descriptor.
    """

    script: str
    copy: str

    def put(self, text: str) -> None:
        """Let sbatch read a text instead of the script's. Raises OSError."""
        descriptor = descriptor_of(self.script)
        if descriptor is None:
            file_retry.write(Path(self.copy), os.fsencode(text), 0o700)
            return
        memory = os.memfd_create("script")
        with os.fdopen(memory, "wb") as file:
            file.write(os.fsencode(text))
            file.seek(0)
            os.dup2(memory, descriptor)

    def given(self) -> dict[str, Any]:
        """Return the arguments for ``subprocess`` with which a process reads the text in place of the script.

        The process fails before its program starts where the system does not allow mounts.
        """
        descriptor = descriptor_of(self.script)
        if descriptor is None:
            return {"stdin": subprocess.DEVNULL, "preexec_fn": lambda: put(self.copy, self.script)}
        rewound = {"preexec_fn": lambda: os.lseek(descriptor, 0, os.SEEK_SET)}
        return {"pass_fds": (descriptor,), **rewound} if descriptor else {"stdin": None, **rewound}


def with_caller(then: Callable[[], object] | None) -> Callable[[], None]:
    """Return a function that a new process calls before its program, so that it ends with this process.

    Args:
        then: called first by the function.
    """
    ask = command_call.ends_with_this_process()

    def begin() -> None:
        if then is not None:
            then()
        ask()  # last: a new user namespace would forget it

    return begin


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
