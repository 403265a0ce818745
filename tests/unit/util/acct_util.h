/* acct_util.h - what the accounting tests share: a temporary directory, transactions, collected
 * answers */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acct/acct.h"
#include "acct/sql/sql.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"
#include "fields.h"
#include "tree_util.h"

#define UTIL __attribute__((unused)) static
#define SEC INT64_C(1000000)
#define T0 (INT64_C(1700000000) * SEC) /* when the tests' world begins */
#define EV(x) PST__EVENT_KIND__EV_##x
#define STEP_IS(x) PST__STEP_STATE__STEP_##x

/* A fresh directory per test, and the database in it; or one on the server whose socket is
 * PENSTOCK_TEST_MYSQL (as root, without a password). */
struct world {
    char dir[256], db[300], schema[64]; /* schema: the server's name for it */
    struct acct *acct;
    uint64_t lsn;
};

UTIL bool on_server(void)
{
    return getenv("PENSTOCK_TEST_MYSQL");
}

UTIL void drop_schema(const struct world *w)
{
    char text[96];
    struct sql *db;

    if (sql_open(w->db, SQL_WRITE, &db, NULL) < 0)
        return;
    (void)snprintf(text, sizeof(text), "DROP DATABASE %s", w->schema);
    (void)sql_exec(db, text); /* the next run has another name */
    (void)sql_close(db);
}

UTIL int world_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    (void)snprintf(w->dir, sizeof(w->dir), "%s/penstock-acct-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(w->dir));
    (void)snprintf(w->db, sizeof(w->db), "%s/acct.db", w->dir);
    if (on_server()) {
        (void)snprintf(w->schema, sizeof(w->schema), "t_%s", strrchr(w->dir, '-') + 1);
        (void)snprintf(w->db, sizeof(w->db), "mysql:%s:0:root::%s", getenv("PENSTOCK_TEST_MYSQL"),
                       w->schema);
    }
    *state = w;
    return 0;
}

UTIL int world_teardown(void **state)
{
    struct world *w = *state;

    acct_close(w->acct);
    if (w->schema[0])
        drop_schema(w);
    remove_tree(AT_FDCWD, w->dir);
    free(w);
    return 0;
}

UTIL struct acct *open_db(const char *path)
{
    struct err err = { .text = "" };
    struct acct *a = NULL;
    int r = acct_open(path, "test", &a, &err);

    if (r < 0)
        print_error("%s\n", err.text);
    assert_int_equal(r, 0);
    return a;
}

/* Apply one transaction in a batch of its own and release it. */
UTIL void feed(struct world *w, Pst__Transaction *tx)
{
    struct err err = { .text = "" };

    if (!w->acct)
        w->acct = open_db(w->db);
    assert_int_equal(acct_begin(w->acct), 0);
    assert_int_equal(acct_apply(w->acct, ++w->lsn, tx, &err), 0);
    assert_int_equal(acct_commit(w->acct), 0);
    assert_int_equal(acct_cursor(w->acct), w->lsn);
    tx_free(tx);
}

/* ---- transactions as the controller makes them; times in seconds after T0 -------------------- */

UTIL Pst__JobRecord *put_job(Pst__Transaction *tx, uint32_t id, uint64_t db_id, const char *name)
{
    Pst__JobRecord *j = tx_job_put(tx, EV(JOB_SUBMIT));

    SET(j, job_id, id);
    SET(j, db_id, db_id);
    SET(j, uid, 1000);
    SET(j, state, JOB_STATE(PENDING));
    SET(j, submit_us, tx->time_us);
    SET(j, eligible_us, tx->time_us);
    (void)pb_set_str(&j->name, name);
    (void)pb_set_str(&j->partition, "debug");
    return j;
}

UTIL Pst__Transaction *submit(uint32_t id, uint64_t db_id, int64_t at)
{
    Pst__Transaction *tx = tx_new(T0 + at * SEC);

    (void)put_job(tx, id, db_id, "job");
    return tx;
}

UTIL void fill_start(Pst__JobRecord *set, int64_t time_us, const char *nodes)
{
    SET(set, state, JOB_STATE(RUNNING));
    SET(set, state_flags, 0);
    SET(set, start_us, time_us);
    SET(set, end_us, time_us + 3600 * SEC); /* projected */
    set->alloc = malloc(sizeof(*set->alloc));
    assert_non_null(set->alloc);
    pst__alloc__init(set->alloc);
    set->alloc->nodes = strdup(nodes);
    SET(set->alloc, total_cpus, 4);
}

