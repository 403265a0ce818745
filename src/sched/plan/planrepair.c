/* planrepair.c - a plan made right after something happened; see plan.h for what holds of it then.
 *
 * The work is bounded: by the jobs that could gain from what came free, found by looking at the
 * freed nodes alone, and by REPAIR_LOOKS and REPAIR_TRIES.  What is left over makes the plan stale.
 */
#include "sched/plan/planrepair.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/conservative.h"
#include "sched/plan/plan.h"
#include "sched/plan/queuewalk.h"
#include "sched/profile/prof_redo.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/partlimits.h"
#include "sched/sched.h"
#include "sched/select/masks.h"
#include "sched/state/alloc.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/endtime.h"
#include "sched/state/expect.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

#define REPAIR_LOOKS 100000u /* at a freed node, for a job */
#define REPAIR_WIDE 3u       /* of these for several nodes, which takes long */
#define REPAIR_ROUNDS 4u     /* a job that moves may make room for one before it */
#define REPAIR_TRIES 40u     /* jobs taken out of the plan to find them a better place */

struct repair {
    struct bf *b;
    struct sched *s;
    struct plan *pl;
    uint32_t looks, tries, wide, moves;
};

/* ---- which jobs gain? ------------------------------------------------------------------------ */

/* What each node of the job has free at least; an exact measure where it gets but one node. */
static void least_asked(const struct sched *s, const struct entry *e, uint32_t *ret_cpus,
                        uint64_t *ret_mem)
{
    const struct shape_key *k = &e->cls->shape->key;
    uint64_t cpus = MAX(k->pn_min_cpus, 1u);
    bool memory = s->parts[e->part]->select_memory;

    if (k->min_nodes == 1 && k->max_nodes == 1 && !(k->flags & SHAPE_OVERCOMMIT))
        cpus = MAX(cpus, (uint64_t)MAX(k->num_tasks, 1u) * k->cpus_per_task);
    *ret_cpus = (uint32_t)MIN(cpus, (uint64_t)SCHED_MAX_CPUS);
    *ret_mem = 0;
    if (memory && k->flags & SHAPE_MEM_PER_NODE)
        *ret_mem = k->mem_per_node_mib;
    else if (memory)
        *ret_mem = k->mem_per_cpu_mib * *ret_cpus;
}

static bool class_admits(const struct class *c, uint32_t id)
{
    for (uint32_t i = 0; i < c->nalts; i++)
        if (bitmap_test(c->alts[i].elig, id))
            return true;
    return false;
}

static bool held_by(const struct place *p, uint32_t id)
{
    for (size_t i = 0; p && i < p->alloc.nnodes; i++)
        if (p->alloc.nodes[i].node_id == id)
            return true;
    return false;
}

/* Could e begin before that slot with the help of a freed node?  1 with the first slot at which it
 * might, 0, -ENOMEM.  p: its place, or NULL. */
static int gains_by_freed(struct repair *x, struct entry *e, const struct place *p, uint32_t before,
                          uint32_t *ret_slot)
{
    struct sched *s = x->s;
    uint32_t cpus, first = before;
    uint64_t mem;
    int r = class_masks(s, e->cls);

    if (r < 0)
        return r;
    least_asked(s, e, &cpus, &mem);
    for (uint32_t i = 0; i < x->s->log.nfreed; i++) {
        uint32_t id = x->s->log.freed_ids[i], slot = UINT32_MAX;

        x->looks++;
        if (bitmap_test(s->up, id) && class_admits(e->cls, id))
            slot = prof_hole(s, id, cpus, mem, e->job->time_limit_min, first,
                             held_by(p, id) ? p : NULL);
        first = MIN(first, slot);
    }
    *ret_slot = first;
    return first < before;
}

/* ---- another place --------------------------------------------------------------------------- */

static void free_nodes(struct repair *x, const struct place *p)
{
    for (size_t i = 0; i < p->alloc.nnodes; i++) {
        uint32_t id = p->alloc.nodes[i].node_id;

        if (bitmap_test(x->s->log.freed, id))
            continue;
        bitmap_set(x->s->log.freed, id);
        x->s->log.freed_ids[x->s->log.nfreed++] = id;
    }
}

/* 1 done, 0 a place lost its room: a new plan. */
static int settle_plan(struct repair *x)
{
    uint32_t broken;
    int r = plan_settle(x->s, &broken);

    x->s->memo_run++;
    return r < 0 ? r : !broken;
}

