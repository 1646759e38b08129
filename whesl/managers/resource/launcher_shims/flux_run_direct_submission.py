"""Recognises a user's ``flux run`` whose job the shim can submit directly, without that command. Pure.

Direct submission is for attempts after the first: ``flux run`` takes several times as long to start as the
job, which delays a recovery. It needs a ``flux run`` whose submissions no plug-in of the site changes, and
options that this module knows.
"""

from __future__ import annotations

import re

from whesl.managers.resource.launcher_shims.flux_node_swap import PLAIN, QUICK, marks
from whesl.managers.resource.launcher_shims.flux_options import parse
from whesl.managers.resource.launcher_shims.srun_to_flux import Run

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COUNTS = frozenset(("nodes", "ntasks", "cores-per-task", "gpus-per-task"))
_SWITCHES = frozenset(("exclusive", "label-io"))
# A shell option without a value or with a word as value; Flux parses values that look like numbers or JSON.
_SETOPT = re.compile(r"[a-z][\w.-]*(=(?!(true|false|null|nan|inf|infinity)$)[A-Za-z][\w-]*)?", re.IGNORECASE)
_REQUIRES = re.compile(r"(rank|host):[\w.,\[\]-]+")


def plain_run(words: Sequence[str], environ: Mapping[str, str]) -> Run | None:
    """Return a ``flux run`` in the form that ``jobspec`` reads; None where the real ``flux run`` has to run.

    Args:
        words: the arguments of ``flux`` from ``rewrite_flux``.
        environ: the script's environment.
    """
    first = environ.get("WHESL_RESTART_COUNT", "0") in ("", "0")
    if first or not environ.get(PLAIN) or words[:1] != ["run"]:
        return None
    line = parse("run", list(words[1:]))
    command = list(line.rest[1:] if line.rest[:1] == ("--",) else line.rest)
    names = [option.name for option in line.options]
    if not command or not {"nodes", "ntasks"} <= set(names) or names.count("requires") != 1:
        return None
    ours = {QUICK, *marks(environ)}
    out: list[str] = []
    for option in line.options:
        value = option.value or ""
        understood = (
            (option.name in _COUNTS and value.isascii() and value.isdigit() and int(value) > 0)
            or (option.name in _SWITCHES and option.value is None)
            or (option.name == "setopt" and _SETOPT.fullmatch(value))
            or (option.name == "requires" and _REQUIRES.fullmatch(value))
            or (option.name == "job-name" and value)
            or f"--{option.name}={value}" in ours
        )
        if not understood:
            return None
        out.append(f"--{option.name}" if option.value is None else f"--{option.name}={value}")
    return Run([*out, "--", *command])
