/* resvlife.c - what time does to reservations, and what they show on nodes; see resv.h.
 *
 * Each change is a transaction of its own.  A walk over all jobs happens only when a reservation
 * ends or goes; PURGE_COMP looks every ten seconds. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/schedlink/schedfeed.h"
#include "feed/records.h"
#include "ctld/notify/programs.h"
#include "ctld/resv/resv_impl.h"
#include "ctld/front/view.h"
#include "ctld/core/service.h"
#include "fields.h"

#define PROGRAM_LIMIT_US (600 * USEC_PER_SEC)

static Pst__ReservationRecord *copy_of(const Pst__ReservationRecord *r)
{
    ProtobufCMessage *copy = NULL;

    must_do(pb_dup(&r->base, &copy));
    return (Pst__ReservationRecord *)copy;
}

static void run_program(struct ctld *ctld, enum conf_key key, const char *what, const char *name,
                        uint64_t lsn)
{
    const char *path = conf_str(ctld->conf, key);
    struct program *p;

    if (!path || !*path)
        return;
    p = program_new(ctld, what);
    p->lsn = lsn;
    p->limit_us = PROGRAM_LIMIT_US;
    program_path(p, path);
    program_arg(p, name);
    program_env(p, "SLURM_RESERVATION_NAME", name);
    programs_add_take(ctld->programs, p);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void resv_put_end(Pst__Transaction *tx, const Pst__ReservationRecord *r, int64_t ended_us)
{
    Pst__ReservationRecord *end;

    if (!(r->has_started && r->started))
        return;
    end = copy_of(r);
    SET(end, ended_us, ended_us);
    tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_END, end);
    pst__reservation_record__free_unpacked(end, NULL);
}

/* Jobs of the reservation that still run get ResvOverRun minutes more. */
static void shorten_jobs(struct ctld *ctld, Pst__Transaction *tx, const Pst__ReservationRecord *r,
                         int64_t end_us)
{
    const uint64_t over = conf_num(ctld->conf, CONF_RESV_OVER_RUN);

    if (over >= UINT16_MAX - 2 || resv_has(r, RESV_FLAG(FLEX)))
        return; /* UNLIMITED */
    end_us += (int64_t)over * 60 * USEC_PER_SEC;
    for (struct job *j = ctld->cluster->active; j; j = j->next_active) {
        const Pst__JobRecord *rec = j->rec;

        if (rec->has_resv_id && rec->resv_id == r->resv_id && !job_is_ended(rec) &&
            (!rec->has_end_us || rec->end_us > end_us))
            SET(tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, rec->job_id), end_us, end_us);
    }
}

/* The list without one name; the caller frees; NULL when it was the only one. */
static char *copy_without(const char *list, const char *name)
{
    char *out = tx_strdup(list), *to = out;
    size_t len = strlen(name);

    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t n = strcspn(p, ",");

        if (n == len && strncasecmp(p, name, len) == 0)
            continue;
        if (to != out)
            *to++ = ',';
        memmove(to, p, n);
        to += n;
    }
    *to = '\0';
    if (to != out)
        return out;
    free(out);
    return NULL;
}

static void let_go(Pst__Transaction *tx, const struct job *j, const Pst__ReservationRecord *r,
                   bool hold)
{
    _cleanup_free_ char *rest = copy_without(
        j->rec->req_reservation ? j->rec->req_reservation : j->rec->reservation, r->name);
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);

    if (rest) { /* others are left */
        (void)pb_set_str(&set->reservation, rest);
        if (j->rec->req_reservation)
            (void)pb_set_str(&set->req_reservation, rest);
        return;
    }
    if (hold) {
        SET(set, priority, 0);
        SET(set, reason, PST__JOB_REASON__REASON_RESERVATION_DELETED);
        SET(set, state_flags,
            (j->rec->has_state_flags ? j->rec->state_flags : 0) | JOB_FLAG(RESV_DEL_HOLD));
        return;
    }
    tx_clear(tx, JOB_F_RESERVATION);
    if (j->rec->req_reservation)
        tx_clear(tx, JOB_F_REQ_RESERVATION);
}

/* The reservation goes: pending jobs no longer wait for it. */
static void release_waiting(struct ctld *ctld, Pst__Transaction *tx,
                            const Pst__ReservationRecord *r)
{
    bool hold = !resv_has(r, RESV_FLAG(NO_HOLD_JOBS_AFTER_END));
    void *v;

    for (size_t pos = 0; (v = cluster_next_job(ctld->cluster, &pos));) {
        const struct job *j = v;

        if (job_is_pending(j->rec) && resv_is_named(j->rec, r->name) &&
            !(j->rec->has_reason && j->rec->reason == PST__JOB_REASON__REASON_RESERVATION_DELETED))
            let_go(tx, j, r, hold);
    }
}

