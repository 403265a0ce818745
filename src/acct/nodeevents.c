/* nodeevents.c - node events as periods; see nodeevents.h.
 *
 * A node has an open row in `events` while it is down, drained or away by plan; each change of
 * state, reason or hardware closes it and may open another.  The row with an empty node name says
 * what the whole cluster has. */
#include "acct/nodeevents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/sql/db.h"
#include "acct/accttres.h"
#include "acct/instances.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "base/strbuf.h"
#include "model/cluster.h"

#define TRES_MAX 128u /* kinds a cluster may have */

struct item {
    Pst__NodeRecord *rec; /* NULL: no such node */
    bool dirty;
};

struct nodes {
    struct sql *db;
    int64_t source, changed_us; /* changed_us: of the cluster's TRES, 0 = not since the flush */
    bool loaded;
    struct item *items; /* by node id */
    size_t n;
    struct sql_stmt *save, *drop, *close, *open;
    struct instances instances;
};

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

void nodes_forget(struct nodes *n)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->items[i].rec)
            pst__node_record__free_unpacked(n->items[i].rec, NULL);
    free(n->items);
    n->items = NULL;
    n->n = 0;
    n->loaded = false;
    n->changed_us = 0;
}

struct nodes *nodes_free(struct nodes *n)
{
    if (!n)
        return NULL;
    nodes_forget(n);
    free(n); /* its statements go with the connection */
    return NULL;
}

int nodes_new(struct sql *db, int64_t source, struct nodes **ret)
{
    struct nodes *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    n->db = db;
    n->source = source;
    *ret = n;
    return 0;
}

static int prepare_statements(struct nodes *n)
{
    int r = 0;

    if (!n->save)
        r = sql_prepare(n->db, "REPLACE INTO nodes VALUES(?,?,?)", &n->save);
    if (r == 0 && !n->drop)
        r = sql_prepare(n->db, "DELETE FROM nodes WHERE source=? AND node_id=?", &n->drop);
    if (r == 0 && !n->close)
        r = sql_prepare(
            n->db,
            "UPDATE events SET end_us=? WHERE source=? AND node=? AND end_us=9223372036854775807",
            &n->close);
    if (r == 0 && !n->open)
        r = sql_prepare(n->db, "REPLACE INTO events VALUES(?,?,?,9223372036854775807,?,?,?,?,?)",
                        &n->open);
    return r;
}

static int room_for(struct nodes *n, uint32_t id)
{
    size_t more = MAX((size_t)id + 1, n->n * 2);
    struct item *bigger;

    if (id < n->n)
        return 0;
    if (id > 1u << 20)
        return -EINVAL;
    bigger = reallocarray(n->items, more, sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    memset(bigger + n->n, 0, (more - n->n) * sizeof(*bigger));
    n->items = bigger;
    n->n = more;
    return 0;
}

static int load_nodes(struct nodes *n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = prepare_statements(n);

    if (r == 0)
        r = sql_prepare(n->db, "SELECT node_id, record FROM nodes WHERE source=?", &stmt);
    if (r < 0)
        return r;
    sql_bind(stmt, 0, n->source);
    while ((r = sql_step(stmt)) == 1) {
        uint32_t id = (uint32_t)sql_int(stmt, 0);
        size_t len;
        const void *data = sql_blob(stmt, 1, &len);

        r = room_for(n, id);
        if (r < 0)
            return r;
        n->items[id].rec = pst__node_record__unpack(NULL, len, data);
        if (!n->items[id].rec)
            return -EUCLEAN;
    }
    n->loaded = r == 0;
    return r;
}

/* ---- periods --------------------------------------------------------------------------------- */

/* As the events table has it. */
static int64_t state_of(const Pst__NodeRecord *rec)
{
    return (int64_t)rec->state | (int64_t)rec->state_flags << 8;
}

enum node_away nodes_away(int64_t event_state)
{
    uint32_t flags = (uint32_t)(event_state >> 8);

    if ((event_state & 0xff) == PST__NODE_STATE__NODE_FUTURE)
        return NODE_THERE; /* it is no part of the cluster */
    if (flags &
        (FLAG(MAINTENANCE) | FLAG(POWERED_DOWN) | FLAG(POWERING_DOWN) | FLAG(REBOOT_ISSUED)))
        return NODE_PLANNED_DOWN;
    if ((event_state & 0xff) == PST__NODE_STATE__NODE_DOWN || flags & (FLAG(DRAIN) | FLAG(FAIL)))
        return NODE_DOWN;
    return NODE_THERE;
}

/* What a node brings in, as items.  Gives how many. */
static size_t tres_of(const Pst__NodeRecord *rec, struct tres_item *items, size_t max)
{
    items[0] = (struct tres_item){ "cpu", rec->cpus };
    items[1] = (struct tres_item){ "mem", rec->real_memory_mib };
    items[2] = (struct tres_item){ "node", 1 };
    items[3] = (struct tres_item){ "billing", rec->cpus };
    return 4 + tres_of_gres(rec->gres, items + 4, max - 4);
}

static void put_items(struct strbuf *sb, const struct tres_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].count)
            strbuf_addf(sb, "%s%s=%llu%s", sb->len ? "," : "", items[i].name,
                        (unsigned long long)items[i].count,
                        strcmp(items[i].name, "mem") == 0 ? "M" : "");
}

