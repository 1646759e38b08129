"""The dashboard's questions, put to a real Prometheus that reads the real figures."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.equipment.free_ports import free_ports
from tests.waiting import until
from whesl.placement.site.publish.node_change_records import Failed, JobSeen, What, WouldNot
from whesl.placement.site.slurm.placement_metrics import Figures
from whesl.placement.site.slurm.placement_status import Status
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.coordinator.counters import BOUNDS, Snapshot
from whesl.runtime.coordinator.counters import Figures as CoordinatorFigures
from whesl.runtime.coordinator.metrics import LatestSnapshot
from whesl.runtime.wire.metrics_server import MetricsServer

BOARD = Path(__file__).resolve().parents[2] / "deploy" / "grafana" / "whesl.json"


class Prometheus:
    """A Prometheus on loopback that reads these ports ten times a second."""

    def __init__(self, directory: Path, port: int, targets: tuple[int, ...]) -> None:
        self.where, self.log = f"http://127.0.0.1:{port}/api/v1", directory / "log"
        reads = [f"127.0.0.1:{one}" for one in targets]
        jobs = [{"job_name": "whesl", "static_configs": [{"targets": reads}]}]
        conf = {"global": {"scrape_interval": "100ms", "scrape_timeout": "100ms"}, "scrape_configs": jobs}
        (directory / "prometheus.yml").write_text(json.dumps(conf))
        command = ["prometheus", f"--config.file={directory}/prometheus.yml"]
        command += [f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{port}"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def ask(self, question: str) -> list[dict[str, Any]]:
        """Return the series that answer a question of PromQL."""
        words = urllib.parse.urlencode({"query": question})
        with urllib.request.urlopen(f"{self.where}/query?{words}", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found

    def answers(self, question: str) -> list[dict[str, Any]]:
        """The same, and nothing while it has not begun yet."""
        try:
            return self.ask(question)
        except OSError:
            return []

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def coordinator(figures: CoordinatorFigures, **counters: int) -> Snapshot:
    """A coordinator's figures."""
    return Snapshot(
        state=State(), figures=figures, heartbeats=0, connected=1, waiting=0, counters=counters, time=1.0
    )


def test_each_panel_is_answered_and_the_first_event_of_a_kind_counts(tmp_path: Path) -> None:
    """A counter whose first value is one has not increased, as Prometheus counts: it would never be shown."""
    if shutil.which("prometheus") is None:
        pytest.skip("no prometheus here (Debian: prometheus)")
    latest, placement = LatestSnapshot(tmp_path / "journal.db"), Figures()
    ports, claims = free_ports(3)
    with ExitStack() as ending:
        for claim in claims:
            ending.callback(claim.close)
        ending.callback(MetricsServer(latest, "127.0.0.1", ports[0]).close)
        ending.callback(MetricsServer(placement, "127.0.0.1", ports[1]).close)
        prometheus = Prometheus(tmp_path, ports[2], (ports[0], ports[1]))
        ending.callback(prometheus.close)
        latest.publish(coordinator(CoordinatorFigures()))
        placement.show(Status(pid=1, time=time.time(), active=True, period=60.0, nodes=16, at_risk=2))
        for seen in (
            "count_over_time(whesl_tasks[1h]) > 2",
            "count_over_time(whesl_placement_nodes[1h]) > 2",
        ):
            until(lambda seen=seen: prometheus.answers(seen), seen, 30.0)  # type: ignore[misc]  # a string
        told = CoordinatorFigures(
            raised={"LOST": 1}, recoveries={"LOST": {"relaunched": 2}}, requeues={"done": 1}, seconds_sum=0.2
        )
        told.seconds[1] = 2
        latest.publish(coordinator(told, refused=3))
        placement.take(JobSeen(job="1", nodes="n02", said="", would=False))
        placement.take(WouldNot(node="n02", what=What.DRAIN, failed=True))
        placement.take(Failed(command="look", said="no"))
        seen = 'whesl_exceptions_total == 1 and on () whesl_placement_jobs_total{how="made"} == 1'
        until(lambda: prometheus.answers(seen), seen, 30.0)
        asked = [
            target["expr"] for panel in json.loads(BOARD.read_text())["panels"] for target in panel["targets"]
        ]
        # A busy Prometheus has scraped one of its two servers and not yet the other.
        for question in asked:
            until(lambda question=question: prometheus.ask(question), question, 30.0)  # type: ignore[misc]  # a string
        found = {
            question: {
                "/".join(one["metric"].values()): float(one["value"][1]) for one in prometheus.ask(question)
            }
            for question in asked
        }
    assert len(found) > 15
    values = {
        re.findall(r"whesl_\w+", question)[0]: series
        for question, series in found.items()
        if "_total" in question
    }
    assert values["whesl_exceptions_total"] == {"LOST": 1.0}
    assert values["whesl_recoveries_total"] == {"relaunched": 2.0}
    assert values["whesl_requeues_total"] == {"done": 1.0}
    assert values["whesl_dropped_messages_total"]["refused"] == 3.0
    assert values["whesl_placement_jobs_total"] == {"made": 1.0, "would": 0.0, "changed": 0.0}
    assert values["whesl_placement_outcomes_total"] == {"would": 1.0}
    assert list(values["whesl_placement_failures_total"].values()) == [1.0]
    (quantile,) = (series for question, series in found.items() if "quantile(0.5" in question)
    assert 0.0 < quantile[""] <= BOUNDS[1]
