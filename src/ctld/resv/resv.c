/* resv.c - which jobs may use a reservation, and what it holds; see resv.h. */
#include "ctld/resv/resv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/resv/resv_impl.h"
#include "ctld/core/service.h"

int resvs_new(struct resvs **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

static void live_free(struct resv_live *l)
{
    if (!l)
        return;
    bitmap_free(l->nodes);
    free(l);
}

struct resvs *resvs_free(struct resvs *v)
{
    void *l;

    if (!v)
        return NULL;
    for (size_t pos = 0; (l = idmap_next(&v->live, &pos));)
        live_free(l);
    idmap_done(&v->live);
    free(v->node_flags);
    free(v);
    return NULL;
}

struct resv_live *resv_live(struct ctld *ctld, uint32_t resv_id)
{
    struct resv_live *l = idmap_get(&ctld->resvs->live, resv_id);

    if (l)
        return l;
    l = must(calloc(1, sizeof(*l)));
    l->stale = true;
    if (idmap_put(&ctld->resvs->live, resv_id, l) < 0)
        must(NULL);
    return l;
}

void resvs_put(struct ctld *ctld, const struct kept *k)
{
    if (k->kind != KEPT_RESV)
        return;
    resv_live(ctld, k->id)->stale = true;
    ctld->resvs->marks_stale = true;
    ctld->resvs->changed_us = core_now();
    feed_resv(ctld, (const Pst__ReservationRecord *)k->rec);
}

void resvs_gone(struct ctld *ctld, const struct kept *k)
{
    if (k->kind != KEPT_RESV)
        return;
    live_free(idmap_remove(&ctld->resvs->live, k->id));
    ctld->resvs->marks_stale = true;
    ctld->resvs->changed_us = core_now();
    feed_resv_gone(ctld, k->id);
}

void resvs_nodes_renamed(struct ctld *ctld)
{
    void *l;

    for (size_t pos = 0; (l = idmap_next(&ctld->resvs->live, &pos));)
        ((struct resv_live *)l)->stale = true;
    ctld->resvs->marks_stale = true;
    ctld->resvs->refeed = true;
    resvs_ground_moved(ctld);
}

void resvs_node_used(struct ctld *ctld, const struct node *n)
{
    uint32_t id = n->rec->node_id;

    if (id < ctld->resvs->nnode_flags && ctld->resvs->node_flags[id])
        resvs_ground_moved(ctld);
}

void resvs_node_gone(struct ctld *ctld, const struct node *n)
{
    if (n->rec->node_id < ctld->resvs->nnode_flags)
        ctld->resvs->node_flags[n->rec->node_id] = 0; /* the id may be another node's next */
    resvs_nodes_renamed(ctld);
}

void resvs_ground_moved(struct ctld *ctld)
{
    ctld->resvs->ground++;
}

const struct bitmap *resv_nodes(struct ctld *ctld, const Pst__ReservationRecord *r)
{
    struct resv_live *l = resv_live(ctld, r->resv_id);
    uint32_t nbits = ctld->cluster->nnodes ? ctld->cluster->nnodes : 1;
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (!l->stale && l->nodes && l->nodes->nbits == nbits)
        return l->nodes;
    bitmap_free(l->nodes);
    l->nodes = NULL;
    if (bitmap_new(nbits, &l->nodes) < 0)
        must(NULL);
    if (r->nodes && hostlist_parse(r->nodes, &hl, NULL) == 0) {
        for (size_t i = 0; i < hostlist_count(hl); i++) {
            const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

            if (n)
                bitmap_set(l->nodes, n->rec->node_id);
        }
    }
    l->stale = false;
    return l->nodes;
}

bool resv_is_active(const Pst__ReservationRecord *r, int64_t now_us)
{
    return !resv_has(r, RESV_FLAG(TIME_FLOAT)) && r->start_us <= now_us && now_us < r->end_us;
}

/* ---- access ---------------------------------------------------------------------------------- */

int resv_access(const struct ctld *ctld, const Pst__ReservationRecord *r, const Pst__JobRecord *job,
                bool scheduling)
{
    return resv_lets_in(ctld->cluster, r, job, conf_slurm_uid(ctld->conf), scheduling)
               ? 0
               : ESLURM_RESERVATION_ACCESS;
}

int resv_check_job(const struct ctld *ctld, const Pst__JobRecord *job)
{
    const char *p = job->reservation;
    const Pst__ReservationRecord *r;
    bool unknown = false, any = false;
    int64_t now = core_now();
    size_t n = 1;

    if (!p || !*p)
        return 0;
    for (const char *q = p; *q; q++)
        n += *q == ',';
    if (n > RESV_REFS_MAX)
        return ESLURM_RESERVATION_INVALID; /* no more are tried */
    while ((r = resv_next_named(ctld->cluster, &p, &unknown))) {
        int code = resv_access(ctld, r, job, false);

        if (code != 0)
            return code;
        if (r->end_us <= now)
            return ESLURM_RESERVATION_INVALID;
        any = true;
    }
    return any && !unknown ? 0 : ESLURM_RESERVATION_INVALID;
}

static bool has_nodes(struct ctld *ctld, const Pst__ReservationRecord *r, const char *names)
{
    const struct bitmap *nodes = resv_nodes(ctld, r);
    _cleanup_(hostlist_free) struct hostlist *list = NULL;

    if (hostlist_parse_most(names, HOSTLIST_MAX_NODES, &list, NULL) < 0)
        return true; /* the list is another check's business */
    for (size_t i = 0; i < hostlist_count(list); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(list, i));

        if (n && (n->rec->node_id >= nodes->nbits || !bitmap_test(nodes, n->rec->node_id)))
            return false;
    }
    return true;
}

