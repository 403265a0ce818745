/* test_admin_qos.c - QOS: who makes them, what is set and taken away, who preempts whom, and what
 * is left of a removed one */
#include "admin_util.h"

#include <math.h>

static uint32_t qos_id(struct office *o, const char *name)
{
    const Pst__QosRecord *q = am_qos_named(admin_tables(o->admin), name);

    assert_non_null(q);
    return q->qos_id;
}

static void test_add(void **state)
{
    struct office o;

    open_office(&o, *state);
    must(&o, "ADD", "QOS",
         "'where':{'names':['high','low']},'set':{'qos':{'priority':100,'usage_factor':0.5,"
         "'flags':4,'limits':{'max_jobs_per_user':5}}}");
    assert_named(&o, "high low");
    assert_list(&o, "QOS", "", "name", "normal high low"); /* by number */
    assert_told(&o, "QOS", "{'names':['high']}", "'description':'high','priority':100");
    assert_told(&o, "QOS", "{'names':['low']}", "'max_jobs_per_user':5");
    assert_told(&o, "QOS", "{'names':['low']}", "'usage_factor':0.5");

    /* those that are there are left as they are */
    must(&o, "ADD", "QOS", "'where':{'names':['high','mid']},'set':{'qos':{'priority':7}}");
    assert_named(&o, "mid");
    assert_told(&o, "QOS", "{'names':['high']}", "'priority':100");
    assert_int_equal(change(&o, "ADD", "QOS", "'where':{'names':['mid']}"),
                     SLURM_NO_CHANGE_IN_DATA);
    close_office(&o);
}

/* A factor without an end, which only a client of another's can send, is left out. */
static void test_endless(void **state)
{
    Pst__AcctAdminRequest *req;
    struct err err = { .text = "" };
    struct office o;

    open_office(&o, *state);
    must(&o, "ADD", "QOS", "'where':{'names':['q']},'set':{'qos':{'usage_factor':0.5}}");
    req = (Pst__AcctAdminRequest *)from_json(
        &pst__acct_admin_request__descriptor,
        "{'ops':[{'verb':'ACCT_MODIFY','entity':'ACCT_QOS','where':{'names':['q']},"
        "'set':{'qos':{'usage_factor':1,'priority':7}}}]}");
    req->ops[0]->set->qos->usage_factor = HUGE_VAL;
    drop_reply(&o);
    assert_int_equal(admin_run(o.admin, &root_user, req, o.now_us, &o.reply, &err), 0);
    pst__acct_admin_request__free_unpacked(req, NULL);
    assert_told(&o, "QOS", "{'names':['q']}", "'priority':7");
    assert_told(&o, "QOS", "{'names':['q']}", "'usage_factor':0.5");
    close_office(&o);
}

