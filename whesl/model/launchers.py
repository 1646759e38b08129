"""Programs that start a job's ranks and are none of them, by their names."""

from __future__ import annotations

LAUNCHERS = frozenset(
    {"srun", "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prte", "flux", "flux-job"}
)
# Daemons of launchers are not the program either; names as the kernel shortens them (15 characters).
NO_RANKS = LAUNCHERS | {"prun", "orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_pr"}
