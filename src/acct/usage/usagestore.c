/* usagestore.c - questions about usage; see rollup.h.
 *
 * The time asked for is put together from whole months, days and hours, so a year costs twelve rows
 * a user. Sizes of jobs are counted from the runs themselves. */
#include "acct/usage/rollup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "acct/acct.h"
#include "acct/assocs.h"
#include "acct/sql/db.h"
#include "acct/accttres.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "model/tables/idmap.h"
#include "model/job.h"

#define HOUR 3600
#define ROWS_MAX 1000000u

struct source {
    int64_t id;
    char *name;
};

struct ask {
    struct sql *db;
    const Pst__UsageRequest *req;
    struct source *sources;
    size_t nsources;
    Pst__UsageReply *reply;
    size_t cap, parents_cap;
};

/* ---- what is asked for ----------------------------------------------------------------------- */

static bool in_words(char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(words[i], word ? word : "") == 0)
            return true;
    return n == 0;
}

static bool in_numbers(const uint32_t *numbers, size_t n, uint32_t number)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] == number)
            return true;
    return n == 0;
}

static int load_sources(struct ask *a)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(a->db, "SELECT id, name FROM sources ORDER BY name", &stmt);

    while (r == 0 && (r = sql_step(stmt)) == 1) {
        struct source *bigger;

        r = 0;
        if (!in_words(a->req->clusters, a->req->n_clusters, sql_text(stmt, 1)))
            continue;
        bigger = reallocarray(a->sources, a->nsources + 1, sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        a->sources = bigger;
        bigger[a->nsources].id = sql_int(stmt, 0);
        bigger[a->nsources].name = strdup(sql_text(stmt, 1));
        if (!bigger[a->nsources++].name)
            return -ENOMEM;
    }
    return r;
}

static const char *source_name(const struct ask *a, int64_t id)
{
    for (size_t i = 0; i < a->nsources; i++)
        if (a->sources[i].id == id)
            return a->sources[i].name;
    return "";
}

static void add_sources(const struct ask *a, struct strbuf *sb)
{
    strbuf_add(sb, "source IN (-1");
    for (size_t i = 0; i < a->nsources; i++)
        strbuf_addf(sb, ",%lld", (long long)a->sources[i].id);
    strbuf_add(sb, ")");
}

/* ---- time ------------------------------------------------------------------------------------ */

static int64_t local_start(int64_t t, bool month)
{
    time_t at = (time_t)t;
    struct tm tm;

    (void)localtime_r(&at, &tm); /* fails for no year that hours reach */
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    if (month)
        tm.tm_mday = 1;
    return mktime(&tm);
}

static int64_t local_next(int64_t t, bool month)
{
    time_t at = (time_t)t;
    struct tm tm;

    (void)localtime_r(&at, &tm);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    if (month) {
        tm.tm_mday = 1;
        tm.tm_mon++;
    } else {
        tm.tm_mday++;
    }
    return mktime(&tm);
}

/* One select a range, so that each is a range of the primary key. */
struct ranges {
    const struct ask *ask;
    const char *select; /* up to its condition */
    struct strbuf sb;
};

static void add_range(struct ranges *r, unsigned unit, int64_t from, int64_t to)
{
    if (from >= to)
        return;
    strbuf_addf(&r->sb, "%s%s WHERE ", r->sb.len ? " UNION ALL " : "", r->select);
    add_sources(r->ask, &r->sb);
    strbuf_addf(&r->sb, " AND unit=%u AND start_s>=%lld AND start_s<%lld", unit, (long long)from,
                (long long)to);
}

/* [from, to) as whole units of `unit`, its edges as smaller ones. */
static void add_time(struct ranges *r, unsigned unit, int64_t from, int64_t to)
{
    int64_t first, last;

    if (from >= to)
        return;
    if (unit == 0) {
        add_range(r, 0, from, to);
        return;
    }
    first = local_start(from, unit == 2) == from ? from : local_next(from, unit == 2);
    last = local_start(to, unit == 2);
    if (first >= last) {
        add_time(r, unit - 1, from, to);
        return;
    }
    add_time(r, unit - 1, from, first);
    add_range(r, unit, first, last);
    add_time(r, unit - 1, last, to);
}

