/* test_reboot.c - reboots of nodes: asked for, taken back, issued when the node is idle, over or
 * given up */
#include "corefull_util.h"

#include "ctld/node/reboot.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
#define STATE(x) PST__NODE_STATE__NODE_##x
#define PROGRAM "RebootProgram=/sbin/reboot\n"

static int reboot(const char *json)
{
    return corefull_ask(root, OP_NODE_REBOOT, json, NULL);
}

static struct node *node(uint32_t id)
{
    return core.ctld.cluster->nodes[id];
}

/* A reboot that is asked for waits until no job has the node; asap keeps new ones away. */
static void test_asked(void **state)
{
    struct conn *link;
    struct told t;

    (void)state;
    corefull_begin(PROGRAM, 2);
    (void)corefull_run(1, 1, NULL);
    assert_int_equal(reboot("{'nodes':'n0','asap':true}"), 0);
    assert_true(node(0)->rec->state_flags & FLAG(REBOOT_REQUESTED));
    assert_true(node(0)->rec->state_flags & FLAG(DRAIN));
    assert_string_equal(node(0)->rec->reason, "Reboot ASAP");
    reboot_tick(&core.ctld, node(0), now_us());
    assert_true(node(0)->rec->state_flags & FLAG(REBOOT_REQUESTED)); /* the job has it */
    end_job(core.ctld.cluster, 1, JOB_STATE(COMPLETED), T0 + SEC, true);
    link = node_link_take(&core.ctld, node(0));
    reboot_tick(&core.ctld, node(0), now_us());
    assert_true(node(0)->rec->state_flags & FLAG(REBOOT_REQUESTED)); /* nobody to tell */
    node_link_set(&core.ctld, node(0), link);
    reboot_tick(&core.ctld, node(0), now_us());
    coreask_settle(&core);
    assert_true(node(0)->rec->state_flags & FLAG(REBOOT_ISSUED));
    assert_false(node(0)->rec->state_flags & FLAG(REBOOT_REQUESTED));
    assert_int_equal(node(0)->rec->state, STATE(DOWN));
    assert_string_equal(node(0)->rec->reason, "Reboot ASAP : reboot issued");
    t = coreask_take(link, OP_NODE_REBOOT_NOW);
    assert_non_null(t.conn);
    drop_told(&t);
    (void)conn_unref(link);
    /* it is on its way: not once more */
    assert_int_equal(reboot("{'nodes':'n[0-1]'}"), ESLURM_REBOOT_IN_PROGRESS);
    assert_string_equal(coreask_text, "Skipping reboot of nodes n0 due to current node state.");
    corefull_end();
}

