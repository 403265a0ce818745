/* submitrecord.c - the record, the script and the environment of a submission; see submission.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/acct/acctthread.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/submit/submission.h"
#include "fields.h"

#define BLOB_AGAIN_US (1800 * USEC_PER_SEC)
#define GROUPS_MAX (2u * 1024 * 1024) /* as wire/caps.c has it */

struct bloblog { /* when a script or environment was logged; by the first bytes of its name */
    struct blob_logged {
        struct digest name;
        int64_t time_us;
    } at[4096];
};

int bloblog_new(struct bloblog **ret)
{
    struct bloblog *b = calloc(1, sizeof(*b));

    if (!b)
        return -ENOMEM;
    *ret = b;
    return 0;
}

struct bloblog *bloblog_free(struct bloblog *b)
{
    free(b);
    return NULL;
}

/* The accounting store may have purged what has not been submitted for an hour or more, and its
 * switch may be new: what it shall keep is logged again now and then. */
static bool log_again(struct ctld *ctld, const struct digest *name, int64_t time_us)
{
    struct bloblog *b = ctld->bloblog;
    struct blob_logged *at = &b->at[digest_place(name) % ARRAY_SIZE(b->at)];

    if (!(acctthread_keep(ctld->acct) & (ACCT_SCRIPT | ACCT_ENV)) ||
        (digest_equal(&at->name, name) && time_us - at->time_us < BLOB_AGAIN_US))
        return false;
    *at = (struct blob_logged){ *name, time_us };
    return true;
}

static void put_blob(const struct submission *s, Pst__Transaction *tx, const struct digest *name,
                     const void *data, size_t len)
{
    struct ctld *ctld = s->ctld;
    bool again = log_again(ctld, name, tx->time_us) || s->replaces;

    if (again || !cluster_blob(ctld->cluster, name))
        tx_blob(tx, name, data, len);
}

static void put_contents(struct submission *s, Pst__Transaction *tx)
{
    const struct contents *c = s->contents;
    Pst__JobRecord *r = s->rec;

    if (c->has_script) {
        put_blob(s, tx, &c->script, s->req->script.data, s->req->script.len);
        tx_digest(&c->script, &r->has_script_digest, &r->script_digest);
    }
    if (c->env.len && !job_is_external(r)) {
        put_blob(s, tx, &c->env_name, c->env.buf, c->env.len);
        tx_digest(&c->env_name, &r->has_env_digest, &r->env_digest);
    }
}

/* The name service lists a user's own group first. */
static void set_group(const struct submission *s)
{
    Pst__JobRecord *r = s->rec;

    if (r->group_name || !s->cmd->group_name || s->req->has_gid ||
        (s->req->has_uid && s->cmd->gid == 0)) /* root's own group, not the user's */
        return;
    r->group_name = tx_strdup(s->cmd->group_name);
    r->group_name[strcspn(r->group_name, ",")] = '\0';
}

/* Partitions that are for some groups look at them until the job starts.  Whole names: of more
 * than a record may hold the last ones are left out, which lets nobody in. */
static void set_groups(const struct submission *s)
{
    const struct cluster *c = s->ctld->cluster;
    const char *groups = s->cmd->group_name;

    for (size_t i = 0; i < c->nparts && !s->rec->groups; i++)
        if (c->parts[i]->rec->allow_groups)
            s->rec->groups = tx_strdup(groups ? groups : "");
    if (s->rec->groups && strlen(s->rec->groups) >= GROUPS_MAX) {
        char *cut;

        s->rec->groups[GROUPS_MAX] = '\0';
        cut = strrchr(s->rec->groups, ',');
        *(cut ? cut : s->rec->groups) = '\0';
    }
}

/* use_client_ids: nodes need no user database for it.  What root submits for another, root's host
 * has not told of. */
static void set_ident(const struct submission *s)
{
    const Pst__ClientIdent *id = s->cmd->conn ? conn_ident(s->cmd->conn) : NULL;
    ProtobufCMessage *copy;

    if (!id || s->rec->client_ident || !conf_client_ids(s->ctld->conf) ||
        conn_peer(s->cmd->conn)->uid != s->rec->uid)
        return;
    if (pb_dup(&id->base, &copy) < 0)
        must(NULL);
    s->rec->client_ident = PB_AS(client_ident, copy);
}

static void fill_identity(struct submission *s, uint32_t job_id)
{
    Pst__JobRecord *r = s->rec;
    int64_t now = core_now();
    const char *value;
    uint32_t least;
    size_t len;

    SET(r, job_id, job_id);
    SET(r, uid, s->cmd->uid);
    SET(r, gid, s->cmd->gid);
    if (!r->user_name && s->cmd->user_name)
        r->user_name = tx_strdup(s->cmd->user_name);
    set_group(s);
    set_groups(s);
    set_ident(s);
    SET(r, state, JOB_STATE(PENDING));
    if (!r->has_submit_us) /* a sibling's is the origin's */
        SET(r, submit_us, now);
    if (!r->dependency && !job_is_held(r))
        SET(r, eligible_us, r->has_begin_us ? r->begin_us : now);
    if (conf_option(s->ctld->conf, CONF_SLURMCTLD_PARAMETERS, "enable_stepmgr", &value, &len))
        SET(r, stepmgr, true);
    if (!r->has_requeue)
        SET(r, requeue, conf_bool(s->ctld->conf, CONF_JOB_REQUEUE));
    if (!r->alloc_host && conn_peer(s->cmd->conn)->host[0])
        r->alloc_host = tx_strdup(conn_peer(s->cmd->conn)->host);
    if (r->n_argv == 1 && r->command && strcmp(r->argv[0], r->command) == 0)
        /* the script alone: `command` says it, a hundred bytes a job less */
        (void)pb_clear(&r->base, JOB_F_ARGV);
    if ((least = submit_least_nodes(s->ctld, s->first, r)))
        SET(r, least_nodes, least);
    if (r->array_tasks)
        SET(r, array_job_id, job_id);
    if (!r->name)
        r->name = tx_strdup(job_is_external(r) ? "external" : "allocation");
}

/* Record, blobs and id of one component, or of a job that is none. */
void submission_put(struct submission *s, Pst__Transaction *tx, uint32_t first)
{
    fill_identity(s, first + s->het_offset);
    if (s->het_count)
        het_fill(s->rec, first, s->het_offset, s->het_count);
    if (!s->het_offset) /* script, environment and limits are the leader's */
        put_contents(s, tx);
    (void)pb_clear(&s->rec->base, JOB_F_RLIMITS); /* kept with the environment */
    lifecycle_new_run(s->ctld, tx, s->rec);
    tx_job_put_take(tx, PST__EVENT_KIND__EV_JOB_SUBMIT, TAKE_PTR(s->rec));
}
