"""The scheduler module in a running instance: loaded in place of Flux's own scheduler, and removed again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec

from whesl.managers.resource.command_call import captured
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError, WheslError
from whesl.placement.site import plugin_paths

MODULE = "sched-whesl"
QUEUES = {"sched-simple": "fifo", "sched-fifo": "fifo", "sched-backfill": "backfill"}
_USUAL = "sched-simple"
_LIMIT = 60.0  # longest time of a Flux command, in seconds
# Program for Flux's own Python that imports what the module needs, run before anything is changed.
_PROBE = """\
import site, sys
site.addsitedir(sys.argv[1])
import flux.scheduler, flux.resource.Rv1Pool
import whesl.placement.site.flux.rank_selection, whesl.placement.site.flux.prediction_source
from pathlib import Path
source = whesl.placement.site.flux.prediction_source.Source(Path(sys.argv[2]))
source.refresh()
sys.exit(source.problem or 0)
"""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the scheduler module.

    Attributes:
        predictions: path of a fitted model's file, or of the published table.
        acts: whether jobs get the policy's ranks; otherwise the module only reports them.
        queue: ``fifo`` or ``backfill``; "" for the queue of the replaced scheduler.
        wait: longest time in seconds for which a job is held back for better nodes; 0 for no waiting.
        packages: directory in which Flux's Python finds WHESL; "" for that of this process.
    """

    predictions: str
    acts: bool = False
    queue: str = ""
    wait: float = 0.0
    packages: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Result of loading the module: the replaced scheduler, "" for none, and the module's queue."""

    instead: str
    queue: str


def arguments(options: Options, queue: str, instead: str = "") -> list[str]:
    """Return the module's arguments, percent-encoded, since Flux separates arguments at blanks.

    Args:
        options: the module's options.
        queue: ``fifo`` or ``backfill``.
        instead: name of the replaced scheduler module, "" for none.
    """
    values = {
        "predictions": str(Path(options.predictions).absolute()),
        "path": options.packages or sysconfig.get_path("purelib"),
        "mode": "act" if options.acts else "observe",
        "queue": queue,
        "wait": f"{options.wait:g}" if options.wait else "",
        "instead": instead,
    }
    return [f"{name}={quote(value)}" for name, value in values.items() if value]


def load(options: Options, environ: Mapping[str, str] | None = None) -> Loaded:
    """Load the module in place of the instance's scheduler; running jobs go on.

    Args:
        options: the module's options.
        environ: the environment in which Flux's commands reach the instance; None for this process's.

    Raises:
        WheslError: the module could not be loaded; the instance keeps its former scheduler.
    """
    file = plugin_paths.find("flux/sched-whesl.py")
    check(options, environ)
    before = scheduler(environ)
    instead = str(stats(environ).get("instead") or "") if before == MODULE else before
    if before and before != MODULE and before not in QUEUES:
        raise RefusedError(
            f"the instance's scheduler is {before}, whose queue {MODULE} does not have",
            hint=f"it takes the place of {', '.join(QUEUES)}",
        )
    queue = options.queue or QUEUES.get(instead, "fifo")
    if before:
        ask(environ, "module", "remove", before)
    try:
        ask(environ, "module", "load", str(file), *arguments(options, queue, instead))
    except WheslError:
        if before:
            ask(environ, "module", "load", instead or _USUAL)
        raise
    # Flux reports "loaded" before the module has read its files; the module answers afterwards.
    stats(environ)
    return Loaded(instead=instead, queue=queue)


def remove(environ: Mapping[str, str] | None = None) -> str:
    """Load Flux's own scheduler again, and return its name; "" if the module was not loaded.

    Raises:
        WheslError: the scheduler could not be changed; the message says which one the instance has.
    """
    if scheduler(environ) != MODULE:
        return ""
    instead = str(stats(environ).get("instead") or _USUAL)
    ask(environ, "module", "remove", MODULE)
    try:
        ask(environ, "module", "load", instead)
    except WheslError as error:
        raise WheslError(
            f"the instance has no scheduler, jobs wait: {error.message}", hint=f"flux module load {instead}"
        ) from None
    return instead


def check(options: Options, environ: Mapping[str, str] | None = None) -> None:
    """Check that Flux's Python can import what the module needs, and read the predictions.

    Args:
        options: the module's options.
        environ: environment of Flux's commands; None for this process's environment.

    Raises:
        WheslError: Flux's Python cannot import or read; the message gives the reason.
    """
    packages = options.packages or sysconfig.get_path("purelib")
    predictions = str(Path(options.predictions).absolute())
    done = _run(environ, ["flux", "python", "-c", _PROBE, packages, predictions])
    if done.returncode == 0:
        return
    last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
    if "Error" not in last.split(":", 1)[0]:
        raise UsageError(last, hint="make it with `whesl placement learn` or `whesl placement serve`")
    raise WheslError(
        f"Flux's Python cannot run the scheduler module: {last}",
        hint="it needs flux-core 0.88 and WHESL with its extra `predict` for the same version of Python "
        "(`flux python --version`); --packages names a directory that has it",
    )


def scheduler(environ: Mapping[str, str] | None = None) -> str:
    """Return the name of the instance's scheduler module, "" for none. Raises WheslError."""
    for line in ask(environ, "module", "list").splitlines()[1:]:
        words = line.split()
        if len(words) > 1 and "sched" in words[-1].split(","):
            return words[0]
    return ""


def stats(environ: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the loaded module's statistics. Raises WheslError."""
    found = json.loads(ask(environ, "module", "stats", MODULE)).get("placement")
    return found if isinstance(found, dict) else {}


def ask(environ: Mapping[str, str] | None, *words: str) -> str:
    """Return the output of a command of Flux. Raises WheslError."""
    done = _run(environ, ["flux", *words])
    if done.returncode == 0:
        return done.stdout
    said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    raise WheslError(
        f"flux {' '.join(words[:2])}: {said}",
        hint="only the instance's owner may change its modules"
        if "permitted" in said
        else "`flux dmesg` may say more",
    )


def _run(environ: Mapping[str, str] | None, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environ = os.environ if environ is None else environ
    # Flux's Python is another one than this process's, so this process's module paths do not apply to it.
    clean = {name: value for name, value in environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    if shutil.which("flux", path=environ.get("PATH")) is None:
        raise WheslError("no flux command is on PATH", hint="load the module of Flux")
    try:
        # The root directory has no files that Python could import by mistake.
        return captured(command, clean, _LIMIT, cwd="/")
    except subprocess.TimeoutExpired:
        raise CouldNotObserveError(f"{' '.join(command[:3])} did not answer within {_LIMIT:.0f} s") from None
