/* engine.c - the loop of events; see engine.h
 *
 * The scheduler knows a job as its index + 1. */
#include "sim/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "sched/topo/topofrag.h"
#include "sim/events.h"
#include "sim/gates.h"
#include "sim/simfeed.h"
#include "sim/turns.h"

#define MINUTE_US (60 * USEC_PER_SEC)
#define PROGRESS_JOBS 1000u

struct engine {
    const struct sim_machine *m;
    const struct workload *w;
    const struct sim_config *c;
    struct sim_result *out;
    struct sched *sched;
    struct events events;
    struct gates *gates; /* NULL: no job waits for another */
    struct turns *turns; /* NULL: nobody takes turns */
    int64_t *left_us;    /* by job that waits for its turn: how long it will run */
    uint32_t *spell;     /* by job: how often it was stopped; its end is one of the last spell */
    bool slice_pushed;
    struct err *err;
    struct topofrag *frag;   /* NULL: the machine has no topology */
    int64_t *block_since_us; /* by base block: up to when out->block_score is summed */
    uint32_t *node_used;     /* CPUs */
    uint32_t *part_of;       /* machine's partition by the workload's */
    uint64_t used, free_partial, waiting_cpus;
    size_t running;
    int64_t now_us, bf_last_us, wake_us; /* wake: of the event pushed last */
    bool bf_pushed;
};

void sim_result_done(struct sim_result *r)
{
    free(r->jobs);
    free(r->spans);
    free(r->series);
    free(r->block_score);
    *r = (struct sim_result){ 0 };
}

/* ---- requests -------------------------------------------------------------------------------- */

static void fill_request(const struct sim_machine *m, const struct sim_job *j, size_t i,
                         uint32_t part, struct sched_job *ret, const char **ret_part,
                         struct sched_gres_req *ret_gres)
{
    if (j->given) {
        *ret = *j->given;
        ret->id = (uint32_t)i + 1;
        return;
    }
    *ret_part = m->parts[part].name;
    *ret = (struct sched_job){
        .id = (uint32_t)i + 1,
        .uid = j->user + 1,
        .partitions = ret_part,
        .npartitions = 1,
        .priority = j->priority,
        .nice = j->nice,
        .submit_us = j->submit_us,
        .time_limit_min = j->limit_min,
        .min_nodes = j->nodes ? j->nodes : 1,
        .max_nodes = j->nodes,
        .num_tasks = MAX(j->tasks, j->nodes),
        .cpus_per_task = j->cpus_per_task,
        .has_mem_per_node = j->mem_per_node_mib > 0,
        .mem_per_node_mib = j->mem_per_node_mib,
        .mem_per_cpu_mib = j->mem_per_cpu_mib,
        .exclusive = j->exclusive,
        .segment_size = j->segment,
        .array_id = j->array,
        .accrue_us = j->submit_us,
        .assoc_id = j->assoc_id,
        .qos_id = j->qos_id,
    };
    if (j->gpus || j->gpus_per_node) {
        *ret_gres = (struct sched_gres_req){ .name = "gpu",
                                             .per_node = j->gpus_per_node,
                                             .per_job = j->gpus };
        ret->gres = ret_gres;
        ret->ngres = 1;
    }
}

void sim_request(const struct sim_machine *m, const struct workload *w, size_t i,
                 struct sched_job *ret, const char **ret_part, struct sched_gres_req *ret_gres)
{
    const struct sim_job *j = &w->jobs[i];
    uint32_t part =
        j->part == WORKLOAD_NO_PART ? 0 : machine_partition(m, name_nth(&w->parts, j->part));

    fill_request(m, j, i, part, ret, ret_part, ret_gres);
}

/* ---- the machine's books --------------------------------------------------------------------- */

/* What the block of a node was until now is summed, before the node changes. */
static void sum_block(struct engine *e, uint32_t unit)
{
    e->out->block_score[unit] +=
        (double)topofrag_of_unit(e->frag, unit) * (double)(e->now_us - e->block_since_us[unit]);
    e->block_since_us[unit] = e->now_us;
}

