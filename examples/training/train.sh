#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1
# With a third node as spare: whesl run train.sh -e rules.esl --spares 1
# The names are looked up here, at each start: after a node was replaced they are others.
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS exec python train.py'
