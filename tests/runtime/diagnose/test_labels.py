"""What stands before a line's own words."""

from __future__ import annotations

import pytest

from whesl.runtime.diagnose import labels
from whesl.runtime.diagnose.labels import clean, uncoloured
from whesl.runtime.diagnose.prepared_knowledge import prepared


@pytest.mark.parametrize(
    ("line", "rank", "node"),
    [
        ("3: Killed", 3, None),
        (" 3: Killed", 3, None),
        ("[rank3]: Killed", 3, None),
        ("[default3]:Killed", 3, None),
        ("[default4]:[rank12]:Killed", 12, None),  # 4 is the number on its node
        ("[1,3]<stderr>:Killed", 3, None),
        ("Fri Sep 25 16:52:53 2020[3]<stderr>:Killed", 3, None),
        ("[E ProcessGroupNCCL.cpp:737] [Rank 3] Killed", 3, None),
        ("slurmstepd-sp-0016: Killed", None, "sp-0016"),
        ("[3] Killed", 3, None),
        ("[3:n02] Killed", 3, "n02"),
        ("n02: Killed", None, "n02"),
        ("node7: 3: Killed", 3, "node7"),
        ("x1000c0s0b0n0.hostmgmt.site.org: Killed", None, "x1000c0s0b0n0.hostmgmt.site.org"),
        ("2026-01-02T03:04:05.123Z Killed", None, None),
        ("2026-01-02 03:04:05,123 [rank3]: Killed", 3, None),
        ("[2026-01-02 03:04:05] n02:12:13 [0] Killed", 0, "n02"),
        ("Jan  2 03:04:05 n02 kernel: Killed", None, "n02"),
        ("[12345.678901] Killed", None, None),
        ("(RayWorker pid=12, ip=10.0.0.7) Killed", None, "10.0.0.7"),
        ("[n02:12345] Killed", None, "n02"),
        ("MPICH ERROR [Rank 3] [job id 1.0] [Fri Oct 18 10:42:04 2024] [nid001] - Killed", 3, "nid001"),
        ("step12: Killed", None, None),
        ("[3@node7] Killed", 3, "node7"),
        ("28463ef361be:rank0.python: Killed", 0, "28463ef361be"),
        ("(VllmWorker rank=7 pid=410) ERROR 07-23 19:34:51 [multiproc_executor.py:487] Killed", 7, None),
        ("10.3.35.83: Killed", None, "10.3.35.83"),
        ("1695433647::cxi:core:cxip_cb():3688<warn> nid005116: Killed", None, "nid005116"),
    ],
)
def test_labels(line: str, rank: int | None, node: str | None) -> None:
    cleaned = clean(line)
    assert cleaned.text in ("Killed", "step12: Killed")
    assert (cleaned.rank, cleaned.node) == (rank, node)


def test_the_host_before_a_message_of_psm_is_no_part_of_a_longer_name() -> None:
    cleaned = clean("s05r1b72.304088hfi_userinit_internal: assign_context command failed")
    assert (cleaned.text, cleaned.node) == (
        "hfi_userinit_internal: assign_context command failed",
        "s05r1b72",
    )


def test_a_program_is_no_host() -> None:
    assert clean("s3d.x: mesh.cc:6264: bool f(): Assertion `0' failed.").node is None


def test_colours() -> None:
    assert (
        uncoloured("\x1b[1;35mtorch.OutOfMemoryError\x1b[0m: \x1b[35mCUDA\x1b[0m")
        == "torch.OutOfMemoryError: CUDA"
    )


def test_no_label_depends_on_the_value_of_a_digit() -> None:
    lines = {line.rstrip() for entry in prepared().entries for line in (*entry.sees, *entry.ignores)}
    lines |= {"[c10d] failed", "c10d: failed", "HDF5-DIAG: failed", "[1234567890.5] [n7:12:0] failed"}
    for line in lines:
        assert labels._labels(line) == labels._labels(line.translate(labels._ZEROS)), line
