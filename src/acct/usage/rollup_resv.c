/* rollup_resv.c - reservations in the sums of a window; see rollup_impl.h.
 *
 * Jobs of a reservation count as all jobs do.  What is left of the reservation counts as allocated,
 * though no more of it than was idle otherwise, and is charged in equal parts to those it was for;
 * of a MAINT one it is planned down.  Nodes of it that were away are not left. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/sql/db.h"
#include "acct/acctresv.h"
#include "acct/usage/rollsums.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "model/tx.h"

/* Of one TRES in one hour. */
struct cell {
    uint64_t used, down, pdown;
};

struct roll_resv {
    Pst__ReservationRecord *rec;
    int64_t period_us, start_s, end_s;
    struct hostlist *nodes; /* NULL: none */
    struct tres_item *items;
    size_t nitems;
    struct cell *cells; /* [hour * nitems + item] */
};

#define MAINT (UINT64_C(1) << PST__RESV_FLAG__RESV_FLAG_MAINT)

/* ---- loading --------------------------------------------------------------------------------- */

static void free_periods(struct roll_resv *v)
{
    if (v->rec)
        pst__reservation_record__free_unpacked(v->rec, NULL);
    v->nodes = hostlist_free(v->nodes);
    free(v->items);
    free(v->cells);
}

void roll_resv_done(struct roll *w)
{
    for (size_t i = 0; i < w->nresvs; i++)
        free_periods(&w->resvs[i]);
    free(w->resvs);
    w->resvs = NULL;
    w->nresvs = 0;
}

static int read_resv(void *item, struct sql_stmt *stmt)
{
    struct roll_resv *v = item;
    const char *text;
    struct tres_item tres;
    size_t len;
    const void *data = sql_blob(stmt, 2, &len);

    v->period_us = sql_int(stmt, 0);
    v->start_s = v->period_us / USEC_PER_SEC;
    v->end_s = sql_int(stmt, 1) / USEC_PER_SEC;
    v->rec = pst__reservation_record__unpack(NULL, len, data);
    if (!v->rec)
        return 0; /* one that is damaged counts for nothing */
    text = v->rec->tres;
    for (const char *count = text; tres_next(&count, &tres);)
        v->nitems++;
    v->items = calloc(v->nitems + 1, sizeof(*v->items));
    if (!v->items || (v->rec->nodes && hostlist_parse(v->rec->nodes, &v->nodes, NULL) == -ENOMEM)) {
        free_periods(v);
        return -ENOMEM;
    }
    for (size_t i = 0; tres_next(&text, &tres);)
        v->items[i++] = tres;
    return 1;
}

int roll_resv_load(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r =
        sql_prepare(w->db,
                    "SELECT start_us, end_us, record FROM reservations WHERE source=? AND state>0"
                    " AND start_us<? AND end_us>? ORDER BY resv_id, start_us",
                    &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, w->source);
    sql_bind(stmt, 1, w->to * USEC_PER_SEC);
    sql_bind(stmt, 2, w->from * USEC_PER_SEC);
    r = sql_collect(stmt, sizeof(*w->resvs), read_resv, &w->resvs, &w->nresvs);
    for (size_t i = 0; r == 0 && i < w->nresvs; i++) {
        w->resvs[i].cells = calloc((size_t)w->hours * w->resvs[i].nitems + 1, sizeof(struct cell));
        r = w->resvs[i].cells ? 0 : -ENOMEM;
    }
    return r;
}

/* ---- what others tell ------------------------------------------------------------------------ */

static const struct tres_item *item_of(const struct roll_resv *v, const char *name)
{
    for (size_t i = 0; i < v->nitems; i++)
        if (strcmp(v->items[i].name, name) == 0)
            return &v->items[i];
    return NULL;
}

/* Add seconds x count to the field at this offset of the cells, for the time that is the
 * reservation's. */
