/* test_sacctmgr_text.c - TRES, QOS and flags in words, and back */
#include <errno.h>

#include "smgr_util.h"

static Pst__TresCount **list;
static size_t n_list;

static void drop_list(void)
{
    for (size_t i = 0; i < n_list; i++)
        pst__tres_count__free_unpacked(list[i], NULL);
    free(list);
    list = NULL;
    n_list = 0;
}

static int parse_text(const char *text, struct err *err)
{
    *err = (struct err){ .text = "" };
    drop_list();
    return smgr_parse_tres(&smgr, text, &list, &n_list, err);
}

static void expect_list(const char *text, const char *want)
{
    struct strbuf sb = STRBUF_INIT;
    struct err err;

    assert_int_equal(parse_text(text, &err), 0);
    smgr_put_tres(&smgr, &sb, list, n_list);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
    drop_list();
}

static void test_tres_both_ways(void **state)
{
    (void)state;
    expect_list("cpu=4", "cpu=4");
    expect_list("node=2,cpu=10,mem=4G", "cpu=10,mem=4G,node=2"); /* sorted */
    expect_list("mem=1500", "mem=1500M");
    expect_list("CPU=8,GRES/GPU=2", "cpu=8,gres/gpu=2");
    expect_list("1=3,1001=1", "cpu=3,gres/gpu=1"); /* by their numbers */
    expect_list("cpu=-1", "cpu=NONE");
    expect_list("cpu+=2,mem-=1G", "cpu+=2,mem-=1G");
    expect_list("energy=2K", "energy=2048");
    expect_list("cpu=0", "cpu=0");
    expect_list(",cpu=4,,", "cpu=4");
}

static void test_operators(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(parse_text("cpu+=2,node-=1,mem=4", &err), 0);
    assert_int_equal(n_list, 3);
    assert_int_equal(list[0]->op, 1);
    assert_int_equal(list[0]->count, 2);
    assert_int_equal(list[1]->op, 2);
    assert_int_equal(list[1]->tres_id, 4);
    assert_false(list[2]->has_op);
    assert_int_equal(list[2]->count, 4); /* MiB */
    drop_list();
}

static void expect_refused(const char *text, int r, const char *want)
{
    struct err err;

    assert_int_equal(parse_text(text, &err), r);
    assert_string_equal(err.text, want);
    drop_list();
}

/* The sentences are those of the recordings. */
static void test_bad_tres(void **state)
{
    (void)state;
    expect_refused("foo=3", -EINVAL, "slurmdb_format_tres_str: no TRES known by type foo");
    expect_refused("gres/tpu=3", -EINVAL,
                   "slurmdb_format_tres_str: no TRES known by type gres/tpu");
    expect_refused("cp=3", -EINVAL, "slurmdb_format_tres_str: no TRES known by type cp");
    expect_refused("99=3", -EINVAL, "slurmdb_format_tres_str: no TRES known by type 99");
    expect_refused("cpu", -EINVAL, "slurmdb_format_tres_str: no TRES id found for cpu");
    expect_refused("=3", -EINVAL, "slurmdb_format_tres_str: no TRES id found for =3");
    expect_refused("", -EINVAL, "slurmdb_format_tres_str: no TRES id found for ");
    expect_refused(",", -EINVAL, "slurmdb_format_tres_str: no TRES id found for ");
    expect_refused("cpu=4q", -ERANGE, "Invalid unit type 'q'. Possible options are 'KMGTP'");
    expect_refused("mem=4.5G", -ERANGE, "Invalid unit type '.'. Possible options are 'KMGTP'");
    expect_refused("cpu=-2", -EINVAL, "\"-2\" is no count of a TRES");
    expect_refused("cpu=99999999999999999999", -EINVAL,
                   "\"99999999999999999999\" is no count of a TRES");
}

