"""What PBS prints, and what it is given, as records: what was really printed, and what could be."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.lab.readers import site_log_format_detection
from whesl.lab.readers.site_job_records import State
from whesl.managers.resource.pbs import accounting, records, select, states
from whesl.managers.resource.pbs.command import DeniedError, NoSuchJobError, failure
from whesl.managers.resource.pbs.submission import submission
from whesl.managers.resource.pbs.tm_program import shell_status
from whesl.managers.resource.port import JobRequest
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError
from whesl.model.states import JobState, NodeState

# As qstat of openpbs 23.06 has printed it, shortened.
ENDED = """{
	"timestamp":	1795865461,
	"pbs_version":	"23.06.06",
	"Jobs":	{
		"4.bed":	{
			"Job_Name":	"j2.sh",
			"job_state":	"F",
			"ctime":	"Sat Nov 28 11:31:01 2026",
			"exec_host":	"n01/0*2+n02/1",
			"exec_vnode":	"(n01:ncpus=2)+(n02:ncpus=1)",
			"mtime":	"Sat Nov 28 11:31:03 2026",
			"stime":	"Sat Nov 28 11:31:01 2026",
			"obittime":	"Sat Nov 28 11:31:03 2026",
			"substate":	93,
			"Variable_List":	{"A": "x,y", "WHESL_SUBMISSION": "inherited"},
			"comment":	"Job run at Sat Nov 28 at 11:31 on (n01:ncpus=1) and failed",
			"run_count":	2,
			"Exit_status":	3,
			"Submit_arguments":	"-V -v WHESL_SUBMISSION=abc -l select=2"
		}
	}
}"""


def test_a_job_that_failed() -> None:
    (job,) = records.parsed(ENDED, "Jobs")
    record = records.job_record(job, records.parsed(ENDED, "Jobs")[job])
    assert (record.state, record.exit_code, record.restarts) == (JobState.FAILED, 3, 1)
    assert (record.nodes, record.batch_host, record.token) == (("n01", "n02"), "n01", "abc")
    assert record.ended - record.started == 2


def test_a_job_submitted_inside_another_is_not_taken_for_it() -> None:
    told = {"Submit_arguments": "-V run.sh", "Variable_List": {"WHESL_SUBMISSION": "abc"}}
    assert records.token_of(told) == ""


@pytest.mark.parametrize(
    ("letter", "substate", "status", "state"),
    [
        ("R", 42, None, JobState.RUNNING),
        ("E", 51, 0, JobState.COMPLETING),
        ("H", 22, None, JobState.PENDING),
        ("F", 92, 0, JobState.COMPLETED),
        ("F", 92, None, JobState.CANCELLED),  # a dependent whose parent failed
        ("F", 91, 0, JobState.CANCELLED),  # deleted; its script ended with 0
        ("F", 93, 271, JobState.FAILED),  # its own SIGTERM
        ("F", None, 271, JobState.CANCELLED),
        ("F", 93, -29, JobState.TIMEOUT),
        ("F", 93, -27, JobState.OUT_OF_MEMORY),
        ("F", 93, -20, JobState.NODE_FAIL),
        ("F", 93, -1, JobState.FAILED),
        ("?", None, None, JobState.UNKNOWN),
    ],
)
def test_states(letter: str, substate: int | None, status: int | None, state: JobState) -> None:
    assert states.job_state(letter, substate, status) is state


@given(st.integers(1, 64))
def test_a_signal_is_told_as_a_shell_does(signal: int) -> None:
    assert states.shell_status(256 + signal) == shell_status(256 + signal) == 128 + signal


@given(st.integers(-1000, -1))
def test_what_pbs_itself_ends_has_no_status_of_the_script(status: int) -> None:
    assert states.shell_status(status) is None


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("free", NodeState.UP),
        ("job-exclusive", NodeState.UP),
        ("resv-exclusive,job-busy", NodeState.UP),
        ("down", NodeState.DOWN),
        ("down,offline", NodeState.DOWN),
        ("offline", NodeState.DRAINED),
        ("state-unknown,down", NodeState.UNKNOWN),
        ("", NodeState.UNKNOWN),
    ],
)
def test_node_states(words: str, state: NodeState) -> None:
    assert states.node_state(words) is state


def test_a_host_of_several_virtual_nodes_is_one() -> None:
    def vnode(state: str) -> dict[str, object]:
        return {"state": state, "resources_available": {"host": "n01"}}

    text = json.dumps({"nodes": {"n01": vnode("free"), "n01[0]": vnode("down"), "n01[1]": vnode("free")}})
    (node,) = records.nodes(text)
    assert (node.name, node.state) == ("n01", NodeState.DOWN)
    assert records.free(text, "") == 0


@given(st.sampled_from(["007", "1e5x", "0x1F", "-01", "1.2.3", "inf", "NaN", ".5", "12-3", "1_000"]))
def test_what_looks_like_a_number_is_read_where_pbs_prints_it_bare(value: str) -> None:
    """Releases up to 20 print a variable's value without quotes when it begins like a number."""
    text = f'{{"Jobs": {{"1.s": {{"Job_Name": {value}, "substate": 42,\n"V": {{"A": {value}\n}} }}}}}}'
    told = records.parsed(text, "Jobs")["1.s"]
    assert str(told["Job_Name"]).lower() == value.lower()
    assert told["substate"] == 42


