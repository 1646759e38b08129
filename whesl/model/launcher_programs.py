"""Programs that start a job's ranks and are none of them, and the variables that give a rank its number."""

from __future__ import annotations

import re

LAUNCHERS = frozenset(
    {"srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prte", "prun", "flux", "flux-job"}
    | {"pbsdsh", "pbs_tmrsh", "jsrun", "aprun", "ibrun"}
)
# Daemons of launchers are not the program either; names as the kernel shortens them (15 characters).
NO_RANKS = LAUNCHERS | {"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_pr"}
# Set by torchrun, Slurm, Open MPI, PMI (MPICH and others) and Flux; the first one that is set counts.
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "FLUX_TASK_RANK")
# Variables of ranks that are not set in a batch script, by srun(1), flux-run(1), torchrun, and the process
# environments of Open MPI and MPICH. Slurm numbers the step of a batch script -5 (26.05), and that of an
# interactive shell in the same way (slurm.h).
_RANKS = re.compile(
    rb"\0(?:SLURM_STEP_ID=\d{1,9}\0|(?:FLUX_TASK_RANK|OMPI_COMM_WORLD_RANK|PMI_RANK|PMIX_RANK|TORCHELASTIC_RUN_ID)=)"
)


def is_rank(environment: bytes) -> bool:
    """Whether an environment (as in ``/proc/PID/environ``) has the variables of a launcher's rank."""
    return _RANKS.search(b"\0" + environment + b"\0") is not None
