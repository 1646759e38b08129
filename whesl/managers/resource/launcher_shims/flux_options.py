"""Finds the options of Flux's commands before the submitted command. Pure; standard library only.

Sources of the tables: flux-run(1), flux-submit(1), flux-bulksubmit(1), flux-alloc(1), flux-batch(1) and
flux-exec(1) of 0.50 to 0.88, flux-hostlist(1) and flux-resource(1) of 0.88. An option that is not in a table
counts as an option without an argument: at worst the submitted command seems to start too early, and the
user's words stay unchanged.
"""

from __future__ import annotations

from whesl.managers.resource.launcher_shims.launcher_options import Line, Table
from whesl.managers.resource.launcher_shims.launcher_options import parse as parsed

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Sequence

SUBMITTING = ("run", "submit", "bulksubmit", "alloc", "batch")

_SUBMISSION = Table(
    """
add-brokers= add-file= bank/B= bcc= begin-time= broker-opt= broker-opts= cc= conf= config-path= cores/c=
cores-per-slot= cores-per-task= cwd= define= dependency= env= env-file= env-remove= error= exclusive/x flags=
gpus/g= gpus-per-node= gpus-per-slot= gpus-per-task= help/h input= job-name= label-io/l log= log-stderr=
nodes/N= nslots= ntasks/n= output= queue/q= require= requires= rlimit= sep= setattr/S= setopt/o= signal=
taskmap= tasks-per-core= tasks-per-node= time-limit/t= unbuffered/u urgency= verbose/v wait-event=
""",
    whole=False,
)
_EXEC = Table(
    """
dir/d= exclude/x= help/h jobid/j= label= label-io/l noinput/n quiet/q rank/r= service= setopt= signal=
verbose/v
""",
    whole=False,
)
_HOSTLIST = Table(
    """
count/c delimiter/d= exclude/x= expand/e fallback/f find/F= help/h intersect/i limit/L= local/l minus/m nth/n=
quiet/q sort/S union/u unique xor/X
"""
)
_RESOURCE = Table("format/o= help/h include/i= no-header/n no-skip-empty queue/q= skip-empty states/s=")
_TABLES = {"exec": _EXEC, "hostlist": _HOSTLIST, "resource": _RESOURCE}
# flux's own switches before the command's name (flux(1)) that are allowed here. With any other, flux prints
# something and ends, or talks to the enclosing instance.
_GLOBAL_SWITCHES = frozenset({"-v", "--verbose", "-S", "--sched"})


def split(arguments: list[str]) -> tuple[list[str], str, list[str]] | None:
    """Return flux's own options, the command's name and the command's arguments.

    Returns None where no command is named, or the command is for another instance (``--parent``).
    """
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            return arguments[:index], word, arguments[index + 1 :]
        if word not in _GLOBAL_SWITCHES:
            return None
    return None


def parse(command: str, arguments: Sequence[str]) -> Line:
    """Return a command's arguments, with long names for all options.

    Args:
        command: the command's name: ``exec``, ``hostlist``, ``resource``, or one of ``SUBMITTING``.
        arguments: the command's arguments.
    """
    return parsed(arguments, _TABLES.get(command, _SUBMISSION))
