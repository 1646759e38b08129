"""From a site's logs to a case: what is replayed, and what is refused."""

from __future__ import annotations

from datetime import timezone
from pathlib import Path

import numpy as np
import pytest

from whesl.lab.readers import machine_file, site_log_format_detection
from whesl.lab.replay.case_from_logs import Case, prepare
from whesl.model.errors import UsageError

DATA = Path(__file__).resolve().parents[1] / "data" / "site"
EVENTS = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"


def case(jobs: Path, failures: Path, **given: object) -> Case:
    log = site_log_format_detection.read_jobs(jobs, zone=timezone.utc)
    return prepare(log, site_log_format_detection.read_failures(failures, zone=timezone.utc), **given)  # type: ignore[arg-type]  # as in the test


def slurm() -> Case:
    return case(DATA / "sacct-X.txt", DATA / "events.txt")


def test_a_real_cluster() -> None:
    found = slurm()
    assert found.names == ("n01", "n02", "n03", "n04")
    assert "1 not replayed: still running at the log's end" in found.notes
    assert "1 not replayed: no run time" in found.notes, "cancelled before it started"
    assert "failure log: 1 not taken: DRAIN" in found.notes
    assert [found.names[node] for node in found.history.node] == ["n02", "n04"]


def test_a_requeued_job_counts_once() -> None:
    """Its first attempt was killed, 25 s on two nodes; the second one tells its run time."""
    found = slurm()
    place = found.jobs.index("9")
    assert found.jobs.count("9") == 1
    assert found.work.run[place] == 41.0
    assert found.work.submit[place] == found.work.submit[found.jobs.index("10")]
    assert found.recorded.kills[place] == 1
    assert found.recorded.lost[place] == 50.0
    assert found.recorded.wait[place] == 0.0


def test_a_job_that_died_has_an_estimated_run_time() -> None:
    """It ran 25 s; the one completed job that ran longer took 41 s."""
    found = slurm()
    place = found.jobs.index("10")
    assert found.recorded.kills[place] == 1
    assert found.work.run[place] == 41.0
    assert found.work.estimate[place] == 1200.0
    assert any("their run time is estimated" in note for note in found.notes)


def test_a_real_flux() -> None:
    found = case(DATA / "flux-jobs.json", DATA / "flux-resource.eventlog")
    assert len(found.names) == 4
    assert int(found.recorded.kills.sum()) == 1
    assert np.isinf(found.history.end[0])
    assert (np.diff(found.work.submit) >= 0).all()
    assert (found.work.estimate >= found.work.run).all()


@pytest.mark.parametrize(
    ("jobs", "events", "said"),
    [
        ("a,1000,1001,1100,1,,,x1\n", "c|n01|1000|1060|DOWN|r|u\n", "the failures are of other nodes"),
        ("a,1000,1001,1100,1,,,n01\n", "c|n01|9000|9060|DOWN|r|u\n", "the failures are from"),
        ("a,1000,1001,1100,5,,,n01\n", "c|n01|1000|1060|DOWN|r|u\n", "line 2: job a asks for 5 nodes"),
        ("a,1000,1001,1100,1,,,n[01\n", "c|n01|1000|1060|DOWN|r|u\n", "line 2:"),
        ("a,1000,,,1,,pending,\n", "c|n01|1000|1060|DOWN|r|u\n", "no job that ran to an end"),
    ],
)
def test_what_does_not_belong_together(tmp_path: Path, jobs: str, events: str, said: str) -> None:
    (tmp_path / "jobs.csv").write_text(f"job,submit,start,end,nodes,limit,state,hosts\n{jobs}")
    (tmp_path / "events").write_text(EVENTS + events)
    with pytest.raises(UsageError, match=said):
        case(tmp_path / "jobs.csv", tmp_path / "events")


def test_resources_say_what_the_machine_has(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    file.write_text('name = "bed"\ncheckpoint = 10\n[[nodes]]\nnames = "n[01-06]"\ncpus = 2\n')
    found = case(DATA / "sacct-X.txt", DATA / "events.txt", resources=machine_file.read(file))
    assert found.title == "bed"
    assert len(found.names) == 6
    assert set(found.work.checkpoint) == {10.0}
    file.write_text('[[nodes]]\nnames = "n[01-03]"\n')
    with pytest.raises(UsageError, match="names nodes that the machine does not have: n04"):
        case(DATA / "sacct-X.txt", DATA / "events.txt", resources=machine_file.read(file))
    file.write_text("nodes = 3\n")
    with pytest.raises(UsageError, match="nodes of the resources have no names"):
        case(DATA / "sacct-X.txt", DATA / "events.txt", resources=machine_file.read(file))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[nodes]]\nnames = "n[1-3]"\ncolour = "red"\n', ":3: 'colour' is not known here"),
        ('[[nodes]]\nnames = "n[1-"\n', ":2:"),
        ('zone = "Mars/Base"\n[[nodes]]\nnames = "n1"\n', ":1: zone: no time zone 'Mars/Base'"),
        ('[[nodes]]\nnames = "n1"\n[[nodes]]\nnames = "n[1-2]"\n', "node n1 is listed twice"),
        ("name = \n", "no TOML"),
        ("nodes = []\n", "no nodes"),
    ],
)
def test_resources_that_are_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "machine.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        machine_file.read(file)
    assert said in str(error.value)


def test_more_work_than_the_machine_has_is_said(tmp_path: Path) -> None:
    """Jobs of the record that shared a node."""
    rows = "".join(f"{job},1000,1000,2000,1,,,n01\n" for job in range(8))
    (tmp_path / "jobs.csv").write_text(f"job,submit,start,end,nodes,limit,state,hosts\n{rows}")
    (tmp_path / "events").write_text(EVENTS + "c|n01|1000|1060|DOWN|r|u\n")
    found = case(tmp_path / "jobs.csv", tmp_path / "events")
    assert any("8.00 times the machine's node-time" in note for note in found.notes)


@pytest.mark.parametrize("hosts", ["n[01-", "n[3-1]", "n[a-b]", "n[01-03]]"])
def test_a_list_of_hosts_that_cannot_be_read_is_counted_and_the_others_are_replayed(
    tmp_path: Path, hosts: str
) -> None:
    # One such line ended the replay; the page says that it is counted.
    rows = [
        "1,0,10,20,1,60,completed,n01",
        f'2,0,10,20,1,60,completed,"{hosts}"',
        "3,5,10,20,1,60,completed,n02",
    ]
    (tmp_path / "jobs.csv").write_text(
        "job,submit,start,end,nodes,limit,state,hosts\n" + "\n".join(rows) + "\n"
    )
    (tmp_path / "events.csv").write_text("node,start,end\nn01,15,16\n")
    found = case(tmp_path / "jobs.csv", tmp_path / "events.csv")
    assert found.jobs == ("1", "3") and found.names == ("n01", "n02")
    assert any(note.startswith("1 not read: line 3: ") for note in found.notes), found.notes