uint64_t resv_delete(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us)
{
    Pst__ReservationRecord *old = copy_of(r);
    Pst__Transaction *tx = tx_new(now_us);
    uint64_t lsn;

    resv_put_end(tx, r, MIN(now_us, r->end_us));
    shorten_jobs(ctld, tx, r, MIN(now_us, r->end_us));
    release_waiting(ctld, tx, r);
    tx_resv_remove(tx, PST__EVENT_KIND__EV_RESV_DELETE, r->resv_id);
    lsn = core_commit(ctld, tx);
    if (lsn && resv_has(old, RESV_FLAG(MAGNETIC)))
        resv_refeed(ctld, old);
    pst__reservation_record__free_unpacked(old, NULL);
    return lsn;
}

/* On to the first occurrence that begins after this one and has not ended. */
static uint64_t advance_resv(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t ended_us,
                             int64_t now_us)
{
    Pst__ReservationRecord *next = copy_of(r);
    int64_t length = r->end_us - r->start_us, start = r->start_us;
    Pst__Transaction *tx = tx_new(now_us);
    uint64_t lsn;

    do {
        start = resv_next_start(r->flags, start);
    } while (start + length <= now_us);
    resv_put_end(tx, r, ended_us);
    shorten_jobs(ctld, tx, r, ended_us);
    SET(next, start_us, start);
    SET(next, end_us, start + length);
    next->has_started = next->has_idle_since_us = next->has_period_us = false;
    tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_NEXT, next);
    pst__reservation_record__free_unpacked(next, NULL);
    lsn = core_commit(ctld, tx);
    return lsn;
}

uint64_t resv_skip(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us)
{
    return advance_resv(ctld, r, MIN(now_us, r->end_us), now_us);
}

static void end_resv(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t ended_us,
                     int64_t now_us)
{
    bool begun = r->has_started && r->started;
    char *name = tx_strdup(r->name);
    uint64_t lsn;

    log_info("reservation %s ends", name);
    lsn = resv_has(r, RESV_RECURS) ? advance_resv(ctld, r, ended_us, now_us)
                                   : resv_delete(ctld, r, now_us);
    if (lsn && begun)
        run_program(ctld, CONF_RESV_EPILOG, "ResvEpilog", name, lsn);
    free(name);
}

static void begin_resv(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us)
{
    Pst__ReservationRecord *set = copy_of(r);
    Pst__Transaction *tx = tx_new(now_us);
    uint64_t lsn;

    SET(set, started, true);
    SET(set, period_us, MAX(r->start_us, r->created_us));
    SET(set, idle_since_us, now_us);
    tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_START, set);
    lsn = core_commit(ctld, tx);
    if (lsn)
        run_program(ctld, CONF_RESV_PROLOG, "ResvProlog", set->name, lsn);
    pst__reservation_record__free_unpacked(set, NULL);
}

/* ---- idle ones ------------------------------------------------------------------------------- */

static bool is_used(const struct ctld *ctld, const Pst__ReservationRecord *r)
{
    void *v;

    if (resv_running_job(ctld, r))
        return true;
    for (size_t pos = 0; (v = cluster_next_job(ctld->cluster, &pos));) {
        const struct job *j = v;

        if (job_is_pending(j->rec) && !job_is_held(j->rec) && resv_is_named(j->rec, r->name))
            return true;
    }
    return false;
}

/* True: r is no more.  It was ended for want of use, or another record has its place. */
static bool purge_idle(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us)
{
    bool used = is_used(ctld, r);
    Pst__ReservationRecord *set;
    Pst__Transaction *tx;

    if (!used && r->has_idle_since_us &&
        now_us - r->idle_since_us >= (int64_t)r->purge_comp_s * USEC_PER_SEC) {
        log_info("reservation %s is not used", r->name);
        end_resv(ctld, r, now_us, now_us);
        return true;
    }
    if (used == !r->has_idle_since_us)
        return false;
    set = copy_of(r);
    set->has_idle_since_us = false;
    if (!used)
        SET(set, idle_since_us, now_us);
    tx = tx_new(now_us);
    tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_UPDATE, set);
    (void)core_commit(ctld, tx); /* disk full: later */
    pst__reservation_record__free_unpacked(set, NULL);
    return true;
}

/* ---- nodes that are replaced ----------------------------------------------------------------- */

static bool node_bad(const struct ctld *ctld, const Pst__ReservationRecord *r, uint32_t id)
{
    const struct node *n = cluster_node(ctld->cluster, id);

    if (!n || n->rec->state != PST__NODE_STATE__NODE_IDLE || !feed_node_usable(n->rec))
        return true;
    return resv_has(r, RESV_FLAG(REPLACE)) && n->jobs > n->jobs_completing &&
           resv_is_active(r, core_now());
}

