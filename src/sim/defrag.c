/* defrag.c - see defrag.h
 *
 * A probe makes a scheduler with what still runs and asks when the job would start.  That more jobs
 * gone never make it start later is taken for granted: it lets a prefix be found by halving, and
 * what is not needed in it by trying halves. */
#include "sim/defrag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/timefmt.h"
#include "model/job.h"
#include "sim/report.h"
#include "sim/simfeed.h"

struct candidate {
    uint32_t running; /* in world.running */
    uint32_t nodes;
    int64_t ran_us;
};

struct search {
    const struct world *w;
    struct sim_config config;
    int64_t now_us;
    struct sched_job request;
    const char *part;
    struct sched_gres_req gres;
    bool *gone; /* by place in world.running */
    struct candidate *all, *some;
    size_t nall, nsome;
    unsigned probes;
    struct defrag *out;
};

/* ---- asking ---------------------------------------------------------------------------------- */

/* What is said of jobs that are gone is not said. */
static int prime_rest(const struct search *s, struct sched *sched)
{
    bool *gone = calloc(s->w->w->n + 2, sizeof(*gone)); /* by the scheduler's number */
    int r = gone ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < s->w->nrunning; i++)
        gone[s->w->running[i].job + 1] = s->gone[i];
    if (r == 0)
        r = world_prime(s->w, sched, gone);
    free(gone);
    return r;
}

/* When would it start?  decision may be NULL.  1: now, 0: not now. */
static int probe_start(struct search *s, struct sched_decision *ret_decision)
{
    struct sched_decision d = { 0 };
    struct sched *sched = NULL;
    int r = sched_new(&s->config.sched, &sched);

    s->probes++;
    if (r == 0)
        r = simfeed_machine(sched, &s->w->machine);
    for (size_t i = 0; r == 0 && i < s->w->nrunning; i++)
        if (!s->gone[i])
            r = simfeed_running(sched, s->w->w, &s->w->running[i]);
    if (r == 0)
        r = prime_rest(s, sched);
    if (r == 0)
        r = sched_when(sched, &s->request, s->now_us, &d);
    if (r == 0)
        r = d.expected_us && d.expected_us <= s->now_us;
    if (r >= 0 && ret_decision)
        *ret_decision = d;
    else
        sched_decision_done(&d);
    sched_free(sched);
    return r;
}

/* ---- one choice ------------------------------------------------------------------------------ */

static void set_gone(struct search *s, size_t from, size_t to, bool gone)
{
    for (size_t i = from; i < to; i++)
        s->gone[s->some[i].running] = gone;
}

/* The shortest prefix of s->some without which the job starts; 0: not even without all. */
static int find_prefix(struct search *s, size_t *ret_n)
{
    size_t low = 0, high = s->nsome; /* low: not enough; high: enough */
    int r;

    set_gone(s, 0, s->nsome, true);
    r = probe_start(s, NULL);
    if (r <= 0) {
        set_gone(s, 0, s->nsome, false);
        *ret_n = 0;
        return r;
    }
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        set_gone(s, 0, mid, true);
        set_gone(s, mid, s->nsome, false);
        r = probe_start(s, NULL);
        if (r < 0)
            return r;
        if (r)
            high = mid;
        else
            low = mid;
    }
    set_gone(s, 0, high, true);
    set_gone(s, high, s->nsome, false);
    *ret_n = high;
    return 0;
}

/* Let go on what need not go: the expensive half first. */
static int spare_jobs(struct search *s, size_t from, size_t to)
{
    size_t mid = from + (to - from) / 2;
    int r;

    if (from == to || s->probes >= DEFRAG_PROBES_MAX)
        return 0; /* a choice with a job too many still makes room */
    set_gone(s, from, to, false);
    r = probe_start(s, NULL);
    if (r != 0)
        return MIN(r, 0);
    set_gone(s, from, to, true);
    if (to - from == 1)
        return 0;
    r = spare_jobs(s, mid, to);
    return r < 0 ? r : spare_jobs(s, from, mid);
}

static char *nodes_text(const struct search *s, const struct sched_decision *d)
{
    const char **names = calloc(d->nexpected + 1, sizeof(*names));
    char *text = NULL;
    size_t n = 0;

    for (size_t i = 0; names && i < d->nexpected; i++)
        if (d->expected_nodes[i] < s->w->machine.nnodes)
            names[n++] = s->w->machine.nodes[d->expected_nodes[i]].name;
    if (n && hostlist_fold_names(names, n, &text) < 0)
        text = NULL;
    free(names);
    return text;
}

static bool same_choice(const struct defrag_choice *a, const struct defrag_choice *b)
{
    return a->n == b->n && memcmp(a->jobs, b->jobs, a->n * sizeof(*a->jobs)) == 0;
}

static void choice_done(struct defrag_choice *c)
{
    free(c->jobs);
    free(c->nodes);
    *c = (struct defrag_choice){ 0 };
}

