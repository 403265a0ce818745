#!/bin/bash

# Parameters
#SBATCH --array=0-3%2
#SBATCH --cpus-per-task=2
#SBATCH --error='submitit %A_%a_0_log.err'
#SBATCH --gpus-per-node=1
#SBATCH --job-name=submitit
#SBATCH --mem=400MB
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --open-mode=append
#SBATCH --output='submitit %A_%a_0_log.out'
#SBATCH --signal=USR2@90
#SBATCH --time=5
#SBATCH --wckey=submitit

# command
export SUBMITIT_EXECUTOR=slurm
srun --unbuffered --output %A_%a_%t_log.out --error %A_%a_%t_log.err true
