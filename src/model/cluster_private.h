/* cluster_private.h - shared by the files that make up the model only */
#pragma once

#include "model/cluster.h"

struct idset { /* job ids of one array, in order of creation */
    size_t n, cap;
    uint32_t ids[];
};

void model_step_free(struct step *s);
void model_job_free(struct job *j);
void model_node_free(struct node *n);
void model_partition_free(struct partition *p);
