"""Campaigns: the same results on any number of workers, resumed after a real kill, on a Dask cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet

from tests import commands
from tests.alike import alike
from tests.equipment.slurmbed import SlurmBed
from tests.processes import below, lives
from tests.waiting import until
from whesl.cli.lab import campaign_simulators
from whesl.lab.campaigns import plan, store, summary
from whesl.model.errors import UsageError

SIMULATORS = Path(__file__).parent / "simulators"
WHESL = Path(sys.executable).parent / "whesl"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SIMULATORS)}


def write(
    tmp_path: Path, more: str = "", over: str = 'policy = ["easy", "fcfs"], load = [0.5, 0.75, 1.0]'
) -> Path:
    file = tmp_path / "campaign.toml"
    file.write_text(
        'name = "waits"\nseed = 7\n\n[[part]]\nkind = "slow_draws"\nseeds = 2\n'
        f'fixed = {{ marks = "{tmp_path / "marks"}"{more} }}\nover = {{ {over} }}\n'
    )
    return file


def run(
    file: Path, out: Path, *options: str, check: bool = True, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    there = {**environment, "PYTHONPATH": str(SIMULATORS)}
    words = ("lab", "campaign", str(file), "--out", str(out), *options)
    if "--dask" in options:  # what Dask starts as it is imported is nothing for the tests' own process
        program = [str(WHESL), *words]
        done = subprocess.run(
            program, env=there, cwd=out.parent, capture_output=True, text=True, timeout=100, check=False
        )
    else:
        done = commands.whesl(*words, env=there, cwd=out.parent, timeout=100)
    assert "Traceback" not in done.stderr, done.stderr
    assert not check or done.returncode == 0, done.stderr
    return done


def files(out: Path) -> dict[str, bytes]:
    """Return the results that may not depend on who ran the cells, nor when."""
    return {
        path.name: path.read_bytes() for path in out.iterdir() if path.is_file() and path.name != "index.html"
    }


def ran(tmp_path: Path) -> list[str]:
    return sorted(path.name.rpartition("-")[0] for path in (tmp_path / "marks").iterdir())


@pytest.mark.costly
def test_results_are_the_same_on_any_number_of_workers(tmp_path: Path) -> None:
    file = write(tmp_path)
    run(file, tmp_path / "one", "--jobs", "1")
    run(file, tmp_path / "three", "--jobs", "3")
    assert files(tmp_path / "one") == files(tmp_path / "three")
    table = parquet.read_table(tmp_path / "one" / "results.parquet").to_pydict()
    assert table["policy"] == ["easy"] * 6 + ["fcfs"] * 6
    assert table["load"] == [0.5, 0.5, 0.75, 0.75, 1.0, 1.0] * 2
    assert table["seed"][:2] == table["seed"][2:4], "replicates have common random numbers"
    assert table["seed"][0] != table["seed"][1]
    assert {"results.csv", "means-slow_draws.md", "slow_draws-mean-wait.svg"} <= set(files(tmp_path / "one"))
    first = json.loads((tmp_path / "one" / "summary.json").read_text())["groups"][0]
    assert first["mean"]["mean_wait"] == pytest.approx(sum(table["mean_wait"][:2]) / 2)
    assert "12 of 12 simulations finished" in (tmp_path / "one" / "index.html").read_text()


@contextmanager
def begun(file: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [str(word) for word in (WHESL, "lab", "campaign", file, "--out", out, *options)]
    process = subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", alike(["2", "1"]))
def test_a_campaign_that_is_killed_goes_on_where_it_was(tmp_path: Path, jobs: str) -> None:
    """Killed with SIGKILL while a cell runs; what had finished is not run again; no process is left."""
    gate = tmp_path / "gate"
    file = write(tmp_path, f', gate = "{gate}", held = 1.0')
    out = tmp_path / "out"
    with begun(file, out, "--jobs", jobs) as process:
        until(lambda: len(list(out.glob("cells/*/*.json"))) == 4 and len(ran(tmp_path)) > 4, "four cells", 60)
        children = below(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not any(map(lives, children)), "no child", 60)
    finished = {path.name for path in out.glob("cells/*/*.json")}
    before = ran(tmp_path)
    gate.touch()
    done = run(file, out, "--jobs", jobs)
    assert f"{len(finished)} of 12 cells finished before" in done.stderr
    again = [name for name in ran(tmp_path) if ran(tmp_path).count(name) > 1]
    assert len(ran(tmp_path)) - len(before) == 12 - len(finished)
    assert len(set(again)) == len(before) - len(finished), "only what was under way ran twice"
    (tmp_path / "marks").rename(tmp_path / "killed")
    run(file, tmp_path / "whole", "--jobs", "1")
    assert files(tmp_path / "whole") == files(out)


@pytest.mark.costly
def test_a_command_of_the_lab_is_a_simulator(tmp_path: Path) -> None:
    """Its options are parameters, its summary's numbers are measures; a mistake in one stops no other."""
    (tmp_path / "graph.stg").write_text("2\n0 0 0\n1 10 1 0\n2 20 1 0\n3 0 2 1 2\n")
    file = tmp_path / "campaign.toml"
    file.write_text(
        '[[part]]\nkind = "workflow"\nfixed = { workflow = ["graph.stg"] }\n'
        'over = { policy = ["flaw", "fifo", "none-such"], nodes = [1, 2] }\n'
    )
    done = run(file, tmp_path / "out", "--jobs", "1", "--json", check=False)
    assert done.returncode == 1
    assert "'none-such' is not one of" in done.stderr
    summary = json.loads(done.stdout)
    found = {(group["policy"], group["nodes"]): group["mean"]["mean_makespan"] for group in summary["groups"]}
    assert found == {("flaw", 1): 30.0, ("flaw", 2): 20.0, ("fifo", 1): 30.0, ("fifo", 2): 20.0}


