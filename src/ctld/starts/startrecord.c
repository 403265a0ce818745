/* startrecord.c - what a start changes in the records of a job and of its first steps; see
 * startrecord.h */
#include "ctld/starts/startrecord.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gres/licensetext.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/job/allocrecord.h"
#include "ctld/job/nodefeatures.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/hetgroup.h"
#include "ctld/policy/imex.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/prologs.h"
#include "ctld/notify/hooks.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/topology/topology.h"
#include "feed/topoorder.h"
#include "feed/licensefeed.h"
#include "feed/preemptfeed.h"
#include "feed/records.h"
#include "model/array.h"
#include "model/kept.h"
#include "model/words/nodespec.h"
#include "fields.h"

/* What a job is charged that leaves cores to the system: all that its nodes have for jobs. */
static uint32_t effective_cpus(const struct cluster *c, const Pst__Alloc *alloc)
{
    uint32_t cpus = 0;

    for (size_t i = 0; i < alloc->n_node_ids; i++)
        cpus += nodespec_effective(cluster_node(c, alloc->node_ids[i])->rec);
    return cpus;
}

/* Does whoever runs there have the nodes whole, by the partition or select/linear? */
static bool gives_whole_nodes(const struct ctld *ctld, const struct partition *part)
{
    const char *select = conf_str(ctld->conf, CONF_SELECT_TYPE);

    return (select && strcasecmp(select, "select/linear") == 0) ||
           (part && part->rec->exclusive && strcasecmp(part->rec->exclusive, "NODE") == 0);
}

/* Ranks of the nodes by the topology, where steps are to follow another order than that of the
 * nodes. */
static void add_ranks(const struct ctld *ctld, Pst__Alloc *alloc)
{
    size_t n = alloc->n_node_ids;
    uint32_t *ranks = must(calloc(n + 1, sizeof(*ranks)));
    bool differs = false;

    if (n > 1 &&
        !conf_option(ctld->conf, CONF_SELECT_TYPE_PARAMETERS, "CR_NO_DIST_TOPO_BLOCK", NULL, NULL))
        (void)topologies_ranks(topology_now(ctld), alloc->node_ids, n, ranks); /* else all are 0 */
    for (size_t i = 1; i < n; i++)
        differs = differs || ranks[i] < ranks[i - 1];
    if (!differs) {
        free(ranks);
        return;
    }
    alloc->node_ranks = ranks;
    alloc->n_node_ranks = n;
}

/* What it holds beside its nodes, with the layers that are charged: a replay needs no configuration
 * to know them. */
static void fill_licenses(Pst__JobRecord *set, const Pst__JobRecord *old,
                          const struct sched_decision *d)
{
    char *alloc, *layers;

    if (!d->nlicenses)
        return;
    licenses_texts(d->licenses, d->nlicenses, license_text_any(old->licenses), &alloc, &layers);
    free(set->licenses_alloc);
    free(set->layers_alloc);
    set->licenses_alloc = alloc;
    set->layers_alloc = layers;
}

/* The first pass that sees a job is the one that its submission caused, unless the job had to wait
 * before passes saw it. */
static Pst__JobStartedOn started_on(const struct start_pass *pass, const Pst__JobRecord *r)
{
    if (pass->backfill)
        return PST__JOB_STARTED_ON__STARTED_ON_BACKFILL;
    return r->has_last_sched_eval_us || r->restart_count ||
                   (r->has_eligible_us && r->eligible_us > r->submit_us)
               ? PST__JOB_STARTED_ON__STARTED_ON_SCHEDULE
               : PST__JOB_STARTED_ON__STARTED_ON_SUBMIT;
}

static bool forces_sharing(const struct partition *p)
{
    return p && p->rec->oversubscribe && strncasecmp(p->rec->oversubscribe, "FORCE", 5) == 0;
}

/* The limit of time that a start sets, 0 = as it is.  A job that is planned with --time-min alone
 * may ask for more than its partition grants. */