/* The record with other nodes in place of those that are of no use, or NULL. */
static Pst__ReservationRecord *copy_replaced(struct ctld *ctld, const Pst__ReservationRecord *r,
                                             int64_t now_us)
{
    const struct bitmap *nodes = resv_nodes(ctld, r);
    Pst__ReservationRecord *set;
    _cleanup_(bitmap_free) struct bitmap *good = NULL;
    const char **names;
    size_t n = 0;

    if (bitmap_dup(nodes, &good) < 0)
        return NULL;
    BITMAP_FOREACH (nodes, id)
        if (node_bad(ctld, r, id))
            bitmap_clear(good, id);
    if (bitmap_equal(nodes, good))
        return NULL;
    names = calloc(nodes->nbits + 1, sizeof(*names));
    if (!names)
        return NULL;
    BITMAP_FOREACH (good, id)
        names[n++] = cluster_node(ctld->cluster, id)->rec->name;
    set = copy_of(r);
    free(set->nodes);
    set->nodes = NULL;
    if (n && hostlist_fold_names(names, n, &set->nodes) < 0)
        set->nodes = NULL;
    free(names);
    if (resv_pick(ctld, set, true, now_us) == 0)
        return set;
    pst__reservation_record__free_unpacked(set, NULL);
    return NULL;
}

/* All nodes of its partition. */
static Pst__ReservationRecord *copy_followed(struct ctld *ctld, const Pst__ReservationRecord *r,
                                             int64_t now_us)
{
    const struct partition *p =
        r->partition ? cluster_partition(ctld->cluster, r->partition) : NULL;
    const struct bitmap *nodes = resv_nodes(ctld, r);
    Pst__ReservationRecord *set;

    if (!p || (p->nodes->nbits == nodes->nbits && bitmap_equal(p->nodes, nodes)))
        return NULL;
    set = copy_of(r);
    set->flags |= RESV_FLAG(IGNORE_JOBS); /* it has the partition, even where other jobs run */
    if (resv_pick(ctld, set, false, now_us) != 0) {
        pst__reservation_record__free_unpacked(set, NULL);
        return NULL;
    }
    set->flags = r->flags;
    return set;
}

static void look_at_nodes(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us)
{
    const uint64_t fixed =
        RESV_FLAG(STATIC) | RESV_FLAG(SPEC_NODES) | RESV_FLAG(MAINT) | RESV_FLAG(ANY_NODES);
    struct resv_live *live = resv_live(ctld, r->resv_id);
    Pst__ReservationRecord *set = NULL;
    Pst__Transaction *tx;

    if (live->ground == ctld->resvs->ground + 1)
        return;
    live->ground = ctld->resvs->ground + 1;
    if (resv_has(r, RESV_FLAG(PART_NODES)))
        set = copy_followed(ctld, r, now_us);
    else if (r->nodes && !r->n_cores && !resv_has(r, fixed))
        set = copy_replaced(ctld, r, now_us);
    if (!set)
        return;
    if (strcmp(set->nodes ? set->nodes : "", r->nodes ? r->nodes : "") != 0) {
        tx = tx_new(now_us);
        resv_put_end(tx, r, now_us);
        if (set->has_started && set->started)
            SET(set, period_us, now_us);
        log_info("reservation %s: nodes %s instead of %s", r->name,
                 set->nodes ? set->nodes : "none", r->nodes ? r->nodes : "none");
        tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_NODES, set);
        (void)core_commit(ctld, tx); /* disk full: later */
    }
    pst__reservation_record__free_unpacked(set, NULL);
}

/* ---- what nodes show ------------------------------------------------------------------------- */

/* The flags that a node shows for a reservation. */
static uint32_t *node_flags_of(struct resvs *v, uint32_t node_id)
{
    uint32_t more = v->nnode_flags ? v->nnode_flags : 16;

    if (node_id >= v->nnode_flags) {
        while (more <= node_id)
            more *= 2;
        v->node_flags = must(realloc(v->node_flags, more * sizeof(*v->node_flags)));
        memset(v->node_flags + v->nnode_flags, 0, (more - v->nnode_flags) * sizeof(*v->node_flags));
        v->nnode_flags = more;
    }
    return &v->node_flags[node_id];
}

#define MARK_MAINT (1u << PST__NODE_FLAG__NODE_FLAG_MAINTENANCE)
#define MARK_RESERVED (1u << PST__NODE_FLAG__NODE_FLAG_RESERVED)

