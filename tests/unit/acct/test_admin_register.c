/* test_admin_register.c - a controller says what its cluster is: at its first start, at each later
 * one, and whenever its connection to slurmdbd is made anew */
#include "admin_util.h"

static int register_as(struct office *o, const char *host, const char *tres)
{
    Pst__AcctClusterRecord c = PST__ACCT_CLUSTER_RECORD__INIT;
    const char *const names[] = { "gres/gpu", tres };
    struct err err = { .text = "" };

    c.name = (char *)"solo"; /* copied, not changed */
    c.control_host = (char *)host;
    SET(&c, control_port, 6817);
    SET(&c, protocol, 11520);
    return admin_register(o->admin, &c, names, tres ? 2 : 1, o->now_us, &err);
}

static const Pst__AcctClusterRecord *record(const struct office *o)
{
    return am_cluster(admin_tables(o->admin), "solo");
}

/* The same again is no change: no new version, which every controller would be sent, and no row
 * among the transactions. */
static void test_again(void **state)
{
    struct office o;
    uint64_t version;

    open_office(&o, *state);
    assert_int_equal(register_as(&o, "10.0.0.1", NULL), 0);
    assert_string_equal(record(&o)->control_host, "10.0.0.1");
    assert_int_equal(record(&o)->control_port, 6817);
    version = admin_version(o.admin);
    o.now_us += 60 * SEC;
    assert_int_equal(register_as(&o, "10.0.0.1", NULL), 0);
    assert_int_equal(admin_version(o.admin), version);
    /* what is new is taken */
    assert_int_equal(register_as(&o, "10.0.0.2", NULL), 0);
    assert_string_equal(record(&o)->control_host, "10.0.0.2");
    assert_true(record(&o)->modified_us == o.now_us);
    assert_true(admin_version(o.admin) > version);
    version = admin_version(o.admin);
    assert_int_equal(register_as(&o, "10.0.0.2", "license/ansys"), 0);
    assert_int_not_equal(am_tres_id(admin_tables(o.admin), "license/ansys"), 0);
    assert_true(admin_version(o.admin) > version);
    close_office(&o);
}

/* A cluster that was deleted, and whose controller runs all the same, is there again. */
static void test_deleted(void **state)
{
    struct office o;

    open_office(&o, *state);
    assert_int_equal(register_as(&o, "10.0.0.1", NULL), 0);
    assert_int_equal(change(&o, "DELETE", "CLUSTER", "'where':{'names':['solo']}"), 0);
    assert_true(!record(&o) || record(&o)->deleted);
    assert_int_equal(register_as(&o, "10.0.0.1", NULL), 0);
    assert_non_null(record(&o));
    assert_false(record(&o)->deleted);
    assert_string_equal(record(&o)->control_host, "10.0.0.1");
    assert_non_null(am_find(admin_tables(o.admin), "solo", "root", "root", NULL));
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_again, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_deleted, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
