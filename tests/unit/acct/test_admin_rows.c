/* test_admin_rows.c - lists from rows of the store, the QOS that new clusters begin with, keys of
 * users, and fields of many jobs at once */
#include "admin_util.h"

#include "acct/admin/admin_sight.h"

static void exec(struct office *o, const char *text)
{
    if (sql_exec(o->db, text) < 0)
        fail_msg("%s: %s", text, sql_error(o->db));
}

/* ---- instances ------------------------------------------------------------------------------- */

static void test_instances(void **state)
{
    struct office o;

    open_office(&o, *state);
    exec(&o, "INSERT INTO sources VALUES(7, 'cloud', 'u', 0, 0, 0, 0)");
    exec(&o, "INSERT INTO instances VALUES(7, 'n1', 1000000, 2000000, 'i-1', 'small', 'red')");
    exec(&o, "INSERT INTO instances VALUES(7, 'n1', 3000000, 9223372036854775807, 'i-2', 'large', "
             "NULL)");
    exec(&o, "INSERT INTO instances VALUES(7, 'n2', 3000000, 9223372036854775807, 'i-3', 'small', "
             "'blue')");
    assert_list(&o, "INSTANCE", "", "instance_id", "i-1 i-2 i-3");
    assert_list(&o, "INSTANCE", "{'nodes':['n1']}", "instance_id", "i-1 i-2");
    assert_list(&o, "INSTANCE", "{'instance_ids':['i-3','i-1']}", "node", "n1 n2");
    assert_list(&o, "INSTANCE", "{'instance_types':['large']}", "instance_id", "i-2");
    assert_list(&o, "INSTANCE", "{'extras':['blue']}", "instance_id", "i-3");
    assert_list(&o, "INSTANCE", "{'extras':['blue','green'],'nodes':['n1']}", "instance_id", "");
    assert_list(&o, "INSTANCE", "{'clusters':['elsewhere']}", "instance_id", "");
    assert_list(&o, "INSTANCE", "{'start_us':2500000}", "instance_id", "i-2 i-3");
    assert_list(&o, "INSTANCE", "{'end_us':2500000}", "instance_id", "i-1");
    assert_told(&o, "INSTANCE", "{'instance_ids':['i-1']}", "'end_us':2000000");
    assert_told(&o, "INSTANCE", "{'instance_ids':['i-2']}", "!'end_us'"); /* it is there still */
    close_office(&o);
}

/* ---- the QOS of new clusters ----------------------------------------------------------------- */

static void register_cluster(struct office *o, const char *name)
{
    Pst__AcctClusterRecord c = PST__ACCT_CLUSTER_RECORD__INIT;
    struct err err = { .text = "" };

    c.name = (char *)name; /* copied, not changed */
    c.control_host = (char *)"127.0.0.1";
    assert_int_equal(admin_register(o->admin, &c, NULL, 0, o->now_us, &err), 0);
}

static void test_default_qos(void **state)
{
    struct err err = { .text = "" };
    struct office o;

    open_office(&o, *state);
    assert_list(&o, "QOS", "", "name", "normal");
    assert_int_equal(admin_default_qos(o.admin, "High, normal,low", o.now_us, &err), 0);
    assert_list(&o, "QOS", "", "name", "normal high low"); /* in lower case, made where needed */
    assert_told(&o, "QOS", "{'names':['low']}", "'description':'Added as default'");
    assert_int_equal(admin_default_qos(o.admin, "high,low", o.now_us, &err), 0);
    assert_list(&o, "QOS", "", "name", "normal high low"); /* none is made twice */
    register_cluster(&o, "second");
    assert_told(&o, "ASSOC", "{'clusters':['second']}", "'qos_ids':[2,3]");
    assert_told(&o, "ASSOC", "{'clusters':['demo']}", "!'qos_ids':[2,3]"); /* it was there before */
    assert_int_equal(admin_default_qos(o.admin, NULL, o.now_us, &err), 0);
    register_cluster(&o, "third");
    assert_told(&o, "ASSOC", "{'clusters':['third']}", "!'qos_ids':[2,3]");
    close_office(&o);
}

/* ---- keys of users --------------------------------------------------------------------------- */

static void test_user_wckeys(void **state)
{
    static const struct admin_who carol = { .user = "carol" };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "WCKEY", "'where':{'names':['red','blue'],'users':['alice']}");
    assert_list(&o, "WCKEY", "", "name", "red blue");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    /* a coordinator has accounts, and no keys */
    assert_int_equal(
        change_as(&o, &carol, "DELETE", "USER", "'where':{'names':['alice'],'wckeys':['red']}"),
        ESLURM_ACCESS_DENIED);
    assert_int_equal(
        change_as(&o, &nobody, "DELETE", "USER", "'where':{'names':['alice'],'wckeys':['red']}"),
        ESLURM_ACCESS_DENIED);
    assert_list(&o, "WCKEY", "", "name", "red blue");
    must(&o, "DELETE", "USER", "'where':{'names':['alice'],'wckeys':['red']}");
    assert_list(&o, "WCKEY", "", "name", "blue");
    assert_list(&o, "USER", "{'names':['alice']}", "name", "alice"); /* the user stays */
    assert_int_equal(change(&o, "DELETE", "USER", "'where':{'names':['bob'],'wckeys':['blue']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

/* Of a user who is in accounts of others too a coordinator deletes nothing. */
static void test_coordinator_deletes(void **state)
{
    static const struct admin_who carol = { .user = "carol" };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    must(&o, "ADD", "ACCOUNT", "'where':{'names':['arts']}");
    must(&o, "ADD", "USER", "'where':{'names':['dave'],'accounts':['physics','arts']}");
    assert_int_equal(change_as(&o, &carol, "DELETE", "USER", "'where':{'names':['dave']}"),
                     ESLURM_ACCESS_DENIED);
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'user':{'admin_level':'ADMIN_OPERATOR'}}");
    assert_int_equal(change_as(&o, &carol, "DELETE", "USER", "'where':{'names':['alice']}"),
                     ESLURM_ACCESS_DENIED);
    /* nor by the last of his associations, with which his record goes */
    assert_int_equal(change_as(&o, &carol, "DELETE", "USER",
                               "'where':{'names':['alice'],'accounts':['physics']}"),
                     ESLURM_ACCESS_DENIED);
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'user':{'admin_level':'ADMIN_NONE'}}");
    assert_int_equal(change_as(&o, &carol, "DELETE", "USER", "'where':{'names':['alice']}"), 0);
    assert_list(&o, "USER", "{'names':['alice','dave']}", "name", "dave");
    close_office(&o);
}

/* ---- sight ----------------------------------------------------------------------------------- */

static void test_sight(void **state)
{
    static const struct admin_who carol = { .user = "carol" };
    struct admin_sight sight;
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    assert_int_equal(admin_sight(o.admin, &root_user, &sight), 0);
    assert_true(sight.all);
    admin_sight_done(&sight);
    assert_int_equal(admin_sight(o.admin, &carol, &sight), 0);
    assert_false(sight.all);
    assert_int_equal(sight.n, 0);
    admin_sight_done(&sight);
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    assert_int_equal(admin_sight(o.admin, &carol, &sight), 0);
    assert_int_equal(sight.n, 2); /* with what is below it */
    admin_sight_done(&sight);
    assert_int_equal(admin_sight(o.admin, &nobody, &sight), 0);
    assert_false(sight.all || sight.n);
    admin_sight_done(&sight);
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_instances, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_default_qos, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_user_wckeys, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_coordinator_deletes, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_sight, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
