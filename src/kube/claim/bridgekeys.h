/* bridgekeys.h - labels, annotations and names that the bridge and its users share */
#pragma once

#define BRIDGE_LABEL_JOB "scheduler.slinky.slurm.net/slurm-jobid" /* of a pod */
#define BRIDGE_NOTE_NODE "slinky.slurm.net/slurm-node"            /* of a pod: its node */
#define BRIDGE_FINALIZER "scheduler.slinky.slurm.net/finalizer"   /* of a pod that has a job */
#define BRIDGE_LABEL_NODE "slinky.slurm.net/slurm-nodename"       /* of a node: its name in Slurm */
#define BRIDGE_LABEL_EXTERNAL "scheduler.slinky.slurm.net/external-node" /* of a node: in Slurm */
#define BRIDGE_NOTE_PARTITIONS "scheduler.slinky.slurm.net/external-node-partitions"
#define BRIDGE_NOTE_TOPOLOGY "topology.slinky.slurm.net/spec" /* of a node */
#define BRIDGE_NOTE_PREFIX "slurmjob.slinky.slurm.net/"       /* options of jobs */
#define BRIDGE_NOTE_ATTEMPT "bridge.penstock/attempt" /* of a pod: jobs given up for it so far */
#define BRIDGE_TAINT "slinky.slurm.net/managed-node"
#define BRIDGE_LABEL_PODGROUP "scheduling.x-k8s.io/pod-group"
#define BRIDGE_LABEL_LWS_KEY "leaderworkerset.sigs.k8s.io/group-key"
#define BRIDGE_LABEL_LWS_NAME "leaderworkerset.sigs.k8s.io/name"
#define BRIDGE_LABEL_LWS_GROUP "leaderworkerset.sigs.k8s.io/group-index"
#define BRIDGE_LABEL_LWS_WORKER "leaderworkerset.sigs.k8s.io/worker-index"
#define BRIDGE_NOTE_LWS_SIZE "leaderworkerset.sigs.k8s.io/size"
#define BRIDGE_LABEL_INDEX "batch.kubernetes.io/job-completion-index"