/* head (selects) tail, where the selects together are the table `u`. */
static int prepare_query(struct ask *a, const char *head, const char *select, const char *tail,
                         struct sql_stmt **ret)
{
    _cleanup_free_ char *text = NULL, *whole = NULL;
    struct ranges ranges = { .ask = a, .select = select, .sb = STRBUF_INIT };
    int r;

    add_time(&ranges, 2, a->req->start_s, a->req->end_s);
    r = strbuf_detach(&ranges.sb, &text);
    if (r == 0 && asprintf(&whole, "%s(%s) u%s", head, text, tail) < 0)
        r = -ENOMEM;
    return r < 0 ? r : sql_prepare(a->db, whole, ret);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Room for one more element of a repeated field. */
static int grow_list(void *list, size_t n, size_t *cap)
{
    void **items = *(void ***)list, **bigger;
    size_t more;

    if (n > ROWS_MAX)
        return -E2BIG;
    if (n < *cap)
        return 0;
    more = *cap ? *cap * 2 : 64;
    bigger = reallocarray(items, more, sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    *(void ***)list = bigger;
    *cap = more;
    return 0;
}

static int ask_cluster(struct ask *a)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    Pst__UsageReply *reply = a->reply;
    int r = prepare_query(
        a,
        "SELECT source, t.name, max(total), sum(alloc_s), sum(down_s), sum(pdown_s), sum(idle_s),"
        " sum(plan_s), sum(over_s) FROM ",
        "SELECT source, tres, total, alloc_s, down_s, pdown_s, idle_s, plan_s, over_s"
        " FROM usage_cluster",
        " JOIN usage_tres t ON t.id=u.tres GROUP BY source, t.id, t.name ORDER BY source, t.id",
        &stmt);

    while (r == 0 && (r = sql_step(stmt)) == 1) {
        Pst__UsageCluster *c;

        r = 0;
        if (!in_words(a->req->tres, a->req->n_tres, sql_text(stmt, 1)))
            continue;
        r = grow_list(&reply->clusters, reply->n_clusters, &a->cap);
        c = r == 0 ? malloc(sizeof(*c)) : NULL;
        if (!c)
            return r < 0 ? r : -ENOMEM;
        pst__usage_cluster__init(c);
        reply->clusters[reply->n_clusters++] = c;
        c->has_count = c->has_alloc_s = c->has_down_s = c->has_pdown_s = c->has_idle_s =
            c->has_plan_s = true;
        c->has_over_s = c->has_total_s = true;
        c->count = (uint64_t)sql_int(stmt, 2);
        c->alloc_s = (uint64_t)sql_int(stmt, 3);
        c->down_s = (uint64_t)sql_int(stmt, 4);
        c->pdown_s = (uint64_t)sql_int(stmt, 5);
        c->idle_s = (uint64_t)sql_int(stmt, 6);
        c->plan_s = (uint64_t)sql_int(stmt, 7);
        c->over_s = (uint64_t)sql_int(stmt, 8);
        c->total_s = c->alloc_s + c->down_s + c->pdown_s + c->idle_s + c->plan_s - c->over_s;
        r = pb_set_str(&c->cluster, source_name(a, sql_int(stmt, 0)));
        if (r == 0)
            r = pb_set_str(&c->tres, sql_text(stmt, 1));
    }
    return r;
}

static bool may_see(const Pst__UsageRequest *req, uint32_t uid, const char *account)
{
    return !req->has_seen_uid || uid == req->seen_uid ||
           (req->n_seen_accounts && in_words(req->seen_accounts, req->n_seen_accounts, account));
}

static bool who_wanted(const Pst__UsageRequest *req, struct sql_stmt *stmt)
{
    return may_see(req, (uint32_t)sql_int(stmt, 2), sql_text(stmt, 1)) &&
           in_words(req->tres, req->n_tres, sql_text(stmt, 6)) &&
           in_words(req->accounts, req->n_accounts, sql_text(stmt, 1)) &&
           in_numbers(req->uids, req->n_uids, (uint32_t)sql_int(stmt, 2)) &&
           in_words(req->wckeys, req->n_wckeys, sql_text(stmt, 4)) &&
           in_words(req->qos, req->n_qos, sql_text(stmt, 5));
}

static bool same_who(const Pst__UsageWho *u, const char *cluster, struct sql_stmt *stmt)
{
    return strcmp(u->cluster, cluster) == 0 && strcmp(u->account, sql_text(stmt, 1)) == 0 &&
           u->uid == (uint32_t)sql_int(stmt, 2) && strcmp(u->user, sql_text(stmt, 3)) == 0 &&
           strcmp(u->wckey, sql_text(stmt, 4)) == 0 && strcmp(u->qos, sql_text(stmt, 5)) == 0;
}

static Pst__UsageWho *new_who(struct ask *a, const char *cluster, struct sql_stmt *stmt)
{
    Pst__UsageReply *reply = a->reply;
    Pst__UsageWho *u =
        grow_list(&reply->who, reply->n_who, &a->cap) < 0 ? NULL : malloc(sizeof(*u));

    if (!u)
        return NULL;
    pst__usage_who__init(u);
    reply->who[reply->n_who++] = u;
    u->has_uid = true;
    u->uid = (uint32_t)sql_int(stmt, 2);
    if (pb_set_str(&u->cluster, cluster) < 0 || pb_set_str(&u->account, sql_text(stmt, 1)) < 0 ||
        pb_set_str(&u->user, sql_text(stmt, 3)) < 0 ||
        pb_set_str(&u->wckey, sql_text(stmt, 4)) < 0 || pb_set_str(&u->qos, sql_text(stmt, 5)) < 0)
        return NULL;
    return u;
}

static int add_tres(Pst__UsageWho *u, struct sql_stmt *stmt)
{
    Pst__UsageSum **bigger = reallocarray(u->tres, u->n_tres + 1, sizeof(*bigger)), *sum;

    if (!bigger)
        return -ENOMEM;
    u->tres = bigger;
    sum = malloc(sizeof(*sum));
    if (!sum)
        return -ENOMEM;
    pst__usage_sum__init(sum);
    u->tres[u->n_tres++] = sum;
    sum->has_alloc_s = true;
    sum->alloc_s = (uint64_t)sql_int(stmt, 7);
    return pb_set_str(&sum->name, sql_text(stmt, 6));
}

static int ask_who(struct ask *a)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    Pst__UsageWho *u = NULL;
    int r = prepare_query(
        a,
        "SELECT k.source, k.account, k.uid, k.user, k.wckey, k.qos, t.name, sum(s.secs) FROM"
        " (SELECT who, tres, sum(alloc_s) AS secs FROM ",
        "SELECT who, tres, alloc_s FROM usage_sums",
        " GROUP BY who, tres) s JOIN usage_keys k ON k.id=s.who JOIN usage_tres t ON t.id=s.tres"
        " GROUP BY k.source, k.account, k.uid, k.user, k.wckey, k.qos, t.id, t.name"
        " ORDER BY k.source, k.account, k.user, k.uid, k.wckey, k.qos, t.id",
        &stmt);

