"""The plugin in Slurm's configuration: plans, problems, installation and removal.

A script of the site's own is kept: it moves to ``job_submit.site.lua``, and the plugin's script runs it
first. A site's script that Slurm did not load moves to ``job_submit.dormant.lua``, and nothing runs it. A
manifest beside the scripts records all changes for the removal. Files that the site has changed since are not
overwritten.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import pwd
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from glob import glob
from pathlib import Path
from typing import NamedTuple

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model.errors import RefusedError, UsageError, WheslError
from whesl.model.printable import visible
from whesl.placement.site import plugin_paths
from whesl.placement.site.slurm import conf
from whesl.placement.site.slurm.placement_service import LOOKUP
from whesl.runtime.locking.lock_scope import LOCAL, mount_of

MANIFEST = "whesl_placement.json"
SHARED = "whesl_placement.lua"
_LIBRARIES = ("/usr/lib/*/slurm*", "/usr/lib64/slurm*", "/usr/lib/slurm*", "/opt/slurm/lib*/slurm")
# The version of Lua that a library was built with, and the directories of Lua's modules.
_LUA = re.compile(rb"liblua[-.a-z]*(5\.[1-9])")
_MODULES = ("/usr/share/lua", "/usr/lib/*/lua", "/usr/lib64/lua", "/usr/lib/lua", "/usr/local/*/lua")
_PATH = re.compile(rb'^   path = "([^"\n]+)",$', re.MULTILINE)
_USUAL_CONF = Path("/etc/slurm/slurm.conf")
# What a configless slurmd or sackd has fetched, like conf-cache in slurmd's spool directory.
_FETCHED = Path("/run/slurm/conf")


class Kind(NamedTuple):
    """A plugin of Slurm: its setting in slurm.conf, its script, and the library that it needs."""

    setting: str
    script: str
    library: str

    @property
    def moved(self) -> str:
        """Name of the site's own script after the installation."""
        return self.script.replace(".lua", ".site.lua")

    @property
    def dormant(self) -> str:
        """Name of a site's script that Slurm did not load, after the installation; nothing runs it."""
        return self.script.replace(".lua", ".dormant.lua")


SUBMIT = Kind("JobSubmitPlugins", "job_submit.lua", "job_submit_lua.so")
FILTER = Kind("CliFilterPlugins", "cli_filter.lua", "cli_filter_lua.so")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Record of an installation: digests of scripts by name, moved scripts, and changed settings."""

    scripts: dict[str, str]
    moved: dict[str, str] = {}
    settings: dict[str, str] = {}


class Edit(NamedTuple):
    """A change of a file's content, None for a missing file. ``link``: target of a link to make instead.

    ``like``: the file whose owner and permissions a new file gets; None for the directory's owner.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    link: str | None = None
    like: Path | None = None


