"""Programs that start a job's ranks and are none of them, and the variables that give a rank its number."""

from __future__ import annotations

LAUNCHERS = frozenset(
    {"srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prte", "prun", "flux", "flux-job"}
    | {"pbsdsh", "pbs_tmrsh", "jsrun", "aprun", "ibrun"}
)
# Daemons of launchers are not the program either; names as the kernel shortens them (15 characters).
NO_RANKS = LAUNCHERS | {"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_pr"}
# Set by torchrun, Slurm, Open MPI, PMI (MPICH and others) and Flux; the first one that is set counts.
RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "FLUX_TASK_RANK")
