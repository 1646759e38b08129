"""Lines of system logs: time, node and message."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prediction.log_chains.loghub import LOGS, structured
from whesl.model.errors import UsageError
from whesl.prediction.log_chains.lines import FORMATS, Header, told

UTC = timezone.utc
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC).timestamp()
LINES = [
    (
        "iso",
        b"2026-02-28T23:59:59.250000+01:00 n01.cluster.org kernel: [   12.345678] EDAC MC0: 1 CE x",
        datetime(2026, 2, 28, 22, 59, 59, 250000, tzinfo=UTC),
        b"EDAC MC0: 1 CE x",
    ),
    (
        "iso",
        b"2026-02-28T23:59:59+0100 n01 slurmd[123]: done with step 1.0\r",
        datetime(2026, 2, 28, 22, 59, 59, tzinfo=UTC),
        b"done with step 1.0",
    ),
    (
        "iso",
        b"<5>2026-02-28 23:59:59Z n01 a message without a program",
        datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC),
        b"a message without a program",
    ),
    (
        "syslog",
        b"Dec  9 12:01:01 n01 crond(pam_unix)[2915]: session closed",
        datetime(2025, 12, 9, 12, 1, 1, tzinfo=UTC),
        b"session closed",
    ),
    (
        "syslog",
        b"<34>Mar  1 23:00:00 n01 kernel: ahead by less than a day",
        datetime(2026, 3, 1, 23, 0, 0, tzinfo=UTC),
        b"ahead by less than a day",
    ),
    (
        "rfc5424",
        b'<34>1 2026-02-28T22:14:15.003Z n01.cluster.org su - ID47 [a@1 b="c"] su root failed',
        datetime(2026, 2, 28, 22, 14, 15, 3000, tzinfo=UTC),
        b"su root failed",
    ),
]


@pytest.mark.parametrize(("form", "line", "time", "message"), LINES)
def test_forms(form: str, line: bytes, time: datetime, message: bytes) -> None:
    header = told([line], NOW, UTC)
    assert header is not None
    assert header.form == form
    for _ in range(2):  # the second time its hour is known
        read = header.read(line)
        assert read is not None
        assert read.time == pytest.approx(time.timestamp())
        assert (read.node, read.message) == ("n01", message)


@given(
    st.datetimes(datetime(1975, 1, 1), datetime(2030, 1, 1)),
    st.integers(-12 * 60, 12 * 60),
)
def test_iso_times_of_any_zone(moment: datetime, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    text = moment.replace(tzinfo=zone).isoformat(timespec="microseconds")
    read = Header("iso").read(f"{text} n01 kernel: x".encode())
    assert read is not None
    assert read.time == pytest.approx(moment.replace(tzinfo=zone).timestamp(), abs=1e-5)


def test_an_address_stays_whole() -> None:
    read = Header("iso").read(b"2026-02-28T23:59:59Z 10.1.2.3 kernel: x")
    assert read is not None
    assert read.node == "10.1.2.3"


def test_what_is_no_time_is_no_line() -> None:
    header = Header("syslog", NOW, UTC)
    assert header.read(b"Feb 31 12:01:01 n01 kernel: x") is None
    assert header.read(b"Abc  1 12:01:01 n01 kernel: x") is None
    assert header.read(b"    at frame 3 of a traceback") is None


def test_a_form_of_the_sites_own() -> None:
    header = Header(r"^(?P<time>\d+) host=(?P<node>[^ ]+) msg=(?P<message>.*)$")
    read = header.read(b"1700000000 host=n7 msg=hello")
    assert read is not None
    assert read == (1700000000.0, "n7", b"hello")
    with pytest.raises(UsageError, match="no group node"):
        Header(r"^(?P<time>\d+) (?P<message>.*)$")
    with pytest.raises(UsageError):
        Header(r"^(?P<time>\d+")


def test_a_log_of_no_known_form_is_told() -> None:
    assert told([b"hello", b"world"]) is None


@given(st.binary(max_size=120))
def test_no_line_is_a_defect(line: bytes) -> None:
    for form in FORMATS:
        Header(form, NOW, UTC).read(line)


@pytest.mark.parametrize(
    ("log", "form", "least"),
    [("BGL", "bluegene", 2000), ("HPC", "system20", 1982), ("Thunderbird", "thunderbird", 1991)],
)
def test_real_logs(log: str, form: str, least: int) -> None:
    """The others have a field missing, or a colon in a message without a program."""
    lines, contents = structured(log)
    header = told(lines)
    assert header is not None
    assert header.form == form
    same = 0
    for line, content in zip(lines, contents, strict=True):
        read = header.read(line)
        same += read is not None and read.message.decode().strip() == content.strip()
    assert same >= least
    assert LOGS
