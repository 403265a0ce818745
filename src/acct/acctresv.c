/* acctresv.c - reservations in the store; see acctresv.h.
 *
 * Of each reservation at most one row is open (planned or active).  A put replaces it, an
 * EV_RESV_END leaves a row that is over in its place. */
#include "acct/acctresv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "acct/filter.h"
#include "acct/accttres.h"
#include "acct/sql/db.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "model/tx.h"

#define HOUR 3600
#define FLAG(x) (UINT64_C(1) << PST__RESV_FLAG__RESV_FLAG_##x)

/* ---- feeding --------------------------------------------------------------------------------- */

struct open_row {
    bool there;
    int64_t start_us, end_us;
    enum resv_state state;
};

static int load_open(struct sql *db, int64_t source, uint32_t id, struct open_row *ret)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(
        db,
        "SELECT start_us, end_us, state FROM reservations WHERE source=? AND resv_id=? AND state<2",
        &stmt);

    *ret = (struct open_row){ .there = false };
    if (r < 0)
        return r;
    sql_bind(stmt, 0, source);
    sql_bind(stmt, 1, id);
    r = sql_step(stmt);
    if (r == 1) {
        *ret = (struct open_row){ .there = true,
                                  .start_us = sql_int(stmt, 0),
                                  .end_us = sql_int(stmt, 1),
                                  .state = (enum resv_state)sql_int(stmt, 2) };
        sql_reset(stmt);
    }
    return r < 0 ? r : 0;
}

static int drop_open(struct sql *db, int64_t source, uint32_t id)
{
    char text[128];

    (void)snprintf(text, sizeof(text),
                   "DELETE FROM reservations WHERE source=%lld AND resv_id=%u AND state<2",
                   (long long)source, id);
    return sql_exec(db, text);
}

static int save_period(struct sql *db, int64_t source, const Pst__ReservationRecord *rec,
                       int64_t start_us, int64_t end_us, enum resv_state state)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    _cleanup_free_ uint8_t *data = malloc(pst__reservation_record__get_packed_size(rec) + 1);
    int r =
        data ? sql_prepare(db, "REPLACE INTO reservations VALUES(?,?,?,?,?,?,?)", &stmt) : -ENOMEM;

    if (r < 0)
        return r;
    sql_bind(stmt, 0, source);
    sql_bind(stmt, 1, rec->resv_id);
    sql_bind(stmt, 2, start_us);
    sql_bind(stmt, 3, end_us);
    sql_bind(stmt, 4, state);
    sql_bind_text(stmt, 5, rec->name ? rec->name : "");
    sql_bind_blob(stmt, 6, data, pst__reservation_record__pack(rec, data));
    return sql_run(stmt);
}

/* Where the period of this record begins. */
static int64_t period_of(const Pst__ReservationRecord *rec)
{
    return rec->has_started && rec->started && rec->has_period_us ? rec->period_us : rec->start_us;
}

static int resv_put(struct sql *db, int64_t source, const Pst__Event *ev, int64_t *earliest_us)
{
    const Pst__ReservationRecord *rec = ev->resv_put;
    bool ends = ev->kind == PST__EVENT_KIND__EV_RESV_END && rec->has_ended_us;
    bool active = rec->has_started && rec->started;
    int64_t start = period_of(rec);
    struct open_row open;
    int r;

    if (!rec->has_resv_id || (rec->has_flags && rec->flags & FLAG(TIME_FLOAT)))
        return 0;
    r = load_open(db, source, rec->resv_id, &open);
    if (r == 0 && open.there)
        r = drop_open(db, source, rec->resv_id);
    if (r < 0)
        return r;
    if (ends) {
        *earliest_us = MIN(*earliest_us, rec->ended_us);
        return rec->ended_us > start ? save_period(db, source, rec, start, rec->ended_us, RESV_OVER)
                                     : 0;
    }
    if (active && (!open.there || open.state == RESV_PLANNED || open.start_us != start))
        *earliest_us = MIN(*earliest_us, start);
    return save_period(db, source, rec, start, rec->end_us, active ? RESV_ACTIVE : RESV_PLANNED);
}

/* What was active without having been said to end ends here. */
static int resv_remove(struct sql *db, int64_t source, uint32_t id, int64_t time_us,
                       int64_t *earliest_us)
{
    struct open_row open;
    char text[160];
    int r = load_open(db, source, id, &open);

    if (r < 0 || !open.there)
        return r;
    if (open.state == RESV_PLANNED)
        return drop_open(db, source, id);
    *earliest_us = MIN(*earliest_us, time_us);
    (void)snprintf(
        text, sizeof(text),
        "UPDATE reservations SET state=2, end_us=%lld WHERE source=%lld AND resv_id=%u AND state=1",
        (long long)MIN(open.end_us, MAX(time_us, open.start_us)), (long long)source, id);
    return sql_exec(db, text);
}

