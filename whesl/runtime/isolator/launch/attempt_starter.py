"""The start of attempts: files first, then the links that a moved file system needs, then the runner."""

from __future__ import annotations

import contextlib
import logging
import os
from subprocess import Popen
from typing import TYPE_CHECKING

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import launcher_shims, manager_table
from whesl.managers.resource.port import Allocation
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import WheslError
from whesl.runtime.isolator.core.task_setup import AttemptPlan
from whesl.runtime.isolator.launch import attempt_command
from whesl.runtime.isolator.launch.attempt import Attempt
from whesl.runtime.isolator.launch.attempt_command import Launch, Places
from whesl.runtime.isolator.nodes import node_claims
from whesl.runtime.isolator.observe import attempt_output_destination
from whesl.runtime.isolator.task import disk_reserve, taskdir
from whesl.runtime.isolator.task.taskdir import Job, TaskDir

if TYPE_CHECKING:
    from whesl.runtime.isolator.launch.runner_start import Spawn
    from whesl.runtime.journal.records.isolator_records import Launched

LOG = logging.getLogger(__name__)


class Starter:
    """Starts attempts of a task.

    Args:
        directory: the task's directory.
        job: the task.
        allocation: the allocation, with the variables that show launchers the active nodes.
        spawn: starts the runner's process.
    """

    def __init__(self, directory: TaskDir, job: Job, allocation: Allocation, spawn: Spawn = Popen) -> None:
        self._directory = directory
        self._job = job
        self._allocation = allocation
        self._spawn = spawn
        self._base = {**os.environ, "WHESL_HOSTFILE": str(self._directory.hosts)}
        self._shims = ""
        self._outdated: tuple[str, ...] = ()

    def may_take_long(self, command: AttemptPlan) -> bool:
        """Whether files have to be linked first, which would block the event loop."""
        return bool(command.configuration.path_map)

    def choose_outputs(self, command: AttemptPlan) -> None:
        """Choose the files of the attempt's output, and log files that are not the caller's own."""
        directory = self._directory
        place = directory.attempt(command.attempt)
        disk_reserve.written(directory.path, lambda: file_retry.make_directory(str(place)))
        paths = command.configuration.path_map
        own = attempt_output_destination.present(directory, self._job, command.attempt)
        chosen = attempt_output_destination.choose(directory, self._job, command.attempt, paths)
        if chosen != own:
            LOG.info("the output of attempt %d goes to %s", command.attempt, chosen.stdout)

    def start(self, command: AttemptPlan) -> Attempt | str:
        """Start an attempt and return it, or the reason why it could not be started.

        An attempt that ``whesl exec`` has already started is found by its token.
        """
        directory = self._directory
        number = command.attempt
        if self._job.first is not None and number == 1:
            begun = Attempt.find(directory, number, command.token)
            if begun is not None:
                return begun
        try:
            # A retry may repeat everything but the start of the runner, which comes last.
            return disk_reserve.written(
                directory.path, lambda: file_retry.retried(lambda: self._begin(command))
            )
        except WheslError as error:
            return str(error)
        except OSError as error:
            return file_retry.told(error)

    def seen(self, attempt: Attempt) -> Launched:
        """Return the core's event for an attempt that was started or found."""
        # Imported here since whesl exec also starts attempts, and must load little.
        from whesl.runtime.journal.records.isolator_records import Launched

        first = self._job.first if attempt.number == 1 and not attempt.is_child else None
        return Launched(
            attempt=attempt.number,
            pid=attempt.pid,
            started=attempt.started,
            began=first.began if first is not None else 0.0,
            outdated=self._outdated,
        )

    def _begin(self, command: AttemptPlan) -> Attempt:
        directory = self._directory
        number = command.attempt
        file_retry.make_directory(str(directory.attempt(number)))
        self.write_reconfigure(command.configuration)
        file_retry.replace(directory.hosts, "".join(f"{n}\n" for n in command.nodes.active).encode())
        if self._job.setup.claims(command.nodes.active):
            # After an error, other tasks may use these nodes, too, as without an account.
            with contextlib.suppress(OSError):
                node_claims.claim(
                    self._job.setup.account, str(directory.path), lambda *_: command.nodes.active
                )
        launch = self._compose(command)
        if command.nodes.swapped:
            # Imported here since swaps are rare, and the start of a first attempt must load little.
            from whesl.managers.resource.launcher_shims.replaced_node_mentions import mentions

            where = (taskdir.script_of(self._job), self._job.setup.own_node)
            self._outdated = mentions(launch.environment, launch.command, command.nodes.swapped, *where)
        if command.configuration.path_map:
            self._prepare(command)
        return Attempt.start(self._job, directory, number, command.token, launch, self._spawn)

    def _compose(self, command: AttemptPlan) -> Launch:
        places = Places(
            script=str(self._directory.attempt(command.attempt) / "script"),
            reconfigure=str(self._directory.reconfigure),
            hosts=str(self._directory.hosts),
            shims=self._install_shims(),
        )
        return attempt_command.compose(
            self._job,
            command.configuration,
            command.nodes,
            attempt=command.attempt,
            token=command.token,
            places=places,
            base=self._base,
            launchers=self._allocation.launch_environment(command.nodes.active, self._base),
            lingering=command.lingering,
            script=taskdir.script_of(self._job) if command.configuration.path_map else b"",
        )

    def _install_shims(self) -> str:
        """Install the launchers' shims, and return their directory; '' for a task of this host alone."""
        if self._job.setup.rjms == manager_table.HOST:
            return ""
        if not self._shims:
            self._shims = str(self._directory.shims)
            launcher_shims.install(self._shims, path=self._base.get("PATH"))
        return self._shims

    def _prepare(self, command: AttemptPlan) -> None:
        """Link the paths that the task names, including its working directory, into the new roots."""
        # Imported here since linking is rare, and the start of a first attempt must load little.
        from whesl.runtime.isolator.effects.task_recovery_steps import task_paths
        from whesl.runtime.operations.relocation.link_dependent_inputs import prepare_dependent

        paths = command.configuration.path_map
        named = task_paths(self._job, command.configuration, self._base)
        report = prepare_dependent(paths, named, self._job.setup.task.id)
        if report.linked or report.copied:
            LOG.info("%d files linked, %d copied into the new root", report.linked, report.copied)

    def write_reconfigure(self, configuration: Configuration) -> None:
        """Write the configuration to the file that WHESL_RECONFIGURE names."""
        try:
            file_retry.replace(self._directory.reconfigure, msgspec.json.encode(configuration))
        except OSError as error:
            LOG.error("%s could not be written: %s", self._directory.reconfigure, file_retry.told(error))
