/* test_sql_mysql.c - statements to a MariaDB server: the cases of both engines, and what only a
 * server can do, such as to be locked, full of quotes, or gone */
#include "acct_util.h"
#include "maria_util.h"
#include "sql_cases.h"

#include <pthread.h>

#include "acct/sql/db.h"
#include "base/timefmt.h"

static struct maria_server server;

static int start_server(void **state)
{
    (void)state;
    if (!maria_start(&server))
        print_message("# no mariadb-install-db and mariadbd here: nothing to test\n");
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    if (server.pid > 0)
        maria_stop(&server);
    return 0;
}

static int server_world(void **state)
{
    return server.pid > 0 ? world_setup(state) : 0;
}

static int leave_world(void **state)
{
    return *state ? world_teardown(state) : 0;
}

#define NEEDS_SERVER()                                                                             \
    do {                                                                                           \
        if (!*state)                                                                               \
            skip();                                                                                \
    } while (0)

static void test_types(void **state)
{
    NEEDS_SERVER();
    check_types(*state);
}

static void test_transactions(void **state)
{
    NEEDS_SERVER();
    check_transactions(*state);
}

static void test_cancel(void **state)
{
    NEEDS_SERVER();
    check_cancel(*state);
}

/* Decimals (sums), integers and reals are taken as what the caller asks for. */
static void test_numbers(void **state)
{
    struct sql *db;
    struct sql_stmt *stmt = NULL;

    NEEDS_SERVER();
    db = open_plain(*state);
    assert_int_equal(sql_prepare(db,
                                 "SELECT CAST(12.75 AS DECIMAL(10,2)), CAST(7.5 AS DOUBLE), 9,"
                                 " NULL, CAST(NULL AS DOUBLE)",
                                 &stmt),
                     0);
    assert_int_equal(sql_step(stmt), 1);
    assert_int_equal(sql_int(stmt, 0), 12);
    assert_true(sql_real(stmt, 0) > 12.74 && sql_real(stmt, 0) < 12.76);
    assert_int_equal(sql_int(stmt, 1), 7);
    assert_true(sql_real(stmt, 1) > 7.4 && sql_real(stmt, 1) < 7.6);
    assert_int_equal(sql_int(stmt, 2), 9);
    assert_true(sql_real(stmt, 2) > 8.9 && sql_real(stmt, 2) < 9.1);
    assert_null(sql_text(stmt, 2)); /* no text */
    for (unsigned i = 3; i < 5; i++) {
        assert_true(sql_is_null(stmt, i));
        assert_int_equal(sql_int(stmt, i), 0);
        assert_true(sql_real(stmt, i) == 0);
        assert_null(sql_text(stmt, i));
    }
    assert_int_equal(sql_step(stmt), 0);
    assert_null(sql_close(db));
}

/* A column grows with what comes, more than once. */
static void test_long_columns(void **state)
{
    static const size_t lengths[] = { 10, 256, 257, 5000, 3, 200000 };
    struct sql *db;
    struct sql_stmt *put = NULL, *get = NULL;
    char *text = malloc(200001), key[8];

    assert_non_null(text);
    if (!*state)
        free(text);
    NEEDS_SERVER();
    db = open_plain(*state);
    assert_int_equal(sql_prepare(db, "REPLACE INTO t(k, s) VALUES(?, ?)", &put), 0);
    memset(text, 'x', 200000);
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        text[lengths[i]] = '\0';
        (void)snprintf(key, sizeof(key), "l%zu", i);
        sql_bind_text(put, 0, key);
        sql_bind_text(put, 1, text);
        assert_int_equal(sql_run(put), 0);
        text[lengths[i]] = 'x';
    }
    assert_int_equal(sql_prepare(db, "SELECT s FROM t WHERE k LIKE 'l%' ORDER BY k", &get), 0);
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        assert_int_equal(sql_step(get), 1);
        assert_int_equal(strlen(sql_text(get, 0)), lengths[i]);
    }
    assert_int_equal(sql_step(get), 0);
    free(text);
    assert_null(sql_close(db));
}