static void test_refused(void **state)
{
    struct office o;

    open_office(&o, *state);
    assert_int_equal(change_as(&o, &nobody, "ADD", "QOS", "'where':{'names':['x']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &nobody, "MODIFY", "QOS",
                               "'where':{'names':['normal']},'set':{'qos':{'priority':1}}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change_as(&o, &nobody, "DELETE", "QOS", "'where':{'names':['normal']}"),
                     ESLURM_ACCESS_DENIED);
    assert_int_equal(change(&o, "ADD", "QOS", "'where':{'names':['a:b']}"), ESLURM_BAD_NAME);
    assert_int_equal(change(&o, "ADD", "QOS", "'where':{'names':['']}"), ESLURM_BAD_NAME);
    assert_int_equal(
        change(&o, "MODIFY", "QOS", "'where':{'names':['none']},'set':{'qos':{'priority':1}}"),
        SLURM_NO_CHANGE_IN_DATA);
    assert_list(&o, "QOS", "", "name", "normal");
    close_office(&o);
}

static void test_modify(void **state)
{
    struct office o;
    static const char one[] = "{'names':['q']}";

    open_office(&o, *state);
    must(&o, "ADD", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'priority':9,'grace_s':60,'usage_factor':2,"
         "'limit_factor':3,'usage_threshold':0.25,'preempt_exempt_s':30,'flags':6}}");
    must(&o, "MODIFY", "QOS", "'where':{'names':['Q']},'set':{'qos':{'description':'quick'}}");
    assert_named(&o, "q");
    assert_told(&o, "QOS", "{'descriptions':['quick']}", "'priority':9,'grace_s':60");

    /* 4294967295, and -1 of reals, take a number away; what is not named stays */
    must(&o, "MODIFY", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'priority':4294967295,'usage_factor':-1,"
         "'limit_factor':-1}}");
    assert_told(&o, "QOS", one, "!'priority'");
    assert_told(&o, "QOS", one, "!'usage_factor'");
    assert_told(&o, "QOS", one, "!'limit_factor'");
    assert_told(&o, "QOS", one, "'usage_threshold':0.25");
    assert_told(&o, "QOS", one, "'grace_s':60");

    /* flags: 6 + 8 - 2 = 12, then none */
    must(&o, "MODIFY", "QOS",
         "'where':{'names':['q']},'set':{'qos_flags_add':8,'qos_flags_remove':2}");
    assert_told(&o, "QOS", one, "'flags':12");
    must(&o, "MODIFY", "QOS", "'where':{'names':['q']},'set':{'qos':{'flags':4294967295}}");
    assert_told(&o, "QOS", one, "!'flags'");
    close_office(&o);
}

static void test_limits(void **state)
{
    struct office o;
    static const char one[] = "{'names':['q']}";

    open_office(&o, *state);
    must(&o, "ADD", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'limits':{'grp_jobs':10,'max_tres_per_user':["
         "{'tres_id':1001,'count':8},{'tres_id':1,'count':64}]}}}");
    assert_told(&o, "QOS", one,
                "'max_tres_per_user':[{'tres_id':1,'count':64},{'tres_id':1001,'count':8}]");

    /* one is replaced, one added to, one comes */
    must(&o, "MODIFY", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'limits':{'max_tres_per_user':["
         "{'tres_id':1,'count':32},{'tres_id':1001,'count':2,'op':1},{'tres_id':4,'count':3}]}}}");
    assert_told(&o, "QOS", one,
                "'max_tres_per_user':[{'tres_id':1,'count':32},{'tres_id':4,'count':3},"
                "{'tres_id':1001,'count':10}]");
    /* less than nothing is nothing; -1 takes the limit away */
    must(&o, "MODIFY", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'limits':{'grp_jobs':-1,'max_tres_per_user':["
         "{'tres_id':1,'count':-1},{'tres_id':4,'count':9,'op':2},"
         "{'tres_id':2,'count':5,'op':2},{'tres_id':1001,'count':4,'op':2}]}}}");
    assert_told(&o, "QOS", one,
                "'max_tres_per_user':[{'tres_id':2,'count':0},{'tres_id':4,'count':0},"
                "{'tres_id':1001,'count':6}]");
    assert_told(&o, "QOS", one, "!'grp_jobs'");
    must(&o, "MODIFY", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'limits':{'max_tres_per_user':["
         "{'tres_id':2,'count':-1},{'tres_id':4,'count':-1},{'tres_id':1001,'count':-1}]}}}");
    assert_told(&o, "QOS", one, "!'limits'");
    must(&o, "MODIFY", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'limits':{'max_tres_per_user':["
         "{'tres_id':1,'count':9223372036854775807,'op':1},{'tres_id':4,'count':1,'op':1}]}}}");
    must(&o, "MODIFY", "QOS",
         "'where':{'names':['q']},'set':{'qos':{'limits':{'max_tres_per_user':["
         "{'tres_id':1,'count':9223372036854775807,'op':1}]}}}"); /* no overflow */
    assert_told(&o, "QOS", one, "'tres_id':1,'count':9223372036854775807");
    close_office(&o);
}

static void test_preempt(void **state)
{
    struct office o;
    char body[256];
    uint32_t high, low;

    open_office(&o, *state);
    must(&o, "ADD", "QOS", "'where':{'names':['low','high']}");
    low = qos_id(&o, "low");
    high = qos_id(&o, "high");
    (void)snprintf(
        body, sizeof(body),
        "'where':{'names':['high']},'set':{'preempt_add':[%u],'qos':{'preempt_ids':[%u]}}",
        AM_QOS_NORMAL, low);
    must(&o, "MODIFY", "QOS", body);
    (void)snprintf(body, sizeof(body), "'preempt_ids':[%u,%u]", AM_QOS_NORMAL, low);
    assert_told(&o, "QOS", "{'names':['high']}", body);

    /* nobody preempts himself: not at once, and not around another */
    (void)snprintf(body, sizeof(body), "'where':{'names':['low']},'set':{'preempt_add':[%u]}", low);
    assert_int_equal(change(&o, "MODIFY", "QOS", body), ESLURM_QOS_PREEMPTION_LOOP);
    (void)snprintf(body, sizeof(body), "'where':{'names':['low']},'set':{'preempt_add':[%u]}",
                   high);
    assert_int_equal(change(&o, "MODIFY", "QOS", body), ESLURM_QOS_PREEMPTION_LOOP);
    assert_told(&o, "QOS", "{'names':['low']}", "!'preempt_ids'");

    (void)snprintf(body, sizeof(body), "'where':{'names':['high']},'set':{'preempt_remove':[%u]}",
                   AM_QOS_NORMAL);
    must(&o, "MODIFY", "QOS", body);
    (void)snprintf(body, sizeof(body), "'preempt_ids':[%u]", low);
    assert_told(&o, "QOS", "{'names':['high']}", body);
    must(&o, "MODIFY", "QOS", "'where':{'names':['high']},'set':{'clear_preempt':true}");
    assert_told(&o, "QOS", "{'names':['high']}", "!'preempt_ids'");
    close_office(&o);
}

static void test_delete(void **state)
{
    struct office o;
    char body[256];
    uint32_t gold, tin;

    open_office(&o, *state);
    plant_tree(&o);
    must(&o, "ADD", "QOS", "'where':{'names':['gold','tin']}");
    gold = qos_id(&o, "gold");
    tin = qos_id(&o, "tin");
    (void)snprintf(body, sizeof(body), "'where':{'names':['tin']},'set':{'preempt_add':[%u]}",
                   gold);
    must(&o, "MODIFY", "QOS", body);
    (void)snprintf(body, sizeof(body),
                   "'where':{'names':['science']},'set':{'assoc':{'qos_ids':[1,%u],"
                   "'default_qos_id':%u}}",
                   gold, gold);
    must(&o, "MODIFY", "ACCOUNT", body);
    (void)snprintf(body, sizeof(body),
                   "'where':{'names':['alice']},'set':{'assoc':{'qos_added':[%u],"
                   "'qos_removed':[%u]}}",
                   tin, gold);
    must(&o, "MODIFY", "USER", body);

    /* who has it as a default one must have another first */
    assert_int_equal(change(&o, "DELETE", "QOS", "'where':{'names':['gold']}"),
                     ESLURM_NO_REMOVE_DEFAULT_QOS);
    assert_int_equal(o.res->n_lines, 1);
    assert_string_equal(o.res->lines[0],
                        "DefQOS = gold       C = demo       A = science             ");
    assert_list(&o, "QOS", "", "name", "normal gold tin");
    must(&o, "MODIFY", "ACCOUNT",
         "'where':{'names':['science']},'set':{'assoc':{'default_qos_id':1}}");
    must(&o, "DELETE", "QOS", "'where':{'names':['gold']}");
    assert_named(&o, "gold");
    assert_list(&o, "QOS", "", "name", "normal tin");
    assert_list(&o, "QOS", "{'with_deleted':true}", "name", "normal gold tin");
    assert_told(&o, "QOS", "{'names':['tin']}", "!'preempt_ids'");
    assert_told(&o, "ASSOC", "{'accounts':['science'],'no_users':true,'raw_qos':true}",
                "'qos_ids':[1]");
    assert_told(&o, "ASSOC", "{'users':['alice'],'raw_qos':true}", "!'qos_removed'");
    (void)snprintf(body, sizeof(body), "'qos_added':[%u]", tin);
    assert_told(&o, "ASSOC", "{'users':['alice'],'raw_qos':true}", body);

    /* the name may be had again, by another QOS */
    must(&o, "ADD", "QOS", "'where':{'names':['gold']}");
    assert_int_not_equal(qos_id(&o, "gold"), gold);
    close_office(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_add, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_endless, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_refused, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_modify, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_limits, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_preempt, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_delete, world_setup, world_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
