/* start.c - the scheduler's proposals become starts
 *
 * A proposal was made against a model that lags a little: it is checked against the present
 * state and dropped (and the scheduler told) when it does not hold any more. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/job/depends.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/explain_text.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/gangturns.h"
#include "ctld/job/hetgroup.h"
#include "ctld/notify/hooks.h"
#include "ctld/job/jobfacts.h"
#include "feed/licensefeed.h"
#include "feed/params.h"
#include "ctld/job/lifecycle.h"
#include "ctld/policy/policy.h"
#include "ctld/schedlink/makeroom.h"
#include "ctld/job/prologs.h"
#include "ctld/resv/resv.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/step/steps.h"
#include "ctld/front/view.h"
#include "ctld/core/wait.h"
#include "ctld/core/service.h"
#include "feed/noderes.h"
#include "model/array.h"
#include "model/account/billing.h"

static char *bits_text(const uint64_t *words, uint32_t nwords)
{
    struct bitmap *bm = NULL;
    char *text = NULL;

    if (bitmap_new(nwords * 64, &bm) < 0)
        must(NULL);
    memcpy(bm->words, words, nwords * sizeof(*words));
    if (bitmap_format(bm, &text) < 0)
        must(NULL);
    bitmap_free(bm);
    return text;
}

/* Which GPUs they are of, and how much of each. */
static void note_shares(Pst__GresAlloc *to, const struct sched_alloc_gres *g,
                        const Pst__NodeRecord *node)
{
    _cleanup_(noderes_free) struct noderes *res = noderes_new(node);
    char *gpus, *counts;

    if (!noderes_shares(res, g, &gpus, &counts))
        return;
    to->shares = to->devices;
    to->devices = gpus;
    to->share_counts = counts;
}

static bool is_shared(const char *name)
{
    return strcmp(name, "shard") == 0 || strcmp(name, "mps") == 0;
}

static Pst__AllocGroup *group_new(const struct cluster *c, const struct sched_alloc_node *n)
{
    Pst__AllocGroup *g = must(malloc(sizeof(*g)));

    pst__alloc_group__init(g);
    SET(g, nodes, 1);
    SET(g, cpus, n->cpus);
    SET(g, mem_mib, n->mem_mib);
    SET(g, tasks, n->tasks);
    g->cpu_ids = bits_text(n->cpu_bits, n->ncpu_words);
    g->gres = must(calloc(n->ngres ? n->ngres : 1, sizeof(*g->gres)));
    g->n_gres = n->ngres;
    for (size_t i = 0; i < n->ngres; i++) {
        Pst__GresAlloc *to = g->gres[i] = must(malloc(sizeof(*to)));

        pst__gres_alloc__init(to);
        to->name = tx_strdup(n->gres[i].name);
        to->type = tx_strdup(n->gres[i].type);
        SET(to, count, n->gres[i].count);
        if (n->gres[i].devices)
            to->devices = bits_text(n->gres[i].devices, n->gres[i].ndevice_words);
        if (to->devices && is_shared(to->name))
            note_shares(to, &n->gres[i], cluster_node(c, n->node_id)->rec);
    }
    return g;
}

static bool group_equal(const Pst__AllocGroup *a, Pst__AllocGroup *b)
{
    uint32_t nodes = b->nodes;
    bool equal;

    b->nodes = a->nodes;
    equal = pb_equal(&a->base, &b->base);
    b->nodes = nodes;
    return equal;
}

/* The allocation as a record; groups of equal neighbours are folded. */
static Pst__Alloc *alloc_record(const struct cluster *c, const struct sched_alloc *a)
{
    Pst__Alloc *out = must(malloc(sizeof(*out)));
    const char **names = must(calloc(a->nnodes ? a->nnodes : 1, sizeof(*names)));
    uint32_t cpus = 0;

    pst__alloc__init(out);
    out->node_ids = must(calloc(a->nnodes ? a->nnodes : 1, sizeof(*out->node_ids)));
    out->n_node_ids = a->nnodes;
    out->groups = must(calloc(a->nnodes ? a->nnodes : 1, sizeof(Pst__AllocGroup *)));
    for (size_t i = 0; i < a->nnodes; i++) {
        Pst__AllocGroup *g = group_new(c, &a->nodes[i]);
        Pst__AllocGroup *last = out->n_groups ? out->groups[out->n_groups - 1] : NULL;

        out->node_ids[i] = a->nodes[i].node_id;
        names[i] = cluster_node(c, a->nodes[i].node_id)->rec->name;
        cpus += a->nodes[i].cpus;
        if (last && group_equal(last, g)) {
            last->nodes++;
            pst__alloc_group__free_unpacked(g, NULL);
        } else {
            out->groups[out->n_groups++] = g;
        }
    }
    if (hostlist_fold_names(names, a->nnodes, &out->nodes) < 0)
        must(NULL);
    free(names);
    SET(out, total_cpus, cpus);
    return out;
}