    while (r == 0 && (r = sql_step(stmt)) == 1) {
        const char *cluster = source_name(a, sql_int(stmt, 0));

        r = 0;
        if (!who_wanted(a->req, stmt))
            continue;
        if (!u || !same_who(u, cluster, stmt))
            u = new_who(a, cluster, stmt);
        r = u ? add_tres(u, stmt) : -ENOMEM;
    }
    return r;
}

/* ---- the tree of accounts -------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    const struct assoc_row *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int add_parent(struct ask *a, const struct assoc_row *of, const struct assoc_row *parent)
{
    Pst__UsageReply *reply = a->reply;
    Pst__UsageParent *p = grow_list(&reply->parents, reply->n_parents, &a->parents_cap) < 0
                              ? NULL
                              : malloc(sizeof(*p));

    if (!p)
        return -ENOMEM;
    pst__usage_parent__init(p);
    reply->parents[reply->n_parents++] = p;
    return pb_set_str(&p->cluster, of->cluster) < 0 || pb_set_str(&p->account, of->account) < 0 ||
                   pb_set_str(&p->parent, parent->account) < 0
               ? -ENOMEM
               : 0;
}

/* The account above each; those without one are the root's. */
static int ask_parents(struct ask *a)
{
    struct assoc_row *rows = NULL;
    size_t n = 0;
    int r = assocs_load(a->db, &rows, &n);

    if (n)
        qsort(rows, n, sizeof(*rows), by_id);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct assoc_row key = { .id = rows[i].parent };
        const struct assoc_row *parent = bsearch(&key, rows, n, sizeof(key), by_id);

        if (!rows[i].user && parent &&
            in_words(a->req->clusters, a->req->n_clusters, rows[i].cluster))
            r = add_parent(a, &rows[i], parent);
    }
    assocs_free(rows, n);
    return r;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