UTIL void put_batch_step(Pst__Transaction *tx, uint32_t id, uint64_t db_id)
{
    Pst__StepRecord *s = tx_step_put(tx, EV(STEP_START), id, STEP_BATCH);

    (void)pb_set_str(&s->name, "batch");
    SET(s, state, STEP_IS(RUNNING));
    SET(s, start_us, tx->time_us);
    SET(s, job_db_id, db_id);
}

UTIL Pst__Transaction *start(uint32_t id, uint64_t db_id, int64_t at, const char *nodes)
{
    Pst__Transaction *tx = tx_new(T0 + at * SEC);

    fill_start(tx_job_patch(tx, EV(JOB_START), id), tx->time_us, nodes);
    put_batch_step(tx, id, db_id);
    return tx;
}

UTIL Pst__Transaction *end(uint32_t id, int64_t at, Pst__JobState state, uint32_t flags)
{
    Pst__Transaction *tx = tx_new(T0 + at * SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_END), id);

    SET(set, state, state);
    SET(set, state_flags, flags);
    SET(set, end_us, tx->time_us);
    SET(set, exit_status, state == JOB_STATE(FAILED) ? 256 : 0);
    return tx;
}

UTIL void end_step(Pst__Transaction *tx, uint32_t id, uint32_t step, Pst__StepState state)
{
    Pst__StepRecord *s = tx_step_patch(tx, EV(STEP_END), id, step);

    SET(s, state, state);
    SET(s, end_us, tx->time_us);
}

UTIL Pst__Transaction *cleaned(uint32_t id, int64_t at)
{
    Pst__Transaction *tx = tx_new(T0 + at * SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_CLEANED), id);

    SET(set, state_flags, 0);
    SET(set, released, true);
    return tx;
}

UTIL Pst__Transaction *requeue(uint32_t id, uint64_t new_db_id, int64_t at)
{
    static const uint32_t gone[] = { JOB_F_REASON,   JOB_F_EXIT_STATUS, JOB_F_CANCEL_UID,
                                     JOB_F_START_US, JOB_F_END_US,      JOB_F_ALLOC,
                                     JOB_F_RELEASED };
    Pst__Transaction *tx = tx_new(T0 + at * SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_REQUEUE), id);

    for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
        tx_clear(tx, gone[i]);
    SET(set, state, JOB_STATE(PENDING));
    SET(set, state_flags, 0);
    SET(set, restart_count, 1);
    SET(set, requeue_us, tx->time_us);
    SET(set, db_id, new_db_id);
    return tx;
}

/* ---- answers --------------------------------------------------------------------------------- */

struct answer {
    Pst__AcctJob **jobs;
    size_t n, cap;
};

UTIL int collect(void *ctx, const Pst__AcctJob *job)
{
    struct answer *a = ctx;
    ProtobufCMessage *copy;

    if (a->n == a->cap) {
        a->cap = a->cap ? a->cap * 2 : 64;
        a->jobs = realloc(a->jobs, a->cap * sizeof(Pst__AcctJob *));
        assert_non_null(a->jobs);
    }
    assert_int_equal(pb_dup(&job->base, &copy), 0);
    a->jobs[a->n++] = (Pst__AcctJob *)copy;
    return 0;
}

UTIL void answer_done(struct answer *a)
{
    for (size_t i = 0; i < a->n; i++)
        pst__acct_job__free_unpacked(a->jobs[i], NULL);
    free(a->jobs);
    *a = (struct answer){ 0 };
}

UTIL struct answer ask(const char *db, const Pst__AcctFilter *f, int64_t now_us)
{
    struct err err = { .text = "" };
    struct answer a = { 0 };
    int r = acct_query(db, f, now_us, collect, &a, &err);

    if (r < 0)
        print_error("%s\n", err.text);
    assert_int_equal(r, 0);
    return a;
}

/* Everything there is, earlier runs too. */
UTIL struct answer ask_all(const char *db)
{
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;

    SET(&f, duplicates, true);
    return ask(db, &f, T0 + 1000000 * SEC);
}

UTIL void assert_same(const struct answer *a, const struct answer *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_true(pb_equal(&a->jobs[i]->base, &b->jobs[i]->base));
}
