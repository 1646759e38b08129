"""Worker processes that end with the process that started them, even when that process is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from whesl.model.errors import WheslError


@contextmanager
def pool(
    jobs: int, begin: Callable[..., None] | None = None, *arguments: Any, hint: str = ""
) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of worker processes; calls that have not begun are cancelled when the context ends.

    Args:
        jobs: number of processes.
        begin: initializer that each worker process calls once, with ``arguments``.
        hint: advice to the user for the error message when a worker process was killed.

    Raises:
        WheslError: a worker process was killed.
    """
    # Not "fork", which would copy the state of the numerical libraries' threads into the children.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_begun, initargs=(begin, arguments)
    ) as made:
        whole = False
        try:
            yield made
            whole = True
        except BrokenProcessPool as error:
            raise WheslError("a process of the computation was killed", hint=hint) from error
        finally:
            made.shutdown(wait=False, cancel_futures=True)
            if not whole:  # running calls may take minutes, and nobody uses their results
                for process in multiprocessing.active_children():
                    process.terminate()


def _begun(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    # A terminal sends Ctrl-C to all of its processes; the parent process ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    """End this process when its parent has ended, since a killed parent cannot end its children."""
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