struct sizes {
    struct ask *ask;
    struct namemap rows; /* cluster, account, wckey -> UsageSizes */
    struct hostlist *nodes;
    char **keys;
    size_t nkeys, keys_cap;
};

static Pst__UsageSizes *row_of(struct sizes *s, const char *cluster, const Pst__JobRecord *rec)
{
    Pst__UsageReply *reply = s->ask->reply;
    _cleanup_free_ char *key = NULL;
    Pst__UsageSizes *row;

    if (asprintf(&key, "%s\x1f%s\x1f%s", cluster, rec->account ? rec->account : "",
                 rec->wckey ? rec->wckey : "") < 0)
        return NULL;
    row = namemap_get(&s->rows, key);
    if (row)
        return row;
    if (grow_list(&s->keys, s->nkeys, &s->keys_cap) < 0 ||
        grow_list(&reply->sizes, reply->n_sizes, &s->ask->cap) < 0)
        return NULL;
    row = malloc(sizeof(*row));
    if (!row)
        return NULL;
    pst__usage_sizes__init(row);
    reply->sizes[reply->n_sizes++] = row;
    if (pb_set_str(&row->cluster, cluster) < 0 ||
        pb_set_str(&row->account, rec->account ? rec->account : "") < 0 ||
        pb_set_str(&row->wckey, rec->wckey ? rec->wckey : "") < 0 ||
        namemap_put(&s->rows, key, row) < 0)
        return NULL;
    s->keys[s->nkeys++] = TAKE_PTR(key);
    return row;
}

static uint32_t bound_of(const Pst__UsageRequest *req, uint32_t cpus)
{
    uint32_t bound = 0;

    if (req->individual)
        return cpus;
    for (size_t i = 0; i < req->n_bounds; i++)
        if (req->bounds[i] <= cpus)
            bound = MAX(bound, req->bounds[i]);
    return bound;
}

