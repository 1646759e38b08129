"""Written by `whesl placement install --pbs`. Keeps jobs of PBS off nodes that are predicted to fail.

PBS calls this hook for three events, and no failure of the hook stops a job:

periodic (a process of its own on the server's host): WHESL's policy chooses the nodes at risk for each
    horizon. Each node gets a boolean resource for each horizon, False where jobs of that length leave it out.
queuejob (inside pbs_server): the job's chunks ask for the resource of the job's length, where enough other
    nodes are in service. The hook reads one small file that only the periodic event writes.
execjob_launch (on the job's node): the job's environment names the table of risks, for NODE.REPLACE's choice.
"""

import json
import re
import time
from pathlib import Path

import pbs

STATE = "whesl_placement.json"  # in PBS_HOME/server_priv, to which no other account has access
MOST = 1024 * 1024  # bytes of that file
PLAIN = {"ncpus", "mpiprocs", "ompthreads", "mem"}  # resources by which suitable nodes can be counted
UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


def kibibytes(text):
    """Return a size of PBS, such as 4gb, in KiB. Raises ValueError."""
    found = re.fullmatch(r"(\d{1,15})([kmgtp]?)[bw]?", text.lower())
    if found is None:
        raise ValueError(text)
    return (int(found[1]) << UNITS[found[2]]) >> 10


def counted(select):
    """Return how many nodes a select statement may need, and the most processors and KiB of a chunk.

    Raises ValueError for a statement that names other resources than processors and memory.
    """
    nodes = cpus = memory = 0
    for chunk in select.split("+"):
        words = chunk.split(":")
        count = int(words.pop(0)) if "=" not in words[0] else 1
        asked = dict(word.split("=", 1) for word in words)
        if not set(asked) <= PLAIN:
            raise ValueError(select)
        nodes += count
        cpus = max(cpus, int(asked.get("ncpus", "1")))
        memory = max(memory, kibibytes(asked.get("mem", "0")))
    return nodes, cpus, memory


def chosen(state, select, queue, seconds, now):
    """Return the resource that a job's chunks shall ask for; an empty text for none.

    Args:
        state: what the periodic event has written.
        select: the job's select statement.
        queue: the name of the job's queue.
        seconds: the job's time limit, None for none.
        now: seconds since the epoch.
    """
    if not state["acts"] or not state["written"] - 300 <= now < state["valid_until"]:
        return ""
    try:
        nodes, cpus, memory = counted(select)
    except ValueError:
        return ""
    levels = state["partitions"].get(queue) or state["partitions"].get("_", [])
    level = next((one for one in levels if seconds is not None and seconds <= one["seconds"]), None)
    level = level or (levels[-1] if levels else None)
    if level is None or not level["out"]:
        return ""
    left = sum(free for its, size, free in level["classes"] if its >= cpus and size >= memory)
    return level["resource"] if left >= nodes else ""


def server_file():
    """Return the path of the file that the periodic event writes, beside the directory of PBS's hooks."""
    return Path(pbs.hook_config_filename).parent.parent / STATE


def queue_job(job):
    """Have the chunks of a submitted job ask for the resource of the job's length."""
    asked, seconds = job.Resource_List["select"], job.Resource_List["walltime"]
    queue = str(job.queue or pbs.server().default_queue)
    left_alone = asked is None or str(job.Variable_List.get("WHESL_PLACEMENT", "")) == "off"
    if left_alone or re.match(r"[RSM]\d", queue):  # queues of reservations begin so
        return
    with server_file().open() as file:
        state = json.loads(file.read(MOST))
    limit = None if seconds is None else int(seconds)
    if resource := chosen(state, str(asked), queue, limit, time.time()):
        chunks = str(asked).split("+")
        job.Resource_List["select"] = pbs.select("+".join(f"{chunk}:{resource}=True" for chunk in chunks))


def renew(event, options):
    """Choose the nodes at risk, write what queuejob reads, and set the nodes' resources."""
    out = pbs.ND_OFFLINE | pbs.ND_DOWN | pbs.ND_STALE | pbs.ND_STATE_UNKNOWN | pbs.ND_UNRESOLVABLE
    out |= pbs.ND_STATE_MAINTENANCE | pbs.ND_SLEEP | pbs.ND_PROV | pbs.ND_WAIT_PROV
    vnodes = {name: event.vnode_list[name] for name in event.vnode_list}
    unfit = {}
    try:
        import site

        site.addsitedir(options["packages"])
        from whesl.placement.site.pbs import hook_decisions

        nodes = [
            hook_decisions.Vnode(
                name,
                str(its.resources_available["host"] or name),
                str(its.queue or ""),
                int(its.resources_available["ncpus"] or 0),
                kibibytes(str(its.resources_available["mem"] or "0kb")),
                not int(its.state or 0) & out,
            )
            for name, its in vnodes.items()
        ]
        waiting = [
            hook_decisions.Waiting(
                str(job.Resource_List["select"]),
                str(job.queue.name if hasattr(job.queue, "name") else job.queue),
                int(job.Resource_List["walltime"] or 0),
                float(job.qtime or job.ctime or 0),
            )
            for job in pbs.server().jobs()
            if "whesl_fit_" in str(job.Resource_List["select"]) and job.job_state == pbs.JOB_STATE_QUEUED
        ]
        state, unfit = hook_decisions.decided(options, nodes, waiting, time.time())
        told = json.dumps(state)
    except BaseException as error:
        told = json.dumps({"acts": False, "problem": str(error) or type(error).__name__})
    beside = server_file().with_suffix(".new")
    beside.write_text(told)
    beside.replace(server_file())
    for name, its in vnodes.items():
        for seconds in options["horizons"]:
            resource = f"whesl_fit_{seconds}"
            fit = name not in unfit.get(resource, ())
            if str(its.resources_available[resource]) not in (str(fit), str(int(fit))):
                its.resources_available[resource] = fit


def main(event):
    """Do what the event asks for."""
    if event.type == pbs.QUEUEJOB:
        queue_job(event.job)
        return
    options = json.loads(Path(pbs.hook_config_filename).read_text())
    if event.type == pbs.PERIODIC:
        renew(event, options)
    elif options["table"] and "WHESL_PLACEMENT" not in event.env:
        event.env["WHESL_PLACEMENT"] = options["table"]


if hasattr(pbs, "event"):
    try:
        main(pbs.event())
    except BaseException as error:  # a failure leaves the job as it was
        pbs.logmsg(pbs.LOG_WARNING, f"whesl placement: {type(error).__name__}: {error}")
    pbs.event().accept()