@given(st.text(max_size=60))
def test_what_is_no_answer_is_no_observation(text: str) -> None:
    try:
        assert records.parsed(text, "Jobs") == {}
    except CouldNotObserveError:
        return


_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
_VALUES = st.from_regex(r"[A-Za-z0-9._/-]{1,8}", fullmatch=True) | st.from_regex(
    r'"[a-z :+=]{0,6}"', fullmatch=True
)
_CHUNKS = st.lists(
    st.builds(
        select.Chunk,
        st.integers(1, 9999),
        st.lists(st.tuples(_NAMES, _VALUES), max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=4,
).map(tuple)


@given(_CHUNKS)
def test_a_select_statement_is_read_as_it_is_written(chunks: tuple[select.Chunk, ...]) -> None:
    assert select.parse(select.written(chunks)) == chunks


def test_a_chunk_without_a_number_is_one() -> None:
    assert select.parse("ncpus=4") == (select.Chunk(1, (("ncpus", "4"),)),)


@pytest.mark.parametrize("text", ["", "0", "x:ncpus=1", "2:ncpus", "2:=3", '1:a="b', "1++1", "2:ncpus="])
def test_a_bad_select_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="select"):
        select.parse(text)


def test_jobs_one_after_another() -> None:
    """As JSON, qstat prints the first of several jobs alone; a value of several lines is one."""
    lines = ["Job Id: 1.bed", "Job_Name=a", "Submit_arguments=-v X=1\n2", "job_state=F"]
    text = records.SEPARATOR.join(lines) + "\nJob Id: 2[].bed" + records.SEPARATOR + "job_state=B\n"
    found = records.listed(text)
    assert list(found) == ["1.bed", "2[].bed"]
    assert found["1.bed"]["Submit_arguments"] == "-v X=1\n2"
    assert records.job_record("2[].bed", found["2[].bed"]).state is JobState.RUNNING


def words_of(tmp_path: Path, text: str, **fields: object) -> list[str]:
    script = tmp_path / "job.sh"
    script.write_text(text)
    request = JobRequest(token="t", script=str(script), **fields)  # type: ignore[arg-type]  # of any type
    return submission(request, str(tmp_path))


def test_a_script_s_own_lines_stay_but_for_what_the_request_says(tmp_path: Path) -> None:
    text = """#!/bin/bash -e
#PBS -N own -v "A=1,B"
#PBS -lselect=9:ncpus=2,walltime=01:00:00,software='x,y' -V
# words
echo
#PBS -N late
"""
    words = words_of(tmp_path, text, nodes=2, tasks=6, arguments=("a b", ""))
    assert words[:6] == ["qsub", "-N", "own", "-l", "walltime=01:00:00,software=x,y", "-V"]
    assert "A=1,B,WHESL_SUBMISSION=t" in words
    assert "select=2:ncpus=3:mpiprocs=3" in words
    start = words.index("--")
    script = str(tmp_path / "job.sh")
    assert words[start + 5 :] == [str(tmp_path), "/bin/bash", "-e", script, "a b", ""]
    assert "late" not in words


@pytest.mark.parametrize("line", ["-q", "word", "-N 'x", "-"])
def test_a_bad_line_is_told(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError):
        words_of(tmp_path, f"#!/bin/sh\n#PBS {line}\n")


_PLAIN = st.from_regex(r"[A-Za-z0-9.,:/()+*\[\]_=-]{0,12}", fullmatch=True)
_BLANK = st.from_regex(r"[a-z=]{1,4} [a-z= ]{1,4}", fullmatch=True)
_FIELDS = st.dictionaries(
    st.from_regex(r"[A-Za-z_][\w.]{0,10}", fullmatch=True).filter(str.isascii), _PLAIN | _BLANK
)


@pytest.mark.costly
@given(st.integers(86400, 2_000_000_000), st.sampled_from("QSREDALCTuc"), _FIELDS)
def test_an_accounting_line_is_read_as_it_is_written(at: int, kind: str, fields: dict[str, str]) -> None:
    # An hour of the year stands for two times, where clocks are put back.
    told = accounting.Entry(time.mktime(time.localtime(at)), kind, "12[3].bed", fields)
    assert accounting.entry(accounting.written(told)) == told


@given(st.text(max_size=80))
def test_any_line_is_read_or_not(text: str) -> None:
    found = accounting.entry(text)
    assert found is None or accounting.ended(found) is None or found.kind in "ER"


def test_the_end_of_a_job() -> None:
    line = (
        '11/28/2026 11:31:13;E;6.bed;user=ada group=g project="a b" queue=workq ctime=1795865461 '
        "qtime=1795865461 etime=1795865461 start=1795865461 exec_host=n01/0*2+n02/0 "
        "Resource_List.nodect=2 Resource_List.walltime=00:10:02 session=99 end=1795865473 Exit_status=-29 "
        "resources_used.walltime=00:00:11 run_count=1"
    )
    one = accounting.entry(line)
    assert one is not None and one.fields["project"] == "a b"
    job = accounting.ended(one)
    assert job is not None
    assert (job.hosts, job.limit, job.ended - job.started) == (("n01", "n02"), 602, 12)
    assert (job.state, job.status, job.again) == ("TIMEOUT", None, False)


def test_the_lab_reads_accounting_logs(tmp_path: Path) -> None:
    fields = "user=ada queue=workq ctime=100 qtime=100 start=110 exec_host=n01/0+n02/0 end=150"
    log = tmp_path / "20261128"
    log.write_text(
        "11/28/2026 11:31:01;Q;6.bed;user=ada ctime=100\n"
        f"11/28/2026 11:31:02;R;6.bed;{fields} Exit_status=-11\n"
        f"11/28/2026 11:31:13;E;6.bed;{fields} Exit_status=271 Resource_List.walltime=00:01:00\n"
        "torn li\n"
        "11/28/2026 11:31:14;E;7[].bed;user=ada Exit_status=0\n"
    )
    found = site_log_format_detection.read_jobs(log)
    first, second = found.jobs
    assert (first.state, second.state) == (State.REQUEUED, State.CANCELLED)
    assert second[1:8] == ("6.bed", 100, 110, 150, 2, "n[01-02]", 60)
    assert [one.line for one in found.malformed] == [4]
    assert found.elsewhere == {"queued": 1, "ended without a run": 1}


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("qstat: Unknown Job Id 9.bed", NoSuchJobError),
        ("qsig: Unauthorized Request  9.bed", DeniedError),
        ("Connection refused\nqstat: cannot connect to server bed (errno=15010)", CouldNotObserveError),
        ("pbsconf error: pbs conf variables not found: PBS_HOME", CouldNotObserveError),
        ("", CouldNotObserveError),
        ("qsub: Unknown queue", RefusedError),
        ("qstat: Server shutting down", TransientError),
    ],
)
def test_failures(words: str, kind: type[Exception]) -> None:
    assert type(failure("qstat", 1, words)) is kind
