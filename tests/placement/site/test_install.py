"""The plugin put into configurations of all kinds, and taken out again: nothing of the site's is lost."""

from __future__ import annotations

import os
import pwd
import time
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.placement.site.slurmsite import Site
from whesl.files import file_retry
from whesl.managers.resource.slurm import slurm_command_output
from whesl.model.errors import WheslError
from whesl.placement.site.publish import plugin_file, risk_table
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.risk_table import NodeRisk
from whesl.placement.site.slurm import plugin_installation
from whesl.placement.site.slurm.placement_service import LOOKUP, private

PLAIN = "ClusterName=linux\nSlurmUser=root\nPluginDir={plugins}\n"
OWN = "function slurm_job_submit(job, parts, uid) return slurm.SUCCESS end\nreturn slurm.SUCCESS\n"


class Etc:
    """A directory of Slurm's configuration, with a library that stands for Slurm's."""

    def __init__(self, place: Path) -> None:
        self.here, self.service, self.plugins = place / "etc", place / "service", place / "lib"
        for directory in (self.here, self.service, self.plugins):
            directory.mkdir()
        for kind in (plugin_installation.SUBMIT, plugin_installation.FILTER):
            (self.plugins / kind.library).touch()
        self.conf = self.here / "slurm.conf"

    def write(self, text: str, name: str = "slurm.conf") -> Path:
        path = self.here / name
        path.write_text(text.replace("{plugins}", str(self.plugins)), newline="")
        return path

    def install(self, conf: Path | None = None, *, cli_filter: bool = False) -> tuple[str, ...]:
        found = plugin_installation.configuration(conf or self.conf, {})
        plan = plugin_installation.plan_install(found, self.service, cli_filter=cli_filter)
        if not plan.problems:
            plugin_installation.perform(plan)
            assert plugin_installation.plan_install(found, self.service, cli_filter=cli_filter).edits == ()
        return plan.problems

    def remove(self) -> tuple[str, ...]:
        plan = plugin_installation.plan_remove(plugin_installation.configuration(self.conf, {}))
        if not plan.problems:
            plugin_installation.perform(plan)
        return plan.problems

    def files(self) -> dict[str, bytes | str]:
        return {
            path.name: str(path.readlink()) if path.is_symlink() else path.read_bytes()
            for path in self.here.iterdir()
        }


@pytest.fixture
def etc(tmp_path: Path) -> Etc:
    return Etc(tmp_path)


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("", "JobSubmitPlugins=lua\n"),
        ("#JobSubmitPlugins=lua", "#JobSubmitPlugins=lua\nJobSubmitPlugins=lua\n"),
        ("  jobsubmitplugins = throttle # of ours\n", "  jobsubmitplugins = throttle,lua # of ours\n"),
        ('JobSubmitPlugins="throttle,defaults"\n', 'JobSubmitPlugins="throttle,defaults,lua"\n'),
        ("JobSubmitPlugins=throttle,\\\ndefaults\n", "JobSubmitPlugins=throttle,\\\ndefaults,lua\n"),
        ("JobSubmitPlugins=job_submit/throttle\n", "JobSubmitPlugins=job_submit/throttle,lua\n"),
        ("JobSubmitPlugins=throttle\r\n", "JobSubmitPlugins=throttle,lua\r\n"),
        ("JobSubmitPlugins=throttle,lua#\n", "JobSubmitPlugins=throttle,lua#\n"),
        ('JobSubmitPlugins="job_submit/lua"\n', 'JobSubmitPlugins="job_submit/lua"\n'),
        ("MailProg=/bin/true \\\n", "MailProg=/bin/true \\\n\nJobSubmitPlugins=lua\n"),
        ("JobSubmitPlugins=a\nJobSubmitPlugins=b\n", "JobSubmitPlugins=a\nJobSubmitPlugins=b,lua\n"),
    ],
)
def test_the_setting_takes_the_plugin_and_is_as_before_without_it(etc: Etc, line: str, after: str) -> None:
    etc.write(PLAIN + line)
    before = etc.files()
    assert etc.install() == ()
    assert etc.conf.read_bytes().decode().endswith(f"PluginDir={etc.plugins}\n{after}")
    assert etc.remove() == ()
    after_all = etc.files()
    assert after_all.keys() == before.keys()
    assert (
        after_all["slurm.conf"].strip() == before["slurm.conf"].strip()
    )  # it may end with a line's end more


