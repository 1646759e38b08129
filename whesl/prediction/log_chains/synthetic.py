"""Synthetic logs with planted chains, for tests, the demonstration and benchmarks, not measured data.

Messages are made from templates, which are built in or come from a real log; nodes and failures are random.
Chains are planted before a share of the failures. Some chains are planted without a failure, and some
messages of chains are planted alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from whesl.model.errors import UsageError
from whesl.prediction.log_chains import template
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.evaluation import Failure

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc).timestamp()
# Templates of messages of Linux, Lustre, NVIDIA's driver and daemons.
TEMPLATES = (
    "EDAC MC<*>: <*> CE memory read error on CPU_SrcID#<*>_Ha#<*>_Chan#<*>_DIMM#<*>",
    "EDAC MC<*>: <*> UE memory scrubbing error on CPU_SrcID#<*>_Ha#<*>_Chan#<*>_DIMM#<*>",
    "mce: [Hardware Error]: Machine check events logged",
    "mce: [Hardware Error]: CPU <*>: Machine Check: <*> Bank <*>: <*>",
    "CPU<*>: Core temperature above threshold, cpu clock throttled (total events = <*>)",
    "CPU<*>: Core temperature/speed normal",
    "NVRM: Xid (PCI:<*>): <*>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:<*>): <*>, Row Remapper: New row marked for remapping, reset gpu to activate.",
    "pcieport <*>: AER: Corrected error received: <*>",
    "pcieport <*>: AER: Uncorrected (Fatal) error received: <*>",
    "nvme nvme<*>: I/O <*> QID <*> timeout, aborting",
    "nvme nvme<*>: controller is down; will reset: CSTS=<*>",
    "sd <*>: [sda] tag#<*> FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE cmd_age=<*>s",
    "blk_update_request: I/O error, dev sda, sector <*> op <*>:(READ) flags <*> phys_seg <*> prio class <*>",
    "EXT4-fs error (device sda<*>): ext4_find_entry:<*>: inode #<*>: comm <*>: reading directory lblock <*>",
    "EXT4-fs (sda<*>): Remounting filesystem read-only",
    "Buffer I/O error on dev sda<*>, logical block <*>, async page read",
    "mlx5_core <*>: mlx5_cmd_check:<*>: QUERY_NIC op_mod <*> failed, status bad system state <*>",
    "mlx5_core <*> ib<*>: Link down",
    "mlx5_core <*> ib<*>: Link up",
    "LustreError: <*>:<*>:(client.c:<*>:ptlrpc_check_status()) Skipped <*> previous similar messages",
    "Lustre: <*>:<*>:(client.c:<*>:ptlrpc_expire_one_request()) @@@ Request sent has timed out",
    "LNetError: <*>:<*>:(o2iblnd_cb.c:<*>:kiblnd_check_txs_locked()) Timed out tx: active_txs, <*> seconds",
    "watchdog: BUG: soft lockup - CPU#<*> stuck for <*>s! [kworker/<*>]",
    "INFO: task jbd2/sda<*>:<*> blocked for more than <*> seconds.",
    "rcu: INFO: rcu_sched self-detected stall on CPU <*>",
    "Out of memory: Killed process <*> (python<*>) total-vm:<*>kB, anon-rss:<*>kB, file-rss:<*>kB",
    "page allocation failure: order:<*>, mode:<*>(GFP_KERNEL), nodemask=(null)",
    "ipmi_si IPI<*>: KCS in invalid state <*>",
    "power supply <*> lost input, redundancy degraded",
    "fan <*> speed <*> RPM below lower critical threshold",
    "Started Session <*> of user root.",
    "Removed slice User Slice of UID <*>.",
    "pam_unix(sshd:session): session opened for user root by (uid=<*>)",
    "launch task StepId=<*>.<*> request from UID:<*> GID:<*> HOST:<*> PORT:<*>",
    "done with step <*>.<*>",
    "(root) CMD (run-parts /etc/cron.hourly)",
    "chronyd: Selected source <*>",
    "DHCPACK of <*> from <*> (xid=<*>)",
    "usb <*>: new high-speed USB device number <*> using xhci_hcd",
    "perf: interrupt took too long (<*> > <*>), lowering kernel.perf_event_max_sample_rate to <*>",
    "systemd-logind: New session <*> of user root.",
)


class Settings(NamedTuple):
    """Settings of a synthetic log.

    Attributes:
        nodes: number of nodes.
        days: length of the log in days.
        chains: number of different planted chains.
        failures: number of node failures.
        preceded: share of failures before which a chain is planted; no recall can be higher.
        false: number of chains planted without a failure, as a share of those planted before one.
        noise: number of unrelated messages per node and day.
        strays: number of single messages of chains per node and day.
        seed: seed of the random numbers.
    """

    nodes: int = 64
    days: float = 30.0
    chains: int = 8
    failures: int = 160
    preceded: float = 0.8
    false: float = 0.1
    noise: float = 40.0
    strays: float = 0.3
    seed: int = 0


class Log(NamedTuple):
    """A synthetic log.

    Attributes:
        lines: the log's lines in order of time, with their line breaks.
        failures: node and time of each failure, in order of time.
        chains: the planted chains.
        preceded: the failures before which a chain was planted.
    """

    lines: list[bytes]
    failures: list[Failure]
    chains: tuple[Chain, ...]
    preceded: frozenset[Failure]


def make(settings: Settings, templates: Sequence[str] = TEMPLATES) -> Log:
    """Make a synthetic log.

    Args:
        settings: the settings of the log.
        templates: templates of the messages; those that cannot be searched for are left out.

    Raises:
        UsageError: there are too few templates.
    """
    draw = random.Random(settings.seed)  # noqa: S311  a seeded simulation, no secret
    usable = [one for one in dict.fromkeys(map(str.strip, templates)) if _usable(one)]
    chains = _chains(settings, usable, draw)
    steps = {step for chain in chains for step in chain.steps}
    plain = [one for one in usable if one not in steps]
    if not plain:
        raise UsageError(f"{len(usable)} templates are too few for {len(chains)} chains")
    names = [f"n{number:04d}" for number in range(1, settings.nodes + 1)]
    finish = BEGIN + settings.days * 86400.0
    rows: list[tuple[float, str, str]] = []
    failures = sorted(
        ((draw.choice(names), draw.uniform(BEGIN + 86400.0, finish)) for _ in range(settings.failures)),
        key=lambda one: one[1],
    )
    preceded = set()
    for node, time in failures:
        if draw.random() < settings.preceded:
            preceded.add((node, time))
            chain = draw.choice(chains)
            rows += _planted(chain, node, time - chain.lead * draw.uniform(0.5, 1.5), draw)
    for _ in range(round(len(preceded) * settings.false)):
        rows += _planted(draw.choice(chains), draw.choice(names), draw.uniform(BEGIN, finish), draw)
    ordered = sorted(steps)
    for node in names:
        for rate, kinds in ((settings.noise, plain), (settings.strays, ordered)):
            for _ in range(_poisson(rate * settings.days, draw)):
                rows.append((draw.uniform(BEGIN, finish), node, draw.choice(kinds)))
    rows.sort()
    lines = [_line(time, node, _filled(text, draw)) for time, node, text in rows]
    return Log(lines, failures, chains, frozenset(preceded))


def _usable(text: str) -> bool:
    try:
        template.checked(text)
    except UsageError:
        return False
    return text.isprintable()


def _chains(settings: Settings, usable: Sequence[str], draw: random.Random) -> tuple[Chain, ...]:
    """Return random chains of two to five templates, which together use at most half of the templates."""
    pool = draw.sample(list(usable), max(len(usable) // 2, min(len(usable), 5)))
    chains: dict[tuple[str, ...], Chain] = {}
    for _ in range(20 * settings.chains):
        if len(chains) == settings.chains:
            break
        steps = tuple(draw.sample(pool, draw.randint(2, min(5, len(pool)))))
        lead = float(draw.randint(60, 1800))
        name = f"planted-{len(chains) + 1}"
        chains.setdefault(steps, Chain(name=name, steps=steps, lead=lead, window=3600.0))
    if len(chains) < settings.chains:
        raise UsageError(f"{len(usable)} templates are too few for {settings.chains} chains")
    return tuple(chains.values())


def _planted(chain: Chain, node: str, last: float, draw: random.Random) -> list[tuple[float, str, str]]:
    apart = sorted((draw.uniform(1.0, 0.5 * chain.window) for _ in chain.steps[1:]), reverse=True)
    times = [*(last - gap for gap in apart), last]
    return [(time, node, step) for time, step in zip(times, chain.steps, strict=True)]


def _poisson(mean: float, draw: random.Random) -> int:
    return max(0, round(draw.gauss(mean, mean**0.5)))


def _filled(text: str, draw: random.Random) -> str:
    parts = text.split(template.WILD)
    filled = [parts[0]]
    for part in parts[1:]:
        value = draw.randrange(1 << 16)
        filled += [f"0x{value:08x}" if value % 3 == 0 else str(value), part]
    return "".join(filled)


def _line(time: float, node: str, message: str) -> bytes:
    stamp = datetime.fromtimestamp(time, timezone.utc).isoformat(timespec="microseconds")
    return f"{stamp} {node} kernel: {message}\n".encode()
