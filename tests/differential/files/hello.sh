#!/bin/bash
echo "hello $SLURM_JOB_NAME $# $1 $2"
