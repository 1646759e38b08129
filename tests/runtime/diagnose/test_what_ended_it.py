"""What srun ended, what a logger or a shell survived, and the devices that lines name."""

from __future__ import annotations

import pytest

from tests.runtime.diagnose.logs import told, why
from whesl.runtime.diagnose.vocabulary import Outcome

STEPS = "".join(f"step {n} loss {3 - n / 1000:.3f}\n" for n in range(200))


def test_a_rank_that_srun_ended_is_no_cause() -> None:
    """Words of srun 22.05.8, which ends the tasks of a step by SIGTERM, and by SIGKILL what is left."""
    failed = "srun: error: n01: task 0: Exited with exit code 1\n"
    ends = "srun: launch/slurm: _step_signal: Terminating StepId=29.0\n"
    assert told(f"{STEPS}{failed}{ends}srun: error: n04: task 2: Killed\n") == (
        "dependency-of-other-rank",
        201,
    )


def test_a_failed_command_counts_less_than_a_failure_much_later() -> None:
    listed = "ls: cannot access 'a.rst': No such file or directory\n"
    assert told(listed + "the mesh is read\n" * 70 + "RuntimeError: the mesh is empty\n")[1] == 72


def test_an_exception_below_a_logger_s_head_is_as_serious_as_the_head_says() -> None:
    java = "java.net.ConnectException: Connection refused\n\tat java.base/sun.nio.ch.Net.pollConnect(Net)\n"
    assert why(STEPS + "INFO: The address of the cloud is not known.\n" + java).outcome is not Outcome.FAILED
    assert why(STEPS + "SEVERE: The address of the cloud is not known.\n" + java).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("kernel: mlx5_core 0000:5e:00.0: device's health compromised - reached miss count", "0000:5e:00.0"),
        ("kernel: Buffer I/O error on dev sda2, logical block 3, async page read", "sda2"),
        ("ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15)", "mlx5_0"),
        ("dm-0: write failed, user block limit reached.", "dm-0"),
        (
            "n1:rank0.x: Wrong pkey 0x7fff on hfi1_0 port 1, please use PSM3_PKEY to specify a valid pkey",
            "hfi1_0",
        ),
    ],
)
def test_the_device_that_a_line_names(line: str, device: str) -> None:
    cause = why(f"{STEPS}{line}\n").cause
    assert cause is not None and (cause.finding.device, cause.finding.node == device) == (device, False)
