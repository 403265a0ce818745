/* sched.c - the object and what feeds it; see sched.h.
 *
 * Every change bumps s->change, by which backfill knows that another run is worth while.  Passes
 * only propose: a proposed job holds its allocation here until sched_job_running() confirms, or a
 * refusal or removal releases it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/plan.h"
#include "sched/plan/profile.h"
#include "sched/sched_int.h"

int sched_new(const struct sched_params *params, struct sched **ret_sched)
{
    struct sched *s = calloc(1, sizeof(*s));
    int r = 0;

    if (!s)
        return -ENOMEM;
    s->params = *params;
    s->bf_change = UINT64_MAX;
    s->cpu_words = calloc(SCHED_MAX_CPUS / 64, sizeof(*s->cpu_words));
    s->dev_words = calloc(SCHED_MAX_DEVICES / 64, sizeof(*s->dev_words));
    struct bitmap **const maps[] = { &s->up, &s->idle, &s->cand, &s->withheld, &s->dup };

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(maps); i++)
        r = bitmap_new(0, maps[i]);
    for (uint32_t k = 0; r == 0 && k < SCHED_SPANS; k++)
        r = bitmap_new(0, &s->free_ge[k]);
    if (!s->cpu_words || !s->dev_words)
        r = -ENOMEM;
    if (r < 0) {
        sched_free(s);
        return r;
    }
    *ret_sched = s;
    return 0;
}

struct sched *sched_free(struct sched *s)
{
    if (!s)
        return NULL;
    plan_drop(s); /* while there are nodes and jobs */
    kept_drop(s);
    jobs_done(s);
    classes_done(s);
    kinds_done(s);
    nodes_done(s);
    for (uint32_t i = 0; i < s->nparts; i++)
        part_free(s->parts[i]);
    free(s->parts);
    resvs_clear(s);
    free(s->resvs);
    free(s->line);
    free(s->fits.v);
    free(s->sorted.v);
    free(s->chosen.v);
    free(s->cpu_words);
    free(s->dev_words);
    strtab_done(&s->parts_tab);
    strtab_done(&s->feature_tab);
    strtab_done(&s->gres_tab);
    tally_done(&s->tally);
    strtab_done(&s->lic_tab);
    free(s->lics);
    strtab_done(&s->label_tab);
    assocs_done(s);
    levels_done(s);
    advs_done(s);
    preempt_done(s);
    free(s);
    return NULL;
}

void sched_params_set(struct sched *s, const struct sched_params *params)
{
    struct sched_params p = *params;

    p.select = s->params.select;
    p.select_memory = s->params.select_memory;
    s->params = p;
    kept_drop(s);
    s->prio_done = false;
    planlog_other(s);
    s->run_gen++;
    s->tres_gen = 0;
    s->change++;
    for (uint32_t i = 0; i < s->nparts; i++) {
        struct part *part = s->parts[i];

        for (struct entry *e = part->head[0]; e; e = e->next[0])
            job_set_fresh(s, e->job);
    }
}

void sched_decision_done(struct sched_decision *d)
{
    alloc_done(&d->alloc);
    free(d->expected_nodes);
    free(d->licenses);
    free(d->victims);
    *d = (struct sched_decision){ 0 };
}

