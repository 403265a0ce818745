/* records.c - records as changes for the scheduler; see records.h */
#include "feed/records.h"

#include "feed/limitrecords.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/bitmap.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "feed/feedmem.h"
#include "feed/gresfeed.h"
#include "feed/licensefeed.h"
#include "feed/noderes.h"
#include "feed/params.h"
#include "feed/preemptfeed.h"
#include "feed/resourcefeed.h"
#include "assoc.pb-c.h"
#include "feed/sharefeed.h"
#include "feed/switchfeed.h"
#include "feed/topologies.h"
#include "model/array.h"
#include "model/account/assoc.h"
#include "model/hetjob.h"
#include "model/job.h"
#include "model/words/nodespec.h"
#include "sched/base/extra.h"

static char *own_str(struct feed *f, const char *text)
{
    return text ? feed_own(f, strdup(text)) : NULL;
}

/* A job may be older than the configuration by which its text is a request. */
static const char *wanted_extra(const struct conf *conf, const Pst__JobRecord *r)
{
    _cleanup_(extra_free) struct extra_request *q = NULL;

    if (!r->extra || !feed_extra_is_request(conf) || extra_parse(r->extra, &q, NULL) < 0)
        return NULL;
    return r->extra;
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

void feed_release(struct feed *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->nowned; i++)
        free(f->owned[i]);
    alloc_done(&f->alloc);
    noderes_free(f->res);
    feed_shares_free(f->shares);
    topologies_unref(f->topologies);
    feed_resources_free(f->resources);
    free(f->name);
    feed_limit_free(f->limit);
    free(f);
}

struct feed *feed_of_name(enum feed_kind kind, const char *name)
{
    struct feed *f = feed_new(kind);

    f->name = must(strdup(name));
    return f;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* "a,b" -> array of copies. */
static size_t split_list(struct feed *f, const char *text, const char *const **ret)
{
    char *copy = own_str(f, text), *save = NULL;
    size_t n = 1, i = 0;
    const char **list;

    for (const char *p = text; *p; p++)
        n += *p == ',';
    list = feed_own(f, calloc(n, sizeof(*list)));
    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save))
        list[i++] = w;
    *ret = list;
    return i;
}

void feed_fill_others(struct feed *f, const char *others)
{
    f->nothers = split_list(f, others, &f->others);
}

/* gone: a name whose node was deleted stands there, too, as a node that no one has. */
static size_t node_ids(struct feed *f, const struct cluster *c, const char *list, bool gone,
                       const uint32_t **ret)
{
    struct hostlist *hl = NULL;
    uint32_t *ids;
    size_t n = 0;

    if (hostlist_parse(list, &hl, NULL) < 0)
        return 0;
    ids = feed_own(f, calloc(hostlist_count(hl) + 1, sizeof(*ids)));
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *node = cluster_node_named(c, hostlist_nth(hl, i));

        if (node || gone)
            ids[n++] = node ? node->rec->node_id : UINT32_MAX;
    }
    hostlist_free(hl);
    *ret = ids;
    return n;
}

/* "node1*2,node3*1": how many tasks each node of the job's list gets.  It has no effect on a job
 * whose list or number of tasks was changed since. */
