/* test_admin_misc.c - clusters, wckeys and remote licences: made, changed and removed */
#include "admin_util.h"

static const struct admin_who operator_ = { .user = "op" };

static void make_operator(struct office *o)
{
    must(o, "ADD", "USER", "'where':{'names':['op']}");
    must(o, "MODIFY", "USER",
         "'where':{'names':['op']},'set':{'user':{'admin_level':'ADMIN_OPERATOR'}}");
}

/* ---- clusters -------------------------------------------------------------------------------- */

static void test_cluster_add(void **state)
{
    struct office o;

    open_office(&o, *state);
    must(&o, "ADD", "CLUSTER",
         "'where':{'names':['east','demo','west']},'set':{'cluster':{'classification':2},"
         "'assoc':{'limits':{'grp_jobs':7}}}");
    assert_named(&o, "east west"); /* demo is there */
    assert_list(&o, "CLUSTER", "", "name", "demo east west");
    assert_told(&o, "CLUSTER", "{'names':['east']}", "'classification':2");
    /* each has the account root and the user root in it */
    assert_list(&o, "ASSOC", "{'clusters':['east']}", "account", "root root");
    assert_list(&o, "ASSOC", "{'clusters':['east']}", "user", "- root");
    assert_told(&o, "ASSOC", "{'clusters':['west'],'no_users':true}", "'grp_jobs':7");
    assert_told(&o, "ASSOC", "{'clusters':['west'],'no_users':true,'raw_qos':true}",
                "'qos_ids':[1]");
    assert_int_equal(change(&o, "ADD", "CLUSTER", "'where':{'names':['east']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    assert_int_equal(change(&o, "ADD", "CLUSTER", "'where':{'names':['a/b']}"), ESLURM_BAD_NAME);
    close_office(&o);
}

static void test_cluster_rights(void **state)
{
    struct office o;

    open_office(&o, *state);
    make_operator(&o);
    assert_int_equal(change_as(&o, &operator_, "ADD", "CLUSTER", "'where':{'names':['x']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &nobody, "MODIFY", "CLUSTER",
                               "'where':{'names':['demo']},'set':{'cluster':{'flags':1}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &operator_, "DELETE", "CLUSTER", "'where':{'names':['demo']}"),
                     ESLURM_ACCESS_DENIED);
    assert_list(&o, "CLUSTER", "", "name", "demo");
    close_office(&o);
}

static void test_cluster_modify(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "MODIFY", "CLUSTER",
         "'where':{'names':['demo']},'set':{'cluster':{'classification':3},"
         "'assoc':{'limits':{'max_jobs':4}}}");
    assert_named(&o, "demo");
    assert_told(&o, "CLUSTER", "", "'classification':3");
    assert_told(&o, "CLUSTER", "", "'control_host':'127.0.0.1'"); /* what is not named stays */
    /* the limit is that of the cluster's root, and inherited from there */
    assert_told(&o, "ASSOC", "{'users':['alice']}", "'max_jobs':4");
    assert_int_equal(change(&o, "MODIFY", "CLUSTER",
                            "'where':{'names':['other']},'set':{'cluster':{'classification':1}}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

static void test_cluster_delete(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "CLUSTER", "'where':{'names':['east']}");
    must(&o, "ADD", "WCKEY", "'where':{'names':['red'],'users':['alice']}");
    assert_list(&o, "WCKEY", "", "cluster", "demo east");
    must(&o, "DELETE", "CLUSTER", "'where':{'names':['demo']}");
    assert_named(&o, "demo");
    assert_list(&o, "CLUSTER", "", "name", "east");
    assert_list(&o, "CLUSTER", "{'with_deleted':true}", "name", "demo east");
    assert_list(&o, "ASSOC", "{'users':['alice']}", "account", "");
    assert_list(&o, "WCKEY", "", "cluster", "east");
    assert_int_equal(change(&o, "DELETE", "CLUSTER", "'where':{'names':['demo']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    /* and comes back */
    must(&o, "ADD", "CLUSTER", "'where':{'names':['demo']}");
    assert_list(&o, "CLUSTER", "", "name", "demo east");
    assert_list(&o, "ASSOC", "{'clusters':['demo']}", "account", "root root");
    close_office(&o);
}

/* ---- wckeys ---------------------------------------------------------------------------------- */

static const char *default_key(struct office *o, const char *cluster, const char *user)
{
    const char *name = am_default_wckey(admin_tables(o->admin), cluster, user);

    return name ? name : "-";
}

static void test_wckeys(void **state)
{
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "WCKEY", "'where':{'names':['red','blue'],'users':['alice','carol']}");
    assert_list(&o, "WCKEY", "{'users':['alice']}", "name", "red blue");
    assert_string_equal(default_key(&o, "demo", "alice"), "red"); /* the first */
    must(&o, "ADD", "WCKEY",
         "'where':{'names':['green'],'users':['alice']},'set':{'user':{'default_wckey':'green'}}");
    assert_string_equal(default_key(&o, "demo", "alice"), "green");
    must(&o, "MODIFY", "WCKEY",
         "'where':{'names':['blue'],'users':['alice']},'set':{'user':{'default_wckey':'blue'}}");
    assert_named(&o, "blue");
    assert_string_equal(default_key(&o, "demo", "alice"), "blue");
    assert_string_equal(default_key(&o, "demo", "carol"), "red"); /* others keep theirs */
    assert_list(&o, "WCKEY", "{'only_defaults':true}", "name", "blue red");

    must(&o, "DELETE", "WCKEY", "'where':{'names':['red','blue'],'users':['alice']}");
    assert_named(&o, "red blue");
    assert_list(&o, "WCKEY", "{'users':['alice']}", "name", "green");
    assert_list(&o, "WCKEY", "{'users':['alice'],'with_deleted':true}", "name", "red blue green");
    assert_int_equal(change(&o, "DELETE", "WCKEY", "'where':{'names':['red'],'users':['alice']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

static void test_wckey_refused(void **state)
{
    static const struct admin_who alice = { .user = "alice" };
    struct office o;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "WCKEY", "'where':{'names':['red'],'users':['carol']}");
    assert_int_equal(
        change_as(&o, &alice, "ADD", "WCKEY", "'where':{'names':['x'],'users':['alice']}"),
        ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &alice, "DELETE", "WCKEY", "'where':{'names':['red']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change(&o, "ADD", "WCKEY",
                            "'where':{'names':['x'],'users':['alice'],'clusters':['nowhere']}"),
                     ESLURM_INVALID_CLUSTER_NAME);
    assert_list(&o, "WCKEY", "", "name", "red");
    close_office(&o);
}

/* ---- remote licences ------------------------------------------------------------------------- */

static void test_resource_add(void **state)
{
    struct office o;

    open_office(&o, *state);
    must(&o, "ADD", "CLUSTER", "'where':{'names':['east']}");
    must(&o, "ADD", "RESOURCE",
         "'where':{'names':['matlab'],'clusters':['demo']},"
         "'set':{'resource':{'server':'flex','count':50},'allowed':60}");
    assert_named(&o, "matlab@flex");
    assert_told(&o, "RESOURCE", "", "'description':'matlab'"); /* where none is given */
    assert_told(&o, "RESOURCE", "", "'shares':[{'cluster':'demo','allowed':60}]");

    /* not more than 100 per cent in all */
    assert_int_equal(change(&o, "ADD", "RESOURCE",
                            "'where':{'names':['matlab'],'clusters':['east']},"
                            "'set':{'resource':{'server':'flex'},'allowed':41}"),
                     ESLURM_OVER_ALLOCATE);
    assert_string_equal(o.res->lines[0], "matlab@flex");
    assert_string_equal(o.res->lines[3], " total\t\t101%");
    must(&o, "ADD", "RESOURCE",
         "'where':{'names':['matlab'],'clusters':['east']},"
         "'set':{'resource':{'server':'flex'},'allowed':40}");
    assert_told(&o, "RESOURCE", "",
                "'shares':[{'cluster':'demo','allowed':60},{'cluster':'east','allowed':40}]");
    assert_list(&o, "RESOURCE", "", "resource_id", "1"); /* one, with two shares */

    assert_int_equal(change(&o, "ADD", "RESOURCE",
                            "'where':{'names':['matlab']},'set':{'resource':{'server':'flex'}}"),
                     SLURM_NO_CHANGE_IN_DATA);
    assert_int_equal(change(&o, "ADD", "RESOURCE", "'where':{'names':['matlab']}"), SLURM_ERROR);
    must(&o, "ADD", "RESOURCE", /* of no server: another */
         "'where':{'names':['matlab']},'set':{'resource':{'count':1}}");
    assert_list(&o, "RESOURCE", "", "name", "matlab matlab");
    assert_int_equal(
        change(&o, "ADD", "RESOURCE",
               "'where':{'names':['ansys'],'clusters':['nowhere']},'set':{'resource':{'count':1}}"),
        ESLURM_INVALID_CLUSTER_NAME);
    assert_int_equal(change_as(&o, &nobody, "ADD", "RESOURCE", "'where':{'names':['x']}"),
                     ESLURM_ACCESS_DENIED);
    assert_list(&o, "RESOURCE", "", "name", "matlab matlab");
    close_office(&o);
}

/* A change chooses by each condition, as a list does. */
static void test_resource_chosen(void **state)
{
    static const char *const none[] = { "'where':{'descriptions':['nosuch']}",
                                        "'where':{'percents':[99]}" };
    struct office o;

    open_office(&o, *state);
    must(&o, "ADD", "RESOURCE",
         "'where':{'names':['a'],'clusters':['demo']},"
         "'set':{'resource':{'server':'s','count':10,'description':'one'},'allowed':60}");
    must(&o, "ADD", "RESOURCE",
         "'where':{'names':['b'],'clusters':['demo']},"
         "'set':{'resource':{'server':'s','count':20,'description':'two'},'allowed':30}");
    assert_list(&o, "RESOURCE", "{'percents':[60]}", "name", "a");
    assert_list(&o, "RESOURCE", "{'percents':[60],'clusters':['east']}", "name", "");
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        assert_int_not_equal(change(&o, "DELETE", "RESOURCE", none[i]), 0);
    assert_list(&o, "RESOURCE", "", "name", "a b");
    must(&o, "DELETE", "RESOURCE", "'where':{'descriptions':['two']}");
    assert_list(&o, "RESOURCE", "", "name", "a");
    close_office(&o);
}

static void test_resource_absolute(void **state)
{
    static const struct admin_who by_count = { .user = "root",
                                               .root = true,
                                               .rules = ADMIN_ABSOLUTE_RESOURCES };
    struct office o;

    open_office(&o, *state);
    assert_int_equal(change_as(&o, &by_count, "ADD", "RESOURCE",
                               "'where':{'names':['ansys'],'clusters':['demo']},"
                               "'set':{'resource':{'server':'s','count':500},'allowed':500}"),
                     0);
    assert_told(&o, "RESOURCE", "", "'flags':1");
    assert_int_equal(change(&o, "MODIFY", "RESOURCE",
                            "'where':{'names':['ansys'],'clusters':['demo']},"
                            "'set':{'allowed':501}"),
                     ESLURM_OVER_ALLOCATE);
    assert_string_equal(o.res->lines[1], " Cluster - demo\t 501");
    assert_int_equal(change(&o, "MODIFY", "RESOURCE",
                            "'where':{'names':['ansys']},'set':{'resource':{'count':499}}"),
                     ESLURM_OVER_ALLOCATE); /* nor fewer than are given out */
    assert_told(&o, "RESOURCE", "", "'count':500");
    close_office(&o);
}

static void test_resource_change(void **state)
{
    struct office o;

    open_office(&o, *state);
    must(&o, "ADD", "CLUSTER", "'where':{'names':['east']}");
    must(&o, "ADD", "RESOURCE",
         "'where':{'names':['matlab'],'clusters':['demo','east']},"
         "'set':{'resource':{'server':'flex','count':50},'allowed':50}");
    must(&o, "MODIFY", "RESOURCE",
         "'where':{'names':['matlab'],'servers':['flex']},"
         "'set':{'resource':{'count':80,'last_consumed':9,'manager':'flexlm'}}");
    assert_named(&o, "matlab@flex");
    assert_told(&o, "RESOURCE", "", "'manager':'flexlm','count':80,'last_consumed':9");
    must(&o, "MODIFY", "RESOURCE",
         "'where':{'names':['matlab'],'clusters':['east']},'set':{'allowed':10}");
    assert_told(&o, "RESOURCE", "", "{'cluster':'east','allowed':10}");
    assert_told(&o, "RESOURCE", "", "{'cluster':'demo','allowed':50}");

    /* the part of a cluster, then the whole */
    must(&o, "DELETE", "RESOURCE", "'where':{'names':['matlab'],'clusters':['east']}");
    assert_string_equal(o.res->lines[0], "Cluster - east\t- matlab@flex");
    assert_told(&o, "RESOURCE", "", "'shares':[{'cluster':'demo','allowed':50}]");
    assert_int_equal(change(&o, "DELETE", "RESOURCE", "'where':{'ids':[1],'clusters':['east']}"),
                     SLURM_NO_CHANGE_IN_DATA); /* which has no share any more */
    must(&o, "DELETE", "RESOURCE", "'where':{'ids':[1]}");
    assert_list(&o, "RESOURCE", "", "name", "");
    assert_int_equal(change(&o, "DELETE", "RESOURCE", "'where':{'names':['matlab']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cluster_add, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_cluster_rights, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_cluster_modify, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_cluster_delete, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_wckeys, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_wckey_refused, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_resource_add, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_resource_chosen, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_resource_absolute, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_resource_change, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
