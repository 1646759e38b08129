"""``whesl cloud measure``, ``run`` and what shows them, as users call them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import cloud_run
from tests import commands
from tests.alike import alike
from tests.cloud.runner import worlds
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.cluster_directory import Cluster

INSTANCE = cloud_run.INSTANCES / "helloworld-forkjoin-10-chameleon.json.xz"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = worlds.local_cluster(tmp_path_factory.mktemp("cluster"), 1)
    yield made
    daemons.stop(made)


class Home:
    """An execution of WfCommons, shrunk, and where it is run."""

    def __init__(self, tmp_path: Path, cluster: Cluster) -> None:
        if not INSTANCE.exists():
            pytest.skip(f"{INSTANCE.name} is not there")
        self.place, self.data, self.ledger = tmp_path, tmp_path / "data", tmp_path / "ledger"
        self.data.mkdir()
        self.flow = tmp_path / "flow.json"
        self.document = cloud_run.shrunk(INSTANCE, 6, 0.2, self.ledger)
        self.flow.write_text(json.dumps(self.document))
        self.site = tmp_path / "cloud.toml"
        self.site.write_text(cloud_run.SITE.format(cluster=cluster.path, capacity=4))
        cloud_run.write_inputs(self.document, self.data)

    def whesl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl(
            "cloud", *words, timeout=110, env={**os.environ, "WHESL_HOME": str(self.place / "home")}
        )


@pytest.fixture
def home(tmp_path: Path, cluster: Cluster) -> Home:
    return Home(tmp_path, cluster)


@pytest.mark.slow
def test_measure_then_run(home: Home) -> None:
    """The profile of a sample goes into the run; its outputs are what they have to be."""
    shared = ("--site", str(home.site), "--data", str(home.data))
    types = ("--platforms", "c5a.4xlarge")
    done = home.whesl(
        "measure", str(home.flow), "--sample", "20%", *types, *shared, "--dir", str(home.place / "m")
    )
    assert done.returncode == 0, done.stderr
    profile = json.loads((home.place / "m" / "profile.json").read_text())
    assert {one["platform"] for one in profile["measurements"]} == {"cluster", "c5a.4xlarge"}
    assert all(one["seconds"] > 0.2 and one["count"] for one in profile["measurements"])
    assert profile["cost"] > 0
    home.ledger.unlink()
    place = home.place / "r"
    known = ("--profile", str(home.place / "m" / "profile.json"), "--free", "1", "--hour", "60")
    done = home.whesl(
        "run", str(home.flow), "--deadline", "100s", *known, *shared, "--dir", str(place), "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["done"] == found["tasks"] == len(home.document["workflow"]["execution"]["tasks"])
    for name, content in cloud_run.expected(home.document, home.data).items():
        path = home.data / name
        assert not path.exists() or path.read_bytes() == content
    shown = home.whesl("status", str(place))
    assert shown.returncode == 0 and "tasks done" in shown.stdout
    assert f"cost {found['cost']:.2f} {found['currency']};" in shown.stdout and found["currency"] == "USD"
    told = [
        json.loads(line)["kind"] for line in home.whesl("events", "--json", str(place)).stdout.splitlines()
    ]
    assert told[0] == "run_started" and told[-1] == "run_ended"
    assert json.loads(home.whesl("report", "--json", str(place)).stdout)["outputs"]
    # Once more is no second run.
    again = home.whesl("run", str(home.flow), "--dir", str(place), "--budget", "3")
    assert again.returncode == 0 and "goes on with the budget that it was begun with: none" in again.stderr
    again = home.whesl(
        "measure", str(home.flow), "--sample", "20%", *types, *shared, "--dir", str(home.place / "m")
    )
    assert again.returncode == 0 and "note: the run" not in again.stderr
    # Nor is a run's end that of another workflow, or a measurement.
    other = home.whesl("measure", "--dir", str(place), str(home.flow), "--site", str(home.site))
    assert other.returncode == 2 and "was not what is asked for: tasks changed:" in other.stderr
    home.document["workflow"]["execution"]["tasks"][0]["command"]["program"] = "other"
    home.flow.write_text(json.dumps(home.document))
    for words in (("run", "--dir", str(place)), ("measure", "--dir", str(home.place / "m"))):
        other = home.whesl(*words, str(home.flow), "--site", str(home.site))
        assert other.returncode == 2 and "was not what is asked for: tasks changed:" in other.stderr


INPUT = """\
[[stage]]
name = "a"
tasks = 1
seconds = 1
command = ["cp", "raw", "copy"]
reads = ["raw"]
writes = ["copy"]
"""


@pytest.mark.costly
def test_what_is_refused_leaves_nothing_behind(home: Home) -> None:
    """All that is wrong is said at once, and there is no run's directory, nor a file, afterwards."""
    (home.place / "flow.toml").write_text(INPUT)
    run = ("run", str(home.place / "flow.toml"), "--deadline", "5m", "--site", str(home.site))
    before = {path.name for path in home.place.iterdir()}
    done = home.whesl(
        *run, "--free", "many", "--data", str(home.place / "none"), "-e", str(home.place / "no.esl")
    )
    assert done.returncode == 2
    for said in ("no numbers", "no directory", "no.esl cannot be read"):
        assert said in done.stderr
    there = home.place / "r"
    done = home.whesl(*run, "--free", "1", "--dir", str(there))
    assert done.returncode == 2 and "1 inputs that no task writes are not there: raw" in done.stderr
    assert "--data DIR" in done.stderr and not there.exists()
    # What a user has put there stays.
    (there / "cluster" / "data").mkdir(parents=True)
    (there / "cluster" / "data" / "other").touch()
    assert home.whesl(*run, "--free", "1", "--dir", str(there)).returncode == 2
    assert [str(path.relative_to(there)) for path in sorted(there.rglob("*"))] == [
        "cluster",
        "cluster/data",
        "cluster/data/other",
    ]
    measure = ("measure", str(home.place / "flow.toml"), "--site", str(home.site))
    done = home.whesl(*measure, "-o", str(home.place / "none" / "p.json"), "--sample", "0%")
    assert done.returncode == 2 and "cannot write" in done.stderr and "--sample" in done.stderr
    assert {path.name for path in home.place.iterdir()} - {"home", "r"} == before - {"home"}