@pytest.mark.parametrize(
    "include", ["include more.conf", "Include ./%c.conf # all", "  INCLUDE {here}/more.conf"]
)
def test_a_setting_in_an_included_file_is_changed_there(etc: Etc, include: str) -> None:
    etc.write(PLAIN + include.replace("{here}", str(etc.here)) + "\n")
    more = etc.write("JobSubmitPlugins=throttle\n", "linux.conf" if "%c" in include else "more.conf")
    before = etc.files()
    assert etc.install() == ()
    assert more.read_text() == "JobSubmitPlugins=throttle,lua\n"
    assert "JobSubmitPlugins" not in etc.conf.read_text()
    assert etc.remove() == ()
    assert etc.files() == before


def test_an_included_file_that_is_not_there_is_told(etc: Etc) -> None:
    """The setting may be in it: what is added to slurm.conf would take its place."""
    etc.write(PLAIN + "include gone.conf\n")
    with pytest.raises(WheslError, match=r"gone\.conf"):
        etc.install()


def test_a_linked_configuration_stays_a_link_and_the_scripts_lie_where_slurm_looks(etc: Etc) -> None:
    """Slurm looks beside the path that it was given, not beside what that is a link to."""
    managed = etc.here.parent / "managed"
    managed.mkdir()
    etc.write(PLAIN)
    etc.conf.rename(managed / "cluster.conf")
    etc.conf.symlink_to("../managed/cluster.conf")
    before, text = etc.files(), (managed / "cluster.conf").read_bytes()
    assert etc.install() == ()
    assert etc.conf.is_symlink()
    assert (managed / "cluster.conf").read_bytes() == text + b"JobSubmitPlugins=lua\n"
    assert (etc.here / "job_submit.lua").is_file()
    assert [path.name for path in managed.iterdir()] == ["cluster.conf"]
    assert etc.remove() == ()
    assert etc.files() == before
    assert (managed / "cluster.conf").read_bytes() == text


def test_a_linked_script_of_the_site_stays_a_link_and_what_it_names_is_not_written(etc: Etc) -> None:
    managed = etc.here.parent / "site.lua"
    managed.write_text(OWN)
    etc.write(PLAIN + "JobSubmitPlugins=lua\n")
    (etc.here / "job_submit.lua").symlink_to("../site.lua")
    before = etc.files()
    assert etc.install() == ()
    assert managed.read_text() == OWN
    assert str((etc.here / "job_submit.site.lua").readlink()) == "../site.lua"
    assert not (etc.here / "job_submit.lua").is_symlink()
    assert etc.remove() == ()
    assert etc.files() == before


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o750, 0o644])
def test_a_script_of_the_site_keeps_its_permissions_where_it_is_moved(etc: Etc, mode: int) -> None:
    """A script of mode 0600 was copied for all to read."""
    etc.write(PLAIN + "JobSubmitPlugins=lua\n")
    own = etc.here / "job_submit.lua"
    own.write_text(OWN)
    own.chmod(mode)
    assert etc.install() == ()
    moved = etc.here / "job_submit.site.lua"
    assert moved.read_text() == OWN and moved.stat().st_mode & 0o777 == mode
    assert etc.remove() == ()
    assert own.read_text() == OWN and own.stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("kind", [plugin_installation.SUBMIT, plugin_installation.FILTER])
