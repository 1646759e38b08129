"""Executions of workflows really run, shrunk, on a cluster and a cloud: ``python benchmarks/cloud_run.py``.

Each execution (WfCommons) is cut to a few tasks of each stage. Its programs are replaced by stand-ins that
compute and write files, whose content follows from what they read; ``whesl cloud run`` carries it out on an
embedded cluster and on instances that are processes; then each output is compared with what was computed
without running anything, and the ledger of all runs with what was to be done.

With ``--cluster slurm`` and ``--cloud slurm`` a real Slurm is started, whose CLOUD nodes are instances then.
With ``--away S`` the cloud's storage lies behind a real sshd, which is killed for so long while a task runs.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from tests.equipment import stand_in_task
from whesl.managers.workflow import wfcommons_reader
from whesl.model.errors import WheslError

INSTANCES = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "workflows" / "wfinstances"
if TYPE_CHECKING:
    from tests.equipment.sshd import Sshd

LEAST, MOST = 1_000, 200_000  # bytes of a file, after shrinking
OVERHEAD = 3.0  # seconds of a task beside its work, on a busy machine
SITE = """\
poll = 0.3
again = 1.0
[cluster]
scheduler = "local"
directory = "{cluster}"
[cloud]
provider = "processes"
[cloud.processes]
capacity = {capacity}
start_delay = 1.0
"""


def shrunk(source: Path, tasks: int, seconds: float, ledger: Path) -> dict[str, Any]:
    """Return an execution with at most so many tasks, as WfCommons' JSON with stand-ins for its programs."""
    found = wfcommons_reader.read(source)
    kinds = Counter(task.kind for task in found.tasks)
    quota = max(1, tasks // len(kinds))
    taken: Counter[str] = Counter()
    kept: dict[str, wfcommons_reader.InstanceTask] = {}
    waiting = {task.name: task for task in found.tasks}
    progress = True
    while progress:
        progress = False
        for name, task in list(waiting.items()):
            if any(parent in waiting for parent in task.parents):
                continue
            # A task that gathers goes on with those of its parents that are left.
            parents = [parent for parent in task.parents if parent in kept]
            del waiting[name]
            progress = True
            if taken[task.kind] < quota and (parents or not task.parents):
                taken[task.kind] += 1
                kept[name] = task
    # Stages are named by what is left of a task's name without its number.
    names_of = {
        name: f"{re.sub(r'[^A-Za-z]', '_', task.kind)}_ID{number:07}"
        for number, (name, task) in enumerate(kept.items())
    }
    longest = max(task.seconds for task in kept.values()) or 1.0
    made = {file for task in kept.values() for file in task.writes}
    dropped = {file for task in found.tasks if task.name not in kept for file in task.writes}
    sizes = {file: int(min(MOST, max(LEAST, size / 1e4))) for file, size in found.sizes.items()}
    # Names may be absolute, or addresses: here they are files below one directory.
    plain = {file: re.sub(r"[^A-Za-z0-9._-]", "_", file).lstrip(".") or "file" for file in sizes}
    sizes = {plain[file]: size for file, size in sizes.items()}
    specified, executed = [], []
    children: dict[str, list[str]] = {name: [] for name in names_of.values()}
    names: set[str] = set()
    for was, task in kept.items():
        name = names_of[was]
        parents = [names_of[parent] for parent in task.parents if parent in kept]
        for parent in parents:
            children[parent].append(name)
        reads = [plain[file] for file in dict.fromkeys(task.reads) if file in made or file not in dropped]
        writes = [plain[file] for file in dict.fromkeys(task.writes) if plain[file] not in reads]
        writes = writes or [f"{name}.out"]
        sizes.setdefault(f"{name}.out", LEAST)
        names |= {*reads, *writes}
        lasts = max(0.1, seconds * task.seconds / longest)
        words = stand_in_task.command(lasts, ledger, reads, {file: sizes[file] for file in writes})
        specified.append(
            {
                "id": name,
                "name": task.kind,
                "parents": parents,
                "children": children[name],
                "inputFiles": reads,
                "outputFiles": writes,
            }
        )
        executed.append(
            {
                "id": name,
                "runtimeInSeconds": lasts + OVERHEAD,
                "command": {"program": words[0], "arguments": list(words[1:])},
            }
        )
    files = [{"id": file, "sizeInBytes": sizes[file]} for file in sorted(names)]
    return {
        "name": found.name,
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": specified, "files": files},
            "execution": {"makespanInSeconds": 0, "executedAt": "", "tasks": executed},
        },
    }


