"""Graphs of Cylc, Makeflow and Snakemake: two tasks lose their nodes at once, then the next one does."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.managers.desk import RULES as DECLARATIONS
from tests.managers.workflow.test_graphs import ON_SLURM, WHESL, Desk, rule
from tests.waiting import written

pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.variant, pytest.mark.timeout(400)]
# The timer begins with the line of a program that hangs, however long a busy machine takes to start it.
RULES = f"""\
{DECLARATIONS}\
DECLARE EXCEPTION HUNG JOB_LEVEL JOB [use] LIMIT 1
EXCEPTION DETECTION HUNG LOG "begun" output TIMEOUT 3 WARMUP 120
EXCEPTION RECOVERY STEP HUNG JOB JOB.REPLACE
DECLARE EXCEPTION FULL JOB_LEVEL JOB [use] LIMIT 1
EXCEPTION DETECTION FULL MATCH "No space left on device" output
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
DECLARE EXCEPTION LOST JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
# One of the ranks does the work.
TASK = """\
[ "$SLURM_PROCID" = 0 ] || exit 0
echo "$1 $WHESL_RESTART_COUNT $SLURM_JOB_ID $SLURM_NTASKS" >> /p/me/attempts
case "$1 $WHESL_RESTART_COUNT" in
"a 0"|"b 0"|"use 2") hostname > /p/me/lose.$1; while echo at work; do sleep 0.3; done;;
"use 0") echo begun; sleep 600;;
"use 1") echo No space left on device; exit 1;;
esac
echo 7 > "$2"
"""
CYLC = """\
[scheduling]
    cycling mode = integer
    initial cycle point = 1
    final cycle point = 1
    [[graph]]
        R1 = a & b => use
[runtime]
    [[root]]
        platform = cluster
        execution retry delays = 2*PT5S
        script = srun -n 1 sh /p/me/task.sh $CYLC_TASK_NAME $OUT
        [[[environment]]]
            OUT = /p/me/large/$CYLC_TASK_NAME
    [[a, b]]
    [[use]]
        [[[environment]]]
            OUT = /p/me/small/use
"""
COMMAND = "srun -n 1 sh /p/me/task.sh {0} /p/me/{1}/{0} && echo > {0}"
MAKEFLOW = json.dumps(
    {
        "rules": [
            rule(COMMAND.format("a", "large"), ["a"], category="a"),
            rule(COMMAND.format("b", "large"), ["b"], category="b"),
            rule(COMMAND.format("use", "small"), ["use"], "a", "b"),
        ]
    }
)


SNAKEFILE = """\
rule all:
    input: "/p/me/small/use"

""" + "\n".join(
    f"""\
rule {name}:
    input: {needed}
    output: "/p/me/{where}/{name}"
    resources: nodes=2, tasks=2, mpi="srun"
    shell: "{{resources.mpi}} sh /p/me/task.sh {name} {{output}}"
"""
    for name, where, needed in (
        ("a", "large", ""),
        ("b", "large", ""),
        ("use", "small", '"/p/me/large/a", "/p/me/large/b"'),
    )
)


@contextmanager
def losing(desk: Desk) -> Iterator[None]:
    """Take each node that a task writes down to be lost."""
    ended = threading.Event()

    def take() -> None:
        taken: set[Path] = set()
        while not ended.wait(0.3):
            for file in set(desk.place.glob("lose.*")) - taken:
                if node := written(file).strip():
                    desk.bed.kill_node(node)
                    taken.add(file)

    taker = threading.Thread(target=take)
    taker.start()
    try:
        yield
    finally:
        ended.set()
        taker.join()


def prepared(place: Path, bed: SlurmBed, manager: str) -> tuple[Desk, tuple[str, ...]]:
    """Return a desk with a manager, and the words of ``whesl run`` behind the options."""
    desk = Desk(place, bed)
    paths = {"filesystem": str(place / "large"), "defaultpath": str(place / "small")}
    (place / "rules.esl").write_text(RULES % json.dumps(paths))
    (place / "task.sh").write_text(TASK.replace("/p/me", str(place)))
    if manager == "cylc":
        desk.use_cylc()
        return desk, ("flow.cylc", CYLC)
    if manager == "snakemake":
        desk.use_snakemake()
        return desk, ("Snakefile", SNAKEFILE, "--", *ON_SLURM, "--retries", "2")
    if not shutil.which("makeflow"):
        pytest.skip("Makeflow is not installed: apt install coop-computing-tools")
    return desk, ("flow.json", MAKEFLOW, "--", "-T", "slurm", "--retry-count=2")


@pytest.mark.parametrize(("manager", "ranks"), [("cylc", "1"), ("makeflow", "1"), ("snakemake", "2")])
def test_each_task_goes_on_in_its_job(manager: str, ranks: str, tmp_path: Path) -> None:
    need_slurm()
    with SlurmBed(9, cpus=1) as bed:  # so that each node has one job
        desk, (name, text, *words) = prepared(tmp_path, bed, manager)
        with losing(desk):
            done = desk.call(name, text, "--no-own-node", *words)
        try:
            assert done.returncode == 0, done.stderr
            attempts = [line.split() for line in (tmp_path / "attempts").read_text().splitlines()]
            counts = [(task, int(count)) for task, count, _, _ in attempts]
            assert sorted(counts) == [
                *(("a", n) for n in (0, 1)),
                *(("b", n) for n in (0, 1)),
                *(("use", n) for n in range(4)),
            ]
            assert len({(task, job) for task, _, job, _ in attempts}) == 3
            assert {tasks for *_, tasks in attempts} == {ranks}
            jobs = desk.jobs()
            assert len(jobs) == 3, (jobs, done.stderr)
            assert {job["Restarts"] for job in jobs} == {"0"}
            report = desk.report()
            assert {task["state"] for task in report["tasks"]} == {"completed"}
            assert sorted(str(row["exception"]) for row in report["exceptions"]) == [
                "FULL",
                "HUNG",
                "LOST",
                "LOST",
                "LOST",
            ]
            assert (tmp_path / "large" / "use").read_text() == "7\n"
        finally:
            subprocess.run((WHESL, "coordinator", "stop"), env=desk.environment, check=False)
