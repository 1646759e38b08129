"""Reads the output of squeue, sacct, sinfo and scontrol. Pure: text in, records out.

The ASCII unit separator follows each field, because names and comments are free text, which may hold anything
that a user types, a newline included.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

import msgspec

from whesl.managers.resource.port import JobRecord, NodeRecord, Suspended
from whesl.managers.resource.slurm.states import job_state, node_state, reason_text
from whesl.model import hostlist
from whesl.model.errors import CouldNotObserveError
from whesl.model.states import JobState

SEPARATOR = "\x1f"
# The mark before the token in a job's comment, which tells tokens from other programs' comments.
MARK = "whesl:"
_REMARK = " [whesl] "  # the mark before each task's line in a job's comment
_LONGEST_COMMENT = 1000
_NO_HOST = ("n/a", "N/A", "(null)")

_JOB_FIELDS = (
    "JobArrayID",
    "JobID",
    "State",
    "Reason",
    "NodeList",
    "BatchHost",
    "SubmitTime",
    "StartTime",
    "EndTime",
    "RestartCnt",
    "exit_code",
    "Name",
    "Comment",
)
_NODE_FIELDS = ("NodeList", "StateComplete", "Reason")
_ADDRESS_FIELDS = ("NodeList", "NodeAddr", "Port")
_STEP_FIELDS = ("StepID", "StepName")
_ACCOUNTING_FIELDS = (
    "JobID",
    "State",
    "NodeList",
    "Submit",
    "Start",
    "End",
    "ExitCode",
    "JobName",
    "Comment",
)

_SUSPENSION = re.compile(
    r"^JobId=.*? JobState=(?P<state>\w+) .*? StartTime=(?P<start>\d+) .*?"
    r" SuspendTime=(?P<at>\w+) SecsPreSuspend=(?P<ran>\d+)",
    re.MULTILINE,
)
# Each begins a line, as no value does that a user has chosen.
_PLACE_FIELDS = tuple(
    re.compile(rf"^ +{field}=(\S+)", re.MULTILINE)
    for field in ("NodeList", "BatchHost", r"Requeue=\d+ Restarts")
)

# squeue prints a field whole only with a suffix and without a width.
JOB_FORMAT = ",".join(f"{field}:{SEPARATOR}" for field in _JOB_FIELDS)
NODE_FORMAT = ",".join(f"{field}:{SEPARATOR}" for field in _NODE_FIELDS)
ADDRESS_FORMAT = ",".join(f"{field}:{SEPARATOR}" for field in _ADDRESS_FIELDS)
STEP_FORMAT = ",".join(f"{field}:{SEPARATOR}" for field in _STEP_FIELDS)
ACCOUNTING_FORMAT = ",".join((*_ACCOUNTING_FIELDS, "SubmitLine"))


class Place(msgspec.Struct, frozen=True):
    """A job's nodes and batch host in Slurm's own notation, and its number of requeues."""

    nodes: str
    batch_host: str
    restarts: str


def comment_for(token: str, text: str = "") -> str:
    """Return a job's comment with a token and, after the token, a text.

    Args:
        token: the submission's token.
        text: the text after the token.
    """
    return f"{MARK}{token} {text}".rstrip()


def token_of(comment: str) -> str:
    """Return the token in a job's comment, empty for a comment without one."""
    first = comment.split(maxsplit=1)[:1]
    return first[0][len(MARK) :] if first and first[0].startswith(MARK) else ""


def remarked(comment: str, task: str, text: str) -> str:
    """Return a job's comment with a task's line at its end; empty when the comment would become too long.

    Args:
        comment: the present comment: a token, the owner's own text, lines on other tasks.
        task: the id of the task, whose earlier line is replaced.
        text: the line, which begins with the task's id.
    """
    head, *lines = f" {comment}".split(_REMARK)
    kept = [line for line in lines if not line.startswith(f"{task} ")]
    made = _REMARK.join([head, *kept, " ".join(text.split())])[1:]
    return made if len(made) <= _LONGEST_COMMENT else ""


def jobs(output: str, asked: Collection[str] = ()) -> list[JobRecord]:
    """Return the records of ``squeue -h -r -O JOB_FORMAT``. Raises CouldNotObserveError for garbage.

    The id of an array's element is ``12_3``, or the element's own job id where the caller asked for that.

    Args:
        output: squeue's output.
        asked: the ids that the caller asked for.
    """
    found = []
    for fields in rows(output, len(_JOB_FIELDS), "squeue"):
        record, own = _job(fields), fields[1]
        named = own in asked and own != record.id.partition("_")[0]
        if not named or record.id in asked:
            found.append(record)
        if named:
            found.append(msgspec.structs.replace(record, id=own))
    return found


def nodes(output: str) -> list[NodeRecord]:
    """Return the records of ``sinfo -h -N -O NODE_FORMAT``, each node once."""
    found: dict[str, NodeRecord] = {}  # by name: sinfo prints a line for each partition of a node
    for name, state, reason in rows(output, len(_NODE_FIELDS), "sinfo"):
        if len(hosts_of(name, "sinfo")) != 1:
            raise _garbage("sinfo", name)
        text = "" if reason == "none" else reason
        found[name] = NodeRecord(name=name, state=node_state(state), raw_state=state, reason=text)
    return list(found.values())


