/* admission.c - limits that refuse a job when it is submitted or changed; see admission.h
 *
 * The numbers of jobs always refuse.  What one job alone asks for refuses only when a QOS denies
 * at the limit; else the scheduler holds the job back (sched/rules/limit_check.c).  As there, what
 * the first QOS says about a limit of a TRES replaces what the second says. */
#include "ctld/policy/admission.h"

#include <stddef.h>

#include "ctld/policy/policy_tres.h"
#include "feed/limitrecords.h"
#include "feed/params.h"
#include "model/words/names.h"

#define REASON(x) PST__JOB_REASON__REASON_##x

struct admission {
    struct cluster *c;
    const struct resources *res;
    const Pst__JobRecord *r;
    const struct partition *part;
    uint32_t n; /* jobs that come */
    enum billing_sum how;
    const Pst__QosRecord *qos[2]; /* in order of precedence */
    size_t nqos;
    const struct assoc *assoc;
};

static void admission_begin(struct admission *ad, const struct ctld *ctld,
                            const struct partition *p, const Pst__JobRecord *r)
{
    struct assoc_mgr *am = ctld->cluster->am;
    const Pst__QosRecord *own = r->has_qos_id ? am_qos(am, r->qos_id) : NULL;
    const Pst__QosRecord *part = r->has_part_qos_id ? am_qos(am, r->part_qos_id) : NULL;
    bool over = own && (own->flags & 1u << PST__QOS_FLAG__QOS_OVER_PART_QOS);

    *ad = (struct admission){ .c = ctld->cluster,
                              .res = ctld->resources,
                              .r = r,
                              .part = p,
                              .how = conf_billing_sum(ctld->conf) };
    ad->assoc = r->has_assoc_id ? am_assoc(am, r->assoc_id) : NULL;
    if (part && part != own && !over)
        ad->qos[ad->nqos++] = part;
    if (own)
        ad->qos[ad->nqos++] = own;
    if (part && part != own && over)
        ad->qos[ad->nqos++] = part;
}

static const Pst__Limits *limits_of(const Pst__QosRecord *q)
{
    static const Pst__Limits none = PST__LIMITS__INIT;

    return q->limits ? q->limits : &none;
}

/* ---- numbers of jobs ------------------------------------------------------------------------- */

