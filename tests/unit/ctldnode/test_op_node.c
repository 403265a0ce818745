/* test_op_node.c - what operators do to nodes: states, reasons, features, devices, addresses */
#include "corefull_util.h"

#include "ctld/policy/bootwait.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
#define STATE(x) PST__NODE_STATE__NODE_##x

static int update(const char *json)
{
    return corefull_ask(root, OP_NODE_UPDATE, json, NULL);
}

static const Pst__NodeRecord *record(uint32_t id)
{
    return core.ctld.cluster->nodes[id]->rec;
}

/* Put the node where a case begins. */
static void place(uint32_t id, Pst__NodeState node_state, uint32_t flags)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__NodeRecord *set = tx_node_patch(tx, EV(NODE_STATE), id);

    SET(set, state, node_state);
    SET(set, state_flags, flags);
    assert_int_equal(pb_set_str(&set->reason, "before"), 0);
    apply_ok(core.ctld.cluster, tx);
}

/* What each action makes of a connected node. */
static const struct {
    const char *action;
    Pst__NodeState state;
    uint32_t flags;
    int code;
    Pst__NodeState want;
    uint32_t want_flags;
} actions[] = {
    { "DRAIN", STATE(IDLE), 0, 0, STATE(IDLE), FLAG(DRAIN) },
    { "FAIL", STATE(IDLE), 0, 0, STATE(IDLE), FLAG(FAIL) },
    { "DOWN", STATE(IDLE), FLAG(DRAIN), 0, STATE(DOWN), FLAG(DRAIN) },
    { "UNDRAIN", STATE(DOWN), FLAG(DRAIN) | FLAG(FAIL), 0, STATE(DOWN), 0 },
    { "RESUME", STATE(DOWN), FLAG(DRAIN), 0, STATE(IDLE), 0 },
    { "RESUME", STATE(IDLE), FLAG(DRAIN), 0, STATE(IDLE), 0 },
    { "RESUME", STATE(IDLE), FLAG(REBOOT_REQUESTED), 0, STATE(IDLE), 0 },
    { "RESUME", STATE(IDLE), 0, ESLURM_INVALID_NODE_STATE_TRANSITION, STATE(IDLE), 0 },
    { "IDLE", STATE(DOWN), FLAG(INVALID_REG), 0, STATE(IDLE), 0 },
    { "IDLE", STATE(FUTURE), 0, 0, STATE(IDLE), 0 },
    { "RESUME", STATE(FUTURE), 0, 0, STATE(IDLE), 0 },
    { "FUTURE", STATE(IDLE), FLAG(DYNAMIC_FUTURE), 0, STATE(FUTURE), 0 },
    { "OTHER", STATE(IDLE), 0, ESLURM_INVALID_NODE_STATE_TRANSITION, STATE(IDLE), 0 },
    { "POWER_DOWN", STATE(IDLE), 0, ESLURM_INVALID_POWER_ACTION, STATE(IDLE), 0 }, /* none here */
};

static void test_actions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        char json[128];
        int code;

        corefull_begin("", 1);
        place(0, actions[i].state, actions[i].flags);
        (void)snprintf(json, sizeof(json), "{'nodes':'n0','action':'NODE_ACT_%s'}",
                       actions[i].action);
        code = update(json);
        if (code != actions[i].code || record(0)->state != actions[i].want ||
            record(0)->state_flags != actions[i].want_flags)
            fail_msg("row %zu, %s: code %d, state %d, flags %#x", i, actions[i].action, code,
                     (int)record(0)->state, record(0)->state_flags);
        corefull_end();
    }
}

/* A node whose slurmd is away comes back as UNKNOWN: nobody knows how it is. */
static void test_away(void **state)
{
    (void)state;
    corefull_begin("", 1);
    node_link_drop(&core.ctld, core.ctld.cluster->nodes[0]);
    place(0, STATE(DOWN), 0);
    assert_int_equal(update("{'nodes':'n0','action':'NODE_ACT_RESUME'}"), 0);
    assert_int_equal(record(0)->state, STATE(UNKNOWN));
    corefull_end();
}

