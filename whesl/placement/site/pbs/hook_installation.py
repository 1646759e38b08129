"""The placement hook in PBS's server: plans, installation and removal by qmgr(8B).

PBS keeps the hook, its configuration and the resources of nodes that jobs ask for. It deletes no resource
that a job in its history has asked for, so a removal may leave some resources, which are without effect.
"""

from __future__ import annotations

import os
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from whesl.managers.resource.pbs import records
from whesl.managers.resource.pbs.command import PbsCommands, server_home
from whesl.model.errors import RefusedError, WheslError
from whesl.placement.site import plugin_paths
from whesl.placement.site.flux import prediction_source
from whesl.placement.site.flux.table_predictor import Published
from whesl.placement.site.pbs.hook_decisions import FREQUENCY, Options, resource
from whesl.placement.site.publish import risk_table
from whesl.runtime.locking.lock_scope import LOCAL, mount_of

HOOK = "whesl_placement"
_SCRIPT, _CONFIGURATION = "application/x-python", "application/x-config"
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
        self._commands = PbsCommands(environ)

    def plan_install(self, options: Options) -> Plan:
        """Return what an installation changes, nothing where the same hook is there. Raises WheslError."""
        script, configuration = _script(), _encoded(options)
        present = self._exported(_SCRIPT)
        if present and not present.startswith(script.partition("\n")[0]):
            return Plan((), (f"the server has a hook {HOOK} that WHESL did not write",))
        lines = [
            f"create resource {name} type=boolean,flag=h"
            for name in _resources()
            if name not in self._known()
        ]
        if present != script or self._exported(_CONFIGURATION) != configuration:
            lines += [] if present else [f"create hook {HOOK}"]
            lines += [
                f"set hook {HOOK} event='{_EVENTS}'",
                f"set hook {HOOK} freq={FREQUENCY}",
                f"import hook {HOOK} {_SCRIPT} default {{script}}",
                f"import hook {HOOK} {_CONFIGURATION} default {{configuration}}",
                f"set hook {HOOK} enabled=True",
            ]
        return Plan(tuple(lines), tuple(_problems(options)))

    def plan_remove(self) -> Plan:
        """Return what a removal changes, nothing where nothing is left. Raises WheslError."""
        lines = [f"delete hook {HOOK}"] if self._exported(_SCRIPT) else []
        return Plan((*lines, *(f"delete resource {name}" for name in _resources() if name in self._known())))

    def install(self, plan: Plan, options: Options) -> None:
        """Make the changes of an installation. Raises WheslError; the same call goes on where it stopped."""
        with tempfile.TemporaryDirectory(prefix="whesl-") as place:
            files = {"script": Path(place, f"{HOOK}.py"), "configuration": Path(place, f"{HOOK}.json")}
            files["script"].write_text(_script())
            files["configuration"].write_text(_encoded(options))
            for line in plan.lines:
                self._qmgr(line.format(**files))

    def remove(self, plan: Plan) -> list[str]:
        """Make the changes of a removal; waiting jobs ask for the resources no more.

        Returns:
            The resources that PBS keeps, since jobs in its history have asked for them.

        Raises:
            WheslError: the server refuses a change.
        """
        kept = []
        hooks = [line for line in plan.lines if line.startswith("delete hook")]
        for line in hooks:
            self._qmgr(line)
        self._release_jobs()
        nodes = records.parsed(self._commands.run("pbsnodes", "-a", "-v", "-F", "json"), "nodes")
        for name in _resources():
            having = [one for one, told in nodes.items() if name in told.get("resources_available", {})]
            if having:
                self._qmgr(f"unset node {','.join(having)} resources_available.{name}")
        for line in plan.lines[len(hooks) :]:
            try:
                self._qmgr(line)
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
        told = self._qmgr("list resource").splitlines()
        return frozenset(line.split()[1] for line in told if line.startswith("Resource "))

    def _exported(self, kind: str) -> str:
        """Return the script or the configuration of the server's hook, "" without a hook."""
        try:
            return self._qmgr(f"export hook {HOOK} {kind} default")
        except RefusedError as error:
            if "does not exist" in error.message:
                return ""
            raise

    def _qmgr(self, line: str) -> str:
        return self._commands.run("qmgr", "-c", line)


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


def _script() -> str:
    return plugin_paths.find(f"pbs/{HOOK}.py").read_text()


def _encoded(options: Options) -> str:
    return msgspec.json.format(msgspec.json.encode(options, order="sorted")).decode() + "\n"
