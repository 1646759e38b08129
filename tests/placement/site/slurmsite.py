"""A real Slurm with the placement service, for tests: predictions by hand, the service as its own process."""

from __future__ import annotations

import contextlib
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tests import commands
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import until
from whesl.managers.resource.slurm.states import UNDRAINED
from whesl.model.evidence import PredictedFailure
from whesl.placement.site.slurm.placement_service import STATUS
from whesl.placement.site.slurm.placement_status import Status

SETTLED = ("--settle", "0", "--period", "0.2")


class Site:
    """A cluster whose placement service a test starts, kills and starts again.

    Args:
        bed: the cluster.
        directory: of the service.
    """

    def __init__(self, bed: SlurmBed, directory: Path) -> None:
        self.bed, self.directory = bed, directory
        self.predictions = directory.parent / "predictions.jsonl"
        self.environment = dict(bed.environment)  # the service's

    def as_user(self, user: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command as another account."""
        found = pwd.getpwnam(user)
        ids = (f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups")
        return self.bed.run("setpriv", *ids, *command)

    def predict(self, *nodes: str, lead: float = 600.0, confidence: float = 0.95) -> None:
        """Predict that these nodes fail, and no others."""
        lines = [
            msgspec.json.encode(
                PredictedFailure(node=node, time=time.time(), lead=lead, confidence=confidence, source="test")
            )
            for node in nodes
        ]
        beside = self.predictions.with_suffix(".new")
        beside.write_bytes(b"".join(line + b"\n" for line in lines))
        beside.replace(self.predictions)

    def whesl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ``whesl placement``."""
        outside = self.bed.outside
        return commands.whesl("placement", *arguments, env=outside, cwd=self.bed.directory)

    @contextlib.contextmanager
    def service(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run the service; at the end it is asked to leave, if it still runs."""
        command = [sys.executable, "-m", "whesl", "placement", "serve", "--dir", str(self.directory)]
        command += ["--predictions", str(self.predictions), *SETTLED, *options]
        with (self.directory.parent / "serve.log").open("ab") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        try:
            yield process
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                assert process.wait(120) == 0, self.log()
        finally:
            process.kill()
            process.wait()

    def log(self) -> str:
        """Return what the service printed."""
        return (self.directory.parent / "serve.log").read_text()

    def status(self) -> Status:
        """Return the service's latest status."""
        self.until((self.directory / STATUS).exists, "a status")
        return msgspec.json.decode((self.directory / STATUS).read_bytes(), type=Status)

    def would(self) -> bool:
        """Return whether the service has said that it would drain a node."""
        known = (self.directory / STATUS).exists()
        return known and any(what == "drain" for _, what, _ in self.status().would)

    def node(self, name: str) -> dict[str, str]:
        """Return a node's fields."""
        form = "StateComplete:|,Weight:|,Features:|,Reason:|"
        text = self.bed.run("sinfo", "-N", "-h", "-n", name, "-p", "main", "-O", form).stdout
        state, weight, features, reason, *_ = text.split("|")
        return {"state": state.strip(), "weight": weight, "features": features, "reason": reason}

    def await_untouched(self, *nodes: str) -> None:
        """Wait until nodes are as slurm.conf has them.

        Slurm 24.05 and 25.11 keep the reason of a drain that was taken back: they show the last one for
        whatever drains the node next, which the service must not take for its own drain.
        """
        clean = {"weight": "1", "features": "(null)"}

        def untouched(node: dict[str, str]) -> bool:
            said = node["reason"] in ("none", UNDRAINED)
            return clean.items() <= node.items() and said and "drain" not in node["state"]

        self.until(lambda: all(untouched(self.node(name)) for name in nodes), f"{nodes} untouched")

    def wait(self, node: str, **fields: str) -> None:
        """Wait until a node's fields hold these texts."""
        self.until(
            lambda: all(text in self.node(node)[field] for field, text in fields.items()), f"{node} {fields}"
        )

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition; a failure shows the nodes and what the service printed."""
        try:
            until(condition, what, 30.0)
        except AssertionError as error:
            nodes = {name: self.node(name) for name in self.bed.nodes}
            raise AssertionError(f"{error}\n{nodes}\n{self.log()}") from None
