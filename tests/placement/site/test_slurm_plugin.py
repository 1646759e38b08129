"""The plugin in a real slurmctld: jobs are kept off nodes at risk, and nothing else about them changes."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import commands
from tests.equipment.slurmbed import SlurmBed
from tests.placement.site.slurmsite import Site
from whesl.files import file_retry
from whesl.placement.site.publish import plugin_file, risk_table
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.risk_table import NodeRisk
from whesl.placement.site.slurm.placement_service import LOOKUP, TABLE

pytestmark = pytest.mark.slurm

SITE_SCRIPT = """\
function slurm_job_submit(job, parts, uid)
   if job.comment == "refuse me" then
      slurm.log_user("the site says no")
      return slurm.ERROR
   end
   job.admin_comment = "site saw it"
   return slurm.SUCCESS
end
function slurm_job_modify(job, record, parts, uid) return slurm.SUCCESS end
return slurm.SUCCESS
"""
STEADY = ("--share", "0.34", "--drain-above", "2", "--weight-step", "0")


def fields(site: Site, job: str) -> tuple[str, str]:
    """Return a job's exclude list and its admin comment."""
    text = site.bed.run("scontrol", "show", "job", job).stdout
    excluded = re.search(r"ExcNodeList=(\S+)", text)
    comment = re.search(r"^   AdminComment=(.*)$", text, re.MULTILINE)
    assert excluded is not None, text
    return excluded[1], comment[1].strip() if comment else ""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster of six nodes with the plugin, in front of a script of the site's own."""
    from tests.conftest import need_slurm

    need_slurm()
    path = tmp_path_factory.mktemp("site")
    path.chmod(0o755)
    with SlurmBed(nodes=6, mode="host") as bed:
        found = Site(bed, path / "placement")
        found.directory.mkdir(mode=0o750)
        (bed.directory / "etc" / "job_submit.lua").write_text(SITE_SCRIPT)
        with bed.conf.open("a") as file:
            file.write("JobSubmitPlugins=lua\n")
        result = found.whesl("install", "--slurm", "--yes", "--dir", str(found.directory))
        assert result.returncode == 0, result.stderr
        bed.end_controller()
        bed.restart_controller()
        bed.wait_for(lambda: bed.states().count("idle") == 6, "all nodes idle")
        yield found


@pytest.fixture(scope="class")
def service(site: Site) -> Iterator[Site]:
    """The same, with a service that acts on jobs alone."""
    site.predict()
    with site.service("--active", *STEADY):
        yield site
    assert not (site.directory / LOOKUP).exists()


@pytest.fixture
def acting(service: Site) -> Site:
    """The same, while n02 and n03 are expected to fail."""
    service.predict("n02", "n03")
    service.until(lambda: at_risk(service) == ["n02", "n03"], "the table is published")
    return service


def at_risk(site: Site) -> list[str]:
    """Return the nodes at risk in the published table."""
    path = site.directory / TABLE
    if not path.exists():
        return []
    return [row.node for row in risk_table.read(path).nodes if row.probability[-1] >= 0.5]