/* All of a name, or of one of its types (NULL = any), on all nodes. */
static uint64_t gres_total(const Pst__Alloc *a, const char *name, const char *type)
{
    uint64_t total = 0;

    for (size_t g = 0; g < a->n_groups; g++)
        for (size_t i = 0; i < a->groups[g]->n_gres; i++) {
            const Pst__GresAlloc *ga = a->groups[g]->gres[i];

            if (strcmp(ga->name, name) == 0 && (!type || (ga->type && strcmp(ga->type, type) == 0)))
                total += ga->count * a->groups[g]->nodes;
        }
    return total;
}

/* Those that AccountingStorageTRES names. */
static void put_tracked(struct strbuf *sb, const Pst__Alloc *a, const char *tracked)
{
    for (const char *p = tracked; *p; p += strspn(p, ", ")) {
        size_t len = strcspn(p, ", ");
        char name[128], *type;
        uint64_t total;

        if (len > 5 && len < sizeof(name) && strncmp(p, "gres/", 5) == 0) {
            (void)snprintf(name, sizeof(name), "%.*s", (int)(len - 5), p + 5);
            type = strchr(name, ':');
            if (type)
                *type++ = '\0';
            total = gres_total(a, name, type);
            if (total)
                strbuf_addf(sb, ",%.*s=%llu", (int)len, p, (unsigned long long)total);
        }
        p += len;
    }
}

char *alloc_tres_text(const Pst__Alloc *a, uint64_t billing, const char *tracked)
{
    struct strbuf sb = STRBUF_INIT;
    uint64_t mem = 0;
    char size[32], *text = NULL;

    for (size_t g = 0; g < a->n_groups; g++)
        mem += a->groups[g]->mem_mib * a->groups[g]->nodes;
    strbuf_addf(&sb, "cpu=%u", a->total_cpus);
    if (mem) {
        size_mib_fmt(mem, false, size, sizeof(size));
        strbuf_addf(&sb, ",mem=%s", size);
    }
    strbuf_addf(&sb, ",node=%zu,billing=%llu", a->n_node_ids, (unsigned long long)billing);
    if (tracked && strstr(tracked, "gres/"))
        put_tracked(&sb, a, tracked);
    for (size_t g = 0; g < a->n_groups && !(tracked && strstr(tracked, "gres/")); g++) {
        for (size_t i = 0; i < a->groups[g]->n_gres; i++) {
            const char *name = a->groups[g]->gres[i]->name;
            bool seen = false;

            for (size_t h = 0; h <= g && !seen; h++)
                for (size_t k = 0; k < a->groups[h]->n_gres && (h < g || k < i) && !seen; k++)
                    seen = strcmp(a->groups[h]->gres[k]->name, name) == 0;
            if (!seen)
                strbuf_addf(&sb, ",gres/%s=%llu", name,
                            (unsigned long long)gres_total(a, name, NULL));
        }
    }
    return strbuf_detach(&sb, &text) < 0 ? must(NULL) : text;
}

/* The text of what it holds, and what that is billed in this partition. */
void alloc_bill(const struct ctld *ctld, const char *partition, const char *licenses,
                Pst__JobRecord *set)
{
    const struct partition *p = cluster_partition(ctld->cluster, partition);
    double billing = billing_of(p ? p->rec->tres_billing_weights : NULL, billing_sum_of(ctld->conf),
                                set->alloc, licenses);

    free(set->alloc_tres);
    set->alloc_tres = alloc_tres_text(set->alloc, (uint64_t)billing,
                                      conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TRES));
    if (billing > (double)(uint64_t)billing)
        SET(set, billing, billing);
}

