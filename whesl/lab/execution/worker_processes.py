"""Processes that compute for this one, and end with it, however it ends."""

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
    """Give processes to compute in. What has not begun is given up when the caller leaves.

    Args:
        jobs: how many.
        begin: called once in each, with the arguments.
        hint: what the user can do when one of them was killed.

    Raises:
        WheslError: one was killed.
    """
    # Spawned: a fork would carry the threads of numerical libraries into the children.
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
            if not whole:  # running work may take minutes, and its result is no longer wanted
                for process in multiprocessing.active_children():
                    process.terminate()


def _begun(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    # Ctrl-C is sent to all processes of a terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    """End this process when its parent has ended: a parent that was killed ends no child."""
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