@pytest.mark.parametrize("loaded", [True, False])
def test_a_script_that_slurm_does_not_load_is_not_switched_on(
    etc: Etc, kind: plugin_installation.Kind, loaded: bool
) -> None:
    """The site's old script lay beside slurm.conf, and ran for all jobs from then on."""
    etc.write(PLAIN + (f"{kind.setting}=lua\n" if loaded else "#JobSubmitPlugins=lua\n"))
    (etc.here / kind.script).write_text(OWN)
    before = etc.files()
    plan = plugin_installation.plan_install(
        etc.conf, etc.service, cli_filter=kind is plugin_installation.FILTER
    )
    assert bool(plan.notes) != loaded
    assert etc.install(cli_filter=kind is plugin_installation.FILTER) == ()
    # Only this name is run by the plugin's script.
    assert (etc.here / kind.moved).exists() == loaded
    assert (etc.here / kind.dormant).exists() != loaded
    assert kind.dormant not in (etc.here / kind.script).read_text()
    assert etc.remove() == ()
    assert etc.files() == before


def test_what_changes_is_seen_at_a_glance(etc: Etc) -> None:
    """One changed setting stood below 500 lines of scripts."""
    etc.write(PLAIN)
    (etc.here / "job_submit.lua").write_text(OWN)
    plan = plugin_installation.plan_install(etc.conf, etc.service, cli_filter=False)
    lines = plan.diff().splitlines()
    assert len(lines) < 15
    assert "+JobSubmitPlugins=lua" in lines
    for name in ("whesl_placement.lua", "job_submit.lua", "job_submit.dormant.lua", "whesl_placement.json"):
        assert any(f"/{name} (" in line for line in lines), name
    assert len(plan.diff(whole=True).splitlines()) > 100


