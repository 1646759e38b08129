"""The workflow under chaos: batch scripts with dependencies, their rules, and what has to come out."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from tests import limits
from tests.chaos.programs import work

PROGRAM = Path(work.__file__)
RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE RESOURCE JOB[REPLACE, CHECKPOINT]

# A node is lost: a spare takes its place; without one the same job runs again, once.
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [prepare-*, solve-*, analyse-*, summary-*] LIMIT 30 ELSE ESCALATE
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE {{"expires": 20}}

# The same, but this task is to give up, visibly, at the second loss.
DECLARE EXCEPTION FRAGILE JOB_LEVEL JOB [fragile-*] LIMIT 1 ELSE FAIL
EXCEPTION DETECTION FRAGILE NODE DOWN
EXCEPTION RECOVERY STEP FRAGILE JOB NODE.REPLACE {{"expires": 20}}

# A node is predicted to fail, truly or not: when the state is written, a spare takes its place.
DECLARE EXCEPTION DYING JOB_LEVEL JOB [prepare-*, solve-*, analyse-*, summary-*] LIMIT 60 ELSE FAIL
EXCEPTION DETECTION DYING PREDICTED CONFIDENCE 0.5
EXCEPTION RECOVERY STEP DYING JOB JOB.CHECKPOINT {{
    "trigger": "{ledger}/${{step}}.now", "written": "{ledger}/${{step}}.written", "timeout": 20
}}
EXCEPTION RECOVERY STEP DYING JOB NODE.REPLACE BEFORE FAILURE {{"expires": 20}}

# A rank is stopped, or waits for one that cannot be reached.
DECLARE EXCEPTION HANG JOB_LEVEL JOB [*] LIMIT 60 ELSE FAIL
EXCEPTION DETECTION HANG LOG "cycle = " stdout TIMEOUT {silence:.0f} WARMUP {silence:.0f}
EXCEPTION RECOVERY STEP HANG JOB JOB.REPLACE

# A rank lost another one, srun met no slurmctld, somebody killed the program: from the checkpoint.
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [*] LIMIT 60 ELSE FAIL
EXCEPTION DETECTION CRASH EXIT ANY
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE

# The disk is full: the work goes on elsewhere, and so does that of all dependents.
DECLARE EXCEPTION DISKFULL WORKFLOW_LEVEL JOB [*] LIMIT 20 ELSE FAIL
EXCEPTION DETECTION DISKFULL LOG "No space left on device" stdout
EXCEPTION RECOVERY STEP DISKFULL JOB FILESYSTEM.REPLACE {{
    "filesystem": ["{relief}", "{last}"], "defaultpath": "{scratch}", "min_free": 2000000
}}
"""
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={ranks}
#SBATCH --ntasks={ranks}
#SBATCH --time=60
#SBATCH --open-mode=append
#SBATCH --output={logs}/{name}.out
{launch}{python} {program} --task {name} --cycles {cycles} --pace {pace} --out {out} \\
    --ledger {ledger} --hub "$CHAOS_HUB" --job "$SLURM_JOB_ID" {more}
"""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One task: ``after`` are the names of those whose results it reads."""

    name: str
    ranks: int
    cycles: int
    after: tuple[str, ...] = ()

    @property
    def fragile(self) -> bool:
        """Whether its specification asks for a visible failure at its second loss of a node."""
        return self.name.startswith("fragile-")

    @property
    def sheds(self) -> bool:
        """Whether its ranks write over their environment: each second of those with several ranks."""
        return self.ranks > 1 and int(self.name.rpartition("-")[2]) % 2 == 1


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Directories of a run. The small disks are in ``scratch``, ``relief`` is another, ``last`` is large."""

    root: Path
    disks: int = 4

    @property
    def scratch(self) -> Path:
        """Below it are the small disks."""
        return self.root / "scratch"

    @property
    def small(self) -> tuple[Path, ...]:
        """The disks that the work begins on."""
        return tuple(self.scratch / f"disk{number}" for number in range(self.disks))

    @property
    def relief(self) -> Path:
        """The disk that takes over, and that may be full as well."""
        return self.root / "relief"

    @property
    def last(self) -> Path:
        """The disk that is never full."""
        return self.root / "last"

    @property
    def ledger(self) -> Path:
        """What the tasks say of themselves."""
        return self.root / "ledger"

    @property
    def logs(self) -> Path:
        """The tasks' own output."""
        return self.root / "out"

    @property
    def roots(self) -> tuple[Path, ...]:
        """Where a task's files may stand, below the same relative path."""
        return (self.scratch, self.relief, self.last)

    def relative(self, name: str) -> Path:
        """Return where a task writes, below each of the roots."""
        return Path(f"disk{sum(name.encode()) % self.disks}") / name

    def make(self) -> None:
        """Make all of them, but the disks' file systems."""
        for place in (*self.small, self.relief, self.last, self.ledger / "locks", self.logs):
            place.mkdir(parents=True, exist_ok=True)


