/* steplayout.c - which part of a job a step gets; see steplayout.h.
 *
 * By default a step takes all CPUs of the nodes it uses, so that a second one waits; with
 * --exact only what its tasks need; with --overlap it shares everything.  Tasks are dealt out to
 * the nodes in turn, whether their numbers then run in blocks or go round; ",Pack" fills one
 * node after the other. */
#include "ctld/step/steplayout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/step/stepgres.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/nodefeatures.h"
#include "ctld/step/stepcpus.h"
#include "model/tx.h"
#include "model/words/alloccpus.h"
#include "wire/errors.h"

#define TASKS_MAX (1u << 20) /* of a step: --overcommit has no other limit against a slip */

struct slot { /* one node of the job */
    size_t position;
    const Pst__AllocGroup *group;
    struct bitmap *free_cpus; /* of the job's CPUs, not held by other steps */
    uint32_t total;           /* the job's CPUs here */
    uint32_t threads;         /* of a core, and how many of them tasks may use */
    uint32_t used_threads;
    uint64_t free_mem; /* MiB of the job's memory that no step has for itself */
    uint32_t cap;      /* tasks that fit */
    uint32_t tasks;
    bool named; /* in --nodelist */
};

struct layout {
    const struct cluster *cluster;
    const struct job *job;
    const Pst__StepSpec *spec;
    struct slot *slots;
    size_t n;
    uint32_t cpt; /* CPUs per task */
    uint32_t ntasks;
    size_t nodes;          /* nodes the step uses, when they have room */
    size_t least;          /* it needs so many: fewer than `nodes` with --nodes=MIN-MAX */
    uint32_t each;         /* tasks a node, when no count of tasks was asked for; 0: one was */
    struct hostlist *want; /* --nodelist */
    size_t named;          /* slots of it */
    struct err *err;
    /* --distribution=arbitrary: the node of each task; NULL: another one */
    const struct hostlist *by_rank;
    bool exact, overlap, overcommit;
    bool any_memory; /* memory is no bound */
};

static void layout_done(struct layout *l)
{
    for (size_t i = 0; i < l->n; i++)
        bitmap_free(l->slots[i].free_cpus);
    free(l->slots);
    hostlist_free(l->want);
}

/* A job of fewer threads a core holds its cores whole, and so does each of its steps; the other
 * threads run nothing. */
static void count_threads(struct slot *s)
{
    const Pst__AllocGroup *g = s->group;
    uint32_t cores;

    s->threads = MAX(g->threads_per_core, 1u); /* absent: 0 */
    s->used_threads = s->threads;
    cores = g->cpus / s->threads;
    if (cores && g->has_task_cpus && g->task_cpus < g->cpus)
        s->used_threads = MAX(g->task_cpus / cores, 1u);
}

/* Of so many of the job's CPUs here, those that tasks may use. */
static uint32_t usable_cpus(const struct slot *s, uint32_t cpus)
{
    return s->used_threads == s->threads ? cpus : cpus / s->threads * s->used_threads;
}

/* The CPUs of the whole cores that hold so many usable ones. */
static uint64_t held_cpus(const struct slot *s, uint64_t usable)
{
    if (s->used_threads == s->threads)
        return usable;
    return (usable + s->used_threads - 1) / s->used_threads * s->threads;
}

static struct bitmap *cpus_of(const Pst__AllocGroup *g, uint32_t nbits)
{
    struct bitmap *bm = NULL;

    if (bitmap_new(nbits, &bm) < 0)
        must(NULL);
    if (g->cpu_ids)
        (void)bitmap_parse(bm, g->cpu_ids, NULL); /* our own text */
    else
        bitmap_set_range(bm, 0, MIN(g->cpus, nbits));
    return bm;
}

/* The allocation has not as many nodes. */
static int refuse_count(const struct layout *l, size_t nodes)
{
    size_t all = l->job->rec->alloc->n_node_ids;

    if (l->spec->has_relative && l->spec->relative)
        return err_set(l->err, ESLURM_INVALID_NODE_COUNT,
                       "--relative and --nodes option incompatible with count of allocated nodes "
                       "(%u+%zu>%zu)",
                       l->spec->relative, nodes, all);
    return err_set(l->err, ESLURM_INVALID_NODE_COUNT, "Only allocated %zu nodes asked for %zu%s",
                   all, nodes, l->spec->exclude ? "\nAre required nodes explicitly excluded?" : "");
}

