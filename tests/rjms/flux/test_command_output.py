"""What Flux's commands print, as flux-core 0.88.0 did, and the far end that reads it. No Flux needed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError
from whesl.rjms.flux import command_output as output
from whesl.rjms.flux.bridge import API, COMMANDS, Bridge, ways

ATTRIBUTES = """\
hostlist                                n[01-04]
instance-level                          0
local-uri                               local:///tmp/whesl-flux-6k1jwkfd/run/local-0
parent-uri                              -
rank                                    0
security.owner                          {uid}
size                                    4
version                                 0.88.0
"""
OVERLAY = """\
0 n01: degraded
1 n02: full
2 n03: lost lost connection
3 n04: offline
"""
RESOURCES = (
    '{"version":1,"execution":{"R_lite":[{"rank":"0-3","children":{"core":"0-1"}}],"starttime":0.0,'
    '"expiration":0.0,"nodelist":["n[01-04]"]}}\n'
)
RESOURCE_EVENTS = """\
{"timestamp":1795312088.0271697,"name":"resource-define","context":{"method":"configuration"}}
{"timestamp":1795312510.4650176,"name":"drain","context":{"idset":"1-3","nodelist":"n[02-04]","reason":"a b"}}
{"timestamp":1795312511.0011759,"name":"undrain","context":{"idset":"2","nodelist":"n03","overwrite":0}}
"""
JOB_EVENTS = """\
job.0000.066f.bb00.0000.eventlog={"timestamp":1795312509.8906612,"name":"submit","context":{"userid":0}}
{"timestamp":1795312509.9055116,"name":"validate"}

