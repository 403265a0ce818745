/* apply.c - cluster_apply(): the only place where the cluster changes
 *
 * A job's contribution to what is derived (counts, lists, node usage) is taken out before its
 * record changes and put back after, so that no event needs to know what another one implied. */
#include "model/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "model/array.h"
#include "model/cluster_private.h"
#include "model/gresuse.h"
#include "model/job.h"
#include "model/sharing.h"
#include "model/payers.h"
#include "fields.h"

#define DONE_SEARCH_MAX 1000u /* jobs passed by before the list is left unsorted */

/* ---- derived state of jobs ------------------------------------------------------------------- */

/* Jobs that keep to their label have nodes on which it is the only one. */
static void usage_label(struct node *n, const Pst__JobRecord *r, bool add)
{
    if (!r->mcs_select || !r->mcs_label)
        return;
    n->mcs_jobs += add ? 1u : -1u;
    if (n->mcs_jobs && n->mcs_label && strcmp(n->mcs_label, r->mcs_label) == 0)
        return;
    free(n->mcs_label);
    n->mcs_label = n->mcs_jobs ? strdup(r->mcs_label) : NULL;
}

/* Jobs that share their nodes with their user's only. */
static void usage_owner(struct node *n, const Pst__JobRecord *r, bool add)
{
    if (r->exclusive != EXCLUSIVE_USER)
        return;
    n->owner_jobs += add ? 1u : -1u;
    n->owner_uid = r->uid;
}

static void usage_change(struct cluster *c, const struct job *j, bool add)
{
    const Pst__Alloc *a = j->rec->alloc;
    bool ended = job_is_ended(j->rec), suspended = job_is_suspended(j->rec);
    size_t pos = 0;

    for (size_t g = 0; g < a->n_groups; g++) {
        const Pst__AllocGroup *grp = a->groups[g];
        uint32_t cpus = suspended ? 0 : grp->cpus;

        for (uint32_t i = 0; i < grp->nodes && pos < a->n_node_ids; i++, pos++) {
            struct node *n = cluster_node(c, a->node_ids[pos]);

            if (!n)
                continue; /* removed by an administrator meanwhile */
            n->jobs += add ? 1u : -1u;
            if (!add && !n->jobs && c->apply_us) {
                n->rec->has_last_busy_us = true;
                n->rec->last_busy_us = c->apply_us;
            }
            n->jobs_completing += ended ? (add ? 1u : -1u) : 0u;
            n->alloc_cpus += add ? cpus : -cpus;
            n->alloc_mem_mib += add ? grp->mem_mib : -grp->mem_mib;
            (void)gresuse_change(&n->gres_used, grp, add); /* only shown */
            usage_label(n, j->rec, add);
            usage_owner(n, j->rec, add);
            if (c->observer && c->observer->node)
                c->observer->node(c->observer->ctx, n, PST__EVENT_KIND__EV_UNSPECIFIED);
        }
    }
}

/* A node came whose id j's allocation names already: it had been removed under the job. */
static void usage_of_node(const struct job *j, struct node *n)
{
    const Pst__Alloc *a = j->rec->alloc;
    bool ended = job_is_ended(j->rec), suspended = job_is_suspended(j->rec);
    size_t pos = 0;

    for (size_t g = 0; g < a->n_groups; g++) {
        for (uint32_t i = 0; i < a->groups[g]->nodes && pos < a->n_node_ids; i++, pos++) {
            if (a->node_ids[pos] != n->rec->node_id)
                continue;
            n->jobs++;
            n->jobs_completing += ended;
            n->alloc_cpus += suspended ? 0 : a->groups[g]->cpus;
            n->alloc_mem_mib += a->groups[g]->mem_mib;
            (void)gresuse_change(&n->gres_used, a->groups[g], true);
            usage_label(n, j->rec, true);
            usage_owner(n, j->rec, true);
        }
    }
}

