#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1
# With a third node as spare: whesl run torchrun.sh -e rules.esl --spares 1
# torchrun itself restarts nothing (--max-restarts is 0): the rules do, and can take another node.
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun bash -c 'exec torchrun --nnodes "$SLURM_NNODES" --node_rank "$SLURM_NODEID" --nproc_per_node 4 \
    --master_addr "$MASTER_ADDR" --master_port 29500 train.py'
