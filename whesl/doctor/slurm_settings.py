"""Settings of Slurm that affect recovery; docs/administration.md explains each."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from whesl.doctor.probe_runner import Finding, State, ask, one
from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.releases import Ability, release
from whesl.runtime.wire.allowed_ports import PORTS_VARIABLE

GROUP = "resource managers"
PAGE = "docs/administration.md"
# Seconds of MinJobAge below which there is a warning: a login node may be down for longer.
SHORT_MEMORY = 120
_NUMBER = re.compile(r"[0-9]+")


def slurm() -> list[Finding]:
    """Look at the settings of this host's Slurm; no findings where no Slurm answers."""
    answer = ask("scontrol", "show", "config")
    if answer is None or answer.status != 0:
        return []  # the probe of Slurm's commands reports this
    return findings(slurm_command_output.settings(answer.output), os.environ)


def findings(settings: Mapping[str, str], environ: Mapping[str, str]) -> list[Finding]:
    """Return one finding for each restricting setting, or a single good finding.

    Args:
        settings: values by name, as ``scontrol show config`` prints them (slurm.conf(5)).
        environ: this process's environment.
    """
    if not settings.get("AccountingStorageType"):
        return []  # the commands belong to the embedded resource manager
    kept = settings["AccountingStorageType"] == "accounting_storage/slurmdbd"
    running = release(settings.get("SLURM_VERSION", "")) or (0, 0)
    changed = kept or Ability.CHANGES_AFTER_RESIZE.of(running)
    found = _accounting(settings["AccountingStorageType"], changed=changed)
    timeout, memory = _number(settings, "SlurmdTimeout"), _number(settings, "MinJobAge")
    tracker, ports = settings.get("ProctrackType", ""), settings.get("SrunPortRange", "")
    limited = ports[:1].isdigit() and ports != "0-0" and not environ.get(PORTS_VARIABLE)
    restricting = (
        (
            Ability.BLOCKS_SIGCHLD.of(running),
            "SIGCHLD",
            "this release starts scripts with the signal blocked: wait in a script of dash never ends",
            "begin scripts with #!/bin/bash, or use Slurm 25.11.1 or newer; what whesl exec starts "
            "does not inherit it",
        ),
        (
            timeout == 0,
            "SlurmdTimeout",
            "0: Slurm never calls a node down by itself",
            "a job that has lost a node, and what waits for it, may hang until an administrator acts: "
            "set it to some minutes",
        ),
        (
            memory is not None and 0 < memory < SHORT_MEMORY and not kept,
            "MinJobAge",
            f"{memory} s, and no accounting: Slurm forgets how a job has ended",
            f"a study whose manager was away for longer may run a finished job again: set {SHORT_MEMORY} "
            "or more",
        ),
        (
            "nodes" in settings.get("PrivateData", "").split(","),
            "PrivateData",
            "nodes: Slurm shows users no node's state",
            "dead nodes are noticed by their agents alone, after the heartbeat limit (3 s), and drained "
            "ones not at all",
        ),
        (
            tracker == "proctrack/pgid",
            "ProctrackType",
            "proctrack/pgid: Slurm does not find programs in a session of their own, as tasks are",
            "a job that is killed at once may leave its task behind: use proctrack/cgroup or "
            "proctrack/linuxproc",
        ),
        (
            tracker not in ("", "proctrack/cgroup") and not _passes_marks(settings),
            "PropagateResourceLimits",
            f"without RSS, and {tracker}: a daemon that has shed its environment is not found",
            "it outlives its attempt: use proctrack/cgroup, or pass RSS on",
        ),
        (
            limited,
            "SrunPortRange",
            f"{ports}: srun listens on these ports only, so a firewall may let no others through",
            f"ask whether other ports are open between nodes and this host; if not, set {PORTS_VARIABLE}",
        ),
    )
    found += [_warn(*said) for wrong, *said in restricting if wrong]
    if all(finding.state is State.OK for finding in found):
        detail = "none that takes anything from recovery"
        if timeout is not None:
            detail += f"; a dead node is given up after {timeout} s (SlurmdTimeout)"
        found += one(State.OK, detail, name="Slurm settings")
    if settings.get("JobFileAppend") == "0":
        detail = "0: what Slurm itself runs again (preemption, scontrol requeue) begins its output file anew"
        detail += " without #SBATCH --open-mode=append"
        found += one(State.OK, detail, name="Slurm JobFileAppend")
    return found


def _accounting(kind: str, *, changed: bool) -> list[Finding]:
    name = "Slurm accounting"
    if changed:
        return one(State.OK, kind, name=name)
    advice = "only the site can change it; recovery works, lost nodes are not given back early"
    detail = f"{kind}: a job that has lost a node cannot be changed any more"
    return one(State.WARN, detail, advice, name=name)


def _warn(name: str, detail: str, advice: str) -> Finding:
    return Finding(name=f"Slurm {name}", state=State.WARN, detail=detail, advice=f"{advice} ({PAGE})")


def _passes_marks(settings: Mapping[str, str]) -> bool:
    """Whether srun passes on the limit that marks processes (whesl.model.attempt_rlimit_mark)."""
    passed = settings.get("PropagateResourceLimits", "ALL").upper().split(",")
    if passed != ["(NULL)"]:
        return not {"ALL", "RSS"}.isdisjoint(passed)
    left_out = settings.get("PropagateResourceLimitsExcept", "").upper().split(",")
    return {"ALL", "RSS"}.isdisjoint(left_out)


def _number(settings: Mapping[str, str], name: str) -> int | None:
    match = _NUMBER.match(settings.get(name, ""))
    return int(match.group()) if match else None