class Plan(NamedTuple):
    """The plan of an installation or removal: changes of files, problems that prevent it, and notes."""

    edits: tuple[Edit, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def diff(self, *, whole: bool = False) -> str:
        """Return the changes: a line for each new, removed or WHESL's own file, then a diff of the others.

        Args:
            whole: whether the diff includes new and removed files and WHESL's own.
        """
        brief = [one for one in self.edits if not whole and (None in (one.before, one.after) or _own(one))]
        return "".join([*map(_brief, brief), *(_diff(one) for one in self.edits if one not in brief)])


def configuration(given: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the path of slurm.conf: the given one, the one in SLURM_CONF, the usual one, or a fetched copy.

    A link is not followed, since Slurm searches scripts beside the path that it was given.

    Args:
        given: the path that the user gave; None for none.
        environ: the environment that may hold SLURM_CONF.

    Raises:
        UsageError: the file does not exist.
    """
    fetched = _FETCHED / "slurm.conf"
    usual = fetched if fetched.is_file() and not _USUAL_CONF.is_file() else _USUAL_CONF
    found = given or Path(environ.get("SLURM_CONF") or usual)
    if not found.is_file():
        raise UsageError(f"there is no Slurm configuration at {found}", hint="--conf FILE, or set SLURM_CONF")
    return found.absolute()


def plan_install(slurm_conf: Path, directory: Path, *, cli_filter: bool) -> Plan:
    """Return the plan of the plugin's installation.

    Args:
        slurm_conf: path of slurm.conf; see ``configuration``.
        directory: directory of ``whesl placement serve``, absolute.
        cli_filter: whether to install the client's plugin instead of the controller's.

    Raises:
        WheslError: a file cannot be read.
    """
    kind = FILTER if cli_filter else SUBMIT
    here, known = slurm_conf.parent, manifest(slurm_conf.parent)
    problems = check(slurm_conf, directory, kind)
    scripts = {
        SHARED: _filled(SHARED, {"@TABLE@": str(directory / LOOKUP)}),
        kind.script: _filled(kind.script, {"@HERE@": str(here)}),
    }
    edits: list[Edit] = []
    moved = dict(known.moved) if known else {}
    settings = dict(known.settings) if known else {}
    notes = [*_without_posix(slurm_conf, kind)]
    present = _content(here / kind.script)
    changed = conf.with_plugin(slurm_conf, kind.setting, "lua")
    if present is not None and not _ours(kind.script, present, known) and present != scripts[kind.script]:
        # Slurm has not loaded the site's script if the setting lacks lua; the installation must not make it
        # run.
        name = kind.moved if changed is None else kind.dormant
        if _content(here / name) not in (None, present):
            problems.append(f"{here / kind.script} and {here / name} are both the site's: merge them first")
        else:
            link = _link(here / kind.script)
            own = here / kind.script
            edits.append(Edit(here / name, _content(here / name), present, link, own))
            moved[kind.script] = name
        if name == kind.dormant:
            notes.append(
                f"{here / kind.script} is the site's and Slurm does not load it ({kind.setting} has no lua): "
                f"it is kept as {name} and does not run. To have it run, put lua into {kind.setting} before."
            )
    for name, content in scripts.items():
        edits.append(Edit(here / name, _content(here / name), content))
    if changed is not None:
        edits.append(_edit(*changed))
        settings[kind.setting] = "lua"
    digests = dict(known.scripts) if known else {}
    digests |= {name: _digest(content) for name, content in scripts.items()}
    text = msgspec.json.format(
        msgspec.json.encode(Manifest(scripts=digests, moved=moved, settings=settings), order="sorted")
    )
    # The manifest is written first, so that it also covers an interrupted installation.
    edits.insert(0, Edit(here / MANIFEST, _content(here / MANIFEST), text + b"\n"))
    return Plan(tuple(one for one in edits if one.before != one.after), tuple(problems), tuple(notes))


def plan_remove(slurm_conf: Path) -> Plan:
    """Return the plan of the plugin's removal, which restores the site's own script.

    Args:
        slurm_conf: path of slurm.conf; see ``configuration``.

    Raises:
        WheslError: a file cannot be read.
    """
    here = slurm_conf.parent
    known = manifest(here)
    if known is None:
        return Plan((), ())
    edits: list[Edit] = []
    problems: list[str] = []
    for name, digest in sorted(known.scripts.items()):
        present = _content(here / name)
        if present is not None and _digest(present) != digest:
            problems.append(f"{here / name} was changed since: keep what is yours elsewhere, and remove it")
            continue
        original = known.moved.get(name)
        restored = _content(here / original) if original else None
        if original and restored is None:
            problems.append(f"{here / original}, the site's own script, is gone: put it back first")
        edits.append(Edit(here / name, present, restored, _link(here / original) if original else None))
        if original:
            edits.append(Edit(here / original, restored, None))
    for name, plugin in sorted(known.settings.items()):
        changed = conf.without_plugin(slurm_conf, name, plugin)
        if changed is not None:
            edits.append(_edit(*changed))
    edits.append(Edit(here / MANIFEST, _content(here / MANIFEST), None))
    return Plan(tuple(one for one in edits if one.before != one.after), tuple(problems))


def perform(plan: Plan) -> None:
    """Make the changes of a plan, each file atomically; slurm.conf comes after the scripts that it loads.

    Raises:
        RefusedError: a file has changed since the plan was made.
        WheslError: a file cannot be written.
    """
    for one in plan.edits:
        if _content(one.path) != one.before:
            raise RefusedError(f"{one.path} was changed just now", hint="look at the difference again")
    try:
        for one in plan.edits:
            if one.after is not None:
                _write(one)
        for one in plan.edits:
            if one.after is None:
                one.path.unlink(missing_ok=True)
    except OSError as error:
        raise WheslError(
            f"{one.path} cannot be written: {error.strerror or error}",
            hint="as the owner of Slurm's configuration; the same command goes on where this one stopped",
        ) from None


def check(slurm_conf: Path, directory: Path, kind: Kind) -> list[str]:
    """Return the problems that prevent a plugin's installation, in sentences.

    Args:
        slurm_conf: path of slurm.conf; see ``configuration``.
        directory: directory of the placement service.
        kind: the kind of plugin.
    """
    problems = []
    places = _plugin_directories(slurm_conf)
    if not any((Path(place) / kind.library).is_file() for place in places):
        problems.append(
            f"Slurm's library {kind.library} is not in {', '.join(places) or 'any usual place'}: install "
            "Slurm's Lua plugins (Debian: slurm-wlm-basic-plugins)"
        )
    if set(str(slurm_conf.parent) + str(directory)) & set('"\\\n\r[]'):
        problems.append("the directories' names hold characters that a Lua script cannot")
    if not directory.is_absolute():
        problems.append(f"{directory} is not an absolute path")
    true = slurm_conf.resolve()
    if true.parent.name == "conf-cache" or slurm_conf.is_relative_to(_FETCHED):
        problems.append(
            f"{slurm_conf} is a copy that this node has fetched: install the plugin where slurmctld runs"
        )
    given = conf.setting(slurm_conf, "SlurmctldParameters") if kind is FILTER else None
    if given and "enable_configless" in given.value.split(","):
        problems.append(
            "clients fetch their configuration (enable_configless), and get no file that cli_filter.lua "
            "loads: take the plugin in slurmctld"
        )
    problems += _openings(
        {*_above(slurm_conf.parent), *_above(slurm_conf.parent.resolve()), *_above(true.parent)}
    )
    if not directory.is_dir():
        problems.append(f"{directory} is not there: make it for the account of the service, mode 0750")
        return problems
    problems += _openings({*_above(directory), *_above(directory.resolve())})
    user = conf.setting(slurm_conf, "SlurmUser")
    name = user.value if user else "root"
    if kind is SUBMIT and not _reaches(name, directory):
        problems.append(
            f"SlurmUser {name} cannot read {directory}: give it to a group of that account, mode 2750"
        )
    kept = mount_of(str(directory))
    if kept.kind not in LOCAL and kept.kind != "?":
        problems.append(
            f"{directory} is on {kept.kind}: slurmctld would wait for it; take a local file system"
        )
    return problems


def _plugin_directories(slurm_conf: Path) -> list[str]:
    """Return the directories that may hold Slurm's own plugins."""
    given = conf.setting(slurm_conf, "PluginDir")
    return given.value.split(":") if given else [place for form in _LIBRARIES for place in glob(form)]  # noqa: PTH207 - the patterns are absolute


def _without_posix(slurm_conf: Path, kind: Kind) -> Iterable[str]:
    """Yield a warning if lua-posix is missing for the Lua of Slurm's library: no table would be read."""
    for place in _plugin_directories(slurm_conf):
        library = Path(place) / kind.library
        found = _LUA.search(library.read_bytes()) if library.is_file() else None
        if found is None:
            continue
        lua = found[1].decode()
        # Debian has all of lua-posix in one library.
        forms = [f"{place}/{lua}/{name}" for place in _MODULES for name in ("posix.so", "posix/sys/stat.*")]
        if not any(map(glob, forms)):
            yield (
                f"lua-posix was not found for Lua {lua}, which {library} uses: without it the plugin reads "
                "no table, since a pipe in its place would stop slurmctld (Debian and Red Hat: lua-posix)"
            )
        return


def published(here: Path) -> Path | None:
    """Return the directory whose table the plugin beside slurm.conf reads, None without a plugin.

    Raises:
        WheslError: the plugin's script cannot be read.
    """
    found = _PATH.search(_content(here / SHARED) or b"")
    return Path(os.fsdecode(found[1])).parent if found else None


def manifest(here: Path) -> Manifest | None:
    """Return the manifest of an installation, None without an installation.

    Raises:
        WheslError: the file cannot be read.
    """
    data = _content(here / MANIFEST)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Manifest)
    except UNDECODABLE as error:
        raise WheslError(f"{here / MANIFEST} is damaged: {visible(str(error))}") from None


def _ours(name: str, content: bytes, known: Manifest | None) -> bool:
    return known is not None and known.scripts.get(name) == _digest(content)


def _filled(name: str, values: dict[str, str]) -> bytes:
    text = plugin_paths.find(f"slurm/{name}").read_text()
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text.encode()


def _content(path: Path) -> bytes | None:
    if path.is_symlink() and not path.exists():
        raise WheslError(f"{path} is a link to nothing", hint="remove it, or put back what it names")
    return conf.read(path) if path.exists() else None


def _link(path: Path) -> str | None:
    return str(path.readlink()) if path.is_symlink() else None


def _edit(path: Path, content: bytes) -> Edit:
    """Return the change of a site's file in place; for a link, the change of the link's target."""
    return Edit(path.resolve(), _content(path), content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(edit: Edit) -> None:
    """Replace a file atomically; the owner and the permissions stay."""
    path = edit.path
    if edit.link is not None:
        beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        beside.symlink_to(edit.link)
        beside.replace(path)
        return
    model = path if path.exists() else edit.like or path
    there = model.exists()
    status = model.stat() if there else path.parent.stat()
    mode = stat.S_IMODE(status.st_mode) if there else 0o644
    file_retry.replace(path, edit.after or b"", mode=mode, owner=(status.st_uid, status.st_gid), durable=True)


def _openings(places: Iterable[Path]) -> list[str]:
    """Return a warning for each directory into which others than the owner can write."""
    found = []
    for place in sorted(places):
        status = place.stat()
        if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
            found.append(
                f"{place} can be written by others than its owner: what lies there could be replaced"
            )
    return found


def _above(place: Path) -> tuple[Path, ...]:
    return place, *place.parents


def _reaches(name: str, directory: Path) -> bool:
    """Return whether an account may enter a directory, by the modes of the directory and its parents."""
    try:
        account = pwd.getpwnam(name) if not name.isdecimal() else pwd.getpwuid(int(name))
    except KeyError:
        return False
    groups = set(os.getgrouplist(account.pw_name, account.pw_gid))
    for place in (directory, *directory.parents):
        status = place.stat()
        mode = status.st_mode
        bit = mode & 1
        if status.st_uid == account.pw_uid:
            bit = mode & 0o100
        elif status.st_gid in groups:
            bit = mode & 0o010
        if not bit and account.pw_uid != 0:
            return False
    return True


def _own(one: Edit) -> bool:
    """Return whether a file has the name of one of WHESL's files."""
    return one.path.name in (SHARED, MANIFEST, SUBMIT.script, FILTER.script)


def _brief(one: Edit) -> str:
    size = len(_lines(one.before if one.after is None else one.after))
    done = "removed" if one.after is None else "new" if one.before is None else "replaced"
    return f"{done}: {one.path} ({size} lines)\n"


def _diff(one: Edit) -> str:
    before, after = (_lines(content) for content in (one.before, one.after))
    names = (
        ("/dev/null" if one.before is None else str(one.path)),
        ("/dev/null" if one.after is None else str(one.path)),
    )
    lines = difflib.unified_diff(before, after, *names)
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _lines(content: bytes | None) -> list[str]:
    return [visible(line) for line in (content or b"").decode("utf-8", "replace").splitlines(keepends=True)]
