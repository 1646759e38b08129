"""Who may do what in Slurm with accounting, and the client's plugin, which users can read and go around."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.placement.site.slurmsite import Site
from whesl.placement.site.slurm.placement_service import LOOKUP

pytestmark = pytest.mark.slurm
ACCOUNT = "daemon"  # stands for the service's account: no rights but those that Slurm gives it
SITE_FILTER = """\
function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, offset)
   if options["job-name"] == "refused" then
      slurm.log_error("the site says no")
      return slurm.ERROR
   end
   return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, job, step) return slurm.SUCCESS end
return slurm.SUCCESS
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A cluster of four nodes with accounting; the service's Slurm commands run as its account."""
    need_slurm("dbd")
    with SlurmBed(nodes=4, mode="host", dbd=True) as bed:
        found = Site(bed, bed.directory / "site" / "placement")  # other users reach it
        found.directory.parent.mkdir(mode=0o755)
        found.directory.mkdir(mode=0o755)
        yield found


def shown(site: Site, job: str) -> dict[str, str]:
    """Return a job's exclude list and its comments, "" where there is none."""
    text = site.bed.run("scontrol", "show", "job", job).stdout
    lines = dict(re.findall(r"^   (Comment|AdminComment)=(.*)$", text, re.MULTILINE))
    excluded = re.search(r"ExcNodeList=(\S+)", text)
    assert excluded is not None, text
    lines = {name: said.strip() for name, said in lines.items()}
    return {"Comment": "", "AdminComment": "", **lines, "excluded": excluded[1].replace("(null)", "")}


def test_operators_remove_lists_and_administrators_change_nodes(site: Site, tmp_path: Path) -> None:
    """What Slurm lets an account do decides what the service does; it says what it could not."""
    bed = site.bed
    manage = ("sacctmgr", "-i")
    assert bed.run(*manage, "add", "user", ACCOUNT, "account=test", "adminlevel=operator").returncode == 0
    # Nobody else may; an operator may not change nodes or comments, and may change lists.
    update = ("scontrol", "update")
    for user in ("nobody", ACCOUNT):
        refused = site.as_user(user, *update, "nodename=n04", "weight=7")
        assert refused.returncode != 0, user
    job = bed.submit("true", "-H", "--time=5", "-x", "n02")
    mark = "whesl-placement: exclude=n02; 1 of 1 nodes at risk are excluded"
    assert bed.run(*update, f"jobid={job}", f"admincomment={mark}").returncode == 0
    assert site.as_user("nobody", *update, f"jobid={job}", "excnodelist=n03").returncode != 0

    wrapped = tmp_path / "bin"
    wrapped.mkdir()
    for name in ("scontrol", "sinfo", "squeue"):
        real = bed.run("sh", "-c", f"command -v {name}").stdout.strip()
        (wrapped / name).write_text(
            f'#!/bin/sh\nexec setpriv --reuid={ACCOUNT} --regid={ACCOUNT} --clear-groups {real} "$@"\n'
        )
        (wrapped / name).chmod(0o755)
    site.environment["PATH"] = f"{wrapped}:{site.environment['PATH']}"
    try:
        site.predict("n03")
        with site.service("--active", "--share", "0.5", "--drain-above", "2"):
            site.until(lambda: not shown(site, job)["excluded"], "the operator's service removed a list")
            site.until(lambda: "n03" in site.status().problem, "it says what it could not do")
            assert "Invalid user id" in site.log()
            site.await_untouched("n03")
            # What Slurm has refused is not counted as changed.
            told = site.status()
            assert [one for one in told.held if one[0] == "n03"] == []
            assert {(node, what) for node, what, _ in told.refused} == {("n03", "weight"), ("n03", "feature")}
            assert not any(name.endswith(" made") for name in told.figures if "jobs" not in name)
            raised = (*manage, "modify", "user", ACCOUNT, "set", "adminlevel=administrator")
            assert bed.run(*raised).returncode == 0
            site.wait("n03", weight="3001", features="whesl_at_risk")
            site.until(lambda: not site.status().refused, "nothing is refused any more")
            assert site.status().figures["weight made"] == 1
        site.await_untouched("n03")
    finally:
        site.environment["PATH"] = site.environment["PATH"].partition(":")[2]


def test_the_client_s_plugin_keeps_users_jobs_off_and_lets_them_go_around(site: Site) -> None:
    bed, etc = site.bed, site.bed.directory / "etc"
    (etc / "cli_filter.lua").write_text(SITE_FILTER)
    with bed.conf.open("a") as file:
        file.write("CliFilterPlugins=lua\n")
    done = site.whesl("install", "--slurm", "--cli-filter", "--yes", "--dir", str(site.directory))
    assert done.returncode == 0, done.stderr
    site.predict("n02", "n03")
    held = ("-H", "--time=5", "--output=/dev/null")

    def submitted(*options: str) -> dict[str, str]:
        sent = site.as_user("nobody", "sbatch", "--parsable", *held, *options, "--wrap", "true")
        assert sent.returncode == 0, sent.stderr
        return shown(site, sent.stdout.strip())

    steady = ("--share", "0.5", "--drain-above", "2", "--weight-step", "0", "--readable")
    with site.service("--active", *steady):
        site.until(lambda: (site.directory / LOOKUP).exists(), "the table is published")
        found = submitted("-N1")
        assert found["excluded"] == "n[02-03]"
        assert found["Comment"].startswith("whesl-placement: exclude=n02,n03; 2 of 2 nodes at risk")
        assert submitted("-N3")["excluded"] in ("n02", "n03")
        mine = submitted("-N1", "--comment=my own")
        assert (mine["excluded"], mine["Comment"]) == ("n[02-03]", "my own")
        for around, excluded in (("--comment=placement=off", ""), ("-xn01", "n01"), ("-wn02", "")):
            assert submitted("-N1", around)["excluded"] == excluded
        for name in ("$(touch /tmp/x)", "x; reboot", "%s%n"):
            assert submitted("-N1", f"--job-name={name}")["excluded"] == "n[02-03]"
        refused = site.as_user("nobody", "sbatch", *held, "--job-name=refused", "--wrap", "true")
        assert refused.returncode != 0
        assert "the site says no" in refused.stderr
        ran = site.as_user("nobody", "srun", "-N1", "-D/tmp", "--time=1", "hostname")
        assert ran.returncode == 0, ran.stderr
        assert bed.run("sh", "-c", "squeue -h -t all -n hostname -o %x | tail -1").stdout != "\n"
    assert submitted("-N1")["excluded"] == ""
    removed = site.whesl("remove", "--slurm", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert (etc / "cli_filter.lua").read_text() == SITE_FILTER