static void node_break(struct engine *e, uint32_t id, bool is_free)
{
    uint32_t unit = id < topo_node_limit(machine_topology(e->m))
                        ? topo_unit_of(machine_topology(e->m), id)
                        : TOPO_NONE;

    if (unit < e->out->nblocks)
        sum_block(e, unit);
    topofrag_set(e->frag, id, is_free);
}

static void node_change(struct engine *e, uint32_t id, uint32_t cpus, bool take)
{
    uint32_t all = e->m->nodes[id].cpus, *used = &e->node_used[id];
    bool was_free = !*used;

    if (*used && *used < all)
        e->free_partial -= all - *used;
    *used = take ? *used + cpus : *used - MIN(*used, cpus);
    e->used = take ? e->used + cpus : e->used - MIN(e->used, cpus);
    if (*used && *used < all)
        e->free_partial += all - *used;
    if (e->frag && was_free != !*used)
        node_break(e, id, !*used);
}

static int add_span(struct sim_result *out, uint32_t node, uint32_t cpus, struct sim_outcome *o)
{
    struct sim_span *last = o->nspans ? &out->spans[out->nspans - 1] : NULL;

    if (last && last->last + 1 == node && last->cpus == cpus) {
        last->last = node;
        return 0;
    }
    if (out->nspans == out->cap_spans) {
        size_t cap = out->cap_spans ? out->cap_spans * 2 : 1024;
        struct sim_span *grown = realloc(out->spans, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        out->spans = grown;
        out->cap_spans = cap;
    }
    if (!o->nspans)
        o->span = out->nspans;
    o->nspans++;
    out->spans[out->nspans++] = (struct sim_span){ .first = node, .last = node, .cpus = cpus };
    return 0;
}

static int64_t length_us(const struct sim_job *j, uint32_t limit_min)
{
    return limit_min == SCHED_UNLIMITED ? j->run_us
                                        : MIN(j->run_us, (int64_t)limit_min * MINUTE_US);
}

/* Higher tiers do not take turns with lower ones where tiers preempt. */
static uint32_t rank_in(const struct engine *e, const char *partition)
{
    return e->c->sched.preempt.type == SCHED_PREEMPT_PART
               ? e->m->parts[machine_partition(e->m, partition)].tier
               : 0;
}

/* The job holds alloc from start_us on: account for it, and plan its end. */
static int hold_nodes(struct engine *e, uint32_t i, const struct sched_alloc *a,
                      const char *partition, int64_t start_us, uint32_t limit_min)
{
    struct sim_outcome *o = &e->out->jobs[i];
    int64_t length = length_us(&e->w->jobs[i], limit_min);
    int r = 0;

    o->start_us = start_us;
    o->limit_min = limit_min;
    o->nnodes = (uint32_t)a->nnodes;
    for (size_t k = 0; r == 0 && k < a->nnodes; k++) {
        const struct sched_alloc_node *n = &a->nodes[k];

        o->cpus += n->cpus;
        for (size_t g = 0; g < n->ngres; g++)
            if (strcmp(n->gres[g].name, "gpu") == 0)
                o->gpus += (uint32_t)n->gres[g].count;
        if (n->node_id < e->m->nnodes) {
            node_change(e, n->node_id, n->cpus, true);
            r = add_span(e->out, n->node_id, n->cpus, o);
        }
    }
    e->running++;
    if (r == 0 && e->gates)
        r = gates_started(e->gates, i, e->now_us, &e->events);
    if (r == 0 && e->turns)
        r = turns_begin(e->turns, i, a, rank_in(e, partition), start_us);
    if (r == 0 && length < INT64_MAX - start_us) {
        o->end_us = MAX(start_us + length, e->now_us);
        r = events_push(&e->events, o->end_us, SIM_EV_END, i, e->turns ? e->spell[i] : 0);
    } else {
        o->end_us = INT64_MAX;
    }
    return r;
}

static void spans_change(struct engine *e, uint32_t i, bool take)
{
    const struct sim_outcome *o = &e->out->jobs[i];

    for (uint32_t s = 0; s < o->nspans; s++) {
        const struct sim_span *span = &e->out->spans[o->span + s];

        for (uint32_t n = span->first; n <= span->last; n++)
            node_change(e, n, span->cpus, take);
    }
}

static int job_ended(struct engine *e, uint32_t i)
{
    sched_job_remove(e->sched, i + 1);
    spans_change(e, i, false);
    if (e->turns)
        turns_end(e->turns, i);
    e->running--;
    e->out->ended++;
    e->out->end_us = e->now_us;
    if (e->c->progress && e->out->ended % PROGRESS_JOBS == 0)
        e->c->progress(e->c->ctx, e->out->ended, e->w->n);
    return e->gates ? gates_ended(e->gates, i, e->now_us, &e->events) : 0;
}

static int job_submitted(struct engine *e, uint32_t i)
{
    const struct sim_job *j = &e->w->jobs[i];
    struct sched_gres_req gres;
    struct sched_job request;
    const char *part;
    int r;

    if (e->gates && !gates_enter(e->gates, i))
        return 0; /* comes again */
    fill_request(e->m, j, i, j->part == WORKLOAD_NO_PART ? 0 : e->part_of[j->part], &request, &part,
                 &gres);
    r = sched_job_put(e->sched, &request);
    if (r == -EINVAL)
        return err_set(e->err, r, "job %u: the scheduler refuses the request", j->id);
    e->waiting_cpus += sim_job_cpus(j);
    return r;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int take_decisions(struct engine *e, const struct sched_decisions *d, bool backfill)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];
        uint32_t job = x->job_id - 1;

        if (x->kind != SCHED_START)
            continue;
        e->out->jobs[job].backfilled = backfill;
        e->waiting_cpus -= MIN(e->waiting_cpus, sim_job_cpus(&e->w->jobs[job]));
        r = hold_nodes(e, job, &x->alloc, x->partition, e->now_us,
                       x->time_limit_min ? x->time_limit_min : e->w->jobs[job].limit_min);
    }
    return r;
}

