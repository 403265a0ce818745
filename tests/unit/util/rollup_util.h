/* rollup_util.h - what the tests of summed up usage share: a small cluster, lives of jobs, sums */
#pragma once

#include "acct_util.h"

#include "acct/archive.h"
#include "acct/sql/db.h"
#include "acct/usage/rollup.h"
#include "assoc.pb-c.h"

#define HOUR 3600
#define DAY (24 * HOUR)
/* T0 rounded down to the first of its month, UTC: 2023-11-01. */
#define MONTH INT64_C(1698796800)

UTIL void node(Pst__Transaction *tx, uint32_t id, Pst__NodeState state)
{
    Pst__NodeRecord *n = tx_node_put(tx, EV(NODE_CONFIG));
    char name[16];

    (void)snprintf(name, sizeof(name), "n%u", id);
    SET(n, node_id, id);
    (void)pb_set_str(&n->name, name);
    SET(n, cpus, 8);
    SET(n, real_memory_mib, 1000);
    SET(n, state, state);
    SET(n, state_flags, 0);
}

/* Two nodes of 8 CPUs from the first of the month on. */
UTIL void make_nodes(struct world *w)
{
    Pst__Transaction *tx = tx_new(MONTH * SEC);

    node(tx, 0, PST__NODE_STATE__NODE_IDLE);
    node(tx, 1, PST__NODE_STATE__NODE_IDLE);
    feed(w, tx);
}

UTIL void set_node(struct world *w, uint32_t id, int64_t at, Pst__NodeState state, uint32_t flags)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);
    Pst__NodeRecord *set = tx_node_patch(tx, EV(NODE_STATE), id);

    SET(set, state, state);
    SET(set, state_flags, flags);
    feed(w, tx);
}

UTIL void queue_job(struct world *w, uint32_t id, int64_t at, const char *account, uint32_t uid,
                    const char *tres)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);
    Pst__JobRecord *j = put_job(tx, id, id, "job");

    SET(j, uid, uid);
    (void)pb_set_str(&j->account, account);
    (void)pb_set_str(&j->req_tres, tres);
    feed(w, tx);
}

UTIL void start_job(struct world *w, uint32_t id, int64_t at, const char *tres)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_START), id);

    fill_start(set, tx->time_us, "n0");
    (void)pb_set_str(&set->alloc_tres, tres);
    feed(w, tx);
}

UTIL void end_job(struct world *w, uint32_t id, int64_t at, int64_t known_at)
{
    Pst__Transaction *tx = tx_new((MONTH + known_at) * SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_END), id);

    SET(set, state, JOB_STATE(COMPLETED));
    SET(set, end_us, (MONTH + at) * SEC);
    feed(w, tx);
}

UTIL void change_state(struct world *w, uint32_t id, int64_t at, Pst__JobState state)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);

    SET(tx_job_patch(tx, EV(JOB_SUSPEND), id), state, state);
    feed(w, tx);
}

UTIL void roll(struct world *w)
{
    struct err err = { .text = "" };
    struct sql *db = NULL;
    int r;

    assert_int_equal(acct_db_open(w->db, &db, &err), 0);
    for (int i = 0; i < 1000 && (r = acct_roll_up(db, &err)) == 1; i++)
        ;
    assert_string_equal(err.text, "");
    assert_int_equal(r, 0);
    assert_null(sql_close(db));
}

/* Everything up to `at` is there. */
UTIL void fed(struct world *w, int64_t at)
{
    feed(w, tx_new((MONTH + at) * SEC));
    roll(w);
}

UTIL Pst__UsageReply *ask_usage(struct world *w, Pst__UsageKind kind, int64_t from, int64_t to)
{
    Pst__UsageRequest req = PST__USAGE_REQUEST__INIT;
    Pst__UsageReply *reply = NULL;
    struct err err = { .text = "" };
    struct sql *db = NULL;
    uint32_t bounds[] = { 4, 8 };

    SET(&req, kind, kind);
    SET(&req, start_s, MONTH + from);
    SET(&req, end_s, MONTH + to);
    req.bounds = bounds;
    req.n_bounds = 2;
    assert_int_equal(acct_db_open_reader(w->db, &db, &err), 0);
    assert_int_equal(acct_usage(db, w->db, &req, NULL, &reply, &err), 0);
    assert_null(sql_close(db));
    return reply;
}

