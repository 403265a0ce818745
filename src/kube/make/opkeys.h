/* opkeys.h - labels, annotations and names that the operator and its users share */
#pragma once

#define OPKEY_MANAGER "penstock-operator" /* field manager, and who makes events */
#define OPKEY_REASON                                                                               \
    "slurm-operator: " /* every reason of ours begins so: others are an administrator's */
#define OPKEY_ENDED OPKEY_REASON "Pod is terminating" /* what a worker's pod says at its end */
#define OPKEY_NAME "app.kubernetes.io/name"
#define OPKEY_INSTANCE "app.kubernetes.io/instance"
#define OPKEY_COMPONENT "app.kubernetes.io/component"
#define OPKEY_CLUSTER "slinky.slurm.net/cluster"
#define OPKEY_SLURM_KEY_HASH "slinky.slurm.net/slurm-key-hash"
#define OPKEY_JWT_KEY_HASH "slinky.slurm.net/jwt-key-hash"
#define OPKEY_CONFIG_HASH "slinky.slurm.net/slurm-config-hash"
#define OPKEY_DBD_HASH "slinky.slurm.net/slurmdbd-conf-hash"
#define OPKEY_SSHD_HASH "slinky.slurm.net/sshd-conf-hash"
#define OPKEY_SSSD_HASH "slinky.slurm.net/sssd-conf-hash"
#define OPKEY_HOSTKEYS_HASH "slinky.slurm.net/ssh-host-keys-hash"
#define OPKEY_MAIN_CONTAINER "kubectl.kubernetes.io/default-container"
#define OPKEY_ACTIVE "controller.slinky.slurm.net/active"
#define OPKEY_CORDON "nodeset.slinky.slurm.net/pod-cordon"
#define OPKEY_COST "nodeset.slinky.slurm.net/pod-deletion-cost"
#define OPKEY_DEADLINE "nodeset.slinky.slurm.net/pod-deadline"
#define OPKEY_CORDON_REASON "nodeset.slinky.slurm.net/node-cordon-reason"
#define OPKEY_HOSTNAME "nodeset.slinky.slurm.net/hostname-override"
#define OPKEY_POD_NAME "nodeset.slinky.slurm.net/pod-name"
#define OPKEY_POD_INDEX "nodeset.slinky.slurm.net/pod-index"
#define OPKEY_POD_HOSTNAME "nodeset.slinky.slurm.net/pod-hostname"
#define OPKEY_PROTECT "nodeset.slinky.slurm.net/pod-protect"
#define OPKEY_MODE "nodeset.slinky.slurm.net/scaling-mode"
#define OPKEY_WORKER_TAINT "nodeset.slinky.slurm.net/worker"
#define OPKEY_TOPOLOGY "topology.slinky.slurm.net/spec"
#define OPKEY_FEATURES "features.slinky.slurm.net/spec"
#define OPKEY_REVISION "controller.kubernetes.io/hash"
