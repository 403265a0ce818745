/* feed.c - changes for the scheduler's thread; see feed.h.
 *
 * job->fed says what the scheduler believes: nothing, pending, or holding resources. */
#include "ctld/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/depends.h"
#include "ctld/het.h"
#include "ctld/jobs.h"
#include "ctld/licenses.h"
#include "ctld/preempt.h"
#include "ctld/prioquery.h"
#include "ctld/schedthread.h"
#include "model/array.h"

#define EXCLUSIVE_USER 2 /* JobRecord.exclusive */

struct gather { /* per process: one controller */
    struct feed *head, *tail;
};
static struct gather gather; /* core thread only */

static void *must(void *p)
{
    if (!p) {
        log_fatal("out of memory while telling the scheduler");
        abort();
    }
    return p;
}

static struct feed *feed_new(enum feed_kind kind)
{
    struct feed *f = must(calloc(1, sizeof(*f)));

    f->kind = kind;
    return f;
}

static void *own(struct feed *f, void *p)
{
    if (!p)
        return NULL;
    if (f->nowned == ARRAY_SIZE(f->owned)) {
        log_fatal("a scheduler change owns too much");
        abort();
    }
    f->owned[f->nowned++] = p;
    return p;
}

static char *own_str(struct feed *f, const char *text)
{
    return text ? own(f, must(strdup(text))) : NULL;
}

static void alloc_done(struct sched_alloc *a)
{
    for (size_t i = 0; i < a->nnodes; i++) {
        struct sched_alloc_node *n = &a->nodes[i];

        for (size_t g = 0; g < n->ngres; g++) {
            free(n->gres[g].devices);
            free((char *)n->gres[g].name);
            free((char *)n->gres[g].type);
        }
        free(n->gres);
        free(n->cpu_bits);
    }
    free(a->nodes);
}

void feed_free(struct feed *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->nowned; i++)
        free(f->owned[i]);
    if (f->prio)
        prioquery_drop(f->prio);
    alloc_done(&f->alloc);
    free(f->name);
    free(f);
}

static void add(struct feed *f)
{
    f->next = NULL;
    if (gather.tail)
        gather.tail->next = f;
    else
        gather.head = f;
    gather.tail = f;
}

void schedfeed_flush(struct ctld *ctld)
{
    if (!gather.head)
        return;
    if (ctld->sched) {
        schedthread_feed(ctld->sched, gather.head, gather.tail);
    } else {
        while (gather.head) {
            struct feed *f = gather.head;

            gather.head = f->next;
            feed_free(f);
        }
    }
    gather = (struct gather){ 0 };
}

/* ---- jobs --------------------------------------------------------------------------------------- */

/* "a,b" -> array of copies. */
static size_t split_list(struct feed *f, const char *text, const char *const **ret)
{
    char *copy = own_str(f, text), *save = NULL;
    size_t n = 1, i = 0;
    const char **list;

    for (const char *p = text; *p; p++)
        n += *p == ',';
    list = own(f, must(calloc(n, sizeof(*list))));
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save))
        list[i++] = w;
    *ret = list;
    return i;
}

enum gres_scope { PER_NODE, PER_JOB, PER_TASK };

/* "gres/gpu:a100:2,gres/shard:1" (the prefix is optional) appended to the job's requests. */
static void add_gres(struct feed *f, const char *text, enum gres_scope scope,
                     struct sched_gres_req **list, size_t *n)
{
    char *copy = own_str(f, text), *save = NULL;

    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        struct sched_gres_req *req;
        struct gres_text g;

        if (!gres_text_parse(w, &g))
            continue; /* checked at submission; cpu= and such are no GRES */
        *list = must(realloc(*list, (*n + 1) * sizeof(**list)));
        req = &(*list)[(*n)++];
        *req = (struct sched_gres_req){ .name = g.name, .type = g.type };
        req->per_node = scope == PER_NODE ? g.count : 0;
        req->per_job = scope == PER_JOB ? g.count : 0;
        req->per_task = scope == PER_TASK ? g.count : 0;
    }
}

static size_t node_ids(struct feed *f, const struct cluster *c, const char *list, const uint32_t **ret)
{
    struct hostlist *hl = NULL;
    uint32_t *ids;
    size_t n = 0;

    if (hostlist_parse(list, &hl, NULL) < 0)
        return 0;
    ids = own(f, must(calloc(hostlist_count(hl) + 1, sizeof(*ids))));
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *node = cluster_node_named(c, hostlist_nth(hl, i));

        if (node)
            ids[n++] = node->rec->node_id;
    }
    hostlist_free(hl);
    *ret = ids;
    return n;
}

