/* fedset.h - the clusters of this controller's federation, and which of them may run a job
 *
 * What accounting says of clusters (AcctClusterRecord) read as a set; nothing is kept.  Numbers of
 * clusters are 1 to FED_CLUSTERS_MAX; bit n - 1 of a mask is cluster n.  Core thread. */
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
    const char *name; /* NULL: in no federation; borrowed of accounting, as are the records */
    uint32_t self;    /* this cluster's number */
    const Pst__AcctClusterRecord *of[FED_CLUSTERS_MAX + 1]; /* by number; NULL = none */
};

/* The number in the federation, 0: in none.  O(1). */
uint32_t fedset_own_number(const struct ctld *ctld);
void fedset_read(const struct ctld *ctld, struct fedset *ret);
/* Everything of the members that matters to jobs and links, as a text to compare.  The caller
 * frees.  Ends the process when memory is gone. */
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
/* Several clusters may run it. */
static inline bool fed_is_job(const Pst__JobRecord *r)
{
    return r->has_fed_viable;
}
/* Was the job, which is a federation's, submitted to this cluster? */
bool fedset_is_origin(const struct ctld *ctld, const Pst__JobRecord *r);
/* A copy that waits here for a cluster that is no member any more (set NULL: there is no
 * federation), so that nobody will ever start it.  O(1). */
bool fedset_is_orphan(const struct ctld *ctld, const struct fedset *set, const Pst__JobRecord *r);
/* Does this cluster alone say what happens to the job now?  Else *ret_cluster is the name of the
 * one that does: the owner, or the origin.  Borrowed. */
bool fedset_decides(const struct ctld *ctld, const Pst__JobRecord *r, const char **ret_cluster);

/* The member that runs a job of this cluster, and has said so; NULL: none does.  Borrowed.  O(1)
 * for jobs of this cluster alone. */
const Pst__AcctClusterRecord *fedset_runner(const struct ctld *ctld, const Pst__JobRecord *r);

/* Say so in the result about such a job: its cluster, and a sentence for those who do not ask there
 * by themselves. */
void fedset_refer(Pst__JobActionResult *res, const char *cluster);

/* The clusters that may run a job with these wishes: active ones, of `clusters` (NULL = all) that
 * have a feature of `features` ("a,b"; "!a,b": none of them; NULL = any). */
uint64_t fedset_viable(const struct fedset *set, const char *clusters, const char *features);
/* Names of the clusters of a mask, commas between; the caller frees.  Ends the process when memory
 * is gone. */
char *fedset_names(const struct fedset *set, uint64_t mask);
/* Fields of a new job of this cluster: which clusters may run it.  Nothing where there is no
 * federation.  0 or an ESLURM code: no cluster may. */
int fedset_fill(const struct ctld *ctld, Pst__JobRecord *r);
/* A job that no other cluster gets.  0, or an ESLURM code: --cluster-constraint is not for this
 * cluster. */
int fedset_keep(const struct ctld *ctld, const Pst__JobRecord *r);