void sched_decisions_done(struct sched_decisions *d)
{
    for (size_t i = 0; i < d->n; i++)
        sched_decision_done(&d->items[i]);
    free(d->items);
    *d = (struct sched_decisions){ 0 };
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Skip list height: one level more for each pair of zero bits of a hash of job and partition. */
static uint32_t entry_height(uint32_t job, uint32_t part)
{
    uint32_t key[2] = { job, part }, h = strtab_hash(key, sizeof(key)), height = 1;

    while (height < QUEUE_LEVELS && !(h & 3)) {
        h >>= 2;
        height++;
    }
    return height;
}

static int add_entry(struct sched *s, const struct sched_job *in, const char *partition,
                     const struct sched_job_resv *resv, struct job *j)
{
    struct part *p;
    struct class *cls;
    struct entry *e;
    uint32_t height;
    int r = part_get(s, partition, &p);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < j->nentries; i++)
        if (j->entries[i]->part == p->id &&
            j->entries[i]->cls->shape->key.resv == (resv ? resv->id : 0))
            return 0; /* named twice */
    r = class_get(s, in, p, resv ? resv->id : 0, &cls);
    if (r < 0)
        return r;
    height = entry_height(in->id, p->id ^ (resv ? resv->id << 16 : 0));
    e = calloc(1, sizeof(*e) + height * sizeof(e->next[0]));
    if (!e) {
        class_unref(s, cls);
        return -ENOMEM;
    }
    e->job = j;
    e->cls = cls;
    e->part = p->id;
    e->rank = (uint16_t)j->nentries;
    e->ahead = resv && !resv->magnetic;
    e->magnetic = resv && resv->magnetic;
    e->height = height & 15;
    j->entries[j->nentries++] = e;
    return 0;
}

int label_id(struct sched *s, const char *label, uint32_t *ret_id)
{
    uint32_t id = 0;
    int r = label ? strtab_intern(&s->label_tab, label, &id) : 0;

    if (r == 0 && label) {
        *ret_id = id + 1;
        s->labels = true;
    }
    return r;
}

int job_build(struct sched *s, const struct sched_job *in, struct job **ret)
{
    struct job *j;
    size_t nentries;
    int r = 0;

    if (!in->npartitions || in->npartitions > SCHED_MAX_JOB_PARTS ||
        in->nresvs > SCHED_MAX_JOB_RESVS)
        return -EINVAL;
    nentries = in->npartitions * (in->nresvs + !in->resv_only);
    j = calloc(1, sizeof(*j) + nentries * sizeof(j->entries[0]));
    if (!j)
        return -ENOMEM;
    s->uids = s->uids || in->exclusive_user;
    j->id = in->id;
    j->priority = in->priority;
    j->nice = in->nice;
    j->submit_us = in->submit_us;
    j->eligible_us = in->eligible_us;
    j->accrue_us = in->accrue_us ? in->accrue_us : in->eligible_us;
    j->assoc_id = in->assoc_id;
    j->array_id = (uint32_t)in->array_id;
    j->site_factor = in->site_factor;
    j->qos = STRTAB_NONE;
    if (in->qos)
        r = strtab_intern(&s->qos_tab, in->qos, &j->qos);
    if (r == 0)
        r = label_id(s, in->label, &j->label);
    j->time_limit_min = in->time_limit_min;
    j->time_min_min = in->time_min_min;
    j->uid = in->uid;
    j->qos_id = in->qos_id;
    j->any_time = in->any_time;
    j->any_size = in->any_size;
    j->no_age = s->no_ages && (in->assoc_id || in->qos_id);
    j->owned = in->exclusive_user;
    j->end_us = INT64_MAX;
    if (in->het_count) {
        j->het = calloc(1, sizeof(*j->het));
        if (j->het)
            *j->het = (struct het){ .id = in->het_id, .count = in->het_count };
        else
            r = -ENOMEM;
    }
    if (r == 0)
        r = lics_build(s, in->licenses, in->nlicenses, in->licenses_any, &j->want);
    for (size_t k = 0; r == 0 && k < in->nresvs; k++)
        for (size_t i = 0; r == 0 && i < in->npartitions; i++)
            r = add_entry(s, in, in->partitions[i], &in->resvs[k], j);
    for (size_t i = 0; r == 0 && !in->resv_only && i < in->npartitions; i++)
        r = add_entry(s, in, in->partitions[i], NULL, j);
    if (r < 0) {
        job_free(s, j);
        return r;
    }
    *ret = j;
    return 0;
}

