"""Where a cause struck: what messages of many styles name among their words."""

from __future__ import annotations

import pytest

from tests.runtime.diagnose.logs import told, why
from whesl.runtime.diagnose.diagnosing import scanner
from whesl.runtime.diagnose.diagnosis_records import Accounting
from whesl.runtime.diagnose.ranking import diagnose

PLACES = (
    ("ERROR: node gpu-b12-07 is not responding, giving up", {"node": "gpu-b12-07"}),
    ("srun: error: Nodes node[12-13] are still not ready", {"node": "node12"}),
    ("[n17:3:gpu2] FATAL: illegal memory access", {"node": "n17", "rank": 3, "device": "2"}),
    ("FATAL (rank 41 on tux13): negative density in cell 8", {"node": "tux13", "rank": 41}),
    (
        "rank=41 host=tux13 gpu=2: CUDA error: an illegal memory access was encountered",
        {"node": "tux13", "rank": 41, "device": "2"},
    ),
    (
        "tux13 rank 41: write /scratch/u/out.h5: No space left on device",
        {"node": "tux13", "rank": 41, "path": "/scratch/u/out.h5"},
    ),
    ("[Errno 122] Disk quota exceeded: '/home/u/.cache/x'", {"path": "/home/u/.cache/x"}),
    (
        "At line 33 of file io.f90 (unit = 10, file = '/scratch/x/data.in')\n"
        "Fortran runtime error: No such file or directory",
        {"path": "/scratch/x/data.in"},
    ),
    ("Process 14 on host cn-7-12 died: bus error", {"node": "cn-7-12", "rank": 14}),
    ("Rank 7 [cn12]: FATAL: timestep too small", {"node": "cn12", "rank": 7}),
    ("PE 7 on cn12: FATAL: timestep too small", {"node": "cn12", "rank": 7}),
    ("FATAL from PE   133: NaN in field t", {"rank": 133}),
    (
        "n14:4019:4871 [3] transport/net_ib.cc:2231 NCCL WARN NET/IB : Got completion from peer 10.11.0.15<4>"
        " with status=12 opcode=0 len=0 vendor err 129 (Recv)\n[rank19]:[E1027 21:32:23.3 Process.cpp:2093] "
        "[PG ID 0 PG GUID 0(default_pg) Rank 19] Process group watchdog thread terminated with exception: "
        "NCCL error: remote process exited or there was a network error",
        {"node": "n14", "rank": 19},
    ),
    (
        "Polled an error from coordination service (this can be an error from this or another task).\n"
        "/job:jax_worker/replica:0/task:5",
        {"rank": 5},
    ),
    ("hipErrorNoBinaryForGpu on device 2 of x1000c3s4b0n1", {"node": "x1000c3s4b0n1"}),
    (
        "MPT ERROR: Rank 15(g:15) received signal SIGSEGV(11).\n\tProcess ID: 4, Host: r6i0n4, Program: /a",
        {"node": "r6i0n4", "rank": 15},
    ),
    (
        "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n               NVRM: (PCI ID: 10de:26b5)\n"
        "               NVRM: fallen off the bus and is not responding to commands.",
        {"device": "0000:b3:00.0"},
    ),
    (
        "ray.exceptions.NodeDiedError: Task was killed due to the node dying. ip: 10.0.0.8",
        {"node": "10.0.0.8"},
    ),
    ("ERROR: Device 5 (GPU-12ab) reported HW fault; host gpu017", {"node": "gpu017", "device": "5"}),
    ("cudaErrorECCUncorrectable on gpu 3 of compute-0-12", {"node": "compute-0-12", "device": "3"}),
    ("tar: /scratch/u/x.tar: Cannot write: Stale file handle", {"path": "/scratch/u/x.tar"}),
    (
        "   [2024-06-05T15:00:57] [2] [/d/a.c:21] ERROR: Failed to open file `/mnt/nnf/job/data.out'",
        {"rank": 2, "path": "/mnt/nnf/job/data.out"},
    ),
    (
        "forrtl: Cannot send after transport endpoint shutdown\n"
        "forrtl: severe (38): error during write, unit 31, file /lustre/run/field.000128",
        {"path": "/lustre/run/field.000128"},
    ),
    (
        "[2] FATAL:   container creation failed: mount /scratch/tmp->/tmp error: mounting /scratch/tmp\n"
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 44120 RUNNING AT q14",
        {"rank": 2, "node": "q14", "path": "/scratch/tmp"},
    ),
    # What looks like a place and is none.
    (
        "HDF5-DIAG: Error detected in HDF5 (1.14.2) thread 0:\n   - File   : /scratch/met/SITE.h5",
        {"node": None, "path": "/scratch/met/SITE.h5"},
    ),
    ("(Worker pid=9, ip=10.1.1.7) mlx5: host_unknown: got completion with error:", {"node": "10.1.1.7"}),
    (
        "n1:1:2 [0] misc/ibvwrap.cc:182 NCCL WARN Call to ibv_reg_mr failed with error Invalid argument",
        {"node": "n1"},
    ),
    # Slurm 24.11 names the node that tells of the loss of another one.
    ("slurmstepd-n01: error: *** JOB 1 ON n01 CANCELLED AT 12:00:00 DUE TO NODE FAILURE ***", {"node": None}),
    (
        "*** STEP 1.0 ON n01 CANCELLED AT 12:00:00 DUE TO NODE FAILURE ***\nsrun: error: Node failure on n02",
        {"node": "n02"},
    ),
    ("n7 kernel: Out of memory: Killed process 4711 (solver) total-vm:9kB", {"node": "n7", "rank": None}),
    ("OSError: [Errno 28] No space left on device", {"device": None, "node": None, "path": None}),
    ("RuntimeError: failed at step3 of epoch12, on cuda:1", {"node": None}),
)


