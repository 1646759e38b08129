"""Logs of real sites. The files in ``data/site`` were printed by a real Slurm 22.05 and a real Flux 0.88.

Slurm: four nodes, two of which crashed; job 10 died of it, job 9 was requeued and ran again; job 1 has a bar
in its name, node n03 was drained with one in the reason. Flux: four nodes, n03's broker was killed.
"""

from __future__ import annotations

import json
import lzma
import math
from datetime import timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.lab.readers import site_log_format_detection, slurm_jobs_and_events
from whesl.lab.readers.outage_records import in_order
from whesl.lab.readers.site_job_records import Clock, JobLog, State
from whesl.model.errors import UsageError, WheslError
from whesl.model.hostlist import idset

DATA = Path(__file__).resolve().parents[1] / "data" / "site"
START = 1795410836.0 + 6  # 2026-11-23T05:14:02 in UTC


def jobs(name: str) -> JobLog:
    return site_log_format_detection.read_jobs(DATA / name, zone=timezone.utc)


# Jobs ----------------------------------------------------------------------------------------------------


def test_all_forms_of_sacct_say_the_same() -> None:
    full, allocations, as_json = jobs("sacct.txt"), jobs("sacct-X.txt"), jobs("sacct.json.xz")
    assert full.elsewhere == {"step": 13}
    assert not full.malformed
    assert not allocations.malformed
    assert not as_json.malformed
    assert [job[2:9] for job in full.jobs] == [job[2:9] for job in allocations.jobs]
    assert sorted(job[1:8] for job in full.jobs) == sorted(job[1:8] for job in as_json.jobs)


def test_a_job_that_was_requeued_has_two_records() -> None:
    first, second = [job for job in jobs("sacct-X.txt").jobs if job.job == "9"]
    assert (first.state, second.state) == (State.NODE_FAIL, State.COMPLETED)
    assert first.end - first.start == 25
    assert second.start - first.end > 100
    assert (first.hosts, first.nodes, first.limit) == ("n[03-04]", 2, 1200.0)


def test_a_bar_in_a_name_is_no_separator() -> None:
    job = jobs("sacct.txt").jobs[0]
    assert job.line == 2
    assert (job.state, job.nodes, job.hosts, job.limit) == (State.COMPLETED, 2, "n[01-02]", 300.0)


def test_each_state_is_told_apart() -> None:
    found = {job.job: job.state for job in jobs("sacct-X.txt").jobs}
    assert found["1"] is State.COMPLETED
    assert found["2"] is State.FAILED
    assert found["4"] is State.TIMEOUT
    assert found["6"] is State.CANCELLED
    assert found["10"] is State.NODE_FAIL
    assert found["11"] is State.RUNNING


def test_json_of_later_versions(tmp_path: Path) -> None:
    """Since data parser 0.0.39 states are lists and numbers are objects."""
    found = json.loads(lzma.decompress((DATA / "sacct.json.xz").read_bytes()))
    for job in found["jobs"]:
        job["state"]["current"] = [job["state"]["current"]]
        limit = job["time"]["limit"]
        job["time"]["limit"] = {"set": True, "infinite": limit is None, "number": limit or 0}
    file = tmp_path / "sacct.json"
    file.write_text(json.dumps(found))
    assert site_log_format_detection.read_jobs(file).jobs == jobs("sacct.json.xz").jobs


def test_a_job_that_waits(tmp_path: Path) -> None:
    file = tmp_path / "sacct.txt"
    header = (DATA / "sacct-X.txt").read_text().splitlines()[0]
    file.write_text(f"{header}\n12|PENDING|2026-11-23T05:14:32|Unknown|Unknown|30|4|4|None assigned\n")
    (job,) = site_log_format_detection.read_jobs(file).jobs
    assert (job.state, job.nodes, job.hosts) == (State.PENDING, 4, "")
    assert math.isnan(job.start)


def test_flux_jobs() -> None:
    found = jobs("flux-jobs.json")
    assert (found.format, found.unit, found.lines, found.malformed) == ("flux", "entry", 11, [])
    states = [job.state for job in found.jobs]
    assert states.count(State.COMPLETED) == 5
    assert states.count(State.NODE_FAIL) == states.count(State.TIMEOUT) == states.count(State.CANCELLED) == 1
    killed = next(job for job in found.jobs if job.state is State.NODE_FAIL)
    assert (killed.hosts, killed.nodes, killed.limit) == ("n03", 1, 300.0)
    assert killed.end - killed.start == pytest.approx(3.39, abs=0.01)
    assert math.isnan(next(job for job in found.jobs if job.state is State.CANCELLED).start)