static int close_period(struct nodes *n, const char *node, int64_t time_us)
{
    sql_bind(n->close, 0, time_us);
    sql_bind(n->close, 1, n->source);
    sql_bind_text(n->close, 2, node);
    return sql_run(n->close);
}

static int open_period(struct nodes *n, const Pst__NodeRecord *rec, int64_t time_us)
{
    _cleanup_val_(strbuf_done) struct strbuf tres = STRBUF_INIT;
    struct tres_item items[TRES_MAX];

    put_items(&tres, items, tres_of(rec, items, TRES_MAX));
    if (tres.failed)
        return -ENOMEM;
    sql_bind(n->open, 0, n->source);
    sql_bind_text(n->open, 1, rec->name);
    sql_bind(n->open, 2, time_us);
    sql_bind(n->open, 3, state_of(rec));
    sql_bind_text(n->open, 4, rec->reason);
    if (rec->has_reason_uid)
        sql_bind(n->open, 5, rec->reason_uid);
    else
        sql_bind_null(n->open, 5);
    sql_bind_text(n->open, 6, strbuf_str(&tres));
    sql_bind_text(n->open, 7, NULL);
    return sql_run(n->open);
}

static bool same_tres(const Pst__NodeRecord *a, const Pst__NodeRecord *b)
{
    return a && b && a->cpus == b->cpus && a->real_memory_mib == b->real_memory_mib &&
           same_text(a->gres, b->gres) &&
           (a->state == PST__NODE_STATE__NODE_FUTURE) == (b->state == PST__NODE_STATE__NODE_FUTURE);
}

/* A node was `before` (NULL: none) and is `now`. */
static int note_change(struct nodes *n, const Pst__NodeRecord *before, const Pst__NodeRecord *now,
                       int64_t time_us)
{
    enum node_away was = before ? nodes_away(state_of(before)) : NODE_THERE;
    enum node_away is = now ? nodes_away(state_of(now)) : NODE_THERE;
    int r = 0;

    if (!same_tres(before, now))
        n->changed_us = time_us;
    if (was == is &&
        (is == NODE_THERE || (same_tres(before, now) && same_text(before->reason, now->reason) &&
                              state_of(before) == state_of(now))))
        return 0;
    if (was != NODE_THERE)
        r = close_period(n, before->name, time_us);
    if (r == 0 && is != NODE_THERE)
        r = open_period(n, now, time_us);
    return r;
}

/* The node's record becomes rec, which is taken. */
static int replace_record(struct nodes *n, uint32_t id, Pst__NodeRecord *rec, int64_t time_us)
{
    struct item *item = &n->items[id];
    int r = note_change(n, item->rec, rec, time_us);

    if (r == 0)
        r = instances_note(&n->instances, n->db, n->source, item->rec, rec, time_us);
    if (item->rec)
        pst__node_record__free_unpacked(item->rec, NULL);
    item->rec = rec;
    item->dirty = true;
    return r;
}

static int node_put(struct nodes *n, const Pst__NodeRecord *rec, int64_t time_us)
{
    ProtobufCMessage *copy;
    int r = room_for(n, rec->node_id);

    if (r == 0)
        r = pb_dup(&rec->base, &copy);
    if (r < 0)
        return r;
    record_drop_volatile(copy);
    return replace_record(n, rec->node_id, (Pst__NodeRecord *)copy, time_us);
}

static int node_patch(struct nodes *n, const Pst__NodePatch *p, int64_t time_us)
{
    ProtobufCMessage *copy;
    int r;

    if (p->node_id >= n->n || !n->items[p->node_id].rec)
        return 0;
    r = pb_dup(&n->items[p->node_id].rec->base, &copy);
    if (r < 0)
        return r;
    if (p->set)
        r = pb_merge(copy, &p->set->base);
    for (size_t i = 0; r == 0 && i < p->n_clear; i++)
        (void)pb_clear(copy, p->clear[i]); /* a field of a newer release: nothing to clear here */
    if (r < 0) {
        protobuf_c_message_free_unpacked(copy, NULL);
        return r;
    }
    record_drop_volatile(copy);
    return replace_record(n, p->node_id, (Pst__NodeRecord *)copy, time_us);
}

int nodes_apply(struct nodes *n, const Pst__Event *ev, int64_t time_us)
{
    int r;

    if (ev->body_case != PST__EVENT__BODY_NODE_PUT &&
        ev->body_case != PST__EVENT__BODY_NODE_PATCH &&
        ev->body_case != PST__EVENT__BODY_NODE_REMOVE)
        return 0;
    r = n->loaded ? 0 : load_nodes(n);
    if (r < 0)
        return r;
    if (ev->body_case == PST__EVENT__BODY_NODE_PUT)
        return node_put(n, ev->node_put, time_us);
    if (ev->body_case == PST__EVENT__BODY_NODE_PATCH)
        return node_patch(n, ev->node_patch, time_us);
    return ev->node_remove < n->n && n->items[ev->node_remove].rec
               ? replace_record(n, ev->node_remove, NULL, time_us)
               : 0;
}

