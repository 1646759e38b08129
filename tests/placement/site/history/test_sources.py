"""One history out of many records: Slurm's, Flux's, WHESL's own, health, predictions; and bad ones."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from whesl.lab.readers import site_log_format_detection
from whesl.lab.readers.failures import Loaded
from whesl.model.errors import UsageError, WheslError
from whesl.model.evidence import PredictedFailure
from whesl.model.workflow import BadNode, Grade
from whesl.placement.site.history import bad_node_reports
from whesl.placement.site.history.site_history import Gathering
from whesl.placement.site.node_counters import Change
from whesl.runtime.journal.store import Journal

EVENTS = """Cluster|Cluster Nodes|NodeName|TimeStart|TimeEnd|State|Reason|User
site|n[1-8]||2026-03-01T00:00:00|2026-06-01T00:00:00||Cluster Registered TRES|
site||n1|2026-03-10T00:00:00|2026-03-10T02:00:00|DOWN*|Not responding|root(0)
site||n2|2026-03-11T00:00:00|2026-03-11T02:00:00|DRAIN|dimm|root(0)
site||n3|2026-03-12T05:00:00|2026-03-12T02:00:00|DOWN*|clock|root(0)
site||n4|yesterday|2026-03-12T02:00:00|DOWN*|x|root(0)
"""
JOBS = """JobID|State|Submit|Start|End|TimelimitRaw|NNodes|NodeList
1|COMPLETED|2026-03-01T00:00:00|2026-03-01T00:01:00|2026-03-01T01:00:00|600|2|n[9-10]
2|NODE_FAIL|2026-03-09T00:00:00|2026-03-09T00:01:00|2026-03-10T00:05:00|6000|2|n[1-2]
3|NODE_FAIL|2026-03-20T00:00:00|2026-03-20T00:01:00|2026-03-20T00:05:00|600|1|n5
4|NODE_FAIL|2026-03-21T00:00:00|2026-03-21T00:01:00|2026-03-21T00:05:00|600|2|n[6-7]
"""


def read(tmp_path: Path, text: str = EVENTS) -> Loaded:
    (tmp_path / "events.txt").write_text(text)
    return site_log_format_detection.read_failures(tmp_path / "events.txt")


def test_events_and_jobs_become_one_history(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text(JOBS)
    found = Gathering()
    found.failures("events.txt", read(tmp_path))
    found.jobs("jobs.txt", site_log_format_detection.read_jobs(tmp_path / "jobs.txt"))
    made = found.made()
    history = made.history
    assert history.names == tuple(f"n{number}" for number in range(1, 11))
    # The outage, and the job of one node of which no event tells; that of two nodes names none.
    assert [history.names[node] for node in history.node] == ["n1", "n5"]
    assert made.sources["failures known by a job alone"] == "1"
    text = "\n".join(made.warnings)
    assert "events.txt:5: node n3 is back before it failed: its times go back" in text
    assert "events.txt:6: not a time: 'yesterday'" in text
    assert "1 jobs of several nodes lost one that no event names" in text
    assert "1 DRAIN" in made.sources["events.txt"]


def test_nodes_that_never_failed_count(tmp_path: Path) -> None:
    found = Gathering()
    found.failures("events.txt", read(tmp_path))
    found.nodes(f"n{number}" for number in range(1, 101))
    assert found.made().history.nodes == 100


def test_nodes_that_are_not_of_the_machine_do_not_join_it(tmp_path: Path) -> None:
    """Records of another machine, of names of old, made it larger."""
    (tmp_path / "jobs.txt").write_text(JOBS)
    found = Gathering()
    found.failures(
        "events.txt", read(tmp_path, EVENTS.replace("||n2|", "||n2.site.org|").replace("DRAIN", "DOWN"))
    )
    found.jobs("jobs.txt", site_log_format_detection.read_jobs(tmp_path / "jobs.txt"))
    found.nodes(["n1", "n2", "n4"])
    made = found.made()
    assert made.history.names == ("n1", "n2", "n4")
    assert [made.history.names[node] for node in made.history.node] == ["n1", "n2"]
    text = "\n".join(made.warnings)
    assert "7 nodes that are not of the machine (--nodes, or Slurm's sinfo): n10, n3, n5, n6, n7" in text
    # Of two nodes that shared a lost job one is a stranger: that does not say which one it was.
    assert "failures known by a job alone" not in made.sources
    assert made.lost is not None and made.lost > 0


def test_a_site_without_events_needs_to_say_since_when() -> None:
    found = Gathering()
    found.nodes(["n1"])
    found.until(1e6)
    with pytest.raises(UsageError, match="no record of a failure"):
        found.made()
    found.since(0.0)
    history = found.made().history
    assert (len(history), history.begin, history.finish) == (0, 0.0, 1e6)
    with pytest.raises(UsageError, match="no node is known"):
        Gathering().made()


def test_signs_of_all_kinds_and_of_unknown_nodes(tmp_path: Path) -> None:
    found = Gathering()
    found.failures("events.txt", read(tmp_path))
    found.health("health", [Change("n1", 1.0, "memory corrected", "mc0: 3 more")], 12)
    found.predictions("p", [PredictedFailure(node="n2.site.org", time=2.0, lead=60.0, source="chains:a")])
    found.evidence("home", [bad_node_reports.Seen("n99", 3.0, "lost", "seen by alice")])
    found.evidence("mallory", [bad_node_reports.Seen("n1", 4.0, "lost", "\x1b[2Jseen by\u202e")])
    made = found.made()
    assert made.seen.kinds == ("bad node (lost)", "chains:a", "memory corrected")
    assert [made.history.names[node] for node in made.seen.node] == ["n1", "n2", "n1"]
    assert all(map(str.isprintable, made.seen.details))
    assert made.seen.details[0] == "mc0: 3 more"
    assert "signs of 1 nodes that no other record names: n99" in made.warnings


def test_flux_eventlog_too(tmp_path: Path) -> None:
    log = tmp_path / "eventlog"
    log.write_text(
        '100.0 restart ranks="0-2" online="" nodelist="f[0-2]"\n101.0 online idset="0-2"\n'
        '5000.0 offline idset="1"\n9000.0 online idset="1"\n'
    )
    found = Gathering()
    found.failures("eventlog", site_log_format_detection.read_failures(log))
    history = found.made().history
    assert history.names == ("f0", "f1", "f2")
    assert (history.start.tolist(), history.end.tolist()) == ([5000.0], [9000.0])


BAD = BadNode(
    node="n3", reason="lost its agent", task="flow/a/1", time=50.0, expires=math.inf, grade=Grade.LOST
)


def test_bad_nodes_out_of_a_journal_name_who_saw_them(tmp_path: Path) -> None:
    (tmp_path / "coordinator").mkdir()
    with Journal(tmp_path / "coordinator" / "journal.db") as journal:
        bad = msgspec.structs.replace(BAD, expires=90.0)
        journal.append("bad-node", {"bad_node": msgspec.to_builtins(bad), "task": "flow/a/1"}, 50.0)
        journal.append("bad-node", {"bad_node": {"node": 3}}, 51.0)
        journal.append("other", {}, 52.0)
    (seen,) = bad_node_reports.load(tmp_path)
    assert (seen.node, seen.time, seen.grade) == ("n3", 50.0, "lost")
    assert seen.detail == f"seen by isolator of {tmp_path.owner()}, task flow/a/1: lost its agent"


def test_bad_nodes_out_of_json_and_what_is_none(tmp_path: Path) -> None:
    file = tmp_path / "alice.json"
    bad = msgspec.structs.replace(BAD, expires=90.0)
    file.write_bytes(msgspec.json.encode({"nodes": [msgspec.to_builtins(bad)]}))
    (seen,) = bad_node_reports.load(file)
    assert "of alice.json" in seen.detail
    file.write_text('{"nodes": [{"node": 1}]}')
    with pytest.raises(UsageError, match="is not the output of `whesl nodes --json`"):
        bad_node_reports.load(file)
    with pytest.raises(UsageError, match="no WHESL home"):
        bad_node_reports.load(tmp_path)
    with pytest.raises(WheslError):
        bad_node_reports.load(tmp_path / "none")