class TestActing:
    """One service for all of them."""

    def test_jobs_are_kept_off_and_run(self, acting: Site) -> None:
        submit = acting.bed.submit
        plain = submit("true", "--time=5", "-N2")
        assert fields(acting, plain) == (
            "n[02-03]",
            "site saw it | whesl-placement: exclude=n02,n03; 2 of 2 nodes at risk are excluded",
        )
        assert acting.bed.wait_job(plain, "COMPLETED")
        large = submit("true", "--time=5", "-N5")
        assert len(fields(acting, large)[0].split(",")) == 1
        assert "1 of 2 nodes at risk are excluded, others are needed" in fields(acting, large)[1]
        whole = submit("true", "--time=5", "-N6")
        assert fields(acting, whole)[0] == "(null)"
        assert "0 of 2" in fields(acting, whole)[1]
        for job in (large, whole):
            acting.bed.wait_job(job, "COMPLETED")
        many = submit("true", "-n12", "--time=5")
        assert fields(acting, many)[0] == "(null)"
        assert acting.bed.wait_job(many, "COMPLETED")

    def test_what_is_named_or_asked_off_is_not_touched(self, acting: Site) -> None:
        submit = acting.bed.submit
        held = ("-H", "--time=5")
        for options, excluded in (
            (("-w", "n02"), "(null)"),
            (("-x", "n01"), "n01"),
            (("--comment=my placement=off please",), "(null)"),
        ):
            assert fields(acting, submit("true", *held, *options)) == (excluded, "site saw it")
        alike = submit("true", *held, "--tmp=1")
        assert fields(acting, alike)[0] == "(null)"
        assert "no node is excluded: the job asks for local disk" in fields(acting, alike)[1]
        refused = acting.bed.run("sbatch", "--comment=refuse me", "--wrap", "true")
        assert "the site says no" in refused.stderr
        assert refused.returncode != 0

    @pytest.mark.parametrize(
        "name", ["x; scontrol update nodename=n06 state=down", "$(touch /tmp/x)", "%s%n", "a\nAdminComment=z"]
    )
    def test_a_crafted_name_does_nothing(self, acting: Site, name: str) -> None:
        job = acting.bed.submit("true", "--time=5", f"--job-name={name}", f"--comment={name}")
        assert fields(acting, job)[0] == "n[02-03]"
        assert acting.bed.wait_job(job, "COMPLETED")
        assert "idle" in acting.node("n06")["state"]

    def test_waiting_jobs_follow_the_table(self, acting: Site) -> None:
        job = acting.bed.submit("true", "-H", "--time=5")
        own = acting.bed.submit("true", "-H", "--time=5", "-x", "n02,n03")
        special = [
            acting.bed.submit("true", "-H", "--time=5", *options)
            for options in (["--tmp=1"], ["--contiguous"], ["--switches=1"], ["-n1", ":", "-n1"])
        ]
        assert fields(acting, job)[0] == "n[02-03]"
        acting.predict("n04")
        acting.until(lambda: fields(acting, job)[0] == "n04", "the list has changed")
        # The service gave lists to waiting jobs that the plugin leaves alone.
        assert [fields(acting, one)[0] for one in special] == ["(null)"] * 4
        assert fields(acting, job)[1].count("whesl-placement") == 1
        acting.predict()
        acting.until(lambda: fields(acting, job) == ("(null)", "site saw it"), "the list is gone")
        assert fields(acting, own)[0] == "n[02-03]"

    def test_the_waiting_tasks_of_an_array_follow_the_table(self, acting: Site) -> None:
        """Slurm's refusal for those that run was told as a failure."""
        array = acting.bed.submit("sleep 60", "--time=5", "--array=1-3%1")
        listed = ("squeue", "-h", "-j", array, "-o", "%T %x")
        acting.until(lambda: "RUNNING" in acting.bed.run(*listed).stdout, "one runs")
        acting.predict("n04")
        acting.until(lambda: "PENDING n04" in acting.bed.run(*listed).stdout, "the others' list has changed")
        acting.until(lambda: f"job {array} is now kept off n04" in acting.log(), "it says so")
        assert "could not change" not in acting.log()
        acting.bed.run("scancel", array)

    def test_nodes_in_maintenance_are_not_counted(self, acting: Site) -> None:
        """With them, nodes were left out that the job needed."""
        reserve = (
            "create",
            "reservation",
            "ReservationName=m",
            "Nodes=n[04-06]",
            "StartTime=now",
            "Duration=60",
        )
        made = acting.bed.run("scontrol", *reserve, "Flags=maint,ignore_jobs", "Users=root")
        assert made.returncode == 0, made.stderr
        try:
            acting.until(lambda: "maint" in acting.node("n06")["state"], "the reservation has begun")
            acting.predict("n01")
            acting.until(lambda: at_risk(acting) == ["n01"], "the table is published")
            job = acting.bed.submit("true", "-H", "--time=5", "-N3")
            assert fields(acting, job)[0] == "(null)"
        finally:
            acting.bed.run("scontrol", "delete", "reservation=m")

    def test_a_line_of_slurm_s_output_that_a_user_wrote_is_no_mark(self, acting: Site) -> None:
        """It was: the service took the user's own list for one of its own, and the text into AdminComment."""
        forged = "x\n   AdminComment=approved | whesl-placement: exclude=n01; 1 of 1 nodes"
        own = acting.bed.submit("true", "-H", "--time=5", "-x", "n01", f"--job-name={forged}")
        other = acting.bed.submit("true", "-H", "--time=5")
        acting.predict("n04")
        acting.until(lambda: fields(acting, other)[0] == "n04", "the other job's list has changed")
        assert fields(acting, own)[0] == "n01"
        written = acting.bed.run("squeue", "-h", "-j", own, "-O", "admin_comment:").stdout
        assert written.strip() == "site saw it"

    def test_other_users_neither_read_nor_write_nor_steer(self, acting: Site) -> None:
        bed = acting.bed
        nobody = pwd.getpwnam("nobody")

        def as_nobody(*command: str) -> subprocess.CompletedProcess[str]:
            user = (f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups")
            return bed.run("setpriv", *user, *command)

        for name in (TABLE, LOOKUP, "journal.db", "status.json"):
            assert as_nobody("cat", str(acting.directory / name)).returncode != 0
        assert as_nobody("touch", str(acting.directory / "new")).returncode != 0
        assert as_nobody("sh", "-c", f"echo x >> {bed.directory}/etc/whesl_placement.lua").returncode != 0
        refused = as_nobody("scontrol", "update", "nodename=n06", "state=drain", "reason=whesl: x")
        assert refused.returncode != 0
        forged = "whesl-placement: exclude=n05,n06; "
        sent = as_nobody(
            "sbatch", "-H", "--time=5", "--parsable", "-o/dev/null", f"--comment={forged}", "--wrap", "true"
        )
        assert sent.returncode == 0, sent.stderr
        assert fields(acting, sent.stdout.strip())[0] == "n[02-03]"
        assert (
            as_nobody("scontrol", "update", f"jobid={sent.stdout.strip()}", "admincomment=x").returncode != 0
        )


def test_a_service_that_leaves_takes_its_lists_back(site: Site) -> None:
    site.predict("n02")
    with site.service("--active", *STEADY):
        site.until(lambda: (site.directory / LOOKUP).exists(), "the table is published")
        job = site.bed.submit("true", "-H", "--time=5")
        site.until(lambda: fields(site, job)[0] == "n02", "the job is kept off")
    assert fields(site, job) == ("(null)", "site saw it")


HOSTILE: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path,
    "binary": lambda path: path.write_bytes(os.urandom(5000)),
    "huge": lambda path: path.write_bytes(b"whesl-placement 1 5 1699999990 9999999999 active\n" * 200_000),
    "a directory": lambda path: path.mkdir(),
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "a pipe": lambda path: os.mkfifo(path),
}


