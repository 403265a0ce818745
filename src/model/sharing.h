/* sharing.h - fields of jobs' records that are kept once for all jobs; the model's own business
 *
 * Invariant: in a record that a struct job owns each of these fields is absent, or its value is
 * one of cluster.texts.  Whoever changes or frees such a record goes through these functions; other
 * records, copies among them, own what they point to as ever. */
#pragma once

#include "model/cluster.h"

/* A copy of r that is a job's.  -ENOMEM: there is none. */
int model_own(struct cluster *c, const Pst__JobRecord *r, Pst__JobRecord **ret);
/* r becomes a job's as it is: malloc's, but for its common values, which are copied and are not
 * freed.  -ENOMEM: some of these are absent then; it is a job's nevertheless. */
int model_adopt(struct cluster *c, Pst__JobRecord *r);
/* Before a job's record is freed: its common values become absent. */
void model_unshare(struct cluster *c, Pst__JobRecord *r);
/* Before a patch is merged into r: what it will replace or clear becomes absent.  Gives the fields
 * that model_share_some() makes common afterwards. */
uint64_t model_unshare_patched(struct cluster *c, Pst__JobRecord *r, const Pst__JobPatch *p);
/* -ENOMEM: some are absent then. */
int model_share_some(struct cluster *c, Pst__JobRecord *r, uint64_t which);
