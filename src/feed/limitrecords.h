/* limitrecords.h - accounting records as limits for the scheduler's library; pure */
#pragma once

#include "feed/records.h"

/* What is carried by a change of the kind FEED_LIMIT; owns its memory. */
struct feed_limit {
    enum { FEED_LIMIT_TRES, FEED_LIMIT_ASSOC, FEED_LIMIT_QOS, FEED_LIMIT_USAGE, FEED_LIMIT_ENFORCE } what;
    bool gone; /* the association or QOS */
    bool on, safe;
    uint32_t id, parent;
    char *name; /* of the TRES; account */
    struct sched_qos_limits qos; /* associations: its limits alone */
    struct sched_tres_limit *lists[SCHED_LIMIT_LISTS];
    bool of_qos; /* FEED_LIMIT_USAGE */
    struct sched_tres_usage *usage;
    size_t nusage;
    double wall_minutes;
};
void feed_limit_free(struct feed_limit *l); /* NULL is a no-op */
int feed_limit_apply(struct sched *s, const struct feed_limit *l);

struct feed *feed_of_tres(const Pst__TresRecord *r);
struct feed *feed_of_assoc_limits(struct assoc_mgr *am, const struct assoc *a);
struct feed *feed_of_qos_limits(const Pst__QosRecord *r);
struct feed *feed_of_limits_gone(bool qos, uint32_t id);
/* With room for n TRES, which the caller fills in. */
struct feed *feed_of_limit_usage(bool qos, uint32_t id, size_t n, double wall_minutes);
struct feed *feed_of_enforcement(bool on, bool safe);
/* What a running job counts against. */
struct feed *feed_of_account(const Pst__JobRecord *r);
