/* sql_cases.h - what both engines of the accounting store must do; needs acct_util.h before it */
#pragma once

#include "acct/sql/sql.h"

/* A database with one table of two rows. */
UTIL struct sql *open_plain(struct world *w)
{
    struct err err = { .text = "" };
    struct sql *db = NULL;

    assert_int_equal(sql_open(w->db, SQL_WRITE, &db, &err), 0);
    assert_string_equal(err.text, "");
    assert_int_equal(
        sql_exec(
            db,
            "CREATE TABLE t(k $KEY NOT NULL PRIMARY KEY, i $INT, r $REAL, s $TEXT, b $BLOB)$TABLE;"
            "INSERT INTO t VALUES('a;b', 1, 0.5, 'x', NULL); ; INSERT INTO t(k) VALUES('z')"),
        0);
    return db;
}

UTIL void check_types(struct world *w)
{
    static const unsigned char bytes[] = { 0, 255, 0, '\'', 1 };
    struct sql *db = open_plain(w);
    struct sql_stmt *put = NULL, *get = NULL;
    char *long_text = malloc(100001);
    size_t len;

    assert_non_null(long_text);
    memset(long_text, 'q', 100000);
    long_text[100000] = '\0';
    assert_int_equal(sql_prepare(db, "REPLACE INTO t VALUES(?,?,?,?,?)", &put), 0);
    for (int i = 0; i < 2; i++) {           /* the second replaces the first */
        sql_bind_text(put, 0, "k\xff\xfe"); /* not UTF-8: bytes all the same */
        sql_bind(put, 1, INT64_MIN + i);
        sql_bind_real(put, 2, 1.25);
        sql_bind_text(put, 3, long_text);
        sql_bind_blob(put, 4, bytes, sizeof(bytes));
        assert_int_equal(sql_run(put), 0);
    }
    assert_int_equal(
        sql_prepare(db,
                    "SELECT k, i, r, s, b, (SELECT sum(i) FROM t WHERE k='a;b') FROM t ORDER BY k",
                    &get),
        0);
    for (int pass = 0; pass < 2; pass++) { /* once given up in the middle */
        assert_int_equal(sql_step(get), 1);
        assert_string_equal(sql_text(get, 0), "a;b");
        assert_true(sql_is_null(get, 4));
        assert_int_equal(sql_step(get), 1);
        assert_string_equal(sql_text(get, 0), "k\xff\xfe");
        assert_int_equal(sql_int(get, 1), INT64_MIN + 1);
        assert_true(sql_real(get, 2) > 1.2 && sql_real(get, 2) < 1.3);
        assert_string_equal(sql_text(get, 3), long_text);
        assert_memory_equal(sql_blob(get, 4, &len), bytes, sizeof(bytes));
        assert_int_equal(len, sizeof(bytes));
        assert_int_equal(sql_int(get, 5), 1);
        if (pass == 0)
            sql_reset(get);
    }
    assert_int_equal(sql_step(get), 1);
    assert_true(sql_is_null(get, 1) && sql_is_null(get, 3));
    assert_int_equal(sql_int(get, 1), 0);
    assert_null(sql_text(get, 3));
    assert_int_equal(sql_step(get), 0);
    assert_null(sql_free(get));
    free(long_text);
    assert_null(sql_close(db)); /* frees `put` too */
}

UTIL int64_t count_rows(struct sql *db)
{
    int64_t n = -1;

    assert_int_equal(sql_get(db, "SELECT count(*) FROM t", -2, &n), 0);
    return n;
}

UTIL void check_transactions(struct world *w)
{
    struct sql *db = open_plain(w), *other = NULL;
    struct sql_stmt *stmt = NULL;
    int64_t n;

    assert_int_equal(sql_open(w->db, SQL_READ, &other, NULL), 0);
    assert_int_equal(sql_begin(db), 0);
    assert_int_equal(sql_prepare(db, "UPDATE t SET i=? WHERE k=?", &stmt), 0);
    sql_bind(stmt, 0, 7);
    sql_bind_text(stmt, 1, "a;b");
    assert_int_equal(sql_run(stmt), 0);
    assert_int_equal(sql_changes(stmt), 1);
    sql_bind_text(stmt, 1, "nobody");
    assert_int_equal(sql_run(stmt), 0);
    assert_int_equal(sql_changes(stmt), 0);
    assert_int_equal(sql_exec(db, "DELETE FROM t WHERE k='z'"), 0);
    assert_int_equal(count_rows(other), 2); /* not yet */
    sql_rollback(db);
    assert_int_equal(count_rows(db), 2);
    assert_int_equal(sql_begin(db), 0);
    assert_int_equal(sql_exec(db, "DELETE FROM t WHERE k='z'"), 0);
    assert_int_equal(sql_commit(db), 0);
    sql_rollback(db); /* nothing to undo */
    assert_int_equal(count_rows(other), 1);
    assert_int_equal(sql_get(db, "SELECT max(i) FROM t WHERE k='none'", 42, &n), 0);
    assert_int_equal(n, 42);
    assert_int_equal(sql_exec(db, "INSERT INTO t(k) VALUES('a;b')"), -EEXIST);
    assert_int_not_equal(sql_error(db)[0], '\0');
    assert_true(sql_exec(db, "SELEC 1") < 0);
    assert_int_equal(sql_engine(db), on_server() ? SQL_MYSQL : SQL_SQLITE);
    assert_null(sql_close(other));
    assert_null(sql_close(db));
}

UTIL void check_cancel(struct world *w)
{
    struct sql *db = open_plain(w);
    struct sql_stmt *stmt = NULL;
    atomic_bool cancel = false;

    assert_int_equal(sql_prepare(db, "SELECT k FROM t", &stmt), 0);
    sql_set_cancel(db, &cancel);
    assert_int_equal(sql_step(stmt), 1);
    atomic_store(&cancel, true);
    assert_int_equal(sql_step(stmt), -ECANCELED);
    sql_set_cancel(db, NULL);
    assert_int_equal(sql_step(stmt), 1); /* from the beginning */
    assert_null(sql_close(db));
}
