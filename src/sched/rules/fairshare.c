/* fairshare.c - what is due to each association; see fairshare.h.
 *
 * Children hang in lists by index (first, next), so the tree costs two words a node.  An account
 * with use_parent is transparent: its children stand among its own siblings.  A user with
 * use_parent has no shares of his own, so nothing to exceed: he comes first at his level. */
#include "sched/rules/fairshare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define NONE UINT32_MAX
#define DAY_S INT64_C(86400)

struct tree {
    struct fairshare_node *n;
    uint32_t count;
    uint32_t *up;    /* effective parent: the nearest that is not transparent, or FAIRSHARE_ROOT */
    uint32_t *first; /* children by effective parent; [count] = of the root */
    uint32_t *next;
    uint32_t *scratch; /* lists being visited, as a stack */
    uint32_t nscratch;
    bool *lost;
    double grand;
    uint32_t users, rank;
    bool oblivious;     /* FAIRSHARE_DEPTH_OBLIVIOUS */
    uint32_t dampening; /* FairShareDampeningFactor, at least 1 */
};

static void tree_done(struct tree *t)
{
    free(t->up);
    free(t->first);
    free(t->next);
    free(t->scratch);
    free(t->lost);
}

static uint32_t list_slot(const struct tree *t, uint32_t parent)
{
    return parent == FAIRSHARE_ROOT ? t->count : parent;
}

/* Climb from i; false when the root is not reached. */
static bool reaches_root(const struct tree *t, uint32_t i)
{
    for (uint32_t depth = 0; depth < FAIRSHARE_MAX_DEPTH; depth++) {
        if (t->n[i].parent == FAIRSHARE_ROOT)
            return true;
        if (t->n[i].parent >= t->count)
            return false;
        i = t->n[i].parent;
    }
    return false;
}

static void sum_usage(struct tree *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        t->n[i].total = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->lost[i])
            continue;
        for (uint32_t at = i; at != FAIRSHARE_ROOT; at = t->n[at].parent)
            t->n[at].total += t->n[i].usage;
        t->grand += t->n[i].usage;
        t->users += t->n[i].user;
    }
}

static int tree_make(struct tree *t, struct fairshare_node *nodes, size_t n)
{
    *t = (struct tree){ .n = nodes, .count = (uint32_t)n };
    t->up = calloc(n + 1, sizeof(*t->up));
    t->first = calloc(n + 1, sizeof(*t->first));
    t->next = calloc(n + 1, sizeof(*t->next));
    t->scratch = calloc(n + 1, sizeof(*t->scratch));
    t->lost = calloc(n + 1, sizeof(*t->lost));
    if (!t->up || !t->first || !t->next || !t->scratch || !t->lost)
        return -ENOMEM;
    for (uint32_t i = 0; i <= t->count; i++)
        t->first[i] = NONE;
    for (uint32_t i = 0; i < t->count; i++)
        t->lost[i] = !reaches_root(t, i);
    sum_usage(t);
    for (uint32_t i = t->count; i-- > 0;) { /* from the back: lists in order of the array */
        uint32_t up = nodes[i].parent;

        if (t->lost[i])
            continue;
        while (up != FAIRSHARE_ROOT && nodes[up].use_parent)
            up = nodes[up].parent;
        t->up[i] = up;
        if (nodes[i].use_parent && !nodes[i].user)
            continue; /* transparent */
        t->next[i] = t->first[list_slot(t, up)];
        t->first[list_slot(t, up)] = i;
    }
    return 0;
}

/* Shares and usage among the siblings of each list. */
static void share_level(struct tree *t, uint32_t list)
{
    struct fairshare_node *up = list == t->count ? NULL : &t->n[list];
    double shares = 0, usage = up ? up->total : t->grand;

    for (uint32_t i = t->first[list]; i != NONE; i = t->next[i])
        shares += t->n[i].use_parent ? 0 : t->n[i].shares;
    for (uint32_t i = t->first[list]; i != NONE; i = t->next[i]) {
        struct fairshare_node *c = &t->n[i];

        if (c->use_parent)
            continue;
        c->norm_shares = shares > 0 ? c->shares / shares : 0;
        c->effective_usage = usage > 0 ? c->total / usage : 0;
        c->level_fs = c->shares == 0            ? 0
                      : c->effective_usage == 0 ? INFINITY
                                                : c->norm_shares / c->effective_usage;
    }
}