/* Take a job out of everything it is in, its record included. */
static void drop(struct sched *s, struct job *j)
{
    plan_note_leave(s, j);
    if (j->state >= JOB_PROPOSED) {
        claim_drop(s, j);
        job_release(s, j);
        limit_release(s, j);
        holders_remove(s, j);
    } else {
        job_unqueue(s, j);
        s->npending--;
    }
    job_clear_fresh(s, j);
    job_forget(s, j);
    s->change++;
}

int sched_job_put(struct sched *s, const struct sched_job *in)
{
    struct job *old = job_find(s, in->id), *j;
    int r = job_build(s, in, &j);

    if (r < 0)
        return r;
    if (old)
        drop(s, old);
    r = job_insert(s, j);
    if (r < 0) {
        job_free(s, j);
        return r;
    }
    s->npending++;
    s->change++;
    r = job_wait(s, j);
    if (r < 0)
        drop(s, j);
    return r;
}

static int find_or_add(struct sched *s, uint32_t id, struct job **ret)
{
    struct job *j = job_find(s, id);
    int r;

    if (!j) {
        j = calloc(1, sizeof(*j));
        if (!j)
            return -ENOMEM;
        j->id = id;
        j->state = JOB_WAITING;
        j->qos = STRTAB_NONE;
        r = job_insert(s, j);
        if (r < 0) {
            free(j);
            return r;
        }
        s->npending++; /* it leaves the pending in a moment */
    }
    *ret = j;
    return 0;
}

/* Did the job ask to share, or must it? */
static bool shares(const struct part *p, const struct job *j, bool exclusive)
{
    bool asked = j->nentries && (j->entries[0]->cls->shape->key.flags & SHAPE_SHARE);

    return !exclusive && !p->exclusive_node && p->oversubscribe > 1 && (p->force || asked);
}

int sched_job_running(struct sched *s, uint32_t id, const char *partition,
                      const struct sched_alloc *alloc, int64_t start_us, int64_t end_us,
                      bool exclusive)
{
    _cleanup_val_(alloc_done) struct sched_alloc copy = { 0 };
    struct part *p;
    struct job *j = NULL;
    int64_t old_us;
    int r = part_get(s, partition, &p);

    if (r == 0)
        r = alloc_dup(s, alloc, &copy);
    if (r == 0)
        r = find_or_add(s, id, &j);
    if (r == 0)
        r = holders_room(s, p->id, j->qos);
    if (r < 0)
        return r;
    if (j->state < JOB_PROPOSED || j->part != p->id || !alloc_equal(&copy, &j->alloc)) {
        bool firm = j->state < JOB_PROPOSED ? !shares(p, j, exclusive) : j->firm;

        plan_note_leave(s, j);
        if (j->state >= JOB_PROPOSED) {
            job_release(s, j);
            limit_release(s, j);
            holders_remove(s, j);
        } else {
            job_unqueue(s, j);
            s->npending--;
        }
        alloc_done(&j->alloc);
        j->alloc = copy;
        copy = (struct sched_alloc){ 0 };
        j->part = p->id;
        j->firm = firm;
        j->state = JOB_RUNNING;
        holders_add(s, j);
        job_take(s, j);
        j->end_us = end_us;
        plan_note_hold(s, j);
    } else if (j->state == JOB_SUSPENDED) {
        sched_job_suspend(s, id, false);
    }
    claim_drop(s, j);
    job_free_entries(s, j);
    j->state = JOB_RUNNING;
    j->start_us = start_us;
    old_us = j->end_us;
    j->end_us = end_us;
    plan_note_end(s, j, old_us);
    limit_end_time(j);
    s->change++;
    return limit_charge(s, j);
}