int resv_apply(struct sql *db, int64_t source, const Pst__Event *ev, int64_t time_us,
               int64_t *earliest_us)
{
    if (ev->body_case == PST__EVENT__BODY_RESV_PUT)
        return resv_put(db, source, ev, earliest_us);
    if (ev->body_case == PST__EVENT__BODY_RESV_REMOVE)
        return resv_remove(db, source, ev->resv_remove, time_us, earliest_us);
    return 0;
}

int resv_close_all(struct sql *db, int64_t source, int64_t time_us)
{
    char text[400];

    (void)snprintf(text, sizeof(text),
                   "DELETE FROM reservations WHERE source=%lld AND state=0;"
                   "UPDATE reservations SET state=2, end_us=CASE WHEN end_us<%lld THEN end_us WHEN "
                   "start_us>%lld THEN start_us ELSE %lld END WHERE source=%lld AND state=1",
                   (long long)source, (long long)time_us, (long long)time_us, (long long)time_us,
                   (long long)source);
    return sql_exec(db, text);
}

/* ---- who is charged -------------------------------------------------------------------------- */

/* Is the word in a list that allows (one that denies begins with a minus)? */
static bool list_allows(const char *list, const char *word)
{
    size_t want = strlen(word);

    for (size_t len; *list; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        if (len == want && strncasecmp(list, word, len) == 0)
            return true;
    }
    return false;
}

static const char *allow_list(const char *list)
{
    return list && *list && *list != '-' ? list : NULL;
}

bool resv_charges(const Pst__ReservationRecord *rec, const char *cluster, const struct assoc_row *a)
{
    const char *users = allow_list(rec->users), *accounts = allow_list(rec->accounts);

    if (strcmp(a->cluster, cluster) != 0 || (!users && !accounts) ||
        (accounts && !list_allows(accounts, a->account)))
        return false;
    return users ? a->user && list_allows(users, a->user) : !a->user;
}

int64_t resv_seconds(int64_t start_us, int64_t end_us, int64_t from_s, int64_t to_s)
{
    int64_t from = MAX(start_us / USEC_PER_SEC, from_s), to = MIN(end_us / USEC_PER_SEC, to_s);

    return to > from ? to - from : 0;
}

/* ---- listing --------------------------------------------------------------------------------- */

struct row {
    int64_t source, start_us, end_us, rolled_us;
    char *cluster;
    Pst__ReservationRecord *rec;
};

static int read_row(void *item, struct sql_stmt *stmt)
{
    struct row *row = item;
    size_t len;
    const void *data = sql_blob(stmt, 3, &len);

    *row = (struct row){ .source = sql_int(stmt, 0),
                         .start_us = sql_int(stmt, 1),
                         .end_us = sql_int(stmt, 2),
                         .rolled_us = sql_int(stmt, 4),
                         .cluster = strdup(sql_text(stmt, 5)),
                         .rec = pst__reservation_record__unpack(NULL, len, data) };
    if (row->cluster && row->rec)
        return 1;
    free(row->cluster);
    if (!row->rec)
        return -EUCLEAN;
    pst__reservation_record__free_unpacked(row->rec, NULL);
    return -ENOMEM;
}

/* Is one of the nodes among those of the list? */
static bool has_node(const Pst__AcctCond *w, const char *nodes)
{
    struct hostlist *have = NULL, *want = NULL;
    bool found = w->n_nodes == 0;

    for (size_t i = 0; i < w->n_nodes && !found && nodes; i++) {
        if (hostlist_parse(nodes, &have, NULL) == 0 &&
            hostlist_parse(w->nodes[i], &want, NULL) == 0)
            for (size_t k = 0; k < hostlist_count(want) && !found; k++)
                found = hostlist_find(have, hostlist_nth(want, k)) >= 0;
        have = hostlist_free(have);
        want = hostlist_free(want);
    }
    return found;
}

static bool is_wanted(const Pst__AcctCond *w, const struct row *row)
{
    return cond_has(w->names, w->n_names, row->rec->name) &&
           cond_has(w->clusters, w->n_clusters, row->cluster) &&
           cond_has_id(w->ids, w->n_ids, row->rec->resv_id) && has_node(w, row->rec->nodes);
}

struct live_job { /* in a reservation, in hours that are not summed up yet */
    int64_t source, start_s, end_s;
    uint32_t resv_id;
    char *tres;
};