static void fill_task_nodes(struct feed *f, const struct cluster *c, const char *text)
{
    struct sched_job *s = &f->job;
    uint32_t *tasks = feed_own(f, calloc(s->nreq + 1, sizeof(*tasks)));
    uint64_t sum = 0, n = 0;
    size_t i = 0;

    for (const char *at = text, *end; *at && i < s->nreq; at = end + (*end == ',')) {
        char name[256];
        const struct node *node;
        const char *star;

        end = at + strcspn(at, ",");
        star = memchr(at, '*', (size_t)(end - at));
        if (!star || (size_t)(star - at) >= sizeof(name))
            return;
        (void)snprintf(name, sizeof(name), "%.*s", (int)(star - at), at);
        node = cluster_node_named(c, name);
        (void)snprintf(name, sizeof(name), "%.*s", (int)(end - star - 1), star + 1);
        if (!node || node->rec->node_id != s->req_nodes[i] ||
            parse_u64(name, 1, s->num_tasks, &n) < 0)
            return;
        tasks[i++] = (uint32_t)n;
        sum += n;
    }
    if (i == s->nreq && sum == s->num_tasks)
        s->req_tasks = tasks;
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
    bool own = r->has_mem_per_node_mib || r->has_mem_per_cpu_mib;

    s->cpus_per_gpu = r->has_cpus_per_gpu       ? r->cpus_per_gpu
                      : r->has_def_cpus_per_gpu ? r->def_cpus_per_gpu
                                                : 0;
    s->tasks_per_gpu = r->has_ntasks_per_gpu ? r->ntasks_per_gpu : 0;
    if (!r->has_mem_per_gpu_mib && (own || !r->has_def_mem_per_gpu_mib))
        return;
    s->mem_per_gpu_mib = r->has_mem_per_gpu_mib ? r->mem_per_gpu_mib : r->def_mem_per_gpu_mib;
    s->has_mem_per_node = false;
    s->mem_per_node_mib = s->mem_per_cpu_mib = 0;
}

/* "2,4,6,8" */
static void fill_counts(struct feed *f, const char *text)
{
    uint32_t *counts = feed_own(f, malloc((strlen(text) + 1) * sizeof(*counts)));
    char *end;

    for (const char *p = text; *p; p = end + (*end == ',')) {
        counts[f->job.nnode_counts] = (uint32_t)strtoul(p, &end, 10);
        if (end == p)
            break;
        f->job.nnode_counts++;
    }
    f->job.node_counts = counts;
}

/* --gres-flags over what the configuration says of all jobs. */
static void fill_gres_flags(struct sched_job *s, const struct conf *conf, const char *flags)
{
    const char *params = conf_str(conf, CONF_SELECT_TYPE_PARAMETERS);

    if (wordlist_has_nocase(flags, "disable-binding"))
        s->gres_bind = SCHED_BIND_NONE;
    else if (wordlist_has_nocase(flags, "enforce-binding") ||
             wordlist_has_nocase(params, "ENFORCE_BINDING_GRES"))
        s->gres_bind = SCHED_BIND_ENFORCE;
    s->one_task_per_share = wordlist_has_nocase(flags, "one-task-per-sharing") ||
                            (wordlist_has_nocase(params, "ONE_TASK_PER_SHARING_GRES") &&
                             !wordlist_has_nocase(flags, "multiple-tasks-per-sharing"));
}

static bool takes_whole_nodes(const Pst__JobRecord *r)
{
    return r->has_exclusive && r->exclusive == EXCLUSIVE_NODE;
}

static bool closes_units(const Pst__JobRecord *r)
{
    return r->has_exclusive && r->exclusive == EXCLUSIVE_TOPO;
}

/* NumCPUs of `scontrol update job`: the job is placed as if it had as many tasks as use these CPUs.
 * --ntasks-per-node says how many CPUs of a node it takes, and is not exceeded. */
static void fill_least_cpus(struct sched_job *s, const Pst__JobRecord *r)
{
    uint32_t units = r->has_min_cpus ? (r->min_cpus - 1) / MAX(s->cpus_per_task, 1u) + 1 : 0;

    if (r->min_cpus && !s->ntasks_per_node && !s->overcommit &&
        units > MAX(s->num_tasks, MAX(s->min_nodes, 1u)))
        s->num_tasks = units;
}

bool feed_time_is_soft(const struct conf *conf, const Pst__JobRecord *r)
{
    return r->has_time_min_min && r->time_min_min && r->has_time_limit_min &&
           conf_option(conf, CONF_SCHEDULER_PARAMETERS, "time_min_as_soft_limit", NULL, NULL);
}

bool feed_extra_is_request(const struct conf *conf)
{
    return conf_option(conf, CONF_SCHEDULER_PARAMETERS, "extra_constraints", NULL, NULL);
}