def addresses(output: str) -> dict[str, tuple[str, int]]:
    """Return the address and port of each node's slurmd, from ``sinfo -h -N -O ADDRESS_FORMAT``."""
    return {
        name: (address, int(port))
        for name, address, port in rows(output, len(_ADDRESS_FIELDS), "sinfo")
        if address and port.isdecimal()
    }


def steps(output: str) -> dict[str, list[str]]:
    """Return the ids of a job's steps by name, from ``squeue -h -s -O STEP_FORMAT``."""
    found: dict[str, list[str]] = {}
    for step_id, name in rows(output, len(_STEP_FIELDS), "squeue -s"):
        found.setdefault(name, []).append(step_id)
    return found


class RunningStep(msgspec.Struct, frozen=True):
    """A running step: id and name, the host and process id of its launcher, and the step's nodes."""

    id: str
    name: str
    host: str
    pid: int
    nodes: tuple[str, ...]


def running_steps(output: str) -> list[RunningStep]:
    """Return a job's steps that launchers have started, from ``scontrol -o show step JOB``."""
    found = []
    for line in output.splitlines():
        fields = dict(word.partition("=")[::2] for word in line.split())
        host, _, pid = fields.get("SrunHost:Pid", "").rpartition(":")
        if pid.isdecimal() and int(pid) and (step := fields.get("StepId")):
            nodes = hosts_of(fields.get("NodeList", ""), "scontrol show step")
            found.append(RunningStep(step, fields.get("Name", ""), host, int(pid), nodes))
    return found


def place(output: str, job_id: str) -> Place | None:
    """Return the place of a job from ``scontrol show job``; None where the job has no nodes.

    Args:
        output: scontrol's output, which for some ids lists other elements of a job array, too.
        job_id: the job's own id.
    """
    for block in output.split("\n\n"):
        if block.split()[:1] != [f"JobId={job_id}"]:
            continue
        nodes, batch_host, restarts = (
            found[1] if (found := field.search(block)) else "" for field in _PLACE_FIELDS
        )
        if not restarts:
            raise _garbage("scontrol show job", block)
        if hosts_of(nodes, "scontrol show job"):
            return Place(nodes=nodes, batch_host=batch_host, restarts=restarts)
    return None


def suspension(output: str) -> Suspended:
    """Return a job's suspension from ``scontrol -o show job``, with times as seconds since the epoch.

    ``SuspendTime`` is the time of the last suspension or resumption, ``SecsPreSuspend`` the seconds that the
    job had run until then (Slurm's ``pre_sus_time``), both by slurmctld's clock.
    """
    found = list(_SUSPENSION.finditer(output))
    if not found:
        raise _garbage("scontrol show job", output)
    present = any(match["state"] == "SUSPENDED" for match in found)
    seconds = (int(m["at"]) - int(m["start"]) - int(m["ran"]) for m in found if m["at"].isdecimal())
    # SuspendTime is the begin of the suspension while the job is suspended.
    return Suspended(present, float(max(0, *seconds, 0)))


def output_files(output: str, job_id: str) -> tuple[str, ...]:
    """Return the paths of a job's standard output and error from ``scontrol show job``, each file once.

    A pattern that scontrol does not expand (``%N``) stays in the path, which names no file then.

    Args:
        output: scontrol's output, which for a job array's id lists all elements.
        job_id: the id of the job, or of the array's element (``12_3``).
    """
    for block in output.split("\n\n"):
        lines = [line.lstrip() for line in block.strip("\n").split("\n")]
        words = dict(word.partition("=")[::2] for word in lines[0].split())
        element = f"{words.get('ArrayJobId', '')}_{words.get('ArrayTaskId', '')}"
        if job_id in (words.get("JobId"), element):
            named = [line.partition("=")[2] for line in lines if line.startswith(("StdOut=/", "StdErr=/"))]
            return tuple(dict.fromkeys(named))
    return ()


def settings(output: str) -> dict[str, str]:
    """Return the cluster's settings by name, from ``scontrol show config``."""
    return {
        name.strip(): value.strip()
        for name, mark, value in (line.partition("=") for line in output.splitlines())
        if mark
    }


def accounted(output: str) -> list[JobRecord]:
    """Return the records of ``sacct -n -p -X --delimiter SEPARATOR`` with ACCOUNTING_FORMAT.

    Where a site does not store comments (AccountingStoreFlags), the token is read from the submit line. A job
    that gave nodes back has a row for each of its sizes; only the last row has the job's end.
    """
    records = []
    for fields in rows(output, len(_ACCOUNTING_FIELDS) + 1, "sacct"):
        job_id, state, hosts, submitted, started, ended, status, name, comment, line = fields
        if state == "RESIZING":
            continue
        record = JobRecord(
            id=job_id,
            token=token_of(comment) or next(filter(None, map(token_of, _comments(line))), ""),
            name=name,
            state=job_state(state),
            raw_state=state,
            nodes=() if hosts == "None assigned" else hosts_of(hosts, "sacct"),
            exit_code=_exit_code(status, "sacct"),
            submitted=_time(submitted),
            started=_time(started),
            ended=_time(ended),
        )
        records.append(_settled(record))
    return records


