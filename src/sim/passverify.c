/* passverify.c - see passverify.h
 *
 * The model's observer feeds the scheduler as src/ctld/core/schedfeed.c do; `known` has the jobs
 * that the scheduler knows.  Two things differ: changes come record by record instead of batch
 * by batch, and a pass is asked for when its first start comes, with the records up to the one
 * that it had seen. */
#include "sim/passverify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "feed/limitrecords.h"
#include "feed/params.h"
#include "feed/preemptfeed.h"
#include "feed/records.h"
#include "feed/feedmem.h"
#include "feed/sharefeed.h"
#include "model/hetjob.h"
#include "model/kept.h"
#include "sim/limitfeed.h"

#define PROGRESS_RECORDS 64u

struct record {
    Pst__Transaction *tx;
    uint64_t lsn;
    bool snapshot;
};

struct start { /* as it happened */
    uint32_t proposed, job_id;
    const Pst__JobRecord *rec; /* fields of the start: partition, allocation */
    uint64_t lsn;
    bool matched;
};

struct pass {
    const Pst__SchedPass *note;
    struct start *starts;
    size_t n, cap;
    uint64_t last_lsn;
};

struct verify {
    const struct conf *conf;
    struct sched_params params;
    struct cluster *cluster;
    struct cluster_observer observer;
    struct sched *sched;
    struct record *records;
    size_t n, cap, fed;    /* fed: so many of them the scheduler knows */
    struct idmap known;    /* id of a job that the scheduler knows -> anything */
    struct bitmap *linked; /* nodes that registered since the controller started */
    /* proposals that were not taken, in order; the scheduler learns it when it really did */
    struct refused {
        uint32_t job_id;
        uint64_t pass;
    } * refused;
    size_t nrefused;
    uint64_t refused_told; /* by this controller */
    uint64_t taken_pass;   /* the last one of which the scheduler knows a start */
    uint32_t
        *strangers; /* started otherwise than the replay said: told when their start is applied */
    size_t nstrangers;
    uint64_t last_pass; /* run; of this controller */
    struct limitfeed limits;
    int64_t now_us;                 /* of the record applied last */
    bool assocs_moved, resvs_moved; /* in the record being applied */
    bool in_snapshot;               /* who was connected then is not known: all */
    bool loud;                      /* the scheduler is there to be told */
    int result;
    verify_fn *fn;
    void *ctx;
    struct verify_sums sums;
};

DEFINE_CLEANUP(struct verify *, verify_free)

/* ---- telling the scheduler ------------------------------------------------------------------- */

static void tell_sched(struct verify *v, struct feed *f)
{
    int r = v->loud ? feed_apply(v->sched, f) : 0;

    feed_release(f);
    if (r == -ENOMEM)
        v->result = r;
}

static void tell_id(struct verify *v, enum feed_kind kind, uint32_t job_id)
{
    struct feed *f = feed_new(kind);

    f->job_id = job_id;
    tell_sched(v, f);
}

static bool is_known(const struct verify *v, const struct job *j)
{
    return idmap_get(&v->known, j->rec->job_id) != NULL;
}

static void note_known(struct verify *v, const struct job *j)
{
    if (idmap_put(&v->known, j->rec->job_id, v) < 0)
        v->result = -ENOMEM;
}

static void tell_gone(struct verify *v, const struct job *j)
{
    if (idmap_remove(&v->known, j->rec->job_id))
        tell_id(v, FEED_REMOVE, j->rec->job_id);
}

static void tell_pending(struct verify *v, struct job *j)
{
    int64_t eligible = feed_eligible_at(v->cluster, j->rec);
    struct feed *f;

    if (eligible == INT64_MAX) {
        tell_gone(v, j);
        return;
    }
    f = feed_new(FEED_JOB);
    feed_fill_job(f, v->conf, v->cluster, j->rec);
    f->job.eligible_us = eligible;
    note_known(v, j);
    tell_sched(v, f);
}

