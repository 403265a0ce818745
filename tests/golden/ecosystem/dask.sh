#!/usr/bin/env bash

#SBATCH -J dask-worker
#SBATCH -e dask-worker-%J.err
#SBATCH -o dask-worker-%J.out
#SBATCH -p main
#SBATCH -n 1
#SBATCH --cpus-per-task=4
#SBATCH --mem=1G
#SBATCH -t 00:30:00
true