/* Into its place among the choices; the dearest goes when there are too many.  c is taken. */
static void keep_choice(struct defrag *d, struct defrag_choice *c)
{
    size_t at = 0;

    for (size_t i = 0; i < d->nchoices; i++) {
        if (same_choice(&d->choices[i], c)) {
            choice_done(c);
            return;
        }
        at += d->choices[i].lost_node_s <= c->lost_node_s;
    }
    if (at == DEFRAG_CHOICES_MAX) {
        choice_done(c);
        return;
    }
    if (d->nchoices == DEFRAG_CHOICES_MAX)
        choice_done(&d->choices[--d->nchoices]);
    memmove(&d->choices[at + 1], &d->choices[at], (d->nchoices - at) * sizeof(*c));
    d->choices[at] = *c;
    d->nchoices++;
}

static int note_choice(struct search *s)
{
    struct defrag_choice c = { .jobs = calloc(s->w->nrunning + 1, sizeof(*c.jobs)) };
    struct sched_decision d = { 0 };
    int r = c.jobs ? probe_start(s, &d) : -ENOMEM;

    for (size_t i = 0; r >= 0 && i < s->w->nrunning; i++) {
        const struct sim_running *x = &s->w->running[i];

        if (!s->gone[i])
            continue;
        c.jobs[c.n++] = x->job;
        c.lost_node_s += (double)x->alloc->nnodes * (double)(s->now_us - x->start_us) * 1e-6;
    }
    if (r > 0) {
        c.nodes = nodes_text(s, &d);
        keep_choice(s->out, &c);
    } else {
        choice_done(&c);
    }
    sched_decision_done(&d);
    return MIN(r, 0);
}

static int try_order(struct search *s, int (*compare)(const void *, const void *))
{
    size_t n = 0;
    int r;

    if (!s->nsome || s->probes >= DEFRAG_PROBES_MAX)
        return 0;
    qsort(s->some, s->nsome, sizeof(*s->some), compare);
    r = find_prefix(s, &n);
    if (r == 0 && n)
        r = spare_jobs(s, 0, n);
    if (r == 0 && n)
        r = note_choice(s);
    set_gone(s, 0, s->nsome, false);
    return r;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int compare_places(const struct candidate *x, const struct candidate *y)
{
    return (x->running > y->running) - (x->running < y->running);
}

static int cheapest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    double cx = (double)x->nodes * (double)x->ran_us, cy = (double)y->nodes * (double)y->ran_us;

    return cx < cy ? -1 : cx > cy ? 1 : compare_places(x, y);
}

static int youngest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->ran_us < y->ran_us ? -1 : x->ran_us > y->ran_us ? 1 : compare_places(x, y);
}

static void take_all(struct search *s)
{
    memcpy(s->some, s->all, s->nall * sizeof(*s->all));
    s->nsome = s->nall;
}

/* Candidates that hold a node of the blocks first .. last - 1. */
static void take_blocks(struct search *s, uint32_t first, uint32_t last)
{
    const struct topo *t = machine_topology(&s->w->machine);

    s->nsome = 0;
    for (size_t i = 0; i < s->nall; i++) {
        const struct sched_alloc *a = s->w->running[s->all[i].running].alloc;
        bool within = false;

        for (size_t k = 0; !within && k < a->nnodes; k++) {
            uint32_t unit = a->nodes[k].node_id < topo_node_limit(t)
                                ? topo_unit_of(t, a->nodes[k].node_id)
                                : TOPO_NONE;

            within = unit >= first && unit < last;
        }
        if (within)
            s->some[s->nsome++] = s->all[i];
    }
}

/* Aggregates in which the job, or its segment, could lie. */
static int try_blocks(struct search *s)
{
    const struct topo_spec *spec =
        machine_topology(&s->w->machine) ? topo_get_spec(machine_topology(&s->w->machine)) : NULL;
    uint32_t need = s->request.segment_size && s->request.segment_size < s->request.min_nodes
                        ? s->request.segment_size
                        : s->request.min_nodes;
    uint32_t size = 0, each;
    int r = 0;

    if (!spec || spec->kind != TOPO_BLOCK)
        return 0;
    for (size_t i = 0; i < spec->nblock_sizes && (!size || size < need); i++)
        size = spec->block_sizes[i];
    each = size < need ? (uint32_t)spec->nunits : size / spec->block_sizes[0];
    for (uint32_t first = 0; r == 0 && first < spec->nunits; first += each) {
        take_blocks(s, first, first + each);
        r = try_order(s, cheapest_first);
    }
    return r;
}

static int fill_candidates(struct search *s)
{
    const struct world *w = s->w;

    s->gone = calloc(w->nrunning + 1, sizeof(*s->gone));
    s->all = calloc(w->nrunning + 1, sizeof(*s->all));
    s->some = calloc(w->nrunning + 1, sizeof(*s->some));
    if (!s->gone || !s->all || !s->some)
        return -ENOMEM;
    for (uint32_t i = 0; i < w->nrunning; i++) {
        const struct sim_running *x = &w->running[i];
        const Pst__JobRecord *rec = w->jobs[x->job].rec;

        if (job_can_requeue(rec) && !job_is_ended(rec))
            s->all[s->nall++] =
                (struct candidate){ i, (uint32_t)x->alloc->nnodes, s->now_us - x->start_us };
    }
    s->out->candidates = s->nall;
    return 0;
}