static void tell_started(struct verify *v, struct job *j)
{
    note_known(v, j);
    tell_sched(v, feed_of_running(v->cluster, j->rec));
    if (j->rec->licenses_alloc)
        tell_sched(v, feed_of_held_licenses(j->rec));
    if (j->rec->has_assoc_id || j->rec->has_qos_id)
        tell_sched(v, feed_of_account(j->rec));
    if (j->rec->has_resv_id)
        tell_sched(v, feed_of_running_resv(j->rec));
    if (preempt_wanted(v->conf))
        tell_sched(v, feed_of_rank(j->rec));
}

static void tell_others(struct verify *v, const struct job *j)
{
    bool eligible = feed_eligible_at(v->cluster, j->rec) != INT64_MAX;

    for (uint32_t k = 0; k < j->rec->het_count; k++) {
        struct job *other = het_component(v->cluster, j->rec, k);

        if (other && other != j && job_is_pending(other->rec) && is_known(v, other) != eligible)
            tell_pending(v, other);
    }
}

static void tell_job(struct verify *v, struct job *j)
{
    if (job_is_pending(j->rec)) {
        tell_pending(v, j);
        if (het_is(j->rec))
            tell_others(v, j);
    } else if (!job_holds_resources(j->rec)) {
        tell_gone(v, j);
    } else if (!is_known(v, j)) {
        tell_started(v, j);
    }
    if (is_known(v, j) &&
        job_is_ended(j->rec)) /* its nodes are not free yet, what it counted against is */
        tell_id(v, FEED_UNCHARGE, j->rec->job_id);
}

/* Is it one, and it begins now? */
static bool take_stranger(struct verify *v, uint32_t job_id)
{
    for (size_t i = 0; i < v->nstrangers; i++)
        if (v->strangers[i] == job_id) {
            v->strangers[i] = v->strangers[--v->nstrangers];
            return true;
        }
    return false;
}

static void on_job(void *ctx, struct job *j, Pst__EventKind kind)
{
    struct verify *v = ctx;
    struct feed *f;
    struct job *array;

    if (!v->loud)
        return;
    if (kind == PST__EVENT_KIND__EV_JOB_START && take_stranger(v, j->rec->job_id))
        tell_gone(v, j); /* the replay has it elsewhere, or nowhere */
    tell_job(v, j);
    if ((kind == PST__EVENT_KIND__EV_JOB_SUSPEND || kind == PST__EVENT_KIND__EV_JOB_RESUME) &&
        is_known(v, j))
        tell_id(v, kind == PST__EVENT_KIND__EV_JOB_SUSPEND ? FEED_SUSPEND : FEED_RESUME,
                j->rec->job_id);
    if (is_known(v, j) && !job_is_pending(j->rec) &&
        (kind == PST__EVENT_KIND__EV_JOB_SUSPEND || kind == PST__EVENT_KIND__EV_JOB_RESUME ||
         kind == PST__EVENT_KIND__EV_JOB_TURN || kind == PST__EVENT_KIND__EV_JOB_TURN_OVER ||
         kind == PST__EVENT_KIND__EV_JOB_UPDATE)) {
        f = feed_new(FEED_END_TIME);
        f->job_id = j->rec->job_id;
        f->end_us = j->rec->has_end_us ? j->rec->end_us : INT64_MAX;
        tell_sched(v, f);
    }
    array = j->rec->has_array_job_id ? cluster_job(v->cluster, j->rec->array_job_id) : NULL;
    if (array && array != j && job_is_array(array->rec) && job_is_pending(array->rec))
        tell_job(v, array); /* its throttle may have room, or be reached */
}

static void on_job_gone(void *ctx, struct job *j)
{
    tell_gone(ctx, j);
}

