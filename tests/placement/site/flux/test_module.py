"""The scheduler module in a real Flux instance: the policy's order, reasons, loading and removing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed
from tests.placement.site.flux.tables import publish
from tests.waiting import until
from whesl.model.errors import RefusedError, UsageError, WheslError
from whesl.placement.site import plugin_paths
from whesl.placement.site.flux import module_loading
from whesl.placement.site.flux.module_loading import Options

pytestmark = pytest.mark.flux
NODES = ("n01", "n02", "n03", "n04")
BAD = {"n01": 0.9, "n02": 0.001, "n03": 0.8, "n04": 0.002}


@pytest.fixture(scope="module")
def instance() -> Iterator[FluxBed]:
    """An instance of four nodes for this module; skips where Flux's Python cannot import WHESL."""
    need_flux()
    with FluxBed(4, cores=4) as bed:
        try:
            module_loading.check(
                Options(predictions=str(publish(bed.directory / "any.json", BAD))), bed.outside
            )
        except WheslError as error:
            pytest.skip(error.message)
        yield bed


@pytest.fixture
def bed(instance: FluxBed) -> Iterator[FluxBed]:
    """The instance with Flux's own scheduler and no jobs."""
    yield instance
    instance.run("flux", "cancel", "--all")
    instance.run("flux", "queue", "drain", "--timeout=30")
    module_loading.remove(instance.outside)


