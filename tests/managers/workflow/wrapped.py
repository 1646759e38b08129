"""Scripts whose interpreter is a program of WHESL's, for tests that do not look at how that is made."""

from __future__ import annotations

import tempfile
from pathlib import Path

from whesl.managers.workflow import script_wrapping

# Short, since a kernel reads 127 bytes of a first line.
_PLACE = tempfile.TemporaryDirectory(prefix="w")


def wrapped(call: script_wrapping.TaskCall, text: str) -> str:
    """Return a script wrapped, and write the program that it names."""
    made = script_wrapping.program_for(call, text.split("\n", 1)[0], "job.sh", _PLACE.name)
    made.write()
    return script_wrapping.wrap(text, made)


def program_text(text: str) -> str:
    """Return the text of a wrapped script's program."""
    return Path(text.split("\n", 1)[0].removeprefix("#!").split()[0]).read_text()