/* A number of the store that this cluster has no name for is shown as itself. */
static void test_unknown_tres(void **state)
{
    Pst__TresCount t = PST__TRES_COUNT__INIT, *one = &t;
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    t.tres_id = 4711;
    t.count = 2;
    smgr_put_tres(&smgr, &sb, &one, 1);
    assert_string_equal(strbuf_str(&sb), "4711=2");
    strbuf_done(&sb);
    assert_null(smgr_tres(&smgr, 4711));
    assert_string_equal(smgr_tres(&smgr, 4)->type, "node");
}

static void test_qos(void **state)
{
    static const uint32_t ids[] = { 1, 3, 77, 2 };
    struct strbuf sb = STRBUF_INIT;
    uint32_t id = 0;

    (void)state;
    smgr_put_qos_list(&smgr, &sb, ids, ARRAY_SIZE(ids));
    assert_string_equal(strbuf_str(&sb), "high,low,normal"); /* sorted; 77 is none */
    strbuf_done(&sb);
    assert_true(smgr_qos_id(&smgr, "HIGH", &id));
    assert_int_equal(id, 2);
    assert_false(smgr_qos_id(&smgr, "hig", &id));
    assert_int_equal(id, 2);
    assert_null(smgr_qos_name(&smgr, 77));
}

static void test_qos_flags(void **state)
{
    static const char all[] =
        "DenyOnLimit,EnforceUsageThreshold,PartitionMinNodes,PartitionMaxNodes,PartitionTimeLimit,"
        "RequiresReservation,OverPartQOS,NoReserve,NoDecay,Relative,UsageFactorSafe";
    uint32_t flags = 0, again = 0;
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    assert_true(smgr_parse_qos_flags("denyonlimit,nores,NoDecay", &flags));
    assert_int_equal(flags, 1u << PST__QOS_FLAG__QOS_DENY_ON_LIMIT |
                                1u << PST__QOS_FLAG__QOS_NO_RESERVE |
                                1u << PST__QOS_FLAG__QOS_NO_DECAY);
    smgr_put_qos_flags(&sb, flags);
    assert_string_equal(strbuf_str(&sb), "DenyOnLimit,NoReserve,NoDecay");
    strbuf_reset(&sb);
    assert_true(smgr_parse_qos_flags(all, &again));
    smgr_put_qos_flags(&sb, again);
    assert_string_equal(strbuf_str(&sb), all);
    strbuf_reset(&sb);
    smgr_put_qos_flags(&sb, 0);
    assert_string_equal(strbuf_str(&sb), "");
    strbuf_done(&sb);
    assert_false(smgr_parse_qos_flags("DenyOnLimit,bogus", &again));
    assert_false(smgr_parse_qos_flags("DenyOnLimits", &again)); /* longer than the name */
    assert_false(smgr_parse_qos_flags("NoR", &again));          /* too short */
    smgr_put_qos_flags(&sb, again);
    assert_string_equal(strbuf_str(&sb), all); /* untouched */
    strbuf_done(&sb);
}

/* The tables are asked for once a command. */
static void test_tables(void **state)
{
    Pst__QosRecord q = PST__QOS_RECORD__INIT, *qos[] = { &q };
    Pst__AcctListRequest *req;

    (void)state;
    smgr_forget_tables(&smgr);
    q.has_qos_id = 1;
    q.qos_id = 9;
    q.name = (char *)"nine";
    peer_list(&store, OP_ACCT_LIST, qos, 1);
    assert_string_equal(smgr_qos_name(&smgr, 9), "nine");
    assert_null(smgr_qos_name(&smgr, 8));
    req = PEER_TAKE(&store, OP_ACCT_LIST, acct_list_request);
    assert_int_equal(req->entity, PST__ACCT_ENTITY__ACCT_QOS);
    pst__acct_list_request__free_unpacked(req, NULL);
    assert_true(peer_is_quiet(&store));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tres_both_ways, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_operators, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_bad_tres, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_unknown_tres, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_qos, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_qos_flags, smgr_begin, smgr_end),
        cmocka_unit_test_setup_teardown(test_tables, smgr_begin, smgr_end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
