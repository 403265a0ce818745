/* limitrecords.c - accounting records as limits for the scheduler's library; see limits.h */
#include "feed/limitrecords.h"

#include "feed/feedmem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "model/tx.h"

void feed_limit_free(struct feed_limit *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < SCHED_LIMIT_LISTS; i++)
        free(l->lists[i]);
    free(l->usage);
    free(l->name);
    free(l);
}

static struct feed *limit_new(int what, uint32_t id)
{
    struct feed *f = feed_new(FEED_LIMIT);

    f->limit = must(calloc(1, sizeof(*f->limit)));
    f->limit->what = what;
    f->limit->id = id;
    sched_limits_init(&f->limit->qos.limits);
    return f;
}

/* Lifted limits are left out. */
static void fill_list(struct feed_limit *l, enum sched_limit_list which,
                      Pst__TresCount *const *list, size_t n)
{
    struct sched_tres_limit *to = n ? must(calloc(n, sizeof(*to))) : NULL;
    size_t used = 0;

    for (size_t i = 0; i < n; i++)
        if (list[i]->has_count && list[i]->count >= 0)
            to[used++] = (struct sched_tres_limit){ .tres_id = list[i]->tres_id,
                                                    .count = (uint64_t)list[i]->count };
    l->lists[which] = to;
    l->qos.limits.lists[which].v = to;
    l->qos.limits.lists[which].n = used;
}

static void fill_number(struct feed_limit *l, enum sched_limit_number which, bool has,
                        int32_t value)
{
    if (has && value >= 0)
        l->qos.limits.numbers[which] = (uint64_t)value;
}

static void fill_limits(struct feed_limit *l, const Pst__Limits *from)
{
#define LIST(which, field) fill_list(l, which, from->field, from->n_##field)
#define NUMBER(which, field) fill_number(l, which, from->has_##field, from->field)
    LIST(SCHED_GRP_TRES, grp_tres);
    LIST(SCHED_GRP_TRES_MINS, grp_tres_mins);
    LIST(SCHED_GRP_TRES_RUN_MINS, grp_tres_run_mins);
    LIST(SCHED_MAX_TRES_JOB, max_tres_per_job);
    LIST(SCHED_MAX_TRES_NODE, max_tres_per_node);
    LIST(SCHED_MAX_TRES_MINS_JOB, max_tres_mins_per_job);
    LIST(SCHED_MAX_RUN_MINS, max_tres_run_mins);
    LIST(SCHED_MIN_TRES_JOB, min_tres_per_job);
    LIST(SCHED_MAX_TRES_USER, max_tres_per_user);
    LIST(SCHED_MAX_TRES_ACCOUNT, max_tres_per_account);
    LIST(SCHED_MAX_RUN_MINS_USER, max_tres_run_mins_per_user);
    LIST(SCHED_MAX_RUN_MINS_ACCOUNT, max_tres_run_mins_per_account);
    NUMBER(SCHED_GRP_JOBS, grp_jobs);
    NUMBER(SCHED_GRP_ACCRUE, grp_jobs_accrue);
    NUMBER(SCHED_GRP_WALL, grp_wall_min);
    NUMBER(SCHED_MAX_WALL, max_wall_min);
    NUMBER(SCHED_MAX_JOBS, max_jobs);
    NUMBER(SCHED_MAX_ACCRUE, max_jobs_accrue);
    NUMBER(SCHED_USER_JOBS, max_jobs_per_user);
    NUMBER(SCHED_ACCOUNT_JOBS, max_jobs_per_account);
    NUMBER(SCHED_USER_ACCRUE, max_jobs_accrue_per_user);
    NUMBER(SCHED_ACCOUNT_ACCRUE, max_jobs_accrue_per_account);
    NUMBER(SCHED_MIN_PRIO, min_prio_threshold);
#undef LIST
#undef NUMBER
}

struct feed *feed_of_tres(const Pst__TresRecord *r)
{
    struct feed *f = limit_new(FEED_LIMIT_TRES, r->tres_id);
    bool named = r->name && *r->name;
    size_t size = strlen(r->type) + (named ? strlen(r->name) : 0) + 2;

    f->limit->name = must(calloc(1, size));
    (void)snprintf(f->limit->name, size, "%s%s%s", r->type, named ? "/" : "", named ? r->name : "");
    return f;
}

struct feed *feed_of_assoc_limits(struct assoc_mgr *am, const struct assoc *a)
{
    struct feed *f = limit_new(FEED_LIMIT_ASSOC, a->id);

    f->limit->parent = a->parent ? a->parent->id : 0;
    f->limit->name = must(strdup(a->rec->account));
    fill_limits(f->limit, am_limits(am, a));
    return f;
}

struct feed *feed_of_qos_limits(const Pst__QosRecord *r)
{
    static const struct {
        Pst__QosFlag flag;
        unsigned bit;
    } rows[] = {
        { PST__QOS_FLAG__QOS_ENFORCE_USAGE_THRESHOLD, SCHED_QOS_USAGE_THRESHOLD_ON },
        { PST__QOS_FLAG__QOS_NO_RESERVE, SCHED_QOS_NO_RESERVE },
        { PST__QOS_FLAG__QOS_OVER_PART_QOS, SCHED_QOS_OVER_PART },
        { PST__QOS_FLAG__QOS_PARTITION_MAX_NODES, SCHED_QOS_PART_MAX_NODES },
        { PST__QOS_FLAG__QOS_PARTITION_MIN_NODES, SCHED_QOS_PART_MIN_NODES },
        { PST__QOS_FLAG__QOS_PARTITION_TIME_LIMIT, SCHED_QOS_PART_TIME },
        { PST__QOS_FLAG__QOS_RELATIVE, SCHED_QOS_RELATIVE },
        { PST__QOS_FLAG__QOS_USAGE_FACTOR_SAFE, SCHED_QOS_FACTOR_SAFE },
    };
    struct feed *f = limit_new(FEED_LIMIT_QOS, r->qos_id);
    struct sched_qos_limits *q = &f->limit->qos;

