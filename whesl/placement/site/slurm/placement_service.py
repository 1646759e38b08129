"""The placement service: it observes Slurm, publishes the table, and journals and makes changes.

The service is the shell around ``whesl.placement.site.publish``: it looks once per period, in one thread. An
observation or a change that fails is tried again at the next look.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pwd
import stat
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.managers.resource.slurm.command import NoSuchJobError
from whesl.model.errors import WheslError
from whesl.model.journal_record import Record
from whesl.model.printable import visible
from whesl.placement.site.publish import plugin_file, risk_table, waiting_job_exclusions
from whesl.placement.site.publish.core import node_changes
from whesl.placement.site.publish.core.node_changes import (
    Command,
    Done,
    Leave,
    Observed,
    Settings,
    SetWeight,
    State,
)
from whesl.placement.site.publish.node_change_records import (
    RECORDS,
    Changing,
    Failed,
    JobReleased,
    JobSeen,
    Released,
    Seen,
    What,
    Would,
    WouldNot,
)
from whesl.placement.site.publish.plugin_file import Lookup
from whesl.placement.site.publish.waiting_job_exclusions import Job
from whesl.placement.site.slurm.node_and_job_updates import Cluster, Machine
from whesl.placement.site.slurm.placement_metrics import Figures
from whesl.placement.site.slurm.placement_status import Status
from whesl.placement.site.slurm.prediction_sources import Sources
from whesl.runtime.journal.store import Journal
from whesl.runtime.locking import takeover_lock

LOG = logging.getLogger(__name__)
Key = tuple[str, What]
TABLE, LOOKUP, JOURNAL, STATUS, LOCK = "table.json", "slurm.table", "journal.db", "status.json", "lock"
_STALE = 3  # periods after which a table expires
_STEADY = 120.0  # shortest validity of a table, in seconds


class Service:
    """One cluster's placement service; a context manager that holds the directory's lock.

    Args:
        directory: the service's directory of files, into which no other account may be able to write.
        cluster: the Slurm cluster.
        sources: the sources of predictions.
        settings: settings of the decisions.
        period: seconds between two looks.
        horizons: horizons of the table, in seconds, ascending.
        readable: whether all users may read the tables, as the client's plugin needs.
        name: name of the cluster, for the table.
        clock: returns the time in seconds since the epoch.

    Raises:
        WheslError: another service runs in the directory, or other accounts can write into it.
    """

    def __init__(
        self,
        directory: Path,
        cluster: Cluster,
        sources: Sources,
        settings: Settings,
        *,
        period: float,
        horizons: Sequence[float] = risk_table.HORIZONS,
        readable: bool = False,
        name: str = "",
        clock: Callable[[], float],
    ) -> None:
        self._directory, self._cluster, self._sources = directory, cluster, sources
        self._settings, self._period, self._horizons = settings, period, horizons
        mode = 0o644 if readable else 0o640
        self._replace = partial(file_retry.replace, mode=mode, durable=True, limit=0.0)
        self._name, self._clock = name, clock
        self.figures = Figures()
        self._state = State()
        self._ours: dict[str, frozenset[str]] = {}
        self._foreign: dict[str, frozenset[str]] = {}
        self._said: set[str] = set()  # jobs that are recorded in the journal
        self._unread = ""  # problem with the predictions, "" for none
        self._trouble = ""  # first failure of this look, "" for none
        self._pending: set[Key] = set()  # changes of nodes that are decided but not yet made
        self._refused: dict[Key, str] = {}  # pending changes that Slurm rejected, with the reason
        self._small: list[str] = []  # partitions whose share is less than one node

    def __enter__(self) -> Service:
        private(self._directory)
        self._lock = takeover_lock.take(
            str(self._directory / LOCK), takeover_lock.owned(claim="whesl placement")
        )
        self._journal = Journal(self._directory / JOURNAL, begin_anew=True)
        for record in self._journal.read():
            try:
                found = msgspec.convert(record.data, type=RECORDS)
            except msgspec.ValidationError as error:
                LOG.error("record %d of the journal cannot be read: %s", record.seq, error)
                continue
            self._state = node_changes.apply(self._state, found, record.time)
        if not self._settings.active:
            self._withdraw()  # a table left by a killed service says "active" until it expires
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()
        takeover_lock.release(self._lock)

    def look(self) -> bool:
        """Observe the cluster once, publish, and carry out the decisions. Returns whether nothing failed."""
        self._trouble = ""
        self._unread = "" if self._state.leaving else self._read()
        try:
            seen = self._cluster.nodes()
        except WheslError as error:
            self._failed("look at the nodes", error)
            self._report(None, None)
            return False
        self._tell_of_small_partitions(seen)
        now = self._clock()
        made = None
        if not self._state.leaving:
            names = [node.name for node in seen.nodes if risk_table.is_name(node.name)]
            try:
                made = self._sources.table(
                    names,
                    now,
                    valid_for=max(_STALE * self._period, _STEADY),
                    horizons=self._horizons,
                    active=self._settings.active,
                    cluster=self._name,
                )
            except WheslError as error:
                self._failed("make the table", error)
        jobs = self._jobs()
        waiting = None if jobs is None else tuple(one for one in jobs if one.waiting and not one.blocked)
        self._decide(Observed(seen.nodes, made, waiting))
        published = self._publish(made, seen) if made is not None else None
        if jobs is not None:
            self._look_at_jobs(published, jobs)
        self._report(made, seen)
        return not self._problem

    def _read(self) -> str:
        """Read the predictions before Slurm is asked, so that all problems are reported. Returns them."""
        self._sources.refresh()
        if self._sources.problem and self._sources.problem != self._unread:
            LOG.warning("predictions: %s", self._sources.problem)
        return self._sources.problem

    @property
    def _problem(self) -> str:
        """All problems of this look, for people; empty without a problem."""
        return "; ".join(filter(None, (self._unread, self._trouble)))

    def leave(self) -> bool:
        """Withdraw the tables and undo all changes. Returns whether no change is left."""
        self._state, _, _ = node_changes.step(self._state, Leave(), self._clock(), self._settings)
        self._withdraw()
        self.look()
        # Undone changes leave the state when Slurm has confirmed them, or at the next look.
        return not self._state.held and not self._problem

    def _withdraw(self) -> None:
        for name in (LOOKUP, TABLE):
            (self._directory / name).unlink(missing_ok=True)

    def _decide(self, event: node_changes.Event) -> None:
        now = self._clock()
        state, records, commands = node_changes.step(self._state, event, now, self._settings)
        self._write(records)
        self._state = state
        for command, done in self._performed(commands):
            key = command.node, what_of(command)
            if done and not undoes(command):
                self._refused.pop(key, None)
                if key in self._pending:
                    self._pending.remove(key)
                    self.figures.changed(key[1])
            if done and (undo := undoes(command)) is not None:
                event = Done(command.node, what_of(command), undo)
                self._state, more, _ = node_changes.step(self._state, event, now, self._settings)
                self._write(more)

    def _performed(self, commands: Sequence[Command]) -> list[tuple[Command, bool]]:
        """Carry out commands, equal weights with one call; return whether each was done."""
        done: list[tuple[Command, bool]] = []
        weights = [one for one in commands if isinstance(one, SetWeight)]
        for (weight, undo), some in groupby(
            sorted(weights, key=lambda one: (one.weight, one.undo)), key=lambda one: (one.weight, one.undo)
        ):
            group = list(some)
            try:
                self._cluster.weigh([one.node for one in group], weight)
                done += [(one, True) for one in group]
            except WheslError as error:
                if len(group) == 1:
                    self._failed(f"set the weight of {group[0].node}", error, group[0])
                    continue
                done += [(one, self._one(SetWeight(one.node, weight, undo))) for one in group]
        done += [(one, self._one(one)) for one in commands if not isinstance(one, SetWeight)]
        return done

    def _one(self, command: Command) -> bool:
        try:
            return self._cluster.perform(command)
        except WheslError as error:
            self._failed(f"change {what_of(command).value} of {command.node}", error, command)
            return False

    def _publish(self, made: risk_table.Table, seen: Machine) -> Lookup | None:
        drained = frozenset(name for name, what in self._state.held if what is What.DRAIN)
        found = plugin_file.make(
            made, seen.nodes, share=self._settings.share, held=drained, default=seen.default
        )
        try:
            # The plugin's file is written first, so that the table that people read is already in force.
            self._replace(self._directory / LOOKUP, plugin_file.encode(found))
            self._replace(self._directory / TABLE, risk_table.encode(made))
        except OSError as error:
            self._failed("write the table", WheslError(error.strerror or str(error)))
        return found

    def _tell_of_small_partitions(self, seen: Machine) -> None:
        """Log once which partitions have so few nodes that their share is less than one node."""
        share = self._settings.share
        sizes = Counter(part for node in seen.nodes for part in node.partitions)
        small = sorted(part for part, count in sizes.items() if share and int(share * count) == 0)
        if small and small != self._small:
            LOG.warning(
                "no node of %s is drained or left out: a share of %g is less than one node",
                ", ".join(small),
                share,
            )
        self._small = small

    def _jobs(self) -> Sequence[Job] | None:
        """Return the jobs, None if they cannot be observed."""
        try:
            return self._cluster.jobs()
        except WheslError as error:
            self._failed("look at the jobs", error)
            return None

    def _look_at_jobs(self, published: Lookup | None, found: Sequence[Job]) -> None:
        acting = self._settings.active and not self._state.leaving
        if not acting and not self._state.leaving and published is None:
            return
        self._recognize(found)
        now, longest = self._clock(), self._settings.wait_for_better
        if not acting and published is not None:
            would = waiting_job_exclusions.would(found, published, now, longest)
            self._tell([(one.job, one.decision.nodes, one.decision.said) for one in would], would=True)
        changes = waiting_job_exclusions.review(
            found, published if acting else None, self._ours, now, longest
        )
        for change in changes if acting else [one for one in changes if one.job in self._ours]:
            why = change.decision.said or ("the service ends" if self._state.leaving else "no node at risk")
            try:
                nodes = self._cluster.exclude(change)
            except NoSuchJobError:
                continue  # it has ended meanwhile
            except WheslError as error:
                self._failed(f"change the exclude list of job {change.job}", error)
                continue
            self._ours[change.job] = frozenset(nodes)
            self._write([JobReleased(job=change.job, nodes=",".join(nodes), why=why)])
        living = {job.name for job in found}
        self._said &= living
        for memory in (self._ours, self._foreign):
            for gone in [name for name in memory if name not in living]:
                del memory[gone]

    def _recognize(self, found: Sequence[Job]) -> None:
        """Find out who made the new exclude lists."""
        told = []
        for job in found:
            excluded = frozenset(job.excluded)
            if not excluded or excluded in (self._ours.get(job.name), self._foreign.get(job.name)):
                continue
            listed = plugin_file.marked(job.comment)
            mine = bool(listed) and plugin_file.same(listed or "", excluded)
            (self._ours if mine else self._foreign)[job.name] = excluded
            if mine:
                told.append((job.name, job.excluded, "by the plugin"))
        self._tell(told, would=False)

    def _tell(self, told: Sequence[tuple[str, tuple[str, ...], str]], *, would: bool) -> None:
        """Journal, once for each job, that the job is or would be kept off nodes."""
        new = [one for one in told if one[0] not in self._said]
        self._said.update(job for job, _, _ in new)
        self._write(
            [JobSeen(job=job, nodes=",".join(nodes), said=said, would=would) for job, nodes, said in new]
        )

    def _write(self, records: Sequence[Record]) -> None:
        if records:
            self._journal.append_many([(record.kind, record) for record in records], self._clock())
            for record in records:
                if isinstance(record, Changing):
                    self._pending.add((record.change.node, record.change.what))
                elif isinstance(record, Released):
                    self._pending.discard((record.node, record.what))
                    if self._refused.pop((record.node, record.what), None) is not None:
                        continue  # the change was never made, and its rejection is already in the log
                self.figures.take(record)
                LOG.info("%s", describe(record))

    def _failed(self, what: str, error: WheslError, command: Command | None = None) -> None:
        said = visible(error.message)
        if command is not None and not undoes(command):
            self._refused[command.node, what_of(command)] = said
        if not self._trouble:
            self._trouble = f"could not {what}: {said}"
        LOG.warning("could not %s: %s", what, said)
        self.figures.take(Failed(command=what, said=said))

    def _report(self, made: risk_table.Table | None, seen: Machine | None) -> None:
        at_risk = 0
        if made is not None:
            at = made.horizon(self._settings.within)
            at_risk = sum(row.probability[at] >= made.thresholds[at] for row in made.nodes)
        status = Status(
            pid=os.getpid(),
            time=self._clock(),
            active=self._settings.active,
            period=self._period,
            source=made.source if made is not None else "",
            problem=self._problem,
            cluster=self._name,
            nodes=len(seen.nodes) if seen is not None else 0,
            at_risk=at_risk,
            held=tuple(
                (one.node, one.what.value, one.after)
                for key, one in self._state.held.items()
                if key not in self._refused
            ),
            refused=tuple((node, what.value, why) for (node, what), why in self._refused.items()),
            would=tuple((one.node, one.what.value, one.after) for one in self._state.would.values()),
            figures=self.figures.totals(),
            leaving=self._state.leaving,
        )
        self.figures.show(status)
        with contextlib.suppress(OSError):  # the next look writes the status again
            self._replace(self._directory / STATUS, msgspec.json.encode(status))


def what_of(command: Command) -> What:
    """Return the property of a node that a command changes."""
    if isinstance(command, SetWeight):
        return What.WEIGHT
    return What.FEATURE if isinstance(command, node_changes.SetFeatures) else What.DRAIN


def undoes(command: Command) -> bool | None:
    """Return whether a command undoes a change; None if only the next look shows the command's outcome."""
    if isinstance(command, node_changes.Drain | node_changes.Undrain):
        return isinstance(command, node_changes.Undrain)
    return True if command.undo else None


