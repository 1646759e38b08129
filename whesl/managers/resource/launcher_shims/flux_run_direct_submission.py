"""A ``flux run`` of the user's own whose job we can submit ourselves, without that command's start. Pure.

Used for the attempts after the first: ``flux run`` takes several times as long to start as the job, and a
recovery waits for it. Only where no plug-in of the site changes what ``flux run`` submits, and only for
options that are known here. Where ``flux run`` itself cannot work, since Flux's Python bindings do not
import, it is used for the first attempt as well.
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
# Shell options whose value is a word: what looks like a number or JSON is read by Flux in its own way.
_SETOPT = re.compile(r"[a-z][\w.-]*(=(?!(true|false|null|nan|inf|infinity)$)[A-Za-z][\w-]*)?", re.IGNORECASE)
_REQUIRES = re.compile(r"(rank|host):[\w.,\[\]-]+")


def plain_run(words: Sequence[str], environ: Mapping[str, str]) -> Run | None:
    """Return the ``flux run`` in the form of ``jobspec``, None where it is the real one's affair.

    Args:
        words: the arguments of ``flux``, as ``rewrite_flux`` returns them.
        environ: the environment.
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