static int compare_slots(const void *a, const void *b, void *ranks)
{
    size_t x = ((const struct slot *)a)->position, y = ((const struct slot *)b)->position;
    uint32_t rx = ((const uint32_t *)ranks)[x], ry = ((const uint32_t *)ranks)[y];

    return rx != ry ? (rx > ry) - (rx < ry) : (x > y) - (x < y);
}

/* Nodes that are near to each other follow each other: tasks are dealt out in this order. */
static void order_slots(struct layout *l)
{
    const Pst__Alloc *a = l->job->rec->alloc;

    const char *dist = l->spec->distribution; /* the others have an order of their own */
    bool block = !dist || *dist == '*' || strncasecmp(dist, "block", 5) == 0;

    if (a->n_node_ranks == a->n_node_ids && block)
        qsort_r(l->slots, l->n, sizeof(*l->slots), compare_slots, a->node_ranks);
}

/* --nodelist names fewer nodes than the step needs: other nodes of the job make up the number. */
static bool takes_others(const struct layout *l)
{
    return !l->by_rank && l->spec->has_min_nodes && l->spec->min_nodes > hostlist_count(l->want);
}

/* Nodes the request lets in: --nodelist, --exclude, --constraint, --relative. */
static int pick_nodes(struct layout *l, const struct bitmap *want, const struct bitmap *avoid,
                      const struct bitmap *admitted)
{
    const Pst__Alloc *a = l->job->rec->alloc;
    size_t first = l->spec->has_relative ? l->spec->relative : 0;

    if (first >= a->n_node_ids)
        return refuse_count(l, l->spec->has_min_nodes ? l->spec->min_nodes : 1);
    l->slots = must(calloc(a->n_node_ids, sizeof(*l->slots)));
    for (size_t i = first; i < a->n_node_ids; i++) {
        const struct node *n = cluster_node(l->cluster, a->node_ids[i]);
        const Pst__AllocGroup *g = alloc_group(a, i);
        bool named = n && want && bitmap_test(want, n->rec->node_id);

        if (!n || (avoid && bitmap_test(avoid, n->rec->node_id)) ||
            (want && !named && !takes_others(l)) ||
            (admitted && !bitmap_test(admitted, n->rec->node_id)))
            continue;
        l->slots[l->n++] = (struct slot){ .position = i,
                                          .group = g,
                                          .total = g->cpus,
                                          .named = named,
                                          .free_mem = g->mem_mib,
                                          .free_cpus = cpus_of(g, MAX(n->rec->cpus, g->cpus)) };
        count_threads(&l->slots[l->n - 1]);
        l->named += named;
    }
    order_slots(l);
    if (want && !l->by_rank && l->named < hostlist_count(l->want))
        return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
    return l->n ? 0 : ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

/* Take away what running steps hold. */
static void subtract_steps(struct layout *l)
{
    for (const struct step *s = l->job->steps; s && !l->overlap; s = s->next) {
        if (!s->waiting || s->rec->step_id >= STEP_INTERACTIVE ||
            (s->rec->has_overlap && s->rec->overlap))
            continue;
        for (size_t i = 0; i < l->n; i++) {
            uint32_t id = l->job->rec->alloc->node_ids[l->slots[i].position];
            long pos = alloc_position(s->rec->alloc, id);
            const Pst__AllocGroup *g;
            struct bitmap *held;

            if (pos < 0 || !bitmap_test(s->waiting, (uint32_t)pos))
                continue;
            g = alloc_group(s->rec->alloc, (size_t)pos);
            held = cpus_of(g, l->slots[i].free_cpus->nbits);
            bitmap_andnot(l->slots[i].free_cpus, held);
            bitmap_free(held);
            if (s->rec->own_mem)
                l->slots[i].free_mem -= MIN(l->slots[i].free_mem, g->mem_mib);
        }
    }
}

bool steplayout_asks_memory(const Pst__StepSpec *spec)
{
    return spec->mem_per_node_mib || spec->mem_per_cpu_mib;
}

/* How many tasks the memory is enough for; jobs whose memory is not counted have no bound.  Of
 * --mem a node has enough or not: the request waits, as for one that others use.  What is asked for
 * a CPU bounds CPUs, which tasks share with --overcommit. */
static uint32_t cap_by_memory(const struct layout *l, const struct slot *s, bool whole)
{
    uint64_t mem = whole ? s->group->mem_mib : s->free_mem, tasks;

    if (!s->group->mem_mib || l->overlap || l->any_memory)
        return UINT32_MAX;
    if (l->spec->mem_per_node_mib)
        return whole || l->spec->mem_per_node_mib <= mem ? UINT32_MAX : 0;
    if (!l->spec->mem_per_cpu_mib)
        return UINT32_MAX;
    tasks = mem / l->spec->mem_per_cpu_mib / l->cpt;
    if (l->overcommit && mem >= l->spec->mem_per_cpu_mib)
        return UINT32_MAX;
    return (uint32_t)MIN(tasks, UINT32_MAX);
}

/* How many tasks fit on each node; `whole`: were no other step there. */
static void set_capacities(struct layout *l, bool whole)
{
    for (size_t i = 0; i < l->n; i++) {
        struct slot *s = &l->slots[i];
        uint32_t cpus = whole ? s->total : bitmap_count(s->free_cpus);

        if (!l->exact && !whole && cpus < s->total)
            cpus = 0; /* it wants the node's share for itself */
        s->cap = usable_cpus(s, cpus) / l->cpt;
        if (l->overcommit && cpus)
            s->cap = UINT32_MAX;
        s->cap = MIN(s->cap, cap_by_memory(l, s, whole));
        if (l->spec->has_ntasks_per_node && l->spec->ntasks_per_node)
            s->cap = MIN(s->cap, l->spec->ntasks_per_node);
        s->tasks = 0;
    }
}

/* How many tasks a node gets at its turn.  Block and cyclic differ in which tasks a node gets,
 * not in how many; only with Pack is a node filled first. */
static uint32_t tasks_per_turn(const char *dist)
{
    uint64_t plane;

    if (dist && strncasecmp(dist, "plane=", 6) == 0 &&
        parse_u64(dist + 6, 1, UINT32_MAX, &plane) == 0)
        return (uint32_t)plane;
    return dist && strcasestr(dist, ",pack") ? UINT32_MAX : 1;
}

/* By node id; the caller frees. */
static struct slot **slots_by_node(struct layout *l)
{
    struct slot **by_node = must(calloc(l->cluster->nnodes + 1, sizeof(*by_node)));

    for (size_t i = 0; i < l->n; i++)
        by_node[l->job->rec->alloc->node_ids[l->slots[i].position]] = &l->slots[i];
    return by_node;
}

static struct slot *slot_named(const struct layout *l, struct slot *const *by_node,
                               const char *name)
{
    const struct node *n = cluster_node_named(l->cluster, name);

    return n ? by_node[n->rec->node_id] : NULL;
}

/* Each node gets the tasks that the list gives it; false when they do not fit. */
static bool deal_by_rank(struct layout *l)
{
    _cleanup_free_ struct slot **by_node = slots_by_node(l);

    for (size_t i = 0; i < hostlist_count(l->by_rank); i++) {
        struct slot *s = slot_named(l, by_node, hostlist_nth(l->by_rank, i));

        if (!s || s->tasks == s->cap)
            return false;
        s->tasks++;
    }
    return true;
}

/* "arbitrary=1,0*3" with what follows in the request: the list by places in the step.  The
 * caller frees. */
static char *by_rank_text(struct layout *l)
{
    const char *colon = strchr(l->spec->distribution, ':');
    size_t n = hostlist_count(l->by_rank), same;
    _cleanup_free_ struct slot **by_node = slots_by_node(l);
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    strbuf_add(&sb, "arbitrary=");
    for (size_t i = 0; i < n; i += same) {
        const char *name = hostlist_nth(l->by_rank, i);

        for (same = 1; i + same < n && strcmp(hostlist_nth(l->by_rank, i + same), name) == 0;
             same++)
            ;
        strbuf_addf(&sb, "%s%zu", i ? "," : "", (size_t)(slot_named(l, by_node, name) - l->slots));
        if (same > 1)
            strbuf_addf(&sb, "*%zu", same);
    }
    strbuf_add(&sb, colon ? colon : "");
    if (strbuf_detach(&sb, &text) < 0)
        must(NULL);
    return text;
}

/* The nodes with room, as many as asked for, those of --nodelist before others; unused ones get
 * cap 0.  Returns how many are used: 0 when one of --nodelist has no room beside others. */
static size_t choose_slots(struct layout *l)
{
    bool others = l->named && l->named < l->n;
    size_t room = others ? l->nodes - l->named : l->nodes, used = 0;

    for (size_t i = 0; i < l->n; i++) {
        struct slot *s = &l->slots[i];
        bool kept = others && s->named;

        if (kept && !s->cap)
            return 0;
        if (s->cap && (kept || room)) {
            room -= !kept;
            used++;
        } else {
            s->cap = 0;
        }
    }
    return used;
}

/* Deal the tasks out; false when they do not fit. */
static bool deal_tasks(struct layout *l)
{
    uint32_t each = l->overcommit ? 1 : tasks_per_turn(l->spec->distribution), left, empty;
    size_t used;

    if (l->by_rank)
        return deal_by_rank(l);
    used = choose_slots(l);
    if (used < l->least)
        return false;
    if (l->each) /* set_counts() has seen that it is no more with all nodes */
        l->ntasks = (uint32_t)used * l->each;
    left = l->ntasks;
    empty = (uint32_t)MIN(used, left); /* nodes that need a task yet */
    while (left) {
        uint32_t before = left;

        for (size_t i = 0; i < l->n && left; i++) {
            struct slot *s = &l->slots[i];
            uint32_t room = s->cap > s->tasks ? s->cap - s->tasks : 0;
            uint32_t take;

            empty -= room && empty && !s->tasks;
            take = MIN(MIN(room, left - empty), each);
            s->tasks += take;
            left -= take;
        }
        if (left == before)
            return false;
    }
    return true;
}

/* The job's own layout, when the step is the whole of it (srun that made its allocation). */
static bool job_layout(struct layout *l)
{
    uint32_t sum = 0;

    if (l->n != l->job->rec->alloc->n_node_ids || l->nodes != l->n || l->spec->distribution)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        if (!l->slots[i].group->has_tasks || !l->slots[i].group->tasks ||
            l->slots[i].group->tasks > l->slots[i].cap)
            return false;
        sum += l->slots[i].group->tasks;
    }
    if (sum != l->ntasks)
        return false;
    for (size_t i = 0; i < l->n; i++)
        l->slots[i].tasks = l->slots[i].group->tasks;
    return true;
}