static uint32_t shortened_minutes(const struct ctld *ctld, const Pst__JobRecord *r,
                                  const struct partition *part, const struct sched_decision *d)
{
    bool over = part && part->rec->has_max_time_min && r->has_time_limit_min &&
                r->time_limit_min > part->rec->max_time_min;

    return !d->time_limit_min && over && feed_time_is_soft(ctld->conf, r) ? part->rec->max_time_min
                                                                          : d->time_limit_min;
}

/* How long it is not preempted: where QOS preempt its QOS may say so, else PreemptExemptTime. */
static int64_t exempt_us(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const Pst__QosRecord *q =
        r->qos && preempt_by_qos(ctld->conf) ? am_qos_named(ctld->cluster->am, r->qos) : NULL;

    return q && q->has_preempt_exempt_s ? (int64_t)q->preempt_exempt_s * USEC_PER_SEC
                                        : preempt_exempt_us(ctld->conf);
}

/* The fields a start sets, on a patch or on a task's fresh record. */
static void fill_start(Pst__JobRecord *set, const struct job *j, const struct sched_decision *d,
                       Pst__Alloc *alloc, int64_t now, const struct ctld *ctld)
{
    const Pst__JobRecord *old = j->rec;
    const struct cluster *c = ctld->cluster;
    const struct partition *part = cluster_partition(c, d->partition);
    uint32_t shortened_min = shortened_minutes(ctld, old, part, d);
    int64_t exempt = exempt_us(ctld, old);
    size_t script;
    bool prolog = hooks_prolog_wanted(ctld);
    bool nodes = prologs_wanted(ctld) && !job_is_external(old);
    int64_t begin;
    bool boot = bootwait_needed(ctld, old, alloc, &begin);

    if (!boot)
        begin = now;
    SET(set, state, JOB_STATE(RUNNING));
    SET(set, state_flags,
        (prolog || boot ? JOB_FLAG(CONFIGURING) | (old->state_flags & JOB_FLAG(EXPEDITING)) : 0) |
            (boot ? JOB_FLAG(POWER_UP_NODE) : 0));
    if (boot)
        SET(set, power_pending, true);
    if (prolog)
        SET(set, prolog_pending, true);
    if (nodes)
        SET(set, node_prologs, true);
    SET(set, start_us, now);
    if (j->waited_for)
        SET(set, waited_for, j->waited_for);
    if (shortened_min) { /* --time-min let it start earlier */
        SET(set, time_limit_min, shortened_min);
        SET(set, end_us, begin + (int64_t)shortened_min * 60 * USEC_PER_SEC);
    } else if (!(old->has_time_unlimited && old->time_unlimited) && old->has_time_limit_min) {
        SET(set, end_us, begin + (int64_t)old->time_limit_min * 60 * USEC_PER_SEC);
    }
    if (!old->has_eligible_us)
        SET(set, eligible_us, now);
    if (exempt)
        SET(set, preemptable_us, now + exempt);
    if (d->priority)
        SET(set, start_priority, d->priority);
    (void)pb_set_str(&set->partition, d->partition);
    if (forces_sharing(part) && !(old->has_exclusive && old->exclusive))
        SET(set, oversubscribe, true);
    if (gives_whole_nodes(ctld, part) != (old->has_whole_nodes && old->whole_nodes))
        SET(set, whole_nodes, !(old->has_whole_nodes && old->whole_nodes));
    add_ranks(ctld, alloc);
    set->alloc = alloc;
    if (old->prefer)
        SET(set, got_preferred, d->alloc.preferred);
    if (old->has_core_spec)
        SET(alloc, total_cpus, effective_cpus(c, alloc));
    SET(set, released, false);
    SET(set, next_step_id, 0);
    script = nodes_script_position(c, old->batch_features, alloc);
    (void)pb_set_str(&set->batch_host, cluster_node(c, alloc->node_ids[script])->rec->name);
    fill_licenses(set, old, d);
    alloc_bill(ctld, d->partition, set->licenses_alloc, set);
}

