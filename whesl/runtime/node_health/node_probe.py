"""The probe of one node, which runs there as ``python -m``; standard library only.

The probe prints a first line at its start, then one JSON document. A hanging file system or driver keeps it
from ending, which is an answer, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_BLOCK = b"whesl" * 13_108  # 64 KiB, more than a cache of a metadata server holds
_TOOL_TIME = 60  # seconds for one command; the whole probe has a limit of its own
_ACTIVE = "ACTIVE"


def facts(directories: list[str], check: str) -> dict[str, object]:
    """Return the facts about this node.

    Args:
        directories: directories to write and read.
        check: an executable of the site; '' for none.
    """
    return {
        "problems": [*filter(None, map(_written, directories)), *_gpu_problems(), *_checked(check)],
        "gpus": _gpus(),
        "links": _links(),
    }


def _written(directory: str) -> str:
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".whesl-health-") as file:
            file.write(_BLOCK)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            if file.read() != _BLOCK:
                return f"{directory}: what was written is not what is read"
    except OSError as error:
        return f"{directory}: {error.strerror or error}"
    return ""


def _gpu_problems() -> list[str]:
    """Return errors of NVIDIA's driver, such as on a lost GPU ("Unable to determine the device handle")."""
    return _run(["nvidia-smi", "-L"]) if shutil.which("nvidia-smi") else []


def _gpus() -> int:
    """Return the number of GPUs for which the kernel has a device.

    /dev/nvidia0 and so on are NVIDIA GPUs. In AMD's topology (amdkfd), a node with compute units is a GPU.
    """
    nvidia = sum(1 for device in Path("/dev").glob("nvidia[0-9]*"))
    topology = Path("/sys/class/kfd/kfd/topology/nodes").glob("*/properties")
    return nvidia + sum(
        "simd_count" in text and "simd_count 0\n" not in text for text in map(_text, topology)
    )


def _links() -> int:
    """Return the number of active ports of InfiniBand, RoCE and Slingshot."""
    ports = Path("/sys/class/infiniband").glob("*/ports/*/state")
    slingshot = Path("/sys/class/net").glob("hsn[0-9]*/operstate")
    return sum(_ACTIVE in _text(port) for port in ports) + sum(_text(one) == "up\n" for one in slingshot)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _checked(check: str) -> list[str]:
    return _run([check]) if check else []


def _run(command: list[str]) -> list[str]:
    try:
        done = subprocess.run(  # the driver's command, or the executable that the rules name
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TOOL_TIME, check=False
        )
    except subprocess.TimeoutExpired:
        return [f"{command[0]} did not end within {_TOOL_TIME} s"]
    except OSError as error:
        return [f"{command[0]} cannot be run: {error.strerror or error}"]
    if done.returncode == 0:
        return []
    said = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace").rpartition("\n")[2]
    return [f"{command[0]} ended with status {done.returncode}{f': {said[:200]}' if said else ''}"]


if __name__ == "__main__":
    sys.stdout.write("health check\n")
    sys.stdout.flush()
    json.dump(facts(sys.argv[2:], sys.argv[1]), sys.stdout)