/* A reason stays while the node is out of service, with who gave it and when; it goes with that. */
static void test_reason(void **state)
{
    int64_t before = now_us();

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'nodes':'n0','action':'NODE_ACT_DRAIN','set':{'reason':'fan'}}"), 0);
    assert_string_equal(record(0)->reason, "fan");
    assert_int_equal(record(0)->reason_uid, 0);
    assert_true(record(0)->reason_us >= before);
    assert_int_equal(update("{'nodes':'n0','action':'NODE_ACT_DOWN'}"), 0);
    assert_string_equal(record(0)->reason, "fan");
    assert_int_equal(update("{'nodes':'n0','action':'NODE_ACT_RESUME'}"), 0);
    assert_null(record(0)->reason);
    assert_false(record(0)->has_reason_uid || record(0)->has_reason_us);
    corefull_end();
}

/* ResumeAfter= counts from now; another state ends it. */
static void test_resume_after(void **state)
{
    int64_t before = now_us();

    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'nodes':'n0','action':'NODE_ACT_DRAIN',"
                            "'set':{'reason':'x','resume_after_s':60}}"),
                     0);
    assert_true(record(0)->resume_after_us >= before + 60 * SEC);
    assert_true(record(0)->resume_after_us <= now_us() + 60 * SEC);
    assert_false(record(0)->has_resume_after_s);
    assert_int_equal(update("{'nodes':'n0','action':'NODE_ACT_DOWN'}"), 0);
    assert_false(record(0)->has_resume_after_us);
    corefull_end();
}

/* A name that is no node's ends a request; the nodes before it are changed, as in recording 46.
 * Those that their state keeps are told of, and the others go. */