static void test_locked(void **state)
{
    struct sql *db, *other = NULL;
    struct world *w = *state;

    NEEDS_SERVER();
    db = open_plain(w);
    assert_int_equal(sql_open(w->db, SQL_WRITE, &other, NULL), 0);
    assert_int_equal(sql_begin(db), 0);
    assert_int_equal(sql_exec(db, "UPDATE t SET i=5 WHERE k='z'"), 0);
    assert_int_equal(sql_exec(other, "UPDATE t SET i=6 WHERE k='z'"), -EBUSY);
    assert_int_not_equal(sql_error(other)[0], '\0');
    sql_rollback(db);
    assert_int_equal(sql_exec(other, "UPDATE t SET i=6 WHERE k='z'"), 0);
    assert_null(sql_close(other));
    assert_null(sql_close(db));
}

static void test_mistakes(void **state)
{
    struct sql *db;
    struct sql_stmt *stmt = NULL;

    NEEDS_SERVER();
    db = open_plain(*state);
    assert_int_equal(sql_prepare(db, "SELECT nothing FROM nowhere", &stmt), -EIO);
    assert_null(stmt);
    assert_int_equal(sql_exec(db, "SELECT 1; SELECT 'a;b'; INSERT INTO t(k) VALUES('z')"), -EEXIST);
    assert_int_equal(sql_prepare(db, "INSERT INTO t(k) VALUES(?)", &stmt), 0);
    sql_bind_text(stmt, 0, "z");
    assert_int_equal(sql_run(stmt), -EEXIST);
    sql_bind_null(stmt, 0); /* of a key that must be there */
    assert_true(sql_run(stmt) < 0);
    sql_bind_text(stmt, 0, "new");
    assert_int_equal(sql_run(stmt), 0);
    assert_int_equal(sql_begin_read(db), 0);
    assert_true(sql_exec(db, "DELETE FROM t") < 0); /* a transaction that only reads */
    sql_rollback(db);
    assert_null(sql_close(db));
}

/* Rights of the server, and its databases. */
static void test_rights(void **state)
{
    struct world *w = *state;
    struct err err = { .text = "" };
    char location[256];
    struct sql *db, *poor = NULL;

    NEEDS_SERVER();
    db = open_plain(w);
    assert_int_equal(sql_exec(db, "CREATE USER poor@localhost IDENTIFIED BY 'se:cret'"), 0);
    (void)snprintf(location, sizeof(location), "mysql:%s:0:poor:wrong:%s", server.socket,
                   w->schema);
    assert_int_equal(sql_open(location, SQL_WRITE, &poor, &err), -EACCES);
    assert_null(strstr(err.text, "wrong")); /* no password in messages */
    (void)snprintf(location, sizeof(location), "mysql:%s:0:poor:se%%3acret:%s", server.socket,
                   w->schema);
    assert_int_equal(sql_open(location, SQL_WRITE, &poor, &err), -EACCES); /* not this database */
    (void)snprintf(location, sizeof(location), "GRANT SELECT ON %s.* TO poor@localhost", w->schema);
    assert_int_equal(sql_exec(db, location), 0);
    (void)snprintf(location, sizeof(location), "mysql:%s:0:poor:se%%3acret:%s", server.socket,
                   w->schema);
    assert_int_equal(sql_open(location, SQL_READ, &poor, &err), 0);
    assert_int_equal(sql_exec(poor, "DELETE FROM t"), -EACCES);
    assert_null(sql_close(poor));
    (void)snprintf(location, sizeof(location), "mysql:%s:0:root::no_such_one", server.socket);
    assert_true(sql_open(location, SQL_READ, &poor, &err) < 0); /* a reader makes none */
    assert_int_equal(sql_exec(db, "DROP USER poor@localhost"), 0);
    assert_null(sql_close(db));
}

