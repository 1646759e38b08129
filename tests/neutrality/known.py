"""Defects that the suite has found and that are not mended yet.

Each has to show in one of the cases at least that it names: one that is mended has to be taken out.
"""

from __future__ import annotations

from tests.neutrality.comparing import Known

_BETWEEN = "a shell of WHESL's stands between the resource manager and the script"
_REQUEUE = "the permission to run a job again is taken from it, and given"
_BYTES = "what is not UTF-8 is refused"
_SIGNALS = ("job:*:ExitCode", "job:*:JobState", "job:*:Reason", "step:*:batch", "file:*", "messages:*")
_ANY = ("*",)

KNOWN: tuple[Known, ...] = (
    Known(cases=_ANY, aspects=("job:*:Command",), reason="a copy of the script is submitted"),
    Known(cases=_ANY, ways=_ANY, aspects=("job:*:Requeue", "job:*:Restarts"), reason=_REQUEUE),
    Known(cases=_ANY, aspects=("env:*:SBATCH_NO_*",), reason="what jobs submit is to have them, too"),
    Known(cases=_ANY, aspects=("env:*:SLURM_OPEN_MODE",), reason="a job that runs again keeps its output"),
    Known(cases=_ANY, aspects=("env:*:SHLVL", "file:*facts/name", "file:*facts/session"), reason=_BETWEEN),
    Known(
        cases=("*where*", "*message-lines*", "*line-numbers*", "bash-x*", "zsh*", "python*", "perl*"),
        aspects=("file:*slurm-*",),
        reason=_BETWEEN,
    ),
    Known(cases=("nounset*",), aspects=_SIGNALS, reason=_BETWEEN),
    Known(cases=("redirects-itself*",), aspects=("file:own.log",), reason=_BETWEEN),
    Known(
        cases=("*export-none*", "*export-some*"),
        aspects=("env:*:BASH_FUNC_*", "env:*:LC_CTYPE"),
        reason="variables of the interpreter, and of a shell's functions",
    ),
    Known(
        cases=("*latin-1*", "*name-bytes*"),
        aspects=("submitted", "file:*", "job:*", "step:*", "env:*"),
        reason=_BYTES,
    ),
    Known(cases=("*bytes*",), ways=("exec*", "observe*"), aspects=_ANY, reason=_BYTES),
    Known(cases=("*137*", "dies-by-*"), aspects=_SIGNALS, reason=_BETWEEN),
    Known(cases=("*input*",), aspects=("file:*",), reason="--input goes to the shell in between"),
    Known(
        cases=("trap-*", "signal-*", "*-signal", "cancelled*", "warned*"), aspects=_SIGNALS, reason=_BETWEEN
    ),
    Known(
        cases=("cancelled*", "node-lost*"),
        ways=("exec*", "observe*"),
        aspects=("job:*:ExitCode", "step:*:batch"),
        reason="whesl exec ends with 128 + n where its command died of a signal",
    ),
    Known(cases=("*requeue*",), aspects=_SIGNALS, reason=_REQUEUE),
    Known(
        cases=("node-lost*",),
        aspects=("file:*", "job:*", "step:*", "messages:*"),
        reason="--no-kill is put on each job",
    ),
)