struct lister {
    struct sql *db;
    struct live_job *live;
    size_t nlive;
    const Pst__AcctCond *where;
    resv_row_fn *fn;
    void *ctx;
    struct assoc_row *assocs;
    size_t nassocs;
};

static int read_live(void *item, struct sql_stmt *stmt)
{
    struct live_job *job = item;
    size_t len;
    const void *data = sql_blob(stmt, 3, &len);
    Pst__JobRecord *rec = pst__job_record__unpack(NULL, len, data);
    int r = rec && rec->resv_id && rec->alloc_tres ? 1 : 0;

    *job = (struct live_job){ .source = sql_int(stmt, 0) >> ACCT_SOURCE_SHIFT,
                              .start_s = sql_int(stmt, 1) / USEC_PER_SEC,
                              .end_s = sql_int(stmt, 2) / USEC_PER_SEC };
    if (r) {
        job->resv_id = rec->resv_id;
        job->tres = strdup(rec->alloc_tres);
        r = job->tres ? 1 : -ENOMEM;
    }
    if (rec)
        pst__job_record__free_unpacked(rec, NULL);
    return r;
}

/* The jobs of reservations since the first hour that is not summed up for one of the rows. */
static int load_live(struct lister *l, const struct row *rows, size_t n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int64_t from_us = INT64_MAX;
    int r;

    for (size_t i = 0; i < n; i++)
        if (rows[i].end_us > rows[i].rolled_us)
            from_us = MIN(from_us, MAX(rows[i].rolled_us, rows[i].start_us));
    if (from_us == INT64_MAX)
        return 0;
    r = sql_prepare(l->db,
                    "SELECT run, start_us, end_us, record FROM jobs WHERE end_us>? AND start_us>0",
                    &stmt);
    if (r < 0)
        return r;
    sql_bind(stmt, 0, from_us);
    return sql_collect(stmt, sizeof(*l->live), read_live, &l->live, &l->nlive);
}

/* What they have used of one TRES between two moments. */
static uint64_t live_seconds(const struct lister *l, const struct row *row, const char *name,
                             int64_t from_s, int64_t to_s)
{
    uint64_t sum = 0;

    to_s = MIN(to_s, now_us() / USEC_PER_SEC);
    for (size_t i = 0; i < l->nlive; i++) {
        const struct live_job *job = &l->live[i];
        int64_t secs = MIN(job->end_s, to_s) - MAX(job->start_s, from_s);
        const char *text = job->tres;
        struct tres_item item;

        if (job->source != row->source || job->resv_id != row->rec->resv_id || secs <= 0)
            continue;
        while (tres_next(&text, &item))
            if (strcmp(item.name, name) == 0)
                sum += (uint64_t)secs * item.count;
    }
    return sum;
}

struct used {
    char name[TRES_NAME_MAX];
    uint64_t secs;
};

static int read_used(void *item, struct sql_stmt *stmt)
{
    struct used *u = item;

    (void)snprintf(u->name, sizeof(u->name), "%s", sql_text(stmt, 0)); /* as long at most */
    u->secs = (uint64_t)sql_int(stmt, 1);
    return 1;
}

static int load_used(struct sql *db, const struct row *row, int64_t from_s, int64_t to_s,
                     struct used **ret, size_t *ret_n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(
        db,
        "SELECT t.name, sum(u.alloc_s) FROM usage_resv u JOIN usage_tres t ON t.id=u.tres WHERE"
        " u.source=? AND u.start_s>=? AND u.start_s<? AND u.resv_id=? AND u.period_us=?"
        " GROUP BY t.id, t.name",
        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, row->source);
    sql_bind(stmt, 1, from_s);
    sql_bind(stmt, 2, to_s);
    sql_bind(stmt, 3, row->rec->resv_id);
    sql_bind(stmt, 4, row->start_us);
    return sql_collect(stmt, sizeof(**ret), read_used, ret, ret_n);
}

static int add_use(Pst__AcctResvRecord *out, const struct tres_item *item, uint64_t alloc_s,
                   uint64_t seconds)
{
    Pst__AcctResvUse **more = reallocarray(out->use, out->n_use + 1, sizeof(*more)),
                     *u = malloc(sizeof(*u));
    uint64_t whole = seconds * item->count;

    if (more)
        out->use = more;
    if (!more || !u) {
        free(u);
        return -ENOMEM;
    }
    pst__acct_resv_use__init(u);
    more[out->n_use++] = u;
    SET(u, count, item->count);
    SET(u, alloc_s, MIN(alloc_s, whole));
    SET(u, idle_s, whole - u->alloc_s);
    return pb_set_str(&u->tres, item->name);
}

