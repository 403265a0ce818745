/* world.c - see world.h
 *
 * Jobs stand in the order of their ids, so that the components of a heterogeneous job are
 * neighbours. */
#include "model/kept.h"
#include "sim/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "feed/limitrecords.h"
#include "feed/preemptfeed.h"
#include "feed/records.h"
#include "feed/feedmem.h"
#include "feed/sharefeed.h"
#include "model/array.h"
#include "model/depend.h"
#include "model/hetjob.h"
#include "sim/limitfeed.h"

#define MINUTE_US (60 * USEC_PER_SEC)

struct build {
    struct world *out;
    const struct cluster *c;
    const struct conf *conf;
    int64_t now_us;
    uint32_t percent;
    struct idmap first; /* job id -> index + 1 of its (first) entry */
    struct feed *last_prime;
    struct err *err;
};

void world_done(struct world *w)
{
    struct feed *f;

    while ((f = w->feeds)) {
        w->feeds = f->next;
        feed_release(f);
    }
    while ((f = w->prime)) {
        w->prime = f->next;
        feed_release(f);
    }
    for (size_t i = 0; i < w->nlists; i++)
        free(w->lists[i]);
    free(w->lists);
    machine_drop_topologies(&w->machine);
    free(w->machine.nodes);
    free(w->machine.parts);
    workload_free(w->w);
    free(w->jobs);
    free(w->running);
    free(w->throttle);
    *w = (struct world){ 0 };
}

static struct feed *keep_feed(struct world *w, struct feed *f)
{
    f->next = w->feeds;
    w->feeds = f;
    return f;
}

static void prime_with(struct build *b, struct feed *f)
{
    f->next = NULL;
    if (b->last_prime)
        b->last_prime->next = f;
    else
        b->out->prime = f;
    b->last_prime = f;
}

/* ---- nodes and partitions -------------------------------------------------------------------- */

static int fill_machine(struct build *b)
{
    struct sim_machine *m = &b->out->machine;
    const struct partition *dflt = cluster_default_partition(b->c);

    m->nnodes = b->c->nnodes;
    m->nodes = calloc(m->nnodes + 1, sizeof(*m->nodes));
    m->parts = calloc(b->c->nparts + 1, sizeof(*m->parts));
    if (!m->nodes || !m->parts)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->nnodes; i++) {
        if (!b->c->nodes[i])
            continue; /* no CPUs: no node */
        m->nodes[i] = keep_feed(b->out, feed_of_node(b->c->nodes[i]->rec, true))->node;
        if (m->nodes[i].schedulable)
            m->cpus += m->nodes[i].cpus;
    }
    for (size_t i = 0; i < b->c->nparts; i++) {
        struct sched_partition part =
            keep_feed(b->out, feed_of_part(b->c, b->conf, b->c->parts[i]))->part;

        m->parts[m->nparts++] = part;
        if (b->c->parts[i] == dflt && i) {
            m->parts[i] = m->parts[0];
            m->parts[0] = part;
        }
    }
    return m->cpus || m->nnodes ? 0 : err_set(b->err, -EINVAL, "the cluster has no node");
}

static void prime_resvs(struct build *b)
{
    const Pst__ReservationRecord *r;

    for (size_t pos = 0; (r = cluster_next_resv(b->c, &pos));)
        prime_with(b, feed_of_resv(b->c, r, b->now_us));
}

static void prime_fed(void *ctx, struct feed *f)
{
    prime_with(ctx, f);
}