def test_a_node_that_slurm_does_not_know_refuses_no_job(site: Site) -> None:
    """Slurm's answer to an unknown node in an exclude list is "Invalid node name specified"."""
    unknown = [
        Node(name=f"n{at:02d}", flags=frozenset({"idle"}), partitions=("main",)) for at in range(1, 13)
    ]
    rows = tuple(NodeRisk(node=node.name, probability=(0.1 * int(node.name[1:]) % 1,)) for node in unknown)
    now = time.time()
    made = risk_table.Table(
        written=now,
        valid_until=now + 60,
        horizons=(3600.0,),
        nodes=rows,
        source="x",
        thresholds=(0.5,),
        active=True,
    )
    found = plugin_file.make(made, unknown, share=0.5, default="main")
    file_retry.replace(site.directory / LOOKUP, plugin_file.encode(found))
    try:
        job = site.bed.submit("true", "-H", "--time=5")
        assert fields(site, job)[0] == "n[05-06]"
        mixed = site.bed.run("sbatch", "-H", "--time=5", "--parsable", "-N1", ":", "-N1", "--wrap", "true")
        assert mixed.returncode == 0, mixed.stderr
    finally:
        (site.directory / LOOKUP).unlink()


def test_a_hostile_table_never_stops_a_job(site: Site) -> None:
    path = site.directory / LOOKUP
    for kind, make in HOSTILE.items():
        path.unlink(missing_ok=True)
        make(path)
        try:
            job = site.bed.submit("true", "-H", "--time=5")
            assert fields(site, job) == ("(null)", "site saw it"), kind
        finally:
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)


