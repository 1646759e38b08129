"""The batch script that runs a task on the other cluster. Pure.

``claimed`` is a directory: making it is what allows to run the task, and only one can make it. A run that
was given up is claimed by those who give it up, so that a job which starts later runs nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

_SCRIPT = """\
#!/bin/sh
# Runs a task that another cluster has handed over (whesl cloud handover).
cd {place} || exit 75
mkdir claimed 2>/dev/null || exit 75  # given up, or run before
touch -d '2 seconds ago' begun
{setup}
(
  cd work || exit 75
  {exports}exec {command}
) > stdout 2> stderr < /dev/null &
program=$!
while sleep {look}; do  # nobody has looked at this run for {lease} s: it has no owner any more
  touch now
  [ $(($(stat -c %Y now) - $(stat -c %Y alive))) -lt {lease} ] || scancel "$SLURM_JOB_ID"
done &
watcher=$!
wait $program
status=$?
kill $watcher
(cd work && find . -type f -newer ../begun) > written.new && mv written.new written
echo $status > status.new && mv status.new status
exit $status
"""


def script(
    place: str, command: Sequence[str], environment: Mapping[str, str], setup: str, lease: float
) -> str:
    """Return its text.

    Args:
        place: the run's directory there.
        command: the task's command, run in ``work``.
        environment: what is exported to it.
        setup: shell commands before it.
        lease: seconds after which the job ends itself when nobody has touched ``alive``.
    """
    exports = "".join(f"export {name}={shlex.quote(value)}; " for name, value in environment.items())
    return _SCRIPT.format(
        place=shlex.quote(place),
        setup=setup,
        exports=exports,
        command=shlex.join(command),
        look=f"{max(1.0, lease / 10):g}",
        lease=round(lease),
    )