static void add_cells(struct roll *w, struct roll_resv *v, const char *tres, int64_t start_s,
                      int64_t end_s, size_t offset, bool minus)
{
    struct tres_item given;

    while (tres_next(&tres, &given)) {
        const struct tres_item *item = item_of(v, given.name);
        struct cut c = cut_begin(w, MAX(start_s, v->start_s), MIN(end_s, v->end_s));
        unsigned hour;
        int64_t secs;

        while (item && cut_next(&c, &hour, &secs)) {
            struct cell *cell = &v->cells[(size_t)hour * v->nitems + (size_t)(item - v->items)];

            *(uint64_t *)((char *)cell + offset) += (uint64_t)(minus ? -secs : secs) * given.count;
        }
    }
}

void roll_resv_used(struct roll *w, uint32_t resv_id, const char *tres, int64_t start_s,
                    int64_t end_s, bool minus)
{
    for (size_t i = 0; i < w->nresvs; i++)
        if (w->resvs[i].rec->resv_id == resv_id)
            add_cells(w, &w->resvs[i], tres, start_s, end_s, offsetof(struct cell, used), minus);
}

void roll_resv_away(struct roll *w, const char *node, const char *tres, int64_t start_s,
                    int64_t end_s, bool planned)
{
    for (size_t i = 0; i < w->nresvs; i++)
        if (w->resvs[i].nodes && hostlist_find(w->resvs[i].nodes, node) >= 0)
            add_cells(w, &w->resvs[i], tres, start_s, end_s,
                      planned ? offsetof(struct cell, pdown) : offsetof(struct cell, down), false);
}

/* ---- settling -------------------------------------------------------------------------------- */

struct charged {
    size_t *who;
    size_t n;
};

static int charge_one(struct roll *w, struct charged *c, char *account, char *user, uint32_t uid,
                      uint32_t assoc)
{
    Pst__JobRecord as = PST__JOB_RECORD__INIT; /* whom a job of theirs would be charged to */
    size_t *more = reallocarray(c->who, c->n + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    c->who = more;
    as.account = account;
    as.user_name = user;
    SET(&as, uid, uid);
    if (assoc)
        SET(&as, assoc_id, assoc);
    return roll_who(w, &as, &c->who[c->n++]);
}

/* The number of a user whom the reservation names. */
static uint32_t uid_of(const Pst__ReservationRecord *rec, const char *user)
{
    const char *list = rec->users;
    size_t i = 0, want = strlen(user);

    for (size_t len; list && *list && i < rec->n_uids; list += len + (list[len] == ','), i++) {
        len = strcspn(list, ",");
        if (len == want && strncmp(list, user, len) == 0)
            return rec->uids[i];
    }
    return UINT32_MAX;
}

/* Has the cluster any association of a user, beside root's? */
static bool has_assocs(const char *cluster, const struct assoc_row *assocs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(assocs[i].cluster, cluster) == 0 && assocs[i].user &&
            strcmp(assocs[i].user, "root") != 0)
            return true;
    return false;
}

/* On a site without associations its users themselves. */
static int charge_users(struct roll *w, const Pst__ReservationRecord *rec, struct charged *c)
{
    const char *list = rec->users;
    int r = 0;

    if (!list || *list == '-')
        return 0;
    for (size_t len; r == 0 && *list; list += len + (list[len] == ',')) {
        _cleanup_free_ char *user = NULL;

        len = strcspn(list, ",");
        user = strndup(list, len);
        r = user ? charge_one(w, c, NULL, user, uid_of(rec, user), 0) : -ENOMEM;
    }
    return r;
}

static int find_charged(struct roll *w, const struct roll_resv *v, const char *cluster,
                        const struct assoc_row *assocs, size_t n, struct charged *c)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        if (resv_charges(v->rec, cluster, &assocs[i]))
            r = charge_one(w, c, assocs[i].account, assocs[i].user,
                           assocs[i].user ? uid_of(v->rec, assocs[i].user) : UINT32_MAX,
                           assocs[i].id);
    return r == 0 && !c->n && !has_assocs(cluster, assocs, n) ? charge_users(w, v->rec, c) : r;
}

/* Equal parts; what does not divide goes to the first. */
static int charge_idle(struct roll *w, const struct charged *c, unsigned hour, unsigned tres,
                       uint64_t secs)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->n; i++)
        r = roll_add(w, hour, c->who[i], tres, secs / c->n + (i < secs % c->n));
    return r;
}