/* Counts of jobs: the first level that says anything about a count decides it.  0 or a reason. */
static int check_counts(const struct admission *ad)
{
    const Pst__JobRecord *r = ad->r;
    bool grp = false, user = false, account = false;

#define OVER(l, field, have)                                                                       \
    ((l)->has_##field && (l)->field >= 0 && (uint64_t)(have) + ad->n > (uint64_t)(l)->field)
#define SAYS(l, field) ((l)->has_##field && (l)->field >= 0)
    for (size_t i = 0; i < ad->nqos; i++) {
        const Pst__Limits *l = limits_of(ad->qos[i]);
        uint32_t id = ad->qos[i]->qos_id;

        if (!grp && OVER(l, grp_submit_jobs, cluster_charged_qos(ad->c, id)))
            return REASON(QOS_GRP_SUBMIT);
        if (!account && OVER(l, max_submit_jobs_per_account,
                             cluster_charged_qos_account(ad->c, id, r->account)))
            return REASON(QOS_ACCOUNT_SUBMIT);
        if (!user && OVER(l, max_submit_jobs_per_user, cluster_charged_qos_user(ad->c, id, r->uid)))
            return REASON(QOS_USER_SUBMIT);
        grp = grp || SAYS(l, grp_submit_jobs);
        account = account || SAYS(l, max_submit_jobs_per_account);
        user = user || SAYS(l, max_submit_jobs_per_user);
    }
    for (const struct assoc *a = ad->assoc; a; a = a->parent) {
        const Pst__Limits *l = am_limits(ad->c->am, a);

        if (!grp && OVER(l, grp_submit_jobs, cluster_charged_below(ad->c, a->id)))
            return REASON(ASSOC_GRP_SUBMIT);
        if (a == ad->assoc && !user &&
            OVER(l, max_submit_jobs, cluster_charged_assoc(ad->c, a->id)))
            return REASON(ASSOC_MAX_SUBMIT);
    }
    return 0;
#undef OVER
#undef SAYS
}

/* ---- the size of one job --------------------------------------------------------------------- */

enum asked_how {
    ASKED_ALL,     /* on all nodes */
    ASKED_NODE,    /* on one of them */
    ASKED_MINUTES, /* times the time limit */
    ASKED_LEAST,   /* on all nodes, which must be enough */
};

struct size_row {
    size_t list, count; /* fields of Limits */
    int reason;         /* the one of CPUs */
    enum asked_how how;
    bool leaf; /* of associations: of the job's own only */
};

#define ROW(field, word, how, leaf)                                                                \
    {                                                                                              \
        offsetof(Pst__Limits, field), offsetof(Pst__Limits, n_##field), REASON(word), how, leaf    \
    }

static const struct size_row qos_rows[] = {
    ROW(grp_tres_mins, QOS_GRP_MINS_CPU, ASKED_MINUTES, false),
    ROW(grp_tres, QOS_GRP_CPU, ASKED_ALL, false),
    ROW(grp_tres_run_mins, QOS_GRP_RUN_MINS_CPU, ASKED_MINUTES, false),
    ROW(max_tres_mins_per_job, QOS_MAX_MINS_CPU, ASKED_MINUTES, false),
    ROW(max_tres_per_account, QOS_MAX_ACCOUNT_CPU, ASKED_ALL, false),
    ROW(max_tres_per_job, QOS_MAX_JOB_CPU, ASKED_ALL, false),
    ROW(max_tres_per_user, QOS_MAX_USER_CPU, ASKED_ALL, false),
    ROW(max_tres_per_node, QOS_MAX_NODE_CPU, ASKED_NODE, false),
    ROW(min_tres_per_job, QOS_MIN_CPU, ASKED_LEAST, false),
};

static const struct size_row assoc_rows[] = {
    ROW(grp_tres_mins, ASSOC_GRP_MINS_CPU, ASKED_MINUTES, false),
    ROW(grp_tres, ASSOC_GRP_CPU, ASKED_ALL, false),
    ROW(grp_tres_run_mins, ASSOC_GRP_RUN_MINS_CPU, ASKED_MINUTES, false),
    ROW(max_tres_mins_per_job, ASSOC_MAX_MINS_CPU, ASKED_MINUTES, true),
    ROW(max_tres_per_job, ASSOC_MAX_JOB_CPU, ASKED_ALL, true),
    ROW(max_tres_per_node, ASSOC_MAX_NODE_CPU, ASKED_NODE, true),
};

static Pst__TresCount *const *list_of(const Pst__Limits *l, const struct size_row *row, size_t *n)
{
    const char *base = (const char *)l;

    *n = *(const size_t *)(const void *)(base + row->count);
    return *(Pst__TresCount *const *const *)(const void *)(base + row->list);
}

static bool is_set(const Pst__TresCount *tc)
{
    return tc->has_count && tc->count >= 0;
}

/* Has a QOS before that of number `before` said something about it? */
static bool said_before(const struct admission *ad, size_t before, const struct size_row *row,
                        uint32_t tres_id)
{
    for (size_t i = 0; i < before; i++) {
        size_t n;
        Pst__TresCount *const *list = list_of(limits_of(ad->qos[i]), row, &n);

        for (size_t k = 0; k < n; k++)
            if (list[k]->tres_id == tres_id && is_set(list[k]))
                return true;
    }
    return false;
}

static uint32_t minutes_asked(const Pst__JobRecord *r)
{
    return r->has_time_limit_min ? r->time_limit_min : UINT32_MAX;
}

static uint64_t multiply_capped(uint64_t n, uint32_t minutes)
{
    uint64_t product;

    if (n && (minutes == UINT32_MAX || __builtin_mul_overflow(n, minutes, &product)))
        return UINT64_MAX;
    return n ? product : 0;
}

/* Does the job ask for more (or less, with ASKED_LEAST) than one limit grants? */
static bool breaks_limit(const struct admission *ad, const Pst__TresCount *tc, enum asked_how how)
{
    uint64_t want = policy_tres_asked(ad->c->am, ad->res, ad->part, ad->how, ad->r, tc->tres_id,
                                      how == ASKED_NODE);

    if (how == ASKED_MINUTES)
        want = multiply_capped(want, minutes_asked(ad->r));
    return how == ASKED_LEAST ? want < (uint64_t)tc->count : want > (uint64_t)tc->count;
}

/* The reason of the first limit of a list that the job breaks; 0 = none. */
static int find_breach(const struct admission *ad, const Pst__Limits *l, const struct size_row *row,
                       size_t nbefore)
{
    size_t n;
    Pst__TresCount *const *list = list_of(l, row, &n);

    for (size_t i = 0; i < n; i++)
        if (is_set(list[i]) && !said_before(ad, nbefore, row, list[i]->tres_id) &&
            breaks_limit(ad, list[i], row->how))
            return row->reason + (int)policy_tres_type(ad->c->am, list[i]->tres_id);
    return 0;
}

static bool any_time(const struct admission *ad)
{
    return ad->r->limit_set & 1u << PST__LIMIT_SET__LIMIT_SET_TIME;
}

static bool any_size(const struct admission *ad)
{
    return ad->r->limit_set & 1u << PST__LIMIT_SET__LIMIT_SET_TRES;
}

#define OVER_WALL(ad, l, field)                                                                    \
    ((l)->has_##field && (l)->field >= 0 && minutes_asked((ad)->r) > (uint32_t)(l)->field)

/* What one job alone may ask for by its QOS of number `which`. */
static int check_qos(const struct admission *ad, size_t which)
{
    const Pst__Limits *l = limits_of(ad->qos[which]);
    const Pst__Limits *first = which ? limits_of(ad->qos[0]) : NULL;
    int reason = 0;

    if (!any_time(ad)) {
        if (!(first && first->has_grp_wall_min) && OVER_WALL(ad, l, grp_wall_min))
            return REASON(QOS_GRP_WALL);
        if (!(first && first->has_max_wall_min) && OVER_WALL(ad, l, max_wall_min))
            return REASON(QOS_MAX_WALL);
    }
    for (size_t i = 0; !any_size(ad) && !reason && i < ARRAY_SIZE(qos_rows); i++)
        reason = find_breach(ad, l, &qos_rows[i], which);
    return reason;
}

/* The same by the association and the accounts above it, for what no QOS speaks about. */
static int check_assoc(const struct admission *ad)
{
    const Pst__Limits *own = ad->assoc ? am_limits(ad->c->am, ad->assoc) : NULL;
    bool said = false;
    int reason = 0;

    if (!own)
        return 0;
    for (size_t i = 0; i < ad->nqos; i++)
        said = said || limits_of(ad->qos[i])->has_max_wall_min;
    if (!said && !any_time(ad) && OVER_WALL(ad, own, max_wall_min))
        return REASON(ASSOC_MAX_WALL);
    for (const struct assoc *a = ad->assoc; a && !reason && !any_size(ad); a = a->parent)
        for (size_t i = 0; !reason && i < ARRAY_SIZE(assoc_rows); i++)
            if (!assoc_rows[i].leaf || a == ad->assoc)
                reason = find_breach(ad, am_limits(ad->c->am, a), &assoc_rows[i], ad->nqos);
    return reason;
}

int admission_check(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r,
                    uint32_t n, bool again, const char **ret_word)
{
    struct admission ad;
    bool strict = false;
    int reason = 0;

    if (!(limits_enforced(ctld->conf) & ENFORCE_LIMITS))
        return 0;
    admission_begin(&ad, ctld, p, r);
    ad.n = n;
    if (!again)
        reason = check_counts(&ad);
    for (size_t i = 0; i < ad.nqos; i++)
        strict = strict || (ad.qos[i]->flags & 1u << PST__QOS_FLAG__QOS_DENY_ON_LIMIT);
    for (size_t i = 0; strict && !reason && i < ad.nqos; i++)
        reason = check_qos(&ad, i);
    if (strict && !reason)
        reason = check_assoc(&ad);
    if (!reason)
        return 0;
    *ret_word = names_reason((unsigned)reason);
    return ESLURM_ACCOUNTING_POLICY;
}

uint32_t admission_max_wall(const struct ctld *ctld, const Pst__JobRecord *r)
{
    struct admission ad;
    const Pst__Limits *l;

    if (!(limits_enforced(ctld->conf) & ENFORCE_LIMITS))
        return UINT32_MAX;
    admission_begin(&ad, ctld, NULL, r);
    for (size_t i = 0; i < ad.nqos; i++) {
        l = limits_of(ad.qos[i]);
        if (l->has_max_wall_min && l->max_wall_min >= 0)
            return (uint32_t)l->max_wall_min;
    }
    l = ad.assoc ? am_limits(ad.c->am, ad.assoc) : NULL;
    return l && l->has_max_wall_min ? (uint32_t)l->max_wall_min : UINT32_MAX;
}
