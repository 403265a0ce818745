/* usage.c - what associations and QOS have used; see usage.h
 *
 * An entry holds values as of a time and the rates since.  Values are in its record, which is kept,
 * dumped and hashed like any other; rates follow from the jobs that run.  They are whole numbers of
 * millionths, so that adding and taking away in any order gives the same, and a state loaded from a
 * snapshot goes on exactly as the one it came from.
 *
 * When accounting records change, the rates are counted anew from the running jobs: at the end of
 * that transaction, or, for those read from a snapshot, at the next one that has a time. */
#include "model/use/usage.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "model/cluster_private.h"
#include "model/job.h"
#include "model/kept.h"
#include "model/tx.h"

#define RATE_UNIT 1e6
#define TRES_NAME_MAX 128u

struct usage {
    struct kept kept; /* its rec is ours: values as of as_of_us */
    bool no_decay;
    int64_t raw_rate, wall_rate;
    int64_t *tres_rate; /* beside rec->tres */
};

/* Half a change must not be: what is journaled is in force. */
static Pst__UsageRecord *rec_of(const struct usage *u)
{
    return (Pst__UsageRecord *)u->kept.rec;
}

static uint32_t kept_id(enum usage_of of, uint32_t id)
{
    return id << 1 | (of == USAGE_QOS);
}

static struct usage *find_usage(const struct cluster *c, enum usage_of of, uint32_t id)
{
    return (struct usage *)cluster_kept(c, KEPT_USAGE,
                                        kept_id(of, id)); /* kept is its first member */
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint32_t half_life_s(const struct cluster *c)
{
    return c->rec->has_usage_half_life_s ? c->rec->usage_half_life_s : USAGE_HALF_LIFE_S;
}

/* What becomes of 1 in the time, and how long a rate counts in it. */
struct span {
    double left, seconds;
};

static struct span span_of(const struct cluster *c, const struct usage *u, int64_t to_us)
{
    int64_t from = rec_of(u)->as_of_us;
    double dt = from && to_us > from ? (double)(to_us - from) / 1e6 : 0;
    double half = u->no_decay ? 0 : half_life_s(c);
    struct span s = { 1, dt };

    if (half > 0 && dt > 0) {
        s.left = exp2(-dt / half);
        s.seconds = half / M_LN2 * -expm1(-dt / half * M_LN2);
    }
    return s;
}

static double value_later(double value, int64_t rate, struct span s)
{
    return value * s.left + (double)rate / RATE_UNIT * s.seconds;
}

static void mark_told(struct cluster *c, struct usage *u)
{
    if (c->observer && c->observer->kept)
        c->observer->kept(c->observer->ctx, &u->kept);
}

static void advance_usage(struct cluster *c, struct usage *u)
{
    Pst__UsageRecord *r = rec_of(u);
    struct span s = span_of(c, u, c->apply_us);

    if (!c->apply_us || c->apply_us <= r->as_of_us)
        return;
    r->raw = value_later(r->raw, u->raw_rate, s);
    r->wall_s = value_later(r->wall_s, u->wall_rate, s);
    for (size_t i = 0; i < r->n_tres; i++)
        r->tres[i]->seconds = value_later(r->tres[i]->seconds, u->tres_rate[i], s);
    r->as_of_us = c->apply_us;
    mark_told(c, u);
}

static void advance_all(struct cluster *c)
{
    void *v;

    for (size_t pos = 0; (v = idmap_next(&c->kept[KEPT_USAGE], &pos));)
        advance_usage(c, v);
}

/* ---- entries --------------------------------------------------------------------------------- */

void model_usage_free(struct kept *k)
{
    struct usage *u = (struct usage *)k;

    if (u->kept.rec)
        protobuf_c_message_free_unpacked(u->kept.rec, NULL);
    free(u->tres_rate);
    free(u);
}

static bool qos_keeps(const struct cluster *c, uint32_t qos_id)
{
    const Pst__QosRecord *q = am_qos(c->am, qos_id);

    return q && q->has_flags && (q->flags & 1u << PST__QOS_FLAG__QOS_NO_DECAY);
}

static struct usage *make_usage(struct cluster *c, enum usage_of of, uint32_t id)
{
    struct usage *u = must(calloc(1, sizeof(*u)));
    Pst__UsageRecord *r = must(malloc(sizeof(*r)));

