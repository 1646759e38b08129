"""What proc(5) and descriptors of processes tell."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from whesl.runtime.locking import procfs


def test_a_living_process_has_a_descriptor() -> None:
    descriptor = procfs.pidfd(os.getpid())
    assert descriptor is not None
    os.close(descriptor)


def test_a_process_that_is_gone_has_none() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(timeout=60)
    assert procfs.pidfd(ended.pid) is None


WITHOUT_DESCRIPTORS = """
import os, resource, subprocess, sys
from whesl.runtime.locking import job_leader_identity
from whesl.runtime.node_agent.fencing import attempt_processes as processes
from whesl.runtime.locking import takeover_lock
from whesl.managers.resource.embedded import process_lookup as virtual

child = subprocess.Popen(["sleep", "60"], env={"WHESL_ATTEMPT_TOKEN": "token"})
owner = takeover_lock.owned(pid=child.pid)
leader = job_leader_identity._name(child.pid)
while processes.command_line(child.pid)[:5] != b"sleep":
    pass
found = processes.read(child.pid)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 64))
seen = {
    "owner": owner.alive,
    "leader": not job_leader_identity.gone(leader),
    "alive": processes.alive(child.pid, found.started),
    "left": bool(processes.kill_all("token", timeout=0.1).left),
}
for name, look in (("read", processes.read), ("virtual", virtual.look)):
    try:
        seen[name] = look(child.pid) is not None
    except OSError:
        seen[name] = True
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
seen["killed"] = processes.kill_all("token").count == 1
child.wait()
seen["ended"] = not owner.alive and job_leader_identity.gone(leader) and virtual.look(child.pid) is None
print(sorted(name for name, value in seen.items() if not value))
"""


def test_what_cannot_be_observed_is_not_gone() -> None:
    """Without a descriptor to read /proc with, an owner counted as dead and an attempt as fenced."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DESCRIPTORS], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


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
