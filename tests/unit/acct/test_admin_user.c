/* test_admin_user.c - users: attached, changed by others and by themselves, renamed and removed */
#include "admin_util.h"

static const struct admin_who alice = { .user = "alice" }, carol = { .user = "carol" },
                              dave = { .user = "dave" };

static const char *default_of(struct office *o, const char *cluster, const char *user)
{
    const char *name = am_default_account(admin_tables(o->admin), cluster, user);

    return name ? name : "-";
}

static void test_add(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "CLUSTER", "'where':{'names':['east']}");
    /* the account named first is the default; clusters that lack one are told of */
    must(&o, "ADD", "USER",
         "'where':{'names':['dave'],'accounts':['physics','science','nowhere']},"
         "'set':{'user':{'admin_level':'ADMIN_OPERATOR'},'wckeys':['red']}");
    assert_string_equal(o.res->names[0], "dave");
    assert_string_equal(default_of(&o, "demo", "dave"), "physics");
    assert_string_equal(default_of(&o, "east", "dave"), "-");
    assert_int_equal(o.res->n_lines, 4);
    assert_string_equal(o.res->lines[0], "No account nowhere on cluster demo, skipping.");
    assert_int_equal(o.res->n_line_at, 4); /* behind the two associations in demo */
    assert_int_equal(o.res->line_at[0], 2);
    assert_string_equal(o.res->lines[1], "No account physics on cluster east, skipping.");
    assert_int_equal(o.res->line_at[1], 2);
    assert_list(&o, "WCKEY", "{'users':['dave']}", "cluster", "demo east");
    assert_list(&o, "USER", "{'admin_level':'ADMIN_OPERATOR'}", "name", "dave");

    /* another default, by name; partitions make an association each */
    must(&o, "ADD", "USER",
         "'where':{'names':['dave'],'accounts':['root'],'partitions':['a','b']},"
         "'set':{'default_account':'root'}");
    assert_string_equal(default_of(&o, "demo", "dave"), "root");
    assert_list(&o, "ASSOC", "{'users':['dave'],'accounts':['root'],'clusters':['demo']}",
                "partition", "a b");
    assert_int_equal(change(&o, "ADD", "USER",
                            "'where':{'names':['dave'],'accounts':['root'],"
                            "'partitions':['b']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    assert_int_equal(change(&o, "ADD", "USER", "'where':{'names':['eve'],'accounts':['nowhere']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    assert_int_equal(change(&o, "ADD", "USER", "'where':{'names':['e\\nve']}"), ESLURM_BAD_NAME);
    close_office(&o);
}

static void test_add_refused(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['physics']}");
    assert_int_equal(
        change_as(&o, &alice, "ADD", "USER", "'where':{'names':['x'],'accounts':['physics']}"),
        ESLURM_ACCESS_DENIED);
    assert_int_equal(
        change_as(&o, &carol, "ADD", "USER", "'where':{'names':['x'],'accounts':['science']}"),
        ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &carol, "ADD", "USER",
                               "'where':{'names':['x'],'accounts':['physics']},"
                               "'set':{'user':{'admin_level':'ADMIN_OPERATOR'}}"),
                     ESLURM_ACCESS_DENIED);
    assert_list(&o, "USER", "", "name", "alice carol root");
    assert_int_equal(
        change_as(&o, &carol, "ADD", "USER", "'where':{'names':['x'],'accounts':['physics']}"), 0);
    close_office(&o);
}

static void test_own_choices(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "QOS", "'where':{'names':['high']}");
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'names':['science']},'set':{'assoc':{'qos_ids':[1,2]}}");
    /* a default QOS among one's own; no list of QOS, no limits, no shares, no other user */
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'assoc':{'default_qos_id':2}}"),
                     0);
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'default_qos_id':2");
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'assoc':{'default_qos_id':9}}"),
                     ESLURM_NO_REMOVE_DEFAULT_QOS);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'assoc':{'qos_added':[2]}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'assoc':{'shares':99}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'clear_qos':true}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'reset_usage':true}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['carol']},'set':{'assoc':{'default_qos_id':1}}"),
                     ESLURM_ACCESS_DENIED);
    must(&o, "ADD", "WCKEY", "'where':{'names':['k'],'users':['alice']}");
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'user':{'default_wckey':'k'}}"),
                     0);
    assert_list(&o, "USER", "{'default_wckeys':['k']}", "name", "alice");
    close_office(&o);
}