job.0000.0200.f300.0000.eventlog={"timestamp":1795312219.3868341,"name":"submit","context":{"userid":0}}
{"timestamp":1795312219.9283,"name":"exception","context":{"type":"exec","severity":0,"note":"a=b on n02"}}
{"timestamp":1795312219.9330206,"name":"clean"}
"""
SETROOT = (
    'kvs.namespace-primary-setroot\t{"namespace":"primary","rootseq":51,"rootref":"sha1-0117","keys":'
    '{"job.0000.01fe.bf00.0000.eventlog":null,"job.0000.0200.f300.0000.eventlog":null,'
    '"job.0000.0200.f300.0000.R":null},"owner":0}'
)
JOB = (
    '{"id": 2203100119040, "userid": 0, "t_submit": 1795312219.3868341, "state": 64, "name": "x",'
    ' "ranks": "1", "result": 2, "waitstatus": 32512}\n'
)


def test_attributes_without_a_value_are_left_out() -> None:
    found = output.attributes(ATTRIBUTES.format(uid=7))
    assert (found["hostlist"], found["security.owner"], found["rank"]) == ("n[01-04]", "7", "0")
    assert "parent-uri" not in found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("flux: flux_open: No such file or directory", 111),
        ("flux-job: flux_open: broker socket /tmp/nobody was not found", 111),
        ("flux-kvs: resource.R: Operation not permitted", 1),
        ("flux-job: raise ƒYSdhaGP: guests can only raise exceptions on their own jobs", 1),
        ("flux-job: flux job-list.list-d: No such file or directory", 2),
        ("flux-ping: 2!broker.ping: No route to host", 113),
        ("noise before\nflux-job: kill 99999: unknown job id", 22),
        ("flux-exec: Connection reset by peer", 104),
        ("", 0),
        ("flux-job: \n", 22),
    ],
)
def test_failures(text: str, code: int) -> None:
    assert output.failure(text)[0] == code


def test_hosts_by_rank() -> None:
    assert output.hosts(RESOURCES) == {"0": "n01", "1": "n02", "2": "n03", "3": "n04"}
    for damaged in ("", "{}", "[]", '{"execution": {"R_lite": [{"rank": "x"}], "nodelist": ["n1"]}}'):
        with pytest.raises((ValueError, LookupError, TypeError)):
            output.hosts(damaged)


def test_who_is_connected() -> None:
    assert output.overlay(OVERLAY) == {0: True, 1: True, 2: False, 3: False}
    assert output.overlay("2 n03: Connection timed out (500 ms)\nnonsense\n") == {}


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("flux-exec: Error: rank 2: sh: No route to host", 2),
        ("flux-exec: Error: rank 12: sh: Permission denied", None),
        ("No route to host", None),
    ],
)
def test_lost_ranks(line: str, rank: int | None) -> None:
    assert output.lost_rank(line) == rank


def test_drained_ranks() -> None:
    assert output.drained(RESOURCE_EVENTS) == {"1": "a b", "3": "a b"}


def test_eventlogs_of_several_jobs() -> None:
    found = output.eventlogs(JOB_EVENTS)
    assert {job: [entry["name"] for entry in entries] for job, entries in found.items()} == {
        0x066FBB000000: ["submit", "validate"],
        0x0200F3000000: ["submit", "exception", "clean"],
    }
    assert found[0x0200F3000000][1]["context"]["note"] == "a=b on n02"


def test_jobs_that_have_changed() -> None:
    assert output.changed_jobs(SETROOT) == {0x01FEBF000000, 0x0200F3000000}
    assert output.changed_jobs('job-exception\t{"id":2203100119040,"type":"exec"}') == {2203100119040}
    for other in ("heartbeat.pulse\t", "job-exception\t{}", "job-exception", "x-setroot\t[1]", ""):
        assert output.changed_jobs(other) == set()


def test_jobs_in_words() -> None:
    (job,) = output.jobs(JOB + "nonsense\n[]\n")
    found = output.worded(job)
    assert (found["id"], found["state"], found["result"]) == ("fzsZQyY3", "INACTIVE", "FAILED")
    assert output.worded({"id": 1, "state": 77})["state"] == "UNKNOWN"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("ƒ4CuAhmhq", 0x066FBB000000),
        ("f4CuAhmhq", 0x066FBB000000),
        ("0x066fbb000000", 0x066FBB000000),
        ("999999", 999999),
        ("f1", 0),
        ("f", None),
        ("f0", None),
        ("-1", None),
        ("xyz", None),
        ("", None),
        ("99999999999999999999", None),
    ],
)
def test_ids_of_jobs(text: str, number: int | None) -> None:
    assert output.job_number(text) == number


@given(st.integers(min_value=0, max_value=(1 << 64) - 1))
def test_ids_there_and_back(number: int) -> None:
    assert output.job_number(output.job_id(number)) == number
    (found,) = output.changed_jobs(f'x-setroot\t{{"keys": {{"{output.eventlog_key(number)}": null}}}}')
    assert found == number


@given(st.text(max_size=200))
def test_nonsense_is_read_without_harm(text: str) -> None:
    for reader in (output.failure, output.attributes, output.overlay, output.eventlogs, output.changed_jobs):
        reader(text)
    assert list(output.events(text)) == []
    output.job_number(text)
    output.lost_rank(text)


# The far end, with a ``flux`` that prints what was recorded --------------------------------------------


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Callable[..., Bridge]]:
    """Return a maker of bridges to an instance whose commands print what is given for their first words."""
    made: list[Bridge] = []

    def make(printed: dict[str, str], **environ: str) -> Bridge:
        for number, (words, text) in enumerate(printed.items()):
            (tmp_path / f"{number}.words").write_text(words)
            (tmp_path / f"{number}.text").write_text(text)
        front = tmp_path / "flux"
        front.write_text(_STAND_IN.format(place=tmp_path))
        front.chmod(0o755)
        path = f"{tmp_path}:{os.environ['PATH']}"
        made.append(Bridge({"PATH": path, **environ}, timeout=20))
        return made[-1]

    yield make
    for one in made:
        one.close()


# Prints the text for the words that its arguments begin with. Where that begins with "!" it fails, where it
# begins with "~" it stays.
_STAND_IN = """\
#!/bin/sh
echo "$*" >>{place}/called
for file in {place}/*.words; do
  case "$*" in
  "$(cat "$file")"*)
    text=${{file%.words}}.text
    case $(head -c 1 "$text") in
    !) sed 's/^!//' "$text" >&2; exit 1;;
    '~') sed 's/^~//' "$text" | tee /dev/stderr; exec sleep 300;;
    esac
    exec cat "$text";;
  esac
done
echo "flux: $1: not recorded" >&2; exit 1
"""
NO_BINDINGS = {"python": "!ImportError: No module named '_cffi_backend'\n"}
INSTANCE = {
    "lsattr": ATTRIBUTES.format(uid=os.getuid()),
    "kvs get resource.R": RESOURCES,
    "overlay status": OVERLAY,
    "kvs eventlog get": RESOURCE_EVENTS,
}


def called(tmp_path: Path) -> list[str]:
    return (tmp_path / "called").read_text().splitlines()


def test_imports_that_fail_are_followed_by_commands_for_good(
    commands: Callable[..., Bridge], tmp_path: Path
) -> None:
    bridge = commands({**NO_BINDINGS, **INSTANCE})
    assert bridge.way == API
    for _ in range(2):
        status: dict[str, Any] = bridge.call("status")
        assert (status["online"], status["offline"], set(status["drained"])) == ([0, 1], [2, 3], {"1", "3"})
    assert bridge.way == COMMANDS
    assert "No module named '_cffi_backend'" in bridge.lacking
    assert sum(line.startswith("python ") for line in called(tmp_path)) == 1


def test_an_instance_that_is_not_there_is_not_told_by_commands_either(
    commands: Callable[..., Bridge],
) -> None:
    bridge = commands({**NO_BINDINGS, "lsattr": "!flux: flux_open: No such file or directory\n"})
    with pytest.raises(CouldNotObserveError, match="not reached: flux_open"):
        bridge.call("status")


def test_a_choice_is_kept(commands: Callable[..., Bridge], tmp_path: Path) -> None:
    with pytest.raises(CouldNotObserveError, match="_cffi_backend"):
        commands({**NO_BINDINGS, **INSTANCE}, WHESL_FLUX="api").call("status")
    commands(INSTANCE, WHESL_FLUX="commands").call("status")
    assert sum(line.startswith("python ") for line in called(tmp_path)) == 1
    assert ways({"WHESL_FLUX": ""}) == (API, COMMANDS)
    with pytest.raises(UsageError, match="WHESL_FLUX is 'smoke'"):
        ways({"WHESL_FLUX": "smoke"})


def test_jobs_by_the_ids_that_were_asked_for(commands: Callable[..., Bridge]) -> None:
    token = json.dumps({"attributes": {"user": {"whesl": {"token": "t"}}}})
    printed = {
        "job list-ids fzsZQyY3 ": "!flux-job: flux job-list.list-d: No such file or directory\n",
        "job list-ids fzsZQyY3": JOB,
        "job list-ids": "!flux-job: flux job-list.list-d: No such file or directory\n",
        "job info fzsZQyY3": token,
    }
    bridge = commands({**INSTANCE, **printed}, WHESL_FLUX="commands")
    found = bridge.call("jobs", ids=["2203100119040", "12345", "no-id"])
    assert list(found) == ["2203100119040"]
    assert (found["2203100119040"]["id"], found["2203100119040"]["token"]) == ("fzsZQyY3", "t")


def test_deeds_and_refusals(commands: Callable[..., Bridge], tmp_path: Path) -> None:
    printed = {
        "job raise": "",
        "job memo": "!flux-job: memo: guests can only add a memo to their own jobs\n",
        "job kill": "!flux-job: kill f1: job is inactive\n",
    }
    bridge = commands({**INSTANCE, **printed}, WHESL_FLUX="commands")
    bridge.call("raise", job="f5", type="whesl-x", severity=3, note="a b; $c", above=False)
    assert called(tmp_path)[-1] == "job raise --severity=3 --type=whesl-x --message=a b; $c -- f5"
    bridge.call("cancel", job="f5", signal=0)
    assert called(tmp_path)[-1] == "job raise --severity=0 --type=cancel -- f5"
    with pytest.raises(RefusedError, match="own jobs") as refused:
        bridge.call("memo", job="f5", memo={"whesl": "a b"})
    assert refused.value.code == 1  # type: ignore[attr-defined]  # one of several
    assert called(tmp_path)[-1] == 'job memo -- f5 whesl="a b"'
    with pytest.raises(RefusedError, match="inactive"):
        bridge.call("cancel", job="f5", signal=10)
    deeds: tuple[tuple[str, dict[str, Any]], ...] = (("drain", {"reason": "bad"}), ("undrain", {}))
    for operation, fields in deeds:
        with pytest.raises(RefusedError, match="without Flux's Python"):
            bridge.call(operation, targets="1", **fields)


def hear(bridge: Bridge, count: int) -> list[dict[str, Any]]:
    heard: list[dict[str, Any]] = []
    deadline = time.monotonic() + 20
    while len(heard) < count:
        assert time.monotonic() < deadline, heard
        heard += bridge.events()
        time.sleep(0.01)
    return heard


def test_what_is_heard_and_of_whom(commands: Callable[..., Bridge], tmp_path: Path) -> None:
    attempt = {"attributes": {"system": {"environment": {"WHESL_ATTEMPT_TOKEN": "abc"}}}}
    late = 4e9  # told after any start of listening
    events = JOB_EVENTS.replace("1795312219.9283", str(late))
    printed = {
        "event sub": f"~{SETROOT}\n",
        "kvs eventlog get --watch": f"~{RESOURCE_EVENTS}".replace("1795312510.4650176", str(late)),
        "exec": "~flux-exec: Error: rank 1: sh: No route to host\n",
        "overlay parentof": "0\n",
        "job list": "",
        "kvs get --label": events,
        "job info --original fzsZQyY3 jobspec": json.dumps(attempt),
    }
    bridge = commands({**printed, **INSTANCE}, WHESL_FLUX="commands")
    bridge.watch([0, 1])
    heard = hear(bridge, 3)
    exception = next(event for event in heard if event["event"] == "exception")
    assert (exception["job"], exception["type"], exception["severity"]) == ("fzsZQyY3", "exec", 0)
    assert (exception["note"], exception["attempt"]) == ("a=b on n02", "abc")
    nodes = {event["change"]: event["ranks"] for event in heard if event["event"] == "node"}
    assert nodes == {"drain": [1, 2, 3], "offline": [1]}
    assert bridge.call("gone", rank=1) == {"gone": True}
    # Its broker is there again, as the next look finds.
    assert bridge.call("status")["online"] == [0, 1]
    (event,) = hear(bridge, 1)
    assert (event["change"], event["ranks"]) == ("online", [1])


def command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_nothing_that_was_started_outlives_the_program(
    commands: Callable[..., Bridge], tmp_path: Path
) -> None:
    bridge = commands(INSTANCE, WHESL_FLUX="commands")
    front = tmp_path / "flux"
    front.write_text(
        front.read_text().replace("#!/bin/sh\n", '#!/bin/sh\n[ "$2" = sub ] && exec sleep 300\n')
    )
    with pytest.raises(CouldNotObserveError):
        bridge.call("watch", within=1.0, since=time.time(), ranks=[], job="")
    life = bridge._life
    assert life is not None
    deadline = time.monotonic() + 60
    started: list[psutil.Process] = []
    while not any(told == "sleep 300" for told in map(command_of, started)):
        assert time.monotonic() < deadline, [command_of(child) for child in started]
        time.sleep(0.05)
        started = psutil.Process(life.process.pid).children(recursive=True)
    life.process.kill()
    assert psutil.wait_procs(started, timeout=20)[1] == []