def expected(document: dict[str, Any], data: Path) -> dict[str, bytes]:
    """Compute all outputs without running anything; inputs that no task writes lie in ``data``."""
    tasks = {task["id"]: task for task in document["workflow"]["specification"]["tasks"]}
    sizes = {file["id"]: file["sizeInBytes"] for file in document["workflow"]["specification"]["files"]}
    contents: dict[str, bytes] = {}
    left = dict(tasks)
    while left:
        for name, task in list(left.items()):
            if any(parent in left for parent in task["parents"]):
                continue
            inputs = [contents.get(file) or (data / file).read_bytes() for file in task["inputFiles"]]
            contents |= stand_in_task.content({file: sizes[file] for file in task["outputFiles"]}, inputs)
            del left[name]
    return contents


def until(document: dict[str, Any], share: float) -> float:
    """Return a deadline that one node cannot meet and several instances can, in seconds from now."""
    times = {one["id"]: one["runtimeInSeconds"] for one in document["workflow"]["execution"]["tasks"]}
    ends: dict[str, float] = {}
    for task in document["workflow"]["specification"]["tasks"]:
        ends[task["id"]] = times[task["id"]] + max((ends[one] for one in task["parents"]), default=0.0)
    return float(max(2.0 * max(ends.values()) + 15.0, share * sum(times.values())))