def _comments(submit_line: str) -> Iterator[str]:
    for argument in submit_line.split():
        if argument.startswith("--comment="):
            yield argument.removeprefix("--comment=").strip("'\"")


def _job(fields: list[str]) -> JobRecord:
    (
        array_id,
        job_id,
        state,
        reason,
        hosts,
        batch,
        submitted,
        started,
        ended,
        restarts,
        status,
        name,
        comment,
    ) = fields
    if not job_id.isdecimal() or not restarts.isdecimal():
        raise _garbage("squeue", " ".join((job_id, restarts)))
    node_list = hosts_of(hosts, "squeue")
    batch_host = "" if batch in _NO_HOST else batch
    record = JobRecord(
        id=array_id if "_" in array_id else job_id,
        token=token_of(comment),
        name=name,
        state=job_state(state),
        raw_state=state,
        reason=reason_text(reason),
        nodes=node_list,
        batch_host=batch_host,
        # With --no-kill, Slurm lets a job run on without its script when the batch host is lost.
        batch_host_lost=job_state(state) is JobState.RUNNING
        and bool(batch_host)
        and batch_host not in node_list,
        suspended=state in ("SUSPENDED", "STOPPED"),
        restarts=int(restarts),
        exit_code=_exit_code(status, "squeue"),
        submitted=_time(submitted),
        started=_time(started),
        ended=_time(ended),
    )
    return _settled(record)


# Signal 53 ("ExitCode=0:53"): slurmstepd could not open the script's output or error file
# (slurmstepd_job.c, io.c).
_NO_OUTPUT = 53
_NO_OUTPUT_WORDS = (
    "Slurm could not open the job's output or error file, so its script was not begun (0:53):"
    " look whether the directory is there, and may be written, on the job's first node"
)


def _settled(record: JobRecord) -> JobRecord:
    """Return a record without Slurm's forecasts: the end and exit status of a job that has not ended.

    A job that ended before its script began, because its output file could not be opened, gets that as its
    reason.
    """
    if record.state.ended and record.exit_code == -_NO_OUTPUT:
        return msgspec.structs.replace(
            record, raw_state=f"{record.raw_state}: {_NO_OUTPUT_WORDS}", exit_code=1
        )
    if record.state.ended:
        return record
    started = record.started if record.state in (JobState.RUNNING, JobState.COMPLETING) else 0.0
    return msgspec.structs.replace(record, exit_code=None, ended=0.0, started=started)


def _exit_code(status: str, command: str) -> int:
    """Return Slurm's exit status as subprocess does: negative for a signal.

    squeue prints a wait status up to 22.05, and ``code:signal`` since 23.02; sacct always prints the latter.
    """
    code, colon, signal = status.partition(":")
    if not colon and status.isascii() and status.isdecimal():
        code, signal = str(int(status) >> 8 & 0xFF), str(int(status) & 0x7F)
    if not all(part.isascii() and part.isdecimal() for part in (code, signal)):
        raise _garbage(command, status)
    return -int(signal) if int(signal) else int(code)


def _time(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0  # 0.0 for N/A, Unknown, None


def hosts_of(text: str, command: str) -> tuple[str, ...]:
    """Return the nodes of a list in Slurm's notation. Raises CouldNotObserveError for another text.

    Args:
        text: the list, such as ``n[01-03],n07``; Slurm's words for no nodes, such as ``(null)``, give none.
        command: the command that printed it, for the message.
    """
    if text in ("(null)", "n/a", "N/A", "None"):
        return ()
    try:
        return hostlist.expand(text)
    except ValueError:
        raise _garbage(command, text) from None


def rows(output: str, width: int, command: str) -> Iterable[list[str]]:
    """Return the rows, of ``width`` fields, that a command printed for ``-O`` with ``SEPARATOR``.

    Args:
        output: what it printed, without a heading; ``SEPARATOR`` ends each field, also a row's last.
        width: the number of fields in a row.
        command: the command's name, for the message.

    Raises CouldNotObserveError, while the rows are read, for another output.
    """
    fields = output.split(SEPARATOR)
    if fields[-1].strip() or (len(fields) - 1) % width:
        raise _garbage(command, output)
    for start in range(0, len(fields) - 1, width):
        row = fields[start : start + width]
        if start and not row[0].startswith("\n"):
            raise _garbage(command, row[0])
        yield [row[0].removeprefix("\n"), *row[1:]]


def _garbage(command: str, text: str) -> CouldNotObserveError:
    return CouldNotObserveError(
        f"{command} printed something that is not understood: {text[:120]!r}",
        hint="Slurm 22.05 or newer is needed; check that the command in front on PATH is Slurm's own",
    )