int64_t feed_end_us(const struct conf *conf, const Pst__JobRecord *r)
{
    int64_t end_us = r->has_end_us ? r->end_us : INT64_MAX;

    if (!r->has_start_us || end_us == INT64_MAX || !feed_time_is_soft(conf, r))
        return end_us;
    /* both count from the same moment, which is that of a boot where it waited for one */
    return MAX(r->start_us,
               end_us - (int64_t)(r->time_limit_min - r->time_min_min) * 60 * USEC_PER_SEC);
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
    s->external = r->has_external && r->external;
    s->exclusive = takes_whole_nodes(r);
    s->exclusive_user = r->has_exclusive && r->exclusive == EXCLUSIVE_USER;
    s->one_run = !job_can_requeue(r);
    s->use_min_nodes = r->has_use_min_nodes && r->use_min_nodes;
    s->core_spec = r->has_core_spec ? r->core_spec : 0;
    s->spec_threads = r->has_core_spec && r->spec_threads;
    s->kept_too = r->has_core_spec && !r->core_spec;
    s->oversubscribe = r->has_oversubscribe && r->oversubscribe;
    s->overcommit = r->has_overcommit && r->overcommit;
    s->contiguous = r->has_contiguous && r->contiguous;
    s->spread = r->has_spread_job && r->spread_job;
    s->segment_size = r->has_segment_size ? r->segment_size : 0;
    s->spread_segments = r->has_spread_segments && r->spread_segments;
    s->consolidate_segments = r->has_consolidate_segments && r->consolidate_segments;
    s->exclusive_topo = closes_units(r);
    s->switches = r->has_switches ? r->switches : 0;
    s->switches_wait_s = r->has_switches_wait_s ? r->switches_wait_s : 0;
    s->time_limit_min = r->has_time_unlimited && r->time_unlimited ? SCHED_UNLIMITED
                        : r->has_time_limit_min                    ? r->time_limit_min
                                                                   : SCHED_UNLIMITED;
    s->time_min_min = r->has_time_min_min ? r->time_min_min : 0;
    fill_least_cpus(s, r);
}

static void fill_licenses(struct feed *f, const char *text)
{
    struct license_list list;

    if (!licenses_parse(own_str(f, text), &list))
        return; /* checked at submission */
    f->job.licenses = list.items ? feed_own(f, list.items) : NULL;
    f->job.nlicenses = list.n;
    f->job.licenses_any = list.any;
}

/* What a job holds.  Of a resource of mode 1 its record shows the layer in place of the name. */
static void fill_layers(struct feed *f, const char *text)
{
    size_t shown = f->job.nlicenses;
    struct sched_lic_req *all;
    struct license_list layers;

    if (!licenses_parse(own_str(f, text), &layers))
        return; /* our own text */
    all = feed_own(f, calloc(shown + layers.n + 1, sizeof(*all)));
    for (size_t i = 0; i < shown; i++) {
        char *name = (char *)f->job.licenses[i].name; /* of this change's own copy */

        all[i] = f->job.licenses[i];
        name[strcspn(name, "(")] = '\0';
        all[i].layer = false;
    }
    for (size_t i = 0; i < layers.n; i++)
        all[shown + i] = layers.items[i];
    free(layers.items);
    f->job.licenses = all;
    f->job.nlicenses = shown + layers.n;
}

uint32_t feed_throttle(const Pst__JobRecord *r)
{
    if (r->array_tasks)
        return array_throttle(r->array_tasks);
    return r->has_array_job_id && r->has_array_task_throttle ? r->array_task_throttle : 0;
}

bool feed_throttled(const struct cluster *c, const Pst__JobRecord *r)
{
    uint32_t most = feed_throttle(r);

    return most && cluster_array_tally(c, r->array_job_id).running >= most;
}