/* With --cpus-per-task and no number of tasks: as many as the job's CPUs of the nodes make. */
static uint64_t tasks_of_cpus(const struct layout *l)
{
    size_t nodes = l->nodes ? MIN(l->nodes, l->n) : l->n;
    uint64_t tasks = 0;

    if (!l->spec->has_cpus_per_task || l->spec->ntasks_per_node)
        return 0;
    for (size_t i = 0; i < nodes; i++)
        tasks += usable_cpus(&l->slots[i], l->slots[i].total) / l->cpt;
    return tasks;
}

/* Node and task counts: what was asked for, else one task a node. */
static int set_counts(struct layout *l)
{
    const Pst__StepSpec *s = l->spec;
    uint64_t tasks;

    if (l->by_rank) {
        l->least = l->nodes = l->n;
        l->ntasks = (uint32_t)hostlist_count(l->by_rank);
        return l->ntasks && l->ntasks <= TASKS_MAX &&
                       (!s->has_num_tasks || s->num_tasks == l->ntasks)
                   ? 0
                   : ESLURM_BAD_TASK_COUNT;
    }
    l->least = l->nodes = s->has_min_nodes && s->min_nodes ? s->min_nodes : 0;
    if (l->nodes && s->has_max_nodes && s->max_nodes > s->min_nodes) /* as many as it may have */
        l->nodes = MAX(l->least, MIN(l->n, s->max_nodes));
    if (s->has_num_tasks && s->num_tasks) {
        tasks = s->num_tasks;
        if (l->nodes > tasks)
            l->nodes = MAX(l->least, (size_t)tasks);
    } else {
        l->each = s->has_ntasks_per_node && s->ntasks_per_node ? s->ntasks_per_node : 1;
        tasks = (uint64_t)(l->nodes ? l->nodes : l->n) * l->each;
        if (tasks_of_cpus(l) > tasks) {
            tasks = tasks_of_cpus(l);
            l->each = 0;
        }
    }
    if (tasks > TASKS_MAX)
        return ESLURM_BAD_TASK_COUNT;
    l->ntasks = (uint32_t)tasks;
    if (!l->nodes) {
        /* All nodes of the job unless there are fewer tasks. */
        l->nodes = MIN(l->n, l->ntasks);
        if (s->has_max_nodes && s->max_nodes)
            l->nodes = MIN(l->nodes, s->max_nodes);
        l->least = l->nodes;
        l->each = 0;
    }
    return l->least > l->n ? refuse_count(l, l->least) : 0;
}