@pytest.mark.parametrize("form", ["table", "swf"])
def test_plain_forms(tmp_path: Path, form: str) -> None:
    text = (
        "job,submit,start,end,nodes,limit,state\na,100,160,260,4,200,completed\n"
        "b,120,170,180,1,,node failure\n"
        if form == "table"
        else "; UnixStartTime: 0\n1 100 60 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n"
        "2 120 50 10 -1 -1 -1 1 -1 -1 0 1 1 1 1 1 -1 -1\n"
    )
    file = tmp_path / "log"
    file.write_text(text)
    one, two = site_log_format_detection.read_jobs(file).jobs
    assert one[2:9] == (100.0, 160.0, 260.0, 4, "", 200.0, State.COMPLETED)
    assert two[2:8] == (120.0, 170.0, 180.0, 1, "", math.inf)


def test_malformed_lines_are_counted_and_named(tmp_path: Path) -> None:
    lines = (DATA / "sacct-X.txt").read_text().splitlines()
    lines[1] = lines[1].replace("2026-11-23T05:14:0", "yesterday", 1)
    lines[2] = "|".join(lines[2].split("|")[:4])
    lines[3] = lines[3].replace("TIMEOUT", "VANISHED")
    file = tmp_path / "sacct.txt"
    file.write_text("\n".join(lines))
    found = site_log_format_detection.read_jobs(file, zone=timezone.utc)
    assert [bad.line for bad in found.malformed] == [2, 3, 4]
    assert "4 fields where 9 are needed" in found.malformed[1].why
    assert len(found.jobs) + 3 == found.lines == len(lines) - 1
    with pytest.raises(UsageError, match=r"line 2: not a time.*3 of \d+ cannot be read"):
        site_log_format_detection.read_jobs(file, strict=True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("|5|", f"|{10**400}|"),
        ("|5|", f"|{'9' * 5000}|"),
        ("2026-11-23T05:14:02", "2026-11-23T05:14:99"),
        ("|2|", f"|{10**30}|"),
    ],
    ids=["limit", "digits", "second", "nodes"],
)
def test_a_number_that_cannot_be_is_malformed(tmp_path: Path, old: str, new: str) -> None:
    line = "1|COMPLETED|2026-11-23T05:14:02|2026-11-23T05:14:02|2026-11-23T05:15:02|5|2|n[01-02]"
    file = tmp_path / "sacct.txt"
    text = (
        "JobID|State|Submit|Start|End|TimelimitRaw|NNodes|NodeList\n" + line + "\n" + line.replace(old, new)
    )
    file.write_text(text)
    assert [bad.line for bad in site_log_format_detection.read_jobs(file).malformed] == [3]
    with pytest.raises(ValueError, match="time limit"):
        slurm_jobs_and_events.seconds(f"{10**400}-00:00:00")