/* Reservations may be others than the scheduler knew. */
static bool keeps_reservations(struct ctld *ctld, const struct job *j,
                               const struct sched_decision *d)
{
    const Pst__JobRecord *r = j->rec;
    uint32_t limit = d->time_limit_min       ? d->time_limit_min
                     : r->has_time_limit_min ? r->time_limit_min
                                             : UINT32_MAX;
    _cleanup_free_ uint32_t *ids = NULL;

    if (!d->resv_id && !ctld->cluster->kept[KEPT_RESV].count)
        return true;
    ids = must(calloc(d->alloc.nnodes + 1, sizeof(*ids)));
    for (size_t i = 0; i < d->alloc.nnodes; i++)
        ids[i] = d->alloc.nodes[i].node_id;
    return resv_start_holds(ctld, j, d->resv_id, ids, d->alloc.nnodes, core_now(), limit);
}

/* Does what the proposal needs still hold? */
static bool proposal_holds(struct ctld *ctld, const struct job *j, const struct sched_decision *d)
{
    /* Proposals overtake changes: an array whose throttle was reached meanwhile must wait, too. */
    if (!j || !job_is_pending(j->rec) || feed_eligible_at(ctld->cluster, j->rec) == INT64_MAX ||
        !jobs_in_partition(j->rec, d->partition) || !cluster_partition(ctld->cluster, d->partition))
        return false;
    for (size_t i = 0; i < d->alloc.nnodes; i++) {
        const struct node *n = cluster_node(ctld->cluster, d->alloc.nodes[i].node_id);

        if (!n || !node_is_linked(ctld, n) || n->rec->state != PST__NODE_STATE__NODE_IDLE ||
            !feed_node_usable(n->rec))
            return false;
    }
    return d->alloc.nnodes > 0 && keeps_reservations(ctld, j, d);
}