static char *take_cpus(const struct layout *l, const struct slot *s, uint32_t count)
{
    const Pst__NodeRecord *n =
        cluster_node(l->cluster, l->job->rec->alloc->node_ids[s->position])->rec;
    uint64_t cores = (uint64_t)n->sockets * n->cores_per_socket;
    struct stepcpus_node node = { n->sockets, n->cores_per_socket,
                                  cores ? s->free_cpus->nbits / (uint32_t)cores : 0 };
    uint64_t cpt = (uint64_t)l->cpt * s->threads;
    struct bitmap *take = NULL;
    char *text = NULL;

    cpt = MIN((cpt + s->used_threads - 1) / s->used_threads, (uint64_t)UINT32_MAX);
    if (stepcpus_pick(s->free_cpus, &node, l->spec->distribution, (uint32_t)cpt, count, &take) <
            0 ||
        (l->exact && stepcpus_widen(s->free_cpus, &node, take) < 0) ||
        bitmap_format(take, &text) < 0)
        must(NULL);
    bitmap_free(take);
    return text;
}

static Pst__AllocGroup *group_new(const struct layout *l, struct slot *s)
{
    Pst__AllocGroup *g = must(malloc(sizeof(*g)));
    uint32_t free_cpus = bitmap_count(s->free_cpus);
    uint64_t want = held_cpus(s, (uint64_t)s->tasks * l->cpt);
    uint32_t cpus = l->exact ? (uint32_t)MIN(want, (uint64_t)free_cpus) : free_cpus;

    pst__alloc_group__init(g);
    SET(g, nodes, 1);
    SET(g, cpus, cpus);
    SET(g, tasks, s->tasks);
    g->cpu_ids = take_cpus(l, s, cpus);
    if (l->spec->has_mem_per_node_mib && l->spec->mem_per_node_mib)
        SET(g, mem_mib, l->spec->mem_per_node_mib);
    else if (l->spec->has_mem_per_cpu_mib && l->spec->mem_per_cpu_mib)
        SET(g, mem_mib, l->spec->mem_per_cpu_mib * usable_cpus(s, cpus));
    else
        SET(g, mem_mib, s->group->mem_mib);
    return g;
}

