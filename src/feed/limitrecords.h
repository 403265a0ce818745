/* limitrecords.h - accounting records as limits for the scheduler's library; pure */
#pragma once

#include "feed/records.h"
#include "model/use/usage.h"

/* AccountingStorageEnforce */
enum limits_enforce {
    ENFORCE_ASSOCS = 1u << 0,
    ENFORCE_LIMITS = 1u << 1,
    ENFORCE_QOS = 1u << 2,
    ENFORCE_SAFE = 1u << 3, /* only what can end within the minutes that are left starts */
    ENFORCE_WCKEYS = 1u << 4,
};
unsigned limits_enforced(const struct conf *conf);

/* What is carried by a change of the kind FEED_LIMIT; owns its memory. */
struct feed_limit {
    enum {
        FEED_LIMIT_TRES,
        FEED_LIMIT_ASSOC,
        FEED_LIMIT_QOS,
        FEED_LIMIT_USAGE,
        FEED_LIMIT_ENFORCE
    } what;
    bool gone; /* the association or QOS */
    bool on, safe;
    uint32_t id, parent;
    char *name;                  /* of the TRES; account */
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
bool limits_by_minutes(const Pst__Limits *l); /* GrpTRESMins, GrpWall; NULL: no */
/* What a level with limits by minutes has used until then; NULL for others. */
struct feed *feed_of_level_usage(const struct cluster *c, enum usage_of of, uint32_t id,
                                 const Pst__Limits *l, int64_t now_us);
struct feed *feed_of_enforcement(const struct conf *conf);
/* The TRES that are there without a record: i from 0; NULL at the end. */
struct feed *feed_of_fixed_tres(size_t i);
/* What a running job counts against. */
struct feed *feed_of_account(const Pst__JobRecord *r);
