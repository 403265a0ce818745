/* stepvnis.h - virtual networks (VNIs) of Slingshot for steps: SwitchType=switch/hpe_slingshot
 *
 * A step on several nodes has a VNI of its own until its last node has said that it ended; with
 * job_vni the steps of a job share one more, from the first of them until the job's nodes are
 * clean.  Both stand in the records of steps and jobs and nowhere else, so a restart knows them.
 * Numbers are given in turn, so that one that was just given back rests.  Core thread. */
#pragma once

#include "base/err.h"
#include "ctld/ctld.h"

struct stepvnis;

struct stepvnis_pick {
    uint32_t n;       /* 0: the step has none */
    uint32_t vnis[2]; /* its own, its job's */
    bool fresh_job;   /* the job had none before: its record is to say so */
};

/* Numbers for a step of this job (of a heterogeneous one: the leader) on so many nodes.  They are
 * held once a transaction with the records is applied: no other pick may come between.  0, or
 * ESLURM_INTERCONNECT_FAILURE with a sentence in err, which may be NULL. */
int stepvnis_choose(struct ctld *ctld, const struct job *owner, const char *network, uint32_t nodes,
                    struct stepvnis_pick *ret, struct err *err);