static int try_now(struct repair *x, struct entry *e)
{
    int r = conservative_try(x->b, e);

    if (r != -EDQUOT)
        return r;
    x->pl->stale = true; /* it has room, but may not hold so much */
    return 0;
}

/* It found a place that is better: hold that. */
static int move_place(struct repair *x, struct entry *e, const struct pick *p,
                      struct sched_alloc *a)
{
    struct sched *s = x->s;
    int64_t start_us = prof_promise(s, p->from);
    int r = 0;

    prof_note_end(s, p->until, INT64_MAX);
    s->bf.planned++;
    s->parts[e->part]->planned++;
    if (bf_within(s, x->b->now_us, start_us))
        r = expect_set(e->job, start_us, s->bf_run, a);
    if (r == 0)
        r = place_add(s, e, a, p->from, p->until, NULL);
    if (r == 0 && expect_us(e->job) != expect_told_us(e->job))
        job_set_fresh(s, e->job);
    return r < 0 ? r : 1;
}

/* Is that what p's job should get?  When p cannot be kept, what is no later; for one node only,
 * where nothing is kept empty for it meanwhile, any. */
static bool is_better(const struct sched *s, const struct place *p, const struct pick *found)
{
    if (!p->broken)
        return found->from < p->from;
    return (p->alloc.nnodes == 1 && p->from > prof_now(s)) ||
           prof_promise(s, found->from) <= p->start_us;
}

static bool may_start(struct repair *x, struct entry *e)
{
    return !entry_limits(x->s, e) &&
           !limit_refuses(x->s, e, NULL, e->job->time_limit_min, x->b->now_us);
}

/* Place p is out of the plan.  Start its job, or find it another place, from that slot on, or put
 * it back.  1 done, 0 the plan is to be made anew. */
static int improve_place(struct repair *x, struct place *p, uint32_t first)
{
    struct sched *s = x->s;
    struct entry *e = p->entry;
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    uint32_t at = p->at, which, now = prof_now(s);
    bool ready = may_start(x, e) && lics_fit(s, &e->job->want, 0, &which);
    struct pick pick;
    int r = ready && first <= now ? try_now(x, e) : 0;

    if (r != 0) { /* it started: what it was to hold is free, beside what it does */
        if (r == 1)
            free_nodes(x, p);
        place_free(p);
        return r;
    }
    if (p->from <= now && !p->broken && ready) {
        place_free(p);
        return 0; /* it was to start, and another job is in the way */
    }
    first = MAX(first, now + 1);
    r = first < p->from || p->broken ? conservative_seek(s, e, first, &pick, &alloc) : 0;
    if (r == 1 && is_better(s, p, &pick)) {
        r = move_place(x, e, &pick, &alloc);
        if (r == 1) { /* its rank in the plan stays what it was */
            struct place *moved = x->pl->v[--x->pl->n];

            x->pl->v[moved->at = at] = moved;
            free_nodes(x, p);
            x->moves++;
        }
        place_free(p);
        return r;
    }
    if (r < 0 || p->broken) {
        place_free(p);
        return MIN(r, 0);
    }
    r = place_put_back(s, p);
    return r < 0 ? r : settle_plan(x);
}

/* ---- the steps of a repair ------------------------------------------------------------------- */

/* Places that cannot be kept: to other nodes, no later. */
static int mend_places(struct repair *x)
{
    _cleanup_free_ struct place **v = NULL;
    uint32_t broken, n = 0, at = 0;
    int r = plan_settle(x->s, &broken);

    if (r < 0 || !broken)
        return r < 0 ? r : 1;
    v = malloc(broken * sizeof(struct place *));
    if (!v)
        return -ENOMEM;
    for (uint32_t i = 0; i < x->pl->n && n < broken; i++)
        if (x->pl->v[i] && x->pl->v[i]->broken)
            v[n++] = place_take_out(x->s, x->pl->v[i], false);
    r = settle_plan(x);
    x->pl->stale = true;
    for (; r == 1 && at < n && !v[at]->job->het; at++)
        r = improve_place(x, v[at], 0);
    r = r == 1 && at < n ? 0 : r;
    while (at < n)
        place_free(v[at++]);
    return r;
}