/* After all levels: those without shares of their own. */
static void inherit_level(struct tree *t, uint32_t i)
{
    struct fairshare_node *c = &t->n[i], *up = t->up[i] == FAIRSHARE_ROOT ? NULL : &t->n[t->up[i]];
    double usage = up ? up->total : t->grand;

    if (!c->use_parent || t->lost[i])
        return;
    c->norm_shares = up ? up->norm_shares : 0;
    c->effective_usage = usage > 0 ? c->total / usage : 0;
    c->level_fs = INFINITY;
}

/* ---- fair tree ------------------------------------------------------------------------------- */

static int by_level(const void *a, const void *b, void *arg)
{
    const struct fairshare_node *n = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (n[x].level_fs > n[y].level_fs)
        return -1;
    if (n[x].level_fs < n[y].level_fs)
        return 1;
    return (x > y) - (x < y);
}

static void push_children(struct tree *t, uint32_t list)
{
    for (uint32_t i = t->first[list]; i != NONE; i = t->next[i])
        t->scratch[t->nscratch++] = i;
}

/* Rank the list scratch[from ..), which is dropped.  tied: the rank of a user that ties with its
 * account. */
static void visit_list(struct tree *t, uint32_t from, uint32_t tied)
{
    uint32_t to = t->nscratch;

    if (to - from > 1)
        qsort_r(t->scratch + from, to - from, sizeof(*t->scratch), by_level, t->n);
    for (uint32_t i = from; i < to;) {
        double fs = t->n[t->scratch[i]].level_fs;
        uint32_t rank = tied ? tied : t->rank, users = 0, k = i, kids = t->nscratch;

        for (; k < to && t->n[t->scratch[k]].level_fs == fs; k++) {
            struct fairshare_node *c = &t->n[t->scratch[k]];

            if (!c->user) {
                push_children(t, t->scratch[k]);
                continue;
            }
            c->factor = (double)rank / t->users;
            users++;
        }
        t->rank -= users;
        if (t->nscratch > kids)
            visit_list(t, kids, users || tied ? rank : 0);
        i = k;
        tied = 0;
    }
    t->nscratch = from;
}

/* ---- classic --------------------------------------------------------------------------------- */

/* What was used of what is due, of an association among its siblings (own) and of all above it
 * (parent): the more the parent is off, the less its children's differences count that would
 * make up for it. */
static double oblivious_ratio(double parent, double own)
{
    double k = 1;

    if (parent > 0 && own > 0 && log(parent) * log(own) <= 0) {
        double x = 5 * log(parent);

        k = 1 / (1 + x * x);
    }
    return parent * pow(own, k);
}

/* What an association hands down to those below it. */
struct level {
    double shares; /* the product of the shares from the top down to it */
    double usage;  /* effective: its own, moved towards that of those above it */
    double ratio;  /* of what was used to what is due, for FAIRSHARE_DEPTH_OBLIVIOUS */
    bool top;      /* nothing is above */
};

static double actual_usage(const struct tree *t, const struct fairshare_node *c)
{
    return t->grand > 0 ? c->total / t->grand : 0;
}

static struct level level_of(const struct tree *t, const struct fairshare_node *c,
                             const struct level *above)
{
    double actual = actual_usage(t, c), own = c->norm_shares;
    struct level l = *above;

    l.top = false;
    if (!c->use_parent)
        l.shares = above->shares * own;
    if (above->top)
        l.usage = actual;
    else if (!c->use_parent)
        l.usage = actual + (above->usage - actual) * own;
    if (c->use_parent)
        l.ratio = above->top ? actual : above->ratio;
    else if (own > 0)
        l.ratio = above->top ? c->effective_usage / own
                             : oblivious_ratio(above->ratio, c->effective_usage / own);
    return l;
}

static double factor_at(const struct tree *t, const struct level *l)
{
    if (l->shares <= 0)
        return 0;
    return exp2(-(t->oblivious ? l->ratio : l->usage / l->shares) / t->dampening);
}

