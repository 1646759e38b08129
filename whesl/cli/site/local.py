"""``whesl local``: commands for the embedded resource manager."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import click

from whesl.cli.options import PRINT_JSON
from whesl.cli.parameters import argument, option, parameters
from whesl.managers.resource.embedded import daemons, protocol
from whesl.managers.resource.embedded.artificial_wait import FORMS, QueueWait
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import formats, options
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Partition, Settings
from whesl.model.errors import UsageError, WheslError, missing
from whesl.model.hostlist import expand

_PREDICTIONS = click.Path(dir_okay=False, resolve_path=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
@parameters
def local(
    context: click.Context,
    *,
    name: str | None = option(
        None, "The cluster's name; default: WHESL_LOCAL, else 'default'.", "NAME", "--cluster"
    ),
) -> None:
    """Virtual nodes on this machine that queue, run, kill and lose jobs like a cluster."""
    if name is not None and ("/" in name or name in ("", ".", "..")):
        raise UsageError(f"not a cluster's name: {name!r}")
    context.obj = Cluster.of(os.environ, name)


def _check_predictions(path: Path) -> None:
    """Raise an error for a file that is neither a model nor a table, before the cluster starts."""
    try:
        from whesl.placement.site.flux import (
            prediction_source,  # imported only here, since it needs an extra
        )
    except ModuleNotFoundError as error:
        raise missing(error, "--placement", "whesl[predict]") from error
    try:
        prediction_source.read(path)
    except OSError as error:
        raise UsageError(f"--placement {path} cannot be read: {error.strerror or error}") from None
    except WheslError as error:
        raise UsageError(
            f"--placement {path}: {error.message}",
            hint="a model of `whesl placement learn`, or the table of `whesl placement serve`",
        ) from None


def _partition(text: str, nodes: tuple[str, ...]) -> Partition:
    name, _, rest = text.partition(":")
    members, _, longest = rest.partition(":")
    chosen = expand(members) if members else nodes
    if not name or not set(chosen) <= set(nodes):
        raise UsageError(f"not a partition: {text!r}", hint="NAME[:NODES[:MAXTIME]], e.g. debug:n[01-02]:30")
    return Partition(name=name, nodes=chosen, max_time=options.seconds(longest) if longest else None)


@dataclass(frozen=True)
class Wanted:
    """Options of a cluster that is started; None for a setting that does not change."""

    nodes: int | None = option(None, "Number of nodes [4].", "N", least=1, most=999)
    cpus: int | None = option(None, "CPUs of each node [2].", "N", least=1, most=4096)
    queue_wait: str | None = option(None, f"Wait added to each submission, in seconds: {FORMS} [0].", "WAIT")
    seed: int | None = option(None, "Seed of the queue waits [0].", "N")
    policy: str | None = option(None, "Backfilling, or strict order [easy].", choices=("easy", "fcfs"))
    node_timeout: float | None = option(None, "Silence until a node is down [10].", "SECONDS", least=0.5)
    kill_wait: float | None = option(None, "From TERM to KILL [2].", "SECONDS", least=0.0)
    requeue_delay: float | None = option(None, "Hold of a requeued job [120].", "SECONDS", least=0.0)
    partition: tuple[str, ...] = option(
        (), "NAME[:NODES[:MAXTIME]]; the first is the default [main].", "PARTITION"
    )
    whole_nodes: bool | None = option(None, "Jobs always get whole nodes.")
    storage_limit: int | None = option(None, "Largest file written on a node [0: any].", "BYTES", least=0)
    placement: str | None = option(
        None,
        "Jobs take the nodes of least risk: a model or a table of whesl placement.",
        "FILE",
        type=_PREDICTIONS,
    )


@local.command()
@click.pass_obj
@parameters
def start(cluster: Cluster, /, wanted: Wanted) -> None:
    """Start a cluster; without options, as it was before.

    When only its server is missing, only that is started.
    """
    chosen = {name: value for name, value in vars(wanted).items() if value not in (None, ())}
    if "placement" in chosen:
        _check_predictions(Path(chosen["placement"]))
    known = os.path.exists(cluster.join("settings.json"))  # noqa: PTH110  # the room's paths are texts
    settings = None
    if chosen or not known:
        count = chosen.pop("nodes", 4)
        nodes = tuple(f"n{number:0{max(2, len(str(count)))}}" for number in range(1, count + 1))
        texts = chosen.pop("partition", ("main",))
        parts = tuple(_partition(text, nodes) for text in texts)
        name = os.path.basename(cluster.path)  # noqa: PTH119
        settings = Settings(name=name, nodes=nodes, partitions=parts, **chosen)
        QueueWait(settings.queue_wait)
    daemons.start(cluster, settings)
    count = len(cluster.settings().nodes)
    click.echo(f"{count} nodes run in {cluster.path}")
    click.echo('use them with: eval "$(whesl local env)"')


@local.command()
@click.pass_obj
def stop(cluster: Cluster) -> None:
    """Cancel all jobs and end the server and all nodes."""
    daemons.stop(cluster)


@local.command()
@click.pass_obj
def env(cluster: Cluster) -> None:
    """Print what puts its sbatch, srun, ... on a shell's PATH.

    squeue, scancel, sinfo, sacct and scontrol too: eval "$(whesl local env)"
    """
    cluster.settings()
    click.echo(daemons.exports(cluster))


@local.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.pass_obj
@parameters
def submit(
    cluster: Cluster,
    *,
    arguments: tuple[str, ...] = argument(nargs=-1, type=click.UNPROCESSED, required=True),
) -> int:
    """Submit a script, with the options of sbatch."""
    from whesl.managers.resource.embedded.commands import main

    os.environ["WHESL_LOCAL"] = cluster.path
    return main(["sbatch", *arguments])


@local.command()
@click.pass_obj
@parameters
def queue(
    cluster: Cluster,
    *,
    everything: bool = option(False, "Also jobs that have ended.", names="--all"),
    in_json: bool = PRINT_JSON,
) -> None:
    """Show the jobs."""
    answer = cluster.ask(protocol.ListJobs(), protocol.Jobs)
    jobs = [job for job in answer.jobs if everything or not job.state.ended]
    if in_json:
        records = [
            {
                "id": job.label,
                "name": job.spec.name,
                "state": job.state.value,
                "reason": job.reason,
                "nodes": list(job.nodes),
                "lost": list(job.lost),
                "restarts": job.restarts,
                "exit_code": job.exit_code,
                "comment": job.comment,
                "submitted": job.submitted,
                "started": job.started,
                "ended": job.ended if job.state.ended else 0.0,
            }
            for job in jobs
        ]
        click.echo(json.dumps(records, indent=2))
        return
    now = time.time()
    click.echo(f"{'JOB':>8} {'NAME':<20} {'STATE':<11} {'TIME':>10} NODES")
    for job in jobs:
        where = formats.node_list(job) or f"({job.reason})"
        ran = formats.duration(formats.elapsed(job, now))
        click.echo(f"{job.label:>8} {job.spec.name[:20]:<20} {job.state.value:<11} {ran:>10} {where}")


@local.command()
@click.pass_obj
@parameters
def nodes(cluster: Cluster, *, in_json: bool = PRINT_JSON) -> None:
    """Show the nodes."""
    answer = cluster.ask(protocol.ListNodes(), protocol.Nodes)
    if in_json:
        records = [
            {
                "name": view.name,
                "state": formats.node_state(view),
                "cpus": view.cpus,
                "allocated": view.allocated,
                "reason": view.reason,
            }
            for view in answer.nodes
        ]
        click.echo(json.dumps(records, indent=2))
        return
    click.echo(f"{'NODE':<8} {'STATE':<12} {'CPUS':>6} REASON")
    for view in answer.nodes:
        used = f"{view.allocated}/{view.cpus}"
        click.echo(f"{view.name:<8} {formats.node_state(view):<12} {used:>6} {view.reason}")


@local.command("kill-node")
@click.pass_obj
@parameters
def kill_node(cluster: Cluster, *, node: str = argument()) -> None:
    """Crash a node: all on it dies at once, and nobody is told."""
    killed = daemons.kill_node(cluster, node)
    click.echo(f"{node}: {killed} processes killed")


@local.command("start-node")
@click.pass_obj
@parameters
def start_node(cluster: Cluster, *, node: str = argument()) -> None:
    """Bring a crashed node back, empty."""
    daemons.wait_for_nodes(cluster, [node], daemons.start_nodes(cluster, [node]))


@local.command("hang-node")
@click.pass_obj
@parameters
def hang_node(
    cluster: Cluster, *, node: str = argument(), wake: bool = option(False, "Let it go on.")
) -> None:
    """Stop everything on a node without killing it."""
    (daemons.wake_node if wake else daemons.hang_node)(cluster, node)


@local.command()
@click.pass_obj
@parameters
def drain(
    cluster: Cluster, *, node: str = argument(), reason: str = option("drained by hand", "", shown=True)
) -> None:
    """Let a node finish what it runs and take nothing new."""
    cluster.call(
        protocol.UpdateNode(node=node, state="drain", reason=reason, user=os.environ.get("USER", ""))
    )


@local.command()
@click.pass_obj
@parameters
def resume(cluster: Cluster, *, node: str = argument()) -> None:
    """Return a drained node to service."""
    cluster.call(protocol.UpdateNode(node=node, state="resume"))


@local.command()
@click.pass_obj
@parameters
def cancel(cluster: Cluster, *, job: str = argument()) -> None:
    """End a job (5, or 5_2 of an array) for good."""
    cluster.call(protocol.Cancel(job=job))


@local.command()
@click.pass_obj
@parameters
def requeue(
    cluster: Cluster,
    *,
    job: str = argument(),
    at_once: bool = option(False, "Without a hold, also where requeuing is off.", names="--now"),
) -> None:
    """Run a job again under its id."""
    cluster.call(protocol.Requeue(job=job, at_once=at_once))