static void on_node(void *ctx, struct node *n, Pst__EventKind kind)
{
    struct verify *v = ctx;
    uint32_t id = n->rec->node_id;

    if (kind == PST__EVENT_KIND__EV_UNSPECIFIED && v->loud)
        return; /* only what jobs hold on it changed */
    if (id >= v->linked->nbits && bitmap_resize(&v->linked, (id + 64) * 2) < 0) {
        v->result = -ENOMEM;
        return;
    }
    if (kind == PST__EVENT_KIND__EV_NODE_REGISTER || v->in_snapshot)
        bitmap_set(v->linked, id);
    if (v->loud)
        tell_sched(v, feed_of_node(n->rec, bitmap_test(v->linked, id)));
}

static void on_node_gone(void *ctx, struct node *n)
{
    struct feed *f = feed_new(FEED_NODE_REMOVE);

    f->node_id = n->rec->node_id;
    tell_sched(ctx, f);
}

static void on_part(void *ctx, struct partition *p, Pst__EventKind kind)
{
    const struct verify *v = ctx;

    (void)kind;
    tell_sched(ctx, feed_of_part(v->cluster, v->conf, p));
}

static void on_part_gone(void *ctx, struct partition *p)
{
    tell_sched(ctx, feed_of_name(FEED_PART_REMOVE, p->rec->name));
}

static void tell_of_limits(void *ctx, struct feed *f)
{
    tell_sched(ctx, f);
}

/* They may be tried in other reservations now. */
static void tell_waiting(struct verify *v)
{
    struct job *j;

    for (size_t pos = 0; (j = idmap_next(&v->cluster->jobs, &pos));)
        if (job_is_pending(j->rec))
            tell_job(v, j);
}

static void on_kept(void *ctx, struct kept *k)
{
    struct verify *v = ctx;

    if (k->kind == KEPT_ACCT &&
        limitfeed_changed(&v->limits, (const Pst__AcctChange *)k->rec, v->now_us))
        v->assocs_moved = true;
    if (k->kind != KEPT_RESV)
        return;
    tell_sched(v, feed_of_resv(v->cluster, (const Pst__ReservationRecord *)k->rec, v->now_us));
    v->resvs_moved = true;
}

static void on_kept_gone(void *ctx, struct kept *k)
{
    struct verify *v = ctx;
    struct feed *f;

    if (k->kind == KEPT_ACCT)
        limitfeed_gone(&v->limits, (const Pst__AcctChange *)k->rec);
    if (k->kind != KEPT_RESV)
        return;
    f = feed_new(FEED_RESV_GONE);
    f->node_id = k->id;
    tell_sched(v, f);
    v->resvs_moved = true;
}

static void tell_shares(struct verify *v, int64_t now_us)
{
    tell_sched(v, feed_of_shares(v->cluster, conf_str(v->conf, CONF_CLUSTER_NAME), now_us));
}

/* A controller begins: its scheduler knows nothing. */
static int begin_verify(struct verify *v)
{
    const char *licenses = conf_str(v->conf, CONF_LICENSES);
    const Pst__ReservationRecord *resv;
    size_t pos = 0;
    struct job *j;
    int r;

    v->sched = sched_free(v->sched);
    r = sched_new(&v->params, &v->sched);
    if (r < 0)
        return r;
    v->loud = true;
    tell_sched(v, feed_of_name(FEED_LICENSES, licenses ? licenses : ""));
    for (uint32_t i = 0; i < v->cluster->nnodes; i++)
        if (v->cluster->nodes[i])
            tell_sched(v, feed_of_node(v->cluster->nodes[i]->rec,
                                       i < v->linked->nbits && bitmap_test(v->linked, i)));
    for (size_t i = 0; i < v->cluster->nparts; i++)
        tell_sched(v, feed_of_part(v->cluster, v->conf, v->cluster->parts[i]));
    limitfeed_all(&v->limits, v->now_us);
    tell_shares(v, v->now_us);
    while ((resv = cluster_next_resv(v->cluster, &pos)))
        tell_sched(v, feed_of_resv(v->cluster, resv, v->now_us));
    idmap_done(&v->known);
    for (pos = 0; (j = idmap_next(&v->cluster->jobs, &pos));)
        tell_job(v, j);
    return v->result;
}

