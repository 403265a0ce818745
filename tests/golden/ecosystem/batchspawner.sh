#!/bin/bash
#SBATCH --output=/dev/null
#SBATCH --job-name=spawner-jupyterhub
#SBATCH --chdir=/tmp
#SBATCH --export=PATH,LANG
#SBATCH --get-user-env=L
#SBATCH --time=10
#SBATCH --mem=100
set -e
true