@pytest.mark.costly
def test_a_damaged_cell_is_run_again(tmp_path: Path) -> None:
    file = write(tmp_path)
    run(file, tmp_path / "out", "--jobs", "1")
    before = files(tmp_path / "out")
    cells = sorted((tmp_path / "out").glob("cells/*/*.json"))
    cells[3].write_bytes(cells[3].read_bytes()[:20])
    run(file, tmp_path / "out", "--jobs", "1")
    assert len(ran(tmp_path)) == 13
    assert files(tmp_path / "out") == before


def test_a_full_disk_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    """A file system of its own that is full; after some room was made the campaign goes on."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount here")
    try:
        filler = disk / "filler"
        filler.write_bytes(b"x" * 220 * 1024)
        file = write(tmp_path)
        done = run(file, disk / "out", "--jobs", "1", check=False)
        assert done.returncode == 1
        assert "No space left on device" in done.stderr
        kept = {path: path.read_bytes() for path in (disk / "out").glob("cells/*/*.json")}
        assert 0 < len(kept) < 12
        filler.unlink()
        run(file, disk / "out", "--jobs", "1")
        assert len(ran(tmp_path)) == 13, "only the cell that could not be written ran twice"
        assert all(path.read_bytes() == content for path, content in kept.items())
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_cell_that_cannot_run_stops_no_other(tmp_path: Path) -> None:
    """Whatever is wrong with a simulator of one's own, as it says itself, raises, or returns."""
    file = write(tmp_path, over='policy = ["faulty", "listed", "easy", "impossible"], load = [0.5]')
    done = run(file, tmp_path / "out", "--jobs", "1", "--json", check=False)
    assert done.returncode == 1
    assert "no policy 'impossible'" in done.stderr
    assert "slow_draws.cell: ZeroDivisionError: no load" in done.stderr
    assert "slow_draws.cell returns {'waits': [1.0, 2.0]}" in done.stderr
    assert json.loads(done.stdout)["finished"] == 2
    assert "could not run" in (tmp_path / "out" / "index.html").read_text()