/* ---- records --------------------------------------------------------------------------------- */

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
    v->observer = (struct cluster_observer){ .job = on_job,
                                             .job_gone = on_job_gone,
                                             .node = on_node,
                                             .node_gone = on_node_gone,
                                             .part = on_part,
                                             .part_gone = on_part_gone,
                                             .kept = on_kept,
                                             .kept_gone = on_kept_gone,
                                             .ctx = v };
    v->limits =
        (struct limitfeed){ .cluster = v->cluster, .conf = conf, .tell = tell_of_limits, .ctx = v };
    v->cluster->observer = &v->observer;
    *ret = TAKE_PTR(v);
    return 0;
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

static bool is_boot(const Pst__Transaction *tx)
{
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_CLUSTER_SET &&
            tx->events[i]->cluster_set->has_boots)
            return true;
    return false;
}

static int apply_next(struct verify *v, struct err *err)
{
    const struct record *r = &v->records[v->fed];
    bool boot = is_boot(r->tx);
    int e;

    if (!r->snapshot && boot) {
        v->loud = false;
        v->last_pass = v->refused_told = v->taken_pass = 0;
        v->nrefused = 0;
        bitmap_zero(v->linked);
    }
    v->in_snapshot = r->snapshot;
    v->assocs_moved = v->resvs_moved = false;
    v->now_us = r->tx->has_time_us ? r->tx->time_us : v->now_us;
    e = cluster_apply(v->cluster, r->tx, err);
    if (e < 0) {
        err_prefix(err, "lsn %" PRIu64, r->lsn);
        return e;
    }
    v->fed++;
    v->sums.records++;
    if (r->tx->has_sched_pass)
        v->taken_pass = r->tx->sched_pass;
    if (v->assocs_moved && v->loud)
        limitfeed_assocs(&v->limits, v->now_us);
    if (v->resvs_moved && v->loud)
        tell_waiting(v);
    if (boot && !r->snapshot) {
        v->sums.boots++;
        return begin_verify(v);
    }
    return v->result;
}

/* ---- one pass -------------------------------------------------------------------------------- */

static void say_line(struct verify *v, const struct pass *p, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void say_line(struct verify *v, const struct pass *p, const char *fmt, ...)
{
    char when[40], text[1024];
    va_list ap;
    int n;

    time_fmt_stamp(p->note->now_us, "-", p->note->now_us, when, sizeof(when));
    n = snprintf(text, sizeof(text), "%s %" PRIu64 " (%s, knew lsn %" PRIu64 "): ",
                 p->note->pieces ? "backfill" : "pass", p->note->number, when, p->note->lsn);
    va_start(ap, fmt);
    (void)vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
    va_end(ap);
    v->sums.different++;
    v->fn(v->ctx, text);
}

static int add_start(struct pass *p, const struct start *s)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        struct start *grown = realloc(p->starts, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        p->starts = grown;
        p->cap = cap;
    }
    p->starts[p->n++] = *s;
    p->last_lsn = s->lsn;
    return 0;
}

/* What of a transaction are starts: of the job itself, or of a task that leaves its array's
 * record. */
static int starts_of(const struct record *rec, struct pass *p)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < rec->tx->n_events; i++) {
        const Pst__Event *ev = rec->tx->events[i];
        struct start s = { .lsn = rec->lsn };

        if (ev->kind != PST__EVENT_KIND__EV_JOB_START)
            continue;
        if (ev->body_case == PST__EVENT__BODY_JOB_PATCH) {
            s.proposed = s.job_id = ev->job_patch->job_id;
            s.rec = ev->job_patch->set;
        } else if (ev->body_case == PST__EVENT__BODY_JOB_PUT) {
            s.job_id = ev->job_put->job_id;
            s.proposed = ev->job_put->has_array_job_id ? ev->job_put->array_job_id : s.job_id;
            s.rec = ev->job_put;
        }
        if (s.rec && s.rec->alloc)
            r = add_start(p, &s);
    }
    return r;
}

