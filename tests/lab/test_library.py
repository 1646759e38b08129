"""The lab's page: its examples run as they are printed."""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT.parent / "shared" / "data"
LANL = TRACES / "lanl" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"


def swf(jobs: int) -> str:
    """A made-up log of 128 processors."""
    draw = np.random.default_rng(3)
    lines = ["; MaxProcs: 128"]
    for job, submit in enumerate(np.cumsum(draw.exponential(300, jobs)).astype(int), 1):
        run, size = int(draw.integers(60, 7200)), int(draw.integers(1, 65))
        lines.append(f"{job} {submit} -1 {run} {size} -1 -1 {size} {2 * run} -1 1 1 1 1 1 1 -1 -1")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", ["library.md"])
def test_the_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one directory; the one with LANL's records where these are."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "lab" / page).read_text(), re.DOTALL)
    assert len(blocks) == 5
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples" / "lab")
    (tmp_path / "SDSC-SP2-1998-4.2-cln.swf.xz").write_bytes(lzma.compress(swf(400).encode()))
    if LANL.exists():
        (tmp_path / LANL.name).symlink_to(LANL)
    else:
        blocks = [block for block in blocks if LANL.name not in block]
    maker = [sys.executable, str(ROOT / "examples" / "lab" / "made_up_site.py"), str(tmp_path)]
    subprocess.run(maker, check=True, timeout=60)
    script = tmp_path / "example.py"
    script.write_text("\n".join(blocks))
    environment = {"PYTHONPATH": str(ROOT / "examples" / "lab"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "fcfs" in done.stdout
    assert "node-hours, 95 % between" in done.stdout
    assert (tmp_path / "out" / "waits.svg").exists()
