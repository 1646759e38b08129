"""A run in a directory: it can be begun, continued after its runner's death, and read while it goes on.

``run.json`` (workflow, first state of the scaler, limits, settings of both sides), ``journal.db``, ``lock``,
``cluster/`` and ``cloud/`` (storages), ``logs/``, ``private/`` (keys of connections, uploads under way).
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from whesl.cloud.core.plan_records import Domain, Workflow
from whesl.cloud.core.scaler_events import ScalerState
from whesl.cloud.runner import messages, workspace_archive
from whesl.cloud.runner import run_records as r
from whesl.cloud.runner.cluster_and_cloud_executors import Side
from whesl.cloud.runner.daemon import Shell
from whesl.cloud.runner.events_and_commands import Limits
from whesl.cloud.runner.site_file import Site, sides
from whesl.cloud.runner.state import RunState, fold
from whesl.cloud.runner.state_machine import Core
from whesl.cloud.runner.workflow_check import runnable
from whesl.cloud.transfer.directory import DirectoryStore
from whesl.cloud.transfer.port import Digest
from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import RefusedError, UsageError, WheslError
from whesl.runtime.journal.store import Journal
from whesl.runtime.locking import takeover_lock

STOP = "stop"  # name of the file in a run's directory that makes its runner end the run
LEFT = "files in the cloud"  # name of the trouble that reports files left in the cloud


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a run's begin, which stay the same when the run is continued."""

    run: str
    workflow: Workflow
    initial: ScalerState
    limits: Limits
    site: Site


def begin(directory: Path, workflow: Workflow, initial: ScalerState, limits: Limits, site: Site) -> Setup:
    """Write a run's inputs to its directory, before anything is started.

    Args:
        directory: the run's directory, which is empty or does not exist yet.
        workflow: the workflow, with its tasks and their commands.
        initial: the scaler's first state, which contains the plan.
        limits: the run's limits.
        site: settings of the run's cluster and cloud.

    Raises:
        UsageError: the workflow cannot be run, or there is another run in the directory.
    """
    runnable(workflow)
    if started(directory):
        raise UsageError(
            f"there is a run in {directory} already", hint="another directory, or take it up again"
        )
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the run's directory {directory} cannot be made: {error.strerror}",
            hint="--dir names a directory that can be written",
        ) from None
    setup = Setup(run=secrets.token_hex(6), workflow=workflow, initial=initial, limits=limits, site=site)
    file_retry.replace(directory / "run.json", msgspec.json.encode(setup))
    return setup


@contextlib.contextmanager
def nothing_left(directory: Path) -> Iterator[None]:
    """Remove the files made in a run's directory if the run is refused before it has started.

    Args:
        directory: the run's directory; files that existed before stay.
    """
    there = directory.exists()
    before = set(directory.iterdir()) if directory.is_dir() else set()
    try:
        yield
    except (WheslError, OSError):
        if directory.is_dir() and not started(directory):
            for path in directory.iterdir():
                if path in before:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
            if not there:
                with contextlib.suppress(OSError):
                    directory.rmdir()
        raise


def started(directory: Path) -> bool:
    """Return whether a directory has a started run; a run with missing inputs has not started."""
    if not (directory / "run.json").exists():
        return False
    return state_of(directory).started is not None or carried(directory)


def carried(directory: Path) -> bool:
    """Return whether a runner seems to carry out a directory's run now. Raises OSError."""
    return takeover_lock.holder(str(directory / "lock")) is not None


def setup_of(directory: Path) -> Setup:
    """Return a run's inputs. Raises UsageError when there is no run, or its inputs cannot be read."""
    path = directory / "run.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Setup)
    except FileNotFoundError:
        raise UsageError(f"there is no run in {directory}", hint="whesl cloud run --dir names it") from None
    except (OSError, *UNDECODABLE) as error:
        raise WheslError(f"{path} cannot be read: {error}") from None