/* "cyclic:block,pack": the second part is the sockets'; a plane fills them. */
static void fill_distribution(struct sched_job *s, const char *text)
{
    const char *second = text ? strchr(text, ':') : NULL;

    if (!text)
        return;
    s->pack = strcasestr(text, ",pack") != NULL;
    if (strncasecmp(text, "plane", 5) == 0 || (second && strncasecmp(second + 1, "block", 5) == 0))
        s->socket_dist = SCHED_DIST_BLOCK;
    else if (second && strcspn(second + 1, ",:*") > 0)
        s->socket_dist = SCHED_DIST_CYCLIC;
}

static void fill_gpus(struct sched_job *s, const Pst__JobRecord *r)
{
    s->cpus_per_gpu = r->has_cpus_per_gpu ? r->cpus_per_gpu : 0;
    s->tasks_per_gpu = r->has_ntasks_per_gpu ? r->ntasks_per_gpu : 0;
    if (!r->has_mem_per_gpu_mib)
        return;
    s->mem_per_gpu_mib = r->mem_per_gpu_mib;
    s->has_mem_per_node = false;
    s->mem_per_node_mib = s->mem_per_cpu_mib = 0;
}

static bool one_task_per_core(const struct conf *conf)
{
    const char *params = conf_str(conf, CONF_SELECT_TYPE_PARAMETERS);

    return params && strcasestr(params, "CR_ONE_TASK_PER_CORE");
}

static void fill_sizes(struct sched_job *s, const Pst__JobRecord *r)
{
    s->min_nodes = r->has_min_nodes ? r->min_nodes : 1;
    s->max_nodes = r->has_max_nodes ? r->max_nodes : 0;
    s->num_tasks = r->has_num_tasks ? r->num_tasks : 0;
    s->cpus_per_task = r->has_cpus_per_task ? r->cpus_per_task : 1;
    s->ntasks_per_node = r->has_ntasks_per_node ? r->ntasks_per_node : 0;
    s->ntasks_per_core = r->has_ntasks_per_core ? r->ntasks_per_core : 0;
    s->ntasks_per_socket = r->has_ntasks_per_socket ? r->ntasks_per_socket : 0;
    s->threads_per_core = r->has_threads_per_core ? r->threads_per_core : 0;
    s->pn_min_cpus = r->has_pn_min_cpus ? r->pn_min_cpus : 0;
    s->min_sockets = r->has_sockets_per_node ? r->sockets_per_node : 0;
    s->min_cores_per_socket = r->has_cores_per_socket ? r->cores_per_socket : 0;
    s->has_mem_per_node = r->has_mem_per_node_mib;
    s->mem_per_node_mib = r->has_mem_per_node_mib ? r->mem_per_node_mib : 0;
    s->mem_per_cpu_mib = r->has_mem_per_cpu_mib ? r->mem_per_cpu_mib : 0;
    s->exclusive = r->has_exclusive && r->exclusive && r->exclusive != EXCLUSIVE_USER;
    s->exclusive_user = r->has_exclusive && r->exclusive == EXCLUSIVE_USER;
    s->use_min_nodes = r->has_use_min_nodes && r->use_min_nodes;
    s->core_spec = r->has_core_spec ? r->core_spec : 0;
    s->oversubscribe = r->has_oversubscribe && r->oversubscribe;
    s->overcommit = r->has_overcommit && r->overcommit;
    s->contiguous = r->has_contiguous && r->contiguous;
    s->spread = r->has_spread_job && r->spread_job;
    s->time_limit_min = r->has_time_unlimited && r->time_unlimited ? SCHED_UNLIMITED
                        : r->has_time_limit_min                    ? r->time_limit_min
                                                                   : SCHED_UNLIMITED;
    s->time_min_min = r->has_time_min_min ? r->time_min_min : 0;
}

static void fill_licenses(struct feed *f, const char *text)
{
    struct license_list list;

    if (!licenses_parse(own_str(f, text), &list))
        return; /* checked at submission */
    f->job.licenses = own(f, list.items);
    f->job.nlicenses = list.n;
    f->job.licenses_any = list.any;
}