static int count_run(Pst__UsageSizes *row, uint32_t bound, uint64_t cpu_s)
{
    Pst__UsageSize **bigger, *size = NULL;

    for (size_t i = 0; i < row->n_sizes && !size; i++)
        if (row->sizes[i]->bound == bound)
            size = row->sizes[i];
    if (!size) {
        bigger = reallocarray(row->sizes, row->n_sizes + 1, sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        row->sizes = bigger;
        size = malloc(sizeof(*size));
        if (!size)
            return -ENOMEM;
        pst__usage_size__init(size);
        row->sizes[row->n_sizes++] = size;
        size->has_bound = size->has_jobs = size->has_cpu_s = true;
        size->bound = bound;
    }
    size->jobs++;
    size->cpu_s += cpu_s;
    return 0;
}

static bool on_nodes(const struct sizes *s, const Pst__JobRecord *rec)
{
    struct hostlist *of = NULL;
    bool found = !s->nodes;

    if (!found && rec->alloc && rec->alloc->nodes &&
        hostlist_parse(rec->alloc->nodes, &of, NULL) == 0)
        for (size_t i = 0; i < hostlist_count(of) && !found; i++)
            found = hostlist_find(s->nodes, hostlist_nth(of, i)) >= 0;
    hostlist_free(of);
    return found;
}

static bool run_wanted(const struct sizes *s, const Pst__JobRecord *rec)
{
    const Pst__UsageRequest *req = s->ask->req;

    return rec->has_start_us && rec->alloc && in_words(req->wckeys, req->n_wckeys, rec->wckey) &&
           in_numbers(req->gids, req->n_gids, rec->gid) && on_nodes(s, rec);
}

static int on_job(void *ctx, const Pst__AcctJob *job)
{
    struct sizes *s = ctx;
    const Pst__UsageRequest *req = s->ask->req;
    const Pst__JobRecord *rec = job->job;
    int64_t now = now_us() / USEC_PER_SEC, start, end;
    Pst__UsageSizes *row;

    if (!run_wanted(s, rec))
        return 0;
    start = MAX(req->start_s, rec->start_us / USEC_PER_SEC);
    end = MIN(req->end_s, job_is_ended(rec) ? rec->end_us / USEC_PER_SEC : now);
    row = row_of(s, job->cluster ? job->cluster : "", rec);
    if (!row)
        return -ENOMEM;
    return count_run(row, bound_of(req, rec->alloc->total_cpus),
                     end > start ? (uint64_t)(end - start) * rec->alloc->total_cpus : 0);
}

static int ask_sizes(struct ask *a, const char *location, const atomic_bool *cancel,
                     struct err *err)
{
    const Pst__UsageRequest *req = a->req;
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct sizes s = { .ask = a };
    int r = req->nodes ? hostlist_parse(req->nodes, &s.nodes, err) : 0;

    f.clusters = req->clusters;
    f.n_clusters = req->n_clusters;
    f.uids = req->uids;
    f.n_uids = req->n_uids;
    f.has_seen_uid = req->has_seen_uid;
    f.seen_uid = req->seen_uid;
    f.seen_accounts = req->seen_accounts;
    f.n_seen_accounts = req->n_seen_accounts;
    f.job_ids = req->job_ids;
    f.n_job_ids = req->n_job_ids;
    f.partitions = req->partitions;
    f.n_partitions = req->n_partitions;
    f.has_start_us = f.has_end_us = f.has_duplicates = f.duplicates = true;
    f.has_allocations_only = f.allocations_only = true;
    f.start_us = req->start_s * USEC_PER_SEC;
    f.end_us = req->end_s * USEC_PER_SEC;
    if (r == 0)
        r = acct_query(location, &f, now_us(), on_job, &s, err);
    (void)cancel;
    namemap_done(&s.rows);
    for (size_t i = 0; i < s.nkeys; i++)
        free(s.keys[i]);
    free(s.keys);
    hostlist_free(s.nodes);
    return r;
}

/* ---- asking ---------------------------------------------------------------------------------- */

int acct_usage(struct sql *db, const char *location, const Pst__UsageRequest *req,
               const atomic_bool *cancel, Pst__UsageReply **ret_reply, struct err *err)
{
    struct ask a = { .db = db, .req = req };
    int r = 0;

    if (!req->has_start_s || !req->has_end_s || req->end_s <= req->start_s ||
        req->end_s > INT64_C(1) << 40)
        return err_set(err, -EINVAL, "usage: the time asked for is empty");
    a.reply = malloc(sizeof(*a.reply));
    if (!a.reply)
        return -ENOMEM;
    pst__usage_reply__init(a.reply);
    sql_set_cancel(db, cancel);
    r = load_sources(&a);
    if (r == 0 && req->kind == PST__USAGE_KIND__USAGE_CLUSTER)
        r = ask_cluster(&a);
    else if (r == 0 && req->kind == PST__USAGE_KIND__USAGE_WHO)
        r = ask_who(&a);
    else if (r == 0)
        r = ask_sizes(&a, location, cancel, err);
    if (r == 0 && req->kind != PST__USAGE_KIND__USAGE_CLUSTER)
        r = ask_parents(&a);
    sql_set_cancel(db, NULL);
    for (size_t i = 0; i < a.nsources; i++)
        free(a.sources[i].name);
    free(a.sources);
    if (r < 0) {
        pst__usage_reply__free_unpacked(a.reply, NULL);
        return err->text[0] ? r
                            : err_set(err, r, "usage: %s",
                                      r == -ENOMEM ? strerrordesc_np(-r) : sql_error(db));
    }
    *ret_reply = a.reply;
    return 0;
}
