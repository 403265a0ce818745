/* jobchange.h - what one request changes in one job
 *
 * Defaults (an empty QOS, EndTime=) are put in, changecheck.h says whether the sender may,
 * changeimply.h adds what follows, and one transaction is committed.  Codes are those of
 * `wire/errors.h`, 0 = done.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct job_change {
    struct ctld *ctld;
    struct cmd *cmd;                  /* its sender's rights count */
    const Pst__JobUpdateRequest *req; /* what is set and cleared */
};

/* Does it take away what the job waits for? */
bool change_clears_dependency(const Pst__JobUpdateRequest *req);

/* *ret_lsn: of the commit, written on success only.  The job may be another object afterwards. */
int change_apply(const struct job_change *c, struct job *j, uint64_t *ret_lsn);

/* Only the size of a running job changes. */
int change_resize(const struct job_change *c, struct job *j, uint64_t *ret_lsn);

/* Only the time limit of a step changes. */
int change_step(const struct job_change *c, struct job *j, uint32_t step_id, uint64_t *ret_lsn);
