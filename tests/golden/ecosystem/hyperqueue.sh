#!/bin/bash
#SBATCH --nodes=2
#SBATCH --job-name=hq-alloc-1
#SBATCH --output=/dev/null
#SBATCH --error=/dev/null
#SBATCH --time=00:10:00
srun --overlap --ntasks=2 --nodes=2 true
