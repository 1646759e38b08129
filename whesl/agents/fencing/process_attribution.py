"""To which attempts of a task processes belong."""

from __future__ import annotations

from collections.abc import Iterable

from whesl.agents.fencing import processes
from whesl.model import rlimit_mark


def attempts_of(found: Iterable[processes.Process], prefix: str) -> tuple[int, ...]:
    """Return to which attempts processes belong, as far as their marks or environments tell.

    Args:
        found: the processes.
        prefix: what the tokens of their task begin with.
    """
    numbers = set()
    wanted = f"\0{processes.TOKEN_VARIABLE}={prefix}".encode()
    for process in found:
        if rlimit_mark.carries(process.mark, prefix):
            numbers.add(rlimit_mark.number_of(process.mark))
            continue
        environment = b"\0" + (processes.environment_of(process.pid) or b"")
        number = environment.partition(wanted)[2].partition(b"\0")[0]
        if number.isdigit():
            numbers.add(int(number))
    return tuple(sorted(numbers))
