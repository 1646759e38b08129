"""Readers of failure records: what real files hold, and what is said of lines that are wrong."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.lab.readers.failures import periods, read
from whesl.model.errors import UsageError, WheslError

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"
real = pytest.mark.skipif(not (DATA / "lanl").is_dir(), reason="the traces are not beside the checkout")
LANL = DATA / "lanl" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"


@real
@pytest.mark.costly
def test_lanl() -> None:
    loaded = read(LANL, system="18")
    assert loaded.lines == 23739
    assert loaded.history.nodes == 1024
    assert len(np.unique(loaded.history.node)) == 964
    assert sum("names no node" in line.why for line in loaded.malformed) == 126
    assert loaded.malformed[0].line == 9461
    everything = read(LANL).history
    entry, leave = everything.service()
    assert everything.nodes == len(everything.names) == len(entry) == len(leave)
    assert (entry[everything.node] <= everything.start).all()
    assert (everything.start <= leave[everything.node]).all()
    with pytest.raises(UsageError, match="no system 1\n  hint: systems in it: 2, 3, 4"):
        read(LANL, system="1")
    with pytest.raises(UsageError, match=":9461: node 578 of system 11, which has 256"):
        read(LANL, strict=True)


@real
def test_the_failure_trace_archive_has_the_same_failures() -> None:
    """Derived from LANL's records: the same machines; overlapping records are one in both."""
    archive = read(DATA / "fta" / "lanl05_event_trace.tab.xz", system="20")
    records = read(LANL, system="20")
    assert archive.format == "fta"
    assert not archive.malformed
    assert len(archive.history) == pytest.approx(len(records.history), rel=0.02)


@real
def test_mira() -> None:
    loaded = read(DATA / "mira" / "mira-fatal-events-2013-2016.csv.xz")
    assert (loaded.format, loaded.lines, loaded.history.nodes) == ("mira", 27996, 96)
    assert loaded.history.names[-1] == "R2F-M1"
    assert loaded.elsewhere == {"I/O rack": 456, "no location": 24}
    assert len(periods(DATA / "mira" / "mira-maintenance-periods.csv")) == 160


def test_a_plain_table(tmp_path: Path) -> None:
    path = tmp_path / "failures.csv.xz"
    path.write_bytes(
        lzma.compress(
            b"node,start,end,cause\nn07,100,200,disk\nn03,1970-01-01 00:00:50,,\nn07,150,250,fan\n"
            b"n07,when,300,\nn07,400,300,\nn03\n,1,2,\n"
        )
    )
    loaded = read(path)
    history = loaded.history
    assert (loaded.format, loaded.lines, history.names) == ("csv", 7, ("n03", "n07"))
    assert history.start.tolist() == [50, 100]
    assert history.end.tolist() == [float("inf"), 250]
    assert [history.causes[code] for code in history.cause] == ["", "disk"]
    assert [line for line, _ in loaded.malformed] == [5, 6, 7, 8]
    assert "times go back" in loaded.malformed[1].why
    with pytest.raises(UsageError, match=r"failures.csv.xz:5: time 'when' is not YYYY-MM-DD"):
        read(path, strict=True)
    assert read(path, nodes=5).history.nodes == 5
    with pytest.raises(UsageError, match="2 nodes are named, which is more than 1"):
        read(path, nodes=1)


def test_files_of_another_machine_or_format(tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    path.write_text("node,start,end\n3,1,2\n12,5,9\n")
    assert read(path).history.nodes == 13
    with pytest.raises(UsageError, match=r"csv:3: node 12 is not one of 8\n.*another machine"):
        read(path, nodes=8)
    with pytest.raises(UsageError, match=r"csv:1: not a file of failures in the format lanl"):
        read(path, "lanl")
    path.write_text("; Version: 2.2\n1 0 5 10\n")
    with pytest.raises(UsageError, match=r"accepted are .*node,start,end"):
        read(path)
    path.write_text("node,start,end\nx,y,z\n")
    with pytest.raises(WheslError, match=r"no failure in 1 lines; line 2: time 'y'"):
        read(path)
    with pytest.raises(WheslError, match="cannot read"):
        read(tmp_path / "absent.csv")
    damaged = tmp_path / "failures.csv.xz"
    damaged.write_bytes(lzma.compress(b"node,start,end\n1,2,3\n" * 5000)[:-40])
    with pytest.raises(WheslError, match="cannot read"):
        read(damaged)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "node,start,end,severity\n1,2,3,high\n",
            r"csv:1: unknown column 'severity'\n.*known: node,start,end",
        ),
        ("node,start,end,cause,rack\n1,2,3,fan,r1\n", r"csv:1: unknown column 'rack'"),
        ("node,start,end\n1,2,3\n999999999999,2,3\n", r"csv:3: node 999999999999: no machine has so many"),
        ("node,start,end\n1,2,3,,\n1,2,3,disk, fan\n", r"csv:3: 5 fields where 3 are named"),
        ("node,start,end\n\u00b2,x,3\n", r"csv:2: time 'x'"),
    ],
)
def test_what_a_plain_table_cannot_have(tmp_path: Path, text: str, said: str) -> None:
    """Unknown columns were taken for causes or dropped; a large number filled the memory with names."""
    path = tmp_path / "failures.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read(path, strict=True)


def test_digits_that_are_no_numbers_are_names(tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    path.write_text("node,start,end\n\u00b2,1,3\n9,2,3\n")
    assert set(read(path).history.names) == {"\u00b2", "9"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(100))
@given(
    head=st.sampled_from(
        [
            b"node,start,end\n",
            b"System,machine type,nodes\n",
            b"# event_id\n",
            b"event_id,msg_id,location,category,first_time,last_time\n",
            b"",
        ]
    ),
    body=st.one_of(st.binary(max_size=200), st.text('0123456789²,.\t\n"-:/ n', max_size=300).map(str.encode)),
)
def test_any_bytes_are_read_or_refused(tmp_path: Path, head: bytes, body: bytes) -> None:
    """Each line that was counted is a failure, named as malformed, or elsewhere."""
    path = tmp_path / "any.csv"
    path.write_bytes(head + body)
    try:
        loaded = read(path)
    except WheslError:
        return
    assert 0 < len(loaded.history) <= 2 * loaded.lines
    assert (loaded.history.end >= loaded.history.start).all()
