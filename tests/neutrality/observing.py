"""From what a resource manager and a directory show to an outcome without ids, times and places. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from tests.neutrality.records import Outcome
from whesl.model.hostlist import expand

# Fields of ``scontrol show job``: ids, times, what says only when somebody looked, and how it was submitted.
IGNORED = frozenset(
    [
        "JobId",
        "ArrayJobId",
        "HetJobId",
        "HetJobIdSet",
        "Priority",
        "SubmitTime",
        "EligibleTime",
        "AccrueTime",
        "StartTime",
        "EndTime",
        "RunTime",
        "LastSchedEval",
        "Scheduler",
        "SuspendTime",
        "SecsPreSuspend",
        "PreemptTime",
        "PreemptEligibleTime",
        "AllocNode:Sid",
        "ResizeTime",
        "Power",
        "Deadline",
        "SchedNodeList",
        "SubmitLine",  # from 25.11 on; other fields tell what an option that was added does
    ]
)
# Variables whose value is a process, an id, a moment or a place of each run.
VOLATILE = frozenset(
    (
        *("SLURM_TASK_PID", "SLURM_SRUN_COMM_PORT", "SLURM_SRUN_COMM_HOST", "SLURM_STEP_LAUNCHER_PORT"),
        *(
            "SLURM_LAUNCH_NODE_IPADDR",
            "SLURM_JOB_SLUID",
            "SLURM_JOB_START_TIME",
            "SLURM_JOB_END_TIME",
            "SRUN_DEBUG",
            "PPID",
            "RANDOM",
            "_",
        ),
    )
)
# Moments, durations, and what is named after a moment.
_TIMES = (
    (re.compile(r"\b([\w.-]+)_\d{8}-\d{6}(_\d+)?\b"), r"\1_<time>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?"), "<time>"),
    (re.compile(r"/proc/\d+\b"), "/proc/<pid>"),
    (re.compile(r"\b(socket|pipe):\[\d+\]"), r"\1:[<number>]"),
    # The row "passed-on": plain it is a file of the job's where there is one.
    (re.compile(r"<home>/tasks/\S+/attempt-\d+/std(out|err)$", re.M), "socket:[<number>]"),
    (re.compile(r"/tmp/flux-\w{6}/"), "/tmp/flux-<random>/"),
    (re.compile(r"(?m)(: line \d+:) +\d+ "), r"\1 <pid> "),
    (re.compile(r" pid \d+ "), " pid <pid> "),
    (re.compile(r"[A-Z][a-z]{2} \d\d [\d:.]+ UTC \d{4}(?= broker\.)"), "<time>"),
    (re.compile(r"(?m)( Exited \(rc=\d+\)) [\d.]+s$"), r"\1 <time>"),
    (re.compile(r"\b(Queued time|Run time) [\d:-]+"), r"\1 <time>"),
)
# Signals that a process blocks or ignores. Two of them are the C library's own.
_MASK = re.compile(r"(?<=Sig(?:Blk|Ign):\t)[0-9a-f]{16}")
_LIBRARY = 1 << 31 | 1 << 32
# Which cores are free when a job begins is chance.
_CORES = re.compile(r"(?<=Cpus_allowed_list:\t)([\d,-]+)")
# What a shell says of the command that it called, and that died: its words are the command's.
_SHELL = re.compile(r": line \d+: +<pid> .*\./app")
# The numbers of steps are compared where accounting shows them.
_STEP = re.compile(r"(<job [^>]*>)\.\d+\b")
# What srun says where it has to wait, which it may or may not have to.
_WAITED = re.compile(
    r"^srun: .*(temporarily disabled, retrying|Step created for|step creation still disabled)"
)
# Slurm's own lines come whenever they come, between the program's.
_MESSAGE = re.compile(r"^(slurmstepd(-<node [^>]*>|-\S+)?|srun|<time> broker\.\w+\[\d+\]): ")
_FIELD = re.compile(
    r"(?:^| )([A-Z][A-Za-z]*(?:[/:&*][A-Za-z&*/:]*)?|ReqB:S:C:T|NtasksPerN:B:S:C|Socks/Node)="
)


def _cores(found: re.Match[str]) -> str:
    parts = [[int(end) for end in part.split("-")] for part in found[1].split(",")]
    return f"{sum(part[-1] - part[0] + 1 for part in parts)} cores"


def _of_programs(mask: re.Match[str]) -> str:
    return f"{int(mask[0], 16) & ~_LIBRARY:016x}"


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """What is different for each run and stands in texts: its directories, jobs and nodes.

    Attributes:
        directories: paths, the longest first, and what stands for each.
        jobs: ids, and what stands for each.
        nodes: the nodes of each of its jobs, in order.
        pattern: what an id looks like.
        node: what a node's name looks like, ``n01`` or ``n[01-03]``.
    """

    directories: tuple[tuple[str, str], ...]
    jobs: Mapping[str, str]
    nodes: Sequence[Sequence[str]]
    pattern: str = r"(?<!\d)0*(7\d{5})(?!\d)"
    node: str = r"\bn(?:\d\d\b|\[[\d,-]+\])"

    def plain(self, text: str) -> str:
        """Return a text with everything replaced that is a run's own."""
        for path, name in self.directories:
            text = text.replace(path, name)
        for pattern, name in _TIMES:
            text = pattern.sub(name, text)
        text = _CORES.sub(_cores, text)
        text = _MASK.sub(_of_programs, text)
        text = re.sub(self.pattern, lambda found: f"<job {self.jobs.get(found[1], '?')}>", text)
        return re.sub(self.node, self._node, text)

    def _node(self, found: re.Match[str]) -> str:
        return f"<node {','.join(map(self._position, expand(found[0])))}>"

    def _position(self, node: str) -> str:
        places = [nodes.index(node) + 1 for nodes in self.nodes if node in nodes]
        return str(min(places)) if places else "?"


