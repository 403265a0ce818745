/* async.c - queued steps are launched, or end without having run; see async.h */
#include "ctld/step/async.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/bind/tasklayout.h"
#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/job/lifecycle.h"
#include "ctld/step/steps.h"
#include "fields.h"

void async_keep(Pst__StepRecord *rec, const Pst__StepRecord *queued)
{
    SET(rec, async, true);
    rec->client_host = tx_strdup(queued->client_host);
    SET(rec, client_pid, queued->client_pid);
    rec->has_async_launch = 1;
    rec->async_launch.len = queued->async_launch.len;
    rec->async_launch.data = must(malloc(queued->async_launch.len + 1));
    memcpy(rec->async_launch.data, queued->async_launch.data, queued->async_launch.len);
}

/* Ranks of the node at a position; *ret_n of them, in the caller's storage of num_tasks. */
static uint32_t *ranks_of(const Pst__StepRecord *r, size_t position, uint32_t *all, size_t *ret_n)
{
    size_t n = r->alloc->n_node_ids;
    _cleanup_free_ uint32_t *counts = must(calloc(n + 1, sizeof(*counts)));
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        counts[i] = alloc_group(r->alloc, i)->tasks;
        if (i < position)
            first += counts[i];
    }
    if (tasklayout(r->distribution, counts, n, all) < 0)
        must(NULL);
    *ret_n = counts[position];
    return all + first;
}

void async_launch_on(struct ctld *ctld, struct job *j, struct step *s, const struct node *n,
                     uint64_t lsn)
{
    const Pst__StepRecord *r = s->rec;
    long pos = alloc_position(r->alloc, n->rec->node_id);
    Pst__LaunchStep *msg;
    uint32_t *all;

    if (pos < 0 || alloc_group(r->alloc, (size_t)pos)->tasks == 0)
        return;
    msg = pst__launch_step__unpack(NULL, r->async_launch.len, r->async_launch.data);
    if (!msg) {
        log_error("step %u.%u: its launch request is damaged", r->job_id, r->step_id);
        return;
    }
    all = must(calloc(r->num_tasks + 1, sizeof(*all)));
    msg->credential = steps_sign(ctld, j, s, PST__CRED_PURPOSE__CRED_LAUNCH);
    (void)pb_set_str(&msg->node_name, n->rec->name);
    SET(msg, node_index, (uint32_t)pos);
    msg->task_ids = ranks_of(r, (size_t)pos, all, &msg->n_task_ids);
    if (msg->credential)
        (void)node_send(ctld, n, lsn, OP_LAUNCH_ASYNC,
                        &msg->base); /* not connected: when it registers */
    msg->n_task_ids = 0;
    msg->task_ids = NULL;
    pst__launch_step__free_unpacked(msg, NULL);
    free(all);
}

void async_launch(struct ctld *ctld, struct job *j, struct step *s, uint64_t lsn)
{
    for (size_t i = 0; i < s->rec->alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, s->rec->alloc->node_ids[i]);

        if (n)
            async_launch_on(ctld, j, s, n, lsn);
    }
}

/* The positions of s's allocation whose nodes confirmed the launch. */
static struct bitmap *confirmed_nodes(const struct step *s)
{
    struct bitmap *bm = NULL;

    if (bitmap_new((uint32_t)s->rec->alloc->n_node_ids, &bm) < 0)
        must(NULL);
    if (s->rec->async_confirmed)
        (void)bitmap_parse(bm, s->rec->async_confirmed,
                           NULL); /* our own text; damaged: said again */
    return bm;
}

bool async_awaits(const struct step *s, uint32_t node_id)
{
    long pos = s->rec->has_async_launch ? alloc_position(s->rec->alloc, node_id) : -1;
    _cleanup_(bitmap_free) struct bitmap *bm = pos < 0 ? NULL : confirmed_nodes(s);

    return pos >= 0 && !bitmap_test(bm, (uint32_t)pos) &&
           alloc_group(s->rec->alloc, (size_t)pos)->tasks;
}

void async_launched(struct ctld *ctld, const struct node *n, const Pst__RunningStep *run)
{
    struct job *j = cluster_job(ctld->cluster, run->job_id);
    struct step *s = j && j->rec->db_id == run->run_id ? cluster_step(j, run->step_id) : NULL;
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    Pst__Transaction *tx;
    Pst__StepRecord *set;
    bool all = true;

    if (!s || !s->rec->has_async_launch || s->rec->state != PST__STEP_STATE__STEP_RUNNING ||
        !async_awaits(s, n->rec->node_id))
        return;
    failpoint_crash("ctld.crash.async_confirm");
    bm = confirmed_nodes(s);
    bitmap_set(bm, (uint32_t)alloc_position(s->rec->alloc, n->rec->node_id));
    for (size_t i = 0; i < s->rec->alloc->n_node_ids && all; i++)
        all = bitmap_test(bm, (uint32_t)i) || !alloc_group(s->rec->alloc, i)->tasks;
    tx = tx_new(core_now());
    set = tx_step_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, run->job_id, run->step_id);
    if (all) {
        tx_clear(tx, STEP_F_ASYNC_LAUNCH);
        tx_clear(tx, STEP_F_ASYNC_CONFIRMED);
    } else if (bitmap_format(bm, &set->async_confirmed) < 0) {
        must(NULL);
    }
    (void)core_commit(ctld, tx); /* disk full: the request is kept, which does no harm */
}

void async_close(Pst__Transaction *tx, const struct step *s, const uid_t *uid)
{
    Pst__StepRecord *set =
        tx_step_patch(tx, PST__EVENT_KIND__EV_STEP_END, s->rec->job_id, s->rec->step_id);

    SET(set, state, PST__STEP_STATE__STEP_CANCELLED);
    SET(set, start_us, core_now());
    SET(set, end_us, core_now());
    SET(set, exit_status, SIGKILL);
    if (uid)
        SET(set, cancel_uid, *uid);
    tx_clear(tx, STEP_F_ASYNC_LAUNCH);
    tx_clear(tx, STEP_F_ASYNC_SPEC);
}

uint64_t async_end_pending(struct ctld *ctld, struct job *j, uint32_t step_id, const uid_t *uid)
{
    const struct step *s = cluster_step(j, step_id);
    Pst__Transaction *tx = tx_new(core_now());
    uint64_t lsn;

    async_close(tx, s, uid);
    lsn = core_commit(ctld, tx);
    async_drained(ctld, j);
    return lsn;
}
