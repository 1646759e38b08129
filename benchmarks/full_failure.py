"""What disks that fill under 20 to 100 % of a workflow's tasks cost, beyond the work that is really lost.

    python benchmarks/full_failure.py [--quick] [--json FILE] [--only WORD]

Ten tasks have the dependencies of the OAI workflow (five stages, two images). Those that are to fail write
to a file system of their own that is really full in the middle of them (tmpfs, ENOSPC). The rules move
each to another file system, in its allocation. The makespan, from the command's begin to the last task's
last instruction, is compared with that of the same scripts given to sbatch with the same dependencies,
without faults and without protection, plus what the failures took from the critical path in work: from the
last checkpoint to the failure, as the tasks' own clocks say.

The part ``10 to 50 tasks`` does the same with 2, 6 and 10 images, each on as many nodes as tasks can be at
work at once; all disks fill in the middle of their tasks, so that up to 20 recoveries come together.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accounting import longest_path, lost_work, pauses, span, unavoidable
from measure import CLUSTERS, Figure, NotHereError, arguments, median, run_parts, scratch, stamps, until

STAGES: dict[str, tuple[str, ...]] = {
    "preprocess": (),
    "segmentation": ("preprocess",),
    "register": ("preprocess",),
    "mesh": ("segmentation",),
    "warp": ("mesh", "register"),
}
IMAGES = 2
SCALES = (2, 6, 10)  # images of the part that grows
SHARES = (20, 40, 60, 80, 100)
NODES = 4  # of each run: as many as tasks can be at work at once
BLOCK = 64 * 1024
PACE = 0.5
CHECKPOINT = 4  # cycles
CYCLES, CYCLES_QUICK = 120, 10  # tasks of one minute, and of five seconds
TARGET = 1.5  # per cent
WORKER = Path(__file__).resolve().with_name("worker.py")
CYCLES_SCALED, CYCLES_SCALED_QUICK = 60, 10
_MARK = "WHESL_BENCH_NAMESPACE"
_SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={task}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --time=30
#SBATCH --output={log}
exec {command}
"""
_DECLARE = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE WORKFLOW_LEVEL
DECLARE RESOURCE FILESYSTEM[REPLACE]
"""
# Each task has a file system of its own, so each has a rule of its own: one rule for all would move the
# dependents of the first that fails to the large file system before they can fail.
_RULE = """\
DECLARE EXCEPTION FULL-{task} WORKFLOW_LEVEL JOB [{task}] LIMIT 1
EXCEPTION DETECTION FULL-{task} MATCH "No space left on device|Disk quota exceeded" stdout
EXCEPTION RECOVERY STEP FULL-{task} JOB FILESYSTEM.REPLACE {{"filesystem": "{new}", "defaultpath": "{old}"}}
"""


def dependencies(images: int) -> dict[str, list[str]]:
    """Return the tasks of so many images, with those that each waits for."""
    return {
        f"{stage}-{image}": [f"{parent}-{image}" for parent in STAGES[stage]]
        for stage in STAGES
        for image in range(1, images + 1)
    }


def main() -> None:
    """Measure."""
    _be_allowed_to_mount()
    names = [name for name in ("local", "Slurm") if not (name == "Slurm" and os.environ.get(_MARK))]
    parts = [(f"disk full, {name}", lambda quick, name=name: _shares(name, quick)) for name in names]
    parts += [(f"10 to 50 tasks, {name}", lambda quick, name=name: _scales(name, quick)) for name in names]
    run_parts(arguments(__doc__ or ""), parts)


def _be_allowed_to_mount() -> None:
    """Start again in a user namespace when this is not root: small file systems have to be mounted."""
    if os.geteuid() == 0 or os.environ.get(_MARK):
        return
    enter = ["unshare", "--user", "--map-root-user", "--mount", "--"]
    probe = [*enter, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode:
        sys.exit("needs root, or user namespaces with mounts: small file systems have to be made")
    os.execvpe(enter[0], [*enter, sys.executable, *sys.argv], {**os.environ, _MARK: "1"})


@dataclass(frozen=True)
class Case:
    """One run of the workflow. ``failing``: the cycle in which each task's file system is full."""

    name: str
    place: Path
    failing: dict[str, int]
    parents: dict[str, list[str]]

    def out(self, task: str) -> Path:
        """Return where a task writes."""
        return self.place / "fast" / task / "data"

    def large(self, task: str) -> Path:
        """Return the root that takes the place of the task's own file system."""
        return self.place / "large" / task

    def stamps(self, task: str) -> list[tuple[float, str]]:
        """Return what a task has stamped."""
        return stamps(self.place / f"{task}.stamps")

    def failed(self) -> int:
        """Return how many failures there were."""
        return sum(word == "failed" for task in self.parents for _, word in self.stamps(task))


