"""``whesl run`` as a user calls it: real Maestro and real scripts on a private embedded cluster."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import commands
from tests.equipment.faults import fill, tmpfs
from tests.waiting import until
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.model.errors import CouldNotObserveError

BIN = Path(sys.executable).parent

RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL, WORKFLOW_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [*]
EXCEPTION DETECTION GLITCH LOG "a glitch" stdout
EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE
"""

STUDY = """\
description:
  name: small study
  description: two steps and a funnel
env:
  variables: {DATA: words}
batch: {type: slurm, host: local, bank: none, queue: main}
study:
  - name: make
    description: say something
    run:
      cmd: |
        echo "$(DATA) $(N)" > made.txt
        if [ "$WHESL_RESTART_COUNT" = 0 ] && [ $(N) = 2 ]; then echo a glitch; sleep 60; fi
        echo made by $(LAUNCHER) > launcher.txt
        $(LAUNCHER) sh -c 'echo rank $SLURM_PROCID'
      nodes: 1
      procs: 2
      exclusive: true
  - name: use
    description: use it
    run:
      cmd: cat $(make.workspace)/made.txt > used.txt
      depends: [make]
      nodes: 1
  - name: gather
    description: on the login node
    run:
      cmd: |
        cat $(OUTPUT_PATH)/use/*/used.txt > all.txt; cat all.txt
      depends: [use_*]
global.parameters:
  N: {values: [1, 2], label: N.%%}
"""


