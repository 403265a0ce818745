/* acctsync.c - batches of accounting changes become transactions; see acctsync.h.
 *
 * A batch is cut into transactions of CHUNK events; the version stands in the last event alone,
 * so a crash in between leaves the old version, and the store sends the batch again. */
#include "ctld/acct/acctsync.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"

#define CHUNK 500u

struct batch {
    struct batch *next;
    struct ctld *ctld;
    Pst__AcctChange **changes;
    size_t n;
    acctsync_done_fn *done;
    void *arg;
    uint64_t lsn, version;
};

struct acctsync {
    pthread_mutex_t lock;
    struct batch *head, *tail; /* wait for the disk, in order of lsn */
};

static void batch_free(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        pst__acct_change__free_unpacked(b->changes[i], NULL);
    free(b->changes);
    free(b);
}

static void finish_batch(struct batch *b, int r)
{
    if (b->done)
        b->done(b->arg, r, b->version);
    batch_free(b);
}

/* ---- what is new ----------------------------------------------------------------------------- */

struct plan {
    const Pst__AcctChange **list; /* borrowed */
    Pst__AcctChange *removals;    /* owned */
    size_t n, nremovals;
};

static void plan_done(struct plan *p)
{
    free(p->list);
    free(p->removals);
}

/* A record and a record of the present say the same. */
static bool says_same(const Pst__AcctChange *now, const Pst__AcctChange *put)
{
    Pst__AcctChange plain = *put;

    plain.has_version = false;
    plain.version = now->version; /* left over in a field that is absent */
    return pb_equal(&now->base, &plain.base);
}

static int by_address(const void *a, const void *b)
{
    const void *x = *(const void *const *)a, *y = *(const void *const *)b;

    return x < y ? -1 : x > y;
}

/* All there is: puts of what is new or changed, and removals of what is not mentioned. */
static int plan_full(const struct assoc_mgr *am, const struct batch *b, struct plan *p)
{
    size_t total = 0, kept = 0, pos = 0;
    const Pst__AcctChange *now;
    _cleanup_free_ const Pst__AcctChange **mentioned = calloc(b->n + 1, sizeof(*mentioned));

    while (am_next_put(am, &pos))
        total++;
    p->list = calloc(b->n + total + 1, sizeof(*p->list));
    p->removals = calloc(total + 1, sizeof(*p->removals));
    if (!mentioned || !p->list || !p->removals)
        return -ENOMEM;
    for (size_t i = 1; i < b->n; i++)
        if ((now = am_present(am, b->changes[i])))
            mentioned[kept++] = now;
    qsort(mentioned, kept, sizeof(*mentioned), by_address);
    for (pos = 0; (now = am_next_put(am, &pos));) {
        if (bsearch(&now, mentioned, kept, sizeof(*mentioned), by_address))
            continue;
        am_removal(now, &p->removals[p->nremovals]);
        if (p->removals[p->nremovals].body_case != PST__ACCT_CHANGE__BODY__NOT_SET)
            p->list[p->n++] = &p->removals[p->nremovals++];
    }
    for (size_t i = 1; i < b->n; i++) {
        now = am_present(am, b->changes[i]);
        if (!now || !says_same(now, b->changes[i]))
            p->list[p->n++] = b->changes[i];
    }
    return 0;
}

static int plan_rest(const struct batch *b, uint64_t reached, struct plan *p)
{
    p->list = calloc(b->n + 1, sizeof(*p->list));
    if (!p->list)
        return -ENOMEM;
    for (size_t i = 0; i < b->n; i++)
        if (!b->changes[i]->has_version || b->changes[i]->version > reached)
            p->list[p->n++] = b->changes[i];
    return 0;
}

/* A change that does not apply would be in the log for ever: every one is tried on tables of its
 * own first. */
static int check_changes(const struct batch *b)
{
    _cleanup_(am_free) struct assoc_mgr *probe = NULL;
    struct err err = { .text = "" };
    int r = am_new(&probe);

    for (size_t i = 0; r == 0 && i < b->n; i++)
        r = am_apply(probe, b->changes[i], &err);
    if (r == -EUCLEAN)
        log_error("accounting records from the store are refused: %s", err.text);
    return r;
}

/* ---- into the log ---------------------------------------------------------------------------- */

static Pst__AcctChange *last_change(Pst__Transaction *tx)
{
    return tx->events[tx->n_events - 1]->acct_change;
}

/* Events of p from *at on; the last of all gets the version. */
static Pst__Transaction *next_events(const struct plan *p, size_t *at, uint64_t version)
{
    Pst__Transaction *tx = tx_new(core_now());

    for (size_t k = 0; k < CHUNK && *at < p->n; k++) {
        tx_acct_change(tx, p->list[(*at)++]);
        last_change(tx)->has_version = false;
    }
    if (*at == p->n && p->n) {
        last_change(tx)->has_version = true;
        last_change(tx)->version = version;
    }
    return tx;
}

