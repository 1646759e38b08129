"""A hook in PBS's server, with its configuration, as qmgr(8B) installs and removes it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from whesl.managers.resource.pbs.command import PbsCommands
from whesl.model.errors import RefusedError

# `set hook freq` of an enabled hook gives pbs_server a timer of its own, also for a hook that only nodes run.
# The timer outlives such a hook, and the server then hangs or ends (src/server/hook_func.c of openpbs 23.06).
# Only a disabled hook gets a frequency here; disabling a hook of the event `periodic` takes its timer away.
_UNTIMED = ("set hook {name} event+=periodic", "set hook {name} enabled=False")
_SCRIPT, _CONFIGURATION = "application/x-python", "application/x-config"


class ServerHook:
    """A hook in the server that the environment's commands reach; for root on the server's host.

    Args:
        name: the hook's name.
        script: the hook's script, whose first line tells who wrote it.
        events: the events that PBS runs the hook for, with commas between them.
        every: seconds between two periodic events.
        environ: the environment of PBS's commands.
    """

    def __init__(self, name: str, script: str, events: str, every: int, environ: Mapping[str, str]) -> None:
        self.name, self.commands = name, PbsCommands(environ)
        self._script, self._events, self._every = script, events, every

    def install_lines(self, configuration: str) -> list[str]:
        """Return the lines of qmgr that install the hook, none where the same hook is there.

        Args:
            configuration: the text that the hook reads.

        Raises:
            RefusedError: the server has a hook of this name that WHESL did not write.
            WheslError: the server does not answer.
        """
        present = self._exported(_SCRIPT)
        if present and not present.startswith(self._script.partition("\n")[0]):
            raise RefusedError(f"the server has a hook {self.name} that WHESL did not write")
        if present == self._script and self._exported(_CONFIGURATION) == configuration:
            return []
        return [
            *([] if present else [f"create hook {self.name}"]),
            f"set hook {self.name} enabled=False",
            f"set hook {self.name} event='{self._events}'",
            f"set hook {self.name} freq={self._every}",
            f"import hook {self.name} {_SCRIPT} default {{script}}",
            f"import hook {self.name} {_CONFIGURATION} default {{configuration}}",
            f"set hook {self.name} enabled=True",
        ]

    def remove_lines(self) -> list[str]:
        """Return the lines of qmgr that remove the hook, none where it is not there. Raises WheslError."""
        lines = [*_UNTIMED, "delete hook {name}"] if self._exported(_SCRIPT) else []
        return [line.format(name=self.name) for line in lines]

    def carry_out(self, lines: Sequence[str], configuration: str) -> None:
        """Give lines to qmgr in their order; the same call goes on where it stopped.

        Args:
            lines: lines of ``install_lines``, perhaps with others.
            configuration: the text that the hook reads.

        Raises:
            WheslError: the server refuses a line.
        """
        with tempfile.TemporaryDirectory(prefix="whesl-") as place:
            files = {"script": Path(place, "hook.py"), "configuration": Path(place, "hook.json")}
            files["script"].write_text(self._script)
            files["configuration"].write_text(configuration)
            for line in lines:
                self.qmgr(line.format(**files))

    def qmgr(self, line: str) -> str:
        """Give a line to qmgr and return its answer. Raises WheslError."""
        return self.commands.run("qmgr", "-c", line)

    def _exported(self, kind: str) -> str:
        """Return the script or the configuration of the server's hook, "" without a hook."""
        try:
            return self.qmgr(f"export hook {self.name} {kind} default")
        except RefusedError as error:
            if "does not exist" in error.message:
                return ""
            raise