/* The starts of a pass, from record `at` on. */
static int gather_starts(const struct verify *v, size_t at, struct pass *p)
{
    int r = 0;

    for (size_t i = at; r == 0 && i < v->n && !is_boot(v->records[i].tx); i++) {
        const Pst__Transaction *tx = v->records[i].tx;

        if (tx->has_sched_pass && tx->sched_pass != p->note->number)
            break; /* the core takes one pass after the other */
        if (tx->has_sched_pass)
            r = starts_of(&v->records[i], p);
    }
    return r;
}

static bool same_words(const uint64_t *a, uint32_t na, const uint64_t *b, uint32_t nb)
{
    for (uint32_t i = 0; i < MAX(na, nb); i++)
        if ((i < na ? a[i] : 0) != (i < nb ? b[i] : 0))
            return false;
    return true;
}

static bool same_gres(const struct sched_alloc_node *a, const struct sched_alloc_node *b)
{
    if (a->ngres != b->ngres)
        return false;
    for (size_t i = 0; i < a->ngres; i++) {
        const struct sched_alloc_gres *x = &a->gres[i], *y = &b->gres[i];

        if (strcmp(x->name, y->name) != 0 ||
            strcmp(x->type ? x->type : "", y->type ? y->type : "") != 0 || x->count != y->count ||
            !same_words(x->devices, x->devices ? x->ndevice_words : 0, y->devices,
                        y->devices ? y->ndevice_words : 0))
            return false;
    }
    return true;
}

/* NULL = equal, else what is not. */
static const char *find_difference(const struct sched_alloc *a, const struct sched_alloc *b)
{
    const char *what = NULL;

    if (a->nnodes != b->nnodes)
        return "other nodes";
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct sched_alloc_node *x = &a->nodes[i], *y = &b->nodes[i];

        if (x->node_id != y->node_id)
            return "other nodes";
        if (!what && !same_words(x->cpu_bits, x->ncpu_words, y->cpu_bits, y->ncpu_words))
            what = "other CPUs";
        if (!what && x->mem_mib != y->mem_mib)
            what = "other memory";
        if (!what && x->tasks != y->tasks)
            what = "other tasks";
        if (!what && !same_gres(x, y))
            what = "other devices";
    }
    return what;
}

static char *nodes_text(const struct verify *v, const struct sched_alloc *a)
{
    const char **names = calloc(a->nnodes + 1, sizeof(*names));
    char *text = NULL;

    for (size_t i = 0; names && i < a->nnodes; i++) {
        const struct node *n = cluster_node(v->cluster, a->nodes[i].node_id);

        names[i] = n ? n->rec->name : "?";
    }
    if (names && a->nnodes && hostlist_fold_names(names, a->nnodes, &text) < 0)
        text = NULL;
    free(names);
    return text;
}

