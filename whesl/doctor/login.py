"""Probes of a login node's limits on long-running programs: coordinator, ``whesl run``, workflow manager."""

from __future__ import annotations

import contextlib
import getpass
import os
import resource
from pathlib import Path

from whesl.doctor.probe_runner import Finding, State, one
from whesl.model.errors import UsageError
from whesl.runtime.coordinator import file_limit
from whesl.runtime.wire.allowed_ports import PORTS_VARIABLE, allowed

GROUP = "this host, for programs that stay"
PAGE = "docs/administration.md"
LITTLE_MEMORY = 512 * 1024 * 1024
FEW_PROCESSES = 64
_SYSTEMD = Path("/run/systemd/system")
# logind.conf(5), "CONFIGURATION DIRECTORIES AND PRECEDENCE": a drop-in of a later name wins.
_LOGIND = ("/usr/lib/systemd/logind.conf", "/run/systemd/logind.conf", "/etc/systemd/logind.conf")
_LINGER = Path("/var/lib/systemd/linger")
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def open_files() -> list[Finding]:
    """Check how many isolators a coordinator could connect to here: each connection is one open file."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return one(State.OK, "no limit")
    most = max(hard - file_limit.RESERVED, 0)
    few = most < file_limit.FEW
    return one(
        State.WARN if few else State.OK,
        f"at most {hard}: a coordinator serves {most} running tasks at once",
        file_limit.advice(most) if few else "",
    )


def limits() -> list[Finding]:
    """Look at limits of memory, processor time and processes, by ulimit and by control groups (v2)."""
    told, advice = [], []
    seconds, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if seconds != resource.RLIM_INFINITY:
        told.append(f"a process is ended after {seconds} s of processor time (ulimit -t)")
        advice.append("start the coordinator and long workflows on a host without that limit")
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    memory = [limit for limit in (space, _group_limit("memory.max")) if limit is not None and limit >= 0]
    if memory:
        told.append(f"{min(memory) / 2**20:.0f} MiB of memory")
        if min(memory) < LITTLE_MEMORY:
            advice.append("a coordinator of 10,000 tasks needs 500 MB; have the limit raised")
    processes = _group_limit("pids.max")
    if processes is not None:
        told.append(f"{processes} processes and threads")
        if processes < FEW_PROCESSES:
            advice.append("coordinator, whesl run and a workflow manager are some 30 threads")
    return one(
        State.WARN if advice else State.OK,
        ", ".join(told) or "none on memory, processor time and processes",
        f"{'; '.join(advice)} ({PAGE})" if advice else "",
    )


def _group_limit(name: str) -> int | None:
    """Return the lowest limit of a control group that this process is in, None where there is none."""
    try:
        lines = _OWN_CGROUP.read_text().splitlines()
    except OSError:
        return None
    own = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    if own is None:
        return None
    found = []
    place = _CGROUPS / own
    while place != _CGROUPS.parent and place.is_relative_to(_CGROUPS):
        with contextlib.suppress(OSError, ValueError):  # the root group has no such file; "max" is no limit
            found.append(int((place / name).read_text()))
        place = place.parent
    return min(found, default=None)


def sessions() -> list[Finding]:
    """Check whether a logout ends running processes; no findings where systemd does not run."""
    if not _SYSTEMD.is_dir():
        return []
    settings = _logind()
    user = _user()
    kills = settings.get("KillUserProcesses", "no").lower() in ("1", "yes", "true", "on")
    only, spared = settings.get("KillOnlyUsers", "").split(), settings.get("KillExcludeUsers", "root").split()
    if not kills or user in spared or (only and user not in only):
        return one(State.OK, "what runs outlives a log-out")
    lingers = (_LINGER / user).exists()
    return one(
        State.WARN,
        "a log-out ends all that the session has started, nohup, screen and tmux too "
        "(KillUserProcesses=yes); tasks go on",
        (
            ("" if lingers else "loginctl enable-linger; ")
            + f"systemd-run --user whesl coordinator start --foreground ({PAGE})"
        ),
    )


def _logind() -> dict[str, str]:
    """Return the settings in the readable files of logind."""
    files = {Path(main).name: Path(main) for main in _LOGIND if Path(main).is_file()}
    parts: dict[str, Path] = {}
    for main in _LOGIND:
        for part in sorted(Path(f"{main}.d").glob("*.conf")):
            parts[part.name] = part
    found: dict[str, str] = {}
    for path in (*files.values(), *(parts[name] for name in sorted(parts))):
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            name, mark, value = line.partition("=")
            if mark and not name.lstrip().startswith(("#", ";")):
                found[name.strip()] = value.strip()
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.geteuid())


def ports() -> list[Finding]:
    """Check the settings of ports; no findings without settings."""
    try:
        chosen = allowed(os.environ)
    except UsageError as error:
        return one(State.FAILED, error.message, error.hint, name=PORTS_VARIABLE)
    if chosen is None:
        return []
    detail = f"{len(chosen)} ports, {chosen[0]} to {chosen[-1]}: one for each user's coordinator on this host"
    return one(State.OK, detail, name=PORTS_VARIABLE)