/* Where it runs, and what it had asked for when that is not the same. */
static void fill_resv(const struct cluster *c, Pst__JobRecord *set, const Pst__JobRecord *old,
                      uint32_t resv_id)
{
    const Pst__ReservationRecord *r = resv_id ? cluster_resv(c, resv_id) : NULL;

    if (!r)
        return;
    SET(set, resv_id, resv_id);
    if (old->reservation && strcmp(old->reservation, r->name) == 0)
        return;
    if (!old->req_reservation)
        /* -ENOMEM: not told */
        (void)pb_set_str(&set->req_reservation, old->reservation ? old->reservation : "");
    (void)pb_set_str(&set->reservation, r->name);
}

/* A step that comes with the job's start; a is taken. */
static Pst__StepRecord *put_step(Pst__Transaction *tx, const Pst__JobRecord *job, uint32_t job_id,
                                 uint64_t db_id, uint32_t step_id, Pst__Alloc *a, int64_t now)
{
    Pst__StepRecord *s = tx_step_put(tx, PST__EVENT_KIND__EV_STEP_START, job_id, step_id);

    s->alloc = a;
    s->name = tx_strdup(step_id == STEP_BATCH ? "batch" : "extern");
    SET(s, state, PST__STEP_STATE__STEP_RUNNING);
    SET(s, uid, job->uid);
    SET(s, start_us, now);
    SET(s, num_tasks, (uint32_t)a->n_node_ids);
    SET(s, job_db_id, db_id);
    if (step_id == STEP_BATCH) {
        s->container = tx_strdup(job->container);
        s->container_id = tx_strdup(job->container_id);
    }
    if (het_is(job)) {
        SET(s, het_job_id, job->het_job_id);
        SET(s, het_offset, job->het_offset);
    }
    return s;
}

/* On every node of the job, with all it has. */
static void put_extern_step(Pst__Transaction *tx, const Pst__JobRecord *job, uint32_t job_id,
                            uint64_t db_id, const Pst__Alloc *alloc, int64_t now)
{
    ProtobufCMessage *copy;
    Pst__Alloc *a;

    if (pb_dup(&alloc->base, &copy) < 0)
        must(NULL);
    a = (Pst__Alloc *)copy;
    for (size_t i = 0; i < a->n_groups; i++)
        SET(a->groups[i], tasks, 1);
    put_step(tx, job, job_id, db_id, STEP_EXTERN, a, now);
}

static void put_batch_step(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *job,
                           uint32_t job_id, uint64_t db_id, const Pst__Alloc *alloc, int64_t now)
{
    Pst__Alloc *a = must(malloc(sizeof(*a)));
    Pst__AllocGroup *g = must(malloc(sizeof(*g)));
    size_t script = nodes_script_position(ctld->cluster, job->batch_features, alloc);
    const Pst__AllocGroup *here = alloc_group(alloc, script);
    Pst__StepRecord *s;

    pst__alloc__init(a);
    pst__alloc_group__init(g);
    a->nodes = tx_strdup(cluster_node(ctld->cluster, alloc->node_ids[script])->rec->name);
    a->node_ids = must(malloc(sizeof(*a->node_ids)));
    a->node_ids[0] = alloc->node_ids[script];
    a->n_node_ids = 1;
    a->groups = must(malloc(sizeof(Pst__AllocGroup *)));
    a->groups[0] = g;
    a->n_groups = 1;
    SET(g, nodes, 1);
    SET(g, cpus, here->cpus);
    SET(g, mem_mib, here->mem_mib);
    SET(g, tasks, 1);
    SET(a, total_cpus, here->cpus);
    s = put_step(tx, job, job_id, db_id, STEP_BATCH, a, now);
    g->gres = here->gres; /* its job's: not held for it alone */
    g->n_gres = here->n_gres;
    s->alloc_tres = alloc_step_tres(a, conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TRES));
    g->gres = NULL;
    g->n_gres = 0;
}