static void mark_node(struct ctld *ctld, struct node *n, uint32_t flags, const char *name)
{
    uint32_t *shown = node_flags_of(ctld->resvs, n->rec->node_id);

    if (*shown == flags && (name ? n->rec->reservation && strcmp(n->rec->reservation, name) == 0
                                 : !n->rec->reservation))
        return;
    *shown = flags;
    (void)pb_set_str(&n->rec->reservation, name); /* -ENOMEM: not shown */
    views_show_flags(ctld->views, n, MARK_MAINT | MARK_RESERVED, flags);
}

static void mark_nodes(struct ctld *ctld, int64_t now_us)
{
    const uint32_t maint = MARK_MAINT;
    const struct cluster *c = ctld->cluster;
    uint32_t *flags = calloc(c->nnodes + 1, sizeof(*flags));
    const char **names = calloc(c->nnodes + 1, sizeof(*names));
    const Pst__ReservationRecord *r;

    for (size_t pos = 0; flags && names && (r = cluster_next_resv(c, &pos));) {
        const struct bitmap *nodes;

        if (!resv_is_active(r, now_us) || !r->nodes)
            continue;
        nodes = resv_nodes(ctld, r);
        BITMAP_FOREACH (nodes, id) {
            if (flags[id] & maint)
                continue; /* maintenance is what matters most */
            flags[id] = resv_has(r, RESV_FLAG(MAINT)) ? maint : MARK_RESERVED;
            names[id] = r->name;
        }
    }
    for (uint32_t i = 0; flags && names && i < c->nnodes; i++)
        if (c->nodes[i])
            mark_node(ctld, c->nodes[i], flags[i], names[i]);
    free(flags);
    free(names);
    ctld->resvs->marks_stale = false;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static void tick_resv(struct ctld *ctld, const Pst__ReservationRecord *r, int64_t now_us, bool slow)
{
    if (resv_has(r, RESV_FLAG(TIME_FLOAT))) {
        look_at_nodes(ctld, r, now_us);
        return;
    }
    if (r->start_us <= now_us && !(r->has_started && r->started) && now_us < r->end_us) {
        begin_resv(ctld, r, now_us);
        return;
    }
    if (r->end_us <= now_us) {
        end_resv(ctld, r, r->end_us, now_us);
        return;
    }
    if (slow && r->has_started && r->started && resv_has(r, RESV_FLAG(PURGE_COMP)) &&
        purge_idle(ctld, r, now_us))
        return;
    look_at_nodes(ctld, r, now_us);
}

void resv_tick(struct ctld *ctld, int64_t now_us)
{
    struct resvs *v = ctld->resvs;
    size_t count = ctld->cluster->kept[KEPT_RESV].count, n = 0;
    bool slow = v->ticks++ % 20 == 0;
    const Pst__ReservationRecord *r;
    uint32_t *ids;

    v->ground += slow; /* what had no replacement is looked at again */
    if (count) {
        ids = calloc(count, sizeof(*ids));
        for (size_t pos = 0; ids && n < count && (r = cluster_next_resv(ctld->cluster, &pos));)
            ids[n++] = r->resv_id;
        for (size_t i = 0; i < n; i++) { /* a tick may change the table */
            r = cluster_resv(ctld->cluster, ids[i]);
            if (r)
                tick_resv(ctld, r, now_us, slow);
        }
        free(ids);
    }
    if (v->refeed) {
        v->refeed = false;
        for (size_t pos = 0; (r = cluster_next_resv(ctld->cluster, &pos));)
            feed_resv(ctld, r);
    }
    if (v->marks_stale)
        mark_nodes(ctld, now_us);
}

void resv_recover(struct ctld *ctld)
{
    size_t count = ctld->cluster->kept[KEPT_RESV].count, n = 0;
    uint32_t *ids = calloc(count + 1, sizeof(*ids));
    const Pst__ReservationRecord *r;
    int64_t now = core_now();

    for (size_t pos = 0; ids && n < count && (r = cluster_next_resv(ctld->cluster, &pos));)
        ids[n++] = r->resv_id;
    for (size_t i = 0; i < n; i++) {
        Pst__ReservationRecord *set = copy_of(cluster_resv(ctld->cluster, ids[i]));

        (void)resv_resolve(set); /* a user that is unknown now cannot use it */
        if (!pb_equal(&set->base, &cluster_resv(ctld->cluster, ids[i])->base)) {
            Pst__Transaction *tx = tx_new(now);

            tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_UPDATE, set);
            (void)core_commit(ctld, tx); /* disk full: as before */
        }
        pst__reservation_record__free_unpacked(set, NULL);
    }
    free(ids);
    ctld->resvs->marks_stale = true;
}

/* ---- the service ----------------------------------------------------------------------------- */

const struct ctld_service resvlife_service = {
    .name = "resvlife",
    .recovered = resv_recover,
    .tick_writing = resv_tick,
};