/* 0 or -ENOSPC; b->lsn is what to wait for. */
static int commit_plan(struct batch *b, const struct plan *p)
{
    struct ctld *ctld = b->ctld;
    size_t at = 0;

    b->lsn = ctld->applied_lsn; /* what an earlier, equal batch brought may not be on disk yet */
    while (at < p->n) {
        uint64_t lsn = core_commit(ctld, next_events(p, &at, b->version));

        if (!lsn)
            return -ENOSPC;
        b->lsn = lsn;
    }
    if (!p->n &&
        (!ctld->cluster->rec->has_acct_version || ctld->cluster->rec->acct_version != b->version)) {
        Pst__Transaction *tx = tx_new(core_now()); /* nothing new, but for the number */

        SET(tx_cluster(tx), acct_version, b->version);
        b->lsn = core_commit(ctld, tx);
        if (!b->lsn)
            return -ENOSPC;
    }
    if (p->n)
        services_acct_changed(ctld);
    return 0;
}

static void wait_for_disk(struct batch *b)
{
    struct ctld *ctld = b->ctld;
    struct acctsync *w =
        ctld->acctsync; /* b belongs to the writer's thread as soon as it is listed */
    uint64_t lsn = b->lsn;

    pthread_mutex_lock(&w->lock);
    b->next = NULL;
    if (w->tail)
        w->tail->next = b;
    else
        w->head = b;
    w->tail = b;
    pthread_mutex_unlock(&w->lock);
    if (journal_durable(ctld->journal) >= lsn)
        acctsync_durable(ctld, lsn); /* the journal's writer reported lsn before b was listed */
}

/* Work out what is new and journal it.  0 or a negative errno; b->lsn and b->version are set. */
static int bring_changes(struct batch *b)
{
    const Pst__ClusterRecord *rec = b->ctld->cluster->rec;
    uint64_t reached = rec->has_acct_version ? rec->acct_version : 0;
    bool full = b->n && b->changes[0]->body_case == PST__ACCT_CHANGE__BODY_CLEAR;
    _cleanup_val_(plan_done) struct plan p = { 0 };
    int r = check_changes(b);

    b->version = full ? 0 : reached;
    for (size_t i = 0; i < b->n; i++)
        if (b->changes[i]->has_version)
            b->version = MAX(b->version, b->changes[i]->version);
    if (r == 0)
        r = full ? plan_full(b->ctld->cluster->am, b, &p) : plan_rest(b, reached, &p);
    return r == 0 ? commit_plan(b, &p) : r;
}

/* Core thread. */
static void take_batch(void *arg)
{
    struct batch *b = arg;
    int r = bring_changes(b);

    if (r == 0)
        wait_for_disk(b);
    else
        finish_batch(b, r);
}

/* The controller ends before the core came to it: the sender has the changes still. */
static void drop_posted(void *arg)
{
    finish_batch(arg, -ECANCELED);
}

static void op_acct_changes(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__AcctChanges *req = PB_AS(acct_changes, cmd->msg);
    struct batch b = { .ctld = ctld, .changes = req->changes, .n = req->n_changes };
    Pst__AcctReached reply = PST__ACCT_REACHED__INIT;
    int r = bring_changes(&b);

    if (r == -ENOSPC) {
        core_disk_full(ctld, cmd);
    } else if (r < 0) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "a change of accounting records names none");
    } else {
        SET(&reply, version, b.version);
        core_reply(ctld, cmd, b.lsn, 0, &reply.base);
    }
}

void acctsync_post(struct ctld *ctld, Pst__AcctChange **changes, size_t n, acctsync_done_fn *done,
                   void *arg)
{
    struct batch *b = must(calloc(1, sizeof(*b)));
    struct cmd *cmd = must(calloc(1, sizeof(*cmd)));

    *b = (struct batch){ .ctld = ctld, .changes = changes, .n = n, .done = done, .arg = arg };
    cmd->kind = CMD_CALL;
    cmd->fn = take_batch;
    cmd->drop = drop_posted;
    cmd->arg = b;
    (void)core_post(ctld, cmd); /* never refused: it is no request */
}

void acctsync_durable(struct ctld *ctld, uint64_t lsn)
{
    struct acctsync *w = ctld->acctsync;

    for (;;) {
        struct batch *b;

        pthread_mutex_lock(&w->lock);
        b = w->head;
        if (b && b->lsn <= lsn) {
            w->head = b->next;
            if (!w->head)
                w->tail = NULL;
        } else {
            b = NULL;
        }
        pthread_mutex_unlock(&w->lock);
        if (!b)
            return;
        finish_batch(b, 0);
    }
}

void acctsync_end(struct ctld *ctld)
{
    struct acctsync *w = ctld->acctsync;

    while (w && w->head) {
        struct batch *b = w->head;

        w->head = b->next;
        finish_batch(b, -ECANCELED);
    }
    if (w)
        w->tail = NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_acctsync(struct ctld *ctld, struct err *err)
{
    ctld->acctsync = calloc(1, sizeof(*ctld->acctsync));
    if (!ctld->acctsync)
        return err_nomem(err);
    pthread_mutex_init(&ctld->acctsync->lock, NULL);
    return 0;
}

static void free_acctsync(struct ctld *ctld)
{
    if (ctld->acctsync)
        pthread_mutex_destroy(&ctld->acctsync->lock);
    free(ctld->acctsync);
    ctld->acctsync = NULL;
}

static const struct ctld_op acctsync_ops[] = {
    { OP_ACCT_CHANGES, .fn = op_acct_changes, .flags = OPF_WRITES }, { 0 }
};

const struct ctld_service acctsync_service = {
    .name = "acctsync",
    .ops = acctsync_ops,
    .start = start_acctsync,
    .free = free_acctsync,
    .durable = acctsync_durable,
};
