/* passverify.c - see passverify.h */
#include "sim/verify/passverify.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "feed/params.h"
#include "sim/verify/verifyfeed.h"
#include "sim/verify/verifypass.h"

#define PROGRESS_RECORDS 64u

DEFINE_CLEANUP(struct verify *, verify_free)

int verify_new(const struct conf *conf, verify_fn *fn, void *ctx, struct verify **ret)
{
    _cleanup_(verify_free) struct verify *v = calloc(1, sizeof(*v));
    int r = v ? cluster_new(&v->cluster) : -ENOMEM;

    if (r == 0)
        r = bitmap_new(64, &v->linked);
    if (r < 0)
        return r;
    v->conf = conf;
    v->fn = fn;
    v->ctx = ctx;
    feed_fill_params(conf, &v->params);
    verifyfeed_attach(v);
    *ret = TAKE_PTR(v);
    return 0;
}

void verify_set_topologies(struct verify *v, const struct conf_topos *files)
{
    v->topo_files = files;
}

struct verify *verify_free(struct verify *v)
{
    if (!v)
        return NULL;
    v->loud = false;
    if (v->cluster) {
        v->cluster->observer = NULL;
        cluster_free(v->cluster);
    }
    sched_free(v->sched);
    for (size_t i = 0; i < v->n; i++)
        pst__transaction__free_unpacked(v->records[i].tx, NULL);
    free(v->records);
    free(v->refused);
    free(v->strangers);
    idmap_done(&v->known);
    bitmap_free(v->linked);
    free(v);
    return NULL;
}

int verify_add(struct verify *v, uint64_t lsn, bool snapshot, Pst__Transaction *tx)
{
    if (v->n == v->cap) {
        size_t cap = v->cap ? v->cap * 2 : 1024;
        struct record *grown = realloc(v->records, cap * sizeof(*grown));

        if (!grown) {
            pst__transaction__free_unpacked(tx, NULL);
            return -ENOMEM;
        }
        v->records = grown;
        v->cap = cap;
    }
    v->records[v->n++] = (struct record){ .tx = tx, .lsn = lsn, .snapshot = snapshot };
    return 0;
}

static bool has_start(const Pst__Transaction *tx)
{
    for (size_t k = 0; k < tx->n_events; k++)
        if (tx->events[k]->kind == PST__EVENT_KIND__EV_JOB_START)
            return true;
    return false;
}

int verify_run(struct verify *v, void (*progress)(void *ctx, size_t done, size_t total), void *ctx,
               struct verify_sums *ret, struct err *err)
{
    int r = 0;

    for (size_t at = 0; r == 0 && at < v->n; at++) {
        const Pst__Transaction *tx = v->records[at].tx;

        if (progress && at % PROGRESS_RECORDS == 0)
            progress(ctx, at, v->n);
        if (v->records[at].snapshot || !has_start(tx))
            continue;
        v->sums.unnoted += !tx->has_sched_pass;
        for (size_t i = 0; r == 0 && i < tx->n_passes; i++)
            r = verifypass_run(v, at, tx->passes[i], i + 1 == tx->n_passes, err);
    }
    while (r == 0 && v->fed < v->n)
        r = verifyfeed_next(v, err);
    if (r == 0 && progress)
        progress(ctx, v->n, v->n);
    *ret = v->sums;
    return r;
}