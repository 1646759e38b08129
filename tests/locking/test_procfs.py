"""What proc(5) and descriptors of processes tell."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from whesl.locking import procfs


def test_a_living_process_has_a_descriptor() -> None:
    descriptor = procfs.pidfd(os.getpid())
    assert descriptor is not None
    os.close(descriptor)


def test_a_process_that_is_gone_has_none() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=60)
    assert procfs.pidfd(ended.pid) is None


def test_a_number_that_a_thread_has_now_names_no_process() -> None:
    """A keeper whose isolator's number had gone to a thread ended with a traceback."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, args=(60,))
    thread.start()
    try:
        assert thread.native_id is not None
        assert procfs.pidfd(thread.native_id) is None
    finally:
        over.set()
        thread.join()