static void test_lists(void **state)
{
    uint64_t lsn;

    (void)state;
    corefull_begin("", 3);
    assert_int_equal(update("{'nodes':'n[0,9,1]','action':'NODE_ACT_DRAIN','set':{'reason':'x'}}"),
                     ESLURM_INVALID_NODE_NAME);
    assert_string_equal(record(0)->reason, "x");
    assert_null(record(1)->reason);
    lsn = core.ctld.applied_lsn;
    assert_int_equal(update("{'nodes':'n[8-9],n1','set':{'reason':'x'}}"),
                     ESLURM_INVALID_NODE_NAME);
    assert_int_equal(update("{'nodes':'n[','action':'NODE_ACT_DRAIN'}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(update("{'action':'NODE_ACT_DRAIN'}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(core.ctld.applied_lsn, lsn);
    place(1, STATE(DOWN), 0);
    assert_int_equal(update("{'nodes':'ALL','action':'NODE_ACT_RESUME'}"),
                     ESLURM_INVALID_NODE_STATE_TRANSITION);
    assert_int_equal(record(1)->state, STATE(IDLE));
    /* an address each, of one node or of all */
    assert_int_equal(update("{'nodes':'n[0-2]','set':{'addr':'a[0-1]'}}"),
                     ESLURM_INVALID_NODE_NAME);
    assert_int_equal(update("{'nodes':'n[0-2]','set':{'addr':'a[0-2]'}}"), 0);
    assert_string_equal(record(2)->addr, "a2");
    corefull_end();
}

/* Fields that are the controller's own to say, and fields of a later release. */
static void test_fields(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'nodes':'n0','set':{'cpus':64}}"), ESLURM_NOT_SUPPORTED);
    assert_int_equal(update("{'nodes':'n0','set':{'state_flags':64}}"), ESLURM_NOT_SUPPORTED);
    assert_int_equal(record(0)->cpus, 4);
    assert_int_equal(update("{'nodes':'n0','set':{'weight':7,'comment':'c'}}"), 0);
    assert_int_equal(record(0)->weight, 7);
    assert_string_equal(record(0)->comment, "c");
    corefull_end();
}

/* Active features are among the available ones; features named alone are all active. */
static void test_features(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(update("{'nodes':'n0','set':{'features':'a,b'}}"), 0);
    assert_int_equal(update("{'nodes':'n0','set':{'active_features':'c'}}"),
                     ESLURM_ACTIVE_FEATURE_NOT_SUBSET);
    assert_int_equal(update("{'nodes':'n0','set':{'active_features':'b'}}"), 0);
    assert_string_equal(record(0)->active_features, "b");
    assert_int_equal(update("{'nodes':'n0','set':{'features':'a'}}"),
                     ESLURM_ACTIVE_FEATURE_NOT_SUBSET);
    assert_int_equal(update("{'nodes':'n0','set':{'features':'a,b,c'}}"), 0);
    assert_null(record(0)->active_features);
    corefull_end();
}

/* Gres= shows what the node has; no more of a kind that is known. */
static void test_gres(void **state)
{
    Pst__Transaction *tx;

    (void)state;
    corefull_begin("GresTypes=gpu\n", 1);
    tx = tx_new(T0);
    assert_int_equal(pb_set_str(&tx_node_patch(tx, EV(NODE_CONFIG), 0)->gres, "gpu:a100:4"), 0);
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(update("{'nodes':'n0','set':{'gres':'gpu:a100:5'}}"), ESLURM_INVALID_GRES);
    assert_int_equal(update("{'nodes':'n0','set':{'gres':'gpu:h100:4'}}"), ESLURM_INVALID_GRES);
    assert_int_equal(update("{'nodes':'n0','set':{'gres':'gpu:'}}"), ESLURM_INVALID_GRES);
    assert_int_equal(update("{'nodes':'n0','set':{'gres':'gpu:a100:4'}}"), 0);
    assert_string_equal(record(0)->gres, "gpu:a100:4"); /* jobs get what gres.conf says */
    assert_int_equal(update("{'nodes':'n0','set':{'gres':'gpu:a100:0'}}"), 0);
    assert_string_equal(record(0)->gres, "gpu:a100:4");
    assert_string_equal(record(0)->gres_shown, "gpu:a100:0");
    corefull_end();
}

/* DOWN ends what runs there, and nothing elsewhere. */
static void test_down(void **state)
{
    struct job *here, *there;
    Pst__Transaction *tx;

    (void)state;
    corefull_begin("", 2);
    here = corefull_run(1, 1, NULL);
    there = core_job(&core, 2, NULL);
    core_start(2, 1, &tx)->alloc->node_ids[0] = 1;
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(update("{'nodes':'n0','action':'NODE_ACT_DOWN','set':{'reason':'x'}}"), 0);
    assert_int_equal(job_state(here->rec), JOB_STATE(NODE_FAIL));
    assert_int_equal(job_state(there->rec), JOB_STATE(RUNNING));
    corefull_end();
}

static void is_external(Pst__JobRecord *r)
{
    SET(r, external, true);
}

/* Power of a node without a slurmd is nobody's to switch: it refuses, and its jobs go on. */
static void test_force(void **state)
{
    struct job *here, *outside;
    Pst__Transaction *tx;

    (void)state;
    corefull_begin("SuspendProgram=/bin/true\nResumeProgram=/bin/true\n", 2);
    place(1, STATE(IDLE), FLAG(EXTERNAL));
    here = corefull_run(1, 1, NULL);
    outside = core_job(&core, 2, is_external);
    core_start(2, 1, &tx)->alloc->node_ids[0] = 1;
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(
        update("{'nodes':'n[0-1]','action':'NODE_ACT_POWER_DOWN_FORCE','set':{'reason':'x'}}"),
        ESLURM_INVALID_NODE_STATE_TRANSITION);
    assert_true(record(0)->state_flags & FLAG(POWER_DOWN) ||
                record(0)->state_flags & NODE_POWER_BITS);
    assert_false(record(1)->state_flags & FLAG(POWER_DOWN));
    assert_int_not_equal(job_state(here->rec), JOB_STATE(RUNNING));
    assert_int_equal(job_state(outside->rec), JOB_STATE(RUNNING));
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions),  cmocka_unit_test(test_away),
        cmocka_unit_test(test_reason),   cmocka_unit_test(test_resume_after),
        cmocka_unit_test(test_lists),    cmocka_unit_test(test_fields),
        cmocka_unit_test(test_features), cmocka_unit_test(test_gres),
        cmocka_unit_test(test_down),     cmocka_unit_test(test_force),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