/* What was used and what not: by the sums, and in the rest of a window by the jobs. */
static int fill_use(struct lister *l, const struct row *row, Pst__AcctResvRecord *out)
{
    const Pst__AcctCond *w = l->where;
    bool within = w->has_used_within && w->used_within;
    int64_t from_s = within && w->has_start_us ? w->start_us / USEC_PER_SEC : 0,
            to_s = within && w->has_end_us ? w->end_us / USEC_PER_SEC : INT64_MAX,
            rolled_s = row->rolled_us / USEC_PER_SEC;
    const char *text = row->rec->tres;
    struct used *used = NULL;
    struct tres_item item;
    uint64_t seconds;
    size_t n = 0;
    int r;

    if (!within)
        to_s = rolled_s;
    seconds = (uint64_t)resv_seconds(row->start_us, row->end_us, from_s, to_s);
    r = load_used(l->db, row, from_s, MIN(to_s, rolled_s), &used, &n);
    SET(out, unused_wall_s, (double)seconds);
    while (r == 0 && tres_next(&text, &item)) {
        uint64_t alloc = 0;

        for (size_t i = 0; i < n; i++)
            if (strcmp(used[i].name, item.name) == 0)
                alloc = used[i].secs;
        alloc += live_seconds(l, row, item.name,
                              MAX(MAX(from_s, rolled_s), row->start_us / USEC_PER_SEC),
                              MIN(to_s, row->end_us / USEC_PER_SEC));
        if (out->n_use == 0 && item.count) /* by the first: CPUs, where there are nodes */
            out->unused_wall_s = MAX(0.0, (double)seconds - (double)alloc / (double)item.count);
        r = add_use(out, &item, alloc, seconds);
    }
    free(used);
    return r;
}

static int fill_assocs(struct lister *l, const struct row *row, Pst__AcctResvRecord *out)
{
    out->assoc_ids = calloc(l->nassocs + 1, sizeof(*out->assoc_ids));
    if (!out->assoc_ids)
        return -ENOMEM;
    for (size_t i = 0; i < l->nassocs; i++)
        if (resv_charges(row->rec, row->cluster, &l->assocs[i]))
            out->assoc_ids[out->n_assoc_ids++] = l->assocs[i].id;
    return 0;
}

static int give_row(struct lister *l, const struct row *row)
{
    Pst__AcctResvRecord out = PST__ACCT_RESV_RECORD__INIT;
    const Pst__ReservationRecord *rec = row->rec;
    int r;

    out.cluster = row->cluster;
    SET(&out, resv_id, rec->resv_id);
    SET(&out, start_us, row->start_us);
    SET(&out, end_us, row->end_us);
    SET(&out, flags, rec->flags);
    out.name = rec->name;
    out.nodes = rec->nodes;
    out.tres = rec->tres;
    out.comment = rec->comment;
    r = fill_assocs(l, row, &out);
    if (r == 0)
        r = fill_use(l, row, &out);
    if (r == 0)
        r = l->fn(l->ctx, &out.base);
    for (size_t i = 0; i < out.n_use; i++)
        pst__acct_resv_use__free_unpacked(out.use[i], NULL);
    free(out.use);
    free(out.assoc_ids);
    return r;
}

int resv_list(struct sql *db, const Pst__AcctCond *where, resv_row_fn *fn, void *ctx)
{
    struct lister l = { .db = db, .where = where, .fn = fn, .ctx = ctx };
    struct sql_stmt *stmt = NULL;
    struct row *rows = NULL;
    size_t n = 0;
    int r = sql_prepare(
        db,
        "SELECT v.source, v.start_us, v.end_us, v.record, s.rolled_us, s.name FROM reservations v"
        " JOIN sources s ON s.id=v.source WHERE v.start_us<? AND v.end_us>?"
        " ORDER BY s.name, v.start_us, v.name",
        &stmt);

    if (r == 0) {
        sql_bind(stmt, 0, where->has_end_us ? where->end_us : INT64_MAX);
        sql_bind(stmt, 1, where->has_start_us ? where->start_us : 0);
        r = sql_collect(stmt, sizeof(*rows), read_row, &rows, &n);
    }
    sql_free(stmt);
    if (r == 0)
        r = assocs_load(db, &l.assocs, &l.nassocs);
    if (r == 0)
        r = load_live(&l, rows, n);
    for (size_t i = 0; i < n; i++) {
        if (r == 0 && is_wanted(where, &rows[i]))
            r = give_row(&l, &rows[i]);
        free(rows[i].cluster);
        pst__reservation_record__free_unpacked(rows[i].rec, NULL);
    }
    free(rows);
    for (size_t i = 0; i < l.nlive; i++)
        free(l.live[i].tres);
    free(l.live);
    assocs_free(l.assocs, l.nassocs);
    return r;
}
