"""The mark of an attempt's processes: a resource limit that nothing enforces. Pure; standard library only.

A process's environment can be cleared, written over (setproctitle), or unreadable (set-uid and non-dumpable
programs), and a daemon leaves its parent and its session. Resource limits are inherited through all of that,
across fork(2) and execve(2), and each process's soft limit of RLIMIT_RSS stands in ``/proc/PID/stat`` (field
``rsslim``, proc(5)), for everybody to read. No kernel since 2.4.30 enforces that limit (getrlimit(2)).
Slurm's srun and Flux pass it on to a step's tasks on all nodes, unless the site has them pass none on.
"""

from __future__ import annotations

# Above any memory, so that programs that do read the limit (sort, gcc) find it as good as none.
_BASE = 1 << 62
# ``ulimit`` counts in KiB, so the lowest ten bits of a mark are zero.
_UNIT = 10
_NUMBER = 12
_PREFIX = 39
# FNV-1a, 64 bit (Fowler, Noll, Vo; draft-eastlake-fnv): no module has to be loaded for it.
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
UNLIMITED = (1 << 64) - 1


def of_token(token: str) -> int:
    """Return the mark of a token's processes, bytes.

    Args:
        token: an attempt's token: the beginning that all tokens of its task share, a full stop, its number.
    """
    prefix, stop, number = token.rpartition(".")
    if not stop or not number.isdecimal():
        prefix, number = token.removesuffix("."), "0"
    return _BASE | ((_digest(prefix) << _NUMBER | int(number) % (1 << _NUMBER)) << _UNIT)


def carries(mark: int, token: str) -> bool:
    """Whether a process with this limit belongs to an attempt.

    Args:
        mark: the process's soft limit, bytes.
        token: the attempt's token; or the beginning that all tokens of its task share, with the full stop.
    """
    wanted = of_token(token)
    shift = _UNIT + _NUMBER if token.endswith(".") else 0
    return mark >> shift == wanted >> shift


def number_of(mark: int) -> int:
    """Return the number of the attempt that a mark stands for (numbers above 4095 modulo 4096)."""
    return mark >> _UNIT & ((1 << _NUMBER) - 1)


def is_mark(limit: int) -> bool:
    """Whether a limit is the mark of any attempt."""
    return limit >> 61 == _BASE >> 61 and not limit & ((1 << _UNIT) - 1)


def _digest(text: str) -> int:
    value = _FNV_OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * _FNV_PRIME) & UNLIMITED
    return value >> (64 - _PREFIX)