static Pst__Alloc *alloc_record(struct layout *l)
{
    const Pst__Alloc *job = l->job->rec->alloc;
    Pst__Alloc *a = must(malloc(sizeof(*a)));
    const char **names = must(calloc(l->n, sizeof(*names)));
    uint32_t cpus = 0;

    pst__alloc__init(a);
    a->node_ids = must(calloc(l->n, sizeof(*a->node_ids)));
    a->groups = must(calloc(l->n, sizeof(Pst__AllocGroup *)));
    for (size_t i = 0; i < l->n; i++) {
        if (!l->slots[i].tasks)
            continue;
        names[a->n_node_ids] =
            cluster_node(l->cluster, job->node_ids[l->slots[i].position])->rec->name;
        a->node_ids[a->n_node_ids++] = job->node_ids[l->slots[i].position];
        a->groups[a->n_groups] = group_new(l, &l->slots[i]);
        cpus += a->groups[a->n_groups++]->cpus;
    }
    SET(a, total_cpus, cpus);
    if (hostlist_fold_names(names, a->n_node_ids, &a->nodes) < 0)
        must(NULL);
    free(names);
    return a;
}

/* --cpus-per-gpu: each task gets the CPUs of its share of the step's GPUs. */
static void count_by_gpu(struct layout *l)
{
    uint64_t each = l->spec->has_cpus_per_gpu ? l->spec->cpus_per_gpu : 0, cpus;

    if (!each || l->spec->has_cpus_per_task)
        return;
    cpus = each * MIN(stepgres_gpus(l->job, l->spec, l->nodes, l->ntasks), (uint64_t)UINT32_MAX);
    l->cpt = (uint32_t)MIN(MAX((cpus + l->ntasks - 1) / l->ntasks, 1u), (uint64_t)UINT32_MAX);
}

