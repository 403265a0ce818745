/* test_nodewatch.c - nodes that are silent: not responding, then down; and what time ends */
#include "corefull_util.h"

extern const struct ctld_service nodewatch_service;

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
#define STATE(x) PST__NODE_STATE__NODE_##x

static struct node *n0;

/* One node; its connection is lost now, or it is connected. */
static void begin(const char *lines, bool away)
{
    corefull_begin(lines, 1);
    n0 = core.ctld.cluster->nodes[0];
    if (away)
        node_link_drop(&core.ctld, n0);
    core.ctld.boot_us = now_us();
}

static void after(int64_t us)
{
    nodewatch_service.tick_writing(&core.ctld, core.ctld.boot_us + us);
}

/* MessageTimeout of silence is seen; SlurmdTimeout takes the node and its jobs. */
static void test_silent(void **state)
{
    struct job *j;

    (void)state;
    begin("SlurmdTimeout=300\nMessageTimeout=20\n", true);
    j = corefull_run(1, 1, NULL);
    after(19 * SEC);
    assert_int_equal(n0->rec->state_flags, 0);
    after(21 * SEC);
    assert_int_equal(n0->rec->state_flags, FLAG(NOT_RESPONDING));
    assert_int_equal(n0->rec->state, STATE(IDLE));
    assert_int_equal(job_state(j->rec), JOB_STATE(RUNNING));
    after(299 * SEC);
    assert_int_equal(n0->rec->state, STATE(IDLE));
    after(301 * SEC);
    assert_int_equal(n0->rec->state, STATE(DOWN));
    assert_true(n0->rec->state_flags & FLAG(NOT_RESPONDING));
    assert_string_equal(n0->rec->reason, "Not responding");
    assert_int_equal(job_state(j->rec), JOB_STATE(NODE_FAIL));
    corefull_end();
}

/* SlurmdTimeout=0: never down, but seen to be silent. */
static void test_patient(void **state)
{
    (void)state;
    begin("SlurmdTimeout=0\nMessageTimeout=20\n", true);
    after(100000 * SEC);
    assert_int_equal(n0->rec->state, STATE(IDLE));
    assert_int_equal(n0->rec->state_flags, FLAG(NOT_RESPONDING));
    corefull_end();
}

/* Seen before it is down, also where SlurmdTimeout is short. */
static void test_short(void **state)
{
    (void)state;
    begin("SlurmdTimeout=10\nMessageTimeout=60\n", true);
    after(6 * SEC);
    assert_int_equal(n0->rec->state_flags, FLAG(NOT_RESPONDING));
    assert_int_equal(n0->rec->state, STATE(IDLE));
    after(11 * SEC);
    assert_int_equal(n0->rec->state, STATE(DOWN));
    corefull_end();
}

/* A node that has not come since the controller's start, or since an operator gave it another
 * chance, is no better: it has SlurmdTimeout to come. */
static void set_unknown(void)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__NodeRecord *set = tx_node_patch(tx, EV(NODE_STATE), 0);

    SET(set, state, STATE(UNKNOWN));
    SET(set, state_flags, 0);
    apply_ok(core.ctld.cluster, tx);
}

static void test_never_came(void **state)
{
    (void)state;
    begin("SlurmdTimeout=300\nMessageTimeout=20\n", true);
    for (int64_t s = 1; s < 2000; s += 1000) {
        set_unknown();
        after(s * SEC);
        after((s + 19) * SEC);
        assert_int_equal(n0->rec->state_flags, 0);
        after((s + 21) * SEC);
        assert_int_equal(n0->rec->state_flags, FLAG(NOT_RESPONDING));
        after((s + 299) * SEC);
        assert_int_equal(n0->rec->state, STATE(UNKNOWN));
        after((s + 301) * SEC);
        assert_int_equal(n0->rec->state, STATE(DOWN));
        assert_string_equal(n0->rec->reason, "Not responding");
        after((s + 302) * SEC);
    }
    corefull_end();
}

/* A connected node is none of that; an operator's NoResp ends with the next sign of it. */
static void test_connected(void **state)
{
    Pst__Transaction *tx;

    (void)state;
    begin("SlurmdTimeout=10\n", false);
    (void)node_link_expect(&core.ctld, n0);
    tx = tx_new(T0);
    SET(tx_node_patch(tx, EV(NODE_STATE), 0), state_flags, FLAG(NOT_RESPONDING));
    apply_ok(core.ctld.cluster, tx);
    after(100 * SEC);
    assert_int_equal(n0->rec->state, STATE(IDLE));
    assert_int_equal(n0->rec->state_flags, 0);
    corefull_end();
}

/* Nodes that power saving has, that have no slurmd, or that are out of service are let be. */
static void test_let_be(void **state)
{
    static const struct {
        Pst__NodeState state;
        uint32_t flags;
    } rows[] = {
        { STATE(IDLE), FLAG(POWERED_DOWN) },
        { STATE(IDLE), FLAG(POWERING_UP) },
        { STATE(IDLE), FLAG(EXTERNAL) },
        { STATE(DOWN), 0 },
        { STATE(FUTURE), 0 },
        { STATE(UNKNOWN), FLAG(CLOUD) },
        { STATE(IDLE), FLAG(POWER_DOWN) },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Pst__Transaction *tx = tx_new(T0);
        Pst__NodeRecord *set;

        begin("SlurmdTimeout=10\n", true);
        set = tx_node_patch(tx, EV(NODE_STATE), 0);
        SET(set, state, rows[i].state);
        SET(set, state_flags, rows[i].flags);
        apply_ok(core.ctld.cluster, tx);
        after(100 * SEC);
        if (n0->rec->state != rows[i].state || n0->rec->state_flags != rows[i].flags)
            fail_msg("row %zu: state %d, flags %#x", i, (int)n0->rec->state, n0->rec->state_flags);
        corefull_end();
    }
}

/* ResumeAfter= of an operator: back in service then, without its reason. */
static void test_resumes(void **state)
{
    (void)state;
    begin("SlurmdTimeout=0\n", false);
    (void)node_link_expect(&core.ctld, n0);
    assert_int_equal(corefull_ask(root, OP_NODE_UPDATE,
                                  "{'nodes':'n0','action':'NODE_ACT_DOWN',"
                                  "'set':{'reason':'fan','resume_after_s':60}}",
                                  NULL),
                     0);
    nodewatch_service.tick_writing(&core.ctld, n0->rec->resume_after_us - 1);
    assert_int_equal(n0->rec->state, STATE(DOWN));
    nodewatch_service.tick_writing(&core.ctld, n0->rec->resume_after_us);
    assert_int_equal(n0->rec->state, STATE(IDLE));
    assert_null(n0->rec->reason);
    assert_false(n0->rec->has_resume_after_us);
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent),    cmocka_unit_test(test_patient),
        cmocka_unit_test(test_short),     cmocka_unit_test(test_never_came),
        cmocka_unit_test(test_connected), cmocka_unit_test(test_let_be),
        cmocka_unit_test(test_resumes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
