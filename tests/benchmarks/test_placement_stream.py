"""Long runs on real clusters: what was done is kept, what was not is run again, nothing is mixed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from benchmarks import placement_stream


def options(out: Path, *more: str) -> argparse.Namespace:
    given = ["--seeds", "1-2", "--modes", "off,exact", "--jobs", "3", "--out", str(out), *more]
    return placement_stream.parser("x").parse_args(given)


@pytest.mark.costly
def test_a_run_that_failed_or_was_cut_off_is_run_again_and_others_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, asked = tmp_path / "out", []
    lab = dict.fromkeys(placement_stream.MEASURES, 1.0)
    monkeypatch.setattr(placement_stream, "simulated", lambda *_: lab)

    def run(mode: str, jobs: placement_stream.Stream, *_: object) -> list[tuple[int, float, float, bool]]:
        asked.append(mode)
        if len(asked) == 2:
            raise placement_stream.RunError("the cluster is gone")
        return [(at, 1.0, 2.0, False) for at in range(len(jobs.size))]

    with pytest.raises(SystemExit, match="seed 1, exact: the cluster is gone"):
        placement_stream.run_all(options(out), "slurm", run)
    assert asked == ["off", "exact", "off", "exact"]
    out.write_bytes(out.read_bytes()[:-9])  # the last line was not written to its end
    placement_stream.run_all(options(out), "slurm", run)
    assert asked[4:] == ["exact", "exact"]
    placement_stream.run_all(options(out), "slurm", run)
    assert len(asked) == 6
    assert "| exact | 2 |" in capsys.readouterr().out
    placement_stream.run_all(options(out, "--jobs", "4"), "slurm", run)  # another stream is another run
    assert len(asked) == 10
    lines = [json.loads(line) for line in out.read_text().splitlines() if line.endswith("}")]
    assert [len(line["load"]) for line in lines] == [2] * 8
