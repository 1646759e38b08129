"""Settings of a run's cluster and cloud from the user's file, and the two sides made from them."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from whesl.cloud.core.plan_records import Domain, Platform
from whesl.cloud.core.stage_speed import LONGEST
from whesl.cloud.providers.port import Ec2Settings, Market, Offer, Provider
from whesl.cloud.providers.processes.files import Chosen
from whesl.cloud.providers.processes.files import Settings as ProcessSettings
from whesl.cloud.runner.cluster_and_cloud_executors import ProviderSide, SchedulerSide, Side
from whesl.cloud.transfer.directory import DirectoryStore
from whesl.cloud.transfer.opening import opened
from whesl.cloud.transfer.port import Store
from whesl.files import file_retry, toml
from whesl.managers.resource.port import Demands
from whesl.model.errors import UsageError

FILE = "cloud.toml"
_HINT = "docs/cloud/run.md has the file with all its keys"
Provided = Literal["processes", "ec2", "slurm", ""]


_DAY = 86400.0
_Pause = Annotated[float, msgspec.Meta(ge=0.01, le=_DAY)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all parts of the settings file."""


class Cluster(Demands, frozen=True, kw_only=True):
    """The cluster's side.

    ``scheduler``: slurm, flux, local, or a third party's; '' for no cluster. ``directory``: directory of a
    local cluster. ``store``: a directory that the cluster's nodes share with this host; '' for one in the
    run's directory. ``account`` to ``exclusive``: further demands of each request for a node.
    ``longest_request``: hours of the longest request for a node, within the partition's time limit.
    """

    scheduler: str = "slurm"
    partition: str = ""
    longest_request: Annotated[int, msgspec.Meta(ge=1, le=31 * 24)] = LONGEST
    directory: str = ""
    store: str = ""


class Processes(Chosen, frozen=True, kw_only=True):
    """Instances that are processes of this host (``whesl.cloud.providers.processes``)."""

    directory: str = ""


class Cloud(_Settings, frozen=True, kw_only=True):
    """The cloud's side.

    ``provider``: processes, ec2, slurm (a ``partition`` of CLOUD nodes), or '' for no cloud. ``store``:
    address of the cloud's storage from this host; ``seen_as``: its address from the instances. ``whesl``: the
    command that starts WHESL on an instance. ``ssh_options``: options of ssh for a storage behind ssh.
    ``spot``: whether spot instances are requested.
    """

    provider: Provided = "processes"
    store: str = ""
    seen_as: str = ""
    whesl: str = ""
    ssh_options: tuple[str, ...] = ()
    spot: bool = False
    partition: str = ""
    processes: Processes = Processes()
    ec2: Ec2Settings | None = None


class Burst(_Settings, frozen=True, kw_only=True):
    """A Slurm partition of CLOUD nodes, with the cloud's provider behind it.

    ``name``: the tag of its instances. ``kind``: the instance type. ``command``: an instance's command, with
    ``{node}`` for its node's name. ``lifetime``: seconds until an instance ends itself. ``directory``:
    directory of the instances' journal.
    """

    name: str = "burst"
    kind: str = "c5a.4xlarge"
    command: str = "exec slurmd -D -N {node}"
    lifetime: Annotated[float, msgspec.Meta(ge=1, le=366 * _DAY)] = 86400.0
    directory: str = ""


class Site(_Settings, frozen=True, kw_only=True):
    """The whole file. ``poll``: seconds between looks. ``again``: seconds until a failed call is repeated.

    ``retries``: number of repetitions of a failed task. ``rules``: files of ESL for every task.
    """

    cluster: Cluster = Cluster()
    cloud: Cloud = Cloud()
    burst: Burst | None = None
    poll: _Pause = 5.0
    again: _Pause = 15.0
    retries: _Count = 2
    rules: tuple[str, ...] = ()


def load(path: Path | None, **changes: Any) -> Site:
    """Return the settings of a file, or the defaults.

    Args:
        path: a TOML file; None for ``cloud.toml`` in WHESL_HOME, if there is one.
        changes: ``scheduler`` and ``provider`` from a command's options.

    Raises:
        UsageError: there is no such file, or one of its settings is wrong.
    """
    chosen = path or Path(os.environ.get("WHESL_HOME") or Path.home() / ".whesl") / FILE
    asked = path is not None or chosen.exists()
    document = toml.load(chosen, _HINT) if asked else toml.Document(str(chosen), "", _HINT)
    site = document.whole(Site)
    if changes.get("scheduler") is not None:
        cluster = msgspec.structs.replace(site.cluster, scheduler=changes["scheduler"])
        site = msgspec.structs.replace(site, cluster=cluster)
    if changes.get("provider") is not None:
        try:
            provider = msgspec.convert(changes["provider"], Provided)
        except msgspec.ValidationError:
            known = ", ".join(repr(name) for name in get_args(Provided))
            raise UsageError(f"no cloud is called {changes['provider']!r}", hint=f"known: {known}") from None
        site = msgspec.structs.replace(site, cloud=msgspec.structs.replace(site.cloud, provider=provider))
    if not site.cluster.scheduler and not site.cloud.provider:
        raise UsageError("there is neither a cluster nor a cloud", hint=f"set one of them in {chosen}")
    if site.cloud.provider == "ec2" and (site.cloud.ec2 is None or not site.cloud.store.startswith("s3://")):
        raise UsageError(
            f"{chosen}: EC2 needs [cloud.ec2] with region and image, and a store",
            hint='store = "s3://bucket/prefix"',
        )
    if site.cloud.provider == "slurm" and not site.cloud.partition:
        raise UsageError(f"{chosen}: the partition of CLOUD nodes is not named", hint='partition = "cloud"')
    return site


