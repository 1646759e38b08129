"""The keeper copies output through, and leaves a shared file system alone while there is none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from whesl.isolator.keeper import LOOK_FIRST, LOOK_LONGEST, Keeper


class Pauses(threading.Event):
    """An end that comes after so many pauses, with something done before each of them."""

    def __init__(self, count: int, before: Callable[[int], None]) -> None:
        super().__init__()
        self._count = count
        self._before = before
        self.taken: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.taken.append(timeout)
        self._before(len(self.taken))
        if len(self.taken) == self._count:
            self.set()
        return self.is_set()


def test_looks_become_rare_while_nothing_is_printed(tmp_path: Path) -> None:
    (tmp_path / "attempt-1").mkdir()
    output = tmp_path / "attempt-1" / "stdout"
    output.write_bytes(b"begun\n")

    def prints(pause: int) -> None:
        if pause == 12:
            with output.open("ab") as file:
                file.write(b"again\n")

    keeper = Keeper(
        str(tmp_path),
        "python",
        "claim",
        os.getpid(),
        child=False,
        runner=0,
        copy=["stdout"],
        summary="",
        quiet=False,
    )
    pauses = keeper._over = Pauses(20, prints)
    read, write = os.pipe()
    try:
        keeper._copy("stdout", write)
        os.close(write)
        assert os.read(read, 100) == b"begun\nagain\n"
    finally:
        os.close(read)
    assert pauses.taken[0] == LOOK_FIRST
    assert pauses.taken[11] == LOOK_LONGEST
    assert pauses.taken[12] == LOOK_FIRST, "where something was printed, more may follow at once"
    assert pauses.taken[-1] == LOOK_LONGEST
    assert pauses.taken[:12] == sorted(pauses.taken[:12])
