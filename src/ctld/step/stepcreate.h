/* stepcreate.h - a step gets its part of the job, and its record.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct step_part { /* of a step: all of it, or what one component has */
    struct job *job;
    const Pst__StepSpec *spec;
    Pst__Alloc *alloc;
    uint32_t ntasks;
    char *ports; /* kept for it, owned; NULL: none */
    char *dist;  /* how tasks go over the nodes, owned; NULL: as the request says */
    struct step *step;
    struct err *err; /* gets the sentence of a refusal that has one; may be NULL */
};

/* All parts or none, under one id; components take their ids from the leader.  0 or an ESLURM code.
 * queued_id: a step of srun --async, whose turn it is. */
int steps_create_parts(struct ctld *ctld, struct step_part *parts, size_t n,
                       const struct peer *peer, const uint32_t *queued_id, uint64_t *ret_lsn);
/* The same for a step of one job: 0 with *ret_step, or an ESLURM code. */
int steps_create_one(struct ctld *ctld, struct job *j, const Pst__StepSpec *spec,
                     const struct peer *peer, const uint32_t *queued_id, struct step **ret_step,
                     uint64_t *ret_lsn, struct err *err);
