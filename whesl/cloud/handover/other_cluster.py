"""Another cluster, reached by ssh: its scheduler, and a directory for each run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from whesl.cloud.handover import task_handover
from whesl.cloud.handover.clusters import Cluster
from whesl.cloud.handover.job_script import script
from whesl.cloud.transfer.port import Digest
from whesl.cloud.transfer.ssh import SshStore
from whesl.managers.resource import scheduler
from whesl.managers.resource.manager_table import manager
from whesl.managers.resource.port import Closing, JobRecord, JobRequest

_MOST = 1 << 20  # bytes of output for each look


class OtherCluster(task_handover.Cluster):
    """One other cluster. Its methods raise the errors of ``Store`` and ``Scheduler``.

    Args:
        settings: the cluster's table in ``clusters.toml``.
    """

    def __init__(self, settings: Cluster) -> None:
        self._settings = settings
        there = urlsplit(settings.store)
        self._store = SshStore(
            f"{there.username}@{there.hostname}" if there.username else str(there.hostname),
            there.path,
            port=there.port or 22,
            options=settings.ssh_options,
        )
        self._scheduler = scheduler(settings.manager, through=self._words)

    def _words(self, command: Sequence[str]) -> list[str]:
        return self._store.words("\n".join((self._settings.setup, shlex.join(command))))

    def claim(self, run: str) -> bool:
        """Prevent a run's job from ever running the task; return False where the task has begun."""
        place = shlex.quote(self._store.path(run))
        made = (
            f"mkdir -p -- {place} && cd {place} && if mkdir claimed; then echo ours; else test -d claimed; fi"
        )
        return bool(self._store.run(made))

    def put(self, run: str, directory: Path, names: Sequence[str]) -> None:
        self._store.run(f"mkdir -p -- {shlex.quote(self._store.path(f'{run}/work'))}")
        for name in names:
            self._store.put(directory / name, f"{run}/work/{name}")

    def submit(
        self,
        run: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        nodes: int,
        time_limit: float | None,
    ) -> str:
        settings, place = self._settings, self._store.path(run)
        ends_itself = manager(settings.manager).ends_itself
        text = script(place, command, environment, settings.lease, ends_itself)
        self._store.write(f"{run}/job.sh", text.encode())
        self._store.write(f"{run}/alive", b"")
        return self._scheduler.submit(
            JobRequest(
                token=run,
                script=f"{place}/job.sh",
                text=text,
                name=run,
                workdir=place,
                nodes=nodes,
                partition=settings.partition,
                time_limit=time_limit,
                output=f"{place}/log",
                error=f"{place}/log",
                demands=settings.alone(),
            )
        )

    def job(self, run: str) -> JobRecord | None:
        """Return a run's job; None where the scheduler surely has none."""
        return self._scheduler.find(run)

    def cancel(self, job_id: str) -> None:
        """Cancel a job."""
        self._scheduler.cancel(job_id)

    def status(self, run: str) -> int | None:
        """Renew a run's lease; return the task's exit status, None while the task has not ended."""
        place = shlex.quote(self._store.path(run))
        said = self._store.run(f"cd {place} && touch alive && if test -f status; then cat status; fi")
        return int(said) if said.strip() else None

    def output(self, run: str, stream: str, since: int) -> bytes:
        file = shlex.quote(self._store.path(f"{run}/{stream}"))
        return self._store.run(f"if test -f {file}; then tail -c +{since + 1} {file} | head -c {_MOST}; fi")

    def written(self, run: str) -> list[str]:
        """Return the names of the files that a run's task has written, relative to the task's directory."""
        file = shlex.quote(self._store.path(f"{run}/written"))
        said = self._store.run(f"if test -f {file}; then cat {file}; fi").decode(errors="surrogateescape")
        return sorted(line.removeprefix("./") for line in said.splitlines())

    def get(self, run: str, name: str, target: Path) -> Digest:
        return self._store.get(f"{run}/work/{name}", target)

    def remove(self, run: str) -> None:
        """Remove a run's directory on the other cluster."""
        self._store.run(f"rm -rf -- {shlex.quote(self._store.path(run))}")

    def close(self) -> None:
        """End the connection."""
        if isinstance(self._scheduler, Closing):
            self._scheduler.close()
        self._store.close()