@pytest.mark.parametrize(("message", "expected"), PLACES, ids=[message[:40] for message, _ in PLACES])
def test_places(message: str, expected: dict[str, object]) -> None:
    cause = why(f"step 1\nstep 2\n{message}\n").cause
    assert cause is not None
    assert {name: getattr(cause.finding, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("file", "rank"), [("run/rank.2.out", 2), ("pe-07.log", 7), ("rsl.error.0012", 12), ("a2.log", None)]
)
def test_the_rank_in_the_name_of_its_own_file(file: str, rank: int | None) -> None:
    reader = scanner()
    reader.begin(file)
    reader.feed(b"Segmentation fault (core dumped)\n")
    reader.finish()
    cause = diagnose(reader.observed()).cause
    assert cause is not None
    assert cause.finding.rank == rank


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("srun: error: n02: task 1: Killed", ("out-of-memory-host", 2)),
        ("srun: error: n02: task 1: Segmentation fault", ("segfault/app-bug", 2)),
        (
            "srun: Force Terminated StepId=2.1\nsrun: error: n02: task 1: Killed",
            ("dependency-of-other-rank", 1),
        ),
        ("srun: error: n01: task 0: Killed", ("dependency-of-other-rank", 1)),
    ],
    ids=["killed", "a fault", "killed with its step", "the rank that tells of it"],
)
def test_a_rank_that_died_explains_a_lost_peer(launcher: str, expected: tuple[str, int]) -> None:
    lost = (
        "[rank0]: RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.2.0.5]:52"
    )
    assert told(f"{lost}\n{launcher}\n") == expected


def test_the_label_of_a_launcher_outweighs_the_number_that_hdf5_tells() -> None:
    line = "HDF5-DIAG: Error detected in HDF5 (1.10.6) MPI-process 3:\n #000: H5D.c line 7 in H5Dclose():\n"
    for label, rank in (("", 3), ("1219: ", 1219)):
        cause = why("".join(f"{label}{each}\n" for each in line.splitlines())).cause
        assert cause is not None and cause.finding.rank == rank


@pytest.mark.parametrize(("hosts", "node"), [("n07/0*4", "n07"), ("n07/0*4+n08/0*4", None)])
def test_the_host_of_a_job_that_ran_on_one(hosts: str, node: str | None) -> None:
    record = Accounting(state="FAILED", status=1, told=f"Exit_status=1, exec_host={hosts}, used mem=3kb")
    cause = why("RuntimeError: the mesh is empty\n", accounting=record).cause
    assert cause is not None and cause.finding.node == node