static int find_choices(struct search *s)
{
    struct sched_decision d = { 0 };
    int r = fill_candidates(s);

    if (r == 0)
        r = probe_start(s, &d);
    s->out->expected_us = d.expected_us;
    s->out->starts_now = r > 0;
    sched_decision_done(&d);
    if (r != 0)
        return MIN(r, 0);
    take_all(s);
    r = try_order(s, cheapest_first);
    if (r == 0 && s->out->nchoices) /* else nothing helps */
        r = try_blocks(s);
    take_all(s);
    return r == 0 && s->out->nchoices ? try_order(s, youngest_first) : r;
}

void defrag_done(struct defrag *d)
{
    for (size_t i = 0; i < d->nchoices; i++)
        choice_done(&d->choices[i]);
    *d = (struct defrag){ 0 };
}

int defrag_find(const struct world *w, const struct sim_config *config, int64_t now_us, size_t job,
                struct defrag *ret, struct err *err)
{
    struct defrag out = { .job = job, .now_us = now_us };
    struct search s = { .w = w, .config = *config, .now_us = now_us, .out = &out };
    char name[32];
    int r;

    if (w->jobs[job].state == WORLD_RUNNING)
        return err_set(err, -EINVAL, "job %s runs already", world_name(w, job, name, sizeof(name)));
    if (w->jobs[job].state != WORLD_PENDING)
        return err_set(err, -EINVAL, "job %s waits for something else than room",
                       world_name(w, job, name, sizeof(name)));
    s.config.sched.preempt.type = SCHED_PREEMPT_NONE;
    sim_request(&w->machine, w->w, job, &s.request, &s.part, &s.gres);
    r = find_choices(&s);
    free(s.gone);
    free(s.all);
    free(s.some);
    if (r < 0) {
        defrag_done(&out);
        return r == -ENOMEM ? err_nomem(err) : err_set(err, r, "%s", strerror(-r));
    }
    *ret = out;
    return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

void defrag_text(const struct defrag *d, const struct world *w, struct strbuf *out)
{
    char name[32], time[32];

    strbuf_addf(out, "job %s ", world_name(w, d->job, name, sizeof(name)));
    if (d->starts_now) {
        strbuf_add(out, "has room now: nothing needs to be requeued\n");
        return;
    }
    if (d->expected_us) {
        report_time((double)(d->expected_us - d->now_us) * 1e-6, time, sizeof(time));
        strbuf_addf(out, "has room in %s, by the time limits of what runs\n", time);
    } else {
        strbuf_add(
            out,
            "has no room at any time that is known: time limits of what runs do not make it\n");
    }
    if (!d->nchoices)
        strbuf_addf(out, "requeueing does not make room: %zu running jobs may be requeued\n",
                    d->candidates);
    for (size_t i = 0; i < d->nchoices; i++) {
        const struct defrag_choice *c = &d->choices[i];

        strbuf_addf(
            out, "%zu. requeue %zu job%s, %.1f node hours of work lost; it starts on %s\n   ",
            i + 1, c->n, c->n == 1 ? "" : "s", c->lost_node_s / 3600, c->nodes ? c->nodes : "?");
        for (size_t k = 0; k < c->n; k++)
            strbuf_addf(out, " %s", world_name(w, c->jobs[k], name, sizeof(name)));
        strbuf_addc(out, '\n');
    }
}

void defrag_json(const struct defrag *d, const struct world *w, struct strbuf *out)
{
    char name[32];

    strbuf_addf(out, "{\"job\":\"%s\",\"now\":%lld,\"starts_now\":%s,\"expected_start\":",
                world_name(w, d->job, name, sizeof(name)), (long long)(d->now_us / USEC_PER_SEC),
                d->starts_now ? "true" : "false");
    if (d->expected_us)
        strbuf_addf(out, "%lld", (long long)(d->expected_us / USEC_PER_SEC));
    else
        strbuf_add(out, "null");
    strbuf_addf(out, ",\"candidates\":%zu,\"choices\":[", d->candidates);
    for (size_t i = 0; i < d->nchoices; i++) {
        const struct defrag_choice *c = &d->choices[i];

        strbuf_addf(out, "%s{\"lost_node_hours\":%.6g,\"nodes\":", i ? "," : "",
                    c->lost_node_s / 3600);
        report_json_string(out, c->nodes ? c->nodes : "");
        strbuf_add(out, ",\"jobs\":[");
        for (size_t k = 0; k < c->n; k++)
            strbuf_addf(out, "%s\"%s\"", k ? "," : "",
                        world_name(w, c->jobs[k], name, sizeof(name)));
        strbuf_add(out, "]}");
    }
    strbuf_add(out, "]}\n");
}