def submit(bed: FluxBed, *words: str) -> str:
    done = bed.run("flux", "submit", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def told(bed: FluxBed, job: str, field: str) -> str:
    return bed.run("flux", "jobs", "-no", f"{{{field}}}", job).stdout.strip()


def started(bed: FluxBed, *words: str) -> tuple[str, str]:
    """Submit a job, wait for its start, or a short one's end, and return its ranks and the reason."""
    job = submit(bed, *words)
    bed.run("flux", "job", "wait-event", "--timeout=30", job, "clean" if words[-1] == "true" else "start")
    until(lambda: told(bed, job, "annotations.sched.placement"), "the job has an annotation", 60)
    return told(bed, job, "ranks"), told(bed, job, "annotations.sched.placement")


def test_jobs_get_the_ranks_of_least_risk_and_say_why(bed: FluxBed, tmp_path: Path) -> None:
    done = module_loading.load(
        Options(predictions=str(publish(tmp_path / "t.json", BAD)), acts=True), bed.outside
    )
    assert done.instead == "sched-simple"
    ranks, why = started(bed, "-N2", "-x", "-t", "1h", "true")
    assert ranks == "[1,3]"
    assert why == "avoids n01: fails within 1.0 h with probability 0.003 instead of 0.9; n01: fans"
    # A user's own wish comes first: only the order of what is left is the policy's.
    ranks, why = started(bed, "-N1", "-x", "-t", "1h", "--requires=host:n01", "true")
    assert ranks == "0"
    assert why.endswith("as in Flux's own order")
    # Within a node too, and without a limit.
    assert started(bed, "-n1", "true")[0] == "1"


def test_observing_gives_flux_s_ranks_and_says_what_it_would_have_done(bed: FluxBed, tmp_path: Path) -> None:
    module_loading.load(Options(predictions=str(publish(tmp_path / "t.json", BAD))), bed.outside)
    ranks, why = started(bed, "-N2", "-x", "-t", "1h", "true")
    assert ranks == "[0-1]"
    assert why.startswith("would avoid n01: fails within 1.0 h with probability 0.003 instead of 0.9")
    stats = module_loading.stats(bed.outside)
    assert (stats["placed"], stats["differently"], stats["failed"]) == (1, 1, 0)


def test_nodes_that_are_alike_stay_in_flux_s_order_and_nobody_waits(bed: FluxBed, tmp_path: Path) -> None:
    table = publish(tmp_path / "t.json", dict.fromkeys(NODES, 0.4))
    module_loading.load(Options(predictions=str(table), acts=True, wait=3600.0), bed.outside)
    for words in (("-N2", "-x", "-t", "1h"), ("-N2", "-x"), ("-N2", "-x", "-t", "7d")):
        ranks, why = started(bed, *words, "true")
        assert ranks == "[0-1]" and why.endswith("as in Flux's own order")
    stats = module_loading.stats(bed.outside)
    assert (stats["placed"], stats["differently"], stats["held"]) == (3, 0, 0)


@pytest.mark.parametrize("queue", ["fifo", "backfill"])
def test_a_job_waits_for_better_ranks_and_no_longer_than_it_may(
    bed: FluxBed, tmp_path: Path, queue: str
) -> None:
    table = publish(tmp_path / "t.json", BAD)
    options = Options(predictions=str(table), acts=True, queue=queue, wait=3600.0)
    module_loading.load(options, bed.outside)
    gate = tmp_path / "gate"
    until_gate = ("sh", "-c", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    assert started(bed, "-N2", "-n2", "-x", "-t", "5m", *until_gate)[0] == "[1,3]"
    # It would lose half an hour in the mean on what is free now, and waits five minutes at most.
    waiting = submit(bed, "-N1", "-x", "-t", "1h", "true")
    until(
        lambda: "waits for better nodes" in told(bed, waiting, "annotations.sched.placement"), "it waits", 60
    )
    # One that loses less than it would wait does not.
    if queue == "backfill":
        assert started(bed, "-N1", "-x", "-t", "2m", "true")[0] == "2"
    assert told(bed, waiting, "state") == "SCHED"
    gate.touch()
    bed.run("flux", "job", "wait-event", "--timeout=30", waiting, "clean")
    assert told(bed, waiting, "ranks") == "1"
    assert "with probability 0.001" in told(bed, waiting, "annotations.sched.placement")
    assert module_loading.stats(bed.outside)["held"] == 1
    # Nobody waits for longer than the option allows.
    gate.unlink()
    module_loading.load(msgspec.structs.replace(options, wait=60.0), bed.outside)
    assert started(bed, "-N2", "-n2", "-x", "-t", "5m", *until_gate)[0] == "[1,3]"
    assert started(bed, "-N1", "-x", "-t", "1h", "true")[0] == "2"
    gate.touch()


def test_loading_and_removing_lose_no_job_and_running_ones_keep_their_ranks(
    bed: FluxBed, tmp_path: Path
) -> None:
    table = publish(tmp_path / "t.json", BAD)
    gate, ran = tmp_path / "gate", tmp_path / "ran"
    wait = f"while [ ! -e {gate} ]; do sleep 0.05; done; flux getattr rank; echo ok >>{ran}"
    first = submit(bed, "-N3", "-n3", "-x", "-t", "1h", "sh", "-c", wait)
    waiting = submit(bed, "-N2", "-x", "-t", "1h", "sh", "-c", f"echo ok >>{ran}")
    bed.run("flux", "job", "wait-event", "--timeout=30", first, "start")
    module_loading.load(Options(predictions=str(table), acts=True), bed.outside)
    # Three ranks are known as taken: what needs two waits, what needs one gets the fourth.
    ranks, _ = started(bed, "-N1", "-x", "-t", "1h", "--urgency=31", "sleep", "600")
    assert ranks == "3"
    assert told(bed, waiting, "state") == "SCHED"
    second = submit(bed, "-N1", "-x", "-t", "1h", "sh", "-c", f"echo ok >>{ran}")
    assert module_loading.remove(bed.outside) == "sched-simple"
    assert module_loading.scheduler(bed.outside) == "sched-simple"
    assert told(bed, first, "state") == "RUN"
    gate.touch()
    for job in (first, waiting, second):
        assert bed.run("flux", "job", "status", job).returncode == 0
    assert ran.read_text().split() == ["ok"] * 6


def test_bad_predictions_leave_what_was_known_and_the_instance_lives(bed: FluxBed, tmp_path: Path) -> None:
    """A scheduler module that fails takes its instance, with all jobs, down with it (flux-core 0.88)."""
    table = publish(tmp_path / "t.json", BAD)
    module_loading.load(Options(predictions=str(table), acts=True), bed.outside)
    for content in (b"", b'{"written": 1, "nodes": [', b"PK\x03\x04 is no model", b"\0" * 100_000, None):
        if content is None:
            table.unlink()
        else:
            table.write_bytes(content)

        def looked() -> str:
            ranks, _ = started(bed, "-N1", "-x", "true")
            assert ranks == "1"
            return str(module_loading.stats(bed.outside)["problem"])

        assert str(table) in until(looked, f"{content!r} was looked at", 60)
    publish(table, BAD, valid_for=-1)
    until(lambda: started(bed, "-N1", "-x", "true")[0] == "0", "the expired table counts no more", 60)
    assert module_loading.stats(bed.outside)["failed"] == 0


def test_what_cannot_work_is_refused_before_anything_is_changed(bed: FluxBed, tmp_path: Path) -> None:
    table = publish(tmp_path / "t.json", BAD)
    with pytest.raises(UsageError, match="cannot read"):
        module_loading.load(Options(predictions=str(tmp_path / "none")), bed.outside)
    with pytest.raises(WheslError, match="Flux's Python cannot run the scheduler module"):
        module_loading.load(Options(predictions=str(table), packages=str(tmp_path)), bed.outside)
    assert module_loading.scheduler(bed.outside) == "sched-simple"
    assert started_plainly(bed) == "0"


def started_plainly(bed: FluxBed) -> str:
    job = submit(bed, "-N1", "-x", "true")
    bed.run("flux", "job", "wait-event", "--timeout=30", job, "clean")
    return told(bed, job, "ranks")


def test_arguments_that_are_not_accepted_are_refused_at_loading(bed: FluxBed, tmp_path: Path) -> None:
    words = module_loading.arguments(Options(predictions=str(publish(tmp_path / "t.json", BAD))), "fifo")
    file = str(plugin_paths.find("flux/sched-whesl.py"))
    assert bed.run("flux", "module", "remove", "sched-simple").returncode == 0
    try:
        for argument in ("mode=maybe", "queue=lottery", "horizon=soon", "nonsense=1", "predictions="):
            assert bed.run("flux", "module", "load", file, *words, argument).returncode != 0
    finally:
        assert bed.run("flux", "module", "load", "sched-simple").returncode == 0
    assert started_plainly(bed) == "0"


def test_in_an_instance_of_a_user_s_own_nobody_else_is_asked(bed: FluxBed, tmp_path: Path) -> None:
    table = publish(tmp_path / "t.json", BAD)
    inner = {**bed.outside, **bed.nested(4)}
    done = module_loading.load(Options(predictions=str(table), acts=True, queue="backfill"), inner)
    assert (done.instead, done.queue) == ("sched-simple", "backfill")
    flux = shutil.which("flux") or "flux"
    said = subprocess.run(
        [flux, "submit", "-N1", "-x", "-t", "1h", "--wait", "true"], env=inner, capture_output=True, text=True
    )
    assert said.returncode == 0, said.stderr
    found = subprocess.run([flux, "jobs", "-a", "--json"], env=inner, capture_output=True, text=True)
    (job,) = json.loads(found.stdout)["jobs"]
    assert job["nodelist"] == "n02"
    assert job["annotations"]["sched"]["placement"].startswith("avoids n01: ")


def test_a_scheduler_of_the_site_s_own_is_left_alone(bed: FluxBed, tmp_path: Path) -> None:
    """A scheduler whose queue the module does not have is left alone."""
    bed.run("flux", "module", "remove", "sched-simple")
    copy = tmp_path / "sched-of-the-site.py"
    own = (
        Path(plugin_paths.find("flux/sched-whesl.py"))
        .read_text()
        .replace("ordered(type(pool))", "type(pool)")
    )
    copy.write_text(own)
    words = module_loading.arguments(Options(predictions=str(publish(tmp_path / "t.json", BAD))), "fifo")
    assert bed.run("flux", "module", "load", str(copy), *words).returncode == 0
    try:
        with pytest.raises(RefusedError, match="sched-of-the-site"):
            module_loading.load(Options(predictions=str(tmp_path / "t.json")), bed.outside)
    finally:
        bed.run("flux", "module", "remove", "sched-of-the-site")
        bed.run("flux", "module", "load", "sched-simple")


def test_the_command_loads_says_how_it_goes_and_removes(bed: FluxBed, tmp_path: Path) -> None:
    table = publish(tmp_path / "t.json", BAD)

    def whesl(*words: str) -> str:
        command = [sys.executable, "-m", "whesl", "placement", "load", "--flux", *words]
        done = subprocess.run(command, env=bed.outside, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "sched-whesl loaded in the place of sched-simple, queue fifo: it observes" in whesl(str(table))
    assert "jobs get the policy's ranks" in whesl(str(table), "--act")
    assert started(bed, "-N1", "-x", "-t", "1h", "true")[0] == "1"
    status = whesl("--status")
    assert "the instance's scheduler is sched-whesl" in status
    assert "differently: 1" in status
    assert whesl("--remove") == "sched-whesl removed, sched-simple is back\n"
    assert whesl("--remove") == "sched-whesl was not loaded\n"
