/* nsprune.h - pruneSlurmNodeRecords: nodes of Slurm whose pod and node of Kubernetes are gone
 *
 * Pure. */
#pragma once

#include "kube/nodeset/nsdecide.h"

/* Does the NodeSet want its dead records deleted? */
bool nsprune_is_wanted(const json_t *nodeset);
/* Is a record of Slurm one that a worker of this very NodeSet left, which cannot come back?  It is
 * down and silent, holds no job, its pod is gone, and its node is gone or has another hostname. */
bool nsprune_is_defunct(const struct nsview *v, const json_t *record);
