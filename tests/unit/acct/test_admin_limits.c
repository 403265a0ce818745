/* test_admin_limits.c - what a request sets, merged into records: counts that overflow, limits that
 * are taken away, and lists of QOS and TRES in their order */
#include "admin_util.h"

#include "acct/admin/admin_impl.h"

static void expect_ids(const uint32_t *ids, size_t n, const char *text)
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < n; i++)
        strbuf_addf(&sb, "%s%u", i ? "," : "", ids[i]);
    assert_string_equal(strbuf_str(&sb), text);
    strbuf_done(&sb);
}

static void test_ids(void **state)
{
    uint32_t *ids = NULL;
    size_t n = 0;

    (void)state;
    id_list_remove(ids, &n, 7); /* of none */
    assert_int_equal(id_list_add(&ids, &n, 7), 0);
    assert_int_equal(id_list_add(&ids, &n, UINT32_MAX), 0);
    assert_int_equal(id_list_add(&ids, &n, 0), 0);
    assert_int_equal(id_list_add(&ids, &n, 7), 0); /* there already */
    expect_ids(ids, n, "0,7,4294967295");
    id_list_remove(ids, &n, 8);
    id_list_remove(ids, &n, 0);
    expect_ids(ids, n, "7,4294967295");
    id_list_remove(ids, &n, 7);
    id_list_remove(ids, &n, UINT32_MAX);
    assert_int_equal(n, 0);
    free(ids);
}

/* Merge one change after the other into a list; '[]' of nothing. */
static void expect_merged(const char *changes, const char *merged)
{
    Pst__Limits *have = (Pst__Limits *)from_json(&pst__limits__descriptor, "{}");
    Pst__Limits *set = (Pst__Limits *)from_json(&pst__limits__descriptor, changes);
    _cleanup_free_ char *text = NULL, *want = quoted(merged);

    for (size_t i = 0; i < set->n_grp_tres; i++)
        assert_int_equal(tres_list_merge(&have->grp_tres, &have->n_grp_tres, &set->grp_tres[i], 1),
                         0);
    text = json_of(&have->base);
    assert_string_equal(text, want);
    pst__limits__free_unpacked(have, NULL);
    pst__limits__free_unpacked(set, NULL);
}

static void test_tres(void **state)
{
    (void)state;
    expect_merged("{'grp_tres':[]}", "{}");
    /* in the order of ids, whatever the request's is */
    expect_merged("{'grp_tres':[{'tres_id':4,'count':1},{'tres_id':1,'count':0}]}",
                  "{'grp_tres':[{'tres_id':1,'count':0},{'tres_id':4,'count':1}]}");
    /* -1 takes it away; of what is not there, nothing */
    expect_merged("{'grp_tres':[{'tres_id':1,'count':5},{'tres_id':1,'count':-1},"
                  "{'tres_id':2,'count':-1}]}",
                  "{}");
    /* op 1 adds, op 2 takes */
    expect_merged("{'grp_tres':[{'tres_id':1,'count':5,'op':1},{'tres_id':1,'count':3,'op':1}]}",
                  "{'grp_tres':[{'tres_id':1,'count':8}]}");
    expect_merged("{'grp_tres':[{'tres_id':1,'count':5},{'tres_id':1,'count':3,'op':2}]}",
                  "{'grp_tres':[{'tres_id':1,'count':2}]}");
    expect_merged("{'grp_tres':[{'tres_id':1,'count':5},{'tres_id':1,'count':9,'op':2}]}",
                  "{'grp_tres':[{'tres_id':1,'count':0}]}");
    expect_merged("{'grp_tres':[{'tres_id':1,'count':5},{'tres_id':1,'count':-9,'op':1}]}",
                  "{'grp_tres':[{'tres_id':1,'count':0}]}");
}

/* Sums stay within 64 bits, and never fall below 0. */
static void test_overflow(void **state)
{
    (void)state;
    expect_merged("{'grp_tres':[{'tres_id':1,'count':9223372036854775807},"
                  "{'tres_id':1,'count':1,'op':1}]}",
                  "{'grp_tres':[{'tres_id':1,'count':9223372036854775807}]}");
    expect_merged("{'grp_tres':[{'tres_id':1,'count':1},"
                  "{'tres_id':1,'count':9223372036854775807,'op':2}]}",
                  "{'grp_tres':[{'tres_id':1,'count':0}]}");
    expect_merged("{'grp_tres':[{'tres_id':1,'count':-9223372036854775808,'op':1}]}",
                  "{'grp_tres':[{'tres_id':1,'count':0}]}");
    expect_merged("{'grp_tres':[{'tres_id':1,'count':-9223372036854775808}]}", "{}");
}

static void expect_limits(const char *have, const char *set, const char *result)
{
    Pst__Limits *to = have ? (Pst__Limits *)from_json(&pst__limits__descriptor, have) : NULL;
    Pst__Limits *from = (Pst__Limits *)from_json(&pst__limits__descriptor, set);
    _cleanup_free_ char *text = NULL, *want = result ? quoted(result) : NULL;

    assert_int_equal(limits_set(&to, from), 0);
    assert_int_equal(to != NULL, result != NULL);
    if (to) {
        text = json_of(&to->base);
        assert_string_equal(text, want);
        pst__limits__free_unpacked(to, NULL);
    }
    pst__limits__free_unpacked(from, NULL);
}

