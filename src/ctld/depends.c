/* depends.c - keeping dependencies true; see depends.h.
 *
 * An index from target (job or array id) to the jobs that wait for it; entries are removed lazily.  What a change
 * sets in motion (the end of a job that waits, which others wait for) is a queue, not a recursion: chains are as
 * long as users make them. */
#include "ctld/depends.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pbutil.h"
#include "ctld/het.h"
#include "ctld/lifecycle.h"
#include "ctld/mail.h"
#include "model/array.h"
#include "model/depend.h"

static struct idlist delayed; /* jobs with an instant to ask again at; core thread only */
static struct idlist events;  /* jobs that something happened to, to be looked into; core thread only */
static bool working;          /* depends_changed() looks into them */

/* As idlist_add(); an id may be there twice. */
static void idlist_push(struct idlist *l, uint32_t id)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 4;
        uint32_t *bigger = realloc(l->ids, cap * sizeof(*bigger));

        if (!bigger) {
            log_fatal("out of memory while tracking dependencies");
            abort();
        }
        l->ids = bigger;
        l->cap = cap;
    }
    l->ids[l->n++] = id;
}

void idlist_add(struct idlist *l, uint32_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ids[i] == id)
            return;
    idlist_push(l, id);
}

void idlist_free(struct idlist *l)
{
    if (!l)
        return;
    free(l->ids);
    free(l);
}

static void watch_target(struct ctld *ctld, uint32_t target, uint32_t job_id)
{
    struct idlist *l = idmap_get(&ctld->dependants, target);

    if (!l) {
        l = calloc(1, sizeof(*l));
        if (!l || idmap_put(&ctld->dependants, target, l) < 0) {
            log_fatal("out of memory while tracking dependencies");
            abort();
        }
    }
    idlist_add(l, job_id);
}

void depends_watch(struct ctld *ctld, const struct job *j)
{
    struct depends d;

    if (!j->rec->dependency || depends_parse(j->rec->dependency, &d, NULL) < 0)
        return;
    for (size_t i = 0; i < d.n; i++) {
        if (d.items[i].delay_min)
            idlist_add(&delayed, j->rec->job_id);
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
static bool settled(struct ctld *ctld, const struct job *j, uint32_t task)
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

/* aftercorr: the tasks of array j whose counterparts have ended go their own ways.  ended: the only job that it can
 * be about, 0 = all of the target: an end costs what it changes, however large the arrays are. */
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
            !settled(ctld, j, t->rec->array_task_id))
            continue;
        task = lifecycle_split(ctld, j, t->rec->array_task_id);
        if (!task)
            return; /* disk full: at the next change */
        if (task != j)
            depends_refresh(ctld, task->rec->job_id);
    }
}

static void split_array(struct ctld *ctld, uint32_t job_id, uint32_t ended)
{
    const struct job *j = cluster_job(ctld->cluster, job_id);
    struct depends d;

    if (!j || !job_is_pending(j->rec) || !job_is_array(j->rec) || !j->rec->dependency ||
        !strstr(j->rec->dependency, "aftercorr") || depends_parse(j->rec->dependency, &d, NULL) < 0)
        return;
    for (size_t i = 0; i < d.n; i++)
        if (d.items[i].type == DEPEND_AFTERCORR && !d.items[i].has_task)
            split_settled(ctld, job_id, d.items[i].job_id, ended);
    depends_done(&d);
}

static void refresh(struct ctld *ctld, uint32_t job_id, uint32_t ended)
{
    struct job *j;
    struct depends d;
    enum depend_result res;
    bool changed;
    int64_t until;
    Pst__Transaction *tx;
    Pst__JobRecord *set;

    split_array(ctld, job_id, ended);
    j = cluster_job(ctld->cluster, job_id);
    if (!j || !job_is_pending(j->rec) || !j->rec->dependency ||
        depends_parse(j->rec->dependency, &d, NULL) < 0)
        return;
    res = depends_eval(&d, ctld->cluster, j, core_now(), &changed, &until);
    if (changed) {
        tx = tx_new(core_now());
        set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, job_id);
        if (res == DEPEND_MET) {
            tx_clear(tx, 102); /* dependency */
            if (!j->rec->has_eligible_us && !job_is_held(j->rec))
                SET(set, eligible_us, MAX(core_now(), j->rec->has_begin_us ? j->rec->begin_us : 0));
        } else {
            _cleanup_free_ char *text = NULL;

            if (depends_format(&d, &text) == 0)
                (void)pb_set_str(&set->dependency, text); /* -ENOMEM: keeps the old text */
            if (res == DEPEND_NEVER && !job_is_held(j->rec)) {
                SET(set, reason, PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED);
                mail_invalid_depend(ctld, j);
            }
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
    refresh(ctld, job_id, 0);
}

static void refresh_list(struct ctld *ctld, const struct idlist *l, uint32_t ended)
{
    _cleanup_free_ uint32_t *copy = NULL;
    size_t n = l ? l->n : 0;

    if (!n)
        return;
    copy = malloc(n * sizeof(*copy)); /* a refresh may end a job and change the list */
    if (!copy)
        return;
    memcpy(copy, l->ids, n * sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        refresh(ctld, copy[i], ended);
}

/* Drop from a list the jobs that do not wait any more. */
static void prune(struct ctld *ctld, struct idlist *l)
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

static void changed_id(struct ctld *ctld, uint32_t id, uint32_t ended)
{
    struct idlist *l = idmap_get(&ctld->dependants, id);

    if (!l)
        return;
    refresh_list(ctld, l, ended);
    prune(ctld, l);
    if (!l->n) {
        (void)idmap_remove(&ctld->dependants, id);
        idlist_free(l);
    }
}

/* The first of those with the same user and name can go, if it has waited for this one. */
static void changed_name(struct ctld *ctld, const Pst__JobRecord *r)
{
    uint32_t active;
    const struct job *first = r->name ? cluster_named_first(ctld->cluster, r->uid, r->name, &active) : NULL;

    if (first && !active && first->rec->dependency && strstr(first->rec->dependency, "singleton"))
        depends_refresh(ctld, first->rec->job_id);
}

void depends_changed(struct ctld *ctld, const struct job *target)
{
    idlist_push(&events, target->rec->job_id);
    if (working)
        return;
    working = true;
    for (size_t i = 0; i < events.n; i++) {
        const struct job *j = cluster_job(ctld->cluster, events.ids[i]);
        uint32_t id = events.ids[i], array = j ? het_group_id(j->rec) : 0, ended;

        ended = j && j->rec->has_array_task_id ? id : 0;
        changed_id(ctld, id, ended);
        if (array && array != id)
            changed_id(ctld, array, het_is(j->rec) ? 0 : ended);
        if (j)
            changed_name(ctld, j->rec);
    }
    events.n = 0;
    working = false;
}

bool depends_array_awaited(struct ctld *ctld, uint32_t array_job_id)
{
    const struct idlist *l = idmap_get(&ctld->dependants, array_job_id);

    return l && l->n && cluster_array_tally(ctld->cluster, array_job_id).living;
}

void depends_tick(struct ctld *ctld, int64_t now_us)
{
    (void)now_us;
    if (!delayed.n)
        return;
    refresh_list(ctld, &delayed, 0);
    prune(ctld, &delayed);
}

void depends_clear(struct ctld *ctld)
{
    void *v;

    for (size_t pos = 0; (v = idmap_next(&ctld->dependants, &pos));)
        idlist_free(v);
    idmap_done(&ctld->dependants);
    free(delayed.ids);
    free(events.ids);
    delayed = events = (struct idlist){ 0 };
}