def state_of(directory: Path) -> RunState:
    """Return a run's present state, whichever process owns the run."""
    workflow = setup_of(directory).workflow
    path = directory / "journal.db"
    if not path.exists():
        return RunState(workflow)
    with Journal(path, read_only=True) as journal:
        return fold(workflow, journal.read())


def carry_out(
    directory: Path,
    *,
    notify: Callable[[r.Record], None] = lambda record: None,
    made: dict[Domain, Side] | None = None,
) -> RunState:
    """Carry a run out to its end, from its present state.

    Args:
        directory: the run's.
        notify: called with each record.
        made: the run's sides; None for those of its settings.

    Returns:
        The run when it has ended.

    Raises:
        UsageError: an input is missing; nothing was started.
        RefusedError: another process carries the run out, or a side refuses the run's requests.
        WheslError: a side cannot be reached, or the journal cannot be written.
    """
    setup = setup_of(directory)
    with contextlib.ExitStack() as leaving:
        journal = leaving.enter_context(_journal_alone(directory))
        state = fold(setup.workflow, journal.read())
        if state.ended is not None:
            return state
        both = made or sides(setup.site, directory, setup.run, setup.limits.platforms)
        leaving.callback(_let_go, both)
        if state.started is None:
            _start(setup, state, both, journal)
        shell = Shell(
            Core(state, setup.limits, setup.initial, tuple(both)),
            journal,
            both,
            scratch=directory / "private" / "scratch",
            poll=setup.site.poll,
            again=setup.site.again,
            notify=notify,
            stop=(directory / STOP).exists,
        )
        shell.run()
        _unpacked(state, both)
        records = (
            _tidy(state, both) if state.ended and state.ended.complete else _told(directory, state, both)
        )
        _note(journal, state, records)
        for record in records:
            notify(record)
        return state


def clean(directory: Path) -> None:
    """Remove an ended run's files from the cloud's storage; results that exist only there are lost.

    Args:
        directory: the run's directory.

    Raises:
        UsageError: the run has not ended.
        RefusedError: another process carries the run out.
        WheslError: the storage cannot be reached.
    """
    setup = setup_of(directory)
    if state_of(directory).ended is None:
        raise UsageError(f"the run in {directory} has not ended", hint="`whesl cloud stop` ends it")
    with contextlib.ExitStack() as leaving:
        journal = leaving.enter_context(_journal_alone(directory))
        state = fold(setup.workflow, journal.read())
        both = sides(setup.site, directory, setup.run, setup.limits.platforms)
        leaving.callback(_let_go, both)
        _removed(state, both)
        _note(journal, state, [r.Trouble(what=LEFT, over=True)] if LEFT in state.troubles else [])


@contextlib.contextmanager
def _journal_alone(directory: Path) -> Iterator[Journal]:
    """Open a run's journal as the one process that carries the run out.

    Raises:
        RefusedError: another process carries the run out.
    """
    try:
        lock = takeover_lock.take(str(directory / "lock"), takeover_lock.owned())
    except takeover_lock.HeldError as error:
        raise RefusedError(f"another process carries {directory} out: {error.message}") from None
    try:
        with Journal(directory / "journal.db") as journal:
            yield journal
    finally:
        takeover_lock.release(lock)


def _note(journal: Journal, state: RunState, records: list[r.Record]) -> None:
    now = time.time()
    if records:
        journal.append_many([(r.NAMES[type(one)], one) for one in records], now)
    for record in records:
        state.take(record, now)