/* The fields a start sets, on a patch or on a task's fresh record. */
static void fill_start(Pst__JobRecord *set, const Pst__JobRecord *old, const char *partition,
                       Pst__Alloc *alloc, int64_t now, uint32_t shortened_min, char *licenses,
                       const struct ctld *ctld)
{
    const struct cluster *c = ctld->cluster;
    const struct partition *part = cluster_partition(c, partition);
    bool prolog = hooks_prolog_wanted(ctld), nodes = prologs_wanted(ctld);

    SET(set, state, JOB_STATE(RUNNING));
    SET(set, state_flags, prolog || nodes ? JOB_FLAG(CONFIGURING) : 0);
    if (prolog)
        SET(set, prolog_pending, true);
    if (nodes)
        SET(set, node_prologs, true);
    SET(set, start_us, now);
    if (shortened_min) { /* --time-min let it start earlier */
        SET(set, time_limit_min, shortened_min);
        SET(set, end_us, now + (int64_t)shortened_min * 60 * USEC_PER_SEC);
    } else if (!(old->has_time_unlimited && old->time_unlimited) && old->has_time_limit_min) {
        SET(set, end_us, now + (int64_t)old->time_limit_min * 60 * USEC_PER_SEC);
    }
    if (!old->has_eligible_us)
        SET(set, eligible_us, now);
    if (preempt_exempt_us(ctld->conf))
        SET(set, preemptable_us, now + preempt_exempt_us(ctld->conf));
    (void)pb_set_str(&set->partition, partition);
    if (part && part->rec->exclusive && strcasecmp(part->rec->exclusive, "NODE") == 0)
        SET(set, whole_nodes, true);
    set->alloc = alloc;
    SET(set, released, false);
    SET(set, next_step_id, 0);
    (void)pb_set_str(&set->batch_host, cluster_node(c, alloc->node_ids[0])->rec->name);
    if (licenses) {
        free(set->licenses_alloc);
        set->licenses_alloc = licenses;
    }
    alloc_bill(ctld, partition, set->licenses_alloc, set);
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

/* As text, NULL when none; the caller's. */
static char *held_licenses(const struct sched_decision *d)
{
    return d->nlicenses ? licenses_text(d->licenses, d->nlicenses) : NULL;
}

/* A step that comes with the job's start; a is taken. */
static void put_step(Pst__Transaction *tx, const Pst__JobRecord *job, uint32_t job_id,
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

static void put_batch_step(Pst__Transaction *tx, const Pst__JobRecord *job, uint32_t job_id,
                           uint64_t db_id, const Pst__Alloc *alloc, int64_t now,
                           const struct cluster *c)
{
    Pst__Alloc *a = must(malloc(sizeof(*a)));
    Pst__AllocGroup *g = must(malloc(sizeof(*g)));

    pst__alloc__init(a);
    pst__alloc_group__init(g);
    a->nodes = tx_strdup(cluster_node(c, alloc->node_ids[0])->rec->name);
    a->node_ids = must(malloc(sizeof(*a->node_ids)));
    a->node_ids[0] = alloc->node_ids[0];
    a->n_node_ids = 1;
    a->groups = must(malloc(sizeof(Pst__AllocGroup *)));
    a->groups[0] = g;
    a->n_groups = 1;
    SET(g, nodes, 1);
    SET(g, cpus, alloc->groups[0]->cpus);
    SET(g, mem_mib, alloc->groups[0]->mem_mib);
    SET(g, tasks, 1);
    SET(a, total_cpus, alloc->groups[0]->cpus);
    put_step(tx, job, job_id, db_id, STEP_BATCH, a, now);
}

/* One task of an array leaves its record and starts.  Gives the id it runs under. */
static uint32_t fill_task_start(struct ctld *ctld, Pst__Transaction *tx, struct job *array,
                                const struct sched_decision *d, Pst__Alloc *alloc, int64_t now)
{
    uint32_t task = array_first(array->rec->array_tasks), id = array->rec->job_id;
    char text[16];
    ProtobufCMessage *copy;
    Pst__JobRecord *rec, *set;
    Pst__ClusterRecord *c;

    if (array_count(array->rec->array_tasks) == 1) {
        set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_START, id);
        SET(set, array_task_id, task);
        tx_clear(tx, 4); /* array_tasks */
        fill_start(set, array->rec, d->partition, alloc, now, d->time_limit_min, held_licenses(d),
                   ctld);
        fill_resv(ctld->cluster, set, array->rec, d->resv_id);
        return id;
    }
    (void)snprintf(text, sizeof(text), "%u", task);
    (void)tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, id);
    tx_take_tasks(tx, text);
    if (pb_dup(&array->rec->base, &copy) < 0)
        must(NULL);
    rec = (Pst__JobRecord *)copy;
    pb_clear_from(&rec->base, FIELD_VOLATILE);
    id = ctld->cluster->rec->next_job_id;
    c = tx_cluster(tx);
    SET(c, next_job_id, jobs_next_id(ctld, id));
    lifecycle_new_run(ctld, tx, rec);
    SET(rec, job_id, id);
    SET(rec, array_task_id, task);
    (void)pb_set_str(&rec->array_tasks, NULL);
    fill_start(rec, array->rec, d->partition, alloc, now, d->time_limit_min, held_licenses(d),
               ctld);
    fill_resv(ctld->cluster, rec, array->rec, d->resv_id);
    tx_job_put_take(tx, PST__EVENT_KIND__EV_JOB_START, rec);
    return id;
}

struct started { /* one job of a transaction */
    uint32_t proposed, id;
};

static struct started put_start(struct ctld *ctld, Pst__Transaction *tx,
                                const struct sched_decision *d, int64_t now)
{
    struct job *j = cluster_job(ctld->cluster, d->job_id);
    Pst__Alloc *alloc = alloc_record(ctld->cluster, &d->alloc);
    struct started st = { .proposed = d->job_id, .id = d->job_id };
    uint64_t db_id;

    if (job_is_array(j->rec)) {
        st.id = fill_task_start(ctld, tx, j, d, alloc, now);
    } else {
        Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_START, st.id);

        fill_start(set, j->rec, d->partition, alloc, now, d->time_limit_min, held_licenses(d),
                   ctld);
        fill_resv(ctld->cluster, set, j->rec, d->resv_id);
        feed_job_started(ctld, j, true); /* the scheduler counts it as running already */
    }
    db_id = st.id == st.proposed ? j->rec->db_id : ctld->cluster->rec->next_db_id;
    if (het_runs_script(j->rec))
        put_batch_step(tx, j->rec, st.id, db_id, alloc, now, ctld->cluster);
    if (launch_contains(ctld))
        put_extern_step(tx, j->rec, st.id, db_id, alloc, now);
    return st;
}