/* One task of an array leaves its record and starts.  Gives the id it runs under. */
static uint32_t fill_task_start(struct ctld *ctld, Pst__Transaction *tx, struct job *array,
                                const struct start_pass *pass, const struct sched_decision *d,
                                Pst__Alloc *alloc, int64_t now)
{
    uint32_t task = array_first(array->rec->array_tasks), id = array->rec->job_id;
    char text[16];
    ProtobufCMessage *copy;
    Pst__JobRecord *rec, *set;
    Pst__ClusterRecord *c;

    if (array_count(array->rec->array_tasks) == 1) {
        set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_START, id);
        SET(set, array_task_id, task);
        tx_clear(tx, JOB_F_ARRAY_TASKS);
        fill_start(set, array, d, alloc, now, ctld);
        fill_resv(ctld->cluster, set, array->rec, d->resv_id);
        imex_fill(ctld, set, array->rec, id);
        SET(set, started_on, started_on(pass, array->rec));
        return id;
    }
    (void)snprintf(text, sizeof(text), "%u", task);
    (void)tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, id);
    tx_take_tasks(tx, text);
    if (pb_dup(&array->rec->base, &copy) < 0)
        must(NULL);
    rec = (Pst__JobRecord *)copy;
    record_drop_volatile(&rec->base);
    id = jobs_fresh_id(ctld);
    c = tx_cluster(tx);
    SET(c, next_job_id, jobs_next_id(ctld, id));
    lifecycle_new_run(ctld, tx, rec);
    SET(rec, job_id, id);
    SET(rec, array_task_id, task);
    (void)pb_set_str(&rec->array_tasks, NULL);
    fill_start(rec, array, d, alloc, now, ctld);
    fill_resv(ctld->cluster, rec, array->rec, d->resv_id);
    imex_fill(ctld, rec, array->rec, id);
    SET(rec, started_on, started_on(pass, array->rec));
    tx_job_put_take(tx, PST__EVENT_KIND__EV_JOB_START, rec);
    return id;
}

/* A job with more CPUs than its tasks use was placed as if it had more tasks (feed/records.c).  0:
 * its tasks are as laid out. */
static uint32_t tasks_of(const Pst__JobRecord *r, const struct sched_alloc *a)
{
    if (!r->has_min_cpus || r->has_ntasks_per_node)
        return 0;
    return r->has_num_tasks && r->num_tasks ? r->num_tasks : (uint32_t)a->nnodes;
}

struct started startrecord_put(struct ctld *ctld, Pst__Transaction *tx,
                               const struct start_pass *pass, const struct sched_decision *d,
                               int64_t now)
{
    struct job *j = cluster_job(ctld->cluster, d->job_id);
    Pst__Alloc *alloc = allocrecord_make(
        ctld->cluster, &d->alloc, j->rec->has_threads_per_core ? j->rec->threads_per_core : 0,
        tasks_of(j->rec, &d->alloc));
    struct started st = { .proposed = d->job_id, .id = d->job_id };
    uint64_t db_id;

    if (job_is_array(j->rec)) {
        st.id = fill_task_start(ctld, tx, j, pass, d, alloc, now);
    } else {
        Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_START, st.id);

        fill_start(set, j, d, alloc, now, ctld);
        j->waited_for = PST__JOB_REASON__REASON_NONE; /* another run waits anew */
        fill_resv(ctld->cluster, set, j->rec, d->resv_id);
        imex_fill(ctld, set, j->rec, st.id);
        SET(set, started_on, started_on(pass, j->rec));
        feed_job_started(ctld, j, true); /* the scheduler counts it as running already */
    }
    db_id = st.id == st.proposed ? j->rec->db_id : ctld->cluster->rec->next_db_id;
    bootwait_ask(ctld, tx, j->rec, alloc);
    if (het_runs_script(j->rec))
        put_batch_step(ctld, tx, j->rec, st.id, db_id, alloc, now);
    if (launch_contains(ctld) && !job_is_external(j->rec))
        put_extern_step(tx, j->rec, st.id, db_id, alloc, now);
    return st;
}