/* The nodes that --constraint admits; NULL: all. */
static int admit_features(const struct layout *l, struct bitmap **ret)
{
    int r;

    if (!l->spec->constraint || !*l->spec->constraint)
        return 0;
    if (bitmap_new(l->cluster->nnodes, ret) < 0)
        must(NULL);
    bitmap_fill(*ret);
    r = nodes_keep_features(l->cluster, l->spec->constraint, *ret);
    if (r != 0)
        *ret = bitmap_free(*ret);
    return r;
}

/* It would fit, were it not for --mem-per-cpu. */
static bool lacks_memory(struct layout *l)
{
    if (!l->spec->mem_per_cpu_mib)
        return false;
    l->any_memory = true;
    set_capacities(l, true);
    return deal_tasks(l);
}

/* The CPUs of the whole job that tasks may use. */
static uint64_t all_usable(const struct layout *l)
{
    const Pst__Alloc *a = l->job->rec->alloc;
    uint64_t sum = 0;

    for (size_t i = 0; i < a->n_groups; i++)
        sum += (uint64_t)a->groups[i]->nodes * alloc_task_cpus(a->groups[i]);
    return sum;
}

/* One task needs more than any node of the job has for tasks. */
static bool fits_nowhere(const struct layout *l)
{
    const Pst__Alloc *a = l->job->rec->alloc;
    uint32_t most = 0;

    for (size_t i = 0; i < a->n_groups; i++)
        most = MAX(most, alloc_task_cpus(a->groups[i]));
    return l->cpt > most;
}

static int solve_layout(struct layout *l)
{
    _cleanup_(bitmap_free) struct bitmap *want = NULL, *avoid = NULL, *admitted = NULL;
    const char *nodelist = l->spec->nodelist, *exclude = l->spec->exclude;
    int r = 0;

    if (nodelist && hostlist_parse_most(nodelist, HOSTLIST_MAX_NODES, &l->want, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    if (nodelist)
        r = jobs_nodes_named(l->cluster, nodelist, false, &want);
    if (r == 0 && exclude)
        r = jobs_nodes_named(l->cluster, exclude, true, &avoid);
    if (l->spec->distribution && strncasecmp(l->spec->distribution, "arbitrary", 9) == 0)
        l->by_rank = l->want;
    if (r == 0)
        r = admit_features(l, &admitted);
    if (r == 0)
        r = pick_nodes(l, want, avoid, admitted);
    if (r == 0)
        r = set_counts(l);
    if (r != 0)
        return r;
    count_by_gpu(l);
    subtract_steps(l);
    set_capacities(l, false);
    if (job_layout(l) || deal_tasks(l))
        return 0;
    set_capacities(l, true); /* would it fit alone? */
    if (deal_tasks(l))
        return ESLURM_NODES_BUSY;
    return (uint64_t)l->ntasks * l->cpt > all_usable(l) || fits_nowhere(l) || lacks_memory(l)
               ? ESLURM_TOO_MANY_REQUESTED_CPUS
               : ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

int steplayout_make(const struct cluster *c, const struct job *j, const Pst__StepSpec *spec,
                    Pst__Alloc **ret_alloc, uint32_t *ret_ntasks, char **ret_dist, struct err *err)
{
    struct layout l = { .cluster = c, .job = j, .spec = spec, .err = err };
    int r;

    l.cpt = spec->has_cpus_per_task && spec->cpus_per_task ? spec->cpus_per_task : 1;
    l.exact = spec->has_exact && spec->exact;
    l.overlap = (spec->has_overlap && spec->overlap) ||
                (spec->has_zero_resource && spec->zero_resource) ||
                (spec->has_interactive && spec->interactive);
    l.overcommit = spec->has_overcommit && spec->overcommit;
    r = solve_layout(&l);
    if (r == 0) {
        Pst__Alloc *alloc = alloc_record(&l);

        r = stepgres_fill(c, j, spec, alloc, l.overlap);
        if (r == 0)
            *ret_alloc = alloc;
        else
            pst__alloc__free_unpacked(alloc, NULL);
        *ret_ntasks = l.ntasks;
        if (r == 0 && l.by_rank)
            *ret_dist = by_rank_text(&l);
    }
    layout_done(&l);
    return r;
}

int steplayout_check(const Pst__Alloc *alloc, uint64_t max_per_node)
{
    for (size_t i = 0; i < alloc->n_groups; i++)
        if (alloc->groups[i]->tasks > max_per_node)
            return ESLURM_BAD_TASK_COUNT;
    return 0;
}