static void fill_job(struct ctld *ctld, struct feed *f, const Pst__JobRecord *r)
{
    struct sched_job *s = &f->job;
    struct sched_gres_req *gres = NULL;
    size_t ngres = 0;

    s->id = r->job_id;
    s->uid = r->uid;
    s->priority = r->has_priority ? r->priority : 0;
    s->nice = r->has_nice ? r->nice : 0;
    s->submit_us = r->submit_us;
    s->array_id = r->has_array_job_id ? r->array_job_id : 0;
    s->accrue_us = r->has_accrue_us ? r->accrue_us : r->has_eligible_us ? r->eligible_us : r->submit_us;
    s->qos = own_str(f, r->qos);
    s->het_id = het_is(r) ? r->het_job_id : 0;
    s->het_count = het_is(r) ? r->het_count : 0;
    s->npartitions = split_list(f, r->partition, &s->partitions);
    fill_sizes(s, r);
    fill_gpus(s, r);
    fill_distribution(s, r->distribution);
    if (!s->ntasks_per_core && one_task_per_core(ctld->conf))
        s->ntasks_per_core = 1;
    s->features = own_str(f, r->features);
    s->prefer = own_str(f, r->prefer);
    if (r->req_nodes)
        s->nreq = node_ids(f, ctld->cluster, r->req_nodes, &s->req_nodes);
    if (r->exc_nodes)
        s->nexc = node_ids(f, ctld->cluster, r->exc_nodes, &s->exc_nodes);
    if (r->tres_per_node)
        add_gres(f, r->tres_per_node, PER_NODE, &gres, &ngres);
    if (r->tres_per_job)
        add_gres(f, r->tres_per_job, PER_JOB, &gres, &ngres);
    if (r->tres_per_task)
        add_gres(f, r->tres_per_task, PER_TASK, &gres, &ngres);
    if (r->tres_per_socket) { /* of the sockets the job asks for on each node */
        size_t first = ngres;

        add_gres(f, r->tres_per_socket, PER_NODE, &gres, &ngres);
        for (size_t i = first; i < ngres; i++)
            gres[i].per_node *= r->has_sockets_per_node ? r->sockets_per_node : 1;
    }
    s->gres = own(f, gres);
    s->ngres = ngres;
    if (r->licenses && *r->licenses)
        fill_licenses(f, r->licenses);
}

/* From when on it may start; INT64_MAX: not until something else changes. */
static int64_t eligible_at(struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;

    if (het_is(r))
        return het_eligible_at(ctld, r);
    if (job_is_held(r) || r->dependency || job_has_flag(r, JOB_FLAG(COMPLETING)))
        return INT64_MAX;
    if (job_is_array(r) && array_throttle(r->array_tasks) &&
        jobs_array_running(ctld, r->array_job_id) >= array_throttle(r->array_tasks))
        return INT64_MAX;
    return r->has_begin_us ? r->begin_us : 0;
}

/* What keeps it from being looked at, for queries; what the scheduler thinks comes with its decisions. */
static void note_reason(const struct ctld *ctld, struct job *j)
{
    const struct job *leader = het_is_follower(j->rec) ? het_component(ctld->cluster, j->rec, 0) : NULL;
    Pst__JobRecord *r = j->rec;

    if (r->dependency || (leader && leader->rec->dependency))
        SET(r, pend_reason, PST__JOB_REASON__REASON_DEPENDENCY);
    else if (!job_is_held(r) && job_is_array(r))
        SET(r, pend_reason, PST__JOB_REASON__REASON_ARRAY_TASK_LIMIT);
}

static void feed_pending(struct ctld *ctld, struct job *j)
{
    int64_t eligible = eligible_at(ctld, j);
    struct feed *f;

    if (eligible > core_now() && eligible != INT64_MAX)
        SET(j->rec, pend_reason, PST__JOB_REASON__REASON_BEGIN_TIME);
    if (job_is_held(j->rec))
        j->rec->has_cur_priority = false; /* 0, whatever it was before */
    else if (!j->rec->has_cur_priority) /* 0 would tell users that it is held */
        SET(j->rec, cur_priority, j->rec->has_priority ? j->rec->priority : 1);
    if (eligible == INT64_MAX) {
        note_reason(ctld, j);
        feed_job_gone(ctld, j);
        return;
    }
    f = feed_new(FEED_JOB);
    fill_job(ctld, f, j->rec);
    f->job.eligible_us = eligible;
    j->fed = true;
    add(f);
}

/* ---- allocations -------------------------------------------------------------------------------- */

