/* test_sql.c - statements, types and transactions, with either engine (see acct_util.h) */
#include "acct_util.h"

#include "sql_cases.h"

static void test_types(void **state)
{
    check_types(*state);
}

static void test_transactions(void **state)
{
    check_transactions(*state);
}

static void test_cancel(void **state)
{
    check_cancel(*state);
}

static void test_locations(void **state)
{
    struct sql_server server = {
        .host = "/tmp/no such:socket%", .user = "u", .pass = "p:q%", .database = "d"
    };
    struct err err = { .text = "" };
    char *location = NULL;
    struct sql *db;
    int r;

    (void)state;
    assert_int_equal(sql_mysql_location(&server, &location), 0);
    assert_string_equal(location, "mysql:/tmp/no such%3asocket%25:0:u:p%3aq%25:d");
    assert_int_equal(sql_location_engine(location), SQL_MYSQL);
    assert_int_equal(sql_location_engine("/var/lib/a.db"), SQL_SQLITE);
    r = sql_open(location, SQL_WRITE, &db, &err);
    assert_true(r == -ECONNREFUSED || r == -ELIBACC);
    assert_non_null(strstr(err.text, "accounting: "));
    assert_null(strstr(err.text, "p:q"));
    free(location);
    assert_int_equal(sql_open("mysql:h:1", SQL_WRITE, &db, &err), -EINVAL);
    assert_int_equal(sql_open("mysql:h:1:u:p:a`b", SQL_WRITE, &db, &err), -EINVAL);
    assert_int_equal(sql_open("/nowhere/a.db", SQL_READ, &db, &err), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_types, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_transactions, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_cancel, world_setup, world_teardown),
        cmocka_unit_test(test_locations),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
