"""What a failure looks like, and what a diagnosis of it has to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from whesl.files.toml import load


class Recipe(NamedTuple):
    """A failure.

    Attributes:
        cls: class of the cause.
        program: what runs (``work.PROGRAMS``).
        decisive: the line that tells the cause; ``{rank}`` and ``{node}`` are filled in.
        before, after: lines around it that belong to it.
        others: what other ranks print of it, one of these for each.
        summary: the launcher's last lines.
        advice: what helps; several where more than one is right.
        also: other lines that tell the cause as well as the decisive one (texts that they hold).
        where: what the log tells: any of ``rank`` and ``node``.
        label: whether the lines carry the rank's label where labels are printed.
    """

    cls: str
    program: str
    decisive: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    summary: tuple[str, ...] = ()
    advice: tuple[str, ...] = ("none",)
    also: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    label: bool = True


TRACE = (
    "Traceback (most recent call last):",
    '  File "/home/me/train.py", line 212, in <module>',
    "    main()",
    '  File "/home/me/train.py", line 187, in main',
    "    trainer.run(batch)",
)
NCCL = (
    "[E ProcessGroupNCCL.cpp:629] [Rank {other}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1234,"
    " OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600081 milliseconds before timing out.",
    "n09:4711:4802 [{other}] misc/socket.cc:50 NCCL WARN socketProgress: Connection closed by remote peer {node}<45678>",
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1331, remote process exited or there was a"
    " network error, NCCL version 2.20.5",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [10.0.0.9]:52905: Connection reset by"
    " peer",
)
ELASTIC = (
    "W0501 12:00:01.123000 4711 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 4718 closing signal"
    " SIGTERM",
    "E0501 12:00:02.123000 4711 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 1"
    " (pid: 4720) of binary: /usr/bin/python3",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "============================================================",
    "train.py FAILED",
    "Root Cause (first observed failure):",
    "[0]:",
    "  time      : 2024-05-01_12:00:00",
    "  host      : {node}",
    "  rank      : {rank} (local_rank: 1)",
    "  exitcode  : 1 (pid: 4720)",
    "  error_file: <N/A>",
    "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
)
SRUN = (
    "srun: error: {node}: task {rank}: Exited with exit code 1",
    "srun: Terminating StepId=4711.0",
    "slurmstepd: error: *** STEP 4711.0 ON n01 CANCELLED AT 2024-05-01T12:00:03 ***",
    "srun: error: n09: tasks 40-47: Terminated",
)
SRUN_KILLED = (
    "srun: error: {node}: task {rank}: Killed",
    "srun: Terminating StepId=4711.0",
    "slurmstepd: error: *** STEP 4711.0 ON n01 CANCELLED AT 2024-05-01T12:00:03 ***",
)
OMPI = (
    "--------------------------------------------------------------------------",
    "Primary job  terminated normally, but 1 process returned",
    "a non-zero exit code. Per user-direction, the job has been aborted.",
    "--------------------------------------------------------------------------",
    "mpirun noticed that process rank {rank} with PID 4711 on node {node} exited on signal 9 (Killed).",
)
OMPI_SEGV = (
    "--------------------------------------------------------------------------",
    "mpirun noticed that process rank {rank} with PID 4711 on node {node} exited on signal 11 (Segmentation fault).",
    "--------------------------------------------------------------------------",
)
ABORT = (
    "--------------------------------------------------------------------------",
    "MPI_ABORT was invoked on rank {rank} in communicator MPI_COMM_WORLD",
    "with errorcode 1.",
)
HYDRA = (
    "===================================================================================",
    "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "=   RANK {rank} PID 4711 RUNNING AT {node}",
    "=   EXIT CODE: 9",
    "===================================================================================",
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
)
PALS = (
    "{node}: rank {rank} exited with code 1",
    "n09: rank 41 died from signal 15",
    "n08: rank 32 died from signal 15",
)
MPICH_OTHERS = (
    "Abort(15) on node {other} (rank {other} in comm 0): Fatal error in internal_Wait: Other MPI error",
    "MPICH ERROR [Rank {other}] [job id 4711.0] [Wed May  1 12:00:02 2024] [n09] - Abort(15) (rank {other} in comm 0):"
    " Fatal error in PMPI_Allreduce: Other MPI error, error stack:",
)
OMPI_OTHERS = (
    "[n09:4711] *** An error occurred in MPI_Allreduce",
    "[n09][[55297,1],{other}][btl_tcp_frag.c:216:mca_btl_tcp_frag_recv] mca_btl_tcp_frag_recv: readv failed: Connection"
    " reset by peer (104)",
)


def recipes(name: str) -> list[Recipe]:
    """Return the failures of a file: ``seen`` or ``unseen``."""
    document = load(Path(__file__).with_name(f"{name}.toml"), "")
    return [_recipe(row) for row in document.values["failure"]]


def _recipe(row: dict[str, Any]) -> Recipe:
    lists = {
        key: _lines(row.get(key, []))
        for key in ("before", "after", "others", "summary", "also", "where", "advice")
    }
    return Recipe(
        cls=row["class"],
        program=row["program"],
        decisive=row["decisive"],
        label=row.get("label", True),
        **lists,
    )


def _lines(given: list[str]) -> tuple[str, ...]:
    """Return lines, with those that a name stands for."""
    found: list[str] = []
    for text in given:
        found += globals()[text[1:]] if text.startswith("@") and text[1:].isupper() else [text]
    return tuple(found)