@pytest.mark.skipif(os.getuid() != 0, reason="another account's directory is needed")
def test_a_directory_of_another_account_is_not_to_be_taken_from_it(tmp_path: Path) -> None:
    """`undo` as root advised to own the directory: the service could not start any more."""
    os.chown(tmp_path, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(WheslError, match="belongs to nobody") as told:
        private(tmp_path)
    assert "runuser -u nobody" in str(told.value.hint)
    assert "chown" not in str(told.value.hint)


@pytest.mark.parametrize("lua", ["5.1", "5.3", "5.4"])
@pytest.mark.parametrize("module", ["posix.so", "posix/sys/stat.so", ""])
def test_a_lua_without_posix_is_told(
    etc: Etc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lua: str, module: str
) -> None:
    """Slurm's libraries name the Lua that they were built with, each distribution's in another way."""
    monkeypatch.setattr(plugin_installation, "_MODULES", (f"{tmp_path}/*/lua",))
    other = "5.3" if lua == "5.1" else "5.1"
    for name in (other, lua) if module else (other,):
        path = tmp_path / f"lib{name}" / "lua" / name / (module or "posix.so")
        path.parent.mkdir(parents=True)
        path.touch()
    etc.write(PLAIN)
    for named in (f"liblua{lua}.so.0", f"liblua-{lua}.so", f"liblua.so.{lua}"):
        (etc.plugins / "job_submit_lua.so").write_bytes(b"\x7fELF\0liblua.so\0" + named.encode() + b"\0")
        notes = plugin_installation.plan_install(etc.conf, etc.service, cli_filter=False).notes
        assert len(notes) == (not module)
        assert all(f"lua-posix was not found for Lua {lua}" in note for note in notes)


def test_a_link_to_nothing_is_not_replaced(etc: Etc) -> None:
    etc.write(PLAIN)
    (etc.here / "job_submit.lua").symlink_to("../gone.lua")
    before = etc.files()
    with pytest.raises(WheslError, match="link to nothing"):
        etc.install()
    assert etc.files() == before


def test_a_copy_that_a_node_has_fetched_is_refused(etc: Etc, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = etc.here.parent / "conf-cache"
    cache.mkdir()
    (cache / "slurm.conf").write_text(f"PluginDir={etc.plugins}\n")
    (etc.here / "conf").symlink_to(cache)
    (problem,) = etc.install(etc.here / "conf" / "slurm.conf")
    assert "where slurmctld runs" in problem
    assert [path.name for path in cache.iterdir()] == ["slurm.conf"]
    # On a login node with sackd, "there is no Slurm configuration" was all that it said.
    monkeypatch.setattr(plugin_installation, "_USUAL_CONF", etc.here / "none")
    monkeypatch.setattr(plugin_installation, "_FETCHED", cache)
    assert plugin_installation.configuration(None, {}) == cache / "slurm.conf"


def test_clients_that_fetch_their_configuration_would_miss_a_file(etc: Etc) -> None:
    """Slurm sends them cli_filter.lua, but not what it loads."""
    etc.write(PLAIN + "SlurmctldParameters=idle_on_node_suspend,enable_configless\n")
    (problem,) = etc.install(cli_filter=True)
    assert "enable_configless" in problem
    assert etc.install() == ()


def test_what_a_linked_directory_leads_to_must_not_be_open_to_others(etc: Etc) -> None:
    etc.write(PLAIN)
    etc.here.chmod(0o777)
    (etc.here.parent / "link").symlink_to(etc.here)
    problems = etc.install(etc.here.parent / "link" / "slurm.conf")
    assert any("can be written by others" in one for one in problems)


@pytest.mark.slurm
def test_slurm_loads_the_plugin_from_a_linked_configuration_in_parts(tmp_path: Path) -> None:
    """Slurm's own reading of all of it: a link, an included file named by the cluster, a quoted list."""
    need_slurm()
    tmp_path.chmod(0o755)
    with SlurmBed(nodes=2, mode="host") as bed:
        site, etc = Site(bed, tmp_path / "placement"), bed.conf.parent
        site.directory.mkdir(mode=0o750)
        managed = bed.directory / "managed.conf"
        bed.conf.rename(managed)
        bed.conf.symlink_to("../managed.conf")
        with managed.open("a") as file:
            file.write("include plugins-%c.conf\n")
        plugins = etc / "plugins-bed.conf"
        plugins.write_text('JobSubmitPlugins="all_partitions"\n')
        before = {path.name: path.read_bytes() for path in etc.iterdir()}
        installed = site.whesl("install", "--slurm", "--yes", "--dir", str(site.directory))
        assert installed.returncode == 0, installed.stderr
        publish(site)
        assert loaded(bed) == "all_partitions,lua"
        shown = bed.run("scontrol", "show", "job", bed.submit("true", "-H", "--time=5")).stdout
        assert "ExcNodeList=n02\n" in shown
        removed = site.whesl("remove", "--slurm", "--yes")
        assert removed.returncode == 0, removed.stderr
        assert {path.name: path.read_bytes() for path in etc.iterdir()} == before
        assert loaded(bed) == "all_partitions"


def publish(site: Site) -> None:
    """Write the plugin's table: n02 is about to fail."""
    nodes = [Node(name=name, flags=frozenset({"idle"}), partitions=("main",)) for name in site.bed.nodes]
    rows = tuple(NodeRisk(node=node.name, probability=(float(node.name == "n02"),)) for node in nodes)
    now = time.time()
    made = risk_table.Table(
        written=now,
        valid_until=now + 600,
        horizons=(3600.0,),
        nodes=rows,
        source="x",
        thresholds=(0.5,),
        active=True,
    )
    found = plugin_file.make(made, nodes, share=0.5, default="main")
    file_retry.replace(site.directory / LOOKUP, plugin_file.encode(found))


def loaded(bed: SlurmBed) -> str:
    """Start slurmctld again, and return the plugins that it has loaded."""
    bed.end_controller()
    bed.restart_controller()
    bed.wait_for(lambda: "is UP" in bed.run("scontrol", "ping").stdout, "slurmctld answers")
    return slurm_command_output.settings(bed.run("scontrol", "show", "config").stdout)["JobSubmitPlugins"]
