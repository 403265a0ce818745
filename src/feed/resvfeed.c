/* resvfeed.c - reservations as the scheduler takes them; see records.h.  Pure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "feed/licensefeed.h"
#include "feed/feedmem.h"
#include "feed/records.h"
#include "model/kept.h"
#include "model/use/resv_use.h"

#define WINDOWS_MAX 64u /* occurrences told at once; it is told again when one is over */

static void fill_nodes(struct feed *f, const struct cluster *c, const Pst__ReservationRecord *r)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    uint32_t *ids;

    if (!r->nodes || hostlist_parse(r->nodes, &hl, NULL) < 0)
        return;
    ids = feed_own(f, calloc(hostlist_count(hl) + 1, sizeof(*ids)));
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(c, hostlist_nth(hl, i));

        if (n)
            ids[f->resv.nnodes++] = n->rec->node_id;
    }
    f->resv.node_ids = ids;
}

/* CPUs of the cores it holds of one node; cores that the node has not any more are dropped. */
static uint64_t *cpus_of(const struct node *n, const char *list, uint32_t *ret_nwords)
{
    uint32_t threads = n->rec->threads_per_core ? n->rec->threads_per_core : 1;
    uint32_t nwords = (n->rec->cpus + 63) / 64;
    struct bitmap *cores = NULL;
    uint64_t *bits = calloc(nwords + 1, sizeof(*bits));

    if (!bits || bitmap_new(n->rec->cpus ? n->rec->cpus : 1, &cores) < 0) {
        free(bits);
        return NULL;
    }
    (void)bitmap_parse_within(cores, list); /* our own text */
    BITMAP_FOREACH (cores, core)
        for (uint32_t t = core * threads; t < (core + 1) * threads && t < n->rec->cpus; t++)
            bits[t >> 6] |= UINT64_C(1) << (t & 63);
    bitmap_free(cores);
    *ret_nwords = nwords;
    return bits;
}

/* All bits of a reservation lie behind one another: a change owns few pieces of memory. */
static void fill_cores(struct feed *f, const struct cluster *c, const Pst__ReservationRecord *r)
{
    struct sched_resv_cpus *list;
    uint64_t *all;
    size_t words = 0, at = 0;

    if (!r->n_cores)
        return;
    for (size_t i = 0; i < r->n_cores; i++) {
        const struct node *n = cluster_node_named(c, r->cores[i]->node);

        words += n ? (n->rec->cpus + 63) / 64 : 0;
    }
    list = feed_own(f, calloc(r->n_cores, sizeof(*list)));
    all = feed_own(f, calloc(words + 1, sizeof(*all)));
    for (size_t i = 0; i < r->n_cores; i++) {
        const struct node *n = cluster_node_named(c, r->cores[i]->node);
        uint32_t nwords = 0;
        _cleanup_free_ uint64_t *bits = n ? cpus_of(n, r->cores[i]->cores, &nwords) : NULL;

        if (!bits)
            continue;
        memcpy(all + at, bits, nwords * sizeof(*bits));
        list[f->resv.ncpus++] = (struct sched_resv_cpus){ n->rec->node_id, all + at, nwords };
        at += nwords;
    }
    f->resv.cpus = list;
}

static void fill_licenses(struct feed *f, const char *text)
{
    struct license_list list;

    if (!licenses_parse(feed_own(f, strdup(text)), &list))
        return; /* checked when it was made */
    f->resv.licenses = feed_own(f, list.items);
    f->resv.nlicenses = list.n;
}

struct feed *feed_of_resv(const struct cluster *c, const Pst__ReservationRecord *r, int64_t now_us)
{
    struct feed *f = feed_new(FEED_RESV);
    struct sched_resv *s = &f->resv;
    struct resv_period periods[WINDOWS_MAX];
    struct sched_resv_window *windows;

    s->id = f->node_id = r->resv_id;
    s->flex = resv_has(r, RESV_FLAG(FLEX));
    s->maint = resv_has(r, RESV_FLAG(MAINT));
    s->max_delay_us = (int64_t)(r->has_max_start_delay_s ? r->max_start_delay_s : 0) * USEC_PER_SEC;
    s->beside = resv_has(r, RESV_FLAG(MAINT) | RESV_FLAG(OVERLAP));
    s->floats = resv_has(r, RESV_FLAG(TIME_FLOAT));
    s->float_us = (int64_t)(r->has_float_s ? r->float_s : 0) * USEC_PER_SEC;
    s->nwindows = resv_periods(r, now_us, periods, WINDOWS_MAX);
    windows = feed_own(f, calloc(s->nwindows + 1, sizeof(*windows)));
    for (size_t i = 0; i < s->nwindows; i++)
        windows[i] = (struct sched_resv_window){ periods[i].start_us, periods[i].end_us };
    s->windows = windows;
    fill_nodes(f, c, r);
    fill_cores(f, c, r);
    if (r->licenses && *r->licenses)
        fill_licenses(f, r->licenses);
    return f;
}

struct feed *feed_of_running_resv(const Pst__JobRecord *r)
{
    struct feed *f = feed_new(FEED_RESV);

    f->job_id = r->job_id;
    f->node_id = r->resv_id;
    return f;
}

void feed_fill_resvs(struct feed *f, const struct conf *conf, const struct cluster *c,
                     const Pst__JobRecord *r)
{
    struct resv_ref refs[RESV_REFS_MAX];
    size_t n = resv_refs(c, r, conf_slurm_uid(conf), refs, &f->job.resv_only);
    struct sched_job_resv *list;

    if (!n)
        return;
    list = feed_own(f, calloc(n, sizeof(*list)));
    for (size_t i = 0; i < n; i++)
        list[i] = (struct sched_job_resv){ refs[i].id, refs[i].magnetic };
    f->job.resvs = list;
    f->job.nresvs = n;
}
