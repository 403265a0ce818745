/* depends.c - keeping dependencies true; see depends.h.
 *
 * An index from target (job or array id) to the jobs that wait for it; entries are removed
 * lazily.  A change can end a waiting job for which other jobs wait, and so on.  These events go
 * into a queue instead of a recursion, since chains are as long as users make them.  The queue is
 * emptied at once as far as a turn of the core allows (budget.h), and the rest in later turns:
 * thousands of jobs that each wait for a thousand do not hold up other requests.  Events that a
 * crash cut off are looked at again after the start. */
#include "ctld/job/depends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/budget.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/arraysplit.h"
#include "ctld/job/lifecycle.h"
#include "ctld/notify/mail.h"
#include "ctld/core/service.h"
#include "model/array.h"
#include "model/depend.h"
#include "fields.h"

#define DEPTH_DEFAULT 10u
#define OWN_RECORDS_DEFAULT 10u

struct dependants {
    struct idmap by_target; /* target job id -> struct idlist */
    struct idmap delayed;   /* job id -> instant to ask again at, plus one */
    struct idlist events;   /* jobs that something happened to, to be looked into */
    struct {
        size_t event; /* of those, the one at hand */
        enum { STAGE_ID, STAGE_GROUP, STAGE_NAME } stage;
        uint32_t target, ended; /* whose dependants are refreshed, and why */
        uint32_t *ids;          /* those; NULL: none at hand */
        size_t n, at;
        bool working, posted; /* by depends_changed(), in a later turn */
    } queue;
};

static void watch_target(struct ctld *ctld, uint32_t target, uint32_t job_id)
{
    struct idlist *l = idmap_get(&ctld->dependants->by_target, target);

    if (!l) {
        l = must(calloc(1, sizeof(*l)));
        must_do(idmap_put(&ctld->dependants->by_target, target, l));
    }
    idlist_add(l, job_id);
}

unsigned depends_depth(const struct ctld *ctld)
{
    uint64_t depth;

    return conf_option_u64(ctld->conf, CONF_DEPENDENCY_PARAMETERS, "max_depend_depth", &depth)
               ? (unsigned)depth
               : DEPTH_DEFAULT;
}

void depends_later(struct ctld *ctld, uint32_t job_id, int64_t when_us)
{
    must_do(idmap_put(&ctld->dependants->delayed, job_id, (void *)((uintptr_t)when_us + 1)));
}

void depends_watch(struct ctld *ctld, const struct job *j)
{
    struct depends d;

    if (!j->rec->dependency || het_is_follower(j->rec) ||
        depends_parse(j->rec->dependency, &d, NULL) < 0)
        return;
    for (size_t i = 0; i < d.n; i++) {
        if (d.items[i].delay_min)
            depends_later(ctld, j->rec->job_id, 0);
        if (d.items[i].type != DEPEND_SINGLETON) {
            watch_target(ctld, d.items[i].job_id, j->rec->job_id);
        } /* a singleton is found by its name */
    }
    depends_done(&d);
}

/* --kill-on-invalid-dep, else kill_invalid_depend of DependencyParameters. */
static bool kill_when_never(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const char *v;
    size_t len;

    if (r->has_kill_on_invalid_dep)
        return r->kill_on_invalid_dep;
    return conf_option(ctld->conf, CONF_DEPENDENCY_PARAMETERS, "kill_invalid_depend", &v, &len);
}

/* Does task of array, which is ended, settle what the same task of j waits for? */
static bool settles_task(struct ctld *ctld, const struct job *j, uint32_t task)
{
    Pst__JobRecord as_task = *j->rec; /* shallow */
    struct job probe = { .rec = &as_task };
    struct depends d;
    bool changed;
    int64_t until;
    enum depend_result r;

    SET(&as_task, array_task_id, task);
    as_task.array_tasks = NULL;
    if (depends_parse(as_task.dependency, &d, NULL) < 0)
        return false;
    r = depends_eval(&d, ctld->cluster, &probe, core_now(), &changed, &until);
    depends_done(&d);
    return r != DEPEND_WAIT;
}

/* aftercorr: the tasks of array j whose counterparts have ended go their own ways.  ended: the
 * only job that it can be about, 0 = all of the target: an end costs what it changes, however
 * large the arrays are. */