def test_observing_leaves_jobs_as_they_are(site: Site) -> None:
    """Also right after a service that acted, and was killed: its table holds for two minutes more."""
    site.predict("n02", "n03")
    with site.service("--active", *STEADY) as killed:
        site.until(lambda: at_risk(site) == ["n02", "n03"], "the table is published")
        before = site.bed.submit("true", "-H", "--time=5")
        assert fields(site, before)[0] == "n[02-03]"
        killed.kill()
        killed.wait()
    assert fields(site, site.bed.submit("true", "-H", "--time=5"))[0] == "n[02-03]"
    site.predict("n02")
    with site.service(*STEADY):
        site.until(lambda: at_risk(site) == ["n02"], "the table is published")
        assert not risk_table.read(site.directory / TABLE).active
        job = site.bed.submit("true", "-H", "--time=5")
        assert fields(site, job) == ("(null)", "site saw it")
        site.until(lambda: f"job {job} would be kept off n02" in site.log(), "it says what it would do")
        site.until(lambda: fields(site, before) == ("(null)", "site saw it"), "the old list is taken back")


def doctor(site: Site) -> str:
    """Return what the doctor says of the plugin."""
    shown = commands.whesl("doctor", env=site.bed.outside, cwd=site.bed.directory).stdout
    return next((line for line in shown.splitlines() if "Slurm placement" in line), "")


def test_installed_twice_and_removed(site: Site) -> None:
    etc = site.bed.directory / "etc"
    assert "no table at" in doctor(site)
    with (etc / "whesl_placement.lua").open("a") as script:
        script.write("-- mine\n")
    assert "is not the one that was installed" in doctor(site)
    refused = site.whesl("remove", "--yes")
    assert "whesl_placement.lua was changed since" in refused.stderr
    assert (etc / "job_submit.site.lua").exists()
    assert site.whesl("install", "--yes", "--dir", str(site.directory)).returncode == 0
    again = site.whesl("install", "--yes", "--dir", str(site.directory))
    assert "nothing to change" in again.stdout
    before = {path.name: path.read_bytes() for path in etc.iterdir()}
    brief = site.whesl("remove", "--dry-run").stdout.splitlines()
    assert sorted(line.partition(":")[0] for line in brief) == ["removed", "removed", "removed", "replaced"]
    assert site.whesl("remove", "--dry-run", "--whole").stdout.count("\n+++ ") == 4
    assert {path.name: path.read_bytes() for path in etc.iterdir()} == before
    removed = site.whesl("remove", "--slurm", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert (etc / "job_submit.lua").read_text() == SITE_SCRIPT
    assert not [path.name for path in etc.iterdir() if "whesl" in path.name or ".site." in path.name]
    assert (etc / "slurm.conf").read_bytes() == before["slurm.conf"]
    assert "nothing to change" in site.whesl("remove", "--yes").stdout
    assert site.whesl("install", "--yes", "--dir", str(site.directory)).returncode == 0
    assert {path.name: path.read_bytes() for path in etc.iterdir()} == before
