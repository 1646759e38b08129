"""Finds the options of Flux's commands before what they submit. Pure; standard library only.

Tables: flux-run(1), flux-submit(1), flux-bulksubmit(1), flux-alloc(1), flux-batch(1), flux-exec(1) of 0.50 to
0.88. An option that is not in a table is taken for one without an argument: at worst the command is seen to
start early, and the user's own words stay as they are.
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
# flux(1): options before the name of the command. With the others flux prints something and ends, or talks
# to the enclosing instance.
_GLOBAL_SWITCHES = frozenset({"-v", "--verbose", "-S", "--sched"})


def split(arguments: list[str]) -> tuple[list[str], str, list[str]] | None:
    """Return flux's own options, the command's name and the command's arguments, or None.

    None: no command is named, or flux is told to talk to another instance (``--parent``).
    """
    for index, word in enumerate(arguments):
        if not word.startswith("-"):
            return arguments[:index], word, arguments[index + 1 :]
        if word not in _GLOBAL_SWITCHES:
            return None
    return None


def parse(command: str, arguments: Sequence[str]) -> Line:
    """Return the options of a submitting command or of ``exec``, with long names."""
    return parsed(arguments, _EXEC if command == "exec" else _SUBMISSION)
