#!/bin/bash
# a comment
#SBATCH -J directed -n2 # why
#SBATCH --time=3
##SBATCH -N9

echo $SLURM_JOB_NAME $SLURM_NTASKS
#SBATCH -N9
