"""Which line of several is the cause."""

from __future__ import annotations

from tests.diagnose.logs import told, why
from whesl.diagnose.vocabulary import Outcome
from whesl.model.evidence import Advice

STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(200))


def test_a_symptom_before_its_cause_is_explained_by_it() -> None:
    log = (
        STEPS
        + "[rank1]:[E ProcessGroupNCCL.cpp:629] Watchdog caught collective operation timeout: WorkNCCL(\n"
        + "n2:1:2 [0] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer n1<1>\n"
        + "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        + "srun: error: n2: task 3: Exited with exit code 1\n"
    )
    assert told(log) == ("out-of-memory-gpu", 203)
    assert len(why(log).consequences) == 3


def test_an_error_after_which_the_work_went_on_is_none() -> None:
    log = STEPS + "RuntimeError: CUDA error: out of memory\n" + STEPS + "Training complete.\n"
    assert why(log).outcome is Outcome.ENDED_WELL
    died = STEPS + "KeyError: 'x'\n" + STEPS + "OSError: [Errno 28] No space left on device: '/scratch/x'\n"
    assert told(died) == ("filesystem-full", 402)


def test_what_others_meet_later_stays_the_cause() -> None:
    log = (
        "kernel: NVRM: Xid (PCI:0000:44:00): 79, GPU has fallen off the bus.\n"
        + STEPS
        + "[rank1]:[E ProcessGroupNCCL.cpp:629] Watchdog caught collective operation timeout: WorkNCCL(\n"
    )
    assert told(log) == ("gpu-hardware", 1)


def test_an_output_that_was_held_back_comes_after_the_error() -> None:
    steps = "".join(STEPS.splitlines(keepends=True)[:30])
    log = "KeyError: 'x'\n" + steps + "srun: error: n2: task 3: Exited with exit code 1\n"
    assert told(log) == ("segfault/app-bug", 1)


def test_the_first_exception_of_a_chain() -> None:
    log = """\
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    raise KeyError("MemoryError: a text in the source")
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
RuntimeError: no x
"""
    assert told(log) == ("segfault/app-bug", 4)


def test_where() -> None:
    log = """\
[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered
mpirun noticed that process rank 3 with PID 0 on node n02 exited on signal 9 (Killed).
"""
    found = why(log)
    assert found.cause is not None
    assert (found.cause.finding.rank, found.cause.finding.node) == (3, "n02")
    assert found.advice is Advice.OTHER_NODES


def test_nothing_known() -> None:
    assert why("hello\nworld\n").outcome is Outcome.UNKNOWN
    assert why("").outcome is Outcome.UNKNOWN
