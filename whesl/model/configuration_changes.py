"""The configuration that a task runs with, and its algebra: merge, difference upon another one, emptiness."""

from __future__ import annotations

import msgspec

from whesl.model.pathmap import PathMap

# Fields that a change replaces when it names them.
_WHOLE = ("command", "append", "nodes", "time_limit", "memory", "workdir")


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What recoveries changed for a task, relative to how the user wrote it.

    ``version`` rises with each change, so that a repeated or late message is recognised.
    ``command``, ``time_limit`` (minutes), ``memory`` (MiB of each node) and ``workdir`` replace the task's
    own when set; ``append`` are words behind its command; ``environment`` is added, and an empty value
    removes the name. ``excluded_nodes`` are not to be used. ``restart`` is when a change was made that a
    running attempt is to be ended for, and started again with; 0 for none.
    ``failed`` names the tasks coupled with this task that have failed for good.
    """

    version: int = 0
    path_map: PathMap = PathMap()
    environment: dict[str, str] = {}
    command: tuple[str, ...] | None = None
    append: tuple[str, ...] | None = None
    nodes: int | None = None
    time_limit: float | None = None
    memory: int | None = None
    workdir: str | None = None
    excluded_nodes: tuple[str, ...] = ()
    skip: bool = False
    restart: float = 0.0
    failed: tuple[str, ...] = ()

    def merged(self, change: Configuration) -> Configuration:
        """Return this configuration with a change applied to it, and with this configuration's version.

        Paths are composed, environments merged, excluded nodes and failed tasks united; command, nodes, time
        limit, memory and working directory are taken over where the change names them, and the later restart.
        """
        named = {name: value for name in _WHOLE if (value := getattr(change, name)) is not None}
        return msgspec.structs.replace(
            self,
            path_map=self.path_map.merged(change.path_map),
            environment={**self.environment, **change.environment},
            excluded_nodes=tuple(dict.fromkeys((*self.excluded_nodes, *change.excluded_nodes))),
            skip=self.skip or change.skip,
            restart=max(self.restart, change.restart),
            failed=tuple(dict.fromkeys((*self.failed, *change.failed))),
            **named,
        )

    def added(self, change: Configuration) -> Configuration:
        """Return this configuration with a change applied, of the next version; itself if nothing changes."""
        result = self.merged(change)
        return self if result == self else msgspec.structs.replace(result, version=self.version + 1)

    def rebased(self, base: Configuration, present: Configuration) -> Configuration:
        """Return ``present`` with the differences between ``base`` and this configuration applied to it.

        Path rules, variables and excluded nodes count one by one, added or taken away; other fields whole.

        Args:
            base: the configuration that this one was made from.
            present: what ``base`` has become meanwhile by other changes.
        """
        if present.says_the_same(base):
            return self
        rules = PathMap(tuple(rule for rule in self.path_map.rules if rule not in base.path_map.rules))
        dropped = {rule for rule in base.path_map.rules if rule not in self.path_map.rules}
        unset = base.environment.keys() - self.environment.keys()
        admitted = set(base.excluded_nodes) - set(self.excluded_nodes)
        kept = {name: value for name, value in present.environment.items() if name not in unset}
        variables = {name: v for name, v in self.environment.items() if base.environment.get(name) != v}
        excluded = (node for node in present.excluded_nodes if node not in admitted)
        own = (node for node in self.excluded_nodes if node not in base.excluded_nodes)
        whole = {
            name: getattr(self, name)
            for name in (*_WHOLE, "skip")
            if getattr(self, name) != getattr(base, name)
        }
        return msgspec.structs.replace(
            present,
            path_map=PathMap(tuple(r for r in present.path_map.rules if r not in dropped)).merged(rules),
            environment={**kept, **variables},
            excluded_nodes=tuple(dict.fromkeys((*excluded, *own))),
            restart=max(self.restart, present.restart),
            failed=tuple(dict.fromkeys((*present.failed, *self.failed))),
            **whole,
        )

    def says_the_same(self, other: Configuration) -> bool:
        """Whether another configuration is the same, versions left out."""
        return msgspec.structs.replace(self, version=other.version) == other

    @property
    def empty(self) -> bool:
        """Whether the configuration changes nothing of its task."""
        return self.says_the_same(Configuration())
