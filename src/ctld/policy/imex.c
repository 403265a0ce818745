/* imex.c - channels of NVIDIA's IMEX service; see imex.h */
#include "ctld/policy/imex.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "feed/switchfeed.h"
#include "model/hetjob.h"

struct held { /* by one job */
    size_t n;
    uint32_t channels[];
};

struct imex {
    struct bitmap *used; /* bit 0 is never given: channel 0 is everybody's */
    uint32_t count;      /* of used, without bit 0 */
    struct idmap by_job; /* job id -> struct held */
};

static void hold_channels(struct imex *x, uint32_t id, struct held *h)
{
    if (idmap_put(&x->by_job, id, h) < 0)
        must(NULL);
    for (size_t i = 0; i < h->n; i++)
        bitmap_set(x->used, h->channels[i]);
    x->count += (uint32_t)h->n;
}

void imex_forget(struct ctld *ctld, uint32_t id)
{
    struct imex *x = ctld->imex;
    struct held *h = x ? idmap_remove(&x->by_job, id) : NULL;

    for (size_t i = 0; h && i < h->n; i++)
        bitmap_clear(x->used, h->channels[i]);
    x->count -= h ? (uint32_t)h->n : 0;
    free(h);
}

bool imex_has_room(const struct ctld *ctld, const Pst__JobRecord *r)
{
    uint32_t want = imex_wanted(ctld->conf, r), all = imex_channels(ctld->conf);

    return !want || (ctld->imex->count <= all && want <= all - ctld->imex->count);
}

/* The nodes [first, first + n) of an allocation, as a list. */
static char *nodes_text(const struct cluster *c, const Pst__Alloc *a, size_t first, size_t n)
{
    const char **names = must(calloc(n + 1, sizeof(*names)));
    char *text = NULL;

    for (size_t i = 0; i < n; i++)
        names[i] = cluster_node(c, a->node_ids[first + i])->rec->name;
    if (hostlist_fold_names(names, n, &text) < 0)
        must(NULL);
    free(names);
    return text;
}

/* nodes: taken; NULL = all of the job's. */
static void add_channel(Pst__JobRecord *set, uint32_t channel, char *nodes)
{
    Pst__SwitchChannel *c = must(malloc(sizeof(*c)));

    pst__switch_channel__init(c);
    SET(c, channel, channel);
    c->nodes = nodes;
    set->imex_channels = must(realloc(set->imex_channels, (set->n_imex_channels + 1) * sizeof(c)));
    set->imex_channels[set->n_imex_channels++] = c;
}

static uint32_t lowest_free(const struct imex *x, uint32_t from)
{
    while (bitmap_test(x->used, from))
        from++;
    return from;
}

/* Components use what the leader, which starts in the same transaction, was given. */
static void share_leaders(struct ctld *ctld, Pst__JobRecord *set, const Pst__JobRecord *old)
{
    const struct held *h = idmap_get(&ctld->imex->by_job, old->het_job_id);

    if (h && h->n)
        add_channel(set, h->channels[0], NULL);
}

void imex_fill(struct ctld *ctld, Pst__JobRecord *set, const Pst__JobRecord *old, uint32_t id)
{
    struct imex *x = ctld->imex;
    uint32_t want = imex_wanted(ctld->conf, old), at = 1;
    size_t nodes = set->alloc->n_node_ids, size = want > 1 ? old->segment_size : nodes;
    struct held *h;

    if (switch_kind(ctld->conf) == SWITCH_IMEX && het_is_follower(old))
        share_leaders(ctld, set, old);
    if (!want || !imex_has_room(ctld, old))
        return;
    imex_forget(ctld, id);
    h = must(calloc(1, sizeof(*h) + want * sizeof(h->channels[0])));
    for (; h->n < want; h->n++, at++) {
        size_t first = h->n * size, last = h->n + 1 < want ? first + size : nodes;

        at = lowest_free(x, at);
        h->channels[h->n] = at;
        add_channel(set, at,
                    want > 1 && first < nodes
                        ? nodes_text(ctld->cluster, set->alloc, first, MIN(last, nodes) - first)
                        : NULL);
    }
    hold_channels(x, id, h);
}

/* ---- the service ----------------------------------------------------------------------------- */

/* Of a job that holds resources, as its record says: after a restart, or on a standby. */
static void take_recorded(struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    struct held *h;

    if (!r->n_imex_channels || het_is_follower(r))
        return;
    h = must(calloc(1, sizeof(*h) + r->n_imex_channels * sizeof(h->channels[0])));
    for (size_t i = 0; i < r->n_imex_channels; i++)
        if (r->imex_channels[i]->channel && r->imex_channels[i]->channel <= IMEX_CHANNELS_MAX)
            h->channels[h->n++] = r->imex_channels[i]->channel;
    hold_channels(ctld->imex, r->job_id, h);
}

static void follow_job(struct ctld *ctld, struct job *j, Pst__EventKind kind)
{
    bool holds = job_holds_resources(j->rec), noted;

    (void)kind;
    noted = idmap_get(&ctld->imex->by_job, j->rec->job_id) != NULL;
    if (noted && !holds && kind != PST__EVENT_KIND__EV_JOB_START)
        imex_forget(ctld, j->rec->job_id);
    else if (!noted && holds)
        take_recorded(ctld, j);
}

static void follow_job_gone(struct ctld *ctld, struct job *j)
{
    imex_forget(ctld, j->rec->job_id);
}

static int start_imex(struct ctld *ctld, struct err *err)
{
    struct imex *x = calloc(1, sizeof(*x));

    if (!x)
        return err_nomem(err);
    ctld->imex = x;
    if (bitmap_new(2 * IMEX_CHANNELS_MAX, &x->used) < 0)
        return err_nomem(err);
    bitmap_set(x->used, 0);
    return 0;
}

static void free_imex(struct ctld *ctld)
{
    void *v;

    if (!ctld->imex)
        return;
    for (size_t pos = 0; (v = idmap_next(&ctld->imex->by_job, &pos));)
        free(v);
    idmap_done(&ctld->imex->by_job);
    bitmap_free(ctld->imex->used);
    free(ctld->imex);
    ctld->imex = NULL;
}

const struct ctld_service imex_service = {
    .name = "imex",
    .start = start_imex,
    .free = free_imex,
    .on_job = follow_job,
    .on_job_gone = follow_job_gone,
};
