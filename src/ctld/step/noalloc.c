/* noalloc.c - see noalloc.h */
#include "ctld/step/noalloc.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/sluid.h"
#include "ctld/core/service.h"
#include "ctld/job/jobfacts.h"
#include "ctld/step/steplayout.h"
#include "ctld/step/steps.h"

#define JOB_IDS 65521u /* a prime: numbers of one moment differ */

static bool may_ask(const struct ctld *ctld, const struct cmd *cmd)
{
    const struct peer *peer = conn_peer(cmd->conn);

    return peer->uid == 0 || peer->uid == conf_slurm_uid(ctld->conf);
}

/* All CPUs of the nodes, and no limit of memory. */
static Pst__Alloc *whole_nodes(const struct cluster *c, const struct bitmap *nodes)
{
    size_t n = bitmap_count(nodes);
    Pst__Alloc *a = must(malloc(sizeof(*a)));

    pst__alloc__init(a);
    a->node_ids = must(calloc(n, sizeof(*a->node_ids)));
    a->groups = must(calloc(n, sizeof(*a->groups)));
    BITMAP_FOREACH (nodes, i) {
        Pst__AllocGroup *g = must(malloc(sizeof(*g)));

        pst__alloc_group__init(g);
        SET(g, nodes, 1);
        SET(g, cpus, cluster_node(c, (uint32_t)i)->rec->cpus);
        SET(a, total_cpus, a->total_cpus + g->cpus);
        a->groups[a->n_groups++] = g;
        a->node_ids[a->n_node_ids++] = (uint32_t)i;
    }
    return a;
}

static void fill_job(struct ctld *ctld, const struct cmd *cmd, const Pst__StepSpec *spec,
                     Pst__JobRecord *rec)
{
    const struct peer *peer = conn_peer(cmd->conn);
    char text[SLUID_TEXT_SIZE];

    ctld->last_no_job = sluid_next(ctld->last_no_job, SLUID_NO_JOB, core_now());
    SET(rec, db_id, ctld->last_no_job);
    SET(rec, job_id, JOB_ID_NO_JOB_MIN + (uint32_t)(ctld->last_no_job % JOB_IDS));
    rec->sluid = tx_strdup(sluid_text(ctld->last_no_job, text));
    SET(rec, uid, peer->uid);
    SET(rec, gid, peer->gid);
    rec->user_name = tx_strdup(cmd->user_name);
    rec->name = tx_strdup(spec->name);
    rec->work_dir = tx_strdup(spec->work_dir);
    SET(rec, state, PST__JOB_STATE__JOB_RUNNING);
    SET(rec, start_us, core_now());
}

/* 0 with the job's nodes and the step's part of them, or an ESLURM code. */
static int lay_out(struct ctld *ctld, const Pst__StepSpec *spec, struct job *j,
                   Pst__StepRecord *step, struct err *err)
{
    _cleanup_(bitmap_free) struct bitmap *nodes = NULL;
    char *dist = NULL;
    uint32_t tasks = 0;
    int r = spec->nodelist ? jobs_nodes_named(ctld->cluster, spec->nodelist, true, &nodes)
                           : ESLURM_INVALID_NODE_NAME;

    if (r == 0 && bitmap_count(nodes) == 0)
        r = ESLURM_INVALID_NODE_NAME;
    if (r != 0)
        return r;
    j->rec->alloc = whole_nodes(ctld->cluster, nodes);
    j->rec->alloc->nodes = tx_strdup(spec->nodelist);
    r = steplayout_make(ctld->cluster, j, spec, &step->alloc, &tasks, &dist, err);
    if (r == 0)
        r = steplayout_check(step->alloc, conf_num(ctld->conf, CONF_MAX_TASKS_PER_NODE));
    if (r != 0) {
        free(dist);
        return r;
    }
    if (dist) {
        free(step->distribution);
        step->distribution = dist;
    }
    SET(step, num_tasks, tasks);
    return 0;
}

void noalloc_answer(struct ctld *ctld, const struct cmd *cmd, const Pst__StepSpec *spec)
{
    Pst__JobRecord *rec = must(malloc(sizeof(*rec)));
    Pst__StepRecord *set = must(malloc(sizeof(*set)));
    struct job j = { .rec = rec };
    struct step s = { .rec = set };
    struct err err = { .text = "" };
    Pst__StepReply *reply = NULL;
    int r = may_ask(ctld, cmd) ? 0 : ESLURM_ACCESS_DENIED;

    pst__job_record__init(rec);
    pst__step_record__init(set);
    if (r == 0) {
        fill_job(ctld, cmd, spec, rec);
        steps_fill(set, &j, spec, conn_peer(cmd->conn));
        SET(set, job_id, rec->job_id);
        SET(set, step_id, 0);
        r = lay_out(ctld, spec, &j, set, &err);
    }
    if (r == 0)
        reply = steps_reply_new(ctld, &j, &s);
    if (reply) {
        log_info("user %u launches StepId=%u.0 on %s without an allocation", rec->uid, rec->job_id,
                 set->alloc->nodes);
        core_reply(ctld, cmd, ctld->applied_lsn, 0, &reply->base);
    } else if (r == 0) {
        core_error(ctld, cmd, SLURM_ERROR,
                   "the controller cannot sign credentials: libsodium is missing");
    } else {
        core_error(ctld, cmd, r, err.text[0] ? err.text : NULL);
    }
    steps_reply_free(reply);
    pst__job_record__free_unpacked(rec, NULL);
    pst__step_record__free_unpacked(set, NULL);
}