@pytest.mark.costly
def test_a_run_without_a_cluster_counts_on_no_node_and_takes_its_inputs(home: Home) -> None:
    # --free was believed, and --data was linked where nothing looked for it.
    (home.place / "flow.toml").write_text(INPUT)
    (home.data / "raw").write_text("raw")
    words = ("run", str(home.place / "flow.toml"), "--deadline", "5m", "--site", str(home.site))
    run = (*words, "--scheduler", "", "--dir", str(home.place / "r"), "--data", str(home.data))
    done = home.whesl(*run, "--free", "3")
    assert done.returncode == 2 and "there is no cluster" in done.stderr and not (home.place / "r").exists()
    done = home.whesl(*run)
    assert done.returncode == 0, done.stderr
    assert (home.data / "copy").read_text() == "raw"


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "flow.json"), "deadline"),
        (("run", "flow.json", "--deadline", "1s", "--free", "1"), "critical path"),
        (("run", "flow.json", "--deadline", "12h", "--free", "0", "--budget", "0.0001"), "budget"),
        (("measure", "flow.json", "--sample", "lots"), "5%"),
        (("measure", "flow.json", "--platforms", "z9"), "known"),
        (("run", "flow.json", "--deadline", "100000d", "--free", "1"), "later than plans are made for"),
        (("run", "flow.json", "--deadline", "12h", "--cloud", "nosuch"), "known: 'processes'"),
        (("run", "flow.json", "--deadline", "12h", "--free", "1", "--forecast", "x.json"), "both say"),
        (("run", "flow.json", "--deadline", f"{9**400}h", "--free", "1"), "later than plans are made for"),
        (("status", "nowhere"), "no run"),
        (("run", "flow.json", "--deadline", "12h", "--site", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_started(
    home: Home, words: tuple[str, ...], said: str
) -> None:
    given = [str(home.flow) if word == "flow.json" else word for word in words]
    if words[0] != "status" and "--site" not in words:
        given += ["--site", str(home.site)]
    done = home.whesl(*given, *(("--dir", str(home.place / "r")) if words[0] != "status" else ()))
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert said in done.stderr and "Traceback" not in done.stderr
    assert not (home.place / "r" / "journal.db").exists()


@pytest.mark.costly
def test_without_a_cloud_a_stage_that_the_cluster_cannot_run_is_refused(home: Home) -> None:
    """Such a run once waited to its deadline, and named what a cloud that is not there would cost."""
    flow = home.place / "gpu.toml"
    stage = '[[stage]]\nname = "g{0}"\ntasks = 1\nseconds = 5\nprocessor = "{1}"\ncommand = ["true"]\n'
    flow.write_text(stage.format(1, "cpu") + stage.format(2, "gpu"))
    site = home.place / "alone.toml"
    site.write_text(re.sub(r'provider = "\w+"', 'provider = ""', home.site.read_text()))
    where = ("--site", str(site), "--dir", str(home.place / "r"), "--deadline", "12h", "--free", "1")
    done = home.whesl("run", str(flow), *where)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "no platform for g2" in done.stderr and "cloud" in done.stderr
    assert not (home.place / "r").exists()


@pytest.mark.costly
def test_an_instance_is_paid_for_only_with_a_budget_or_a_yes(home: Home) -> None:
    """Without a budget the first instance was started unasked, and so was each after it."""
    site = home.place / "ec2.toml"
    site.write_text(
        '[cluster]\nscheduler = ""\n[cloud]\nprovider = "ec2"\nstore = "s3://nobody/s"\n'
        '[cloud.ec2]\nregion = "us-east-1"\nimage = "ami-1"\nendpoint = "http://127.0.0.1:9"\n'
    )
    where = ("--site", str(site), "--dir", str(home.place / "r"), "--deadline", "12h")
    done = home.whesl("run", str(home.flow), *where)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "the plan costs" in done.stderr and "--budget" in done.stderr and "--yes" in done.stderr
    assert not (home.place / "r").exists()
    for agreed in ("--yes", "--budget=1000"):  # it goes on to a cloud that is not there
        done = home.whesl("run", str(home.flow), *where, agreed)
        assert done.returncode not in (0, 2), (done.stdout, done.stderr)
        assert "there is no budget" not in done.stderr
    done = home.whesl("measure", str(home.flow), "--site", str(site), "--dir", str(home.place / "m"))
    assert done.returncode == 2 and "costs up to" in done.stderr, (done.stdout, done.stderr)
    assert "there is no budget" in done.stderr and not (home.place / "m").exists()


STUDY = """\
description: {name: sweep, description: files in workspaces}
study:
  - name: make
    description: m
    run: {cmd: "sh $(SPECROOT)/tool.sh $(N) > out; mkdir -p d; cp out d/x", nodes: 1}
  - name: twice
    description: t
    run: {cmd: "cat $(make.workspace)/d/x $(make.workspace)/out > both", depends: [make]}
  - name: all
    description: a
    run: {cmd: "$(LAUNCHER) cat $(twice.workspace)/*/both > all", depends: ["twice_*"]}
global.parameters:
  N: {values: [1, 2, 3], label: "N.%%"}
"""
TABLE = """\
[[stage]]
name = "make"
tasks = 3
seconds = 5
command = ["./tool.sh", "{index}"]
reads = ["tool.sh"]
writes = ["out-{index}"]
[[stage]]
name = "all"
tasks = 1
seconds = 5
after_all = ["make"]
command = ["sh", "-c", "cat out-0 out-1 out-2 > all"]
writes = ["all"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("study", alike([True, False]))
def test_a_study_and_a_table_are_measured_planned_and_run(
    tmp_path: Path, cluster: Cluster, study: bool
) -> None:
    """One reader for the three commands; a study's steps read each other's workspaces on both sides."""
    home = Home.__new__(Home)
    home.place = tmp_path
    site = tmp_path / "cloud.toml"
    site.write_text(cloud_run.SITE.format(cluster=cluster.path, capacity=4))
    flow = tmp_path / ("flow.yaml" if study else "flow.toml")
    flow.write_text(STUDY if study else TABLE)
    data = tmp_path / "data"
    data.mkdir()
    tool = (tmp_path if study else data) / "tool.sh"
    tool.write_text('#!/bin/sh\necho "made $1"' + ("" if study else ' > "out-$1"') + "\n")
    tool.chmod(0o700)
    shared = ("--site", str(site), "--data", str(data))
    profile = tmp_path / "m" / "profile.json"
    types = ("--platforms", "c5a.4xlarge", "--sample", "100%")
    done = home.whesl("measure", str(flow), *types, *shared, "--dir", str(tmp_path / "m"))
    assert done.returncode == 0, done.stderr
    made = [one for one in json.loads(profile.read_text())["measurements"] if one["stage"] == "make"]
    assert {one["platform"] for one in made} == {"cluster", "c5a.4xlarge"}
    assert all(one["input_bytes"] > 0 and one["output_bytes"] > 0 for one in made)
    known = ("--profile", str(profile))
    done = home.whesl("plan", str(flow), "--deadlines", "6h", "--free", "1", *known)
    assert done.returncode == 0, done.stderr
    done = home.whesl(
        "run", str(flow), "--deadline", "300s", "--hour", "60", "--free", "1", *known, *shared, "--dir",
        str(tmp_path / "r"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["done"] == json.loads(done.stdout)["tasks"]
    if study:
        # A funnel's step uses no parameter of its own.
        assert (data / "all" / "all").read_text() == "".join(f"made {n}\n" * 2 for n in (1, 2, 3))
    else:
        assert (data / "all").read_text() == "".join(f"made {n}\n" for n in range(3))
