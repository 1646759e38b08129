"""Ends a job as its script would: ``python -m whesl.managers.resource.slurm.job_completion JOB STATUS``.

No command of Slurm does that: ``scancel`` leaves a job CANCELLED, with dependents that never start. Slurm's
library has the call by which ``salloc`` ends its job (``slurm_complete_job`` in slurm/slurm.h), and slurmctld
takes it for a job with a script, too, from the job's owner.

The library is the one that ``scontrol`` loads, also where a site's script starts it, since both have to speak
the same protocol: glibc's loader tells it (``LD_DEBUG``, ld.so(8)). A process of its own, since a foreign
library may end its process.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
from typing import ClassVar

from whesl.managers.resource.command_call import captured
from whesl.managers.resource.slurm.releases import Ability, release

_UNSET = 0xFFFFFFFE  # NO_VAL of slurm/slurm.h


class _StepId(ctypes.Structure):
    """``slurm_step_id_t`` of slurm/slurm.h, 25.11."""

    _fields_: ClassVar = [
        ("sluid", ctypes.c_uint64),
        ("job_id", ctypes.c_uint32),
        ("step_het_comp", ctypes.c_uint32),
        ("step_id", ctypes.c_uint32),
    ]


def main(job: str, status: str) -> int:
    """End a job; return 0 when slurmctld has ended it.

    Args:
        job: the job's id.
        status: its exit status, as a shell gives it.
    """
    # The end of the job terminates this process, too, which has yet to say that slurmctld took the call.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    asked = captured(("scontrol", "--version"), {**os.environ, "LD_DEBUG": "libs"}, 20)
    library = re.search(r"calling init: (/\S+/libslurm\w*\.so\S*)", asked.stderr)
    known = release(asked.stdout)
    if library is None or known is None:
        sys.stderr.write("the loader does not name the library of scontrol, or scontrol names no release\n")
        return 1
    number = ctypes.c_uint32(int(job))
    named: object = number
    if Ability.STEP_IDS_IN_LIBRARY.of(known):
        named = ctypes.byref(_StepId(0, number, _UNSET, _UNSET))
    slurm = ctypes.CDLL(library[1], mode=ctypes.RTLD_GLOBAL)  # Slurm's plugins use its symbols
    slurm.slurm_init(None)
    # The status is encoded as by wait(2).
    if slurm.slurm_complete_job(named, ctypes.c_uint32(int(status) << 8)) != 0:
        sys.stderr.write(f"slurm_complete_job refused job {job}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