def describe(record: Record) -> str:
    """Return a record as a line for the log."""
    match record:
        case Changing(change=one):
            return f"{one.node}: {one.what.value} becomes {one.after}"
        case Seen(node=node, what=what, failed=failed):
            return f"{node}: {what.value} is in force" + (", the node has failed" if failed else "")
        case Would(change=one):
            return f"{one.node}: {one.what.value} would become {one.after}"
        case Released(node=node, what=what, why=why):
            return f"{node}: {what.value} is let go: {why}"
        case WouldNot(node=node, what=what, failed=failed):
            return f"{node}: {what.value} would be let go" + (", the node failed" if failed else "")
        case JobSeen(job=job, nodes=nodes, would=would):
            return f"job {job} {'would be' if would else 'is'} kept off {nodes}"
        case JobReleased(job=job, nodes=nodes, why=why):
            return f"job {job} is now kept off {nodes or 'no node'}: {why}"
    return visible(str(record))


def private(directory: Path) -> None:
    """Make a directory for the service, or check that no other account can write into it.

    Raises:
        WheslError: another account owns the directory or can write into it, or it cannot be made.
    """
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        status = directory.lstat()
    except OSError as error:
        raise WheslError(f"{directory} cannot be used: {error.strerror or error}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise WheslError(f"{directory} is no directory", hint="--dir DIR")
    if status.st_uid != os.geteuid():
        # The directory belongs to another account's service, which a change of the owner would lock out.
        owner = _account(status.st_uid)
        raise WheslError(
            f"{directory} belongs to {owner}, whose service it is",
            hint=f"run this as that account: runuser -u {owner} -- whesl placement ...; or --dir DIR",
        )
    if status.st_mode & 0o022:
        raise WheslError(
            f"{directory} is not a directory that this account alone can write",
            hint=f"chmod go-w {directory}",
        )


def _account(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