static void after_start(struct ctld *ctld, const struct started *st, uint32_t priority,
                        uint64_t lsn)
{
    struct job *j = cluster_job(ctld->cluster, st->id);

    SET(j->rec, cur_priority, priority);
    SET(j->rec, last_sched_eval_us, core_now());
    prologs_forget(ctld, j);
    if (cluster_step(j, STEP_EXTERN))
        steps_await(cluster_step(j, STEP_EXTERN));
    if (st->id != st->proposed) /* told before the task counted: the throttle may be reached now */
        feed_job(ctld, cluster_job(ctld->cluster, st->proposed));
    if (job_waits_for_prolog(j->rec))
        hooks_prolog(ctld, j, lsn);
    else if (het_runs_script(j->rec))
        launch_batch(ctld, j, lsn);
    else
        launch_prepare(ctld, j, lsn);
    services_job_started(ctld, j, lsn);
}

/* The scheduler's notes are kept until a start takes them along. */
static void keep_notes(struct ctld *ctld, const struct decisions_msg *m)
{
    size_t n = ctld->n_pass_notes + m->nnotes;

    if (!m->nnotes)
        return;
    ctld->pass_notes = must(realloc(ctld->pass_notes, n * sizeof(*ctld->pass_notes)));
    memcpy(ctld->pass_notes + ctld->n_pass_notes, m->notes, m->nnotes * sizeof(*m->notes));
    if (n > PASS_NOTES_MAX) /* too many: the first are forgotten, which numbers show */
        n = pass_notes_forget(ctld->pass_notes, n, n - PASS_NOTES_MAX);
    ctld->n_pass_notes = n;
}

static void note_passes(struct ctld *ctld, Pst__Transaction *tx, uint64_t pass)
{
    SET(tx, sched_pass, pass);
    if (!ctld->n_pass_notes)
        return;
    tx->passes = must(calloc(ctld->n_pass_notes, sizeof(*tx->passes)));
    for (; tx->n_passes < ctld->n_pass_notes; tx->n_passes++) {
        const struct pass_note *n = &ctld->pass_notes[tx->n_passes];
        Pst__SchedPass *to = tx->passes[tx->n_passes] = must(malloc(sizeof(*to)));

        pst__sched_pass__init(to);
        SET(to, number, n->number);
        SET(to, now_us, n->now_us);
        SET(to, lsn, n->seen_lsn);
        if (n->pieces)
            SET(to, pieces, n->pieces);
        SET(to, refused, n->refused);
        if (n->usage.us) {
            SET(to, usage_us, n->usage.us);
            SET(to, usage_lsn, n->usage.lsn);
        }
        if (n->shares.us) {
            SET(to, shares_us, n->shares.us);
            SET(to, shares_lsn, n->shares.lsn);
        }
    }
    free(ctld->pass_notes);
    ctld->pass_notes = NULL;
    ctld->n_pass_notes = 0;
}

/* Start the n jobs of these decisions, all of them in one transaction. */
static bool start(struct ctld *ctld, uint64_t pass, const struct sched_decision *d, size_t n)
{
    int64_t now = core_now();
    Pst__Transaction *tx = tx_new(now);
    struct started *list = must(calloc(n, sizeof(*list)));
    uint64_t lsn;

    note_passes(ctld, tx, pass);
    for (size_t i = 0; i < n; i++)
        list[i] = put_start(ctld, tx, &d[i], now);
    SET(tx_cluster(tx), jobs_started, ctld->cluster->rec->jobs_started + n);
    lsn = core_commit(ctld, tx);
    /* last: its script and its owner find the others */
    for (int leader = 0; lsn && leader < 2; leader++)
        for (size_t i = 0; i < n; i++)
            if (!het_is_follower(cluster_job(ctld->cluster, list[i].id)->rec) == leader)
                after_start(ctld, &list[i], d[i].priority, lsn);
    free(list);
    return lsn != 0;
}