/* In the order of the plan, the places whose time has come and those that gain by what is free. */
static int compress_places(struct repair *x)
{
    struct sched *s = x->s;
    int r = 1;

    for (uint32_t i = 0; r == 1 && i < x->pl->n; i++) {
        struct place *p = x->pl->v[i];
        bool due = p && p->from <= prof_now(s);
        uint32_t first = 0;
        bool wide;

        if (!p || (!due && (p->job->het || !x->s->log.nfreed)))
            continue;
        if (p->job->het)
            return 0; /* all of the group, or none: from the start */
        wide = p->alloc.nnodes > 1;
        if (!due && (x->looks > REPAIR_LOOKS || x->tries >= REPAIR_TRIES ||
                     (wide && x->wide >= REPAIR_WIDE))) {
            x->pl->stale = true;
            continue;
        }
        r = due ? 1 : gains_by_freed(x, p->entry, p, p->from, &first);
        if (r == 1) {
            x->tries += !due;
            x->wide += !due && wide;
            p = place_take_out(s, p, false);
            r = settle_plan(x);
            if (r == 1)
                r = improve_place(x, p, first);
            else
                place_free(p);
        } else {
            r = r < 0 ? r : 1;
        }
    }
    return r;
}

static bool has_place(const struct entry *e)
{
    for (const struct place *p = expect_places(e->job); p; p = p->next)
        if (p->entry == e)
            return true;
    return false;
}

/* A job without a place may start where another job left. */
static int start_without(struct repair *x, struct entry *e)
{
    struct sched *s = x->s;
    const struct job *j = e->job;
    struct class *c = e->cls;
    int64_t end_us = end_after(x->b->now_us, j->time_min_min ? j->time_min_min : j->time_limit_min);
    uint32_t which, slot;
    int r;

    if (j->het || has_place(e) || (c->bf_run == s->memo_run && end_us >= c->bf_fail_end) ||
        !may_start(x, e) || !lics_fit(s, &j->want, 0, &which))
        return 1;
    r = gains_by_freed(x, e, NULL, prof_now(s) + 1, &slot);
    if (r == 1) {
        x->tries++;
        r = try_now(x, e);
    } else if (r == 0) { /* nor does a longer one of its class */
        c->bf_run = s->memo_run;
        c->bf_fail_end = end_us;
    }
    return r < 0 ? r : 1;
}

/* Has a node of p room now that was freed?  Jobs of the others gain nothing by it, however many
 * they are. */
static bool freed_now(const struct repair *x, const struct part *p)
{
    for (uint32_t i = 0; i < x->s->log.nfreed; i++)
        if (bitmap_test(p->nodes, x->s->log.freed_ids[i]) &&
            prof_hole(x->s, x->s->log.freed_ids[i], 1, 0, 1, prof_now(x->s) + 1, NULL) !=
                UINT32_MAX)
            return true;
    return false;
}

static struct entry *next_of(const struct sched *s, struct entry **cur)
{
    struct entry *best = NULL;

    for (uint32_t i = 0; i < s->nparts; i++)
        if (cur[i] && (!best || walk_goes_before(s, cur[i], best)))
            best = cur[i];
    if (best)
        cur[best->part] = best->next[0];
    return best;
}

static int start_others(struct repair *x)
{
    struct sched *s = x->s;
    _cleanup_free_ struct entry **cur = NULL;
    uint32_t max = s->params.bf_max_job_start, before = x->b->out->bf_started, seen = 0;
    struct entry *e;
    int r = 1;

    if (!x->s->log.nfreed)
        return 1;
    cur = calloc(s->nparts + 1, sizeof(struct entry *));
    if (!cur)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->nparts; i++)
        cur[i] = s->parts[i]->up && !s->parts[i]->paused && freed_now(x, s->parts[i])
                     ? s->parts[i]->head[0]
                     : NULL;
    while (r == 1 && (e = next_of(s, cur)) && plan_looked_at(s, e)) {
        if (max && s->bf.started + x->b->out->bf_started - before >= max) {
            x->b->out->exit = SCHED_EXIT_STARTS;
            break;
        }
        if (x->looks > REPAIR_LOOKS || x->tries > 2 * REPAIR_TRIES || seen++ > REPAIR_LOOKS) {
            x->pl->stale = true;
            break;
        }
        r = start_without(x, e);
    }
    s->bf.started += x->b->out->bf_started - before;
    return r;
}

/* ---- newcomers ------------------------------------------------------------------------------- */

struct newcomer {
    uint32_t tier;
    struct entry *e;
};

