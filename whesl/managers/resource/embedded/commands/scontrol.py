"""scontrol: show and change jobs and nodes."""

from __future__ import annotations

import os
import sys
import time

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import formats, options
from whesl.managers.resource.embedded.environment import file_name
from whesl.managers.resource.embedded.protocol import NodeView
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Settings
from whesl.managers.resource.launcher_shims.launcher_options import Table
from whesl.model.errors import RefusedError, UsageError
from whesl.model.hostlist import compress

OPTIONS = Table(
    "all/a clusters/M= details/d federation/F future help/h hide local oneliner/o quiet/Q usage "
    "verbose/v version/V"
)


def run(arguments: list[str]) -> int:
    """Carry out one scontrol command."""
    found, words = options.parse(OPTIONS, arguments, permute=False)
    one_line = "oneliner" in dict(found)
    # scontrol's own options may also follow the words of its command.
    later, words = options.parse(OPTIONS, words)
    one_line = one_line or "oneliner" in dict(later)
    if not words:
        raise UsageError("no command given: show, update, requeue, hold or release")
    verb, rest = words[0].lower(), words[1:]
    cluster = Cluster.of(os.environ)
    if verb == "show":
        return _show(cluster, rest, one_line)
    if verb == "update":
        return _update(cluster, rest)
    if verb == "requeue":
        return _each(rest, lambda job: cluster.call(protocol.Requeue(job=job)))
    if verb in ("hold", "uhold"):
        return _each(rest, lambda job: cluster.call(protocol.UpdateJob(job=job, held=True)))
    if verb == "release":
        return _each(rest, lambda job: cluster.call(protocol.UpdateJob(job=job, held=False, begin=0.0)))
    raise UsageError(f"invalid keyword: {words[0]}")


def _each(references: list[str], act: object) -> int:
    assert callable(act)
    failed = 0
    for reference in ",".join(references).split(","):
        try:
            act(reference.removeprefix("jobid="))
        except RefusedError as error:
            sys.stderr.write(f"{error.message} for job {reference}\n")
            failed = 1
    return failed


# Showing ------------------------------------------------------------------------------------------------


def _show(cluster: Cluster, words: list[str], one_line: bool) -> int:
    if not words:
        raise UsageError("too few arguments for keyword:show")
    kind, names = words[0].lower(), words[1:]
    if kind in ("hostnames", "hostname"):
        listed = names[0] if names else os.environ.get("SLURM_JOB_NODELIST", "")
        sys.stdout.write("".join(f"{name}\n" for name in options.node_names(listed)))
        return 0
    if kind in ("job", "jobs", "jobid"):
        return _show_jobs(cluster, names, one_line)
    answer = cluster.ask(protocol.ListNodes(), protocol.Nodes)
    if kind in ("node", "nodes"):
        return _show_nodes(answer, names, one_line)
    raise UsageError(f"invalid entity: {words[0]} for keyword:show")


def _show_jobs(cluster: Cluster, names: list[str], one_line: bool) -> int:
    references = tuple(name for word in names for name in word.removeprefix("jobid=").split(","))
    answer = cluster.ask(protocol.ListJobs(jobs=references), protocol.Jobs)
    now = time.time()
    found = [job for job in answer.jobs if formats.recent(job, now)]
    if references and not found:
        sys.stderr.write("slurm_load_jobs error: Invalid job id specified\n")
        return 1
    if not found:
        sys.stdout.write("No jobs in the system\n")
    for job in found:
        _write(_job_lines(job, now, answer.shadows.get(job.id, 0.0)), one_line)
    return 0


def _job_lines(job: Job, now: float, shadow: float) -> list[str]:
    spec = job.spec
    output = spec.output or ("slurm-%A_%a.out" if job.array_task is not None else "slurm-%j.out")
    standard_output = file_name(output, job, node=job.batch_host)
    error = file_name(spec.error, job, node=job.batch_host) if spec.error else standard_output
    array = f" ArrayJobId={job.array_job} ArrayTaskId={job.array_task}" if job.array_task is not None else ""
    tasks = sum(share.tasks for share in job.shares) or spec.tasks or formats.node_count(job)
    cpus, count = formats.cpu_count(job), formats.node_count(job)
    begun = formats.stamp(job.started or shadow or (job.begin if job.begin > now else 0.0), "Unknown")
    priority = 0 if job.held else 2**32 - 65536 - job.id
    return [
        f"JobId={job.id}{array} JobName={spec.name}",
        f"UserId={spec.user}({spec.uid}) GroupId={spec.user}({spec.gid}) MCS_label=N/A",
        f"Priority={priority} Nice=0 Account={spec.account or '(null)'} QOS=(null)",
        f"JobState={job.state.value} Reason={job.reason} Dependency={formats.dependency(job) or '(null)'}",
        f"Requeue={int(job.requeue)} Restarts={job.restarts} BatchFlag={int(not spec.interactive)} Reboot=0 "
        f"ExitCode={job.exit_code}:{job.exit_signal}",
        f"RunTime={formats.long_duration(formats.elapsed(job, now))} "
        f"TimeLimit={formats.limit(job, formats.long_duration)} TimeMin=N/A",
        f"SubmitTime={formats.stamp(job.submitted)} "
        f"EligibleTime={formats.stamp(max(job.eligible, job.begin))}",
        f"AccrueTime={formats.stamp(job.submitted)}",
        f"StartTime={begun} EndTime={formats.stamp(formats.end_time(job), 'Unknown')} Deadline=N/A",
        "SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Backfill",
        f"Partition={job.partition} AllocNode:Sid={spec.submit_host}:0",
        f"ReqNodeList={compress(spec.nodelist) or '(null)'} ExcNodeList={compress(spec.exclude) or '(null)'}",
        f"NodeList={formats.node_list(job)}",
        *([f"BatchHost={job.batch_host}"] if job.batch_host else []),
        f"NumNodes={count} NumCPUs={cpus} NumTasks={tasks} CPUs/Task={spec.cpus_per_task} ReqB:S:C:T=0:0:*:*",
        f"TRES=cpu={cpus},node={count},billing={cpus}",
        "Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*",
        f"MinCPUsNode={spec.cpus_per_task} MinMemoryNode=0 MinTmpDiskNode=0",
        "Features=(null) DelayBoot=00:00:00",
        f"OverSubscribe={'NO' if spec.exclusive else 'OK'} Contiguous=0 Licenses=(null) Network=(null)",
        f"Command={spec.command or '(null)'}",
        f"WorkDir={spec.workdir}",
        *([f"Comment={job.comment} "] if job.comment else []),
        f"StdErr={error}",
        f"StdIn={spec.input or '/dev/null'}",
        f"StdOut={standard_output}",
        "Power=",
    ]