UTIL uint64_t used(struct world *w, const char *account, uint32_t uid, const char *tres,
                   int64_t from, int64_t to)
{
    Pst__UsageReply *reply = ask_usage(w, PST__USAGE_KIND__USAGE_WHO, from, to);
    uint64_t sum = 0;

    for (size_t i = 0; i < reply->n_who; i++)
        for (size_t k = 0; k < reply->who[i]->n_tres; k++)
            if (strcmp(reply->who[i]->account, account) == 0 &&
                (!uid || reply->who[i]->uid == uid) &&
                strcmp(reply->who[i]->tres[k]->name, tres) == 0)
                sum += reply->who[i]->tres[k]->alloc_s;
    pst__usage_reply__free_unpacked(reply, NULL);
    return sum;
}

UTIL void assert_cluster(struct world *w, int64_t from, int64_t to, const char *tres,
                         uint64_t alloc, uint64_t down, uint64_t pdown, uint64_t plan,
                         uint64_t idle, uint64_t over)
{
    Pst__UsageReply *reply = ask_usage(w, PST__USAGE_KIND__USAGE_CLUSTER, from, to);
    bool found = false;

    for (size_t i = 0; i < reply->n_clusters; i++) {
        const Pst__UsageCluster *c = reply->clusters[i];

        if (strcmp(c->tres, tres) != 0)
            continue;
        found = true;
        assert_string_equal(c->cluster, "test");
        assert_int_equal(c->alloc_s, alloc);
        assert_int_equal(c->down_s, down);
        assert_int_equal(c->pdown_s, pdown);
        assert_int_equal(c->plan_s, plan);
        assert_int_equal(c->idle_s, idle);
        assert_int_equal(c->over_s, over);
    }
    assert_true(found);
    pst__usage_reply__free_unpacked(reply, NULL);
}

UTIL int64_t rows_of(struct world *w, const char *table)
{
    char text[64];
    struct sql *db;
    int64_t n = -1;

    (void)snprintf(text, sizeof(text), "SELECT count(*) FROM %s", table);
    assert_int_equal(acct_db_open_reader(w->db, &db, NULL), 0);
    assert_int_equal(sql_get(db, text, -1, &n), 0);
    assert_null(sql_close(db));
    return n;
}

UTIL void purge(struct world *w, struct archive_what what, int64_t at, struct strbuf *files)
{
    struct err err = { .text = "" };
    struct sql *db;
    uint64_t rows;

    what.dir = w->dir;
    what.limit = 7; /* several transactions */
    assert_int_equal(acct_db_open(w->db, &db, &err), 0);
    assert_int_equal(acct_archive(db, &what, (MONTH + at) * SEC, files, &rows, &err), 0);
    assert_null(sql_close(db));
}

UTIL int load_file(struct world *w, const char *path, uint64_t *rows, struct err *err)
{
    struct sql *db;
    int r;

    assert_int_equal(acct_db_open(w->db, &db, err), 0);
    r = acct_archive_load(db, path, rows, err);
    assert_null(sql_close(db));
    return r;
}

/* Accounts and users as the part that keeps them stores them. */
struct an_assoc {
    uint32_t id, parent;
    const char *account, *user;
};

UTIL void make_assocs(struct world *w, const struct an_assoc *assocs, size_t n)
{
    struct sql_stmt *stmt = NULL;
    struct sql *db;

    assert_int_equal(acct_db_open(w->db, &db, NULL), 0);
    assert_int_equal(
        sql_exec(db,
                 "CREATE TABLE IF NOT EXISTS entities(kind $INT NOT NULL, id $KEY NOT NULL, version"
                 " $INT NOT NULL, record $BLOB NOT NULL, PRIMARY KEY(kind, id))$TABLE;"
                 "REPLACE INTO parts VALUES('admin', 1)"),
        0);
    assert_int_equal(sql_prepare(db, "REPLACE INTO entities VALUES(6,?,1,?)", &stmt), 0);
    for (size_t i = 0; i < n; i++) {
        Pst__AcctChange change = PST__ACCT_CHANGE__INIT;
        Pst__AssocRecord rec = PST__ASSOC_RECORD__INIT;
        uint8_t buf[256];
        char id[16];

        SET(&rec, assoc_id, assocs[i].id);
        SET(&rec, parent_id, assocs[i].parent);
        rec.cluster = (char *)(uintptr_t) "test";
        rec.account = (char *)(uintptr_t)assocs[i].account;
        rec.user = (char *)(uintptr_t)assocs[i].user;
        change.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
        change.assoc = &rec;
        (void)snprintf(id, sizeof(id), "%u", assocs[i].id);
        sql_bind_text(stmt, 0, id);
        sql_bind_blob(stmt, 1, buf, pst__acct_change__pack(&change, buf));
        assert_int_equal(sql_run(stmt), 0);
    }
    assert_null(sql_close(db));
}