def test_times_that_go_back(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(
        "job,submit,start,end,nodes,limit\na,100,160,150,4,\nb,200,150,250,4,\nc,1,2,3,4,\n"
        "d,1,2,3,4,nan\ne,1,2,3,4,-5\n"
    )
    found = site_log_format_detection.read_jobs(file)
    assert [bad.why for bad in found.malformed] == [
        "it ends 10 s before it starts: its times go back",
        "it starts 50 s before its submission",
        "limit is no time above 0: 'nan'",
        "limit is no time above 0: '-5'",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\nworld\n", ":1: not a job log of a known format"),
        ("JobID|State|Start|End\n", ":1: no column Submit"),
        ("job,submit,start,end,nodes,colour\n", ":1: unknown column 'colour'"),
        ('{"jobs": 3}', "JSON without a list of jobs"),
        ("JobID|State|Submit|Start|End|NNodes\n", "no job in 0 lines"),
        ("; only a header\n", "no job in it"),
    ],
)
def test_what_is_no_job_log(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "log"
    file.write_text(text)
    with pytest.raises(WheslError) as error:
        site_log_format_detection.read_jobs(file)
    assert said in str(error.value)
    assert str(file) in str(error.value) or "log:" in str(error.value)


@pytest.mark.parametrize(
    "job",
    [
        '{"job_id": 1, "time": {"submission": 1, "start": 2, "end": 3, "limit": 5},'
        ' "state": {"current": "COMPLETED"}, "allocation_nodes": 1e999, "nodes": "n1"}',
        '{"t_submit": 1, "state": "INACTIVE", "result": "COMPLETED", "id": 3, "t_run": 2, "t_cleanup": 4,'
        ' "nnodes": 1e999, "nodelist": "n1"}',
    ],
)
def test_an_infinite_number_is_malformed(tmp_path: Path, job: str) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(f'{{"jobs": [{job}]}}')
    with pytest.raises(WheslError, match=r"no job in 1 entries; entry 1: .*infinity"):
        site_log_format_detection.read_jobs(file)


def test_a_damaged_archive(tmp_path: Path) -> None:
    file = tmp_path / "sacct.json.xz"
    file.write_bytes((DATA / "sacct.json.xz").read_bytes()[:500])
    with pytest.raises(WheslError, match=r"sacct\.json\.xz"):
        site_log_format_detection.read_jobs(file)


@given(st.text(max_size=300), st.integers(0, 4))
def test_no_text_makes_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str, kind: int) -> None:
    begin = (
        "JobID|State|Submit|Start|End|NNodes|JobName\n",
        '{"jobs": [',
        "job,submit,start,end,nodes\n",
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason\n",
        "1795409667.766814 restart ",
    )[kind]
    file = tmp_path_factory.getbasetemp() / "garbage"
    file.write_text(begin + text, encoding="utf-8", errors="replace")
    for read in (site_log_format_detection.read_jobs, site_log_format_detection.read_failures):
        try:
            read(file)
        except WheslError as error:
            assert str(error)


# Times ---------------------------------------------------------------------------------------------------


def test_times_in_a_zone() -> None:
    berlin = Clock(ZoneInfo("Europe/Berlin"))
    assert berlin.time("2026-11-23T06:14:02") == Clock(timezone.utc).time("2026-11-23T05:14:02") == START
    assert berlin.time("2026-07-01T12:00:00") == Clock(timezone.utc).time("2026-07-01T10:00:00")
    assert berlin.time("1795410842") == START
    assert math.isnan(berlin.time("Unknown"))
    for wrong in ("2026-11-23T05:61:02", "2026-13-23T05:01:02", "inf", "05:14", "2026-11-23T05-14-02"):
        with pytest.raises(ValueError, match="not a time"):
            berlin.time(wrong)


