"""One table of all changes that wrapping makes to a job before a rule acts. Pure.

``docs/what-wrapping-changes.md`` is generated from the table. ``whesl check`` and ``whesl run`` report the
rows that concern a script. Tests that run the same job plain and wrapped allow no other differences.
"""

from __future__ import annotations

import re

import msgspec


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One difference between a wrapped job and the same job without WHESL.

    Attributes:
        name: a unique name, for tests.
        what: the difference, as a sentence.
        when: the jobs that the change concerns, as a sentence.
        why: the reason for the change, as a sentence.
        aspects: the globs of the values in which tests see the change (tests/neutrality/records.py).
        script: a regular expression for the lines of a script that the change concerns; "" for no lines.
    """

    name: str
    what: str
    when: str
    why: str
    aspects: tuple[str, ...] = ()
    script: str = ""


CHANGES = (
    Change(
        name="variables",
        what="The script and its programs see more variables, all named `WHESL_...`.",
        when="Always.",
        why="A task looks up its nodes, attempt and configuration in them; WHESL finds its processes by one.",
        aspects=("env:*:WHESL_*",),
    ),
    Change(
        name="path",
        what="`PATH` begins with directories of WHESL; `srun`, `mpirun`, `mpiexec` and `flux` are in them.",
        when="Always; a script that sets `PATH` without its old value loses them.",
        why="A restarted program has to start on the nodes that are left.",
        aspects=("env:*:PATH",),
        script=r"^\s*(?:export\s+)?PATH=(?!.*\$\{?PATH\b)",
    ),
    Change(
        name="comment",
        what="The job's comment is a word `whesl:...`.",
        when="In `whesl run`; for a moment only where the job has a comment, or its script asks for one.",
        why="After a lost reply the job is found by it, so it is not submitted twice.",
        aspects=("job:*:Comment",),
    ),
    Change(
        name="first-line",
        what="The first line of the script names an interpreter of WHESL's; all others are as they were.",
        when="In `whesl run` and `whesl front`.",
        why="The process that the resource manager starts and signals has to be one that knows what to do.",
        aspects=("file:first-line",),
        script=r"\b(?:head|cat|sed|awk|grep)\b.*\$\{?(?:0|BASH_SOURCE)\b",
    ),
    Change(
        name="process-name",
        what="`ps -o comm` names the script's process by its interpreter (`bash`), not by the script.",
        when="As above; some `/etc/profile.d/modules.sh` choose a shell by that name.",
        why="WHESL starts the interpreter itself, since the script's first line names WHESL.",
        aspects=("env:*:BASH_FUNC__module_raw*",),
        script=r"\bps\b.*\bcomm\b|/proc/(?:\$\$|self)/comm\b",
    ),
    Change(
        name="shell-before",
        what="Bash and WHESL run before scripts and launchers, tell what is missing, and drop `SHELLOPTS`.",
        when="Where `LC_ALL` or `LD_PRELOAD` names what the node lacks, or a script exports `SHELLOPTS`.",
        why="The real launcher is looked up, and only bash hands on the functions that bash exports.",
        script=r"\bexport\b.*\bSHELLOPTS\b",
    ),
    Change(
        name="python-home",
        what="`whesl exec` does not start with another `PYTHONHOME`; with `PYTHONVERBOSE` it prints, too.",
        when="In scripts that export such a variable of Python and call `whesl exec` then.",
        why="Python reads these variables before WHESL begins, which sets all others aside for the program.",
        script=r"\bexport\b.*\bPYTHON(?:HOME|VERBOSE|MALLOCSTATS|PROFILEIMPORTTIME)=",
    ),
    Change(
        name="parent",
        what="The script's parent process is one of WHESL's.",
        when="Always; `ps -o comm= -p $PPID` says `whesl`.",
        why="WHESL has to wait for the script's end, and to be there before the script begins.",
        aspects=("file:parent",),
        script=r"\$\{?PPID\b",
    ),
    Change(
        name="searches",
        what="`pgrep -f` and `pkill -f` find processes of WHESL's that name the script or its job, too.",
        when="In scripts that look for themselves, or kill by their job's name; `pkill python` spares WHESL.",
        why="WHESL's processes find the task's files by their command lines.",
        script=r"\bp(?:grep|kill)\b.*\s-\w*f",
    ),
    Change(
        name="group",
        what="The command of `whesl exec` leads a process group of its own; its `kill 0` spares the script.",
        when="In scripts that call `whesl exec`.",
        why="A signal that comes to WHESL's process is told from one that came to the command, too.",
        aspects=("file:*facts/session",),
    ),
    Change(
        name="cannot-be-run",
        what="Of a command that is not there or cannot be run WHESL tells, not the script's shell.",
        when="In scripts that call `whesl exec`; the status is 127 or 126, as a shell's.",
        why="WHESL starts the command.",
    ),
    Change(
        name="command-killed",
        what="A command whose `whesl exec` is killed (SIGKILL, `timeout -k`) runs on until the script ends.",
        when="In scripts that call `whesl exec`.",
        why="No program depends on WHESL's processes; the same call finds its task again.",
        script=r"\btimeout\b.*(?:-k|--kill-after|KILL|-9)\b.*\bwhesl\s+exec\b",
    ),
    Change(
        name="closed-streams",
        what="A standard stream that is closed (`<&-`, `>&-`) is the null device to the command.",
        when="In scripts that call `whesl exec`.",
        why="Files that WHESL opens would take the stream's number.",
        script=r"\bwhesl\s+exec\b.*[<>]&-",
    ),
    Change(
        name="ignored-signals",
        what="SIGPIPE and SIGXFSZ end a command whose caller ignores them and is no shell.",
        when="In scripts that call `whesl exec` by `env --ignore-signal`, or by `exec` after `trap '' PIPE`.",
        why="Python ignores both in WHESL's process; only of a shell that waits it is known what it ignores.",
        script=r"\benv\b.*--ignore-signal.*\bwhesl\s+exec\b",
    ),
    Change(
        name="killed",
        what="A job's script that is killed by a signal takes all processes of its task along.",
        when="On a cluster with `proctrack/linuxproc` or `proctrack/pgid`, which let some of them run on.",
        why="Nothing of a task may outlive its job.",
    ),
    Change(
        name="left-behind",
        what="Slurm does not kill what a script has left running in its process group when it ends.",
        when="On a cluster with `ProctrackType=proctrack/pgid` (`whesl doctor` warns of it).",
        why="Slurm knows the process group of WHESL's process, and the script leads another one.",
    ),
    Change(
        name="runs-again",
        what="A job that runs again appends to its output instead of emptying it.",
        when="In `whesl run`, where neither `--open-mode` nor an older file of that name says otherwise.",
        why="What a lost run has printed would be lost with it.",
        aspects=("rerun:*",),
    ),
    Change(
        name="passed-on",
        what="WHESL copies a program's output: it sees no terminal, and gets SIGPIPE once nobody reads.",
        when="Where the output is no file: in jobs of Flux; `whesl exec` at a terminal or in a pipe.",
        why="Rules are judged on the files, and a slow reader does not hold the program up.",
        script=r"\bwhesl\s+exec\b.*[^|]\|(?!\|)",
    ),
    Change(
        name="appends",
        what="A program that truncates its standard output, or seeks in it, writes on at the file's end.",
        when="Where a shell's `>` opened the output file of `whesl exec`; Slurm opens its files so itself.",
        why="Each attempt appends to the output of the one before.",
    ),
    Change(
        name="memory-limit",
        what="`ulimit -m` (RLIMIT_RSS, which Linux does not enforce) is a large number, not `unlimited`.",
        when="Always.",
        why="The kernel hands this mark on to each process of an attempt, also without its environment.",
        aspects=("file:*facts/limits",),
        script=r"\bulimit\s+(?:-\S*\s+)*-\w*[am]\b",
    ),
    Change(
        name="agents",
        what="The job has one more step, named `whesl-...`; the script's later ones are counted behind it.",
        when="In jobs of several nodes with rules: after the first step; at once where they act on nodes.",
        why="An agent on each other node finds the processes of an attempt, and tells that its node lives.",
        aspects=("agents:*",),
        script=r"SLURM_JOB_?ID\}?\.\d",
    ),
    Change(
        name="flux-inside",
        what="A Flux instance in the job starts what `srun` asks for: Slurm accounts for its one step alone.",
        when="In Slurm jobs of several nodes where `flux` is on PATH, unless `--inner slurm` is given.",
        why="A step starts sooner, and on the nodes that are left.",
        aspects=("env:*:FLUX_*",),
        script=r"\bsacct\b|FLUX_URI\b",
    ),
)


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table that concerns a script.

    Attributes:
        change: the row.
        line: the script's line number, from 1.
    """

    change: Change
    line: int

    def sentence(self, path: str) -> str:
        """Return the sentence about the change for the user.

        Args:
            path: the script's path.
        """
        return f"{path}:{self.line} meets what WHESL changes in a job: {self.change.what} {self.change.why}"


