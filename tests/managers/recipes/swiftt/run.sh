set -e
# Swift/T's own ranks stay on the job's first node, and do not use srun.
export OMPI_MCA_ras=^slurm OMPI_MCA_plm=isolated OMPI_MCA_rmaps_base_oversubscribe=1
export TURBINE_APP_RETRIES=1
sbatch --wait --nodes=3 --no-kill --output=study.out --wrap "cd /p/me/study && swift-t -n 3 study.swift"
cat study.out
