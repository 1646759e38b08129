"""The scheduler module in Flux's configuration: a file of ``flux modprobe``, read by later instances.

``flux modprobe`` reads ``modprobe.d/*.toml`` below Flux's configuration directory and takes the module of
highest priority that provides ``sched`` (flux-modprobe(1), flux-core 0.88).
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path

from whesl.model.errors import RefusedError, WheslError
from whesl.placement.site import plugin_paths
from whesl.placement.site.flux import module_loading
from whesl.placement.site.flux.module_loading import MODULE, Options

FILE = "whesl-placement.toml"
_FIRST = "# Written by `whesl placement install --flux`; `whesl placement remove --flux` removes it.\n"
_CONFDIR = "from flux.conf_builtin import conf_builtin_get; print(conf_builtin_get('confdir'))"


def path(directory: Path | None = None) -> Path:
    """Return the path of the configuration file, which may not exist.

    Args:
        directory: a directory that modprobe searches; None for that of Flux's configuration.

    Raises:
        WheslError: the directory of Flux's configuration is unknown.
    """
    found = directory or Path(module_loading.ask(None, "python", "-c", _CONFDIR).strip()) / "modprobe"
    return found / "modprobe.d" / FILE


def text(options: Options) -> str:
    """Return the content of the configuration file."""
    values = {
        "name": MODULE,
        "module": str(plugin_paths.find("flux/sched-whesl.py")),
        "provides": ["sched", "feasibility"],
        "after": ["job-manager", "resource"],
        "requires": ["job-manager", "resource"],
        "ranks": "0",
        "priority": 200,
        "args": module_loading.arguments(options, options.queue or "fifo", "sched-simple"),
    }
    # Strings and lists of strings have the same form in TOML as in JSON.
    return f"{_FIRST}[[modules]]\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in values.items()
    )


def difference(file: Path, new: str) -> str:
    """Return the change of a file to new content as a unified diff, "" for no change.

    Args:
        file: path of the configuration file; a missing file counts as empty.
        new: the content that an installation writes.

    Raises:
        WheslError: the file cannot be read.
    """
    before = _read(file)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), new.splitlines(keepends=True), str(file), f"{file} (new)"
    )
    return "".join(lines)


def install(file: Path, options: Options) -> None:
    """Write the configuration file, after a check that the module can run.

    Args:
        file: path of the configuration file.
        options: the module's options.

    Raises:
        WheslError: the module cannot run, the file belongs to another package, or it cannot be written;
            nothing was changed.
    """
    module_loading.check(options)
    _ours(file)
    beside = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text(options))
        beside.replace(file)
    except OSError as error:
        raise WheslError(
            f"cannot write {file}: {error.strerror}",
            hint="an administrator of Flux can; or see `load --flux`",
        ) from None


def remove(file: Path) -> bool:
    """Remove the configuration file, and return whether it existed. Raises WheslError."""
    _ours(file)
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise WheslError(f"cannot remove {file}: {error.strerror}") from None
    return True


def _ours(file: Path) -> None:
    if (there := _read(file)) and not there.startswith(_FIRST):
        raise RefusedError(f"{file} was not written by whesl", hint="move it away first")


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise WheslError(f"cannot read {file}: {error.strerror}") from None