static int by_order(const void *a, const void *b)
{
    const struct newcomer *x = a, *y = b;

    if (x->e->first != y->e->first)
        return x->e->first ? -1 : 1;
    if (x->e->ahead != y->e->ahead)
        return x->e->ahead ? -1 : 1;
    if (x->tier != y->tier)
        return x->tier > y->tier ? -1 : 1;
    if (x->e->job == y->e->job && x->e->priority == y->e->priority)
        return x->e->rank < y->e->rank ? -1 : x->e->rank > y->e->rank;
    return entry_before(x->e, y->e) ? -1 : 1;
}

static int add_newcomers(struct repair *x, struct newcomer **v, uint32_t *n, uint32_t *cap,
                         const struct job *j)
{
    for (uint32_t i = 0; i < j->nentries; i++) {
        struct entry *e = j->entries[i];

        if (e->state != ENTRY_QUEUED || has_place(e) || !plan_looked_at(x->s, e))
            continue;
        if (*n == *cap) {
            struct newcomer *grown = realloc(*v, (*cap = *cap * 2 + 16) * sizeof(*grown));

            if (!grown)
                return -ENOMEM;
            *v = grown;
        }
        (*v)[(*n)++] = (struct newcomer){ .tier = x->s->parts[e->part]->tier, .e = e };
    }
    return 1;
}

static const struct entry *last_planned(const struct plan *pl)
{
    for (uint32_t i = pl->n; i-- > 0;)
        if (pl->v[i])
            return pl->v[i]->entry;
    return NULL;
}

/* They get what is left beside all others. */
static int place_newcomers(struct repair *x)
{
    struct sched *s = x->s;
    struct plan *pl = x->pl;
    _cleanup_free_ struct newcomer *v = NULL;
    uint32_t n = 0, cap = 0, max = s->params.bf_max_job_test;
    int r = 1;

    for (uint32_t i = 0; r == 1 && i < s->log.ncame; i++) {
        const struct job *j = job_find(s, s->log.came[i]);

        if (j && j->state == JOB_QUEUED)
            r = add_newcomers(x, &v, &n, &cap, j);
    }
    s->log.ncame = 0;
    if (n)
        qsort(v, n, sizeof(*v), by_order);
    for (uint32_t i = 0; r == 1 && i < n; i++) {
        const struct entry *last = last_planned(pl);
        struct entry *e = v[i].e;

        if (e->state != ENTRY_QUEUED || has_place(e) || (i && v[i - 1].e == e))
            continue; /* it started in another partition, or is here twice */
        if (last && walk_goes_before(s, e, last))
            pl->stale = true; /* in a new plan it is before others */
        if (max && s->bf.tested >= max) {
            x->b->out->exit = SCHED_EXIT_DEPTH;
            break;
        }
        r = bf_admit(x->b, e);
        if (r == 1)
            r = conservative_consider(x->b, e);
        r = r < 0 ? r : 1;
    }
    return r;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Those that ought to have ended hold what they have for one more slot. */
static void note_overdue(struct repair *x)
{
    struct holders_iter it = { 0 };

    for (const struct job *j; (j = holders_next(x->s, &it));)
        if (j->end_us <= x->b->now_us)
            plan_note_late(x->s, j);
}

static void forget_freed(struct planlog *log)
{
    while (log->nfreed)
        bitmap_clear(log->freed, log->freed_ids[--log->nfreed]);
}

int plan_repair(struct bf *b)
{
    struct repair x = { .b = b, .s = b->s, .pl = b->s->plan };
    struct sched *s = b->s;
    uint32_t slot = prof_now(s);
    int r;

    if (!prof_advance(s, b->now_us))
        return 0;
    s->walk_run++; /* what was found out in the walk before holds no more */
    if (prof_now(s) != slot)
        note_overdue(&x);
    if (x.pl->prio_us != s->prio_us || x.pl->limited)
        x.pl->stale = true;
    x.pl->prio_us = s->prio_us;
    r = mend_places(&x);
    for (uint32_t i = 0, moves = 0; r == 1 && (i == 0 || (i < REPAIR_ROUNDS && x.moves > moves));
         i++) {
        moves = x.moves;
        r = compress_places(&x);
    }
    x.pl->stale = x.pl->stale || s->log.nfreed; /* a new plan might use it better */
    if (r == 1)
        r = start_others(&x);
    if (r == 1)
        r = place_newcomers(&x);
    if (r == 1)
        r = settle_plan(&x);
    forget_freed(&s->log);
    if (r == 1 && s->log.lost)
        r = 0;
    if (r == 1)
        walk_resume(s);
    return r;
}
