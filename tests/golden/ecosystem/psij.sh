#!/bin/bash
#SBATCH --job-name="psij"
#SBATCH --chdir="/tmp"
#SBATCH --output="/dev/null"
#SBATCH --partition="main"
#SBATCH --mem=102400K
#SBATCH --time=1-2:3:4
#SBATCH --cpus-per-task=1
#SBATCH --export=ALL
true
