/* test_admin_fed.c - federations: made, changed and removed; numbers, states and features of
 * clusters */
#include "admin_util.h"

#include "acct/admin/admin_fed.h"

static void open_three(struct office *o, void *state)
{
    open_office(o, state);
    must(o, "ADD", "CLUSTER", "'where':{'names':['east','west']}");
}

static void test_members(void **state)
{
    struct office o;

    open_three(&o, *state);
    must(&o, "ADD", "FEDERATION", "'where':{'names':['f1']},'set':{'fed_add':['west','demo']}");
    assert_named(&o, "f1");
    assert_list(&o, "CLUSTER", "", "fed_id", "2 0 1"); /* demo east west */
    assert_told(&o, "CLUSTER", "{'names':['demo']}", "'federation':'f1'");
    assert_told(&o, "CLUSTER", "{'names':['demo']}", "'fed_state':1");
    assert_int_equal(change(&o, "ADD", "FEDERATION", "'where':{'names':['f1']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    assert_int_equal(
        change(&o, "ADD", "FEDERATION", "'where':{'names':['f2']},'set':{'fed_add':['nosuch']}"),
        ESLURM_BAD_NAME);
    assert_list(&o, "FEDERATION", "", "name", "f1"); /* f2 was undone */
    /* the lowest number that is free */
    must(&o, "MODIFY", "FEDERATION", "'where':{'names':['f1']},'set':{'fed_remove':['west']}");
    must(&o, "MODIFY", "FEDERATION", "'where':{'names':['f1']},'set':{'fed_add':['east']}");
    assert_list(&o, "CLUSTER", "", "fed_id", "2 1 0");
    /* those named alone are left */
    must(&o, "MODIFY", "FEDERATION",
         "'where':{'names':['f1']},'set':{'fed_add':['west'],'fed_replace':true}");
    assert_list(&o, "CLUSTER", "", "federation", "- - f1");
    assert_int_equal(
        change(&o, "MODIFY", "FEDERATION", "'where':{'names':['no']},'set':{'fed_add':['west']}"),
        ESLURM_BAD_NAME);
    /* a cluster moves */
    must(&o, "ADD", "FEDERATION", "'where':{'names':['f2']},'set':{'fed_add':['west']}");
    assert_list(&o, "CLUSTER", "", "federation", "- - f2");
    must(&o, "DELETE", "FEDERATION", "'where':{'names':['f2']}");
    assert_list(&o, "CLUSTER", "", "federation", "- - -");
    assert_list(&o, "FEDERATION", "", "name", "f1");
    assert_int_equal(change(&o, "DELETE", "FEDERATION", "'where':{'names':['f2']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

/* A cluster leaves by itself in the state DRAIN+REMOVE, and in no other. */
static void test_leave(void **state)
{
    struct err err = { .text = "" };
    struct office o;

    open_three(&o, *state);
    must(&o, "ADD", "FEDERATION", "'where':{'names':['f1']},'set':{'fed_add':['west','east']}");
    must(&o, "MODIFY", "CLUSTER", "'where':{'names':['east']},'set':{'cluster':{'fed_state':17}}");
    assert_int_equal(admin_leave(o.admin, "east", "f1", T0, &err), 0); /* only drained */
    assert_list(&o, "CLUSTER", "", "federation", "- f1 f1");
    must(&o, "MODIFY", "CLUSTER", "'where':{'names':['east']},'set':{'cluster':{'fed_state':49}}");
    assert_int_equal(admin_leave(o.admin, "east", "f2", T0, &err), 0); /* it moved meanwhile */
    assert_int_equal(admin_leave(o.admin, "nosuch", "f1", T0, &err), 0);
    assert_int_equal(admin_leave(o.admin, "west", "f1", T0, &err), 0);
    assert_list(&o, "CLUSTER", "", "federation", "- f1 f1");
    assert_int_equal(admin_leave(o.admin, "east", "f1", T0, &err), 0);
    assert_list(&o, "CLUSTER", "", "federation", "- - f1");
    assert_list(&o, "CLUSTER", "", "fed_state", "0 0 1");
    assert_int_equal(admin_leave(o.admin, "east", "f1", T0, &err), 0); /* once more: nothing */
    close_office(&o);
}

static void test_clusters(void **state)
{
    struct office o;

    open_three(&o, *state);
    must(&o, "ADD", "FEDERATION", "'where':{'names':['f1']}");
    must(&o, "MODIFY", "CLUSTER",
         "'where':{'names':['east']},'set':{'cluster':{'federation':'f1'}}");
    must(&o, "MODIFY", "CLUSTER", "'where':{'names':['east']},'set':{'cluster':{'fed_state':17}}");
    assert_int_equal(change(&o, "MODIFY", "CLUSTER",
                            "'where':{'names':['east']},'set':{'cluster':{'fed_state':3}}"),
                     ESLURM_BAD_NAME);
    assert_told(&o, "CLUSTER", "{'names':['east']}", "'fed_state':17");
    must(&o, "MODIFY", "CLUSTER",
         "'where':{'names':['east']},'set':{'features_add':['a','b'],'features_replace':true}");
    must(&o, "MODIFY", "CLUSTER",
         "'where':{'names':['east']},'set':{'features_add':['c'],'features_remove':['a']}");
    assert_told(&o, "CLUSTER", "{'names':['east']}", "'features':['b','c']");
    must(&o, "MODIFY", "CLUSTER", "'where':{'names':['east']},'set':{'cluster':{'federation':''}}");
    assert_list(&o, "CLUSTER", "", "fed_state", "0 0 0");
    assert_int_equal(change(&o, "MODIFY", "CLUSTER",
                            "'where':{'names':['east']},'set':{'cluster':{'federation':'no'}}"),
                     ESLURM_BAD_NAME);
    assert_int_equal(change(&o, "ADD", "CLUSTER",
                            "'where':{'names':['new']},'set':{'cluster':{'federation':'no'}}"),
                     ESLURM_BAD_NAME);
    /* numbers and states are not taken from the request */
    must(&o, "ADD", "CLUSTER",
         "'where':{'names':['new']},'set':{'cluster':{'fed_id':7,'fed_state':1}}");
    assert_list(&o, "CLUSTER", "{'names':['new']}", "fed_id", "0");
    /* a cluster that is deleted leaves */
    must(&o, "MODIFY", "FEDERATION", "'where':{'names':['f1']},'set':{'fed_add':['new']}");
    must(&o, "DELETE", "CLUSTER", "'where':{'names':['new']}");
    must(&o, "MODIFY", "FEDERATION", "'where':{'names':['f1']},'set':{'fed_add':['west']}");
    assert_list(&o, "CLUSTER", "{'names':['west']}", "fed_id", "1");
    close_office(&o);
}

static void test_rights(void **state)
{
    struct office o;

    open_three(&o, *state);
    assert_int_equal(change_as(&o, &nobody, "ADD", "FEDERATION", "'where':{'names':['f1']}"),
                     ESLURM_ACCESS_DENIED);
    must(&o, "ADD", "FEDERATION", "'where':{'names':['f1']}");
    assert_int_equal(change_as(&o, &nobody, "MODIFY", "FEDERATION",
                               "'where':{'names':['f1']},'set':{'fed_add':['west']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &nobody, "DELETE", "FEDERATION", "'where':{'names':['f1']}"),
                     ESLURM_ACCESS_DENIED);
    assert_list(&o, "FEDERATION", "", "name", "f1");
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_members, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_leave, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_clusters, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_rights, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
