/* test_admin_text.c - what the log of transactions says of a record that was set: people read the
 * columns of the database that they know */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "acct/admin/admin_impl.h"
#include "base/strbuf.h"

static void expect_text(const ProtobufCMessage *msg, const char *want)
{
    struct strbuf sb = STRBUF_INIT;

    text_fields(&sb, msg);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
}

/* Names, numbers and times of a record stand in columns of their own: they are left out. */
static void test_assoc(void **state)
{
    Pst__AssocRecord a = PST__ASSOC_RECORD__INIT;
    Pst__Limits l = PST__LIMITS__INIT;
    Pst__TresCount cpu = PST__TRES_COUNT__INIT, mem = PST__TRES_COUNT__INIT;
    Pst__TresCount *list[] = { &cpu, &mem };
    uint32_t qos[] = { 2, 13 };

    (void)state;
    expect_text(&a.base, "");
    a.cluster = (char *)"c";
    a.has_assoc_id = a.has_created_us = a.has_is_default = 1;
    expect_text(&a.base, "");
    a.has_shares = 1;
    a.shares = 7;
    a.comment = (char *)"hello";
    expect_text(&a.base, "shares=7, comment='hello'");
    a.comment = NULL;
    cpu.tres_id = 1;
    cpu.count = 4;
    mem.tres_id = 2;
    mem.count = INT64_C(5000000000); /* more than 32 bits */
    l.grp_tres = list;
    l.n_grp_tres = 2;
    l.has_grp_jobs = 1;
    l.grp_jobs = -1; /* set back */
    a.limits = &l;
    expect_text(&a.base, "shares=7, grp_tres='1=4,2=5000000000', grp_jobs=-1");
    a.has_shares = 0;
    a.limits = NULL;
    a.qos_ids = qos;
    a.n_qos_ids = 2;
    a.has_default_qos_id = 1;
    a.default_qos_id = 13;
    expect_text(&a.base, "qos=',2,13,', def_qos_id=13");
}

static void test_qos(void **state)
{
    Pst__QosRecord q = PST__QOS_RECORD__INIT;
    uint32_t preempt[] = { 5 };

    (void)state;
    q.name = (char *)"high";
    q.has_grace_s = 1;
    q.grace_s = 30;
    q.has_priority = 1;
    q.priority = UINT32_MAX;
    q.preempt_ids = preempt;
    q.n_preempt_ids = 1;
    expect_text(&q.base, "priority=4294967295, grace_time=30, preempt=',5,'");
    q.n_preempt_ids = 0;
    q.has_usage_factor = 1;
    q.usage_factor = 0.5;
    expect_text(&q.base, "priority=4294967295, grace_time=30, usage_factor=0.500000");
    expect_text(NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_assoc), cmocka_unit_test(test_qos) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