static void test_default_account(void **state)
{
    static const struct admin_who free_one = { .user = "root",
                                               .root = true,
                                               .rules = ADMIN_NO_DEFAULT_ACCOUNT };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "USER", "'where':{'names':['alice'],'accounts':['science']}");
    must(&o, "MODIFY", "USER",
         "'where':{'default_accounts':['physics']},'set':{'default_account':'science'}");
    assert_named(&o, "alice");
    assert_string_equal(default_of(&o, "demo", "alice"), "science");
    assert_int_equal(change(&o, "MODIFY", "USER",
                            "'where':{'names':['carol']},'set':{'default_account':'physics'}"),
                     ESLURM_INVALID_ACCOUNT);
    assert_string_equal(o.res->lines[0], "U = carol C = demo");
    assert_string_equal(default_of(&o, "demo", "carol"), "science");
    /* none at all, where the configuration allows that */
    assert_int_equal(
        change(&o, "MODIFY", "USER", "'where':{'names':['carol']},'set':{'default_account':''}"),
        ESLURM_NO_REMOVE_DEFAULT_ACCOUNT);
    assert_int_equal(change_as(&o, &free_one, "MODIFY", "USER",
                               "'where':{'names':['carol']},'set':{'default_account':''}"),
                     0);
    assert_string_equal(default_of(&o, "demo", "carol"), "-");
    close_office(&o);
}

/* Every record that names the user has the new name: associations, wckeys, coordinators. */
static void test_rename(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['physics']}");
    must(&o, "ADD", "WCKEY", "'where':{'names':['red'],'users':['alice']}");
    assert_int_equal(change_as(&o, &alice, "MODIFY", "USER",
                               "'where':{'names':['alice']},'set':{'new_name':'alix'}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(
        change(&o, "MODIFY", "USER", "'where':{'names':['alice']},'set':{'new_name':'carol'}"),
        SLURM_ERROR);
    assert_int_equal(
        change(&o, "MODIFY", "USER", "'where':{'names':['alice']},'set':{'new_name':'a:b'}"),
        ESLURM_BAD_NAME);
    must(&o, "MODIFY", "USER", "'where':{'names':['alice']},'set':{'new_name':'alix'}");
    assert_named(&o, "alice");
    assert_list(&o, "USER", "", "name", "alix carol root");
    assert_list(&o, "ASSOC", "{'users':['alix']}", "account", "physics");
    assert_list(&o, "ASSOC", "{'users':['alice']}", "account", "");
    assert_string_equal(default_of(&o, "demo", "alix"), "physics");
    assert_told(&o, "ACCOUNT", "{'names':['physics']}", "'coordinators':['alix']");
    assert_list(&o, "WCKEY", "", "user", "alix");
    close_office(&o);
}

