/* fedset.h - the clusters of this controller's federation, and which of them may run a job
 *
 * A struct fedset is read from accounting's records of clusters (AcctClusterRecord) when it is
 * needed, and no copy is kept.  Clusters have the numbers 1 to FED_CLUSTERS_MAX; bit n - 1 of a
 * mask is cluster n.  Core thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctld/ctld.h"

#define FED_CLUSTERS_MAX 63u /* six bits of a job's number */
#define FED_ID_SHIFT 26u
#define FED_LOCAL_MASK ((1u << FED_ID_SHIFT) - 1)

enum fed_state { FED_STATE_ACTIVE = 1, FED_STATE_INACTIVE = 2 }; /* + FED_STATE_DRAIN ... */
#define FED_STATE_DRAIN 16u
#define FED_STATE_REMOVE 32u /* with DRAIN: it leaves when nothing of the federation is left */

struct fedset {
    const char *name; /* of the federation; NULL: there is none.  Borrowed, as the records are */
    uint32_t self;    /* this cluster's number */
    const Pst__AcctClusterRecord *of[FED_CLUSTERS_MAX + 1]; /* by number; NULL = none */
};

/* This cluster's number in its federation; 0: it is in none.  O(1). */
uint32_t fedset_own_number(const struct ctld *ctld);
void fedset_read(const struct ctld *ctld, struct fedset *ret);
/* A text of all that jobs and links use of the members: while it stays the same, nothing of that
 * has changed.  The caller frees.  Ends the process when memory is gone. */
char *fedset_text(const struct fedset *set);
/* The member of that name; 0: there is none. */
uint32_t fedset_number(const struct fedset *set, const char *name);
/* Which cluster gave this number to a job; 0: none of a federation. */
static inline uint32_t fed_number_of(uint32_t job_id)
{
    return job_id >> FED_ID_SHIFT;
}
static inline uint64_t fed_bit(uint32_t number)
{
    return number ? UINT64_C(1) << (number - 1) : 0;
}
/* May several clusters run the job? */
static inline bool fed_is_job(const Pst__JobRecord *r)
{
    return r->has_fed_viable;
}
/* Was this job of a federation submitted to this cluster? */
bool fedset_is_origin(const struct ctld *ctld, const Pst__JobRecord *r);
/* Is the job a copy whose origin is no member any more?  Then no cluster will ever start it.  set
 * NULL: there is no federation.  O(1). */
bool fedset_is_orphan(const struct ctld *ctld, const struct fedset *set, const Pst__JobRecord *r);
/* Does this cluster alone decide about the job now?  Else *ret_cluster is the name of the cluster
 * that decides, its owner or its origin; borrowed. */
bool fedset_decides(const struct ctld *ctld, const Pst__JobRecord *r, const char **ret_cluster);

/* Has a member told that it runs this job of ours?  REVOKED alone does not say so: it is also what
 * a job is from its submission on where the cluster that it was submitted to may not run it.
 * O(1). */
bool fedset_has_started(const struct ctld *ctld, const Pst__JobRecord *r);

/* The member that has told that it runs this job of ours; NULL: none has.  Borrowed.  O(1) for jobs
 * that no other cluster may run. */
const Pst__AcctClusterRecord *fedset_runner(const struct ctld *ctld, const Pst__JobRecord *r);

/* The other member that gave the number with which the text of an id begins ("67108866_3"); NULL:
 * none did.  Borrowed.  Jobs that the giver started at once, or keeps, are unknown elsewhere. */
const char *fedset_giver(const struct ctld *ctld, const char *id);

/* Fill the result about a job that another cluster decides about: the name of that cluster, for
 * commands that ask there by themselves, and a sentence for all others. */
void fedset_refer(Pst__JobActionResult *res, const char *cluster);

/* The active clusters of the list `clusters` (NULL: of all) that have one of the features "a,b", or
 * with "!a,b" none of them (NULL: features do not matter). */
uint64_t fedset_viable(const struct fedset *set, const char *clusters, const char *features);
/* Names of the clusters of a mask, commas between; the caller frees.  Ends the process when memory
 * is gone. */
char *fedset_names(const struct fedset *set, uint64_t mask);
/* Note in the record of a new job of this cluster which clusters may run the job.  Without a
 * federation nothing is noted.  0 or an ESLURM code: no cluster may run the job. */
int fedset_fill(const struct ctld *ctld, Pst__JobRecord *r);
/* Check a job that no other cluster may run.  0, or an ESLURM code: --cluster-constraint excludes
 * this cluster. */
int fedset_keep(const struct ctld *ctld, const Pst__JobRecord *r);