static void split_settled(struct ctld *ctld, uint32_t job_id, uint32_t target, uint32_t ended)
{
    struct job *j = cluster_job(ctld->cluster, job_id);
    const uint32_t *ids = &ended;
    size_t n = ended ? 1 : cluster_array_jobs(ctld->cluster, target, &ids);
    _cleanup_free_ uint32_t *copy = n ? malloc(n * sizeof(*copy)) : NULL;

    if (!copy)
        return;
    memcpy(copy, ids, n * sizeof(*copy)); /* a split may add to the set */
    for (size_t i = 0; i < n && j && job_is_array(j->rec); i++) {
        const struct job *t = cluster_job(ctld->cluster, copy[i]);
        struct job *task;

        if (!t || !t->rec->has_array_task_id || !job_is_ended(t->rec) ||
            !array_contains(j->rec->array_tasks, t->rec->array_task_id) ||
            !settles_task(ctld, j, t->rec->array_task_id))
            continue;
        task = arraysplit_task(ctld, j, t->rec->array_task_id);
        if (!task)
            return; /* disk full: at the next change */
        if (task != j)
            depends_refresh(ctld, task->rec->job_id);
    }
}

/* aftercorr: once the target has moved, the next tasks of array j have records of their own, so
 * that each is seen to wait for its counterpart; no more than correspond_after_task_cnt at a time,
 * however large the array is. */
static void split_next(struct ctld *ctld, uint32_t job_id, uint32_t target)
{
    struct job *j = cluster_job(ctld->cluster, job_id);
    struct array_tally tally;
    uint64_t wanted, own;

    if (!j || !job_is_array(j->rec) || !cluster_array_tally(ctld->cluster, target).living)
        return;
    if (!conf_option_u64(ctld->conf, CONF_SCHEDULER_PARAMETERS, "correspond_after_task_cnt",
                         &wanted))
        wanted = OWN_RECORDS_DEFAULT;
    tally = cluster_array_tally(ctld->cluster, job_id);
    own = tally.living - tally.running - 1; /* but for the record of the others */
    for (; own < wanted && j && job_is_array(j->rec); own++)
        if (!arraysplit_task(ctld, j, array_first(j->rec->array_tasks)))
            return; /* disk full: at the next change */
}

static void split_array(struct ctld *ctld, uint32_t job_id, uint32_t ended)
{
    const struct job *j = cluster_job(ctld->cluster, job_id);
    struct depends d;

    if (!j || !job_is_pending(j->rec) || !job_is_array(j->rec) || !j->rec->dependency ||
        !strstr(j->rec->dependency, "aftercorr") || depends_parse(j->rec->dependency, &d, NULL) < 0)
        return;
    for (size_t i = 0; i < d.n; i++)
        if (d.items[i].type == DEPEND_AFTERCORR && !d.items[i].has_task) {
            split_settled(ctld, job_id, d.items[i].job_id, ended);
            if (ended || cluster_array_tally(ctld->cluster, d.items[i].job_id).started)
                split_next(ctld, job_id, d.items[i].job_id);
        }
    depends_done(&d);
}

/* From when on a job could run that waits for no other any more. */
static void note_eligible(const Pst__JobRecord *r, Pst__JobRecord *set)
{
    if (!r->has_eligible_us && !job_is_held(r))
        SET(set, eligible_us, MAX(core_now(), r->has_begin_us ? r->begin_us : 0));
}

void depends_tell_components(struct ctld *ctld, Pst__Transaction *tx, const struct job *leader,
                             const char *text)
{
    uint32_t n = het_is_leader(leader->rec) ? leader->rec->het_count : 0;

    for (uint32_t k = 1; k < n; k++) {
        const struct job *part = het_component(ctld->cluster, leader->rec, k);
        Pst__JobRecord *set;

        if (!part || !job_is_pending(part->rec))
            continue;
        set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, part->rec->job_id);
        if (text) {
            set->dependency = tx_strdup(text);
        } else {
            tx_clear(tx, JOB_F_DEPENDENCY);
            note_eligible(part->rec, set);
        }
    }
}