/* More than its (first) partition has in all: that is said rather than that its constraints are
 * bad. */
static bool exceeds_partition(struct ctld *ctld, const Pst__JobRecord *r)
{
    _cleanup_free_ char *name =
        r->partition ? strndup(r->partition, strcspn(r->partition, ",")) : NULL;
    const struct partition *p = name ? cluster_partition(ctld->cluster, name) : NULL;
    const char *hint;

    return p && feasible_check(ctld->feasible, ctld->cluster, p, r, true, &hint) ==
                    ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE;
}

/* The schema and the scheduler number limits alike. */
_Static_assert(PST__JOB_REASON__REASON_QOS_MIN_OTHER - PST__JOB_REASON__REASON_ASSOC_GRP_CPU ==
                   SCHED_LIMIT(SCHED_LIMIT_QOS_MIN, SCHED_TRES_OTHER),
               "limits in TRES");
_Static_assert(PST__JOB_REASON__REASON_QOS_USAGE_THRESHOLD -
                       PST__JOB_REASON__REASON_ASSOC_GRP_CPU ==
                   SCHED_LIMIT_QOS_USAGE_THRESHOLD,
               "other limits");

/* Why it waits, for the views; not journaled. */
static void expect(struct ctld *ctld, struct job *j, const struct sched_decision *d)
{
    static const Pst__JobReason reasons[] = {
        [SCHED_WHY_NONE] = PST__JOB_REASON__REASON_NONE,
        [SCHED_WHY_PRIORITY] = PST__JOB_REASON__REASON_PRIORITY,
        [SCHED_WHY_RESOURCES] = PST__JOB_REASON__REASON_RESOURCES,
        [SCHED_WHY_PART_DOWN] = PST__JOB_REASON__REASON_PARTITION_DOWN,
        [SCHED_WHY_PART_NODE_LIMIT] = PST__JOB_REASON__REASON_PARTITION_CONFIG,
        [SCHED_WHY_PART_TIME_LIMIT] = PST__JOB_REASON__REASON_PARTITION_TIME_LIMIT,
        [SCHED_WHY_PART_INACTIVE] = PST__JOB_REASON__REASON_PARTITION_INACTIVE,
        [SCHED_WHY_PART_MEM] = PST__JOB_REASON__REASON_MAX_MEM,
        [SCHED_WHY_NODE_NOT_AVAIL] = PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL,
        [SCHED_WHY_BAD_CONSTRAINTS] = PST__JOB_REASON__REASON_BAD_CONSTRAINTS,
        [SCHED_WHY_NODES_UNAVAILABLE] = PST__JOB_REASON__REASON_NODES_UNAVAILABLE,
        [SCHED_WHY_LICENSES] = PST__JOB_REASON__REASON_LICENSES,
        [SCHED_WHY_RESV] = PST__JOB_REASON__REASON_RESERVATION,
        [SCHED_WHY_RESERVED] = PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL,
        [SCHED_WHY_RESV_MAINT] = PST__JOB_REASON__REASON_RESERVED_MAINT,
        [SCHED_WHY_BEGIN_TIME] = PST__JOB_REASON__REASON_BEGIN_TIME,
    };
    Pst__JobRecord *r = j->rec;

    SET(r, pend_reason,
        d->why == SCHED_WHY_LIMIT
            ? (Pst__JobReason)(PST__JOB_REASON__REASON_ASSOC_GRP_CPU + (int)d->limit)
            : reasons[d->why]);
    if (d->why == SCHED_WHY_BAD_CONSTRAINTS && exceeds_partition(ctld, r))
        r->pend_reason = PST__JOB_REASON__REASON_PARTITION_CONFIG;
    if (d->priority) /* 0: it has not come so far */
        SET(r, cur_priority, d->priority);
    SET(r, last_sched_eval_us, core_now());
    r->has_expected_start_us = d->expected_us > 0;
    r->expected_start_us = d->expected_us;
    (void)pb_set_str(&r->sched_nodes, NULL);
    if (d->nexpected) {
        const char **names = must(calloc(d->nexpected, sizeof(*names)));
        size_t n = 0;

        for (size_t i = 0; i < d->nexpected; i++) {
            const struct node *node = cluster_node(ctld->cluster, d->expected_nodes[i]);

            if (node)
                names[n++] = node->rec->name;
        }
        if (hostlist_fold_names(names, n, &r->sched_nodes) < 0)
            r->sched_nodes = NULL;
        free(names);
    }
    views_mark_job(ctld->views, j);
}