def _show_nodes(answer: protocol.Nodes, names: list[str], one_line: bool) -> int:
    wanted = options.node_names(names[0]) if names else [view.name for view in answer.nodes]
    known = {view.name: view for view in answer.nodes}
    for name in wanted:
        if name not in known:
            sys.stderr.write(f"Node {name} not found\n")
            return 1
        _write(_node_lines(known[name], answer.settings), one_line)
    return 0


def _node_lines(view: NodeView, settings: Settings) -> list[str]:
    base = "IDLE" if view.base == "completing" else view.base.upper()
    flags = ("+COMPLETING" if view.base == "completing" else "") + ("+DRAIN" if view.drain else "")
    state = base + flags + ("" if view.responds else "*" if base == "DOWN" else "+NOT_RESPONDING")
    partitions = ",".join(part.name for part in settings.partitions if view.name in part.nodes)
    lines = [
        f"NodeName={view.name} Arch={os.uname().machine} CoresPerSocket={view.cpus} ",
        f"CPUAlloc={view.allocated} CPUEfctv={view.cpus} CPUTot={view.cpus} CPULoad=N/A",
        "AvailableFeatures=(null)",
        "ActiveFeatures=(null)",
        "Gres=(null)",
        f"NodeAddr=127.0.0.1 NodeHostName={view.name} Version=local",
        "RealMemory=1 AllocMem=0 FreeMem=N/A Sockets=1 Boards=1",
        f"State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A",
        f"Partitions={partitions} ",
        f"BootTime={formats.stamp(view.booted, 'None')} SlurmdStartTime={formats.stamp(view.booted, 'None')}",
        f"CfgTRES=cpu={view.cpus},mem=1M,billing={view.cpus}",
        f"AllocTRES={f'cpu={view.allocated}' if view.allocated else ''}",
    ]
    if view.reason:
        lines.append(f"Reason={view.reason} [{view.reason_user}@{formats.stamp(view.reason_time)}]")
    return lines


def _write(lines: list[str], one_line: bool) -> None:
    if one_line:
        sys.stdout.write(" ".join(line.rstrip() for line in lines) + " \n")
    else:
        sys.stdout.write("\n   ".join(lines) + "\n\n")


# Changing -----------------------------------------------------------------------------------------------


def _update(cluster: Cluster, words: list[str]) -> int:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"Invalid input: {word}")
        pairs[name.lower()] = value
    if "jobid" in pairs:
        return _update_job(cluster, pairs)
    if "nodename" in pairs:
        return _update_node(cluster, pairs)
    raise UsageError("No valid entity in update command: jobid or nodename")


def _update_job(cluster: Cluster, pairs: dict[str, str]) -> int:
    job = pairs.pop("jobid")
    fields: dict[str, object] = {}
    for name, value in pairs.items():
        if name == "comment":
            fields["comment"] = value
        elif name == "requeue":
            fields["requeue"] = value == "1"
        elif name in ("starttime", "eligibletime"):
            fields["begin"] = options.begin_time(value, time.time())
        elif name == "timelimit":
            limit = options.seconds(value)
            fields["time_limit"] = -1.0 if limit is None else limit
        else:
            raise UsageError(f"Update of this parameter is not supported: {name}")
    try:
        cluster.call(protocol.UpdateJob(job=job, **fields))  # type: ignore[arg-type]  # by the branches above
    except RefusedError as error:
        sys.stderr.write(f"{error.message} for job {job}\n")
        return 1
    return 0


def _update_node(cluster: Cluster, pairs: dict[str, str]) -> int:
    names = options.node_names(pairs["nodename"])
    state, reason = pairs.get("state", "").lower(), pairs.get("reason", "")
    if state in ("drain", "down") and not reason:
        sys.stderr.write("You must specify a reason when DOWNING or DRAINING a node. Request denied\n")
        return 1
    for name in names:
        try:
            cluster.call(
                protocol.UpdateNode(node=name, state=state, reason=reason, user=os.environ.get("USER", ""))
            )
        except RefusedError as error:
            sys.stderr.write(f"slurm_update error: {error.message}\n")
            return 1
    return 0