static int write_used(struct roll *w, struct sql_stmt *stmt, const struct roll_resv *v,
                      unsigned hour, unsigned tres, uint64_t used)
{
    if (!used)
        return 0;
    sql_bind(stmt, 0, w->source);
    sql_bind(stmt, 1, w->from + (int64_t)hour * HOUR);
    sql_bind(stmt, 2, v->rec->resv_id);
    sql_bind(stmt, 3, v->period_us);
    sql_bind(stmt, 4, w->tres_ids[tres]);
    sql_bind(stmt, 5, (int64_t)used);
    return sql_run(stmt);
}

static int settle_hour(struct roll *w, const struct roll_resv *v, const struct charged *c,
                       struct sql_stmt *stmt, unsigned hour, int64_t secs, size_t k)
{
    const struct cell *cell = &v->cells[(size_t)hour * v->nitems + k];
    uint64_t whole = (uint64_t)secs * v->items[k].count, used = MIN(cell->used, whole),
             left = whole - used, room;
    struct fate *f;
    unsigned tres;
    int r = roll_tres(w, v->items[k].name, &tres);

    if (r < 0 || tres == TRES_MAX)
        return r;
    f = roll_fate(w, hour, tres);
    if (v->rec->flags & MAINT) { /* down is what was planned, then */
        uint64_t moved = MIN(MIN(cell->down, left), f->down);

        f->down -= moved;
        f->pdown += moved;
        left -= moved;
        left -= MIN(left, cell->pdown);
    } else {
        left -= MIN(left, cell->down + cell->pdown);
    }
    room = f->alloc + f->down + f->pdown;
    left = MIN(left, f->total > room ? f->total - room : 0);
    if (v->rec->flags & MAINT) {
        f->pdown += left;
    } else {
        f->alloc += left;
        r = charge_idle(w, c, hour, tres, left);
    }
    return r < 0 ? r : write_used(w, stmt, v, hour, tres, used);
}

static int settle_period(struct roll *w, const struct roll_resv *v, const struct charged *c,
                         struct sql_stmt *stmt)
{
    struct cut cut = cut_begin(w, v->start_s, v->end_s);
    unsigned hour;
    int64_t secs;
    int r = 0;

    while (r == 0 && cut_next(&cut, &hour, &secs))
        for (size_t k = 0; r == 0 && k < v->nitems; k++)
            r = settle_hour(w, v, c, stmt, hour, secs, k);
    return r;
}

/* The name of the source. */
static int cluster_name(struct roll *w, char **ret)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(w->db, "SELECT name FROM sources WHERE id=?", &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, w->source);
    r = sql_step(stmt);
    if (r < 0)
        return r;
    *ret = strdup(r ? sql_text(stmt, 0) : "");
    sql_reset(stmt);
    return *ret ? 0 : -ENOMEM;
}

static int drop_used(struct roll *w)
{
    char text[160];

    (void)snprintf(text, sizeof(text),
                   "DELETE FROM usage_resv WHERE source=%lld AND start_s>=%lld AND start_s<%lld",
                   (long long)w->source, (long long)w->from, (long long)w->to);
    return sql_exec(w->db, text);
}

int roll_resv_settle(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    _cleanup_free_ char *cluster = NULL;
    struct assoc_row *assocs = NULL;
    size_t n = 0;
    int r = drop_used(w);

    if (r < 0 || !w->nresvs)
        return r;
    r = cluster_name(w, &cluster);
    if (r == 0)
        r = assocs_load(w->db, &assocs, &n);
    if (r == 0)
        r = sql_prepare(w->db, "INSERT INTO usage_resv VALUES(?,?,?,?,?,?)", &stmt);
    for (size_t i = 0; r == 0 && i < w->nresvs; i++) {
        struct charged c = { .n = 0 };

        if (!(w->resvs[i].rec->flags & MAINT))
            r = find_charged(w, &w->resvs[i], cluster, assocs, n, &c);
        if (r == 0)
            r = settle_period(w, &w->resvs[i], &c, stmt);
        free(c.who);
    }
    assocs_free(assocs, n);
    return r;
}
