/* test_instances.c - periods of instances: begun, changed, ended; what is no instance */
#include "acct_util.h"

#include "acct/instances.h"
#include "acct/sql/db.h"
#include "base/strbuf.h"

static Pst__NodeRecord node(const char *id, const char *type, const char *extra)
{
    Pst__NodeRecord r = PST__NODE_RECORD__INIT;

    r.name = (char *)"n1";
    r.instance_id = (char *)id;
    r.instance_type = (char *)type;
    r.extra = (char *)extra;
    return r;
}

static void expect_rows(struct sql *db, const char *want)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    assert_int_equal(sql_prepare(db,
                                 "SELECT start_us, end_us, instance_id, instance_type, extra "
                                 "FROM instances WHERE source=7 AND node='n1' ORDER BY start_us",
                                 &stmt),
                     0);
    while (sql_step(stmt) > 0) {
        int64_t end = sql_int(stmt, 1);

        strbuf_addf(&sb, "%lld-%lld:", (long long)sql_int(stmt, 0),
                    end == INT64_MAX ? 0LL : (long long)end);
        for (unsigned i = 2; i < 5; i++)
            strbuf_addf(&sb, "%s,", sql_text(stmt, i) ? sql_text(stmt, i) : "");
        strbuf_addc(&sb, ';');
    }
    assert_string_equal(strbuf_str(&sb), want);
}

static void test_periods(void **state)
{
    char dir[] = "/tmp/test_instances-XXXXXX", path[64];
    Pst__NodeRecord plain = node(NULL, "", "x"), a = node("i-1", NULL, NULL),
                    b = node("i-1", NULL, "x"), c = node("i-2", "t", "x");
    struct instances in = { 0 };
    struct err err = { .text = "" };
    struct sql *db;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/a.db", dir);
    assert_int_equal(acct_db_open(path, &db, &err), 0);
    assert_int_equal(instances_note(&in, db, 7, NULL, &plain, 1), 0);
    expect_rows(db, "");
    assert_int_equal(instances_note(&in, db, 7, &plain, &a, 2), 0);
    assert_int_equal(instances_note(&in, db, 7, &a, &a, 3), 0);
    expect_rows(db, "2-0:i-1,,,;");
    assert_int_equal(instances_note(&in, db, 7, &a, &b, 4), 0);
    assert_int_equal(instances_note(&in, db, 7, &b, &c, 5), 0);
    expect_rows(db, "2-4:i-1,,,;4-5:i-1,,x,;5-0:i-2,t,x,;");
    assert_int_equal(instances_note(&in, db, 7, &c, NULL, 6), 0);
    expect_rows(db, "2-4:i-1,,,;4-5:i-1,,x,;5-6:i-2,t,x,;");
    (void)sql_free(in.open);
    (void)sql_free(in.close);
    (void)sql_close(db);
    remove_tree(AT_FDCWD, dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_periods) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
