/* limitfeed.c - see limitfeed.h; src/ctld/schedlink/feedlimits.c and minutes.c do the same for a
 * controller. */
#include "sim/limitfeed.h"

#include <strings.h>

#include "feed/limitrecords.h"

static void feed_usage(const struct limitfeed *l, enum usage_of of, uint32_t id,
                       const Pst__Limits *limits, int64_t now_us)
{
    struct feed *f = feed_of_level_usage(l->cluster, of, id, limits, now_us);

    if (f)
        l->tell(l->ctx, f);
}

void limitfeed_assocs(const struct limitfeed *l, int64_t now_us)
{
    struct assoc_mgr *am = l->cluster->am;
    const struct assoc *a;

    for (size_t pos = 0; (a = am_next_assoc(am, &pos));) {
        l->tell(l->ctx, feed_of_assoc_limits(am, a));
        feed_usage(l, USAGE_ASSOC, a->id, a->rec->limits, now_us);
    }
}

static void feed_qos(const struct limitfeed *l, const Pst__QosRecord *q, int64_t now_us)
{
    l->tell(l->ctx, feed_of_qos_limits(q));
    feed_usage(l, USAGE_QOS, q->qos_id, q->limits, now_us);
}

void limitfeed_all(const struct limitfeed *l, int64_t now_us)
{
    const struct assoc_mgr *am = l->cluster->am;
    const ProtobufCMessage *rec;
    struct feed *f;

    for (size_t i = 0; (f = feed_of_fixed_tres(i)); i++)
        l->tell(l->ctx, f);
    l->tell(l->ctx, feed_of_enforcement(l->conf));
    for (size_t pos = 0; (rec = am_next(am, AM_TRES, &pos));)
        l->tell(l->ctx, feed_of_tres((const Pst__TresRecord *)rec));
    for (size_t pos = 0; (rec = am_next(am, AM_QOS, &pos));)
        feed_qos(l, (const Pst__QosRecord *)rec, now_us);
    limitfeed_assocs(l, now_us);
}

void limitfeed_minutes(const struct limitfeed *l, int64_t now_us)
{
    struct assoc_mgr *am = l->cluster->am;
    const ProtobufCMessage *rec;
    const struct assoc *a;

    for (size_t pos = 0; (a = am_next_assoc(am, &pos));)
        feed_usage(l, USAGE_ASSOC, a->id, a->rec->limits, now_us);
    for (size_t pos = 0; (rec = am_next(am, AM_QOS, &pos));)
        feed_usage(l, USAGE_QOS, ((const Pst__QosRecord *)rec)->qos_id,
                   ((const Pst__QosRecord *)rec)->limits, now_us);
}

/* Its name is what partitions know it by. */
static void parts_of(const struct limitfeed *l, const char *name)
{
    const struct cluster *c = l->cluster;

    for (size_t i = 0; i < c->nparts; i++)
        if (c->parts[i]->rec->qos && strcasecmp(c->parts[i]->rec->qos, name) == 0)
            l->tell(l->ctx, feed_of_part(c, l->conf, c->parts[i]));
}

bool limitfeed_changed(const struct limitfeed *l, const Pst__AcctChange *put, int64_t now_us)
{
    if (put->body_case == PST__ACCT_CHANGE__BODY_TRES)
        l->tell(l->ctx, feed_of_tres(put->tres));
    if (put->body_case == PST__ACCT_CHANGE__BODY_QOS) {
        feed_qos(l, put->qos, now_us);
        parts_of(l, put->qos->name);
    }
    return put->body_case == PST__ACCT_CHANGE__BODY_ASSOC;
}

void limitfeed_gone(const struct limitfeed *l, const Pst__AcctChange *put)
{
    if (put->body_case == PST__ACCT_CHANGE__BODY_QOS) {
        l->tell(l->ctx, feed_of_limits_gone(true, put->qos->qos_id));
        parts_of(l, put->qos->name);
    } else if (put->body_case == PST__ACCT_CHANGE__BODY_ASSOC) {
        l->tell(l->ctx, feed_of_limits_gone(false, put->assoc->assoc_id));
    }
}