static uint64_t *bits_of(const char *list, uint32_t nbits, uint32_t *ret_words)
{
    struct bitmap *bm = NULL;
    uint64_t *words;

    if (bitmap_new(nbits ? nbits : 1, &bm) < 0)
        must(NULL);
    if (list)
        (void)bitmap_parse(bm, list, NULL); /* our own text; indexes beyond a shrunken node are dropped */
    words = must(malloc(bm->nwords * sizeof(*words)));
    memcpy(words, bm->words, bm->nwords * sizeof(*words));
    *ret_words = bm->nwords;
    bitmap_free(bm);
    return words;
}

static void fill_alloc_gres(struct sched_alloc_node *n, const Pst__AllocGroup *g)
{
    n->gres = must(calloc(g->n_gres ? g->n_gres : 1, sizeof(*n->gres)));
    n->ngres = g->n_gres;
    for (size_t i = 0; i < g->n_gres; i++) {
        struct sched_alloc_gres *to = &n->gres[i];

        to->name = must(strdup(g->gres[i]->name));
        to->type = g->gres[i]->type ? must(strdup(g->gres[i]->type)) : NULL;
        to->count = g->gres[i]->count;
        if (g->gres[i]->devices)
            to->devices = bits_of(g->gres[i]->devices, 1024, &to->ndevice_words);
    }
}

static void fill_alloc(const struct cluster *c, struct feed *f, const Pst__Alloc *a)
{
    f->alloc.nodes = must(calloc(a->n_node_ids ? a->n_node_ids : 1, sizeof(*f->alloc.nodes)));
    f->alloc.nnodes = a->n_node_ids;
    for (size_t i = 0; i < a->n_node_ids; i++) {
        struct sched_alloc_node *to = &f->alloc.nodes[i];
        const Pst__AllocGroup *g = alloc_group(a, i);
        const struct node *node = cluster_node(c, a->node_ids[i]);

        to->node_id = a->node_ids[i];
        to->cpus = g->cpus;
        to->cpu_bits = bits_of(g->cpu_ids, node ? node->rec->cpus : g->cpus, &to->ncpu_words);
        to->mem_mib = g->mem_mib;
        to->tasks = g->tasks;
        fill_alloc_gres(to, g);
    }
}

void feed_leaving(struct ctld *ctld, const struct job *j)
{
    struct feed *f;

    if (!preempt_wanted(ctld->conf))
        return;
    f = feed_new(FEED_LEAVING);
    f->job_id = j->rec->job_id;
    add(f);
}

void feed_yield(struct ctld *ctld, const struct job *j, bool yielded)
{
    struct feed *f = feed_new(FEED_YIELD);

    (void)ctld;
    f->job_id = j->rec->job_id;
    f->exclusive = yielded;
    add(f);
}

/* What preemption has to know of a job that the scheduler did not start itself. */
static void feed_standing(struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    struct feed *f;

    if (job_is_suspended(r) && r->n_preempted_by)
        feed_yield(ctld, j, true);
    if (!preempt_wanted(ctld->conf))
        return;
    f = feed_new(FEED_RANK);
    f->job_id = r->job_id;
    f->priority = r->has_cur_priority ? r->cur_priority : r->has_priority ? r->priority : 1;
    f->name = r->qos ? must(strdup(r->qos)) : NULL;
    add(f);
    if (job_is_ended(r) || (r->has_preempt_us && r->preempt_mode != PST__PREEMPT_MODE__PREEMPT_SUSPEND))
        feed_leaving(ctld, j);
}

void feed_job_started(struct ctld *ctld, struct job *j, bool proposed)
{
    struct feed *f;

    j->fed = true;
    if (proposed)
        return;
    f = feed_new(FEED_RUNNING);
    f->job_id = j->rec->job_id;
    f->name = must(strdup(j->rec->partition));
    f->start_us = j->rec->start_us;
    f->end_us = j->rec->has_end_us ? j->rec->end_us : INT64_MAX;
    f->exclusive = j->rec->has_exclusive && j->rec->exclusive && j->rec->exclusive != EXCLUSIVE_USER;
    f->uid = j->rec->uid;
    f->exclusive_user = j->rec->has_exclusive && j->rec->exclusive == EXCLUSIVE_USER;
    fill_alloc(ctld->cluster, f, j->rec->alloc);
    add(f);
    if (j->rec->licenses_alloc) {
        f = feed_new(FEED_LICENSES);
        f->job_id = j->rec->job_id;
        fill_licenses(f, j->rec->licenses_alloc);
        add(f);
    }
    feed_standing(ctld, j);
}