def _cases(place: Path, shares: Sequence[int], cycles: int) -> list[Case]:
    """Return the bare case, and one for each share of tasks whose file systems fill at a random cycle."""
    parents = dependencies(IMAGES)
    chance = random.Random(20)
    order = sorted(parents, key=lambda task: (chance.random(), task))
    when = {task: chance.randint(cycles * 3 // 10, cycles * 8 // 10) for task in parents}
    cases = []
    for share in (-1, *shares):
        chosen = order[: round(len(order) * share / 100)] if share > 0 else []
        name = f"{share} %" if share >= 0 else "bare"
        cases.append(Case(name, place / f"case{share}", {task: when[task] for task in chosen}, parents))
    return cases


@contextlib.contextmanager
def _prepared(cases: Sequence[Case]) -> Iterator[None]:
    """Make the directories of cases and mount the small file systems; nodes have to start after that."""
    mounted = []
    try:
        for case in cases:
            for task in case.parents:
                case.out(task).parent.mkdir(parents=True)
                case.large(task).mkdir(parents=True)
            for task, cycle in case.failing.items():
                # One page for the checkpoint beside the files of the cycles before.
                size = (cycle - 1) * BLOCK + 8192
                root = case.out(task).parent
                mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(root)]
                subprocess.run(mount, check=True)
                mounted.append(root)
        yield
    finally:
        for root in mounted:
            subprocess.run(["umount", "--lazy", str(root)], check=True)


def _shares(name: str, quick: bool) -> list[Figure]:
    """Do all runs side by side, each begun so much later that their tasks do not start at the same times."""
    cycles, shares = (CYCLES_QUICK, (100,)) if quick else (CYCLES, (0, *SHARES))
    with scratch() as place, _prepared(cases := _cases(place, shares, cycles)):
        place.chmod(0o755)
        apart = cycles * PACE / len(cases)
        with CLUSTERS[name](NODES * len(cases)) as (cluster, _), ThreadPoolExecutor(len(cases)) as pool:
            environment = _environment(cluster)
            runs = []
            for case in cases:
                runs.append(pool.submit(_run, case, environment, cycles, name))
                time.sleep(apart)
            free, *makespans = [run.result() for run in runs]
        bare, *others = cases
        seconds = {task: span(bare.stamps(task)) for task in bare.parents}
        note = f"a task {median([*seconds.values()]):.1f} s"
        figures = [Figure(f"bare makespan, {name}", free, "s", note=note)]
        for case, makespan in zip(others, makespans, strict=True):
            figures += _compared(case, makespan, free, seconds, name)
    return figures


def _scales(name: str, quick: bool) -> list[Figure]:
    """Do the runs one after the other, the bare one of a size first; all disks fill at half of the task."""
    cycles, scales = (CYCLES_SCALED_QUICK, SCALES[:1]) if quick else (CYCLES_SCALED, SCALES)
    figures = []
    for images in scales:
        parents = dependencies(images)
        half = dict.fromkeys(parents, cycles // 2)
        with scratch() as place:
            bare = Case("bare", place / "bare", {}, parents)
            full = Case(f"all of {len(parents)}", place / "full", half, parents)
            place.chmod(0o755)
            with _prepared((bare, full)), CLUSTERS[name](2 * images) as (cluster, _):
                environment = _environment(cluster)
                free = _run(bare, environment, cycles, name)
                makespan = _run(full, environment, cycles, name)
            waits = [pause for task in parents for pause in pauses(full.stamps(task))]
            lost = {task: lost_work(full.stamps(task)) for task in parents}
            seconds = {task: span(bare.stamps(task)) for task in parents}
            floor = unavoidable(free, seconds, lost, parents)
        what = f"disk full in all of {len(parents)} tasks, {name}: "
        note = f"bare {free:.1f} s, makespan {makespan:.1f} s"
        figures.append(
            Figure(f"{what}over the bare makespan", (makespan - free) / free * 100, "%", note=note)
        )
        over = (makespan - floor) / floor * 100
        figures.append(Figure(f"{what}over makespan and lost work", over, "%"))
        worst = f"median {median(waits):.2f} s, worst of {len(waits)}: {max(waits):.2f} s"
        figures.append(Figure(f"{what}failure to next start, mean", sum(waits) / len(waits), "s", note=worst))
    return figures


def _compared(case: Case, makespan: float, free: float, seconds: dict[str, float], name: str) -> list[Figure]:
    lost = {task: lost_work(case.stamps(task)) for task in case.parents}
    floor = unavoidable(free, seconds, lost, case.parents)
    over = makespan - floor
    what = f"disk full in {case.name} of tasks, {name}: "
    target = TARGET if case.failing else None
    note = f"makespan {makespan:.1f} s, {over:.2f} s over what cannot be avoided"
    figures = [Figure(f"{what}over makespan and lost work", over / floor * 100, "%", target, note=note)]
    if case.failing:
        plain = (makespan - free) / free * 100
        figures.append(
            Figure(f"{what}over the bare makespan", plain, "%", note=f"lost {sum(lost.values()):.1f} s")
        )
        waits = [pause for task in case.parents for pause in pauses(case.stamps(task))]
        worst = f"worst of {len(waits)}: {max(waits):.2f} s"
        figures.append(Figure(f"{what}failure to next start, median", median(waits), "s", note=worst))
        critical = {task: sum(pauses(case.stamps(task))) for task in case.parents}
        together = longest_path({t: seconds[t] + lost[t] + critical[t] for t in case.parents}, case.parents)
        without = longest_path({t: seconds[t] + lost[t] for t in case.parents}, case.parents)
        share = (together - without) / floor * 100
        figures.append(Figure(f"{what}of that the recoveries themselves", share, "%"))
    return figures


def _environment(cluster: Any) -> dict[str, str]:
    """Return the environment in which a cluster's commands are found."""
    environment = dict(cluster.bed.environment if hasattr(cluster, "bed") else cluster.environment)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return {**environment, "USER": environment.get("USER", "root")}


def _run(case: Case, environment: dict[str, str], cycles: int, name: str) -> float:
    """Run the workflow of a case and return its makespan. Raises RuntimeError when anything is not right."""
    print(
        f"  {name}, {case.name}: {len(case.failing)} of {len(case.parents)} disks fill ...", file=sys.stderr
    )
    for task in case.parents:
        _write_script(case, task, cycles)
    begun = time.time()
    if case.name == "bare":
        _bare(case, environment)
    else:
        _protected(case, environment, name)
    ends = [max(t for t, word in case.stamps(task) if word == "end") for task in case.parents]
    for task in case.parents:
        place = case.large(task) / "data" if task in case.failing else case.out(task)
        whole = [(place / f"cycle-{cycle}").stat().st_size for cycle in range(1, cycles + 1)]
        if set(whole) != {BLOCK}:
            raise RuntimeError(f"{name}, {case.name}: the output of {task} is not whole")
    if case.failed() != len(case.failing):
        raise RuntimeError(f"{name}, {case.name}: {case.failed()} failures instead of {len(case.failing)}")
    return max(ends) - begun


def _write_script(case: Case, task: str, cycles: int) -> None:
    command = [sys.executable, str(WORKER), "--out", str(case.out(task)), "--block", str(BLOCK)]
    command += ["--stamps", str(case.place / f"{task}.stamps"), "--cycles", str(cycles)]
    command += ["--pace", str(PACE), "--checkpoint", str(CHECKPOINT)]
    for parent in case.parents[task]:
        command += ["--input", str(case.out(parent))]
    text = _SCRIPT.format(task=task, log=case.place / f"{task}.log", command=shlex.join(command))
    (case.place / f"{task}.sh").write_text(text)


def _bare(case: Case, environment: dict[str, str]) -> None:
    jobs: dict[str, str] = {}
    for task, parents in case.parents.items():
        command = ["sbatch", "--parsable"]
        if parents:
            command.append(f"--dependency=afterok:{':'.join(jobs[parent] for parent in parents)}")
        command.append(str(case.place / f"{task}.sh"))
        done = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=60
        )
        jobs[task] = done.stdout.strip().split(";")[0]

    def over() -> bool:
        return all(any(word == "end" for _, word in case.stamps(task)) for task in case.parents)

    until(over, "the end of the bare workflow", 900)


def _protected(case: Case, environment: dict[str, str], name: str) -> None:
    rules = "".join(
        _RULE.format(task=task, new=case.large(task), old=case.out(task).parent) for task in case.parents
    )
    (case.place / "rules.esl").write_text(_DECLARE + rules)
    scripts = []
    for task, parents in case.parents.items():
        after = f":after={','.join(parents)}" if parents else ""
        scripts.append(f"{case.place / f'{task}.sh'}{after}")
    command = [sys.executable, "-m", "whesl", "run", *scripts, "-e", str(case.place / "rules.esl")]
    command += ["--rjms", name.lower(), "--inner", "slurm", "--spares", "0", "--poll", "1", "-y"]
    command += ["--out", str(case.place / "run")]
    home = case.place / "home"
    home.mkdir(mode=0o700)
    environment = {**environment, "WHESL_HOME": str(home)}
    try:
        done = subprocess.run(
            command, env=environment, cwd=case.place, capture_output=True, text=True, check=False, timeout=900
        )
    finally:
        stop = [sys.executable, "-m", "whesl", "coordinator", "stop"]
        subprocess.run(stop, env=environment, check=False, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(
            f"{name}, {case.name}: status {done.returncode}\n{(done.stdout + done.stderr)[-4000:]}"
        )


if __name__ == "__main__":
    try:
        main()
    except NotHereError as error:
        sys.exit(str(error))
