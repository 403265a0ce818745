/* cluster_private.h - shared by the files that make up the model only */
#pragma once

#include "model/cluster.h"

struct idset {           /* job ids of one array, in order of creation */
    size_t head, n, cap; /* ids[head] to ids[head + n - 1]: the oldest are purged first */
    struct array_tally tally;
    uint32_t *parts; /* of them, the records that hold tasks; not in order */
    size_t n_parts, cap_parts;
    uint32_t ids[];
};

/* User ids begin at 0, and keys of an idmap do not. */
static inline uint64_t kept_key(uint32_t id)
{
    return (uint64_t)id + 1;
}

/* index.c */
void model_tally(struct cluster *c, const Pst__JobRecord *r, bool add);
int model_name(struct cluster *c, struct job *j); /* after a change; -ENOMEM */
void model_unname(struct cluster *c, struct job *j);
/* Its record has changed: it leaves the list of those that wait before it comes into another. */
void model_unname_moved(struct cluster *c, struct job *j);
/* The job can be found by its SLUID and by its place in an array, as its record is now; -ENOMEM. */
int model_find_put(struct cluster *c, struct job *j);
void model_find_remove(struct cluster *c, struct job *j);
void model_names_free(struct cluster *c);

/* blob.c */
struct blob_name {
    bool has_digest;
    struct digest digest;
    uint64_t old_hash; /* without a digest; 0 = none */
};
struct blob_names {
    struct blob_name script, env;
};
int model_blob_put(struct cluster *c, const Pst__Blob *rec, struct err *err);
void model_blob_names(const Pst__JobRecord *r, struct blob_names *ret);
/* uid: whose job it is that names them. */
void model_blob_refs(struct cluster *c, const struct blob_names *n, uint32_t uid, int delta);
void model_job_blobs(struct cluster *c, const Pst__JobRecord *r, int delta);
void model_blobs_free(struct cluster *c);
uint64_t model_blobs_hash(const struct cluster *c);
int model_blobs_dump(const struct cluster *c, cluster_dump_fn *fn, void *ctx);

void model_job_free(struct cluster *c, struct job *j);
void model_node_free(struct node *n);
void model_partition_free(struct partition *p);

/* charge.c */
void model_charge(struct cluster *c, struct job *j, bool add);
void model_charge_free(struct cluster *c);
/* usage.c */
struct kept;
/* before and after a change */
void model_usage_job(struct cluster *c, const Pst__JobRecord *r, bool add);
void model_usage_recount(struct cluster *c, bool advance_first); /* when stale */
/* before it is applied */
void model_usage_acct(struct cluster *c, const Pst__AcctChange *ch);
void model_usage_cluster(struct cluster *c, const Pst__ClusterRecord *set); /* likewise */
int model_usage_put(struct cluster *c, const Pst__UsageRecord *rec, struct err *err);
void model_usage_reset(struct cluster *c, const Pst__UsageReset *what);
void model_usage_free(struct kept *k);
/* kept.c */
int model_acct_init(struct cluster *c);
int model_apply_kept(struct cluster *c, const Pst__Event *ev, struct err *err);
void model_kept_free(struct cluster *c);
uint64_t model_kept_hash(const struct cluster *c);
int model_kept_dump(const struct cluster *c, cluster_dump_fn *fn, void *ctx);