def test_another_content_of_an_input_file_is_another_cell(tmp_path: Path) -> None:
    log = tmp_path / "log.stg"
    file = tmp_path / "c.toml"
    file.write_text(
        '[[part]]\nkind = "workflow"\nfixed = { workflow = "log.stg" }\nover = { policy = ["flaw"] }\n'
    )
    log.write_text("1")
    _, first = plan.read(file, campaign_simulators.files)
    assert first[0].parameters == {"workflow": str(log), "policy": "flaw"}
    assert first[0].shown == {"workflow": "log.stg", "policy": "flaw"}
    log.write_text("2")
    assert plan.read(file, campaign_simulators.files)[1][0].key != first[0].key
    log.write_text("1")
    assert plan.read(file, campaign_simulators.files)[1][0].key == first[0].key
    store.keep(tmp_path / "out", first[0], {"wait": 1.5}, 0.1)
    assert store.load(tmp_path / "out", first[0]) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "[[part]] is missing"),
        ("part = []", "no [[part]]"),
        ("[[part]]\nkind = 'sheduler'\n", ":2: no kind 'sheduler'"),
        ("[[part]]\nkind = 'workflow'\nseeds = 'x'\n", ":3: seeds is 'x': expected `int | array`"),
        ("[[part]]\nkind = 'workflow'\nsedes = 3\n", "'sedes' is not known here; 'seeds' is meant?"),
        ("seed = -1\n[[part]]\nkind = 'workflow'\n", ":1: seed is below 0"),
        ("[[part]]\nkind = 'workflow'\nseeds = 0\n", ":3: seeds is how many replicates"),
        ("[[part]]\nkind = 'workflow'\nseeds = [3, -1]\n", ":3: seeds is how many replicates"),
        ("[[part]]\nkind = 'workflow'\nfixed = { seed = 3 }\n", ":3: seed is no parameter"),
        ("[[part]\n", "no TOML: "),
        ("[[part]]\nkind = 'workflow'\nover = { policy = [] }\n", "an empty list"),
        (
            "[[part]]\nkind = 'workflow'\nfixed = { a = 1 }\nover = { a = [1] }\n",
            "a is in `fixed` and in `over`",
        ),
        ("[[part]]\nkind = 'workflow'\nfixed = { workflow = 'none.json' }\n", "none.json: No such file"),
        ("[[part]]\nkind = 'workflow'\n[[part]]\nkind = 'workflow'\n", "the same cell twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        plan.read(file, campaign_simulators.files)
    assert said in str(error.value)
    assert str(error.value).startswith((str(file), "cannot read"))


def test_intervals_are_of_students_t_for_any_number_of_replicates(tmp_path: Path) -> None:
    """From eleven replicates on the normal distribution stood for it, and intervals were too narrow."""
    cells = [plan.Cell("own", {}, {}, place, place, f"{place}") for place in range(12)]
    results = {cell.key: store.Result(cell.key, "0", {"x": float(cell.seed)}, 0.0) for cell in cells}
    summary.write(tmp_path, plan.Campaign([plan.Part(kind="own")]), cells, results, [])
    (group,) = json.loads((tmp_path / "summary.json").read_text())["groups"]
    assert group["half_interval"]["x"] == pytest.approx(2.20099 * 13**0.5 / 12**0.5, rel=1e-5)


def test_seeds_depend_on_the_replicate_alone() -> None:
    assert plan.derived(7, 0) == plan.derived(7, 0)
    assert len({plan.derived(seed, i) for seed in range(10) for i in range(10)}) == 100


@pytest.mark.slow
@pytest.mark.variant  # the workers of the test on Slurm are asked the same
def test_on_a_dask_cluster(tmp_path: Path) -> None:
    """A real scheduler and a real worker, each a process; the results are those of this machine."""
    scheduler_file = tmp_path / "scheduler.json"
    commands = [
        [str(WHESL.with_name("dask")), "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        [str(WHESL.with_name("dask")), "worker", "--nworkers", "2", "--nthreads", "1", "--no-dashboard"],
    ]
    processes = []
    try:
        for command in commands:
            words = [*command, "--scheduler-file", str(scheduler_file)]
            processes.append(
                subprocess.Popen(
                    words, env=ENVIRONMENT, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
            until(lambda: scheduler_file.exists() and scheduler_file.read_text(), "the scheduler", 60)
        address = json.loads(scheduler_file.read_text())["address"]
        file = write(tmp_path)
        run(file, tmp_path / "there", "--dask", address)
        pids = {path.read_text() for path in (tmp_path / "marks").iterdir()}
        workers = {str(child.pid) for child in below(processes[1].pid)}
        assert pids <= workers
        run(file, tmp_path / "here", "--jobs", "1")
        assert files(tmp_path / "there") == files(tmp_path / "here")
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(120)


@pytest.mark.slow
@pytest.mark.slurm
def test_on_a_real_slurm(tmp_path: Path, slurm_bed: Callable[..., SlurmBed]) -> None:
    """Workers are jobs; they are cancelled when the campaign is over."""
    bed = slurm_bed(nodes=2)
    own = {f"DASK_JOBQUEUE__SLURM__{key}": value for key, value in _JOBQUEUE.items()}
    file = write(tmp_path)
    run(file, tmp_path / "there", "--dask", "slurm:2", environment={**bed.environment, **own})
    assert len(ran(tmp_path)) == 12
    until(lambda: not bed.run("squeue", "-h", "-t", "running").stdout.strip(), "no worker is left", 60)
    run(file, tmp_path / "here", "--jobs", "1")
    assert files(tmp_path / "there") == files(tmp_path / "here")


_JOBQUEUE = {"CORES": "1", "MEMORY": "900MB", "QUEUE": "main", "WALLTIME": "00:05:00", "NAME": "campaign"}
