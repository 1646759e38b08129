"""The batch script that runs a task on the other cluster. Pure.

A job runs its task only after it has made the directory ``claimed``, which only one process can make. Whoever
gives a run up makes this directory, so a job that starts later runs nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

_SCRIPT = """\
#!/bin/bash
# Runs a task that another cluster has handed over (whesl cloud handover).
cd {place} || exit 75
mkdir claimed 2>/dev/null || exit 75  # given up, or run before
touch -d '2 seconds ago' begun
(
  cd work || exit 75
  {exports}exec {command}
) > stdout 2> stderr < /dev/null &
program=$!
while sleep {look}; do  # nobody has looked at this run for {lease} s: it has no owner any more
  touch now
  [ $(($(stat -c %Y now) - $(stat -c %Y alive))) -lt {lease} ] || {ends_itself}
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
    place: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    lease: float,
    ends_itself: str,
) -> str:
    """Return the batch script's text.

    Args:
        place: the run's directory on the other cluster.
        command: the task's command, which runs in ``work``.
        environment: variables that are exported to the command.
        lease: seconds after which the job ends itself when no process has touched ``alive``.
        ends_itself: the shell command by which the job cancels itself.
    """
    exports = "".join(f"export {name}={shlex.quote(value)}; " for name, value in environment.items())
    return _SCRIPT.format(
        place=shlex.quote(place),
        exports=exports,
        command=shlex.join(command),
        look=f"{max(1.0, lease / 10):g}",
        lease=round(lease),
        ends_itself=ends_itself,
    )