class Place:
    """A user's home, and what they start in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = directory / "home"
        self.home.mkdir(mode=0o700)
        outer = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "WHESL"))}
        self.environment = {**outer, "WHESL_HOME": str(self.home), "PATH": f"{BIN}:{outer['PATH']}"}
        self.environment.pop("USER", None)
        self.started: list[subprocess.Popen[str]] = []
        self.write("rules.esl", RULES)

    def write(self, name: str, text: str) -> str:
        path = self.directory / name
        path.write_text(text)
        return str(path)

    def begin(self, *words: str) -> subprocess.Popen[str]:
        process = commands.begin(
            "run",
            "-e",
            "rules.esl",
            "--rjms",
            "local",
            *words,
            env=self.environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.begin(*words)
        output, errors = process.communicate(timeout=100)
        return process.returncode, output, errors

    def whesl(self, *words: str) -> str:
        return commands.whesl(*words, env=self.environment, check=True).stdout

    def report(self) -> dict[str, Any]:
        found = json.loads(self.whesl("report", "--json"))
        assert isinstance(found, dict)
        return found

    def wait(self, condition: Callable[[], Any], what: str) -> None:
        until(condition, what, 60)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    yield found
    for process in found.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
    commands.whesl("coordinator", "stop", env=found.environment)


@pytest.mark.slow
def test_a_study_with_a_fault(place: Place) -> None:
    study = place.write("study.yaml", STUDY)
    status, output, errors = place.run(study, "--out", "out")
    assert status == 0, output + errors
    assert (place.directory / "out/gather/all.txt").read_text() == "words 1\nwords 2\n"
    assert "make_N.2: raised GLITCH: a glitch" in output
    assert "5 of 5 tasks completed" in output
    # Where Maestro expects it, and nothing of ours in it.
    said = (place.directory / "out/make/N.1/make_N.1.out").read_text().splitlines()
    assert sorted(said) == ["rank 0", "rank 1"]
    said = (place.directory / "out/make/N.2/make_N.2.out").read_text().splitlines()
    assert sorted(said) == ["a glitch", "rank 0", "rank 1"]
    assert "srun -n 2 -N 1" in (place.directory / "out/make/N.1/launcher.txt").read_text()
    report = place.report()
    (row,) = report["exceptions"]
    assert (row["task"].partition("/")[2], row["outcome"], row["line"]) == (
        "make_N.2",
        "recovered",
        "a glitch",
    )
    assert row["file"].endswith("make_N.2.out")
    jobs = [job for task in report["tasks"] for job in task["jobs"] if task["step"] != "gather"]
    assert len(jobs) == len(set(jobs)) == 4
    assert study_is_as_it_was(place)
    (cluster,) = place.home.glob("workflows/*/cluster")
    with pytest.raises(CouldNotObserveError):  # the private cluster is over
        Cluster(str(cluster)).connect(patience=0.0)


def study_is_as_it_was(place: Place) -> bool:
    return (place.directory / "study.yaml").read_text() == STUDY


@pytest.mark.slow
def test_a_study_that_fails(place: Place) -> None:
    place.write("study.yaml", STUDY.replace("cat $(make.workspace)/made.txt", "exit 7; cat x"))
    status, output, errors = place.run("study.yaml", "--out", "out", "--json")
    assert status == 2, "Maestro's own status for a study with failures"
    report = json.loads(output)
    assert report["totals"]["failed"] == 2
    assert {task["exit_code"] for task in report["tasks"] if task["step"] == "use"} == {7}
    assert "maestro ended with status 2" in errors


@pytest.mark.slow
@pytest.mark.variant  # scenario 11 observes the same study and more
def test_observe_touches_nothing(place: Place) -> None:
    text = STUDY.replace("sleep 60", "true")
    place.write("study.yaml", text)
    status, output, errors = place.run("study.yaml", "--out", "out", "--observe")
    assert status == 0, output + errors
    (row,) = place.report()["exceptions"]
    assert row["outcome"] == "observed"
    assert {task["attempts"] for task in place.report()["tasks"]} == {1}


@pytest.mark.slow
@pytest.mark.variant  # scenario 1 has a disk that is really full
def test_a_full_disk_moves_what_is_still_to_come(place: Place) -> None:
    """The JOB step moves the failed task, the WMS step the workspaces that Maestro has not made yet."""
    new = place.directory / "roomy"
    new.mkdir(mode=0o700)
    arguments = json.dumps({"filesystem": str(new), "defaultpath": str(place.directory / "out")})
    place.write(
        "rules.esl",
        RULES
        + "DECLARE EXCEPTION FULL WORKFLOW_LEVEL JOB [make]\n"
        + 'EXCEPTION DETECTION FULL LOG "No space left on device" stdout\n'
        + f"EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE {arguments}\n"
        + f"EXCEPTION RECOVERY STEP FULL WMS FILESYSTEM.REPLACE {arguments}\n",
    )
    place.write("study.yaml", STUDY.replace("echo a glitch", "echo No space left on device"))
    status, output, errors = place.run("study.yaml", "--out", "out")
    assert status == 0, output + errors
    out = place.directory / "out"
    assert (out / "gather/all.txt").read_text() == "words 1\nwords 2\n"
    assert (out / "use/N.2").readlink() == new / "use/N.2"
    assert (new / "use/N.2/use_N.2.slurm.sh").exists(), "Maestro wrote through the link"
    assert (new / "make/N.2/made.txt").read_text() == "words 2\n"
    (row,) = place.report()["exceptions"]
    assert (row["exception"], row["outcome"]) == ("FULL", "recovered")
    # Maestro's own files are where they were, and are files again.
    assert not (out / "status.csv").is_symlink()
    assert "use_N.2" in (out / "status.csv").read_text()


@pytest.mark.slow
def test_ctrl_c_cancels_in_order(place: Place) -> None:
    place.write("study.yaml", STUDY.replace('echo "$(DATA) $(N)" > made.txt', "touch here; sleep 100"))
    process = place.begin("study.yaml", "--out", "out")
    place.wait(lambda: list(place.directory.glob("out/make/*/here")), "a task runs")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 3, output + errors
    assert "Traceback" not in output + errors
    tasks = [task for task in place.report()["tasks"] if task["step"] == "make"]
    assert {task["state"] for task in tasks} == {"cancelled"}, json.dumps(tasks) + output + errors


def children(pid: int, word: str) -> list[psutil.Process]:
    """Living children whose program has a word in its name."""
    found = []
    for child in psutil.Process(pid).children():
        with contextlib.suppress(psutil.Error):
            if any(Path(part).name == word for part in child.cmdline()[:2]):
                found.append(child)
    return found


@pytest.mark.slow
@pytest.mark.variant  # the test below kills it, too
def test_maestro_dies_and_goes_on(place: Place) -> None:
    """A conductor that is killed is started again, and every task still has one job."""
    slow = "echo $(N) >> runs; while [ ! -e $(OUTPUT_PATH)/../go ]; do sleep 0.2; done"
    text = STUDY.replace('echo "$(DATA) $(N)" > made.txt', f"{slow}; echo $(DATA) > made.txt")
    place.write(
        "study.yaml", text[: text.index("  - name: gather")] + text[text.index("global.parameters") :]
    )
    process = place.begin("study.yaml", "--out", "out")
    place.wait(lambda: len(list(place.directory.glob("out/make/*/runs"))) == 2, "both tasks run")
    place.wait(lambda: "RUNNING" in (place.directory / "out/status.csv").read_text(), "Maestro has seen it")
    (maestro,) = children(process.pid, "maestro")
    maestro.kill()
    place.wait(lambda: children(process.pid, "conductor"), "it is back")
    (place.directory / "go").touch()
    output, errors = process.communicate(timeout=80)
    assert process.returncode == 0, output + errors
    assert [path.read_text() for path in sorted(place.directory.glob("out/make/*/runs"))] == ["1\n", "2\n2\n"]
    assert sorted(job for task in place.report()["tasks"] for job in task["jobs"]) == ["1", "2", "3", "4"]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_maestro_that_dies_on_a_full_disk_finds_room_when_it_goes_on(place: Place) -> None:
    """What was given free when the disk became full has been taken by others; scripts to come need more."""
    small = place.directory / "small"
    with tmpfs(small, 9 << 20):
        slow = f"while [ ! -e {place.directory}/go ]; do sleep 0.2; done"
        text = STUDY.replace('echo "$(DATA) $(N)" > made.txt', slow).replace(
            "echo a glitch; sleep 60", "true"
        )
        text = text.replace("echo made by $(LAUNCHER) > launcher.txt", "true")
        text = text.replace("cmd: cat $(make.workspace)/made.txt > used.txt", "cmd: 'true'")
        steps, values = text.index("  - name: gather"), text.index("global.parameters:")
        place.write("study.yaml", text[:steps] + text[values:])
        moves = json.dumps({"filesystem": str(place.directory), "defaultpath": str(small)})
        place.write(
            "rules.esl",
            RULES
            + "DECLARE EXCEPTION FULL JOB_LEVEL JOB [make]\n"
            + 'EXCEPTION DETECTION FULL LOG "nobody says so" stdout\n'
            + f"EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE {moves}\n",
        )
        process = place.begin("study.yaml", "--out", "small/out")
        status, reserve = small / "out/status.csv", small / "out/.whesl-reserve"
        place.wait(
            lambda: status.exists() and status.read_text().count("RUNNING") == 2, "Maestro sees both run"
        )
        place.wait(reserve.exists, "room is held back")
        held = reserve.stat().st_size
        fill(small, name="first")
        place.wait(lambda: reserve.stat().st_size < held, "a part of it is given free")
        fill(small, name="second")
        (maestro,) = children(process.pid, "maestro")
        maestro.kill()
        place.wait(lambda: children(process.pid, "conductor"), "it is back")
        (place.directory / "go").touch()
        output, errors = process.communicate(timeout=100)
        assert process.returncode == 0, output + errors
        assert not reserve.exists()
        tasks = place.report()["tasks"]
        assert {task["state"] for task in tasks} == {"completed"}
        assert sorted(job for task in tasks for job in task["jobs"]) == ["1", "2", "3", "4"]


@pytest.mark.slow
def test_a_chain_of_scripts(place: Place) -> None:
    place.write(
        "first.sh",
        "#!/bin/bash\n#SBATCH --nodes=1 --array=1-2\n#SBATCH --output=first-%a.out\n"
        'echo "$1 $SLURM_ARRAY_TASK_ID" > first.$SLURM_ARRAY_TASK_ID\n'
        'if [ "$WHESL_RESTART_COUNT$SLURM_ARRAY_TASK_ID" = 01 ]; then echo a glitch; sleep 60; fi\n',
    )
    place.write(
        "second.sh",
        f"#!{sys.executable}\n#SBATCH -N1 --output=second.out\n"
        "import pathlib\npathlib.Path('second').write_text(pathlib.Path('first.1').read_text())\n",
    )
    status, output, errors = place.run("first.sh", "second.sh:after=first")
    assert status == 0, output + errors
    assert (place.directory / "second").read_text().split() == ["1"]
    report = place.report()
    assert [task["state"] for task in report["tasks"]] == ["completed"] * 3
    assert [row["task"].partition("/")[2] for row in report["exceptions"]] == ["first_1"]


@pytest.mark.slow
def test_the_isolator_s_node_is_kept_out_where_asked(place: Place) -> None:
    """Each job gets one node more, and its ranks run on the others; the cluster is as large as that needs."""
    script = place.write(
        "wide.sh",
        "#!/bin/sh\n#SBATCH -N4 --output=wide.out\necho batch $SLURMD_NODENAME\n"
        "srun -N4 -n4 sh -c 'echo rank $SLURMD_NODENAME'\n",
    )
    status, output, errors = place.run(script, "--no-own-node")
    assert status == 0, output + errors
    lines = [line.split() for line in (place.directory / "wide.out").read_text().splitlines()]
    (batch,) = [node for word, node in lines if word == "batch"]
    ranks = [node for word, node in lines if word == "rank"]
    assert len(set(ranks)) == len(ranks) == 4
    assert batch not in ranks


@pytest.mark.slow
def test_a_chain_whose_first_script_fails(place: Place) -> None:
    place.write("first.sh", "#!/bin/sh\n#SBATCH -N1\nexit 3\n")
    place.write("second.sh", "#!/bin/sh\n#SBATCH -N1\ntouch second\n")
    status, output, errors = place.run("first.sh", "second.sh:after=first")
    assert status == 1, output + errors
    assert not (place.directory / "second").exists()


# Before anything is made ---------------------------------------------------------------------------------


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "change", "status", "message"),
    [
        (["study.yaml"], ("[*]", "[unknown]"), 1, "unknown"),
        (["study.yaml"], ("DETECTION GLITCH", "DETECTION GLITSCH"), 1, "GLITSCH"),
        (["missing.yaml"], ("", ""), 2, "cannot read missing.yaml"),
        (["study.yaml", "--out", "."], ("", ""), 2, "exists"),
        (["study.yaml", "--", "--pgen", "x.py"], ("", ""), 2, "pgen"),
        (["rules.esl"], ("", ""), 2, "no workflow"),
        (["study.yaml", "--out", "my results"], ("", ""), 2, "without quotation marks"),
    ],
)
def test_errors_come_first(
    place: Place, words: list[str], change: tuple[str, str], status: int, message: str
) -> None:
    place.write("study.yaml", STUDY)
    place.write("rules.esl", RULES.replace(*change) if change[0] else RULES)
    code, output, errors = place.run(*words)
    assert (code, message in output + errors) == (status, True), output + errors
    assert "Traceback" not in errors
    assert not list(place.home.glob("workflows/*"))


def test_rules_have_to_be_named(place: Place) -> None:
    done = commands.whesl("run", "study.yaml", env=place.environment)
    assert (done.returncode, "Missing option '-e'" in done.stderr) == (2, True)


def test_a_scheduler_that_does_not_answer_is_told_at_once(place: Place) -> None:
    """Maestro would submit, fail and wait; nothing is started. PATH's first place is asked, too."""
    commands = place.directory / "commands"
    commands.mkdir()
    for name in ("sbatch", "sinfo", "squeue", "scontrol"):
        (commands / name).write_text(
            '#!/bin/sh\necho "error: Unable to contact slurm controller: first" >&2\nexit 1\n'
        )
        (commands / name).chmod(0o755)
    place.environment["PATH"] = f"{commands}:{os.environ['PATH']}"
    place.write("study.yaml", STUDY)
    status, output, errors = place.run("study.yaml", "--rjms", "slurm", "--out", "out")
    assert status == 1
    assert "slurm does not answer: sinfo: Unable to contact slurm controller: first" in errors
    assert "--rjms local" in errors
    assert not (place.directory / "out").exists(), output
    assert not list(place.home.glob("workflows/*"))
