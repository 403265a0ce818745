#!/bin/bash
#SBATCH --nosuchoption
true