static int mark_stranger(struct verify *v, uint32_t job_id)
{
    uint32_t *grown = realloc(v->strangers, (v->nstrangers + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    v->strangers = grown;
    v->strangers[v->nstrangers++] = job_id;
    return 0;
}

/* The core told the scheduler some passes later; it does so in the order of the proposals. */
static int refused_later(struct verify *v, const struct pass *p, uint32_t job_id)
{
    struct refused *grown = realloc(v->refused, (v->nrefused + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    v->refused = grown;
    v->refused[v->nrefused++] = (struct refused){ job_id, p->note->number };
    return 0;
}

/* As many as the pass knew of; and those of passes whose starts it knew, which are told
 * together. */
static void tell_refused(struct verify *v, uint64_t told)
{
    size_t n = 0;

    for (; n < v->nrefused && (v->refused_told < told || v->refused[n].pass <= v->taken_pass);
         n++) {
        sched_job_refused(v->sched, v->refused[n].job_id);
        v->refused_told++;
    }
    if (!n)
        return;
    v->nrefused -= n;
    memmove(v->refused, v->refused + n, v->nrefused * sizeof(*v->refused));
}

static int compare_start(struct verify *v, const struct pass *p, const struct start *s,
                         const struct sched_decision *d)
{
    Pst__JobRecord shell = *s->rec;
    struct feed *f;
    const char *what;
    int r = 0;

    shell.job_id = s->job_id;
    f = feed_of_running(v->cluster, &shell);
    what = strcmp(s->rec->partition ? s->rec->partition : "", d->partition) != 0
               ? "another partition"
               : find_difference(&f->alloc, &d->alloc);
    if (what) {
        _cleanup_free_ char *real = nodes_text(v, &f->alloc), *again = nodes_text(v, &d->alloc);

        say_line(v, p, "job %u: %s: really %s in %s, in the replay %s in %s", s->job_id, what,
                 real ? real : "-", s->rec->partition ? s->rec->partition : "-",
                 again ? again : "-", d->partition);
        sched_job_refused(v->sched, d->job_id);
        r = mark_stranger(v, s->job_id);
    } else {
        v->sums.equal++;
    }
    feed_release(f);
    return r;
}

/* Does a record that the pass did not know, before its starts were taken, concern this job or one
 * of these nodes? */
static bool find_overtaken(const struct verify *v, const struct pass *p,
                           const struct sched_decision *d)
{
    for (size_t i = v->fed; i < v->n && v->records[i].lsn <= p->last_lsn + 64; i++)
        for (size_t k = 0; k < v->records[i].tx->n_events; k++) {
            const Pst__Event *ev = v->records[i].tx->events[k];

            if ((ev->body_case == PST__EVENT__BODY_JOB_PATCH &&
                 ev->job_patch->job_id == d->job_id) ||
                (ev->body_case == PST__EVENT__BODY_JOB_PURGE && ev->job_purge == d->job_id))
                return true;
            if (ev->body_case == PST__EVENT__BODY_NODE_PATCH)
                for (size_t n = 0; n < d->alloc.nnodes; n++)
                    if (d->alloc.nodes[n].node_id == ev->node_patch->node_id)
                        return true;
        }
    return false;
}

static const char *why_text(const struct sched_decisions *d, uint32_t job_id)
{
    static const char *const words[] = { [SCHED_WHY_NONE] = "it does not come so far",
                                         [SCHED_WHY_PRIORITY] = "others come first",
                                         [SCHED_WHY_RESOURCES] = "there is no room",
                                         [SCHED_WHY_PART_DOWN] = "its partition is down",
                                         [SCHED_WHY_LICENSES] = "licences are missing",
                                         [SCHED_WHY_BEGIN_TIME] = "its time has not come" };

    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].job_id == job_id && d->items[i].kind == SCHED_EXPECT)
            return d->items[i].why < ARRAY_SIZE(words) && words[d->items[i].why]
                       ? words[d->items[i].why]
                       : "its nodes are not available";
    return "it waits for something, or the scheduler does not know it";
}

/* Decisions and starts side by side, in their order. */
static int compare_all(struct verify *v, struct pass *p, const struct sched_decisions *d)
{
    size_t next = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];
        size_t k = next;

        if (x->kind != SCHED_START)
            continue;
        while (k < p->n && p->starts[k].proposed != x->job_id)
            k++;
        if (k < p->n && !p->starts[k].matched) {
            if (k != next)
                say_line(v, p, "job %u: another order: it came after job %u", p->starts[k].job_id,
                         p->starts[next].job_id);
            p->starts[k].matched = true;
            r = compare_start(v, p, &p->starts[k], x);
            while (next < p->n && p->starts[next].matched)
                next++;
            continue;
        }
        if (!find_overtaken(v, p, x)) {
            sched_job_refused(v->sched, x->job_id);
            say_line(v, p, "job %u: starts in the replay only", x->job_id);
            continue;
        }
        v->sums.superseded++;
        if (p->note->has_refused)
            r = refused_later(v, p, x->job_id);
        else /* an older release did not say when */
            sched_job_refused(v->sched, x->job_id);
    }
    for (size_t k = 0; r == 0 && k < p->n; k++)
        if (!p->starts[k].matched) {
            say_line(v, p, "job %u: started really, not in the replay: %s", p->starts[k].job_id,
                     why_text(d, p->starts[k].proposed));
            r = mark_stranger(v, p->starts[k].job_id);
        }
    return r;
}