size_t feed_array_waiting(const struct cluster *c, uint32_t array_job_id, const uint32_t **ret_ids)
{
    struct array_tally tally = cluster_array_tally(c, array_job_id);
    size_t n = cluster_array_parts(c, array_job_id, ret_ids), waiting = 0;

    for (size_t i = 0; i < n; i++) { /* a record whose tasks were cancelled stays */
        const struct job *part = cluster_job(c, (*ret_ids)[i]);

        waiting += part && job_is_pending(part->rec);
    }
    /* Tasks that wait in records of their own were started once, or were changed alone. */
    return tally.living - tally.running <= waiting ? n
                                                   : cluster_array_jobs(c, array_job_id, ret_ids);
}

int64_t feed_eligible_at(const struct cluster *c, const Pst__JobRecord *r)
{
    if (het_is(r))
        return het_eligible_at(c, r);
    if (job_is_held(r) || r->dependency || job_has_flag(r, JOB_FLAG(COMPLETING)))
        return INT64_MAX;
    if (feed_throttled(c, r))
        return INT64_MAX;
    return r->has_begin_us ? r->begin_us : 0;
}

static void fill_account(struct sched_job *s, const struct cluster *c, const Pst__JobRecord *r)
{
    const uint32_t sizes =
        1u << PST__QOS_FLAG__QOS_PARTITION_MAX_NODES | 1u << PST__QOS_FLAG__QOS_PARTITION_MIN_NODES;
    const Pst__QosRecord *q = r->has_qos_id ? am_qos(c->am, r->qos_id) : NULL;

    s->assoc_id = r->has_assoc_id ? r->assoc_id : 0;
    s->qos_id = r->has_qos_id ? r->qos_id : 0;
    s->any_time = r->has_limit_set && r->limit_set & 1u << PST__LIMIT_SET__LIMIT_SET_TIME;
    s->any_size = r->has_limit_set && r->limit_set & 1u << PST__LIMIT_SET__LIMIT_SET_TRES;
    s->any_part_size = q && q->has_flags && q->flags & sizes;
}

void feed_fill_job(struct feed *f, const struct conf *conf, const struct cluster *c,
                   const Pst__JobRecord *r)
{
    struct sched_job *s = &f->job;

    f->has_script = r->has_batch && r->batch;
    s->id = r->job_id;
    s->uid = r->uid;
    s->priority = r->has_priority ? r->priority : 0;
    s->nice = r->has_nice ? r->nice : 0;
    s->site_factor = r->has_site_factor ? r->site_factor : 0;
    s->submit_us = r->submit_us;
    s->array_id = r->has_array_job_id ? r->array_job_id : 0;
    s->accrue_us = r->has_accrue_us     ? (r->accrue_us ? r->accrue_us : INT64_MAX)
                   : r->has_eligible_us ? r->eligible_us
                                        : r->submit_us;
    s->qos = own_str(f, r->qos);
    fill_account(s, c, r);
    s->label = r->mcs_select ? own_str(f, r->mcs_label) : NULL;
    s->het_id = het_is(r) ? r->het_job_id : 0;
    s->het_count = het_is(r) ? r->het_count : 0;
    s->npartitions = split_list(f, r->partition, &s->partitions);
    fill_sizes(s, r);
    if (feed_time_is_soft(conf, r)) {
        s->time_limit_min = MIN(s->time_limit_min, s->time_min_min);
        s->time_min_min = 0;
    }
    if (r->node_counts)
        fill_counts(f, r->node_counts);
    fill_gpus(s, r);
    fill_gres_flags(s, conf, r->gres_flags);
    fill_distribution(s, r->distribution);
    s->features = own_str(f, r->features);
    s->prefer = own_str(f, r->prefer);
    s->extra = own_str(f, wanted_extra(conf, r));
    if (r->req_nodes) /* a deleted one keeps the job waiting, until it is made again */
        s->nreq = node_ids(f, c, r->req_nodes, true, &s->req_nodes);
    if (r->task_nodes && s->nreq)
        fill_task_nodes(f, c, r->task_nodes);
    if (r->exc_nodes)
        s->nexc = node_ids(f, c, r->exc_nodes, false, &s->exc_nodes);
    feed_fill_gres(f, r);
    if (r->licenses && *r->licenses)
        fill_licenses(f, r->licenses);
    feed_fill_resvs(f, conf, c, r);
    s->channels = imex_wanted(conf, r);
    s->expedite = job_has_flag(r, JOB_FLAG(EXPEDITING));
    if (s->expedite && r->expedite_nodes)
        s->nnear = node_ids(f, c, r->expedite_nodes, false, &s->near_nodes);
}

