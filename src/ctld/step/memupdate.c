/* memupdate.c - see memupdate.h
 *
 * Once in a run, when the job has run for its delay: its nodes are asked what it uses, and when all
 * have answered it gives back what it does not need.  That it was done is in its record.  What was
 * asked is not: a controller that begins anew asks again, as one does whose nodes do not answer. */
#include "ctld/step/memupdate.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/resize.h"
#include "ctld/policy/bootwait.h"

#define ASK_AGAIN_US (20 * USEC_PER_SEC)
#define FLOOR_DIVISOR 10u /* of what the job has */

struct asked {
    uint32_t job_id;
    int64_t asked_us;        /* 0: not yet */
    struct bitmap *answered; /* by the position in the allocation; NULL: not asked */
    uint64_t most_kib;
};

struct memupdate {
    struct idmap waiting; /* running jobs with --mem-update that is yet to be done: struct asked */
};

static struct asked *asked_free(struct asked *a)
{
    if (a)
        bitmap_free(a->answered);
    free(a);
    return NULL;
}

static bool is_waiting(const Pst__JobRecord *r)
{
    return r->has_mem_update_delay_s && !r->has_mem_updated && r->alloc && !job_is_ended(r) &&
           !job_is_pending(r) && !job_is_external(r) && !het_is(r);
}

static void forget_job(struct ctld *ctld, struct job *j)
{
    asked_free(idmap_remove(&ctld->memupdate->waiting, j->rec->job_id));
}

static void note_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    struct idmap *waiting = &ctld->memupdate->waiting;
    struct asked *a;

    (void)kind;
    if (!is_waiting(j->rec)) {
        if (j->rec->has_mem_update_delay_s)
            forget_job(ctld, j);
        return;
    }
    if (idmap_get(waiting, j->rec->job_id))
        return;
    a = must(calloc(1, sizeof(*a)));
    a->job_id = j->rec->job_id;
    if (idmap_put(waiting, a->job_id, a) < 0)
        must(NULL);
}

uint64_t memupdate_want_mib(uint64_t held_mib, uint64_t used_kib, uint32_t margin_percent)
{
    double kib = (double)used_kib * (100.0 + margin_percent) / 100.0;
    uint64_t least = MAX((held_mib + FLOOR_DIVISOR - 1) / FLOOR_DIVISOR, 1u), want;

    if (kib >= (double)held_mib * 1024)
        return 0;
    want = MAX(((uint64_t)kib + 1023) / 1024, least);
    return want < held_mib ? want : 0;
}

static void settle_job(struct ctld *ctld, struct job *j, uint64_t used_kib)
{
    uint64_t held = resize_memory_held(j->rec),
             want = memupdate_want_mib(held, used_kib, j->rec->mem_update_margin);

    if (want)
        log_info("job %u: uses %ju KiB of memory, keeps %ju MiB of %ju on each node",
                 j->rec->job_id, (uintmax_t)used_kib, (uintmax_t)want, (uintmax_t)held);
    (void)resize_memory_used(ctld, j, want); /* disk full: it is asked again */
}

/* Nodes that do not answer are asked again, with all others. */
static void ask_nodes(struct ctld *ctld, struct job *j, struct asked *a, int64_t now)
{
    Pst__SignalSteps ask = PST__SIGNAL_STEPS__INIT;

    a->answered = bitmap_free(a->answered);
    if (bitmap_new((uint32_t)j->rec->alloc->n_node_ids, &a->answered) < 0)
        must(NULL);
    a->most_kib = 0;
    a->asked_us = now;
    SET(&ask, measure, true);
    launch_signal(ctld, j, ctld->applied_lsn, &ask);
}

static void ask_due(struct ctld *ctld, int64_t now)
{
    uint32_t settled[64];
    size_t n = 0;
    struct asked *a;

    for (size_t pos = 0; (a = idmap_next(&ctld->memupdate->waiting, &pos));) {
        struct job *j = cluster_job(ctld->cluster, a->job_id);

        if (!job_is_running(j->rec) || job_waits_for_boot(j->rec) ||
            now < j->rec->start_us + (int64_t)j->rec->mem_update_delay_s * USEC_PER_SEC)
            continue;
        if (!resize_memory_held(j->rec)) {
            if (n < ARRAY_SIZE(settled))
                settled[n++] = a->job_id;
        } else if (!a->asked_us || now >= a->asked_us + ASK_AGAIN_US) {
            ask_nodes(ctld, j, a, now);
        }
    }
    for (size_t i = 0; i < n; i++) /* a commit changes the table */
        settle_job(ctld, cluster_job(ctld->cluster, settled[i]), 0);
}

void memupdate_report(struct ctld *ctld, const struct node *n, const Pst__JobMemory *said)
{
    struct asked *a = idmap_get(&ctld->memupdate->waiting, said->job_id);
    struct job *j = a ? cluster_job(ctld->cluster, said->job_id) : NULL;
    long pos;

    if (!j || !a->answered || j->rec->db_id != said->run_id || !job_is_running(j->rec))
        return;
    pos = alloc_position(j->rec->alloc, n->rec->node_id);
    if (pos < 0 || j->rec->alloc->n_node_ids != a->answered->nbits)
        return; /* it has other nodes now: they are asked again */
    bitmap_set(a->answered, (uint32_t)pos);
    a->most_kib = MAX(a->most_kib, said->used_kib);
    if (bitmap_count(a->answered) == a->answered->nbits)
        settle_job(ctld, j, a->most_kib);
}

static int start_memupdate(struct ctld *ctld, struct err *err)
{
    ctld->memupdate = calloc(1, sizeof(*ctld->memupdate));
    return ctld->memupdate ? 0 : err_nomem(err);
}

static void free_memupdate(struct ctld *ctld)
{
    struct asked *a;

    for (size_t pos = 0; ctld->memupdate && (a = idmap_next(&ctld->memupdate->waiting, &pos));)
        asked_free(a);
    if (ctld->memupdate)
        idmap_done(&ctld->memupdate->waiting);
    free(ctld->memupdate);
    ctld->memupdate = NULL;
}

const struct ctld_service memupdate_service = {
    .name = "memupdate",
    .start = start_memupdate,
    .free = free_memupdate,
    .on_job = note_job,
    .on_job_gone = forget_job,
    .tick_writing = ask_due,
};