def concerning(text: str) -> tuple[Notice, ...]:
    """Return the rows that concern a script, each once.

    Args:
        text: the script's text.
    """
    lines = [line for line in enumerate(text.splitlines(), 1) if not line[1].lstrip().startswith("#")]
    found = []
    for change in CHANGES:
        pattern = re.compile(change.script) if change.script else None
        if number := next((number for number, line in lines if pattern and pattern.search(line)), 0):
            found.append(Notice(change=change, line=number))
    return tuple(found)


def page() -> str:
    """Return the text of ``docs/what-wrapping-changes.md``."""
    rows = "".join(f"| {one.what} | {one.when} | {one.why} |\n" for one in CHANGES)
    return _PAGE.format(rows=rows)


_PAGE = """\
# What wrapping changes

Until a rule acts, a job under `whesl run`, `whesl exec` or `whesl exec --observe` does what it does without
WHESL: its script sees the same, gets the same signals, and ends in the same way. These are all differences.
The tests run some hundred jobs side by side, plain and wrapped, and allow no others
([testing](testing.md#plain-and-wrapped)). `whesl check --workflow` and `whesl run` name the line of a script
that meets one.

| what differs | when | why |
| --- | --- | --- |
{rows}
<!-- Written by `python -m tests.neutrality --page` from whesl/managers/workflow/wrapping_changes.py. -->
"""
