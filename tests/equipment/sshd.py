"""A real sshd on loopback, with keys of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.equipment.free_ports import free_ports
from tests.waiting import until

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


class Sshd:
    """A server of this user's, with a key of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name in ("host", "user"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)]
            subprocess.run(command, check=True)
        shutil.copy(directory / "user.pub", directory / "authorized")
        (self.port,), (self.claim,) = free_ports(1)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.options = [
            *("-i", str(directory / "user"), "-o", "StrictHostKeyChecking=no"),
            *("-o", f"UserKnownHostsFile={directory}/known", "-o", "IdentitiesOnly=yes"),
        ]
        self.start()

    def start(self) -> None:
        settings = {
            "ListenAddress": "127.0.0.1",
            "HostKey": self.directory / "host",
            "AuthorizedKeysFile": self.directory / "authorized",
            "StrictModes": "no",
            "UsePAM": "no",
            "PidFile": "none",
            "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "SetEnv": "SHLVL=1",  # bash then reads no ~/.bashrc of the user who tests
        }
        given = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        (self.directory / "log").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", "/dev/null", "-p", str(self.port), *given],
            stderr=(self.directory / "log").open("ab"),
            start_new_session=True,
        )
        until(lambda: "listening" in (self.directory / "log").read_text(), "sshd listens", 30)

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if not Path(SSHD).exists() or shutil.which("rsync") is None:
        pytest.skip("needs openssh-server and rsync")
    made = Sshd(tmp_path_factory.mktemp("sshd"))
    yield made
    made.stop()
    made.claim.close()