static int feed_up_to(struct verify *v, uint64_t lsn, struct err *err)
{
    int r = 0;

    while (r == 0 && v->fed < v->n && v->records[v->fed].lsn <= lsn)
        r = apply_next(v, err);
    if (r == 0 && !v->sched) /* the log begins behind a snapshot */
        r = begin_verify(v);
    return r;
}

/* What changes with time alone, told when and as the controller did; then all that the pass
 * knew. */
static int feed_for(struct verify *v, const Pst__SchedPass *note, struct err *err)
{
    bool shares_first = note->shares_lsn <= note->usage_lsn;
    int r = 0;

    for (unsigned i = 0; r == 0 && i < 2; i++) {
        bool shares = shares_first == (i == 0);

        if (shares ? !note->has_shares_us : !note->has_usage_us)
            continue;
        r = feed_up_to(v, MIN(shares ? note->shares_lsn : note->usage_lsn, note->lsn), err);
        if (r == 0 && shares)
            tell_shares(v, note->shares_us);
        else if (r == 0)
            limitfeed_minutes(&v->limits, note->usage_us);
    }
    return r == 0 ? feed_up_to(v, note->lsn, err) : r;
}

static int ask_sched(struct verify *v, const Pst__SchedPass *note, struct sched_decisions *d)
{
    int64_t wake_us;
    bool more = true;
    int r = 0;

    if (!note->pieces)
        return sched_pass(v->sched, note->now_us, d, &wake_us);
    for (uint32_t i = 0; r >= 0 && more && i < note->pieces; i++)
        r = sched_backfill_some(v->sched, note->now_us, PASS_PIECE, d, &more);
    return r;
}

/* One of the passes that record `at` tells of. */
static int run_pass(struct verify *v, size_t at, const Pst__SchedPass *note, bool proposed,
                    struct err *err)
{
    struct sched_decisions d = { 0 };
    struct pass p = { .note = note, .last_lsn = v->records[at].lsn };
    int r = proposed ? gather_starts(v, at, &p) : 0;

    if (r == 0)
        r = feed_for(v, note, err);
    if (r == 0 && note->has_refused)
        tell_refused(v, note->refused);
    if (r == 0)
        r = ask_sched(v, note, &d);
    if (r >= 0) {
        v->sums.passes++;
        v->sums.starts += p.n;
        if (v->last_pass || v->sums.boots) /* else the log begins later */
            v->sums.forgotten += note->number - MIN(v->last_pass + 1, note->number);
        v->last_pass = note->number;
        r = compare_all(v, &p, &d);
    }
    sched_decisions_done(&d);
    free(p.starts);
    return r < 0 ? r : 0;
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
            r = run_pass(v, at, tx->passes[i], i + 1 == tx->n_passes, err);
    }
    while (r == 0 && v->fed < v->n)
        r = apply_next(v, err);
    if (r == 0 && progress)
        progress(ctx, v->n, v->n);
    *ret = v->sums;
    return r;
}