void feed_job_gone(struct ctld *ctld, struct job *j)
{
    struct feed *f;

    (void)ctld;
    if (!j->fed)
        return;
    j->fed = false;
    f = feed_new(FEED_REMOVE);
    f->job_id = j->rec->job_id;
    add(f);
}

void feed_job(struct ctld *ctld, struct job *j)
{
    if (job_is_pending(j->rec))
        feed_pending(ctld, j);
    if (job_is_pending(j->rec) && het_is(j->rec))
        het_feed_others(ctld, j);
    if (job_is_pending(j->rec))
        return;
    if (!job_holds_resources(j->rec))
        feed_job_gone(ctld, j);
    else if (!j->fed)
        feed_job_started(ctld, j, false);
}

void feed_refused(struct ctld *ctld, uint32_t job_id)
{
    struct feed *f = feed_new(FEED_REFUSED);

    (void)ctld;
    f->job_id = job_id;
    add(f);
}

void feed_end_time(struct ctld *ctld, const struct job *j)
{
    struct feed *f = feed_new(FEED_END_TIME);

    (void)ctld;
    f->job_id = j->rec->job_id;
    f->end_us = j->rec->has_end_us ? j->rec->end_us : INT64_MAX;
    add(f);
}

void feed_suspend(struct ctld *ctld, const struct job *j, bool suspended)
{
    struct feed *f = feed_new(suspended ? FEED_SUSPEND : FEED_RESUME);

    (void)ctld;
    f->job_id = j->rec->job_id;
    add(f);
}

void feed_when(struct ctld *ctld, const Pst__JobRecord *rec, uint64_t ticket)
{
    struct feed *f = feed_new(FEED_WHEN);

    fill_job(ctld, f, rec);
    f->ticket = ticket;
    add(f);
}

void feed_priorities(struct ctld *ctld, struct prioquery *q)
{
    struct feed *f = feed_new(FEED_PRIORITIES);

    f->prio = q;
    schedthread_feed(ctld->sched, f, f); /* not gathered: this is no core thread */
}

void feed_explain(struct ctld *ctld, const Pst__JobRecord *rec, const char *others, uint64_t ticket)
{
    struct feed *f = feed_new(FEED_EXPLAIN);

    fill_job(ctld, f, rec);
    f->nothers = split_list(f, others, &f->others);
    f->ticket = ticket;
    add(f);
}

/* ---- nodes and partitions ----------------------------------------------------------------------- */

/* "gpu:a100:2,gpu:v100:2,shard:8" -> rows; devices of one name are numbered through. */
static void fill_node_gres(struct feed *f, const char *text)
{
    char *copy = own_str(f, text), *save = NULL;
    struct sched_gres_spec *rows = NULL;
    size_t n = 0;

    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text g;
        uint64_t first = 0;

        if (!gres_text_parse(w, &g))
            continue;
        for (size_t i = 0; i < n; i++)
            if (strcmp(rows[i].name, g.name) == 0)
                first += rows[i].count;
        rows = must(realloc(rows, (n + 1) * sizeof(*rows)));
        rows[n++] = (struct sched_gres_spec){ .name = g.name,
                                              .type = g.type,
                                              .count = g.count,
                                              .indexed = first + g.count <= 1024 &&
                                                         strcmp(g.name, "shard") != 0 &&
                                                         strcmp(g.name, "mps") != 0,
                                              .first_index = (uint32_t)first };
    }
    f->node.gres = own(f, rows);
    f->node.ngres = n;
}

static void spec_core(uint64_t *bits, const Pst__NodeRecord *r, uint32_t core)
{
    for (uint32_t t = core * r->threads_per_core; t < (core + 1) * r->threads_per_core && t < r->cpus; t++)
        bits[t >> 6] |= UINT64_C(1) << (t & 63);
}