    q->usage_factor = r->has_usage_factor ? r->usage_factor : 1;
    q->limit_factor = r->has_limit_factor ? r->limit_factor : 0;
    q->usage_threshold = r->has_usage_threshold ? r->usage_threshold : 0;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (r->has_flags && r->flags & 1u << rows[i].flag)
            q->flags |= rows[i].bit;
    if (r->limits)
        fill_limits(f->limit, r->limits);
    return f;
}

struct feed *feed_of_limits_gone(bool qos, uint32_t id)
{
    struct feed *f = limit_new(qos ? FEED_LIMIT_QOS : FEED_LIMIT_ASSOC, id);

    f->limit->gone = true;
    return f;
}

bool limits_by_minutes(const Pst__Limits *l)
{
    return l && (l->n_grp_tres_mins || (l->has_grp_wall_min && l->grp_wall_min >= 0));
}

struct feed *feed_of_level_usage(const struct cluster *c, enum usage_of of, uint32_t id,
                                 const Pst__Limits *l, int64_t now_us)
{
    struct feed *f;

    if (!limits_by_minutes(l))
        return NULL;
    f = limit_new(FEED_LIMIT_USAGE, id);
    f->limit->of_qos = of == USAGE_QOS;
    f->limit->usage = must(calloc(l->n_grp_tres_mins + 1, sizeof(*f->limit->usage)));
    f->limit->nusage = l->n_grp_tres_mins;
    f->limit->wall_minutes = usage_wall_s(c, of, id, now_us) / 60;
    for (size_t i = 0; i < l->n_grp_tres_mins; i++)
        f->limit->usage[i] = (struct sched_tres_usage){
            .tres_id = l->grp_tres_mins[i]->tres_id,
            .minutes = usage_tres_s(c, of, id, l->grp_tres_mins[i]->tres_id, now_us) / 60
        };
    return f;
}

unsigned limits_enforced(const struct conf *conf)
{
    static const struct {
        const char *word;
        unsigned bits;
    } words[] = {
        { "associations", ENFORCE_ASSOCS },
        { "limits", ENFORCE_ASSOCS | ENFORCE_LIMITS },
        { "qos", ENFORCE_ASSOCS | ENFORCE_QOS },
        { "safe", ENFORCE_ASSOCS | ENFORCE_LIMITS | ENFORCE_SAFE },
        { "wckeys", ENFORCE_ASSOCS | ENFORCE_WCKEYS },
        { "all", ENFORCE_ASSOCS | ENFORCE_LIMITS | ENFORCE_QOS | ENFORCE_SAFE | ENFORCE_WCKEYS },
    };
    unsigned bits = 0;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (conf_option(conf, CONF_ACCOUNTING_STORAGE_ENFORCE, words[i].word, NULL, NULL))
            bits |= words[i].bits;
    return bits;
}

struct feed *feed_of_enforcement(const struct conf *conf)
{
    unsigned enforce = limits_enforced(conf);
    struct feed *f = limit_new(FEED_LIMIT_ENFORCE, 0);

    f->limit->on = enforce & ENFORCE_LIMITS;
    f->limit->safe = enforce & ENFORCE_SAFE;
    return f;
}

struct feed *feed_of_fixed_tres(size_t i)
{
    static const struct {
        uint32_t id;
        const char *name;
    } fixed[] = { { AM_TRES_CPU, "cpu" },
                  { AM_TRES_MEM, "mem" },
                  { AM_TRES_ENERGY, "energy" },
                  { AM_TRES_NODE, "node" },
                  { AM_TRES_BILLING, "billing" } };
    Pst__TresRecord r = PST__TRES_RECORD__INIT;

    if (i >= ARRAY_SIZE(fixed))
        return NULL;
    SET(&r, tres_id, fixed[i].id);
    r.type = (char *)fixed[i].name; /* copied */
    return feed_of_tres(&r);
}

struct feed *feed_of_account(const Pst__JobRecord *r)
{
    struct feed *f = feed_new(FEED_ACCOUNT);

    f->job_id = r->job_id;
    f->assoc_id = r->has_assoc_id ? r->assoc_id : 0;
    f->qos_id = r->has_qos_id ? r->qos_id : 0;
    return f;
}

int feed_limit_apply(struct sched *s, const struct feed_limit *l)
{
    switch (l->what) {
    case FEED_LIMIT_TRES:
        return sched_tres_put(s, l->id, l->name);
    case FEED_LIMIT_ASSOC:
        if (l->gone)
            sched_limit_assoc_remove(s, l->id);
        return l->gone ? 0 : sched_limit_assoc_put(s, l->id, l->parent, l->name, &l->qos.limits);
    case FEED_LIMIT_QOS:
        if (l->gone)
            sched_limit_qos_remove(s, l->id);
        return l->gone ? 0 : sched_limit_qos_put(s, l->id, &l->qos);
    case FEED_LIMIT_USAGE:
        return sched_limit_usage(s, l->of_qos, l->id, l->usage, l->nusage, l->wall_minutes);
    case FEED_LIMIT_ENFORCE:
        sched_limit_enforce(s, l->on, l->safe);
        return 0;
    }
    return 0;
}
