"""SWF logs: plain, packed, odd and malformed."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.lab.native import swf as native
from whesl.lab.readers import swf
from whesl.lab.simulators.cluster.simulation_records import spans, workload
from whesl.model.errors import WheslError

TEXT = b"""; Version: 2.2
; MaxProcs: 8
; UnixStartTime: 893466664

1 0 -1 10 2 -1 -1 2 20 -1 1 1 1 1 1 1 -1 -1
2\t5 -1  7.5 -1 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1 {a b} queue
; in between
3 4 -1 9 3 -1 -1 -1 5 -1 1 1 1 1 1 1 -1 -1\r
4 6 -1 0 3 -1 -1 -1 5 -1 1 1 1 1 1 1 -1 -1
5 7 -1 3 9 -1 -1 -1 5 -1 1 1 1 1 1 1 -1 -1
6 +8 -1 1e1 1 -1 -1 -1 5 -1 1 1 1 1 1 1 -1 -1
7 9 -1
8 9 -1 x 1 -1 -1 -1 5 -1 1 1 1 1 1 1 -1 -1
9 9 -1 nan 1 -1 -1 -1 5 -1 1 1 1 1 1 1 -1 -1"""


def test_jobs_header_and_malformed_lines() -> None:
    log = swf.parse(TEXT, "x.swf")
    assert log.header == {"Version": "2.2", "MaxProcs": "8", "UnixStartTime": "893466664"}
    assert log.processors() == 8
    assert log.field("job").tolist() == [1, 2, 3, 4, 5, 6]
    assert log.field("run").tolist() == [10, 7.5, 9, 0, 3, 10]
    assert log.line.tolist() == [5, 6, 8, 9, 10, 11]
    assert [(each.line, each.why) for each in log.malformed] == [
        (12, "3 fields"),
        (13, "field 4 is no number: 'x'"),
        (14, "field 4 is no number: 'nan'"),
    ]


def test_strict_names_what_is_wrong() -> None:
    with pytest.raises(WheslError, match=r"x\.swf: 3 malformed lines \(line 12: 3 fields; line 13"):
        swf.parse(TEXT, "x.swf", strict=True)


def test_the_workload_of_a_log() -> None:
    log = swf.parse(TEXT, "x.swf")
    work, notes = workload(log, 8)
    assert work.job.tolist() == [1, 3, 2, 6]
    assert work.submit.tolist() == [0, 4, 5, 8]
    assert work.size.tolist() == [2, 3, 4, 1]
    assert work.estimate.tolist() == [20, 9, 7.5, 10]
    assert [str(note) for note in notes] == [
        "no positive run time: line 9",
        "larger than the machine of 8 processors: line 10",
        "submitted before the job above it: line 8",
    ]
    with pytest.raises(WheslError, match="no positive run time: line 9; larger than"):
        workload(log, 8, strict=True)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_packed(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(TEXT))
    assert len(swf.read(path)) == 6


@pytest.mark.parametrize("size", ["\u00b2", pytest.param("9" * 5000, id="long"), "-8", "many"])
def test_a_header_that_tells_no_size(size: str) -> None:
    assert swf.parse(f"; MaxProcs: {size}\n".encode() + TEXT.split(b"\n", 3)[3], "x.swf").processors() is None


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + TEXT, TEXT.replace(b"\r", b"").replace(b"\n", b"\r\n"), TEXT.replace(b"\n", b"\r")],
)
def test_ends_of_lines_and_a_byte_order_mark(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    log = swf.read(path)
    assert log.processors() == 8
    assert log.field("job").tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no job in it"),
        (b"; MaxProcs: 4\n", "no job in it"),
        (b"node,start,end\n1,2,3\n", "this is no SWF log"),
        (lzma.compress(TEXT)[:-9], "damaged"),
        (gzip.compress(TEXT, mtime=0)[:-9], "damaged"),
        (b"\x1f\x8bnothing", "damaged"),
        (b"BZh9nothing", "damaged"),
        (b"PK\x03\x04", "packed as zip"),
        (b"\x28\xb5\x2f\xfd", "damaged|compressed by zstd"),
        (TEXT.decode().encode("utf-16"), "UTF-16"),
    ],
)
def test_no_log(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(WheslError, match=said):
        swf.read(path)
    with pytest.raises(WheslError, match="No such file"):
        swf.read(tmp_path / "none")


@pytest.mark.costly
@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(-(10**17), 10**17).map(str),
                st.floats(-1e9, 1e9).map(repr),
                st.decimals(-(10**9), 10**9, places=3).map(str),
            ),
            min_size=18,
            max_size=20,
        ),
        min_size=1,
        max_size=8,
    )
)
def test_numbers_are_those_of_python(table: list[list[str]]) -> None:
    numbers = [[float(word) for word in row[:18]] for row in table]
    for in_c in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not in_c:
                patch.setattr(native, "library", lambda: None)
            log = swf.parse("\n".join(" ".join(row) for row in table).encode(), "x")
        assert log.values.T.tolist() == numbers


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(max_size=300))
def test_bytes_of_any_kind(content: bytes) -> None:
    """Each line is blank, a comment, a job or malformed; nothing else is raised."""
    try:
        log = swf.parse(content, "x")
    except WheslError:
        return
    assert len(log) + len(log.malformed) <= content.count(b"\n") + 1


LINES = st.lists(
    st.sampled_from(
        [
            b" ",
            b"\t",
            b"\r",
            b"\n",
            b";",
            b"1",
            b"-1",
            b"2.5",
            b"x",
            b"1e3",
            b"-",
            b".",
            b"nan",
            b"1 " * 18,
            b"\x0b",
        ]
    ),
    max_size=60,
).map(b"".join)


@settings(max_examples=examples(200), deadline=None)
@given(LINES)
def test_lines_read_in_c_are_as_those_read_in_python(content: bytes) -> None:
    found = []
    for in_c in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not in_c:
                patch.setattr(native, "library", lambda: None)
            try:
                log = swf.parse(content, "x")
                found.append(str((log.values.tolist(), log.line.tolist(), log.header, log.malformed)))
            except WheslError as error:
                found.append(error.message)
    assert found[0] == found[1]


def test_spans_of_lines() -> None:
    assert spans(np.array([1, 2, 3, 7, 9, 10])) == "1-3,7,9-10"
    assert spans(np.array([], dtype=np.int64)) == ""
