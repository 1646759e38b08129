"""The answer of an absent coordinator, read from the coordinator's files."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from whesl.runtime.isolator.core.events_and_commands import ConfigurationRead
from whesl.runtime.wire.messages import Register, Welcome

LIMIT = 30.0


def read_configuration(register: Register) -> ConfigurationRead:
    """Return the coordinator's answer to a registration, read from its files below WHESL_HOME.

    A process of its own reads the files, since the imports need many times an isolator's memory. The process
    ends within ``LIMIT`` seconds.
    """
    command = [sys.executable, "-m", "whesl.runtime.coordinator.client.offline_welcome"]
    try:
        done = subprocess.run(
            command,
            input=msgspec.json.encode(register),
            capture_output=True,
            timeout=LIMIT,
            cwd="/",
            check=False,
            start_new_session=True,
        )
        if done.returncode == 0:
            return ConfigurationRead(welcome=msgspec.json.decode(done.stdout, type=Welcome))
    except subprocess.TimeoutExpired:
        return ConfigurationRead(reason=f"its journal was not read within {LIMIT:g} s")
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return ConfigurationRead(reason=str(error))
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return ConfigurationRead(reason=lines[-1][:300] if lines else f"exit status {done.returncode}")