@given(st.integers(0, 20_000), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_limits(days: int, hours: int, minutes: int, seconds: int) -> None:
    shown = f"{hours:02}:{minutes:02}:{seconds:02}"
    expected = hours * 3600 + minutes * 60 + seconds
    assert slurm_jobs_and_events.seconds(shown) == expected
    assert slurm_jobs_and_events.seconds(f"{days}-{shown}") == days * 86400 + expected
    assert slurm_jobs_and_events.seconds("UNLIMITED") == math.inf


# Failures ------------------------------------------------------------------------------------------------


def test_events_of_slurm() -> None:
    """Drained nodes kill no job, and a cluster that starts has not failed."""
    found = site_log_format_detection.read_failures(DATA / "events.txt", zone=timezone.utc)
    history = found.history
    assert history.names == ("n01", "n02", "n03", "n04")
    assert [history.names[node] for node in history.node] == ["n02", "n04"]
    assert (history.end - history.start).tolist() == [3.0, 3.0]
    assert history.start[0] == START + 25
    assert history.causes == ("Not responding",)
    assert found.elsewhere == {"of the cluster": 1, "UNK": 4, "DRAIN": 1}
    assert not found.malformed


def test_events_are_left_out_by_their_reason() -> None:
    found = site_log_format_detection.read_failures(
        DATA / "events.txt", zone=timezone.utc, leave_out="Not resp"
    )
    assert len(found.history) == 0
    assert found.elsewhere["left out by their reason"] == 2


@pytest.mark.parametrize(
    ("take", "taken"),
    [
        ("", []),
        ("nhc", ["n1", "n2", "n3"]),
        ("nhc-hardware", ["n1", "n2"]),
        ("^(NHC: check_ps|upgrade)", ["n3", "n4"]),
    ],
)
def test_drains_of_node_health_check_are_taken_where_asked_for(
    take: str, taken: list[str], tmp_path: Path
) -> None:
    """Sites whose failures are drains of Node Health Check learned nothing."""
    file = tmp_path / "events"
    file.write_text(
        "NodeName|TimeStart|TimeEnd|State|Reason\n"
        "n1|1000|2000|DRAIN|NHC: check_hw_ib:  No IB port found\n"
        "n2|1000|2000|IDLE+DRAIN|NHC: check_fs_mount:  /home not mounted\n"
        "n3|1000|2000|DRAIN|NHC: check_ps_loadavg:  load is 900\n"
        "n4|1000|2000|DRAIN|upgrade\n"
        "n5|1000|2000|POWERED_DOWN|NHC: check_hw_ib:  saving power\n"
    )
    history = site_log_format_detection.read_failures(file, take=take).history
    assert [history.names[node] for node in history.node] == taken


def test_an_event_that_has_not_ended(tmp_path: Path) -> None:
    file = tmp_path / "events"
    file.write_text(
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\nbed|n[1-2]|1000|Unknown|DOWN|disk|root\n"
    )
    history = site_log_format_detection.read_failures(file).history
    assert history.end.tolist() == [math.inf, math.inf]
    file.write_text(
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\nbed|n1|1000|900|DOWN|disk|root\nbed|n1|9|\n"
    )
    with pytest.raises(WheslError, match="no event in 2 lines"):
        site_log_format_detection.read_failures(file)
    with pytest.raises(UsageError, match="line 2: node n1 is back before it failed"):
        site_log_format_detection.read_failures(file, strict=True)


@pytest.mark.parametrize("name", ["flux-resource.eventlog", "flux-resource.json"])
def test_events_of_flux(name: str) -> None:
    found = site_log_format_detection.read_failures(DATA / name)
    history = found.history
    assert history.names == ("n01", "n02", "n03", "n04")
    assert [history.names[node] for node in history.node] == ["n03"]
    assert history.start[0] == pytest.approx(1795409681.780148, abs=1e-6)
    assert history.end[0] == math.inf
    assert found.elsewhere == {"restart": 1, "resource-define": 1, "drain": 2, "undrain": 1}


def test_a_node_of_flux_that_came_back(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text((DATA / "flux-resource.eventlog").read_text() + '1795409700.5 online idset="2"\n')
    assert site_log_format_detection.read_failures(file).history.end.tolist() == [1795409700.5]


def test_times_of_flux_that_go_back(tmp_path: Path) -> None:
    """They ended the replay with a message that named neither file nor line."""
    file = tmp_path / "eventlog"
    begin = '1000.0 restart ranks="0-1" nodelist="n[0-1]"\n1001.0 online idset="0-1"\n'
    file.write_text(begin + '1200.0 offline idset="1"\n1100.0 online idset="1"\n1300.0 offline idset="0"\n')
    found = site_log_format_detection.read_failures(file)
    assert [bad.line for bad in found.malformed] == [4]
    assert "times go back" in found.malformed[0].why
    assert found.history.start.tolist() == [1200, 1300]
    with pytest.raises(UsageError, match=r"eventlog: line 4: rank 1 is back before it failed"):
        site_log_format_detection.read_failures(file, strict=True)


def test_the_eventlog_that_does_not_tell() -> None:
    with pytest.raises(UsageError, match="no event says which nodes are online"):
        site_log_format_detection.read_failures(DATA / "flux-kvs.eventlog")


def test_other_failure_records_are_read_too(tmp_path: Path) -> None:
    file = tmp_path / "failures.csv"
    file.write_text("node,start,end,cause\nn1,100,200,disk\n")
    assert site_log_format_detection.read_failures(file).history.names == ("n1",)
    file.write_text("what,is,this\n")
    with pytest.raises(UsageError, match="sacctmgr -P show event"):
        site_log_format_detection.read_failures(file)


def test_sets_and_orders() -> None:
    assert idset("0-3,7") == idset("[0-3,7]") == [0, 1, 2, 3, 7]
    for wrong in ("3-1", "a", "1-", "0-999999999"):
        with pytest.raises(ValueError, match="not an idset"):
            idset(wrong)
    assert in_order({"n10", "n9", "n1", "a2", "n01"}) == ["a2", "n01", "n1", "n9", "n10"]