def sides(site: Site, directory: Path, run: str, platforms: tuple[Platform, ...]) -> dict[Domain, Side]:
    """Return the sides of a run.

    Args:
        site: the settings.
        directory: the run's directory, on a file system that the cluster's nodes share.
        run: the tag of the run's instances.
        platforms: the cloud's platforms, with their prices.
    """
    made: dict[Domain, Side] = {}
    private = directory / "private"
    private.mkdir(mode=0o700, parents=True, exist_ok=True)
    if site.cluster.scheduler:
        store = DirectoryStore(Path(site.cluster.store or directory / "cluster"))
        options = {"directory": site.cluster.directory} if site.cluster.directory else {}
        made[Domain.HPC] = _jobs(
            Domain.HPC,
            site.cluster.scheduler,
            options,
            store,
            store.name,
            directory,
            site.cluster.partition,
            site,
            site.cluster.alone(),
        )
    if not site.cloud.provider:
        return made
    cloud = site.cloud
    region, endpoint = (cloud.ec2.region, cloud.ec2.endpoint) if cloud.ec2 else ("us-east-1", "")
    address = cloud.store or str(directory / "cloud")
    reached = opened(
        address, private=private, region=region, endpoint=endpoint, ssh_options=cloud.ssh_options
    )
    if cloud.provider == "slurm":
        made[Domain.CLOUD] = _jobs(
            Domain.CLOUD, "slurm", {}, reached, cloud.seen_as or address, directory, cloud.partition, site
        )
        return made
    words = [cloud.whesl] if cloud.whesl else [shlex.quote(sys.executable), "-m whesl"]
    seen = shlex.quote(cloud.seen_as or address).replace("{", "{{").replace("}", "}}")
    words += [f"cloud worker --store {seen} --poll {max(0.05, site.poll / 5):g}"]
    words += ["--executor {executor} --ends {ends}"]
    if cloud.provider == "ec2" and cloud.ec2 is not None:
        words += [f"--region {shlex.quote(region)}"]
        words += [f"--endpoint {shlex.quote(endpoint)}"] if endpoint else []
    provider = provider_of(cloud, directory / "instances", platforms)
    made[Domain.CLOUD] = ProviderSide(provider, reached, run=run, command=" ".join(words))
    return made


def provider_of(cloud: Cloud, directory: Path, platforms: tuple[Platform, ...]) -> Provider:
    """Return the provider that the settings name.

    Args:
        cloud: the cloud's settings.
        directory: default directory of instances that are processes.
        platforms: platforms with the prices of instances that are processes.

    Raises UsageError for a provider without instances.
    """
    if cloud.provider == "ec2" and cloud.ec2 is not None:
        from whesl.cloud.providers.ec2 import Ec2Provider

        return Ec2Provider(cloud.ec2)
    if cloud.provider != "processes":
        raise UsageError(f"{cloud.provider or 'no cloud'} has no instances", hint="processes or ec2")
    from whesl.cloud.providers.processes.provider import ProcessProvider

    given = cloud.processes
    settings = ProcessSettings(
        **{name: getattr(given, name) for name in Chosen.__struct_fields__},
        prices=tuple(Offer(kind=one.name, market=Market.ON_DEMAND, hourly=one.price) for one in platforms),
    )
    return ProcessProvider(Path(given.directory or directory), settings)


def _jobs(
    domain: Domain,
    name: str,
    options: dict[str, str],
    store: Store,
    seen_as: str,
    directory: Path,
    partition: str,
    site: Site,
    demands: Demands = Demands(),  # noqa: B008 - frozen
) -> SchedulerSide:
    from whesl.managers import resource

    logs = directory / "logs"
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    script = directory / f"executor-{domain.value}.sh"
    worker = shlex.join([sys.executable, "-m", "whesl", "cloud", "worker", "--store", seen_as])
    given = f'--poll {max(0.05, site.poll / 5):g} --executor "$1" --seconds "$2"'
    file_retry.write(script, f"#!/bin/sh\nexec {worker} {given}\n".encode(), 0o700)
    scheduler = resource.scheduler(name, **options)
    return SchedulerSide(
        domain, scheduler, store, script=script, partition=partition, logs=logs, demands=demands
    )