int sched_job_owner(struct sched *s, uint32_t id, uint32_t uid, bool exclusive_user,
                    const char *label)
{
    struct job *j = job_find(s, id);
    bool held = j && j->state >= JOB_PROPOSED;
    uint32_t label_no = 0;
    int r = label_id(s, label, &label_no);

    if (r < 0 || !j || (j->uid == uid && j->owned == exclusive_user && j->label == label_no))
        return r;
    for (size_t i = 0; held && i < j->alloc.nnodes; i++)
        node_own(s, j->alloc.nodes[i].node_id, j, false);
    planlog_other(s);
    j->uid = uid;
    j->owned = exclusive_user;
    j->label = label_no;
    for (size_t i = 0; held && i < j->alloc.nnodes; i++)
        node_own(s, j->alloc.nodes[i].node_id, j, true);
    if (j->charge) { /* counted as nobody's */
        limit_release(s, j);
        /* out of memory: as after a restart, when the core says whose it is */
        (void)limit_charge(s, j);
    }
    s->uids = s->uids || exclusive_user;
    s->change++;
    return 0;
}

void sched_job_end_time(struct sched *s, uint32_t id, int64_t end_us)
{
    struct job *j = job_find(s, id);

    int64_t old_us = j ? j->end_us : 0;

    if (!j || j->state < JOB_PROPOSED)
        return;
    j->end_us = end_us;
    plan_note_end(s, j, old_us);
    limit_end_time(j);
    s->change++;
}

void sched_job_suspend(struct sched *s, uint32_t id, bool suspended)
{
    struct job *j = job_find(s, id);

    if (!j || j->state < JOB_PROPOSED || suspended == (j->state == JOB_SUSPENDED))
        return;
    s->run_gen++;
    planlog_other(s);
    for (size_t i = 0; i < j->alloc.nnodes; i++) {
        if (suspended)
            node_release(s, &j->alloc.nodes[i], j->part, j->firm, true, false);
        else
            node_take(s, &j->alloc.nodes[i], j->part, j->firm, true, false);
    }
    j->state = suspended ? JOB_SUSPENDED : JOB_RUNNING;
    j->taken = (uint32_t)s->run_gen;
    s->change++;
}

void sched_job_remove(struct sched *s, uint32_t id)
{
    struct job *j = job_find(s, id);

    if (j)
        drop(s, j);
}

void sched_job_refused(struct sched *s, uint32_t id)
{
    struct job *j = job_find(s, id);

    if (!j || j->state != JOB_PROPOSED)
        return;
    plan_note_leave(s, j);
    claim_drop(s, j);
    job_release(s, j);
    limit_release(s, j);
    holders_remove(s, j);
    lics_free(&j->held);
    alloc_done(&j->alloc);
    j->end_us = INT64_MAX;
    j->state = JOB_QUEUED; /* it was eligible */
    s->npending++;
    job_set_fresh(s, j);
}

uint32_t sched_pending(const struct sched *s)
{
    return s->npending;
}

uint32_t sched_job_priority(const struct sched *s, uint32_t id)
{
    const struct job *j = job_find(s, id);
    uint32_t best = 0;

    for (uint32_t i = 0; j && j->state < JOB_PROPOSED && i < j->nentries; i++)
        best = MAX(best, j->entries[i]->priority);
    return best;
}

bool sched_feasible(const struct sched *s, const struct sched_job *job, enum sched_why *ret_why)
{
    /* Looks up a class and uses the scratch arrays; nothing a caller can see changes. */
    struct sched *m = (struct sched *)s;
    bool ok = false;
    struct job *j;

    *ret_why = SCHED_WHY_BAD_CONSTRAINTS;
    if (job_build(m, job, &j) < 0)
        return false;
    for (uint32_t i = 0; i < j->nentries && !ok; i++) {
        struct pick p = { .s = m,
                          .cls = j->entries[i]->cls,
                          .part = m->parts[j->entries[i]->part],
                          .idle = true,
                          .any_state = true,
                          .no_part_limit = true };

        ok = pick_nodes(&p) == 1;
    }
    job_free(m, j);
    if (ok)
        *ret_why = SCHED_WHY_NONE;
    return ok;
}