int resv_check_nodes(struct ctld *ctld, const Pst__JobRecord *job, const char **ret_hint)
{
    const char *p = job->reservation;
    const Pst__ReservationRecord *r;
    bool unknown = false, named = true, enough = !p || !*p;

    while (!enough && (r = resv_next_named(ctld->cluster, &p, &unknown))) {
        if (!r->nodes || resv_has(r, RESV_FLAG(FLEX) | RESV_FLAG(ANY_NODES))) {
            named = enough = true;
        } else {
            named = !job->req_nodes || has_nodes(ctld, r, job->req_nodes);
            enough = named && job->min_nodes <= r->node_cnt;
        }
    }
    if (enough)
        return 0;
    if (!named)
        *ret_hint = "Problem using reservation";
    return ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
}

const char *resv_default_partition(const struct ctld *ctld, const Pst__JobRecord *job)
{
    const char *p = job->reservation;
    bool unknown = false;
    const Pst__ReservationRecord *r = p ? resv_next_named(ctld->cluster, &p, &unknown) : NULL;

    return r ? r->partition : NULL;
}

/* ---- starts ---------------------------------------------------------------------------------- */

static bool on_any(const struct bitmap *nodes, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] < nodes->nbits && bitmap_test(nodes, ids[i]))
            return true;
    return false;
}

static bool on_all(const struct bitmap *nodes, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= nodes->nbits || !bitmap_test(nodes, ids[i]))
            return false;
    return true;
}

/* Would a job that runs so long meet an occurrence of r? */
static bool runs_into(const Pst__ReservationRecord *r, int64_t now_us, int64_t end_us)
{
    struct resv_period p;

    return resv_periods(r, now_us, &p, 1) == 1 && p.start_us < end_us;
}

/* MaxStartDelay: so short a job delays nobody inside for longer. */
static bool excuses_job(const Pst__ReservationRecord *r, uint32_t limit_min)
{
    return r->has_max_start_delay_s && (uint64_t)limit_min * 60 <= r->max_start_delay_s;
}

