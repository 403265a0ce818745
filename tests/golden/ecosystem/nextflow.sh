#!/bin/bash
#SBATCH --array 0-2
#SBATCH -J nf-x
#SBATCH -o /dev/null
#SBATCH --no-requeue
#SBATCH --signal B:USR2@30
#SBATCH -c 1
#SBATCH -t 48:00:00
#SBATCH --mem 100M
#SBATCH -p main
true