static void refresh_job(struct ctld *ctld, uint32_t job_id, uint32_t ended)
{
    struct job *j;
    struct depends d;
    enum depend_result res;
    bool changed, says_never;
    int64_t until;
    Pst__Transaction *tx;
    Pst__JobRecord *set;

    split_array(ctld, job_id, ended);
    j = cluster_job(ctld->cluster, job_id);
    if (!j || !job_is_pending(j->rec) || !j->rec->dependency || het_is_follower(j->rec) ||
        depends_parse(j->rec->dependency, &d, NULL) < 0)
        return;
    res = depends_eval(&d, ctld->cluster, j, core_now(), &changed, &until);
    if (res == DEPEND_WAIT && until != INT64_MAX)
        depends_later(ctld, job_id, until);
    else if (ctld->dependants->delayed.count)
        (void)idmap_remove(&ctld->dependants->delayed, job_id);
    /* not yet said of a job that was held when its target ended */
    says_never = res == DEPEND_NEVER && !job_is_held(j->rec) &&
                 !(j->rec->has_reason &&
                   j->rec->reason == PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED);
    if (changed || says_never) {
        log_flag(DEPENDENCY, "JobId=%u %s %s", job_id,
                 res == DEPEND_MET     ? "waits for no job any more, it had"
                 : res == DEPEND_NEVER ? "will never start, with"
                                       : "waits on, of",
                 j->rec->dependency);
        tx = tx_new(core_now());
        set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, job_id);
        if (res == DEPEND_MET) {
            tx_clear(tx, JOB_F_DEPENDENCY);
            note_eligible(j->rec, set);
            depends_tell_components(ctld, tx, j, NULL);
        } else {
            _cleanup_free_ char *text = NULL;

            if (depends_format(&d, &text) == 0)
                (void)pb_set_str(&set->dependency, text); /* -ENOMEM: keeps the old text */
            if (says_never) {
                SET(set, reason, PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED);
                mail_invalid_depend(ctld, j);
            }
            if (text)
                depends_tell_components(ctld, tx, j, text);
        }
        (void)core_commit(ctld, tx); /* disk full: asked again at the next change */
    }
    depends_done(&d);
    if (res == DEPEND_NEVER && kill_when_never(ctld, j->rec))
        (void)lifecycle_end(
            ctld, j,
            &(struct job_end){ .state = JOB_STATE(CANCELLED),
                               .reason = PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED });
}

void depends_refresh(struct ctld *ctld, uint32_t job_id)
{
    refresh_job(ctld, job_id, 0);
}

void depends_submitted(struct ctld *ctld, uint32_t job_id)
{
    struct job *j = cluster_job(ctld->cluster, job_id);

    if (!j)
        return;
    depends_watch(ctld, j);
    if (j->rec->has_reason && j->rec->reason == PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED)
        mail_invalid_depend(ctld, j); /* known with the submission */
    refresh_job(ctld, job_id, 0);
}

/* Drop from a list the jobs that do not wait any more. */
static void prune_list(struct ctld *ctld, struct idlist *l)
{
    size_t kept = 0;

    for (size_t i = 0; l && i < l->n; i++) {
        const struct job *j = cluster_job(ctld->cluster, l->ids[i]);

        if (j && job_is_pending(j->rec) && j->rec->dependency)
            l->ids[kept++] = l->ids[i];
    }
    if (l)
        l->n = kept;
}

/* What a refresh of the job costs: its text is read and looked at item by item. */
static uint32_t refresh_cost(const struct ctld *ctld, uint32_t job_id)
{
    const struct job *j = cluster_job(ctld->cluster, job_id);

    return j && job_is_pending(j->rec) && j->rec->dependency
               ? 20 + (uint32_t)strlen(j->rec->dependency) / 16
               : 1;
}

/* Take the dependants of id on. */
static void take_target(struct ctld *ctld, uint32_t id, uint32_t ended)
{
    struct dependants *w = ctld->dependants;
    const struct idlist *l = idmap_get(&w->by_target, id);

    if (!l || !l->n)
        return;
    w->queue.ids =
        malloc(l->n * sizeof(*w->queue.ids)); /* a refresh may end a job and change the list */
    if (!w->queue.ids)
        return;
    memcpy(w->queue.ids, l->ids, l->n * sizeof(*w->queue.ids));
    w->queue.n = l->n;
    w->queue.at = 0;
    w->queue.target = id;
    w->queue.ended = ended;
}

static void end_target(struct ctld *ctld)
{
    struct dependants *w = ctld->dependants;
    struct idlist *l = idmap_get(&w->by_target, w->queue.target);

    free(w->queue.ids);
    w->queue.ids = NULL;
    prune_list(ctld, l);
    if (l && !l->n) {
        (void)idmap_remove(&w->by_target, w->queue.target);
        idlist_free(l);
    }
}

/* The first of those with the same user and name can go, if it has waited for this one. */
static void changed_name(struct ctld *ctld, const Pst__JobRecord *r)
{
    const struct job *first;
    uint32_t active;

    /* asked before the others are put in order: a thousand lost jobs would do so one by one */
    if (!r->name || cluster_named_active(ctld->cluster, r->uid, r->name))
        return;
    first = cluster_named_first(ctld->cluster, r->uid, r->name, &active);
    if (first && first->rec->dependency && strstr(first->rec->dependency, "singleton"))
        depends_refresh(ctld, first->rec->job_id);
}