/* A store in which nobody has set up anything limits nothing. */
static void prime_limits(struct build *b)
{
    const struct limitfeed l = { .cluster = (struct cluster *)b->c, /* asks may order its tables */
                                 .conf = b->conf,
                                 .tell = prime_fed,
                                 .ctx = b };

    limitfeed_all(&l, b->now_us);
    prime_with(b, feed_of_shares(b->c, conf_str(b->conf, CONF_CLUSTER_NAME), b->now_us));
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static uint32_t limit_of(const struct build *b, const Pst__JobRecord *r)
{
    const struct partition *p;

    if (r->has_time_limit_min && !(r->has_time_unlimited && r->time_unlimited))
        return r->time_limit_min;
    p = r->partition && !strchr(r->partition, ',') ? cluster_partition(b->c, r->partition) : NULL;
    return p && p->rec->has_max_time_min ? p->rec->max_time_min : SCHED_UNLIMITED;
}

static int64_t length_of(const struct build *b, uint32_t limit_min)
{
    if (limit_min == SCHED_UNLIMITED)
        return INT64_MAX;
    return MAX((int64_t)limit_min * MINUTE_US / 100 * b->percent, USEC_PER_SEC);
}

static int add_world_job(struct build *b, const struct sim_job *j, const struct world_job *wj)
{
    struct world *o = b->out;
    size_t n = o->w->n;
    int r = workload_add(o->w, j);

    if (r < 0)
        return r;
    if ((n & (n - 1)) == 0) { /* a power of two: full */
        struct world_job *grown = realloc(o->jobs, (n ? n * 2 : 1) * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        o->jobs = grown;
    }
    o->jobs[n] = *wj;
    if (idmap_get(&b->first, wj->rec->job_id))
        return 0;
    return idmap_put(&b->first, wj->rec->job_id, (void *)(uintptr_t)(n + 1));
}

/* About the job that is being added. */
static void prime_running(struct build *b, struct feed *f)
{
    f->job_id = (uint32_t)b->out->w->n + 1;
    prime_with(b, f);
}

static int add_running(struct build *b, const Pst__JobRecord *r)
{
    struct world *o = b->out;
    bool waits = job_waits_for_turn(r), ended = job_is_ended(r) || (job_is_suspended(r) && !waits);
    int64_t end_us = r->end_us + (waits ? b->now_us - r->suspend_us : 0);
    uint32_t limit = limit_of(b, r);
    struct feed *f = keep_feed(o, feed_new(FEED_JOB)), *held;
    struct sim_job j = {
        .id = r->job_id, .tasks = 1, .cpus_per_task = 1, .submit_us = r->submit_us, .nice = r->nice
    };
    struct sim_running *run;

    if (r->has_end_us && !ended && end_us > r->start_us)
        limit = (uint32_t)MIN((end_us - r->start_us + MINUTE_US - 1) / MINUTE_US,
                              (int64_t)SCHED_UNLIMITED - 1);
    feed_fill_job(f, b->conf, b->c, r);
    j.given = &f->job;
    j.limit_min = limit;
    j.run_us = job_is_ended(r) ? 0 : length_of(b, limit);
    run = realloc(o->running, (o->nrunning + 1) * sizeof(*run));
    if (!run)
        return -ENOMEM;
    o->running = run;
    held = keep_feed(o, feed_of_running(b->c, r));
    o->running[o->nrunning++] = (struct sim_running){ .job = (uint32_t)o->w->n,
                                                      .partition = held->name,
                                                      .alloc = &held->alloc,
                                                      .start_us = r->start_us,
                                                      .exclusive = held->exclusive };
    if (r->licenses_alloc)
        prime_running(b, feed_of_held_licenses(r));
    if (r->has_resv_id)
        prime_running(b, feed_of_running_resv(r));
    if ((r->has_assoc_id || r->has_qos_id) && !job_is_ended(r))
        prime_running(b, feed_of_account(r));
    return add_world_job(b, &j, &(struct world_job){ .rec = r, .state = WORLD_RUNNING });
}

static int add_tasks(struct build *b, const Pst__JobRecord *r, const struct sim_job *j,
                     enum world_state state)
{
    uint32_t first, last, step;
    int e = 0;

    array_bounds(r->array_tasks, &first, &last, &step);
    for (uint64_t t = first; e == 0 && t <= last; t += step)
        if (array_contains(r->array_tasks, (uint32_t)t))
            e = add_world_job(b, j,
                              &(struct world_job){
                                  .rec = r, .task = true, .task_id = (uint32_t)t, .state = state });
    return e;
}

static int add_pending(struct build *b, const Pst__JobRecord *r)
{
    struct feed *f = keep_feed(b->out, feed_new(FEED_JOB));
    uint32_t limit = limit_of(b, r);
    struct sim_job j = { .id = r->job_id,
                         .tasks = 1,
                         .cpus_per_task = 1,
                         .submit_us = b->now_us,
                         .nice = r->nice,
                         .limit_min = limit,
                         .run_us = length_of(b, limit),
                         .array = r->has_array_job_id ? r->array_job_id : 0,
                         .held = job_is_held(r) };
    enum world_state state = j.held ? WORLD_HELD : WORLD_PENDING;

    feed_fill_job(f, b->conf, b->c, r);
    f->job.eligible_us = r->has_begin_us ? r->begin_us : 0;
    j.given = &f->job;
    if (job_is_array(r) && array_count(r->array_tasks))
        return add_tasks(b, r, &j, state);
    if (het_is(r)) { /* neighbours: the leader stands where its id says */
        uint32_t back = r->job_id - r->het_job_id;

        f->job.het_id = back <= b->out->w->n ? (uint32_t)b->out->w->n + 1 - back : 0;
        f->job.het_count = r->het_count;
    }
    return add_world_job(b, &j, &(struct world_job){ .rec = r, .state = state });
}

static int by_id(const void *a, const void *b)
{
    const Pst__JobRecord *x = *(Pst__JobRecord *const *)a, *y = *(Pst__JobRecord *const *)b;

    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static int fill_jobs(struct build *b)
{
    _cleanup_free_ const Pst__JobRecord **recs = calloc(b->c->jobs.count + 1, sizeof(*recs));
    size_t n = 0, pos = 0;
    const struct job *j;
    int r = 0;

    if (!recs)
        return -ENOMEM;
    while ((j = cluster_next_job(b->c, &pos)))
        if (job_is_pending(j->rec) || job_holds_resources(j->rec))
            recs[n++] = j->rec;
    qsort(recs, n, sizeof(*recs), by_id);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = job_is_pending(recs[i]) ? add_pending(b, recs[i]) : add_running(b, recs[i]);
    return r == -E2BIG ? err_set(b->err, r, "more than %u jobs and tasks", WORKLOAD_MAX_JOBS) : r;
}

/* A group whose components are not all here, neighbours and free to go never starts. */
static void check_groups(struct build *b)
{
    struct workload *w = b->out->w;

    for (size_t i = 0; i < w->n; i++) {
        const struct world_job *wj = &b->out->jobs[i];
        bool whole = true;

        if (!het_is(wj->rec) || wj->state == WORLD_RUNNING)
            continue;
        for (uint32_t k = 0; k < wj->rec->het_count; k++) {
            size_t at = i + k - (wj->rec->job_id - wj->rec->het_job_id);

            whole = whole && at < w->n && b->out->jobs[at].rec->job_id == wj->rec->het_job_id + k &&
                    b->out->jobs[at].state != WORLD_RUNNING && !job_is_held(b->out->jobs[at].rec);
        }
        w->jobs[i].held = w->jobs[i].held || !whole;
    }
}

/* ---- who comes after whom -------------------------------------------------------------------- */

struct targets {
    uint32_t *list;
    size_t n, cap;
};

static int add_target(struct targets *t, size_t index)
{
    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        uint32_t *grown = realloc(t->list, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        t->list = grown;
        t->cap = cap;
    }
    t->list[t->n++] = (uint32_t)index;
    return 0;
}

/* The entries of a job, of all an array's jobs, or of one task. */
static int targets_of(const struct build *b, const struct depend_item *d, struct targets *t)
{
    const uint32_t one[] = { d->job_id }, *ids = one;
    size_t n = d->whole_array || d->has_task ? cluster_array_jobs(b->c, d->job_id, &ids) : 1;
    int r = 0;

    if (!n) {
        ids = one;
        n = 1;
    }
    for (size_t k = 0; k < n; k++) {
        size_t at = (size_t)(uintptr_t)idmap_get(&b->first, ids[k]);

        for (; r == 0 && at && at <= b->out->w->n && b->out->jobs[at - 1].rec->job_id == ids[k];
             at++) {
            const struct world_job *wj = &b->out->jobs[at - 1];
            uint32_t task = wj->task                     ? wj->task_id
                            : wj->rec->has_array_task_id ? wj->rec->array_task_id
                                                         : 0;

            if (!d->has_task || task == d->task)
                r = add_target(t, at - 1);
        }
    }
    return r;
}

/* Those of the same user and name before it, as far back as the last that waits so itself. */
static int singleton_targets(const struct build *b, size_t i, struct targets *t)
{
    const Pst__JobRecord *r = b->out->jobs[i].rec;
    int e = 0;

    for (size_t k = i; e == 0 && k-- > 0;) {
        const Pst__JobRecord *o = b->out->jobs[k].rec;

        if (o->uid != r->uid || strcmp(o->name ? o->name : "", r->name ? r->name : "") != 0)
            continue;
        e = add_target(t, k);
        if (o->dependency && strstr(o->dependency, "singleton"))
            break;
    }
    return e;
}

static int fill_after(struct build *b, size_t i)
{
    const Pst__JobRecord *r = b->out->jobs[i].rec;
    struct sim_job *j = &b->out->w->jobs[i];
    struct targets t = { 0 };
    struct depends d;
    uint32_t **lists;
    bool never = false;
    int e = 0;

    if (depends_parse(r->dependency, &d, NULL) < 0)
        return 0; /* checked at submission */
    for (size_t k = 0; e == 0 && k < d.n; k++) {
        struct depend_item item = d.items[k];

        if (item.failed || (item.type == DEPEND_AFTERNOTOK && !d.any))
            never = true; /* all are taken to succeed */
        if (item.type == DEPEND_AFTERCORR && b->out->jobs[i].task) {
            item.has_task = true;
            item.task = b->out->jobs[i].task_id;
        }
        j->after_start = item.type == DEPEND_AFTER && d.n == 1;
        e = item.type == DEPEND_SINGLETON ? singleton_targets(b, i, &t) : targets_of(b, &item, &t);
    }
    j->after_any = d.any;
    depends_done(&d);
    lists = e == 0 && t.n ? realloc(b->out->lists, (b->out->nlists + 1) * sizeof(*lists)) : NULL;
    if (e < 0 || (t.n && !lists)) {
        free(t.list);
        return -ENOMEM;
    }
    if (lists) {
        b->out->lists = lists;
        lists[b->out->nlists++] = t.list;
    } else {
        free(t.list);
        t.list = NULL;
    }
    j->after = t.list;
    j->nafter = (uint32_t)t.n;
    if (never) {
        j->held = true;
        b->out->jobs[i].state = WORLD_BLOCKED;
    }
    return 0;
}

/* Entries of one record wait alike, but for aftercorr. */
static int fill_waits(struct build *b)
{
    struct workload *w = b->out->w;
    int r = 0;

    for (size_t i = 0; r == 0 && i < w->n; i++) {
        const struct world_job *wj = &b->out->jobs[i];
        bool same = i && b->out->jobs[i - 1].rec == wj->rec;

        if (wj->state == WORLD_RUNNING || !wj->rec->dependency)
            continue;
        if (same && !strstr(wj->rec->dependency, "aftercorr")) {
            w->jobs[i].after = w->jobs[i - 1].after;
            w->jobs[i].nafter = w->jobs[i - 1].nafter;
            w->jobs[i].after_any = w->jobs[i - 1].after_any;
            w->jobs[i].after_start = w->jobs[i - 1].after_start;
            w->jobs[i].held = w->jobs[i - 1].held;
            b->out->jobs[i].state = b->out->jobs[i - 1].state;
        } else {
            r = fill_after(b, i);
        }
    }
    return r;
}

static int fill_throttles(struct build *b)
{
    struct world *o = b->out;
    struct idmap groups = { 0 };
    int r = 0;

    for (size_t i = 0; r == 0 && i < o->w->n; i++) {
        const Pst__JobRecord *rec = o->jobs[i].rec;
        uint32_t limit = job_is_array(rec) ? array_throttle(rec->array_tasks) : 0;

        if (!limit || idmap_get(&groups, rec->array_job_id))
            continue;
        o->throttle = realloc(o->throttle, (o->nthrottle + 1) * sizeof(*o->throttle));
        if (!o->throttle) {
            o->nthrottle = 0;
            r = -ENOMEM;
            break;
        }
        o->throttle[o->nthrottle++] = limit;
        r = idmap_put(&groups, rec->array_job_id, (void *)(uintptr_t)o->nthrottle);
    }
    for (size_t i = 0; r == 0 && i < o->w->n; i++)
        if (o->jobs[i].rec->has_array_job_id && o->jobs[i].rec->array_job_id)
            o->w->jobs[i].group =
                (uint32_t)(uintptr_t)idmap_get(&groups, o->jobs[i].rec->array_job_id);
    idmap_done(&groups);
    return r;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int world_make(const struct cluster *c, const struct conf *conf, int64_t now_us,
               uint32_t run_percent, struct world *ret, struct err *err)
{
    struct world out = { .cluster = c, .conf = conf };
    struct build b = {
        .out = &out, .c = c, .conf = conf, .now_us = now_us, .percent = run_percent, .err = err
    };
    const char *licenses = conf_str(conf, CONF_LICENSES);
    int r = workload_new(&out.w);

    prime_with(&b, feed_of_name(FEED_LICENSES, licenses ? licenses : ""));
    prime_resvs(&b);
    prime_limits(&b);
    if (r == 0)
        r = fill_machine(&b);
    if (r == 0)
        r = fill_jobs(&b);
    if (r == 0) {
        check_groups(&b);
        r = fill_waits(&b);
    }
    if (r == 0)
        r = fill_throttles(&b);
    idmap_done(&b.first);
    if (r < 0) {
        world_done(&out);
        return r;
    }
    *ret = out;
    return 0;
}

int world_prime(const struct world *w, struct sched *s, const bool *gone)
{
    int r = 0;

    for (const struct feed *f = w->prime; r == 0 && f; f = f->next)
        if (!gone || f->job_id > w->w->n || !gone[f->job_id])
            r = feed_apply(s, f);
    return r;
}

static int prime_sched(void *ctx, struct sched *s)
{
    return world_prime(ctx, s, NULL);
}

int world_run(const struct world *w, const struct sim_config *config, struct sim_result *ret,
              struct err *err)
{
    struct sim_config c = *config;

    c.running = w->running;
    c.nrunning = w->nrunning;
    c.throttle = w->throttle;
    c.nthrottle = w->nthrottle;
    c.prime = prime_sched;
    c.prime_ctx = (void *)w;
    c.sched.preempt.type = SCHED_PREEMPT_NONE; /* the engine ends no job before its time */
    return sim_run(&w->machine, w->w, &c, ret, err);
}

const char *world_name(const struct world *w, size_t i, char *buf, size_t size)
{
    const struct world_job *j = &w->jobs[i];
    const Pst__JobRecord *r = j->rec;

    if (j->task)
        (void)snprintf(buf, size, "%u_%u", r->array_job_id, j->task_id);
    else if (r->has_array_task_id)
        (void)snprintf(buf, size, "%u_%u", r->array_job_id, r->array_task_id);
    else if (het_is(r))
        (void)snprintf(buf, size, "%u+%u", r->het_job_id, r->job_id - r->het_job_id);
    else
        (void)snprintf(buf, size, "%u", r->job_id);
    return buf;
}