static void active_link(struct cluster *c, struct job *j)
{
    j->prev_active = NULL;
    j->next_active = c->active;
    if (c->active)
        c->active->prev_active = j;
    c->active = j;
    j->in_active = true;
}

static void active_unlink(struct cluster *c, struct job *j)
{
    if (j->prev_active)
        j->prev_active->next_active = j->next_active;
    else
        c->active = j->next_active;
    if (j->next_active)
        j->next_active->prev_active = j->prev_active;
    j->in_active = false;
}

/* Kept in order of end; jobs end roughly in order, so the search from the tail is short.  Where
 * it is not (a snapshot's order is that of submission), order waits until somebody asks:
 * cluster_done_oldest(). */
static void done_link(struct cluster *c, struct job *j)
{
    struct job *after = c->done_tail;

    for (unsigned i = 0; !c->done_unsorted && after && after->rec->end_us > j->rec->end_us; i++) {
        after = after->prev_done;
        c->done_unsorted = i >= DONE_SEARCH_MAX;
    }
    if (c->done_unsorted)
        after = c->done_tail;
    j->prev_done = after;
    j->next_done = after ? after->next_done : c->done_head;
    if (j->next_done)
        j->next_done->prev_done = j;
    else
        c->done_tail = j;
    if (after)
        after->next_done = j;
    else
        c->done_head = j;
    j->in_done = true;
}

static void done_unlink(struct cluster *c, struct job *j)
{
    if (j->prev_done)
        j->prev_done->next_done = j->next_done;
    else
        c->done_head = j->next_done;
    if (j->next_done)
        j->next_done->prev_done = j->prev_done;
    else
        c->done_tail = j->prev_done;
    j->in_done = false;
}

/* Where it stands is still right. */
static bool done_in_place(const struct job *j)
{
    return (!j->prev_done || j->prev_done->rec->end_us <= j->rec->end_us) &&
           (!j->next_done || j->next_done->rec->end_us >= j->rec->end_us);
}

static struct job *merge_done(struct job *a, struct job *b)
{
    struct job *head = NULL, **at = &head;

    while (a && b) {
        struct job **first = b->rec->end_us < a->rec->end_us ? &b : &a;

        *at = *first;
        at = &(*at)->next_done;
        *first = (*first)->next_done;
    }
    *at = a ? a : b;
    return head;
}

/* Merge sort, bottom up: runs[i] is a sorted list of 2^i jobs, older ones in higher rows. */
static void sort_done(struct cluster *c)
{
    struct job *runs[32] = { NULL }, *list = c->done_head, *prev = NULL;
    size_t i;

    while (list) {
        struct job *run = list;

        list = list->next_done;
        run->next_done = NULL;
        for (i = 0; i < ARRAY_SIZE(runs) - 1 && runs[i]; i++) {
            run = merge_done(runs[i], run);
            runs[i] = NULL;
        }
        runs[i] = merge_done(runs[i], run);
    }
    for (i = 0; i < ARRAY_SIZE(runs); i++)
        list = merge_done(runs[i], list);
    c->done_head = list;
    for (struct job *j = list; j; prev = j, j = j->next_done)
        j->prev_done = prev;
    c->done_tail = prev;
    c->done_unsorted = false;
}

struct job *cluster_done_oldest(struct cluster *c)
{
    if (c->done_unsorted)
        sort_done(c);
    return c->done_head;
}

static uint32_t tasks_beyond(const Pst__JobRecord *r)
{
    uint32_t n = job_is_array(r) && job_is_pending(r) ? array_count(r->array_tasks) : 0;

    return n ? n - 1 : 0;
}