/* The next part of the event at hand. */
static void take_event(struct ctld *ctld)
{
    struct dependants *w = ctld->dependants;
    uint32_t id = w->events.ids[w->queue.event];
    const struct job *j = cluster_job(ctld->cluster, id);
    uint32_t group = j ? het_group_id(j->rec) : 0, ended = j && j->rec->has_array_task_id ? id : 0;

    if (w->queue.stage == STAGE_ID) {
        take_target(ctld, id, ended);
        w->queue.stage = STAGE_GROUP;
    } else if (w->queue.stage == STAGE_GROUP) {
        if (group && group != id)
            take_target(ctld, group, het_is(j->rec) ? 0 : ended);
        w->queue.stage = STAGE_NAME;
    } else {
        if (j)
            changed_name(ctld, j->rec);
        w->queue.stage = STAGE_ID;
        w->queue.event++;
    }
}

/* True at the end, false when the turn is spent. */
static bool work_off(struct ctld *ctld)
{
    struct dependants *w = ctld->dependants;
    struct budget b = { 0 };

    while (w->queue.ids || w->queue.event < w->events.n) {
        if (budget_turn_over(&b))
            return false;
        if (!w->queue.ids) {
            budget_spend(&b, 2);
            take_event(ctld);
        } else if (w->queue.at == w->queue.n) {
            end_target(ctld);
        } else {
            uint32_t id = w->queue.ids[w->queue.at++];

            budget_spend(&b, refresh_cost(ctld, id));
            refresh_job(ctld, id, w->queue.ended);
        }
    }
    w->events.n = w->queue.event = 0;
    return true;
}

static void work_queue(void *arg)
{
    struct ctld *ctld = arg;
    struct dependants *w = ctld->dependants;
    const struct cmd own = { .kind = CMD_CALL };

    w->queue.posted = false;
    w->queue.working = true;
    while (!work_off(ctld) && !w->queue.posted)
        w->queue.posted =
            core_again(ctld, &own, work_queue, NULL, ctld); /* out of memory: on at once */
    w->queue.working = false;
}

void depends_changed(struct ctld *ctld, const struct job *target)
{
    struct dependants *w = ctld->dependants;

    idlist_push(&w->events, target->rec->job_id);
    if (!w->queue.working && !w->queue.posted)
        work_queue(ctld);
}

bool depends_array_awaited(struct ctld *ctld, uint32_t array_job_id)
{
    const struct idlist *l = idmap_get(&ctld->dependants->by_target, array_job_id);

    return l && l->n && cluster_array_tally(ctld->cluster, array_job_id).living;
}

void depends_tick(struct ctld *ctld, int64_t now_us)
{
    struct dependants *w = ctld->dependants;
    _cleanup_free_ uint32_t *due =
        w->delayed.count ? malloc(w->delayed.count * sizeof(*due)) : NULL;
    struct budget b = { 0 };
    size_t n = 0;

    for (size_t pos = 0; due && pos < w->delayed.cap; pos++) {
        uint64_t id = w->delayed.keys[pos];

        if (id && id != UINT64_MAX && (int64_t)((uintptr_t)w->delayed.values[pos] - 1) <= now_us)
            due[n++] = (uint32_t)id;
    }
    for (size_t i = 0; i < n && !budget_turn_over(&b); i++) { /* the others at the next tick */
        budget_spend(&b, refresh_cost(ctld, due[i]));
        (void)idmap_remove(&w->delayed, due[i]);
        refresh_job(ctld, due[i], 0);
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_dependants(struct ctld *ctld, struct err *err)
{
    (void)err;
    ctld->dependants = calloc(1, sizeof(*ctld->dependants));
    return ctld->dependants ? 0 : -ENOMEM;
}

static void free_dependants(struct ctld *ctld)
{
    struct dependants *w = ctld->dependants;
    void *v;

    if (!w)
        return;
    for (size_t pos = 0; (v = idmap_next(&w->by_target, &pos));)
        idlist_free(v);
    idmap_done(&w->by_target);
    idmap_done(&w->delayed);
    free(w->events.ids);
    free(w->queue.ids);
    free(w);
    ctld->dependants = NULL;
}

static void look_at_start(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    (void)lsn;
    depends_changed(ctld, j);
}

static void look_at(struct ctld *ctld, struct job *j)
{
    depends_changed(ctld, j);
}

static void watch_split(struct ctld *ctld, struct job *j)
{
    depends_watch(ctld, j);
}

const struct ctld_service depends_service = {
    .name = "depends",
    .start = start_dependants,
    .free = free_dependants,
    .tick_slow = depends_tick,
    .job_started = look_at_start,
    .job_ended = look_at_start,
    .job_cleaned = look_at,
    .job_split = watch_split,
    .job_changed = look_at,
};