/* The tables are made once, and a newer release's are left alone. */
static void test_schema(void **state)
{
    struct world *w = *state;
    struct err err = { .text = "" };
    struct sql *db = NULL;
    int64_t version = 0;

    NEEDS_SERVER();
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(acct_db_open(w->db, &db, &err), 0);
        assert_null(sql_close(db));
    }
    assert_int_equal(acct_db_open_reader(w->db, &db, &err), 0);
    assert_int_equal(sql_get(db, "SELECT version FROM parts WHERE name='jobs'", 0, &version), 0);
    assert_true(version > 0);
    assert_null(sql_close(db));
    assert_int_equal(acct_db_open(w->db, &db, &err), 0);
    assert_int_equal(sql_exec(db, "UPDATE parts SET version=version+1 WHERE name='jobs'"), 0);
    assert_null(sql_close(db));
    assert_int_equal(acct_db_open(w->db, &db, &err), -EPROTONOSUPPORT);
    assert_non_null(strstr(err.text, "newer release"));
}

static void *ask_long(void *arg)
{
    return (void *)(intptr_t)sql_exec(arg, "SELECT SLEEP(100)");
}

/* Who waits for the server goes on with an error; none is opened until it is allowed again. */
static void test_hang_up(void **state)
{
    struct world *w = *state;
    struct sql *db, *other = NULL;
    struct err err = { .text = "" };
    int64_t running = 0, began = now_mono_us();
    pthread_t thread;
    void *r;

    NEEDS_SERVER();
    db = open_plain(w);
    assert_int_equal(sql_open(w->db, SQL_READ, &other, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, ask_long, other), 0);
    while (!running)
        assert_int_equal(sql_get(db,
                                 "SELECT count(*) FROM information_schema.processlist"
                                 " WHERE info='SELECT SLEEP(100)'",
                                 0, &running),
                         0);
    sql_hang_up(true);
    assert_int_equal(pthread_join(thread, &r), 0);
    assert_int_equal((intptr_t)r, -ENOTCONN);
    assert_true(now_mono_us() - began < 60 * USEC_PER_SEC);
    assert_int_equal(sql_exec(db, "SELECT 1"), -ENOTCONN);
    assert_null(sql_close(other));
    assert_int_equal(sql_open(w->db, SQL_ASK, &other, &err), -ENOTCONN);
    assert_non_null(strstr(err.text, "the connections were ended"));
    sql_hang_up(false);
    assert_int_equal(sql_open(w->db, SQL_ASK, &other, NULL), 0);
    assert_int_equal(sql_exec(other, "SELECT 1"), 0);
    assert_null(sql_close(db));
    assert_null(sql_close(other));
}

/* The last one: the server goes away under a connection. */
static void test_gone(void **state)
{
    struct world *w = *state;
    struct sql *db, *other = NULL;
    struct sql_stmt *stmt = NULL;
    struct err err = { .text = "" };
    int64_t id = 0;
    char text[64];

    NEEDS_SERVER();
    db = open_plain(w);
    assert_int_equal(sql_open(w->db, SQL_WRITE, &other, NULL), 0);
    assert_int_equal(sql_prepare(other, "SELECT k FROM t", &stmt), 0);
    assert_int_equal(sql_get(other, "SELECT connection_id()", 0, &id), 0);
    (void)snprintf(text, sizeof(text), "KILL %lld", (long long)id);
    assert_int_equal(sql_exec(db, text), 0);
    assert_int_equal(sql_step(stmt), -ENOTCONN);
    assert_int_equal(sql_exec(other, "SELECT 1"), -ENOTCONN);
    assert_null(sql_close(other));
    (void)kill(server.pid, SIGKILL);
    (void)waitpid(server.pid, NULL, 0);
    server.pid = 0;
    assert_int_equal(sql_exec(db, "SELECT 1"), -ENOTCONN);
    assert_null(sql_close(db));
    assert_int_equal(sql_open(w->db, SQL_WRITE, &db, &err), -ECONNREFUSED);
    remove_tree(AT_FDCWD, server.dir);
}

int main(void)
{
#define ON_SERVER(fn) cmocka_unit_test_setup_teardown(fn, server_world, leave_world)
    const struct CMUnitTest tests[] = {
        ON_SERVER(test_types),    ON_SERVER(test_transactions), ON_SERVER(test_cancel),
        ON_SERVER(test_numbers),  ON_SERVER(test_long_columns), ON_SERVER(test_locked),
        ON_SERVER(test_mistakes), ON_SERVER(test_rights),       ON_SERVER(test_schema),
        ON_SERVER(test_hang_up),  ON_SERVER(test_gone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