static void test_limits(void **state)
{
    Pst__Limits *none = NULL;

    (void)state;
    assert_int_equal(limits_set(&none, NULL), 0);
    assert_null(none);
    expect_limits(NULL, "{}", NULL);                         /* nothing set is nothing there */
    expect_limits(NULL, "{'max_jobs':-1}", NULL);            /* nor is what was taken away */
    expect_limits(NULL, "{'max_jobs':0}", "{'max_jobs':0}"); /* none may run: that is a limit */
    expect_limits("{'max_jobs':4,'grp_jobs':2}", "{'max_jobs':-1}", "{'grp_jobs':2}");
    expect_limits("{'max_jobs':4}", "{'max_jobs':-2147483648}", NULL);
    expect_limits("{'max_jobs':4}", "{'max_jobs':2147483647}", "{'max_jobs':2147483647}");
    expect_limits("{'grp_tres':[{'tres_id':1,'count':5}],'max_jobs':1}",
                  "{'grp_tres':[{'tres_id':1,'count':-1}]}", "{'max_jobs':1}");
}

static bool inheritable(const char *set)
{
    Pst__AcctSet *s = (Pst__AcctSet *)from_json(&pst__acct_set__descriptor, set);
    bool r = limits_inheritable(s);

    pst__acct_set__free_unpacked(s, NULL);
    return r;
}

static bool inherited(const char *child, const char *set)
{
    Pst__AssocRecord *c = (Pst__AssocRecord *)from_json(&pst__assoc_record__descriptor, child);
    Pst__AcctSet *s = (Pst__AcctSet *)from_json(&pst__acct_set__descriptor, set);
    bool r = limits_inherited_by(c, s);

    pst__assoc_record__free_unpacked(c, NULL);
    pst__acct_set__free_unpacked(s, NULL);
    return r;
}

/* Limits of a group hold for the group; those of jobs and users are taken over by who has none. */
static void test_inheritance(void **state)
{
    (void)state;
    assert_false(inheritable("{}"));
    assert_false(inheritable("{'assoc':{'limits':{'grp_jobs':1}}}"));
    assert_true(inheritable("{'assoc':{'limits':{'max_jobs':-1}}}"));
    assert_true(inheritable("{'assoc':{'qos_removed':[3]}}"));
    assert_true(inheritable("{'clear_qos':true}"));
    assert_true(inherited("{}", "{'assoc':{'limits':{'max_jobs':3}}}"));
    assert_false(inherited("{'limits':{'max_jobs':0}}", "{'assoc':{'limits':{'max_jobs':3}}}"));
    assert_false(inherited("{}", "{'assoc':{'limits':{'grp_jobs':3}}}"));
    /* of a list each count for itself */
    assert_true(inherited("{'limits':{'max_tres_per_job':[{'tres_id':1,'count':1}]}}",
                          "{'assoc':{'limits':{'max_tres_per_job':[{'tres_id':2,'count':1}]}}}"));
    assert_false(inherited("{'limits':{'max_tres_per_job':[{'tres_id':1,'count':1}]}}",
                           "{'assoc':{'limits':{'max_tres_per_job':[{'tres_id':1,'count':9}]}}}"));
    assert_true(inherited("{}", "{'clear_qos':true}"));
    assert_false(inherited("{'qos_ids':[1]}", "{'clear_qos':true}"));
    assert_true(inherited("{'qos_ids':[1]}", "{'clear_default_qos':true}"));
}

static void expect_assoc(const char *have, const char *set, const char *result)
{
    Pst__AssocRecord *rec = (Pst__AssocRecord *)from_json(&pst__assoc_record__descriptor, have);
    Pst__AcctSet *s = (Pst__AcctSet *)from_json(&pst__acct_set__descriptor, set);
    _cleanup_free_ char *text = NULL, *want = quoted(result);
    struct admin_run run = { 0 };

    assoc_set(&run, rec, s);
    assert_int_equal(run.r, 0);
    text = json_of(&rec->base);
    assert_string_equal(text, want);
    pst__assoc_record__free_unpacked(rec, NULL);
    pst__acct_set__free_unpacked(s, NULL);
}

static void test_assoc(void **state)
{
    (void)state;
    expect_assoc("{}", "{}", "{}");
    expect_assoc("{'shares':5}", "{'assoc':{'shares_parent':true}}", "{'shares_parent':true}");
    expect_assoc("{'shares_parent':true}", "{'assoc':{'shares':7}}", "{'shares':7}");
    expect_assoc("{'shares':7,'priority':3}", "{'assoc':{'shares':4294967294}}",
                 "{'shares':4294967294,'priority':3}");
    expect_assoc("{'comment':'x'}", "{'assoc':{'comment':''}}", "{}");
    /* beside a list of its own, += and -= change that list */
    expect_assoc("{'qos_ids':[2,5]}", "{'assoc':{'qos_added':[3],'qos_removed':[5]}}",
                 "{'qos_ids':[2,3]}");
    /* without one they are kept, to be applied to what is inherited; the later of both counts */
    expect_assoc("{'qos_removed':[3]}", "{'assoc':{'qos_added':[3,1]}}", "{'qos_added':[1,3]}");
    expect_assoc("{'qos_added':[1,3]}", "{'assoc':{'qos_removed':[3]}}",
                 "{'qos_added':[1],'qos_removed':[3]}");
    expect_assoc("{'qos_added':[1],'qos_removed':[3]}", "{'assoc':{'qos_ids':[9,8,9]}}",
                 "{'qos_ids':[8,9]}");
    expect_assoc("{'qos_ids':[9],'default_qos_id':9}",
                 "{'clear_qos':true,'clear_default_qos':true}", "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),         cmocka_unit_test(test_tres),
        cmocka_unit_test(test_overflow),    cmocka_unit_test(test_limits),
        cmocka_unit_test(test_inheritance), cmocka_unit_test(test_assoc),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
