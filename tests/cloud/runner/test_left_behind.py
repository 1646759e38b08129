"""What a run that ended before its tasks were done has left in the cloud's storage."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cloud.runner import worlds
from whesl.cli.cloud.run_status import stop
from whesl.cloud.core.plan_records import Domain, Settings
from whesl.cloud.runner import run_lifecycle as runs
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner import site_file as sites
from whesl.cloud.runner import summary
from whesl.cloud.runner.events_and_commands import Limits
from whesl.cloud.runner.site_file import Cloud, Cluster, Site
from whesl.cloud.transfer.port import digest_of
from whesl.model.errors import UsageError
from whesl.runtime.journal.store import Journal


def test_its_files_are_told_and_removed_by_one_command(tmp_path: Path) -> None:
    """They stayed, and nobody was told."""
    place, now = tmp_path / "run", time.time()
    flow = worlds.two_stages(2, 1.0, tmp_path / "ledger")
    made = worlds.plan(flow, nodes=1, instances=1, now=now, settings=Settings())
    site = Site(cluster=Cluster(scheduler="local", directory=str(tmp_path / "c")), cloud=Cloud())
    runs.begin(place, flow, worlds.initial(flow, made, 1.0), Limits(platforms=(worlds.PLATFORM,)), site)
    (place / "cloud" / "data" / "first").mkdir(parents=True)
    heard = place / "cloud" / "data" / "first" / "a0.out"
    lost = place / "cloud" / "data" / "first" / "a1.out"  # its executor was lost before it said so
    for path in (heard, lost):
        path.write_bytes(b"result" * 100_000)
    begun = r.RunStarted(run="run", workflow="two", content="", deadline=now + 60)
    copied = r.FileCopied(name="first/a0.out", domain=Domain.CLOUD, digest=digest_of(heard))
    ended = r.RunEnded(complete=False, why="it was stopped")
    with Journal(place / "journal.db") as journal:
        gone = r.TaskLost(task="a1", executor="e1", attempt=1, why="it is gone")
        runs._note(journal, runs.state_of(place), [begun, copied, gone])
    with pytest.raises(UsageError, match="has not ended"):
        runs.clean(place)
    both = sites.sides(site, place, "run", (worlds.PLATFORM,))
    with Journal(place / "journal.db") as journal:
        runs._note(journal, runs.state_of(place), [ended, *runs._told(place, runs.state_of(place), both)])
    said = runs.state_of(place).troubles[runs.LEFT]
    assert "1 files, 0.6 MB" in said and f"whesl cloud stop --clean {place}" in said
    # It was said to be given to others, though the run had ended.
    lines = summary.lines(summary.summary(runs.state_of(place), now), now)
    assert "  1 tasks lost with their executors" in lines
    # The last that was said was that they stay.
    done = CliRunner().invoke(stop, ["--clean", str(place)])
    assert done.output.endswith("\nits files in the cloud are removed\n"), done
    assert not heard.exists() and not lost.exists()
    assert runs.LEFT not in runs.state_of(place).troubles
    runs.clean(place)