def plan(tasks: int, cycles: int) -> tuple[Job, ...]:
    """Return a workflow of so many tasks (at least 6), each of so many cycles.

    One part in five prepares, two in five solve on two nodes each, the rest analyse what two have solved; two
    are fragile, and one sums up.
    """
    prepare = max(1, tasks // 5)
    solve = max(1, tasks * 2 // 5)
    fragile = 2 if tasks >= 10 else 1
    analyse = tasks - prepare - solve - fragile - 1
    jobs = [Job(name=f"prepare-{i}", ranks=1, cycles=cycles // 2) for i in range(prepare)]
    jobs += [
        Job(name=f"solve-{i}", ranks=2, cycles=cycles, after=(f"prepare-{i % prepare}",))
        for i in range(solve)
    ]
    jobs += [Job(name=f"fragile-{i}", ranks=2, cycles=cycles) for i in range(fragile)]
    jobs += [
        Job(
            name=f"analyse-{i}",
            ranks=1,
            cycles=cycles,
            after=tuple(dict.fromkeys((f"solve-{i % solve}", f"solve-{(i + 1) % solve}"))),
        )
        for i in range(analyse)
    ]
    last = tuple(job.name for job in jobs if job.name.startswith("analyse-")) or ("solve-0",)
    return (*jobs, Job(name="summary-0", ranks=1, cycles=max(2, cycles // 4), after=last))


def write(jobs: tuple[Job, ...], places: Places, pace: float) -> tuple[list[str], Path]:
    """Write scripts and rules; return the sources as ``whesl run`` takes them, and the rules' path."""
    sources = []
    for job in jobs:
        inputs = " ".join(f"--input {places.scratch / places.relative(name)}" for name in job.after)
        direct = job.name.startswith("prepare-")
        path = places.root / "scripts" / f"{job.name}.sh"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            SCRIPT.format(
                name=job.name, ranks=job.ranks, logs=places.logs, cycles=job.cycles, pace=pace,
                python=sys.executable, program=PROGRAM, ledger=places.ledger,
                out=places.scratch / places.relative(job.name),
                launch="" if direct else "srun ",
                more=f"{'--alone ' if direct else ''}{'--shed ' if job.sheds else ''}{inputs}".strip(),
            )
        )  # fmt: skip
        sources.append(f"{path}:after={','.join(job.after)}" if job.after else str(path))
    rules = places.root / "rules.esl"
    roots = {"relief": places.relief, "last": places.last, "scratch": places.scratch}
    # An attempt is not to count as hung before its first line, however late a busy machine starts it.
    rules.write_text(RULES.format(**roots, ledger=places.ledger, silence=8 * limits.crowd()))
    return sources, rules


def expected(jobs: tuple[Job, ...], checkpoint: int = 5) -> dict[str, tuple[str, dict[str, bytes]]]:
    """Return each task's final state and the parts of its output by file name, without running it."""
    states: dict[str, str] = {}
    found: dict[str, tuple[str, dict[str, bytes]]] = {}
    for job in jobs:
        state = work.begin_state(job.name, [states[name] for name in job.after])
        parts = {}
        for cycle in range(job.cycles):
            state = work.next_state(state, cycle, job.ranks, job.name)
            if (cycle + 1) % checkpoint == 0 or cycle + 1 == job.cycles:
                parts[f"part-{cycle + 1:04d}"] = work.part(state)
        states[job.name] = state
        found[job.name] = (state, parts)
    return found
