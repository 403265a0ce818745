/* sharefeed.c - associations, QOS and what they have used, for priorities; see sharefeed.h.
 *
 * All of it at once: usage of everything changes with time anyway, and priorities are computed for
 * all jobs at once. */
#include "feed/sharefeed.h"

#include "feed/feedmem.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "model/use/usage.h"

bool share_counts(const struct assoc *a, const struct assoc *root, const char *cluster_name)
{
    return a != root && !(a->rec->has_deleted && a->rec->deleted) && a->rec->cluster &&
           strcmp(a->rec->cluster, cluster_name) == 0;
}

uint32_t share_parent(const struct assoc *a, const struct assoc *root)
{
    return a->parent && a->parent != root ? a->parent->id : 0;
}

double share_own_usage(const struct cluster *c, const struct assoc *a, const char *cluster_name,
                       int64_t now_us)
{
    double own = usage_raw(c, USAGE_ASSOC, a->id, now_us);

    for (const struct assoc *k = a->child; k; k = k->sibling)
        if (share_counts(k, NULL, cluster_name))
            own -= usage_raw(c, USAGE_ASSOC, k->id, now_us);
    return MAX(own, 0.0);
}

static void add_assocs(struct feed_shares *all, const struct cluster *c, const char *cluster_name,
                       int64_t now_us)
{
    const struct assoc *root = am_root(c->am, cluster_name), *a;
    size_t pos = 0;

    all->assocs = must(calloc(am_count(c->am, AM_ASSOC) + 1, sizeof(*all->assocs)));
    while ((a = am_next_assoc(c->am, &pos))) {
        if (!share_counts(a, root, cluster_name))
            continue;
        all->assocs[all->nassocs++] =
            (struct sched_assoc){ .id = a->id,
                                  .parent = share_parent(a, root),
                                  .shares = a->rec->has_shares ? a->rec->shares : 1,
                                  .use_parent = a->rec->has_shares_parent && a->rec->shares_parent,
                                  .user = a->user,
                                  .priority = am_priority(a),
                                  .usage = share_own_usage(c, a, cluster_name, now_us) };
    }
}

static void add_qos(struct feed_shares *all, const struct cluster *c)
{
    const Pst__QosRecord *q;
    size_t pos = 0;

    all->qos = must(calloc(am_count(c->am, AM_QOS) + 1, sizeof(*all->qos)));
    while ((q = (const Pst__QosRecord *)am_next(c->am, AM_QOS, &pos))) {
        if ((q->has_deleted && q->deleted) || !q->name)
            continue;
        all->qos[all->nqos].name = must(strdup(q->name));
        all->qos[all->nqos++].priority = q->has_priority ? q->priority : 0;
    }
}

void feed_shares_free(struct feed_shares *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->nqos; i++)
        free(all->qos[i].name);
    free(all->qos);
    free(all->assocs);
    free(all);
}

struct feed *feed_of_shares(const struct cluster *c, const char *cluster_name, int64_t now_us)
{
    struct feed *f = feed_new(FEED_SHARES);

    f->start_us = now_us;
    f->shares = must(calloc(1, sizeof(*f->shares)));
    add_assocs(f->shares, c, cluster_name, now_us);
    add_qos(f->shares, c);
    return f;
}

int feed_apply_shares(struct sched *s, const struct feed_shares *all)
{
    int r = 0;

    sched_assocs_clear(s);
    for (size_t i = 0; i < all->nassocs && r == 0; i++)
        r = sched_assoc_put(s, &all->assocs[i]);
    sched_qos_clear(s);
    for (size_t i = 0; i < all->nqos && r == 0; i++)
        r = sched_qos_put(s, all->qos[i].name, all->qos[i].priority);
    return r;
}