static void answer_test(struct ctld *ctld, const struct decisions_msg *m)
{
    struct waiter *w = wait_find(ctld, m->ticket);
    const struct sched_decision *d = &m->d.items[0];
    Pst__SubmitReply reply = PST__SUBMIT_REPLY__INIT;

    if (!w)
        return;
    reply.record = w->record;
    if (!w->record && (m->when_result < 0 || (d->kind == SCHED_EXPECT && !d->expected_us))) {
        core_error(ctld, &w->reply, ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, NULL);
    } else {
        Pst__Alloc *a = d->alloc.nnodes ? alloc_record(ctld->cluster, &d->alloc) : NULL;

        SET(&reply, job_id, ctld->cluster->rec->next_job_id);
        SET(&reply, start_us, d->expected_us ? d->expected_us : core_now());
        if (a) {
            SET(&reply, cpus, a->total_cpus);
            reply.nodes = a->nodes;
        }
        reply.partition = (char *)d->partition; /* not changed by packing */
        core_reply(ctld, &w->reply, 0, 0, &reply.base);
        if (a)
            pst__alloc__free_unpacked(a, NULL);
    }
    wait_remove(ctld, w);
}

void lifecycle_disk_free(struct ctld *ctld)
{
    for (size_t i = 0; i < ctld->refused_full.n; i++)
        feed_refused(ctld, ctld->refused_full.ids[i]);
    ctld->refused_full.n = 0;
}

/* One job, or the components of one: all start or none does. */
static void start_proposed(struct ctld *ctld, uint64_t pass, const struct sched_decision *d,
                           size_t n)
{
    const struct job *first = cluster_job(ctld->cluster, d->job_id);
    bool holds = first && (!het_is(first->rec) || n == first->rec->het_count);

    for (size_t i = 0; holds && i < n; i++)
        holds = proposal_holds(ctld, cluster_job(ctld->cluster, d[i].job_id), &d[i]);
    if (!atomic_load(&ctld->disk_full) && holds && start(ctld, pass, d, n))
        return;
    for (size_t i = 0; i < n; i++) {
        if (atomic_load(&ctld->disk_full))
            /* told later: it would propose it again at once */
            idlist_add(&ctld->refused_full, d[i].job_id);
        else
            feed_refused(ctld, d[i].job_id);
    }
}

void lifecycle_decisions(struct ctld *ctld, struct decisions_msg *m)
{
    uint64_t pass = m->nnotes ? m->notes[m->nnotes - 1].number : 0;

    keep_notes(ctld, m);
    if (m->explain || m->when)
        wait_answered(ctld, m->ticket);
    if (m->explain) {
        explain_answer(ctld, m);
        decisions_msg_free(m);
        return;
    }
    if (m->when) {
        answer_test(ctld, m);
        decisions_msg_free(m);
        return;
    }
    for (size_t i = 0, n; i < m->d.n; i += n) {
        const struct sched_decision *d = &m->d.items[i];
        struct job *j = cluster_job(ctld->cluster, d->job_id);

        n = d->kind == SCHED_START ? het_decisions(ctld, d, m->d.n - i) : 1;
        if (d->kind == SCHED_START)
            start_proposed(ctld, pass, d, n);
        else if (d->kind == SCHED_PREEMPT)
            preempt_decision(ctld, d);
        else if (j && job_is_pending(j->rec))
            expect(ctld, j, d);
    }
    if (ctld->gang_fresh.n)
        gang_settle(ctld);
    decisions_msg_free(m);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void propose_put_off(struct ctld *ctld, int64_t now_us)
{
    (void)now_us;
    lifecycle_disk_free(ctld);
}

static void free_start(struct ctld *ctld)
{
    free(ctld->refused_full.ids);
    free(ctld->pass_notes);
}

const struct ctld_service start_service = {
    .name = "start",
    .free = free_start,
    .tick_writing = propose_put_off,
    .on_decisions = lifecycle_decisions,
};