/* ---- the flush ------------------------------------------------------------------------------- */

static int save_node(struct nodes *n, uint32_t id)
{
    struct item *item = &n->items[id];
    uint8_t *data;
    int r;

    item->dirty = false;
    if (!item->rec) {
        sql_bind(n->drop, 0, n->source);
        sql_bind(n->drop, 1, id);
        return sql_run(n->drop);
    }
    data = malloc(pst__node_record__get_packed_size(item->rec) + 1);
    if (!data)
        return -ENOMEM;
    sql_bind(n->save, 0, n->source);
    sql_bind(n->save, 1, id);
    sql_bind_blob(n->save, 2, data, pst__node_record__pack(item->rec, data));
    r = sql_run(n->save);
    free(data);
    return r;
}

static size_t add_items(struct tres_item *total, size_t n, const struct tres_item *items,
                        size_t nitems)
{
    for (size_t i = 0; i < nitems; i++) {
        size_t k = 0;

        while (k < n && strcmp(total[k].name, items[i].name) != 0)
            k++;
        if (k == n && n < TRES_MAX)
            total[n++] = (struct tres_item){ 0 };
        if (k == TRES_MAX)
            continue;
        memcpy(total[k].name, items[i].name, sizeof(total[k].name));
        total[k].count += items[i].count;
    }
    return n;
}

/* What the cluster has now, as text, and its nodes. */
static int sum_up(struct nodes *n, struct strbuf *tres, char **ret_nodes)
{
    struct tres_item total[TRES_MAX], items[TRES_MAX];
    struct hostlist *hl = NULL;
    size_t ntotal = 0;
    int r = hostlist_new(&hl);

    for (size_t i = 0; r == 0 && i < n->n; i++) {
        const Pst__NodeRecord *rec = n->items[i].rec;

        if (!rec || rec->state == PST__NODE_STATE__NODE_FUTURE)
            continue;
        ntotal = add_items(total, ntotal, items, tres_of(rec, items, TRES_MAX));
        r = hostlist_push(hl, rec->name);
    }
    if (r == 0) {
        put_items(tres, total, ntotal);
        hostlist_sort(hl);
        r = hostlist_fold(hl, ret_nodes);
    }
    hostlist_free(hl);
    return r;
}

static int cluster_period(struct nodes *n)
{
    _cleanup_val_(strbuf_done) struct strbuf tres = STRBUF_INIT;
    _cleanup_free_ char *names = NULL;
    int r = sum_up(n, &tres, &names);

    if (r == 0 && tres.failed)
        r = -ENOMEM;
    if (r == 0)
        r = close_period(n, "", n->changed_us);
    if (r < 0)
        return r;
    sql_bind(n->open, 0, n->source);
    sql_bind_text(n->open, 1, "");
    sql_bind(n->open, 2, n->changed_us);
    sql_bind(n->open, 3, 0);
    sql_bind_text(n->open, 4, "Cluster Registered TRES");
    sql_bind_null(n->open, 5);
    sql_bind_text(n->open, 6, strbuf_str(&tres));
    sql_bind_text(n->open, 7, names);
    return sql_run(n->open);
}

int nodes_flush(struct nodes *n)
{
    int r = 0;

    if (!n->loaded)
        return 0;
    for (size_t i = 0; r == 0 && i < n->n; i++)
        if (n->items[i].dirty)
            r = save_node(n, (uint32_t)i);
    if (r == 0 && n->changed_us)
        r = cluster_period(n);
    n->changed_us = 0;
    return r;
}

/* ---- controllers ----------------------------------------------------------------------------- */

int nodes_note_gone(struct sql *db, const char *cluster, int64_t gone_us)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(db,
                        "REPLACE INTO events SELECT e.source, '', ?, e.end_us, ?, ?, NULL, e.tres, "
                        "e.nodes FROM events e"
                        " JOIN sources s ON s.id=e.source WHERE s.name=? AND e.node='' AND "
                        "e.state=0 AND e.end_us=?",
                        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, gone_us);
    sql_bind(stmt, 1, PST__NODE_STATE__NODE_DOWN);
    sql_bind_text(stmt, 2, "slurmctld disconnect");
    sql_bind_text(stmt, 3, cluster);
    sql_bind(stmt, 4, ACCT_OPEN_END);
    return sql_run(stmt);
}

int nodes_note_back(struct sql *db, int64_t source, int64_t back_us)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(
        db, "UPDATE events SET end_us=? WHERE source=? AND node='' AND state=? AND end_us=?",
        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, back_us);
    sql_bind(stmt, 1, source);
    sql_bind(stmt, 2, PST__NODE_STATE__NODE_DOWN);
    sql_bind(stmt, 3, ACCT_OPEN_END);
    return sql_run(stmt);
}