/* *ret_started: jobs that this pass started. */
static int run_one_pass(struct engine *e, bool backfill, int64_t *ret_wake_us, size_t *ret_started)
{
    struct sim_passes *p = backfill ? &e->out->backfill : &e->out->quick;
    struct sched_decisions d = { 0 };
    size_t before = e->running;
    int64_t t0 = e->c->clock_us ? e->c->clock_us(e->c->ctx) : 0;
    int r = backfill ? sched_backfill(e->sched, e->now_us, &d)
                     : sched_pass(e->sched, e->now_us, &d, ret_wake_us);

    if (e->c->clock_us) {
        uint64_t cost = (uint64_t)(e->c->clock_us(e->c->ctx) - t0);

        p->cost_us += cost;
        p->worst_us = MAX(p->worst_us, cost);
    }
    if (r >= 0)
        r = take_decisions(e, &d, backfill);
    p->n++;
    p->tested += backfill ? d.bf_depth : d.depth;
    p->started += e->running - before;
    *ret_started = e->running - before;
    sched_decisions_done(&d);
    return r < 0 ? r : 0;
}

static int plan_wake(struct engine *e, int64_t wake_us)
{
    if (wake_us == INT64_MAX || (e->wake_us > e->now_us && e->wake_us <= wake_us))
        return 0;
    e->wake_us = wake_us;
    return events_push(&e->events, wake_us, SIM_EV_WAKE, 0, 0);
}

static int run_quick(struct engine *e)
{
    int64_t wake_us = INT64_MAX;
    size_t started;
    int r;

    do
        r = run_one_pass(e, false, &wake_us, &started);
    while (r == 0 && started && wake_us <= e->now_us); /* the queue's depth was reached */
    if (r == 0)
        r = plan_wake(e, wake_us <= e->now_us ? e->now_us + USEC_PER_SEC : wake_us);
    return r;
}

