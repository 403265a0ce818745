/* verifypass.c - see verifypass.h */
#include "sim/verify/verifypass.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "feed/feedmem.h"
#include "sim/verify/verifyfeed.h"

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

    for (size_t i = at; r == 0 && i < v->n && !verifyfeed_is_boot(v->records[i].tx); i++) {
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
    v->refused[v->nrefused++] = (struct refused){ job_id, p->note->number, v->fed };
    return 0;
}

/* As many as the pass knew of; and those of passes whose starts it knew, which are told
 * together. */
static void tell_refused(struct verify *v, uint64_t told)
{
    size_t n = 0;

    for (; n < v->nrefused && (v->refused_told < told || v->refused[n].pass <= v->taken_pass);
         n++) {
        const struct refused *x = &v->refused[n];

        /* told anew since, the job is not what was proposed */
        if ((uintptr_t)idmap_get(&v->known, x->job_id) <= x->fed)
            sched_job_refused(v->sched, x->job_id);
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

static bool is_task_of(const struct verify *v, uint32_t job_id, uint32_t array_id)
{
    const struct job *j = cluster_job(v->cluster, job_id);

    return j && j->rec->has_array_job_id && j->rec->array_job_id == array_id;
}

/* Does the event concern this job, a task of this array, or one of these nodes? */
static bool event_concerns(const struct verify *v, const Pst__Event *ev,
                           const struct sched_decision *d)
{
    switch (ev->body_case) {
    case PST__EVENT__BODY_JOB_PATCH:
        return ev->job_patch->job_id == d->job_id ||
               is_task_of(v, ev->job_patch->job_id, d->job_id);
    case PST__EVENT__BODY_JOB_PURGE:
        return ev->job_purge == d->job_id;
    case PST__EVENT__BODY_NODE_PATCH:
        for (size_t n = 0; n < d->alloc.nnodes; n++)
            if (d->alloc.nodes[n].node_id == ev->node_patch->node_id)
                return true;
        return false;
    default:
        return false;
    }
}

/* Is there such an event in a record that the pass did not know before its starts were taken? */
static bool find_overtaken(const struct verify *v, const struct pass *p,
                           const struct sched_decision *d)
{
    for (size_t i = v->fed; i < v->n && v->records[i].lsn <= p->last_lsn + 64; i++)
        for (size_t k = 0; k < v->records[i].tx->n_events; k++)
            if (event_concerns(v, v->records[i].tx->events[k], d))
                return true;
    return false;
}

static const char *why_text(const struct sched_decisions *d, uint32_t job_id)
{
    static const char *const words[] = { [SCHED_WHY_NONE] = "it does not come so far",
                                         [SCHED_WHY_PRIORITY] = "others come first",
                                         [SCHED_WHY_RESOURCES] = "there is no room",
                                         [SCHED_WHY_PART_DOWN] = "its partition is down",
                                         [SCHED_WHY_LICENSES] = "licences are missing",
                                         [SCHED_WHY_CHANNELS] = "channels are missing",
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
        r = verifyfeed_up_to(v, MIN(shares ? note->shares_lsn : note->usage_lsn, note->lsn), err);
        if (r == 0 && shares)
            verifyfeed_shares(v, note->shares_us);
        else if (r == 0)
            limitfeed_minutes(&v->limits, note->usage_us);
    }
    return r == 0 ? verifyfeed_up_to(v, note->lsn, err) : r;
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
int verifypass_run(struct verify *v, size_t at, const Pst__SchedPass *note, bool proposed,
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