def write_inputs(document: dict[str, Any], data: Path) -> None:
    """Write the files that no task writes."""
    specification = document["workflow"]["specification"]
    made = {file for task in specification["tasks"] for file in task["outputFiles"]}
    for file in specification["files"]:
        if file["id"] not in made:
            path = data / file["id"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(stand_in_task.content({file["id"]: file["sizeInBytes"]}, [])[file["id"]])


def one(
    source: Path, place: Path, site_text: str, given: argparse.Namespace, sshd: Sshd | None = None
) -> dict[str, Any]:
    """Run one execution; return what came of it."""
    data, ledger = place / "data", place / "ledger"
    data.mkdir(parents=True)
    document = shrunk(source, given.tasks, given.seconds, ledger)
    write_inputs(document, data)
    flow = place / "workflow.json"
    flow.write_text(json.dumps(document))
    wanted = expected(document, data)
    site = place / "cloud.toml"
    site.write_text(site_text.replace("@place@", str(place)))
    deadline = until(document, given.share) + given.away
    command = [sys.executable, "-m", "whesl", "cloud", "run", str(flow), "--deadline", f"{deadline:.0f}s"]
    command += ["--hour", f"{given.hour:g}", "--dir", str(place / "run"), "--data", str(data)]
    command += ["--site", str(site), "--free", str(given.nodes), "--json"]
    environ = {**os.environ, "WHESL_HOME": str(place / "home")}
    began = time.time()
    away: list[float] = []
    breaker = threading.Thread(target=_break, args=(sshd, place / "run", given.away, away), daemon=True)
    if sshd is not None:
        breaker.start()
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    seconds = time.time() - began
    result: dict[str, Any] = {"execution": source.name.partition(".")[0], "seconds": round(seconds, 1)}
    if not done.stdout.startswith("{"):
        return {**result, "problems": [done.stderr.strip()[-300:]]}
    found = json.loads(done.stdout)
    if sshd is not None:
        result["away"] = [round(one, 1) for one in away]
    problems = [] if done.returncode == 0 else [f"exit status {done.returncode}: {found['why']}"]
    read = {file for task in document["workflow"]["specification"]["tasks"] for file in task["inputFiles"]}
    for name, content in wanted.items():
        path = data / name
        if path.exists() and path.read_bytes() != content:
            problems.append(f"{name} is not what was computed")
        if not path.exists() and name not in read:
            problems.append(f"the result {name} is not there")
    runs = Counter(tuple(json.loads(line)["outputs"]) for line in ledger.read_text().splitlines())
    again = sum(count - 1 for count in runs.values())
    if len(runs) != len(executed := document["workflow"]["execution"]["tasks"]):
        problems.append(f"{len(runs)} of {len(executed)} tasks ran")
    if again > found["lost"]:
        problems.append(f"{again} tasks ran twice, {found['lost']} executors' tasks were lost")
    left = subprocess.run(["pgrep", "-f", str(place / "run")], capture_output=True, text=True, check=False)
    if left.stdout.strip():
        problems.append(f"processes are left: {left.stdout.split()}")
    return {
        **result,
        "tasks": found["tasks"],
        "stages": len(found["stages"]),
        "on_cluster": sum(stage["on_cluster"] for stage in found["stages"]),
        "in_cloud": sum(stage["in_cloud"] for stage in found["stages"]),
        "copied": found["copied"],
        "cost": round(found["cost"], 3),
        "met": found["met"],
        "again": again,
        "problems": problems,
    }


def _break(sshd: Sshd, run: Path, seconds: float, told: list[float]) -> None:
    """Kill the storage's server while a task runs in the cloud, and start it again."""
    from whesl.cloud.core.plan_records import Domain
    from whesl.cloud.runner import run_lifecycle as runs

    def busy() -> bool:
        with contextlib.suppress(WheslError):
            executors = runs.state_of(run).executors.values()
            return any(one.task and one.domain is Domain.CLOUD for one in executors)
        return False

    while not busy():
        time.sleep(0.5)
    began = time.time()
    # Connections that stand are served by processes of their own, which outlive the server.
    serving = psutil.Process(sshd.process.pid).children(recursive=True)
    sshd.stop()
    for process in serving:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    time.sleep(seconds)
    sshd.start()
    told.append(time.time() - began)


@contextlib.contextmanager
def _site(root: Path, given: argparse.Namespace) -> Iterator[str]:
    """Start a cluster and what else is asked for; give the text of a site's file."""
    text, options = SITE, ""
    with contextlib.ExitStack() as stack:
        if given.cloud == "slurm":
            from tests.cloud.bursting.test_slurm import Site

            bed = stack.enter_context(Site(root)).bed
        elif given.cluster == "slurm":
            from tests.equipment.slurmbed import SlurmBed

            bed = SlurmBed(given.nodes, "host")
            bed.start()
            stack.callback(bed.stop)
        if "slurm" in (given.cluster, given.cloud):
            os.environ.update(bed.environment)
        if given.cluster == "slurm":
            text = text.replace('"local"\ndirectory = "{cluster}"', '"slurm"')
        else:
            environ = {**os.environ, "WHESL_LOCAL": str(root / "cluster")}
            local = [sys.executable, "-m", "whesl", "local"]
            start = [*local, "start", "--nodes", str(given.nodes)]
            subprocess.run(start, env=environ, check=True, capture_output=True)
            stack.callback(subprocess.run, [*local, "stop"], env=environ, check=False, capture_output=True)
        if given.cloud == "slurm":
            options += 'partition = "burst"\n'
            text = text.replace('"processes"', '"slurm"')
        if given.sshd is not None:
            store = f"ssh://{getpass.getuser()}@127.0.0.1:{given.sshd.port}@place@/there"
            options += f'store = "{store}"\nseen_as = "@place@/there"\n'
            options += f"ssh_options = {json.dumps(given.sshd.options)}\n"
        text = text.format(cluster=root / "cluster", capacity=given.instances)
        yield text.replace("[cloud.processes]", f"{options}[cloud.processes]")


def main() -> int:
    """Run executions, print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of executions' names; default: the smallest ones")
    parser.add_argument("--folder", type=Path, default=INSTANCES)
    parser.add_argument("--count", type=int, default=12, help="executions [12]")
    parser.add_argument("--tasks", type=int, default=24, help="of each, about [24]")
    parser.add_argument("--seconds", type=float, default=1.5, help="of the longest task [1.5]")
    parser.add_argument("--nodes", type=int, default=1, help="of the cluster [1]")
    parser.add_argument("--instances", type=int, default=6, help="at most [6]")
    parser.add_argument("--share", type=float, default=0.5, help="of one node's time, as deadline [0.5]")
    parser.add_argument("--hour", type=float, default=60.0, help="seconds of the schedule's hours [60]")
    parser.add_argument("--cluster", choices=("local", "slurm"), default="local")
    parser.add_argument("--cloud", choices=("processes", "slurm"), default="processes")
    parser.add_argument("--away", type=float, default=0.0, help="seconds of a broken network [0]")
    parser.add_argument("--out", type=Path, help="a JSON file")
    parser.add_argument("--keep", action="store_true", help="keep the runs' directories")
    given = parser.parse_args()
    sources = sorted(given.folder.glob("*.json.xz"), key=lambda path: path.stat().st_size)
    if given.names:
        sources = [path for path in sources if any(name in path.name for name in given.names)]
    if not sources:
        print(f"there are no executions in {given.folder}", file=sys.stderr)
        return 2
    # A Unix socket's path is short.
    root = Path(tempfile.mkdtemp(prefix="whesl-cloud-"))
    results: list[dict[str, Any]] = []
    given.sshd = None
    if given.away:
        from tests.equipment.sshd import Sshd

        (root / "sshd").mkdir()
        given.sshd = Sshd(root / "sshd")
    try:
        with _site(root, given) as text:
            for source in sources[: given.count]:
                try:
                    results.append(one(source, root / str(len(results)), text, given, given.sshd))
                except WheslError as error:
                    results.append({"execution": source.name, "problems": [error.message]})
                print(json.dumps(results[-1]), flush=True)
    finally:
        if given.sshd is not None:
            given.sshd.stop()
        if not given.keep:
            shutil.rmtree(root, ignore_errors=True)
    if given.out is not None:
        given.out.write_text(json.dumps(results, indent=2) + "\n")
    right = sum(not result["problems"] for result in results)
    print(f"{right} of {len(results)} executions are right")
    return 0 if right == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