def _start(setup: Setup, state: RunState, both: dict[Domain, Side], journal: Journal) -> None:
    """Record where the inputs lie, and that the run has started.

    Each side and its storage is called first, so a refused key is reported before anything is started.
    """
    now = time.time()
    troubles: list[r.Record] = []
    initial = setup.initial
    hours = max((hours for table in initial.tables for hours in table.hours), default=1)
    for domain, side in both.items():
        side.look((), lambda token: True)
        side.store.read_all(messages.SAID)
        try:
            side.check(max(1, hours) * initial.settings.long)
        except RefusedError as error:
            if domain is Domain.CLOUD or not setup.limits.cloud_instead:
                raise RefusedError(
                    f"the {domain.value} side refuses the run's requests: {error.message};"
                    " nothing was started",
                    hint="[cluster] of cloud.toml takes partition, account, qos, constraint, gres, memory;"
                    " --cloud-instead has the cloud do what the cluster refuses",
                ) from None
            troubles.append(r.Trouble(what="requests to the cluster", why=error.message))
    made = {file.name for task in setup.workflow.tasks for file in task.outputs}
    first = {
        file.name: file for task in setup.workflow.tasks for file in task.inputs if file.name not in made
    }
    home = next(iter(both))
    found: list[r.Record] = []
    missing: list[str] = []
    digest: Digest | None
    for name, file in first.items():
        if file.source:
            digest = both[home].store.put(Path(file.source), f"{messages.DATA}/{name}")
        else:
            digest = both[home].store.digest(f"{messages.DATA}/{name}")
        if digest is None:
            missing.append(name)
        else:
            found.append(r.FileCopied(name=name, domain=home, digest=digest))
    if missing:
        place = f"{both[home].store.name}/{messages.DATA}" if hasattr(both[home].store, "name") else "there"
        shown = f"{', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}"
        raise UsageError(
            f"{len(missing)} inputs that no task writes are not there: {shown}",
            hint=f"--data DIR where they are, or put them into {place}",
        )
    content = hashlib.sha256(msgspec.json.encode(setup.workflow)).hexdigest()
    started = r.RunStarted(
        run=setup.run,
        workflow=setup.workflow.name,
        content=content,
        deadline=setup.initial.deadline,
        budget=setup.limits.budget,
        currency=setup.limits.currency,
    )
    records = [started, *found, *troubles]
    journal.append_many([(r.NAMES[type(one)], one) for one in records], now)
    for record in records:
        state.take(record, now)


def _let_go(both: dict[Domain, Side]) -> None:
    """Close both sides and their storages, so that no connection of the run remains in this process."""
    for side in both.values():
        side.close()
        side.store.close()


def _unpacked(state: RunState, both: dict[Domain, Side]) -> None:
    """Unpack the workspaces that arrived on the cluster's side as archives."""
    home, side = next(iter(both.items()))
    if not isinstance(side.store, DirectoryStore):
        return
    for name, places in state.files.items():
        if home in places and workspace_archive.directory(name) is not None:
            workspace_archive.unpack(side.store.path(messages.DATA), name)


def _told(directory: Path, state: RunState, both: dict[Domain, Side]) -> list[r.Record]:
    """Return a record about the files that an incomplete run leaves in the cloud."""
    for domain in list(both)[1:]:
        sizes = [places[domain].size for places in state.files.values() if domain in places]
        if sizes:
            why = (
                f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, stay in {both[domain].store.name} and may"
                f" cost money; `whesl cloud stop --clean {directory}` removes them"
            )
            return [r.Trouble(what=LEFT, why=why)]
    return []


def _tidy(state: RunState, both: dict[Domain, Side]) -> list[r.Record]:
    """Remove the cloud's files once all results are on the cluster; return a record if this fails."""
    try:
        _removed(state, both)
    except (WheslError, OSError) as error:
        return [r.Trouble(what=LEFT, why=f"they could not be removed: {error}")]
    return []


def _removed(state: RunState, both: dict[Domain, Side]) -> None:
    """Remove messages and files from the cloud, including outputs that lost executors have not reported."""
    written = {file.name for task in state.workflow.tasks for file in task.outputs}
    for domain in list(both)[1:]:
        known = written | {name for name, places in state.files.items() if domain in places}
        names = [f"{messages.DATA}/{name}" for name in sorted(known)]
        for one in state.executors.values():
            if one.domain is domain:
                numbers = range(one.number + 1)
                names += [messages.message(one.id, number) for number in numbers if number]
                names += [messages.reply(one.id, number) for number in numbers]
                names.append(f"{messages.box(one.id)}/{messages.STOP}")
        both[domain].store.remove(names)
        both[domain].store.tidy()