static int backfill_or_plan(struct engine *e)
{
    int64_t due = e->bf_last_us + (int64_t)e->c->bf_interval_s * USEC_PER_SEC;
    size_t started;

    if (!e->c->sched.backfill || !sched_pending(e->sched))
        return 0;
    if (e->bf_last_us && e->now_us < due) {
        if (e->bf_pushed)
            return 0;
        e->bf_pushed = true;
        return events_push(&e->events, due, SIM_EV_BACKFILL, 0, 0);
    }
    e->bf_last_us = e->now_us;
    return run_one_pass(e, true, NULL, &started);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Its time stands still while it waits: its end comes later, and so does its limit. */
static int on_turn(void *ctx, uint32_t i, bool runs)
{
    struct engine *e = ctx;
    struct sim_outcome *o = &e->out->jobs[i];
    const struct sim_job *j = &e->w->jobs[i];

    spans_change(e, i, runs);
    if (!runs) {
        e->left_us[i] = o->end_us == INT64_MAX ? INT64_MAX : o->end_us - e->now_us;
        e->spell[i]++;
        o->end_us = INT64_MAX;
        return 0;
    }
    if (e->left_us[i] == INT64_MAX)
        return 0;
    o->end_us = e->now_us + e->left_us[i];
    if (o->limit_min != SCHED_UNLIMITED)
        sched_job_end_time(e->sched, i + 1,
                           o->end_us + (int64_t)o->limit_min * MINUTE_US -
                               length_us(j, o->limit_min));
    return events_push(&e->events, o->end_us, SIM_EV_END, i, e->spell[i]);
}

static int take_turns(struct engine *e, bool next)
{
    int r = turns_take(e->turns, e->now_us, next, on_turn, e);

    if (r < 0 || e->slice_pushed || !turns_any_waits(e->turns))
        return r;
    e->slice_pushed = true;
    return events_push(&e->events, e->now_us + e->c->slice_us, SIM_EV_SLICE, 0, 0);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void note_state(struct engine *e)
{
    struct series *s = e->out->series;
    uint32_t queue = sched_pending(e->sched);
    uint64_t all = e->m->cpus;

    series_set(s, SERIES_USED, (double)e->used);
    series_set(s, SERIES_QUEUE, queue);
    series_set(s, SERIES_RUNNING, (double)e->running);
    series_set(s, SERIES_WAITED, (double)e->waiting_cpus);
    series_set(s, SERIES_BROKEN, e->frag ? (double)topofrag_score(e->frag) : 0);
    series_set(s, SERIES_STRANDED, queue ? (double)e->free_partial : 0);
    series_set(s, SERIES_FREE, queue && all > e->used ? (double)(all - e->used) : 0);
}

/* Everything of one instant. */
static int play_instant(struct engine *e)
{
    const struct sim_event *next;
    struct sim_event ev;
    bool changed = false, slice = false;
    int r = 0;

    e->now_us = events_peek(&e->events)->at_us;
    series_to(e->out->series, e->now_us);
    while (r == 0 && (next = events_peek(&e->events)) && next->at_us == e->now_us) {
        (void)events_pop(&e->events, &ev); /* there is one */
        if (ev.kind == SIM_EV_END && e->turns && ev.run != e->spell[ev.job])
            continue; /* it was stopped before */
        changed = changed || (ev.kind != SIM_EV_BACKFILL && ev.kind != SIM_EV_SLICE);
        if (ev.kind == SIM_EV_END)
            r = job_ended(e, ev.job);
        else if (ev.kind == SIM_EV_SLICE)
            slice = true;
        else if (ev.kind == SIM_EV_SUBMIT)
            r = job_submitted(e, ev.job);
        else if (ev.kind == SIM_EV_BACKFILL)
            e->bf_pushed = false;
    }
    if (r == 0 && changed)
        r = run_quick(e);
    if (r == 0)
        r = backfill_or_plan(e);
    e->slice_pushed = e->slice_pushed && !slice;
    if (r == 0 && e->turns)
        r = take_turns(e, slice);
    note_state(e);
    return r;
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Blocks are watched from the beginning to the end. */
static int watch_blocks(struct engine *e)
{
    const struct topo_spec *spec = topo_get_spec(machine_topology(e->m));
    int r = topofrag_new(machine_topology(e->m), &e->frag);

    if (r < 0 || spec->kind != TOPO_BLOCK)
        return r;
    e->out->block_score = calloc(spec->nunits + 1, sizeof(*e->out->block_score));
    e->block_since_us = calloc(spec->nunits + 1, sizeof(*e->block_since_us));
    if (!e->out->block_score || !e->block_since_us)
        return -ENOMEM;
    e->out->nblocks = spec->nunits;
    for (size_t i = 0; i < spec->nunits; i++)
        e->block_since_us[i] = e->now_us;
    for (uint32_t i = 0; i < e->m->nnodes; i++)
        if (!e->m->nodes[i].schedulable)
            topofrag_set(e->frag, i, false); /* it never is free */
    return 0;
}

static void end_blocks(struct engine *e)
{
    double span_us = (double)(e->now_us - e->out->begin_us);

    for (uint32_t i = 0; i < e->out->nblocks; i++) {
        sum_block(e, i);
        e->out->block_score[i] = span_us > 0 ? e->out->block_score[i] / span_us : 0;
    }
}

static int feed_machine(struct engine *e)
{
    int r = sched_new(&e->c->sched, &e->sched);

    if (r == 0)
        r = simfeed_machine(e->sched, e->m);
    if (r == 0 && machine_topology(e->m))
        r = watch_blocks(e);
    for (uint32_t i = 0; r == 0 && i < e->w->parts.n; i++)
        e->part_of[i] = machine_partition(e->m, e->w->parts.names[i]);
    return r;
}

static int feed_running(struct engine *e, const struct sim_running *x)
{
    int r = simfeed_running(e->sched, e->w, x);

    if (r < 0)
        return r;
    e->out->jobs[x->job].there = true;
    if (e->gates)
        gates_runs(e->gates, x->job);
    return hold_nodes(e, x->job, x->alloc, x->partition, x->start_us, e->w->jobs[x->job].limit_min);
}

static int begin_run(struct engine *e)
{
    int r = feed_machine(e);

    if (r == 0 && e->c->slice_us)
        r = turns_new(e->w->n, &e->turns);
    if (r == 0)
        r = gates_new(e->w, e->c->throttle, e->c->nthrottle, &e->gates);
    for (size_t i = 0; r == 0 && i < e->c->nrunning; i++)
        r = feed_running(e, &e->c->running[i]);
    if (r == 0 && e->c->prime)
        r = e->c->prime(e->c->prime_ctx, e->sched);
    for (size_t i = 0; r == 0 && i < e->w->n; i++)
        if (!e->out->jobs[i].start_us && !e->w->jobs[i].held && !gates_waits(e->gates, (uint32_t)i))
            r = events_push(&e->events, MAX(e->w->jobs[i].submit_us, e->now_us), SIM_EV_SUBMIT,
                            (uint32_t)i, 0);
    return r;
}

static int run_all(struct engine *e)
{
    int r = begin_run(e);

    while (r == 0 && events_peek(&e->events))
        r = play_instant(e);
    for (size_t i = 0; r == 0 && i < e->w->n; i++)
        e->out->never += !e->out->jobs[i].start_us;
    end_blocks(e);
    if (r == 0 && e->c->progress)
        e->c->progress(e->c->ctx, e->w->n, e->w->n);
    return r;
}

int sim_run(const struct sim_machine *m, const struct workload *w, const struct sim_config *config,
            struct sim_result *ret_result, struct err *err)
{
    struct sim_result out = { .njobs = w->n };
    struct engine e = { .m = m, .w = w, .c = config, .out = &out, .err = err };
    int r = 0;

    out.begin_us = config->begin_us ? config->begin_us : w->n ? w->jobs[0].submit_us : 0;
    out.end_us = e.now_us = out.begin_us;
    out.jobs = calloc(w->n + 1, sizeof(*out.jobs));
    out.series = calloc(1, sizeof(*out.series));
    e.node_used = calloc(m->nnodes + 1, sizeof(*e.node_used));
    e.part_of = calloc(w->parts.n + 1, sizeof(*e.part_of));
    e.left_us = calloc(w->n + 1, sizeof(*e.left_us));
    e.spell = calloc(w->n + 1, sizeof(*e.spell));
    if (!e.left_us || !e.spell || !out.jobs || !out.series || !e.node_used || !e.part_of)
        r = -ENOMEM;
    if (r == 0) {
        series_init(out.series, out.begin_us);
        r = run_all(&e);
    }
    sched_free(e.sched);
    events_done(&e.events);
    gates_free(e.gates);
    turns_free(e.turns);
    free(e.left_us);
    free(e.spell);
    topofrag_free(e.frag);
    free(e.block_since_us);
    free(e.node_used);
    free(e.part_of);
    if (r < 0) {
        sim_result_done(&out);
        return r;
    }
    *ret_result = out;
    return 0;
}