static void test_refused(void **state)
{
    (void)state;
    corefull_begin("", 1);
    assert_int_equal(reboot("{'nodes':'n0'}"), ESLURM_DISABLED);
    assert_non_null(strstr(coreask_text, "RebootProgram"));
    corefull_end();
    corefull_begin(PROGRAM, 1);
    assert_int_equal(reboot("{'nodes':'n0','next_state':'IDLE'}"), ESLURM_INVALID_NODE_STATE);
    assert_int_equal(reboot("{'nodes':'n0','action':'cold'}"), ESLURM_INVALID_POWER_ACTION);
    assert_int_equal(reboot("{'nodes':'n[0-1]'}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(reboot("{'nodes':'n[0'}"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(reboot("{}"), ESLURM_INVALID_NODE_NAME);
    assert_false(node(0)->rec->state_flags & FLAG(REBOOT_REQUESTED));
    corefull_end();
}

/* What was not issued can be taken back: the drain that came with it goes, one that was there
 * before stays, with its reason. */
static void test_cancel(void **state)
{
    (void)state;
    corefull_begin(PROGRAM, 2);
    (void)corefull_run(1, 2, NULL); /* else they are issued at once */
    assert_int_equal(corefull_ask(root, OP_NODE_UPDATE,
                                  "{'nodes':'n1','action':'NODE_ACT_DRAIN','set':{'reason':'fan'}}",
                                  NULL),
                     0);
    assert_int_equal(reboot("{'nodes':'n[0-1]','asap':true,'reason':'kernel'}"), 0);
    assert_int_equal(reboot("{'nodes':'n[0-1]','cancel':true}"), 0);
    assert_int_equal(node(0)->rec->state_flags, 0);
    assert_null(node(0)->rec->reason);
    assert_int_equal(node(1)->rec->state_flags, FLAG(DRAIN));
    assert_non_null(node(1)->rec->reason);
    assert_int_equal(reboot("{'nodes':'n0','cancel':true}"), ESLURM_INVALID_NODE_STATE_TRANSITION);
    corefull_end();
}

/* Forced: its jobs end, those of other nodes do not. */
static void test_force(void **state)
{
    struct job *here, *there;
    Pst__Transaction *tx;

    (void)state;
    corefull_begin(PROGRAM, 2);
    here = corefull_run(1, 1, NULL);
    there = core_job(&core, 2, NULL);
    core_start(2, 1, &tx)->alloc->node_ids[0] = 1;
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(reboot("{'nodes':'n0','force':true}"), 0);
    assert_int_equal(strncmp(node(0)->rec->reason, "Reboot FORCE", 12), 0);
    assert_int_not_equal(job_state(here->rec), JOB_STATE(RUNNING));
    assert_int_equal(job_state(there->rec), JOB_STATE(RUNNING));
    corefull_end();
}

/* A node that does not come back within ResumeTimeout stays down, and its reason says so, behind
 * why it was to boot. */
static void test_late(void **state)
{
    int64_t issued_us;

    (void)state;
    corefull_begin(PROGRAM "ResumeTimeout=600\n", 1);
    assert_int_equal(reboot("{'nodes':'n0'}"), 0);
    issued_us = now_us();
    reboot_tick(&core.ctld, node(0), issued_us);
    assert_true(node(0)->rec->reboot_us <= now_us());
    reboot_tick(&core.ctld, node(0), node(0)->rec->reboot_us + 600 * SEC);
    assert_true(node(0)->rec->state_flags & FLAG(REBOOT_ISSUED));
    reboot_tick(&core.ctld, node(0), node(0)->rec->reboot_us + 601 * SEC);
    assert_false(node(0)->rec->state_flags & FLAG(REBOOT_ISSUED));
    assert_int_equal(node(0)->rec->state, STATE(DOWN));
    assert_string_equal(node(0)->rec->reason,
                        "reboot requested : reboot issued : reboot timed out");
    corefull_end();
    /* drained for the reboot alone: it is down, as Debian's Slurm has it, not drained for ever */
    corefull_begin(PROGRAM "ResumeTimeout=600\n", 1);
    assert_int_equal(reboot("{'nodes':'n0','asap':true,'reason':'kernel','next_state':'DOWN'}"), 0);
    reboot_tick(&core.ctld, node(0), now_us());
    assert_true(node(0)->rec->state_flags & FLAG(DRAIN));
    reboot_tick(&core.ctld, node(0), node(0)->rec->reboot_us + 601 * SEC);
    assert_int_equal(node(0)->rec->state, STATE(DOWN));
    assert_false(node(0)->rec->state_flags & FLAG(DRAIN));
    assert_string_equal(node(0)->rec->reason, "kernel : reboot issued : reboot timed out");
    corefull_end();
}

/* Back with another boot, or a later one; slurmd that merely began anew is not that. */
static void test_over(void **state)
{
    Pst__NodeRecord n = PST__NODE_RECORD__INIT, reg = PST__NODE_RECORD__INIT;

    (void)state;
    n.boot_id = (char *)"b1";
    reg.boot_id = (char *)"b1";
    SET(&n, reboot_us, T0);
    assert_false(reboot_over(&n, &reg)); /* none was issued */
    SET(&n, state_flags, FLAG(REBOOT_ISSUED));
    assert_false(reboot_over(&n, &reg));
    SET(&reg, boot_us, T0 - SEC);
    assert_false(reboot_over(&n, &reg));
    SET(&reg, boot_us, T0 + SEC);
    assert_true(reboot_over(&n, &reg));
    reg.has_boot_us = false;
    reg.boot_id = (char *)"b2";
    assert_true(reboot_over(&n, &reg));
}

/* What becomes of it then: as it was asked, else in service, unless it was drained before. */
static const struct {
    const char *next;
    bool asap;
    uint32_t flags;
    Pst__NodeState state;
    uint32_t want_flags;
    bool clears;
} backs[] = {
    { NULL, false, FLAG(REBOOT_ISSUED), STATE(IDLE), 0, true },
    { NULL, false, FLAG(REBOOT_ISSUED) | FLAG(DRAIN), STATE(IDLE), FLAG(DRAIN), false },
    { NULL, true, FLAG(REBOOT_ISSUED) | FLAG(DRAIN), STATE(IDLE), 0, true },
    { "RESUME", false, FLAG(REBOOT_ISSUED) | FLAG(DRAIN), STATE(IDLE), 0, true },
    { "DOWN", false, FLAG(REBOOT_ISSUED), STATE(DOWN), 0, false },
    { "DOWN", true, FLAG(REBOOT_ISSUED) | FLAG(DRAIN), STATE(DOWN), 0, false },
};

static void test_back(void **state)
{
    struct ctld ctld = { .conf = conf_with_lines("") };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(backs); i++) {
        Pst__NodeRecord n = PST__NODE_RECORD__INIT, set = PST__NODE_RECORD__INIT;
        uint32_t flags = backs[i].flags;

        n.next_state = (char *)backs[i].next;
        SET(&n, reboot_asap, backs[i].asap);
        if (reboot_done(&ctld, &n, &set, &flags) != backs[i].clears ||
            set.state != backs[i].state || flags != backs[i].want_flags)
            fail_msg("row %zu: state %d, flags %#x", i, (int)set.state, flags);
        assert_true(backs[i].state != STATE(DOWN) || strcmp(set.reason, "reboot complete") == 0);
        free(set.reason);
    }
    conf_free(ctld.conf);
}

/* Lists of nodes: names, all, and those of a NodeSet. */
static void test_names(void **state)
{
    struct hostlist *hl = NULL;

    (void)state;
    corefull_begin("", 3);
    assert_int_equal(nodenames_parse(&core.ctld, "all", &hl), 0);
    assert_int_equal(hostlist_count(hl), 3);
    hl = hostlist_free(hl);
    assert_int_equal(nodenames_parse(&core.ctld, "n[1-2]", &hl), 0);
    assert_string_equal(hostlist_nth(hl, 1), "n2");
    hl = hostlist_free(hl);
    assert_int_equal(nodenames_parse(&core.ctld, "n[1-", &hl), -EINVAL);
    assert_int_equal(nodenames_parse(&core.ctld, "n[0-99999999]", &hl), -E2BIG);
    assert_null(hl);
    corefull_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked), cmocka_unit_test(test_refused), cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_force), cmocka_unit_test(test_late),    cmocka_unit_test(test_over),
        cmocka_unit_test(test_back),  cmocka_unit_test(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
