"""From the text of odd logs to written start times, against a reader and a scheduler of a few lines each.

The rules are those of pyss: jobs with a positive run time and 0 < processors <= N, requested (field 8), else
allocated (field 5); estimate max(requested time, run time); all ends and arrivals of one time, then a pass.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.cli.lab.schedule import schedule

NODES = 8
Job = tuple[float, int, float, float]


def jobs_of(text: str) -> dict[int, Job]:
    """Read a log: submit, size, run, estimate of each job's number."""
    jobs = {}
    for line in text.splitlines():
        words = line.split(";")[0].split()
        if len(words) < 18:
            continue
        submit, run, allocated, requested, limit = (float(words[at]) for at in (1, 3, 4, 7, 8))
        size = int(requested if requested > 0 else allocated)
        if submit >= 0 and run > 0 and 0 < size <= NODES:
            jobs[int(words[0])] = (submit, size, run, max(limit, run))
    return jobs


def starts(jobs: dict[int, Job], *, overtake: bool) -> dict[int, float]:
    """Schedule them: EASY where jobs overtake, else FCFS."""
    found: dict[int, float] = {}
    order = sorted(jobs, key=lambda job: jobs[job][0])
    now = -1.0
    while len(found) < len(jobs):
        events = [found[job] + jobs[job][2] for job in found] + [jobs[job][0] for job in jobs]
        now = min(event for event in events if event > now)
        running = [job for job in found if found[job] + jobs[job][2] > now]
        waiting = [job for job in order if jobs[job][0] <= now and job not in found]
        free = NODES - sum(jobs[job][1] for job in running)
        found |= dict.fromkeys(one_pass(jobs, found, running, waiting, free, now, overtake=overtake), now)
    return found


def one_pass(
    jobs: dict[int, Job],
    found: dict[int, float],
    running: list[int],
    waiting: list[int],
    free: int,
    now: float,
    *,
    overtake: bool,
) -> list[int]:
    """Return the jobs that start now."""
    begun: list[int] = []
    while waiting and jobs[waiting[0]][1] <= free:
        free -= jobs[waiting[0]][1]
        begun.append(waiting.pop(0))
    if not waiting or not overtake:
        return begun
    ends = [(found.get(job, now) + jobs[job][3], jobs[job][1]) for job in running + begun]
    head = jobs[waiting[0]][1]
    room = {end: free + sum(size for other, size in ends if other <= end) for end, _ in ends}
    shadow = min(end for end in room if room[end] >= head)
    extra = room[shadow] - head
    for job in waiting[1:]:
        _, size, _, estimate = jobs[job]
        if size <= free and (now + estimate <= shadow or size <= extra):
            free -= size
            extra -= size if now + estimate > shadow else 0
            begun.append(job)
    return begun


FIELD = st.sampled_from([-1, 0, 1, 2, 3, 5, 8, 9])
TIMES = st.sampled_from(["-1", "0", "1", "2", "3", "7", "7.5", "20", "+4", "1e1"])
ROWS = st.lists(
    st.tuples(st.integers(-1, 12), TIMES, FIELD, FIELD, TIMES, st.sampled_from([" ", "\t", "  "])),
    min_size=1,
    max_size=14,
)


@pytest.mark.parametrize(("policy", "overtake"), [("easy", True), ("fcfs", False)])
@given(rows=ROWS, header=st.booleans(), end=st.sampled_from(["\n", "\r\n", "\n\n", " extra\n"]))
@settings(max_examples=examples(60))
def test_every_start_is_that_of_the_rules(
    policy: str, overtake: bool, rows: list[tuple[int, str, int, int, str, str]], header: bool, end: str
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = ["; UnixStartTime: 0", "; MaxProcs: 8"] if header else []
    for job, (submit, run, allocated, requested, limit, gap) in enumerate(rows, 1):
        fields = (job, submit, -1, run, allocated, -1, -1, requested, limit, *[-1] * 9)
        lines.append(gap.join(map(str, fields)))
    text = end.join(lines) + end
    wanted = starts(jobs_of(text), overtake=overtake)
    with tempfile.TemporaryDirectory() as place:
        log, out = Path(place) / "x.swf", Path(place) / "out"
        log.write_bytes(text.encode())
        command = ["--log", str(log), "--processors", str(NODES), "--policy", policy, "--out", str(out)]
        done = CliRunner().invoke(schedule, command)
        if not wanted:
            assert "no job can run" in str(done.exception)
            return
        table = parquet.read_table(out / "jobs.parquet")
        assert dict(zip(table["job"].to_pylist(), table["start"].to_pylist(), strict=True)) == wanted