def fields(line: str) -> dict[str, str]:
    """Return the fields of a line of ``scontrol -o show job``.

    A comment is any text, also one that looks like a field: of two fields of a name the first counts.
    """
    found = list(_FIELD.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    values: dict[str, str] = {}
    for match, end in zip(found, ends, strict=True):
        values.setdefault(match[1], line[match.end() : end].strip())
    return values


def labels(jobs: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return what stands for each job's id: the number of its submission, with its element or component."""
    bases = {job.get("ArrayJobId") or job.get("HetJobId") or job["JobId"] for job in jobs}
    order = {base: number for number, base in enumerate(sorted(bases, key=int), 1)}
    found = {base: str(number) for base, number in order.items()}
    for job in jobs:
        if "ArrayTaskId" in job:
            found[job["JobId"]] = f"{order[job['ArrayJobId']]}_{job['ArrayTaskId']}"
        elif "HetJobOffset" in job:
            found[job["JobId"]] = f"{order[job['HetJobId']]}+{job['HetJobOffset']}"
    return found


def _label(job: Mapping[str, str], names: Mapping[str, str]) -> str:
    # The last element of an array to begin keeps the id of the whole.
    if "ArrayTaskId" in job:
        return f"{names[job['ArrayJobId']].partition('_')[0]}_{job['ArrayTaskId']}"
    return names[job["JobId"]]


def outcome(
    jobs: Sequence[Mapping[str, str]],
    steps: Sequence[tuple[str, str, str]],
    files: Mapping[str, bytes],
    delays: Mapping[str, float],
    mails: Sequence[str],
    places: Places,
    submitted: str,
) -> Outcome:
    """Return what became of a run.

    Args:
        jobs: fields of its jobs.
        steps: job id, step and what accounting says of it.
        files: what is in its directory in the end; those named ``environment`` hold variables.
        delays: seconds between what was done to it and a file that it wrote then, by the file's name.
        mails: what was sent to its user.
        places: what is its own.
        submitted: what came of the submission.
    """
    aspects = {"submitted": submitted}
    for job in jobs:
        label = _label(job, places.jobs)
        for name, value in job.items():
            if name not in IGNORED:
                aspects[f"job:{label}:{name}"] = places.plain(value)
        names = expand(job.get("NodeList", "")) if job.get("NodeList", "(null)") != "(null)" else []
        aspects[f"job:{label}:NodeList"] = f"{len(names)} nodes"
        if job.get("BatchHost"):
            aspects[f"job:{label}:BatchHost"] = (
                f"node {names.index(job['BatchHost']) + 1 if job['BatchHost'] in names else '?'}"
            )
    aspects |= _steps(steps, places)
    aspects |= {f"when:{name}": f"{seconds:.1f}" for name, seconds in delays.items()}
    # Slurm empties the output of a job that runs again; it is compared apart.
    again = any(job.get("Restarts", "0") != "0" for job in jobs)
    for path, content in files.items():
        name = places.plain(path)
        if re.search(r"(^|[/.])environment(\.|$)", path):
            for variable, value in _variables(content).items():
                aspects[f"env:{name}:{variable}"] = places.plain(value)
        else:
            lines = places.plain(content.decode("utf-8", "surrogateescape")).split("\n")
            # Flux takes the two streams apart, and writes what it has of each into one file.
            lines = sorted(lines) if name.startswith("flux-") else lines
            told = [line for line in lines if _MESSAGE.match(line) and not _WAITED.match(line)]
            messages = sorted({_STEP.sub(r"\1.<step>", line) for line in told})
            shell = [line for line in lines if _SHELL.search(line)]
            own = again and name.startswith("slurm-")
            aspects[f"rerun:{name}" if own else f"file:{name}"] = "\n".join(
                line for line in lines if not _MESSAGE.match(line) and line not in shell
            )
            aspects |= (
                {f"rerun:messages:{name}" if own else f"messages:{name}": "\n".join(messages)}
                if messages
                else {}
            )
            aspects |= {f"shell:{name}": "\n".join(shell)} if shell else {}
    for number, mail in enumerate(sorted(places.plain(mail) for mail in mails), 1):
        aspects[f"mail:{number}"] = mail
    return Outcome(aspects=aspects)


def _steps(steps: Sequence[tuple[str, str, str]], places: Places) -> dict[str, str]:
    """Return the steps by job, those of WHESL's own apart from the user's, which are counted from 0."""
    aspects: dict[str, str] = {}
    count: Counter[str] = Counter()
    for job_id, step, said in sorted(
        steps, key=lambda one: (one[0], int(one[1]) if one[1].isdigit() else -1)
    ):
        label = places.jobs.get(job_id, "?")
        if said.startswith("whesl-"):
            aspects[f"agents:{label}"] = "a step"
            continue
        name = step
        if step.isdigit():
            name = str(count[label])
            count[label] += 1
        aspects[f"step:{label}:{name}"] = places.plain(said)
    return aspects


def _variables(content: bytes) -> dict[str, str]:
    text = content.decode("utf-8", "surrogateescape")
    found = dict(part.partition("=")[::2] for part in text.split("\0") if part)
    return {name: value for name, value in found.items() if name not in VOLATILE}