static void job_attach(struct cluster *c, struct job *j)
{
    bool holds = job_holds_resources(j->rec), done = !holds && job_is_ended(j->rec);

    c->njobs_state[job_state(j->rec)]++;
    c->tasks_beyond += tasks_beyond(j->rec);
    model_tally(c, j->rec, true);
    model_usage_job(c, j->rec, true);
    model_charge(c, j, true);
    if (j->in_done && (!done || !done_in_place(j))) /* before it comes into another list */
        done_unlink(c, j);
    if (holds) {
        j->counted = true;
        usage_change(c, j, true);
        active_link(c, j);
    }
    if (done && !j->in_done)
        done_link(c, j);
}

/* The way back: before its record changes.  Its place among the ended is job_attach()'s to
 * judge. */
static void job_detach(struct cluster *c, struct job *j)
{
    c->njobs_state[job_state(j->rec)]--;
    c->tasks_beyond -= tasks_beyond(j->rec);
    model_tally(c, j->rec, false);
    model_usage_job(c, j->rec, false);
    model_charge(c, j, false);
    if (j->counted) {
        j->counted = false;
        usage_change(c, j, false);
    }
    if (j->in_active)
        active_unlink(c, j);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int array_add(struct cluster *c, const Pst__JobRecord *r)
{
    struct idset *set;

    if (!r->has_array_job_id || !r->array_job_id)
        return 0;
    set = idmap_get(&c->arrays, r->array_job_id);
    if (!set || set->head + set->n == set->cap) {
        size_t cap = set ? set->cap * 2 : 4;
        struct idset *bigger = realloc(set, sizeof(*set) + cap * sizeof(set->ids[0]));

        if (!bigger)
            return -ENOMEM;
        if (!set)
            *bigger = (struct idset){ 0 };
        bigger->cap = cap;
        set = bigger;
        if (idmap_put(&c->arrays, r->array_job_id, set) < 0)
            return -ENOMEM;
    }
    set->ids[set->head + set->n++] = r->job_id;
    return 0;
}

static void array_remove(struct cluster *c, const Pst__JobRecord *r)
{
    struct idset *set = r->has_array_job_id ? idmap_get(&c->arrays, r->array_job_id) : NULL;

    for (size_t i = 0; set && i < set->n; i++) {
        uint32_t *ids = set->ids + set->head;

        if (ids[i] != r->job_id)
            continue;
        if (i < set->n / 2) { /* near the front, where those that ended first are */
            memmove(&ids[1], &ids[0], i * sizeof(ids[0]));
            set->head++;
        } else {
            memmove(&ids[i], &ids[i + 1], (set->n - i - 1) * sizeof(ids[0]));
        }
        set->n--;
        break;
    }
    if (set && set->n == 0) {
        (void)idmap_remove(&c->arrays, r->array_job_id);
        free(set->parts);
        free(set);
    }
}

static void notify_job(struct cluster *c, struct job *j, Pst__EventKind kind)
{
    if (c->observer && c->observer->job)
        c->observer->job(c->observer->ctx, j, kind);
}

/* The counters have a row a state. */
static bool state_known(const struct cluster *c, const Pst__JobRecord *r)
{
    return (unsigned)job_state(r) < ARRAY_SIZE(c->njobs_state);
}

static uint32_t cost_of(const Pst__JobRecord *rec)
{
    size_t cost = payers_cost(protobuf_c_message_get_packed_size(&rec->base));

    return (uint32_t)MIN(cost, UINT32_MAX);
}

/* A record for a job: a copy of `rec`, or that itself.  On failure j->rec may be set. */
static int own_record(struct cluster *c, struct job *j, const Pst__JobRecord *rec)
{
    if (!c->taking)
        return model_own(c, rec, &j->rec);
    c->taken++;
    j->rec = (Pst__JobRecord *)(uintptr_t)rec; /* the transaction is not const then */
    return model_adopt(c, j->rec);
}

static int apply_job_put(struct cluster *c, const Pst__JobRecord *rec, Pst__EventKind kind,
                         struct err *err)
{
    struct job *j;

    if (!rec->has_job_id || !rec->job_id)
        return err_set(err, -EUCLEAN, "job record without an id");
    if (!state_known(c, rec))
        return err_set(err, -EUCLEAN, "job %u: state %d is unknown", rec->job_id, (int)rec->state);
    if (cluster_job(c, rec->job_id))
        return err_set(err, -EUCLEAN, "job %u: put twice", rec->job_id);
    j = calloc(1, sizeof(*j));
    if (!j || own_record(c, j, rec) < 0) {
        model_job_free(c, j);
        return -ENOMEM;
    }
    rec = j->rec;
    if (idmap_put(&c->jobs, rec->job_id, j) < 0 || array_add(c, j->rec) < 0) {
        (void)idmap_remove(&c->jobs, rec->job_id);
        model_job_free(c, j);
        return -ENOMEM;
    }
    model_job_blobs(c, j->rec, +1);
    j->payer = rec->uid;
    j->cost = c->small ? 0 : cost_of(rec);
    payers_add(c, j->payer, j->cost);
    job_attach(c, j);
    if (model_name(c, j) < 0 || model_find_put(c, j) < 0)
        return -ENOMEM;
    notify_job(c, j, kind);
    return 0;
}

/* Is the field among those that become absent? */
static bool clears_field(size_t nclear, const uint32_t *clear, uint32_t number)
{
    for (size_t i = 0; i < nclear; i++)
        if (clear[i] == number)
            return true;
    return false;
}

static int merge_and_clear(ProtobufCMessage *dst, const ProtobufCMessage *set, size_t nclear,
                           const uint32_t *clear)
{
    int r = set ? pb_merge(dst, set) : 0;

    for (size_t i = 0; r >= 0 && i < nclear; i++)
        (void)pb_clear(dst, clear[i]); /* a field of a newer release: nothing to clear here */
    return r;
}

/* What the record names elsewhere follows the record.  Its old names of blobs; NULL: they are
 * the same. */
static int job_names_changed(struct cluster *c, struct job *j, const Pst__JobRecord *old,
                             const struct blob_names *blobs)
{
    bool moved = old->has_array_job_id != j->rec->has_array_job_id ||
                 (old->has_array_job_id && old->array_job_id != j->rec->array_job_id);

    if (blobs) {
        model_job_blobs(c, j->rec, +1); /* before the old ones go: they may be the same */
        model_blob_refs(c, blobs, j->rec->uid, -1);
    }
    if (!moved)
        return 0;
    /* before its array may go; it is put again with the record as it is now */
    model_find_remove(c, j);
    array_remove(c, old);
    return array_add(c, j->rec);
}

static bool names_blobs(const Pst__JobPatch *p)
{
    const Pst__JobRecord *set = p->set;

    return p->n_clear || (set && (set->has_script_digest || set->has_env_digest ||
                                  set->has_script_hash || set->has_env_hash));
}

static int apply_job_patch(struct cluster *c, const Pst__JobPatch *p, Pst__EventKind kind,
                           struct err *err)
{
    struct job *j = cluster_job(c, p->job_id);
    bool renamed = names_blobs(p);
    struct blob_names blobs;
    Pst__JobRecord old;
    uint64_t shared;
    int r;

    if (!j)
        return err_set(err, -EUCLEAN, "job %u: changed but unknown", p->job_id);
    if ((p->set && p->set->has_job_id && p->set->job_id != p->job_id) ||
        clears_field(p->n_clear, p->clear, JOB_F_JOB_ID))
        return err_set(err, -EUCLEAN, "job %u: an id cannot change", p->job_id);
    if (p->set && !state_known(c, p->set))
        return err_set(err, -EUCLEAN, "job %u: state %d is unknown", p->job_id, (int)p->set->state);
    job_detach(c, j);
    if ((p->set && (p->set->name || p->set->has_uid)) ||
        clears_field(p->n_clear, p->clear, JOB_F_NAME))
        model_unname(c, j);
    if (renamed)
        model_blob_names(j->rec, &blobs);
    shared = model_unshare_patched(c, j->rec, p);
    old = *j->rec; /* shallow: of it, only numbers are read afterwards */
    r = merge_and_clear(&j->rec->base, p->set ? &p->set->base : NULL, p->n_clear, p->clear);
    if (shared && model_share_some(c, j->rec, shared) < 0) /* whatever was merged */
        r = -ENOMEM;
    if (r >= 0 && p->array_take)
        r = array_take(&j->rec->array_tasks, p->array_take);
    if (r >= 0)
        r = job_names_changed(c, j, &old, renamed ? &blobs : NULL);
    model_unname_moved(c, j);
    job_attach(c, j);
    if (r >= 0)
        r = model_name(c, j);
    if (r >= 0)
        r = model_find_put(c, j);
    if (r < 0)
        return r;
    notify_job(c, j, kind);
    return 0;
}

static int apply_job_purge(struct cluster *c, uint32_t job_id, struct err *err)
{
    struct job *j = cluster_job(c, job_id);

    if (!j)
        return err_set(err, -EUCLEAN, "job %u: purged but unknown", job_id);
    if (c->observer && c->observer->job_gone)
        c->observer->job_gone(c->observer->ctx, j);
    job_detach(c, j);
    if (j->in_done)
        done_unlink(c, j);
    model_unname(c, j);
    model_find_remove(c, j);
    array_remove(c, j->rec);
    model_job_blobs(c, j->rec, -1);
    payers_sub(c, j->payer, j->cost);
    (void)idmap_remove(&c->jobs, job_id);
    model_job_free(c, j);
    return 0;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int apply_step_put(struct cluster *c, const Pst__StepRecord *rec, Pst__EventKind kind,
                          struct err *err)
{
    struct job *j = cluster_job(c, rec->job_id);
    struct step *s;
    ProtobufCMessage *copy;

    if (!j)
        return err_set(err, -EUCLEAN, "step %u.%u: its job is unknown", rec->job_id, rec->step_id);
    s = cluster_step(j, rec->step_id);
    if (pb_dup(&rec->base, &copy) < 0)
        return -ENOMEM;
    if (s) { /* the batch step of a requeued job */
        pst__step_record__free_unpacked(s->rec, NULL);
    } else {
        s = calloc(1, sizeof(*s));
        if (!s) {
            protobuf_c_message_free_unpacked(copy, NULL);
            return -ENOMEM;
        }
        s->next = j->steps;
        j->steps = s;
    }
    s->rec = (Pst__StepRecord *)copy;
    if (c->observer && c->observer->step)
        c->observer->step(c->observer->ctx, j, s, kind);
    return 0;
}

static int apply_step_patch(struct cluster *c, const Pst__StepPatch *p, Pst__EventKind kind,
                            struct err *err)
{
    struct job *j = cluster_job(c, p->job_id);
    struct step *s = j ? cluster_step(j, p->step_id) : NULL;
    int r;

    if (!s)
        return err_set(err, -EUCLEAN, "step %u.%u: changed but unknown", p->job_id, p->step_id);
    if ((p->set && p->set->has_job_id && p->set->job_id != p->job_id) ||
        (p->set && p->set->has_step_id && p->set->step_id != p->step_id) ||
        clears_field(p->n_clear, p->clear, STEP_F_JOB_ID) ||
        clears_field(p->n_clear, p->clear, STEP_F_STEP_ID))
        return err_set(err, -EUCLEAN, "step %u.%u: an id cannot change", p->job_id, p->step_id);
    r = merge_and_clear(&s->rec->base, p->set ? &p->set->base : NULL, p->n_clear, p->clear);
    if (r < 0)
        return r;
    if (c->observer && c->observer->step)
        c->observer->step(c->observer->ctx, j, s, kind);
    return 0;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int nodes_reserve(struct cluster *c, uint32_t id)
{
    uint32_t n = c->nnodes ? c->nnodes : 16;
    struct node **bigger;

    if (id < c->nnodes)
        return 0;
    while (n <= id)
        n *= 2;
    bigger = realloc(c->nodes, n * sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    memset(bigger + c->nnodes, 0, (n - c->nnodes) * sizeof(*bigger));
    c->nodes = bigger;
    c->nnodes = n;
    return 0;
}

static int apply_node_put(struct cluster *c, const Pst__NodeRecord *rec, Pst__EventKind kind,
                          struct err *err)
{
    struct node *n;
    ProtobufCMessage *copy;

    if (!rec->has_node_id || rec->node_id >= BITMAP_MAX_BITS || !rec->name)
        return err_set(err, -EUCLEAN, "node record without a usable id or name");
    if (cluster_node(c, rec->node_id) || cluster_node_named(c, rec->name))
        return err_set(err, -EUCLEAN, "node %s: put twice", rec->name);
    n = calloc(1, sizeof(*n));
    if (!n || nodes_reserve(c, rec->node_id) < 0 || pb_dup(&rec->base, &copy) < 0) {
        free(n);
        return -ENOMEM;
    }
    n->rec = (Pst__NodeRecord *)copy;
    if (namemap_put(&c->node_names, n->rec->name, n) < 0) {
        model_node_free(n);
        return -ENOMEM;
    }
    c->nodes[rec->node_id] = n;
    for (const struct job *j = c->active; j; j = j->next_active)
        usage_of_node(j, n);
    c->nodes_changed = true;
    if (c->observer && c->observer->node)
        c->observer->node(c->observer->ctx, n, kind);
    return 0;
}

static int apply_node_patch(struct cluster *c, const Pst__NodePatch *p, Pst__EventKind kind,
                            struct err *err)
{
    struct node *n = cluster_node(c, p->node_id);
    int r;

    if (!n)
        return err_set(err, -EUCLEAN, "node id %u: changed but unknown", p->node_id);
    if ((p->set && (p->set->name || (p->set->has_node_id && p->set->node_id != p->node_id))) ||
        clears_field(p->n_clear, p->clear, NODE_F_NODE_ID) ||
        clears_field(p->n_clear, p->clear, NODE_F_NAME))
        return err_set(err, -EUCLEAN, "node %s: its id and name cannot change", n->rec->name);
    r = merge_and_clear(&n->rec->base, p->set ? &p->set->base : NULL, p->n_clear, p->clear);
    if (r < 0)
        return r;
    if (c->observer && c->observer->node)
        c->observer->node(c->observer->ctx, n, kind);
    return 0;
}

static int apply_node_remove(struct cluster *c, uint32_t node_id, struct err *err)
{
    struct node *n = cluster_node(c, node_id);

    if (!n)
        return err_set(err, -EUCLEAN, "node id %u: removed but unknown", node_id);
    if (c->observer && c->observer->node_gone)
        c->observer->node_gone(c->observer->ctx, n);
    (void)namemap_remove(&c->node_names, n->rec->name);
    c->nodes[node_id] = NULL;
    c->nodes_changed = true;
    model_node_free(n);
    return 0;
}

/* ---- partitions ------------------------------------------------------------------------------ */

/* Nodes the list names that are not known are skipped: a node may be removed before its
 * partition is changed. */
static int partition_nodes(struct cluster *c, struct partition *p, struct err *err)
{
    struct hostlist *hl = NULL;
    struct bitmap *bm = NULL;
    int r = hostlist_parse(p->rec->nodes, &hl, err);

    if (r < 0 && r != -ENOMEM) {
        err_prefix(err, "partition %s", p->rec->name);
        return -EUCLEAN;
    }
    if (r < 0)
        return r;
    r = bitmap_new(c->nnodes, &bm);
    for (size_t i = 0; r >= 0 && i < hostlist_count(hl); i++) {
        struct node *n = cluster_node_named(c, hostlist_nth(hl, i));

        if (n)
            bitmap_set(bm, n->rec->node_id);
    }
    hostlist_free(hl);
    if (r < 0)
        return r;
    bitmap_free(p->nodes);
    p->nodes = bm;
    return 0;
}

static int apply_part_put(struct cluster *c, const Pst__PartitionRecord *rec, Pst__EventKind kind,
                          struct err *err)
{
    struct partition *p;
    struct partition **bigger;
    ProtobufCMessage *copy;
    int r;

    if (!rec->name || cluster_partition(c, rec->name))
        return err_set(err, -EUCLEAN, "partition %s: put twice", rec->name ? rec->name : "(null)");
    bigger = realloc(c->parts, (c->nparts + 1) * sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    c->parts = bigger;
    p = calloc(1, sizeof(*p));
    if (!p || pb_dup(&rec->base, &copy) < 0) {
        free(p);
        return -ENOMEM;
    }
    p->rec = (Pst__PartitionRecord *)copy;
    r = partition_nodes(c, p, err);
    if (r < 0) {
        model_partition_free(p);
        return r;
    }
    c->parts[c->nparts++] = p;
    if (c->observer && c->observer->part)
        c->observer->part(c->observer->ctx, p, kind);
    return 0;
}

static int apply_part_patch(struct cluster *c, const Pst__PartPatch *pp, Pst__EventKind kind,
                            struct err *err)
{
    struct partition *p = pp->name ? cluster_partition(c, pp->name) : NULL;
    int r;

    if (!p)
        return err_set(err, -EUCLEAN, "partition %s: changed but unknown",
                       pp->name ? pp->name : "(null)");
    if ((pp->set && pp->set->name && strcmp(pp->set->name, pp->name) != 0) ||
        clears_field(pp->n_clear, pp->clear, PART_F_NAME))
        return err_set(err, -EUCLEAN, "partition %s: a name cannot change", pp->name);
    r = merge_and_clear(&p->rec->base, pp->set ? &pp->set->base : NULL, pp->n_clear, pp->clear);
    if (r < 0)
        return r;
    r = partition_nodes(c, p, err);
    if (r < 0)
        return r;
    if (c->observer && c->observer->part)
        c->observer->part(c->observer->ctx, p, kind);
    return 0;
}

static int apply_part_remove(struct cluster *c, const char *name, struct err *err)
{
    for (size_t i = 0; i < c->nparts; i++) {
        struct partition *p = c->parts[i];

        if (strcmp(p->rec->name, name) != 0)
            continue;
        if (c->observer && c->observer->part_gone)
            c->observer->part_gone(c->observer->ctx, p);
        memmove(&c->parts[i], &c->parts[i + 1], (c->nparts - i - 1) * sizeof(*c->parts));
        c->nparts--;
        model_partition_free(p);
        return 0;
    }
    return err_set(err, -EUCLEAN, "partition %s: removed but unknown", name);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int apply_event(struct cluster *c, const Pst__Event *ev, struct err *err)
{
    Pst__EventKind kind = ev->has_kind ? ev->kind : PST__EVENT_KIND__EV_UNSPECIFIED;

    switch (ev->body_case) {
    case PST__EVENT__BODY_JOB_PUT:
        return apply_job_put(c, ev->job_put, kind, err);
    case PST__EVENT__BODY_JOB_PATCH:
        return apply_job_patch(c, ev->job_patch, kind, err);
    case PST__EVENT__BODY_JOB_PURGE:
        return apply_job_purge(c, ev->job_purge, err);
    case PST__EVENT__BODY_STEP_PUT:
        return apply_step_put(c, ev->step_put, kind, err);
    case PST__EVENT__BODY_STEP_PATCH:
        return apply_step_patch(c, ev->step_patch, kind, err);
    case PST__EVENT__BODY_NODE_PUT:
        return apply_node_put(c, ev->node_put, kind, err);
    case PST__EVENT__BODY_NODE_PATCH:
        return apply_node_patch(c, ev->node_patch, kind, err);
    case PST__EVENT__BODY_NODE_REMOVE:
        return apply_node_remove(c, ev->node_remove, err);
    case PST__EVENT__BODY_PART_PUT:
        return apply_part_put(c, ev->part_put, kind, err);
    case PST__EVENT__BODY_PART_PATCH:
        return apply_part_patch(c, ev->part_patch, kind, err);
    case PST__EVENT__BODY_PART_REMOVE:
        return apply_part_remove(c, ev->part_remove, err);
    case PST__EVENT__BODY_BLOB_PUT:
        return model_blob_put(c, ev->blob_put, err);
    case PST__EVENT__BODY_CLUSTER_SET:
        model_usage_cluster(c, ev->cluster_set);
        return pb_merge(&c->rec->base, &ev->cluster_set->base);
    case PST__EVENT__BODY_TRIGGER_PUT:
    case PST__EVENT__BODY_TRIGGER_REMOVE:
    case PST__EVENT__BODY_CRONTAB_PUT:
    case PST__EVENT__BODY_CRONTAB_REMOVE:
    case PST__EVENT__BODY_CRONTAB_END:
    case PST__EVENT__BODY_ACCT_CHANGE:
    case PST__EVENT__BODY_USAGE_PUT:
    case PST__EVENT__BODY_USAGE_RESET:
    case PST__EVENT__BODY_RESV_PUT:
    case PST__EVENT__BODY_RESV_REMOVE:
    case PST__EVENT__BODY_SUBMIT_KEY_PUT:
    case PST__EVENT__BODY_SUBMIT_KEY_REMOVE:
        return model_apply_kept(c, ev, err);
    case PST__EVENT__BODY_JOB_NOTE:
        return 0;
    default:
        return err_set(err, -EUCLEAN, "an event of a kind this release does not know");
    }
}

/* Nodes came or went: the same names in the partitions' lists may mean other ids now. */
static int refresh_partitions(struct cluster *c, struct err *err)
{
    c->nodes_changed = false;
    for (size_t i = 0; i < c->nparts; i++) {
        int r = partition_nodes(c, c->parts[i], err);

        if (r < 0)
            return r;
        if (c->observer && c->observer->part)
            c->observer->part(c->observer->ctx, c->parts[i], PST__EVENT_KIND__EV_UNSPECIFIED);
    }
    return 0;
}

int cluster_apply(struct cluster *c, const Pst__Transaction *tx, struct err *err)
{
    int r = 0;

    c->apply_us = tx->has_time_us ? tx->time_us : 0;
    if (c->apply_us)
        model_usage_recount(c, false); /* a snapshot was read */
    for (size_t i = 0; i < tx->n_events && r >= 0; i++)
        r = apply_event(c, tx->events[i], err);
    if (c->apply_us)
        model_usage_recount(c, true);
    if (r >= 0 && c->nodes_changed)
        r = refresh_partitions(c, err);
    if (r == -ENOMEM)
        return err_nomem(err);
    return r < 0 ? r : 0;
}

int cluster_replay(struct cluster *c, const Pst__Transaction *tx, size_t len, struct err *err)
{
    int r;

    c->small = payers_cost(len) == 0;
    r = cluster_apply(c, tx, err);
    c->small = false;
    return r;
}

int cluster_replay_taking(struct cluster *c, Pst__Transaction *tx, size_t len, struct err *err)
{
    int r;

    c->taking = true;
    c->taken = 0;
    r = cluster_replay(c, tx, len, err);
    c->taking = false;
    for (size_t i = 0; c->taken && i < tx->n_events; i++) {
        if (tx->events[i]->body_case != PST__EVENT__BODY_JOB_PUT)
            continue;
        tx->events[i]->body_case = PST__EVENT__BODY__NOT_SET;
        tx->events[i]->job_put = NULL;
        c->taken--;
    }
    return r;
}