/* ---- allocations ----------------------------------------------------------------------------- */

static uint64_t *bits_of(const char *list, uint32_t nbits, uint32_t *ret_words)
{
    struct bitmap *bm = NULL;
    uint64_t *words;

    if (bitmap_new(nbits ? nbits : 1, &bm) < 0)
        must(NULL);
    if (list)
        (void)bitmap_parse(bm, list,
                           NULL); /* our own text; indexes beyond a shrunken node are dropped */
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
        if (g->gres[i]->shares)
            to->devices = bits_of(g->gres[i]->shares, 4096, &to->ndevice_words);
        else if (g->gres[i]->devices)
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

struct feed *feed_of_running(const struct cluster *c, const Pst__JobRecord *r)
{
    struct feed *f = feed_new(FEED_RUNNING);

    f->job_id = r->job_id;
    f->name = must(strdup(r->partition));
    f->start_us = r->start_us;
    f->end_us = r->has_end_us ? r->end_us : INT64_MAX;
    f->exclusive = takes_whole_nodes(r);
    f->uid = r->uid;
    f->label = r->mcs_select ? own_str(f, r->mcs_label) : NULL;
    f->exclusive_user = r->has_exclusive && r->exclusive == EXCLUSIVE_USER;
    f->exclusive_topo = closes_units(r);
    f->job.channels = het_is_follower(r) ? 0 : (uint32_t)r->n_imex_channels;
    fill_alloc(c, f, r->alloc);
    return f;
}

struct feed *feed_of_held_licenses(const Pst__JobRecord *r)
{
    struct feed *f = feed_new(FEED_LICENSES);

    f->job_id = r->job_id;
    if (r->licenses_alloc)
        fill_licenses(f, r->licenses_alloc);
    if (r->layers_alloc)
        fill_layers(f, r->layers_alloc);
    return f;
}

struct feed *feed_of_rank(const Pst__JobRecord *r)
{
    struct feed *f = feed_new(FEED_RANK);

    f->job_id = r->job_id;
    f->priority = r->has_cur_priority ? r->cur_priority : r->has_priority ? r->priority : 1;
    f->name = r->qos ? must(strdup(r->qos)) : NULL;
    f->one_run = !job_can_requeue(r);
    return f;
}

/* ---- nodes and partitions -------------------------------------------------------------------- */

/* CPUs kept from jobs. */
static const uint64_t *node_spec(struct feed *f, const Pst__NodeRecord *r)
{
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;
    uint32_t nwords = (r->cpus + 63) / 64;
    uint64_t *bits;

    if (nodespec_cpus(r, &kept) < 0)
        must(NULL);
    if (!kept)
        return NULL;
    bits = feed_own(f, calloc(nwords, sizeof(*bits)));
    memcpy(bits, kept->words, nwords * sizeof(*bits));
    return bits;
}

#define POWER_WEIGHT (1u << 30) /* of a rank; weights of nodes are below */
#define NODE_BIT(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

/* 0: up, 1: on its way up, 2: powered down.  Jobs get nodes that are up first, whatever their
 * weights. */
static uint32_t power_rank(const Pst__NodeRecord *r)
{
    if (r->state_flags & NODE_BIT(POWERED_DOWN))
        return 2;
    return r->state_flags & NODE_BIT(POWERING_UP) ? 1 : 0;
}

bool feed_node_usable(const Pst__NodeRecord *r)
{
    const uint32_t bad = NODE_BIT(DRAIN) | NODE_BIT(FAIL) | NODE_BIT(MAINTENANCE) |
                         NODE_BIT(INVALID_REG) | NODE_BIT(REBOOT_ISSUED) | NODE_BIT(POWERING_DOWN) |
                         (power_rank(r) ? 0 : NODE_BIT(NOT_RESPONDING));

    return !(r->has_state_flags && (r->state_flags & bad));
}

bool feed_node_serves(const Pst__NodeRecord *r, bool linked)
{
    return (linked || power_rank(r) || r->state_flags & NODE_BIT(EXTERNAL)) &&
           r->state == PST__NODE_STATE__NODE_IDLE && feed_node_usable(r);
}

struct feed *feed_of_node(const Pst__NodeRecord *r, bool linked)
{
    struct feed *f = feed_new(FEED_NODE);
    struct sched_node *s = &f->node;

    s->id = r->node_id;
    s->name = own_str(f, r->name);
    s->cpus = r->cpus;
    s->sockets = r->sockets;
    s->cores_per_socket = r->cores_per_socket;
    s->threads_per_core = r->threads_per_core;
    s->mem_mib = r->real_memory_mib > r->mem_spec_mib ? r->real_memory_mib - r->mem_spec_mib : 0;
    s->weight = MIN(r->has_weight ? r->weight : 1, POWER_WEIGHT - 1) + power_rank(r) * POWER_WEIGHT;
    s->spec_bits = node_spec(f, r);
    s->off = r->state == PST__NODE_STATE__NODE_FUTURE ||
             (r->state_flags & NODE_BIT(POWERED_DOWN) && !(r->state_flags & NODE_BIT(POWER_UP)));
    s->external = r->state_flags & 1u << PST__NODE_FLAG__NODE_FLAG_EXTERNAL;
    s->schedulable = feed_node_serves(r, linked);
    s->awaited = !s->schedulable && feed_node_serves(r, true);
    s->features = own_str(f, r->active_features ? r->active_features : r->features);
    if (!power_rank(r) && !(r->state_flags & NODE_BIT(POWERING_UP)))
        s->boot_features = own_str(f, r->changeable_features);
    s->extra = own_str(f, r->extra);
    if (r->gres) {
        f->res = noderes_new(r);
        s->gres = f->res->rows;
        s->ngres = f->res->n;
        s->gpu_bits = f->res->gpu_bits;
    }
    return f;
}

void feed_max_memory(const struct conf *conf, const Pst__PartitionRecord *r,
                     uint64_t *ret_per_cpu_mib, uint64_t *ret_per_node_mib)
{
    bool own = r->has_max_mem_per_cpu_mib || r->has_max_mem_per_node_mib;

    *ret_per_cpu_mib = own ? r->max_mem_per_cpu_mib : conf_num(conf, CONF_MAX_MEM_PER_CPU);
    *ret_per_node_mib = own ? r->max_mem_per_node_mib : conf_num(conf, CONF_MAX_MEM_PER_NODE);
}

struct feed *feed_of_part(const struct cluster *c, const struct conf *conf,
                          const struct partition *p)
{
    const Pst__PartitionRecord *r = p->rec;
    const Pst__QosRecord *q = r->qos ? am_qos_named(c->am, r->qos) : NULL;
    struct feed *f = feed_new(FEED_PART);
    struct sched_partition *s = &f->part;
    uint32_t *ids = feed_own(f, calloc(bitmap_count(p->nodes) + 1, sizeof(*ids)));
    const char *share = r->oversubscribe ? strchr(r->oversubscribe, ':') : NULL;
    uint64_t ways = 1;

    BITMAP_FOREACH (p->nodes, i)
        ids[s->nnodes++] = i;
    s->name = own_str(f, r->name);
    s->node_ids = ids;
    s->preempt_mode = preempt_mode_of(r->preempt_mode);
    s->tier = r->has_priority_tier ? r->priority_tier : 1;
    s->job_factor = r->has_priority_job_factor ? r->priority_job_factor : 1;
    s->up =
        r->state == PST__PARTITION_STATE__PART_UP || r->state == PST__PARTITION_STATE__PART_DRAIN;
    s->max_time_min = r->has_max_time_min ? r->max_time_min : SCHED_UNLIMITED;
    s->inactive = r->state == PST__PARTITION_STATE__PART_INACTIVE;
    feed_max_memory(conf, r, &s->max_mem_per_cpu_mib, &s->max_mem_per_node_mib);
    s->min_nodes = r->has_min_nodes ? r->min_nodes : 0;
    s->max_nodes = r->has_max_nodes ? r->max_nodes : SCHED_UNLIMITED;
    s->lln = r->has_lln && r->lln;
    s->own_select = feed_part_select(r->select_type_parameters, &s->select, &s->select_memory);
    s->exclusive_user = r->exclusive && strcmp(r->exclusive, "USER") == 0;
    s->exclusive_node = r->exclusive && strcmp(r->exclusive, "NODE") == 0;
    s->exclusive_topo = r->exclusive && strcmp(r->exclusive, "TOPO") == 0;
    if (share)
        (void)parse_u64(share + 1, 1, 64, &ways); /* checked by the configuration */
    s->oversubscribe = (uint32_t)ways;
    s->oversubscribe_force = r->oversubscribe && strncasecmp(r->oversubscribe, "FORCE", 5) == 0;
    s->qos_id = q ? q->qos_id : 0;
    s->billing_sum = conf_billing_sum(conf);
    s->billing = own_str(f, r->tres_billing_weights);
    s->topology = own_str(f, r->topology);
    s->max_cpus_per_socket = r->has_max_cpus_per_socket ? r->max_cpus_per_socket : SCHED_UNLIMITED;
    s->max_cpus_per_node = r->has_max_cpus_per_node ? r->max_cpus_per_node : SCHED_UNLIMITED;
    return f;
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static enum sched_preempt_mode qos_mode(uint32_t bits)
{
    if (bits & 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_CANCEL)
        return SCHED_MODE_CANCEL;
    if (bits & 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_REQUEUE)
        return SCHED_MODE_REQUEUE;
    if (bits & 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_SUSPEND)
        return SCHED_MODE_SUSPEND;
    return bits & 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_OFF ? SCHED_MODE_OFF
                                                               : SCHED_MODE_DEFAULT;
}

struct feed *feed_of_qos(const struct assoc_mgr *am, const Pst__QosRecord *q)
{
    struct feed *f = feed_of_name(FEED_QOS, q->name ? q->name : "");
    const char **names = feed_own(f, calloc(q->n_preempt_ids + 1, sizeof(*names)));
    bool cluster = !q->has_preempt_mode || q->preempt_mode == UINT32_MAX;
    uint32_t bits = cluster ? 0 : q->preempt_mode;
    size_t len = 1;
    char *text;

    if (q->has_deleted && q->deleted)
        return f;
    for (size_t i = 0; i < q->n_preempt_ids; i++) {
        const Pst__QosRecord *other = am_qos(am, q->preempt_ids[i]);

        if (!other || !other->name || (other->has_deleted && other->deleted))
            continue;
        names[f->qos.nmay++] = other->name;
        len += strlen(other->name) + 1;
    }
    text = feed_own(f, malloc(len));
    for (size_t i = 0; i < f->qos.nmay; i++) {
        size_t n = strlen(names[i]) + 1;

        names[i] = memcpy(text, names[i], n);
        text += n;
    }
    f->qos.may = names;
    f->qos.mode = qos_mode(bits);
    f->qos.within = bits & 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_WITHIN;
    f->qos.by_priority = bits & 1u << PST__QOS_PREEMPT_MODE__QOS_PREEMPT_PRIORITY;
    f->qos.has_exempt = q->has_preempt_exempt_s;
    f->qos.exempt_s = q->preempt_exempt_s;
    return f;
}

/* ---- the scheduler --------------------------------------------------------------------------- */

struct feed *feed_of_topologies(struct topologies *t)
{
    struct feed *f = feed_new(FEED_TOPOLOGIES);

    f->topologies = topologies_ref(t);
    return f;
}

int feed_apply_topologies(struct sched *s, const struct topologies *t)
{
    size_t n = topologies_count(t);
    const struct topo_spec **specs = must(calloc(n + 1, sizeof(struct topo_spec *)));
    int r;

    for (size_t i = 0; i < n; i++)
        specs[i] = topo_get_spec(topologies_nth(t, i));
    r = sched_topologies_put(s, specs, n);
    free(specs);
    return r;
}

int feed_apply(struct sched *s, const struct feed *f)
{
    int r = 0;

    switch (f->kind) {
    case FEED_JOB:
        return sched_job_put(s, &f->job);
    case FEED_PRICE:
        return sched_job_price(s, &f->job);
    case FEED_RUNNING:
        r = sched_job_running(s, f->job_id, f->name, &f->alloc, f->start_us, f->end_us,
                              f->exclusive);
        if (r == 0)
            r = sched_job_owner(s, f->job_id, f->uid, f->exclusive_user, f->label);
        if (r == 0)
            r = sched_job_topo(s, f->job_id, f->exclusive_topo);
        if (r == 0)
            sched_job_channels(s, f->job_id, f->job.channels);
        return r;
    case FEED_REMOVE:
        sched_job_remove(s, f->job_id);
        return 0;
    case FEED_REFUSED:
        sched_job_refused(s, f->job_id);
        return 0;
    case FEED_END_TIME:
        sched_job_end_time(s, f->job_id, f->end_us);
        return 0;
    case FEED_SUSPEND:
    case FEED_RESUME:
        sched_job_suspend(s, f->job_id, f->kind == FEED_SUSPEND);
        return 0;
    case FEED_NODE:
        return sched_node_put(s, &f->node);
    case FEED_NODE_REMOVE:
        sched_node_remove(s, f->node_id);
        return 0;
    case FEED_PART:
        return sched_partition_put(s, &f->part);
    case FEED_PART_REMOVE:
        sched_partition_remove(s, f->name);
        return 0;
    case FEED_LICENSES:
        return f->job_id ? sched_job_licenses(s, f->job_id, f->job.licenses, f->job.nlicenses)
                         : licenses_configure(s, f->name);
    case FEED_RESOURCES:
        return feed_apply_resources(s, f->resources);
    case FEED_RANK:
        return sched_job_rank(s, f->job_id, f->priority, f->name, f->one_run);
    case FEED_LEAVING:
        sched_job_leaving(s, f->job_id);
        return 0;
    case FEED_LIMIT:
        return feed_limit_apply(s, f->limit);
    case FEED_ACCOUNT:
        return sched_job_account(s, f->job_id, f->assoc_id, f->qos_id);
    case FEED_UNCHARGE:
        sched_job_uncharge(s, f->job_id);
        return 0;
    case FEED_RESV:
        if (!f->job_id)
            return sched_resv_put(s, &f->resv);
        sched_job_resv(s, f->job_id, f->node_id);
        return 0;
    case FEED_RESV_GONE:
        sched_resv_remove(s, f->node_id);
        return 0;
    case FEED_YIELD:
        sched_job_yield(s, f->job_id, f->exclusive);
        return 0;
    case FEED_PARAMS:
        sched_params_set(s, f->params);
        return 0;
    case FEED_QOS:
        return sched_qos_preempt_put(s, f->name, &f->qos);
    case FEED_SHARES:
        return feed_apply_shares(s, f->shares);
    case FEED_TOPOLOGIES:
        return feed_apply_topologies(s, f->topologies);
    case FEED_ASK:
    case FEED_EXPLAIN:
    case FEED_WHEN:
    case FEED_OVERTAKEN:
    case FEED_TOLD:
    case FEED_NEXT_TASK:
    case FEED_HOLD:
    case FEED_PARTIAL:
    case FEED_WHOLE:
    case FEED_APPLIED:
    case FEED_STOP:
        break;
    }
    return -ENOTSUP;
}