static double effective_at(const struct tree *t, const struct level *l, double actual, bool top)
{
    if (!t->oblivious || top)
        return l->usage;
    return l->shares > 0 ? l->ratio * l->shares : actual;
}

/* From the top down. */
static void descend_tree(struct tree *t, uint32_t list, const struct level *above)
{
    for (uint32_t i = t->first[list]; i != NONE; i = t->next[i]) {
        struct fairshare_node *c = &t->n[i];
        const struct level l = level_of(t, c, above);

        c->norm_shares = l.shares;
        c->norm_usage = actual_usage(t, c);
        c->effective_usage = effective_at(t, &l, c->norm_usage, above->top);
        c->factor = factor_at(t, &l);
        if (!c->user)
            descend_tree(t, i, &l);
    }
}

/* Accounts that stand in no list: as they would be with all of their parent's shares. */
static void pass_on(struct tree *t, uint32_t i)
{
    struct fairshare_node *c = &t->n[i], *up = t->up[i] == FAIRSHARE_ROOT ? NULL : &t->n[t->up[i]];

    if (!c->use_parent || c->user || t->lost[i])
        return;
    c->norm_shares = up ? up->norm_shares : 1;
    c->norm_usage = actual_usage(t, c);
    c->effective_usage = up ? up->effective_usage : c->norm_usage;
    c->factor =
        c->norm_shares > 0 ? exp2(-(c->effective_usage / c->norm_shares) / t->dampening) : 0;
}

int fairshare_compute(struct fairshare_node *nodes, size_t n, enum fairshare_kind kind,
                      uint32_t dampening)
{
    _cleanup_val_(tree_done) struct tree t = { 0 };
    int r = tree_make(&t, nodes, n);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < t.count; i++)
        nodes[i].norm_shares = nodes[i].norm_usage = nodes[i].effective_usage = nodes[i].level_fs =
            nodes[i].factor = 0;
    for (uint32_t i = 0; i <= t.count; i++)
        share_level(&t, i);
    for (uint32_t i = 0; i < t.count; i++)
        inherit_level(&t, i);
    if (kind == FAIRSHARE_TREE) {
        for (uint32_t i = 0; i < t.count; i++)
            nodes[i].norm_usage = actual_usage(&t, &nodes[i]);
        t.rank = t.users;
        push_children(&t, t.count);
        visit_list(&t, 0, 0);
    } else {
        t.oblivious = kind == FAIRSHARE_DEPTH_OBLIVIOUS;
        t.dampening = dampening ? dampening : 1;
        descend_tree(&t, t.count, &(struct level){ 1, 1, 1, true });
        for (uint32_t i = 0; i < t.count; i++)
            pass_on(&t, i);
    }
    return 0;
}

/* ---- calendar -------------------------------------------------------------------------------- */

/* Months since year 0 of the day that is `days` after 1970-01-01 (civil calendar). */
static int64_t month_of(int64_t days)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

    return (yoe + era * 400) * 12 + mp + 2; /* mp counts from March */
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t period_of(enum fairshare_reset period, int64_t us, int32_t utc_offset_s)
{
    int64_t days = floor_div(floor_div(us, 1000000) + utc_offset_s, DAY_S);

    switch (period) {
    case FAIRSHARE_RESET_DAILY:
        return days;
    case FAIRSHARE_RESET_WEEKLY:
        return floor_div(days + 4, 7); /* 1970-01-01 was a Thursday */
    case FAIRSHARE_RESET_MONTHLY:
        return month_of(days);
    case FAIRSHARE_RESET_QUARTERLY:
        return floor_div(month_of(days), 3);
    case FAIRSHARE_RESET_YEARLY:
        return floor_div(month_of(days), 12);
    case FAIRSHARE_RESET_NONE:
    case FAIRSHARE_RESET_NOW:
        break;
    }
    return 0;
}

bool fairshare_reset_due(enum fairshare_reset period, int64_t last_us, int64_t now_us,
                         int32_t utc_offset_s)
{
    if (period == FAIRSHARE_RESET_NOW)
        return last_us == 0;
    return last_us > 0 &&
           period_of(period, now_us, utc_offset_s) > period_of(period, last_us, utc_offset_s);
}
