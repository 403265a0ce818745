#!/bin/sh
# EpilogSlurmctld of slurm.conf, where nodes have both slurmd and a kubelet: a job of pods that Slurm ends (scancel, a time limit,
# preemption) keeps its nodes until its pods have stopped there. PARTITION is penstock-bridge's. The kubeconfig needs the right to list
# pods of all namespaces, and is SlurmUser's.
[ "$SLURM_JOB_PARTITION" = "${PARTITION:-k8s}" ] || exit 0
exec penstock kube wait-pods --kubeconfig="${KUBECONFIG:-/etc/slurm/kubeconfig}" "$SLURM_JOB_ID"