static void test_delete(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "COORD", "'where':{'users':['alice'],'accounts':['physics']}");
    assert_int_equal(change(&o, "DELETE", "USER", "'where':{'names':['root']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &dave, "DELETE", "USER", "'where':{'names':['alice']}"),
                     ESLURM_ACCESS_DENIED);
    must(&o, "DELETE", "USER", "'where':{'names':['alice']}");
    assert_named(&o, "alice");
    /* younger than a day and without jobs: no trace is left */
    assert_list(&o, "USER", "{'with_deleted':true}", "name", "carol root");
    assert_told(&o, "ACCOUNT", "{'names':['physics']}", "!'coordinators'");
    assert_int_equal(change(&o, "DELETE", "USER", "'where':{'names':['alice']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

static void test_detach(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "USER", "'where':{'names':['alice'],'accounts':['science']}");
    must(&o, "ADD", "COORD", "'where':{'users':['carol'],'accounts':['science']}");
    /* a coordinator detaches within her accounts */
    assert_int_equal(
        change_as(&o, &carol, "DELETE", "USER", "'where':{'names':['root'],'accounts':['root']}"),
        ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &carol, "DELETE", "USER",
                               "'where':{'names':['alice'],'accounts':['science']}"),
                     0);
    assert_int_equal(o.res->n_deleted_names, 0);
    assert_list(&o, "ASSOC", "{'users':['alice']}", "account", "physics");
    /* with the last one the user goes */
    must(&o, "DELETE", "USER", "'where':{'names':['alice'],'accounts':['physics']}");
    assert_int_equal(o.res->n_deleted_names, 1);
    assert_string_equal(o.res->deleted_names[0], "alice");
    assert_list(&o, "USER", "", "name", "carol root");
    close_office(&o);
}

static void test_shares_and_priority(void **state)
{
    struct office o;
    static const char one[] = "{'users':['alice'],'raw_qos':true,'no_inherited_limits':true}";

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'assoc':{'shares':7,'priority':3,'comment':'new'}}");
    assert_told(&o, "ASSOC", one, "'shares':7");
    assert_told(&o, "ASSOC", one, "'priority':3");
    assert_told(&o, "ASSOC", one, "'comment':'new'");
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'assoc':{'shares_parent':true}}");
    assert_told(&o, "ASSOC", one, "'shares_parent':true");
    assert_told(&o, "ASSOC", one, "!'shares':");
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'assoc':{'shares':4294967295,'priority':4294967295,"
         "'comment':''}}");
    assert_told(&o, "ASSOC", one, "!'shares");
    assert_told(&o, "ASSOC", one, "!'priority'");
    assert_told(&o, "ASSOC", one, "!'comment'");
    close_office(&o);
}

/* What is set replaces the account's list of QOS, += and -= change it. */
static void test_qos_lists(void **state)
{
    struct office o;
    static const char raw[] = "{'users':['alice'],'raw_qos':true}";

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "QOS", "'where':{'names':['two','three']}");
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'assoc':{'qos_added':[2,3],'qos_removed':[1]}}");
    assert_told(&o, "ASSOC", raw, "'qos_added':[2,3],'qos_removed':[1]");
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'qos_ids':[2,3]");
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'assoc':{'qos_added':[1],'qos_removed':[3]}}");
    assert_told(&o, "ASSOC", raw, "'qos_added':[1,2],'qos_removed':[3]");
    must(&o, "MODIFY", "USER", "'where':{'names':['alice']},'set':{'assoc':{'qos_ids':[3]}}");
    assert_told(&o, "ASSOC", raw, "'qos_ids':[3]");
    assert_told(&o, "ASSOC", raw, "!'qos_added'");
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'assoc':{'qos_added':[2],'qos_removed':[3]}}");
    assert_told(&o, "ASSOC", raw, "'qos_ids':[2]");
    /* the default must be among them */
    assert_int_equal(change(&o, "MODIFY", "USER",
                            "'where':{'names':['alice']},'set':{'assoc':{'default_qos_id':3}}"),
                     ESLURM_NO_REMOVE_DEFAULT_QOS);
    must(&o, "MODIFY", "USER", "'where':{'names':['alice']},'set':{'assoc':{'default_qos_id':2}}");
    assert_int_equal(
        change(&o, "MODIFY", "USER", "'where':{'names':['alice']},'set':{'clear_qos':true}"),
        ESLURM_NO_REMOVE_DEFAULT_QOS);
    must(&o, "MODIFY", "USER",
         "'where':{'names':['alice']},'set':{'clear_qos':true,'clear_default_qos':true}");
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'qos_ids':[1]");
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_add, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_add_refused, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_own_choices, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_default_account, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_rename, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_delete, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_detach, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_shares_and_priority, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_qos_lists, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
