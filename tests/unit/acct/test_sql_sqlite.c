/* test_sql_sqlite.c - files that are missing, damaged, in use or not to be written, and values at
 * the ends of their types */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "acct/sql/sql.h"
#include "base/cleanup.h"
#include "folder_util.h"

static char folder[64], file[128];

static int begin_test(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "sqlite");
    (void)snprintf(file, sizeof(file), "%s/a.db", folder);
    return 0;
}

static int end_test(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static struct sql *open_db(enum sql_mode mode)
{
    struct err err = { .text = "" };
    struct sql *db = NULL;

    if (sql_open(file, mode, &db, &err) < 0)
        fail_msg("%s", err.text);
    return db;
}

static void test_opening(void **state)
{
    struct err err = { .text = "" };
    struct sql *db = NULL;
    struct stat st;

    (void)state;
    assert_int_equal(sql_open(file, SQL_READ, &db, &err), -ENOENT);
    assert_null(db);
    assert_int_equal(access(file, F_OK), -1); /* to read makes no file */
    db = open_db(SQL_WRITE);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600); /* accounts are not everybody's business */
    db = sql_close(db);
    assert_int_equal(sql_open(folder, SQL_WRITE, &db, &err), -EISDIR);
    assert_memory_equal(err.text, "accounting: cannot open ", 24);
    assert_non_null(strstr(err.text, folder));
    assert_null(sql_close(NULL));
}

static void write_text(const char *text)
{
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_no_database(void **state)
{
    struct sql *db;
    int64_t n = 7;

    (void)state;
    write_text("this is no database, whatever its name says, and it is long enough to have a head "
               "of a hundred bytes");
    db = open_db(SQL_READ);
    assert_int_equal(sql_get(db, "SELECT count(*) FROM sqlite_master", 3, &n), -EUCLEAN);
    assert_int_equal(n, 7); /* written on success only */
    db = sql_close(db);
    write_text(""); /* an empty file is an empty database */
    db = open_db(SQL_WRITE);
    assert_int_equal(sql_get(db, "SELECT count(*) FROM sqlite_master", 3, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(sql_get(db, "SELECT name FROM sqlite_master", 3, &n), 0);
    assert_int_equal(n, 3); /* no row */
    sql_close(db);
}

static void test_reader(void **state)
{
    struct sql *db = open_db(SQL_WRITE), *reader;
    struct sql_stmt *s = NULL;
    int64_t n = 0;

    (void)state;
    assert_int_equal(sql_exec(db, "CREATE TABLE t(a $INT)$ROWS; INSERT INTO t VALUES(1)"), 0);
    reader = open_db(SQL_READ);
    assert_int_equal(sql_exec(reader, "INSERT INTO t VALUES(2)"), -EROFS);
    assert_int_equal(sql_prepare(reader, "SELECT nothing FROM t", &s), -EIO);
    assert_null(s);
    assert_non_null(strstr(sql_error(reader), "nothing"));
    /* who writes is not seen before the end, and is seen then */
    assert_int_equal(sql_begin(db), 0);
    assert_int_equal(sql_exec(db, "INSERT INTO t VALUES(3)"), 0);
    assert_int_equal(sql_get(reader, "SELECT count(*) FROM t", 0, &n), 0);
    assert_int_equal(n, 1);
    sql_rollback(db);
    sql_rollback(db); /* none is open */
    assert_int_equal(sql_get(reader, "SELECT count(*) FROM t", 0, &n), 0);
    assert_int_equal(n, 1);
    sql_close(reader);
    sql_close(db);
}

/* Null is not the empty text, and numbers come back to the last bit. */
static void test_values(void **state)
{
    struct sql *db = open_db(SQL_WRITE);
    struct sql_stmt *put = NULL, *get = NULL;
    size_t len = 9;

    (void)state;
    assert_int_equal(sql_exec(db, "CREATE TABLE t(i $INT, r $REAL, s $TEXT, b $BLOB)$ROWS"), 0);
    assert_int_equal(sql_prepare(db, "INSERT INTO t VALUES(?,?,?,?)", &put), 0);
    sql_bind(put, 0, INT64_MIN);
    sql_bind_real(put, 1, 5e-324);
    sql_bind_text(put, 2, "");
    sql_bind_blob(put, 3, "", 0);
    assert_int_equal(sql_run(put), 0);
    assert_int_equal(sql_changes(put), 1);
    sql_bind_null(put, 0);
    sql_bind_real(put, 1, INFINITY);
    sql_bind_text(put, 2, NULL);
    sql_bind_blob(put, 3, NULL, 0);
    assert_int_equal(sql_run(put), 0);
    assert_int_equal(sql_prepare(db, "SELECT i, r, s, b FROM t ORDER BY rowid", &get), 0);
    assert_int_equal(sql_step(get), 1);
    assert_true(sql_int(get, 0) == INT64_MIN);
    assert_true(sql_real(get, 1) == 5e-324);
    assert_false(sql_is_null(get, 2));
    assert_string_equal(sql_text(get, 2), "");
    assert_false(sql_is_null(get, 3));
    (void)sql_blob(get, 3, &len);
    assert_int_equal(len, 0);
    assert_int_equal(sql_step(get), 1);
    assert_true(sql_is_null(get, 0));
    assert_int_equal(sql_int(get, 0), 0);
    assert_true(isinf(sql_real(get, 1)));
    assert_true(sql_is_null(get, 2));
    assert_null(sql_text(get, 2));
    assert_false(sql_is_null(get, 3)); /* no bytes are bytes: null has a call of its own */
    assert_int_equal(sql_step(get), 0);
    assert_int_equal(sql_step(get), 1); /* it was reset: from the beginning */
    sql_close(db);                      /* frees what is left of both */
}

static void test_keys(void **state)
{
    struct sql *db = open_db(SQL_WRITE);
    int64_t n = 0;

    (void)state;
    assert_int_equal(sql_exec(db, "CREATE TABLE t(k $KEY PRIMARY KEY)$TABLE;"
                                  "INSERT INTO t VALUES('a'); INSERT INTO t VALUES('A')"),
                     0); /* byte by byte */
    assert_int_equal(sql_exec(db, "INSERT INTO t VALUES('a')"), -EEXIST);
    assert_int_equal(sql_get(db, "SELECT count(*) FROM t", 0, &n), 0);
    assert_int_equal(n, 2);
    sql_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_opening, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_no_database, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_reader, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_values, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_keys, begin_test, end_test),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
