"""The placement hook in PBS's server: plans, installation and removal by qmgr(8B).

PBS keeps the hook, its configuration and the resources of nodes that jobs ask for. It deletes no resource
that a job in its history has asked for, so a removal may leave some resources, which are without effect.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from whesl.managers.resource.pbs import records
from whesl.managers.resource.pbs.command import server_home
from whesl.managers.resource.pbs.server_hook import ServerHook
from whesl.model.errors import RefusedError, WheslError
from whesl.placement.site import plugin_paths
from whesl.placement.site.flux import prediction_source
from whesl.placement.site.flux.table_predictor import Published
from whesl.placement.site.pbs.hook_decisions import FREQUENCY, Options, resource
from whesl.placement.site.publish import risk_table
from whesl.runtime.locking.lock_scope import LOCAL, mount_of

HOOK = "whesl_placement"
_EVENTS = "queuejob,periodic,execjob_launch"
_STATE = f"{HOOK}.json"


class Plan(NamedTuple):
    """The changes of an installation or a removal, as lines of qmgr, and the problems that prevent them."""

    lines: tuple[str, ...]
    problems: tuple[str, ...] = ()


class Hook:
    """The hook in the server that the environment's commands reach; for root on the server's host.

    Args:
        environ: the environment of PBS's commands.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        script = plugin_paths.find(f"pbs/{HOOK}.py").read_text()
        self._hook = ServerHook(HOOK, script, _EVENTS, FREQUENCY, environ)
        self._commands = self._hook.commands

    def plan_install(self, options: Options) -> Plan:
        """Return what an installation changes, nothing where the same hook is there. Raises WheslError."""
        known = self._known()
        lines = [f"create resource {name} type=boolean,flag=h" for name in _resources() if name not in known]
        return Plan((*lines, *self._hook.install_lines(_encoded(options))), tuple(_problems(options)))

    def plan_remove(self) -> Plan:
        """Return what a removal changes, nothing where nothing is left. Raises WheslError."""
        known = self._known()
        resources = (f"delete resource {name}" for name in _resources() if name in known)
        return Plan((*self._hook.remove_lines(), *resources))

    def install(self, plan: Plan, options: Options) -> None:
        """Make the changes of an installation; after an error, the same call goes on where it stopped.

        Args:
            plan: the changes, from ``plan_install`` with the same options.
            options: the hook's configuration.

        Raises:
            WheslError: the server refuses a change.
        """
        self._hook.carry_out(plan.lines, _encoded(options))

    def remove(self, plan: Plan) -> list[str]:
        """Make the changes of a removal; waiting jobs ask for the resources no more.

        Returns:
            The resources that PBS keeps, since jobs in its history have asked for them.

        Raises:
            WheslError: the server refuses a change.
        """
        kept = []
        hooks = [line for line in plan.lines if not line.startswith("delete resource")]
        for line in hooks:
            self._hook.qmgr(line)
        self._release_jobs()
        nodes = records.parsed(self._commands.run("pbsnodes", "-a", "-v", "-F", "json"), "nodes")
        for name in _resources():
            having = [one for one, told in nodes.items() if name in told.get("resources_available", {})]
            if having:
                self._hook.qmgr(f"unset node {','.join(having)} resources_available.{name}")
        for line in plan.lines[len(hooks) :]:
            try:
                self._hook.qmgr(line)
            except RefusedError as error:
                if "busy" not in error.message.lower():
                    raise
                kept.append(line.rpartition(" ")[2])
        home = server_home(self._commands.environ)
        if home is not None:
            (home / "server_priv" / _STATE).unlink(missing_ok=True)
        return kept

    def _release_jobs(self) -> None:
        waiting = self._commands.run("qselect", "-s", "HQW").split()
        if not waiting:
            return
        told = self._commands.run("qstat", "-f", "-F", "dsv", "-D", records.SEPARATOR, *waiting)
        for job, its in records.listed(told).items():
            asked = its.get("Resource_List.select", "")
            freed = asked
            for name in _resources():
                freed = freed.replace(f":{name}=True", "")
            if freed != asked:
                self._commands.run("qalter", "-l", f"select={freed}", job)

    def _known(self) -> frozenset[str]:
        told = self._hook.qmgr("list resource").splitlines()
        return frozenset(line.split()[1] for line in told if line.startswith("Resource "))


def options(predictions: Path, packages: str, *, acts: bool, share: float, despite: str | None) -> Options:
    """Return the hook's configuration.

    Args:
        predictions: a model of ``whesl placement learn``, or the table of ``whesl placement serve``.
        packages: directory in which PBS's Python finds WHESL; "" for that of this process.
        acts: whether jobs leave nodes out; otherwise the hook only writes what they would.
        share: the largest share of a queue's nodes that jobs leave out, from 0 to 1.
        despite: the verdict of a model that acts without a positive one; None for none.

    Raises:
        RefusedError: the model may not act.
        WheslError: the file holds no predictions.
    """
    path = predictions.absolute()
    if acts:
        prediction_source.may_act(path, despite)
    source = prediction_source.Source(path)
    source.refresh()
    if source.predictor is None:
        raise WheslError(source.problem)
    return {
        "predictions": str(path),
        "packages": packages or sysconfig.get_path("purelib"),
        "table": str(path) if isinstance(source.predictor, Published) else "",
        "acts": acts,
        "share": share,
        "horizons": [int(one) for one in risk_table.HORIZONS],
    }


def _problems(options: Options) -> list[str]:
    kept = mount_of(options["predictions"])
    if kept.kind not in LOCAL and kept.kind != "?":
        return [
            f"{options['predictions']} is on {kept.kind}: the server would wait for it; take a local disk"
        ]
    if os.stat(options["predictions"]).st_mode & 0o022:  # noqa: PTH116  # a text is wanted
        return [f"{options['predictions']} can be written by others than its owner"]
    return []


def _resources() -> list[str]:
    return [resource(one) for one in risk_table.HORIZONS]


def _encoded(options: Options) -> str:
    return msgspec.json.format(msgspec.json.encode(options, order="sorted")).decode() + "\n"