    pst__usage_record__init(r);
    SET(r, id, id);
    if (of == USAGE_QOS)
        SET(r, qos, true);
    SET(r, as_of_us, c->apply_us);
    SET(r, raw, 0);
    SET(r, wall_s, 0);
    u->kept = (struct kept){ .kind = KEPT_USAGE, .id = kept_id(of, id), .rec = &r->base };
    u->no_decay = of == USAGE_QOS && qos_keeps(c, id);
    if (idmap_put(&c->kept[KEPT_USAGE], (uint64_t)u->kept.id + 1, u) < 0)
        must(NULL);
    mark_told(c, u);
    return u;
}

static int64_t *tres_rate(struct usage *u, uint32_t tres_id)
{
    Pst__UsageRecord *r = rec_of(u);
    Pst__UsageTres *t;

    for (size_t i = 0; i < r->n_tres; i++)
        if (r->tres[i]->tres_id == tres_id)
            return &u->tres_rate[i];
    r->tres = must(realloc(r->tres, (r->n_tres + 1) * sizeof(t)));
    u->tres_rate = must(realloc(u->tres_rate, (r->n_tres + 1) * sizeof(*u->tres_rate)));
    t = must(malloc(sizeof(*t)));
    pst__usage_tres__init(t);
    SET(t, tres_id, tres_id);
    SET(t, seconds, 0);
    u->tres_rate[r->n_tres] = 0;
    r->tres[r->n_tres] = t;
    return &u->tres_rate[r->n_tres++];
}

/* ---- what a job uses ------------------------------------------------------------------------- */

struct charge {
    struct cluster *c;
    double factor, billing;
    int sign;
    size_t n, cap;
    struct {
        uint32_t tres_id;
        int64_t rate;
    } * tres;
};

void usage_parse_tres(const char *text, void (*fn)(void *ctx, const char *name, uint64_t count),
                      void *ctx)
{
    for (const char *p = text ? text : ""; *p; p += *p == ',') {
        size_t len = strcspn(p, ","), name = strcspn(p, "=");
        char word[TRES_NAME_MAX], value[32];
        uint64_t count;

        if (name < len && name < sizeof(word) && len - name - 1 < sizeof(value)) {
            memcpy(word, p, name);
            word[name] = '\0';
            memcpy(value, p + name + 1, len - name - 1);
            value[len - name - 1] = '\0';
            if ((strcmp(word, "mem") == 0 ? size_mib_parse(value, &count, NULL)
                                          : size_count_parse(value, &count, NULL)) == 0)
                fn(ctx, word, count);
        }
        p += len;
    }
}

static void on_tres(void *ctx, const char *name, uint64_t count)
{
    struct charge *g = ctx;
    uint32_t id = am_tres_id(g->c->am, name);

    if (strcmp(name, "billing") == 0)
        g->billing = (double)count;
    if (!id)
        return;
    if (g->n == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 8;

        g->tres = must(realloc(g->tres, cap * sizeof(*g->tres)));
        g->cap = cap;
    }
    g->tres[g->n].tres_id = id;
    g->tres[g->n++].rate = llround((double)count * g->factor * RATE_UNIT);
}

static void charge_one(struct charge *g, enum usage_of of, uint32_t id)
{
    struct usage *u = find_usage(g->c, of, id);

    if (!u && g->sign < 0)
        return;
    if (!u)
        u = make_usage(g->c, of, id);
    advance_usage(g->c, u);
    u->raw_rate += g->sign * llround(g->billing * g->factor * RATE_UNIT);
    u->wall_rate += g->sign * llround(g->factor * RATE_UNIT);
    for (size_t i = 0; i < g->n; i++)
        *tres_rate(u, g->tres[i].tres_id) += g->sign * g->tres[i].rate;
}

/* ---- for apply.c ----------------------------------------------------------------------------- */

void model_usage_job(struct cluster *c, const Pst__JobRecord *r, bool add)
{
    struct charge g = { .c = c, .factor = 1, .sign = add ? 1 : -1 };
    const Pst__QosRecord *q;

    if (!r->alloc || !job_is_running(r) || (!r->assoc_id && !r->qos_id && !r->part_qos_id) ||
        c->usage_stale)
        return; /* stale: all are counted anew */
    q = r->qos_id ? am_qos(c->am, r->qos_id) : NULL;
    if (q && q->has_usage_factor)
        g.factor = q->usage_factor;
    usage_parse_tres(r->alloc_tres, on_tres, &g);
    if (r->has_billing)
        g.billing = r->billing;
    for (const struct assoc *a = r->assoc_id ? am_assoc(c->am, r->assoc_id) : NULL; a;
         a = a->parent)
        charge_one(&g, USAGE_ASSOC, a->id);
    if (q)
        charge_one(&g, USAGE_QOS, r->qos_id);
    if (r->part_qos_id && r->part_qos_id != r->qos_id && am_qos(c->am, r->part_qos_id))
        charge_one(&g, USAGE_QOS, r->part_qos_id);
    free(g.tres);
}

/* Entries of what is gone go with it. */
static void drop_orphans(struct cluster *c)
{
    void *v;

    for (size_t pos = 0; (v = idmap_next(&c->kept[KEPT_USAGE], &pos));) {
        struct usage *u = v;
        const Pst__UsageRecord *r = rec_of(u);

        if (r->qos ? am_qos(c->am, r->id) != NULL : am_assoc(c->am, r->id) != NULL)
            continue;
        if (c->observer && c->observer->kept_gone)
            c->observer->kept_gone(c->observer->ctx, &u->kept);
        (void)idmap_remove(&c->kept[KEPT_USAGE], (uint64_t)u->kept.id + 1);
        model_usage_free(&u->kept);
    }
}

void model_usage_recount(struct cluster *c, bool advance_first)
{
    int64_t now = c->apply_us;
    void *v;

    if (!c->usage_stale)
        return;
    if (advance_first)
        advance_all(c);
    for (size_t pos = 0; (v = idmap_next(&c->kept[KEPT_USAGE], &pos));) {
        struct usage *u = v;

        u->raw_rate = u->wall_rate = 0;
        for (size_t i = 0; i < rec_of(u)->n_tres; i++)
            u->tres_rate[i] = 0;
        u->no_decay = rec_of(u)->qos && qos_keeps(c, rec_of(u)->id);
    }
    c->usage_stale = false;
    if (!advance_first)
        c->apply_us = 0; /* they have run since the entries' time */
    for (const struct job *j = c->active; j; j = j->next_active)
        model_usage_job(c, j->rec, true);
    c->apply_us = now;
    if (advance_first)
        drop_orphans(c);
}

/* Does the change alter what is charged, or to which association? */
void model_usage_acct(struct cluster *c, const Pst__AcctChange *ch)
{
    Pst__UsageReset reset = PST__USAGE_RESET__INIT;

    switch (ch->body_case) {
    case PST__ACCT_CHANGE__BODY_TRES:
    case PST__ACCT_CHANGE__BODY_QOS:
    case PST__ACCT_CHANGE__BODY_ASSOC:
    case PST__ACCT_CHANGE__BODY_ASSOC_REMOVE:
    case PST__ACCT_CHANGE__BODY_QOS_REMOVE:
    case PST__ACCT_CHANGE__BODY_CLEAR:
        c->usage_stale = true;
        break;
    case PST__ACCT_CHANGE__BODY_ASSOC_USAGE_RESET:
        SET(&reset, assoc_id, ch->assoc_usage_reset);
        model_usage_reset(c, &reset);
        break;
    case PST__ACCT_CHANGE__BODY_QOS_USAGE_RESET:
        SET(&reset, qos_id, ch->qos_usage_reset);
        model_usage_reset(c, &reset);
        break;
    default:
        break;
    }
}

void model_usage_cluster(struct cluster *c, const Pst__ClusterRecord *set)
{
    if (set->has_usage_half_life_s && set->usage_half_life_s != half_life_s(c))
        advance_all(c); /* with the old one up to here */
}

int model_usage_put(struct cluster *c, const Pst__UsageRecord *rec, struct err *err)
{
    enum usage_of of = rec->has_qos && rec->qos ? USAGE_QOS : USAGE_ASSOC;
    struct usage *u;

    if (!rec->has_id || !rec->id)
        return err_set(err, -EUCLEAN, "usage of nothing");
    u = find_usage(c, of, rec->id);
    if (!u)
        u = make_usage(c, of, rec->id);
    for (size_t i = 0; i < rec->n_tres; i++)
        (void)tres_rate(u, rec->tres[i]->tres_id); /* makes it */
    for (size_t i = 0; i < rec_of(u)->n_tres; i++) {
        Pst__UsageTres *t = rec_of(u)->tres[i];

        t->seconds = 0;
        for (size_t k = 0; k < rec->n_tres; k++)
            if (rec->tres[k]->tres_id == t->tres_id)
                t->seconds = rec->tres[k]->seconds;
    }
    rec_of(u)->raw = rec->raw;
    rec_of(u)->wall_s = rec->wall_s;
    rec_of(u)->as_of_us = rec->as_of_us;
    mark_told(c, u);
    return 0;
}

static void zero_usage(struct cluster *c, struct usage *u)
{
    Pst__UsageRecord *r = rec_of(u);

    advance_usage(c, u);
    r->raw = r->wall_s = 0;
    for (size_t i = 0; i < r->n_tres; i++)
        r->tres[i]->seconds = 0;
    mark_told(c, u);
}

/* Those above no longer count what `gone` has used. */
static void take_from_above(struct cluster *c, const struct assoc *a, const struct usage *gone)
{
    const Pst__UsageRecord *g = rec_of(gone);

    for (a = a->parent; a; a = a->parent) {
        struct usage *u = find_usage(c, USAGE_ASSOC, a->id);

        if (!u)
            continue;
        advance_usage(c, u);
        rec_of(u)->raw = MAX(rec_of(u)->raw - g->raw, 0.0);
        rec_of(u)->wall_s = MAX(rec_of(u)->wall_s - g->wall_s, 0.0);
        for (size_t i = 0; i < rec_of(u)->n_tres; i++)
            for (size_t k = 0; k < g->n_tres; k++)
                if (g->tres[k]->tres_id == rec_of(u)->tres[i]->tres_id)
                    rec_of(u)->tres[i]->seconds =
                        MAX(rec_of(u)->tres[i]->seconds - g->tres[k]->seconds, 0.0);
        mark_told(c, u);
    }
}

static void zero_below(struct cluster *c, const struct assoc *a)
{
    struct usage *u = find_usage(c, USAGE_ASSOC, a->id);

    if (u)
        zero_usage(c, u);
    for (a = a->child; a; a = a->sibling)
        zero_below(c, a);
}

void model_usage_reset(struct cluster *c, const Pst__UsageReset *what)
{
    struct assoc *a = what->has_assoc_id ? am_assoc(c->am, what->assoc_id) : NULL;
    struct usage *u = a                  ? find_usage(c, USAGE_ASSOC, a->id)
                      : what->has_qos_id ? find_usage(c, USAGE_QOS, what->qos_id)
                                         : NULL;
    void *v;

    if (a && u) {
        advance_usage(c, u);
        take_from_above(c, a, u);
        zero_below(c, a);
    } else if (u) {
        zero_usage(c, u);
    } else if (!what->has_assoc_id && !what->has_qos_id) {
        for (size_t pos = 0; (v = idmap_next(&c->kept[KEPT_USAGE], &pos));)
            zero_usage(c, v);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

double usage_raw(const struct cluster *c, enum usage_of of, uint32_t id, int64_t now_us)
{
    const struct usage *u = find_usage(c, of, id);

    return u ? value_later(rec_of(u)->raw, u->raw_rate, span_of(c, u, now_us)) : 0;
}

double usage_wall_s(const struct cluster *c, enum usage_of of, uint32_t id, int64_t now_us)
{
    const struct usage *u = find_usage(c, of, id);

    return u ? value_later(rec_of(u)->wall_s, u->wall_rate, span_of(c, u, now_us)) : 0;
}

void usage_each_tres(const struct cluster *c, enum usage_of of, uint32_t id, int64_t now_us,
                     void (*fn)(void *ctx, uint32_t tres_id, double seconds), void *ctx)
{
    const struct usage *u = find_usage(c, of, id);

    for (size_t i = 0; u && i < rec_of(u)->n_tres; i++)
        fn(ctx, rec_of(u)->tres[i]->tres_id,
           value_later(rec_of(u)->tres[i]->seconds, u->tres_rate[i], span_of(c, u, now_us)));
}

double usage_tres_s(const struct cluster *c, enum usage_of of, uint32_t id, uint32_t tres_id,
                    int64_t now_us)
{
    const struct usage *u = find_usage(c, of, id);

    for (size_t i = 0; u && i < rec_of(u)->n_tres; i++)
        if (rec_of(u)->tres[i]->tres_id == tres_id)
            return value_later(rec_of(u)->tres[i]->seconds, u->tres_rate[i], span_of(c, u, now_us));
    return 0;
}
