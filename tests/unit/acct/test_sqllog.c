/* test_sqllog.c - which statements DebugFlags of slurmdbd.conf logs, under which word */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acct/sql/sql.h"
#include "acct/sql/sqllog.h"
#include "logfile_util.h"

/* Words of slurmdbd.conf, a statement, and how its line begins; NULL: no line. */
static const struct {
    const char *flags, *text, *line;
} rows[] = {
    { NULL, "DELETE FROM jobs", NULL },
    { "DB_QUERY", "SELECT 1", "] DB_QUERY: SELECT 1\n" },
    { "db_query", "SELECT 1", "] DB_QUERY: SELECT 1\n" },
    { "DB_ARCHIVE", "DELETE FROM jobs WHERE run=?",
      "] DB_ARCHIVE: DELETE FROM jobs WHERE run=?\n" },
    { "DB_ARCHIVE", "SELECT run FROM jobs", NULL },
    { "DB_JOB", "SELECT run FROM jobs", "] DB_JOB: SELECT run FROM jobs\n" },
    { "DB_JOB", "SELECT at FROM suspensions", "] DB_JOB: SELECT at FROM suspensions\n" },
    { "DB_JOB", "SELECT run FROM steps", NULL },
    { "DB_STEP", "SELECT run FROM steps", "] DB_STEP: SELECT run FROM steps\n" },
    { "DB_EVENT", "REPLACE INTO events", "] DB_EVENT: REPLACE INTO events\n" },
    { "DB_EVENT", "SELECT a FROM nodes", "] DB_EVENT: SELECT a FROM nodes\n" },
    { "DB_RESERVATION", "SELECT a FROM usage_resv",
      "] DB_RESERVATION: SELECT a FROM usage_resv\n" },
    { "DB_USAGE", "SELECT a FROM usage_hour", "] DB_USAGE: SELECT a FROM usage_hour\n" },
    { "DB_TRES", "SELECT a FROM usage_tres", "] DB_TRES: SELECT a FROM usage_tres\n" },
    { "DB_ASSOC", "SELECT a FROM txns", "] DB_ASSOC: SELECT a FROM txns\n" },
    { "DB_QOS", "SELECT a FROM txns", NULL },
    { "DB_QOS", "SELECT a FROM entities", "] DB_QOS: SELECT a FROM entities\n" },
    { "DB_RESOURCE", "SELECT a FROM entities", "] DB_RESOURCE: SELECT a FROM entities\n" },
    { "DB_WCKEY", "SELECT a FROM entities", "] DB_WCKEY: SELECT a FROM entities\n" },
    { "AuditRPCs,Protocol", "SELECT a FROM entities", NULL },
    { "DB_STEP,DB_EVENT", "SELECT a FROM events", "] DB_EVENT: SELECT a FROM events\n" },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = NULL;

        logflags_set(rows[i].flags);
        sqllog_statement(rows[i].text);
        text = logfile_take();
        if (rows[i].line ? !strstr(text, rows[i].line) : text[0])
            fail_msg("row %zu: %s", i, text);
    }
}

/* However many subjects mean it. */
static void test_once(void **state)
{
    _cleanup_free_ char *text = NULL;

    (void)state;
    logflags_set("DB_ASSOC,DB_QOS,DB_QUERY,DB_TRES,DB_WCKEY");
    sqllog_statement("SELECT a FROM entities");
    text = logfile_take();
    assert_non_null(strstr(text, "] DB_QUERY: "));
    assert_ptr_equal(strchr(text, '\n') + 1, strchr(text, '\0'));
}

/* Statements of a database, as it gets them: each run of a prepared one, without its parameters,
 * and while the subject is on. */
static void test_database(void **state)
{
    _cleanup_(sql_close) struct sql *db = NULL;
    _cleanup_free_ char *first = NULL, *second = NULL, *third = NULL;
    char file[] = "/tmp/test_sqllog.db.XXXXXX";
    struct sql_stmt *stmt;
    int fd = mkstemp(file);

    (void)state;
    assert_true(fd >= 0 && close(fd) == 0);
    logflags_set("DB_JOB");
    assert_int_equal(sql_open(file, SQL_WRITE, &db, NULL), 0);
    assert_int_equal(sql_exec(db, "CREATE TABLE jobs (a $INT)"), 0);
    first = logfile_take();
    assert_non_null(strstr(first, "] DB_JOB: CREATE TABLE jobs (a INTEGER)\n"));
    assert_int_equal(sql_prepare(db, "INSERT INTO jobs VALUES (?)", &stmt), 0);
    for (int64_t a = 1234567; a < 1234569; a++) {
        sql_bind(stmt, 0, a);
        assert_int_equal(sql_run(stmt), 0);
    }
    second = logfile_take();
    assert_non_null(strstr(second, "] DB_JOB: INSERT INTO jobs VALUES (?)\n"));
    assert_non_null(strstr(strchr(second, '\n'), "] DB_JOB: INSERT INTO jobs VALUES (?)\n"));
    assert_null(strstr(second, "1234567"));
    logflags_set(NULL);
    sql_bind(stmt, 0, 3);
    assert_int_equal(sql_run(stmt), 0);
    third = logfile_take();
    assert_string_equal(third, "");
    assert_int_equal(unlink(file), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_database),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, logfile_open, logfile_close);
}
