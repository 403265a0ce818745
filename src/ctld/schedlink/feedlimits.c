/* feedlimits.c - accounting records as limits for the scheduler's thread; see feedlimits.h.
 *
 * An association's limits are handed down: when one changes, all below it are told anew.  That
 * is done once for what came together, at the end of the batch. */
#include "ctld/schedlink/feedlimits.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/log.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/policy/policy.h"
#include "ctld/core/service.h"
#include "feed/limitrecords.h"

#define FEW 64u /* associations looked at one by one; more, and all are told */

struct feedlimits {
    uint32_t touched[FEW]; /* associations that changed, whose limits are not told yet */
    size_t n;              /* of them; FEW + 1: too many to list */
};

static void feed_level(struct ctld *ctld, enum usage_of of, uint32_t id, const Pst__Limits *l)
{
    struct feed *f = feed_of_level_usage(ctld->cluster, of, id, l, core_now());

    if (f)
        feed_add(ctld, f);
}

void feedlimits_usage_assoc(struct ctld *ctld, const struct assoc *a)
{
    feed_level(ctld, USAGE_ASSOC, a->id, a->rec->limits);
}

void feedlimits_usage_qos(struct ctld *ctld, const Pst__QosRecord *q)
{
    feed_level(ctld, USAGE_QOS, q->qos_id, q->limits);
}

static void feed_below(struct ctld *ctld, const struct assoc *a)
{
    feed_add(ctld, feed_of_assoc_limits(ctld->cluster->am, a));
    feedlimits_usage_assoc(ctld, a);
    for (const struct assoc *c = a->child; c; c = c->sibling)
        feed_below(ctld, c);
}

static void feed_all(struct ctld *ctld)
{
    const struct assoc *a;

    for (size_t pos = 0; (a = am_next_assoc(ctld->cluster->am, &pos));) {
        feed_add(ctld, feed_of_assoc_limits(ctld->cluster->am, a));
        feedlimits_usage_assoc(ctld, a);
    }
}

void feedlimits_flush(struct ctld *ctld)
{
    struct feedlimits *f = ctld->feedlimits;
    size_t n = f->n;

    f->n = 0;
    if (n > FEW) {
        feed_all(ctld);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct assoc *a = am_assoc(ctld->cluster->am, f->touched[i]);

        if (a)
            feed_below(ctld, a);
    }
}

/* Its name is what partitions know it by. */
static void feed_parts_of(struct ctld *ctld, const char *qos)
{
    const struct cluster *c = ctld->cluster;

    for (size_t i = 0; i < c->nparts; i++)
        if (c->parts[i]->rec->qos && strcasecmp(c->parts[i]->rec->qos, qos) == 0)
            feed_part(ctld, c->parts[i]);
}

void feedlimits_changed(struct ctld *ctld, const Pst__AcctChange *put)
{
    struct feedlimits *f = ctld->feedlimits;

    switch (put->body_case) {
    case PST__ACCT_CHANGE__BODY_TRES:
        feed_add(ctld, feed_of_tres(put->tres));
        break;
    case PST__ACCT_CHANGE__BODY_QOS:
        feed_add(ctld, feed_of_qos_limits(put->qos));
        feedlimits_usage_qos(ctld, put->qos);
        feed_parts_of(ctld, put->qos->name);
        break;
    case PST__ACCT_CHANGE__BODY_ASSOC:
        if (f->n < FEW)
            f->touched[f->n] = put->assoc->assoc_id;
        f->n += f->n <= FEW;
        break;
    default:
        break;
    }
}

void feedlimits_gone(struct ctld *ctld, const Pst__AcctChange *put)
{
    if (put->body_case == PST__ACCT_CHANGE__BODY_QOS) {
        feed_add(ctld, feed_of_limits_gone(true, put->qos->qos_id));
        feed_parts_of(ctld, put->qos->name);
    } else if (put->body_case == PST__ACCT_CHANGE__BODY_ASSOC) {
        feed_add(ctld, feed_of_limits_gone(false, put->assoc->assoc_id));
    }
}

void feedlimits_enforce(struct ctld *ctld)
{
    struct feed *f;

    for (size_t i = 0; (f = feed_of_fixed_tres(i)); i++)
        feed_add(ctld, f);
    atomic_store(&ctld->private_data, policy_private(ctld->conf));
    feed_add(ctld, feed_of_enforcement(ctld->conf));
}

/* ---- the service ----------------------------------------------------------------------------- */

static void follow_kept(struct ctld *ctld, struct kept *k)
{
    if (k->kind == KEPT_ACCT)
        feedlimits_changed(ctld, (const Pst__AcctChange *)k->rec);
}

static void follow_kept_gone(struct ctld *ctld, struct kept *k)
{
    if (k->kind == KEPT_ACCT)
        feedlimits_gone(ctld, (const Pst__AcctChange *)k->rec);
}

static int start_feedlimits(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->feedlimits = calloc(1, sizeof(*ctld->feedlimits));
    return ctld->feedlimits ? 0 : -ENOMEM;
}

static void free_feedlimits(struct ctld *ctld)
{
    free(ctld->feedlimits);
    ctld->feedlimits = NULL;
}

static int tell_fixed(struct ctld *ctld, struct err *err)
{
    (void)err;
    feedlimits_enforce(ctld);
    return 0;
}

const struct ctld_service feedlimits_service = {
    .name = "feedlimits",
    .start = start_feedlimits,
    .observe = tell_fixed,
    .reconfigured = feedlimits_enforce,
    .free = free_feedlimits,
    .batch_end = feedlimits_flush,
    .on_kept = follow_kept,
    .on_kept_gone = follow_kept_gone,
};