/* CPUs kept from jobs: as listed, or so many cores, the last of the last socket first. */
static const uint64_t *node_spec(struct feed *f, const Pst__NodeRecord *r)
{
    uint32_t nwords = (r->cpus + 63) / 64, sockets = r->sockets ? r->sockets : 1;
    uint64_t *bits;

    if (!r->cpu_spec_list && !(r->has_core_spec && r->core_spec))
        return NULL;
    if (r->cpu_spec_list) {
        bits = bits_of(r->cpu_spec_list, r->cpus, &nwords);
        return own(f, bits);
    }
    bits = own(f, must(calloc(nwords, sizeof(*bits))));
    for (uint32_t i = 0; i < r->core_spec && i < sockets * r->cores_per_socket; i++)
        spec_core(bits, r,
                  (sockets - 1 - i % sockets) * r->cores_per_socket + r->cores_per_socket - 1 - i / sockets);
    return bits;
}

void feed_node(struct ctld *ctld, const struct node *n)
{
    const Pst__NodeRecord *r = n->rec;
    struct feed *f = feed_new(FEED_NODE);
    struct sched_node *s = &f->node;

    (void)ctld;
    s->id = r->node_id;
    s->name = own_str(f, r->name);
    s->cpus = r->cpus;
    s->sockets = r->sockets;
    s->cores_per_socket = r->cores_per_socket;
    s->threads_per_core = r->threads_per_core;
    s->mem_mib = r->real_memory_mib > r->mem_spec_mib ? r->real_memory_mib - r->mem_spec_mib : 0;
    s->weight = r->has_weight ? r->weight : 1;
    s->spec_bits = node_spec(f, r);
    s->schedulable = n->link && r->state == PST__NODE_STATE__NODE_IDLE && jobs_node_usable(r);
    s->features = own_str(f, r->active_features ? r->active_features : r->features);
    if (r->gres)
        fill_node_gres(f, r->gres);
    add(f);
}

void feed_node_gone(struct ctld *ctld, uint32_t node_id)
{
    struct feed *f = feed_new(FEED_NODE_REMOVE);

    (void)ctld;
    f->node_id = node_id;
    add(f);
}

void feed_part(struct ctld *ctld, const struct partition *p)
{
    const Pst__PartitionRecord *r = p->rec;
    struct feed *f = feed_new(FEED_PART);
    struct sched_partition *s = &f->part;
    uint32_t *ids = own(f, must(calloc(bitmap_count(p->nodes) + 1, sizeof(*ids))));
    const char *share = r->oversubscribe ? strchr(r->oversubscribe, ':') : NULL;
    uint64_t ways = 1;

    (void)ctld;
    BITMAP_FOREACH (p->nodes, i)
        ids[s->nnodes++] = i;
    s->name = own_str(f, r->name);
    s->node_ids = ids;
    s->preempt_mode = preempt_mode_of(r->preempt_mode);
    s->tier = r->has_priority_tier ? r->priority_tier : 1;
    s->job_factor = r->has_priority_job_factor ? r->priority_job_factor : 1;
    s->up = r->state == PST__PARTITION_STATE__PART_UP || r->state == PST__PARTITION_STATE__PART_DRAIN;
    s->max_time_min = r->has_max_time_min ? r->max_time_min : SCHED_UNLIMITED;
    s->min_nodes = r->has_min_nodes ? r->min_nodes : 0;
    s->max_nodes = r->has_max_nodes ? r->max_nodes : SCHED_UNLIMITED;
    s->lln = r->has_lln && r->lln;
    s->exclusive_user = r->exclusive && strcmp(r->exclusive, "USER") == 0;
    s->exclusive_node = r->exclusive && strcmp(r->exclusive, "NODE") == 0;
    if (share)
        (void)parse_u64(share + 1, 1, 64, &ways); /* checked by the configuration */
    s->oversubscribe = (uint32_t)ways;
    s->oversubscribe_force = r->oversubscribe && strncasecmp(r->oversubscribe, "FORCE", 5) == 0;
    s->max_cpus_per_node = r->has_max_cpus_per_node ? r->max_cpus_per_node : SCHED_UNLIMITED;
    add(f);
}

void feed_part_gone(struct ctld *ctld, const char *name)
{
    struct feed *f = feed_new(FEED_PART_REMOVE);

    (void)ctld;
    f->name = must(strdup(name));
    add(f);
}

/* ---- parameters --------------------------------------------------------------------------------- */

void feed_licenses(struct ctld *ctld)
{
    const char *text = conf_str(ctld->conf, CONF_LICENSES);
    struct feed *f = feed_new(FEED_LICENSES);

    f->name = must(strdup(text ? text : ""));
    add(f);
}

void feed_params(struct ctld *ctld)
{
    struct feed *f = feed_new(FEED_PARAMS);

    feed_fill_params(ctld->conf, &f->params);
    add(f);
}