bool resv_start_holds(struct ctld *ctld, const struct job *j, uint32_t resv_id,
                      const uint32_t *node_ids, size_t n, int64_t now_us, uint32_t limit_min)
{
    const Pst__ReservationRecord *own = resv_id ? cluster_resv(ctld->cluster, resv_id) : NULL, *r;
    int64_t end_us =
        limit_min == UINT32_MAX ? INT64_MAX : now_us + (int64_t)limit_min * 60 * USEC_PER_SEC;
    bool flex = own && resv_has(own, RESV_FLAG(FLEX));

    if (resv_id && (!own || resv_access(ctld, own, j->rec, true) != 0))
        return false;
    if (own && !flex && !resv_is_active(own, now_us))
        return false;
    if (own && !flex)
        end_us = MIN(end_us, own->end_us); /* its jobs are ended with it */
    if (own && !flex && !resv_has(own, RESV_FLAG(ANY_NODES)) && own->nodes &&
        !on_all(resv_nodes(ctld, own), node_ids, n))
        return false;
    if (own && resv_has(own, RESV_FLAG(OVERLAP) | RESV_FLAG(MAINT)))
        return true;
    for (size_t pos = 0; (r = cluster_next_resv(ctld->cluster, &pos));)
        if (r != own && r->nodes && !r->n_cores && runs_into(r, now_us, end_us) &&
            !excuses_job(r, limit_min) && on_any(resv_nodes(ctld, r), node_ids, n))
            return false;
    return true; /* cores are the scheduler's to keep apart */
}

/* ---- the jobs that use it -------------------------------------------------------------------- */

uint32_t resv_running_job(const struct ctld *ctld, const Pst__ReservationRecord *r)
{
    for (const struct job *j = ctld->cluster->active; j; j = j->next_active)
        if (j->rec->has_resv_id && j->rec->resv_id == r->resv_id && !job_is_ended(j->rec) &&
            j->rec->reservation && strcasecmp(j->rec->reservation, r->name) == 0)
            return j->rec->job_id;
    return 0;
}

void resv_refeed(struct ctld *ctld, const Pst__ReservationRecord *r)
{
    bool magnetic = resv_has(r, RESV_FLAG(MAGNETIC));
    void *v;

    for (size_t pos = 0; (v = cluster_next_job(ctld->cluster, &pos));) {
        struct job *j = v;

        if (job_is_pending(j->rec) &&
            (resv_is_named(j->rec, r->name) || (magnetic && !j->rec->reservation)))
            feed_job(ctld, j);
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_resvs(struct ctld *ctld, struct err *err)
{
    (void)err;
    return resvs_new(&ctld->resvs);
}

static void free_resvs(struct ctld *ctld)
{
    ctld->resvs = resvs_free(ctld->resvs);
}

static void follow_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    if (kind == PST__EVENT_KIND__EV_NODE_CONFIG)
        resvs_nodes_renamed(ctld);
    else if (kind != PST__EVENT_KIND__EV_UNSPECIFIED)
        resvs_ground_moved(ctld);
    else
        resvs_node_used(ctld, n);
}

static void follow_node_gone(struct ctld *ctld, struct node *n)
{
    resvs_node_gone(ctld, n);
}

static void follow_part(struct ctld *ctld, struct partition *p, Pst__EventKind kind)
{
    (void)p;
    (void)kind;
    resvs_ground_moved(ctld);
}

static void follow_kept(struct ctld *ctld, struct kept *k)
{
    resvs_put(ctld, k);
}

static void follow_kept_gone(struct ctld *ctld, struct kept *k)
{
    resvs_gone(ctld, k);
}

const struct ctld_service resv_service = {
    .name = "resv",
    .start = start_resvs,
    .free = free_resvs,
    .on_node = follow_node,
    .on_node_gone = follow_node_gone,
    .on_part = follow_part,
    .on_kept = follow_kept,
    .on_kept_gone = follow_kept_gone,
};
