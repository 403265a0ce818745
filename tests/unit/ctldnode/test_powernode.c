/* test_powernode.c - what registrations and operators mean for a node's power, what jobs wait for,
 * and what ResumeProgram is told */
#include "model_util.h"

#include "conf/conf.h"
#include "ctld/node/bootsteps.h"
#include "ctld/node/powerexcept.h"
#include "ctld/node/powernode.h"
#include "ctld/node/powersave.h"
#include "ctld/node/powersettings.h"
#include "ctld/node/resumefile.h"
#include "ctld/policy/bootwait.h"
#include "wire/errors.h"

static struct conf *read_conf(const char *more)
{
    struct conf_text file = { .name = "slurm.conf" };
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n[0-3] CPUs=2\nPartitionName=p "
                   "Nodes=ALL ResumeTimeout=90\n%s",
                   more);
    file.text = text;
    file.len = strlen(text);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, &err), 0);
    return conf;
}

#define PROGRAMS "SuspendProgram=/bin/true\nResumeProgram=/bin/true\n"

static void test_registration(void **state)
{
    static const struct {
        uint32_t flags;
        int64_t start_us;
        const char *boot;
        enum power_reg want;
        bool resumed; /* ResumeProgram has ended well */
    } cases[] = {
        { 0, 5, "a", POWER_REG_PLAIN },
        { NODE_BIT(POWER_DOWN), 5, "a", POWER_REG_PLAIN },
        { NODE_BIT(POWERED_DOWN), 5, "a", POWER_REG_REFUSED }, /* the slurmd of before */
        { NODE_BIT(POWERED_DOWN), 6, "a", POWER_REG_UP },
        { NODE_BIT(POWERED_DOWN), 5, "b", POWER_REG_UP }, /* booted anew */
        { NODE_BIT(POWERING_UP), 5, "a", POWER_REG_REFUSED },
        { NODE_BIT(POWERING_UP), 5, "a", POWER_REG_UP, .resumed = true }, /* it was never off */
        { NODE_BIT(POWERED_DOWN), 5, "a", POWER_REG_REFUSED, .resumed = true },
        { NODE_BIT(POWERING_UP), 6, "a", POWER_REG_UP },
        { NODE_BIT(POWERING_DOWN), 6, "b", POWER_REG_REFUSED },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pst__NodeRecord old = PST__NODE_RECORD__INIT, reg = PST__NODE_RECORD__INIT;

        SET(&old, state_flags, cases[i].flags);
        SET(&old, power_done, cases[i].resumed);
        SET(&old, slurmd_start_us, 5);
        old.boot_id = (char *)"a";
        SET(&reg, slurmd_start_us, cases[i].start_us);
        reg.boot_id = (char *)cases[i].boot;
        assert_int_equal(power_reg_judge(&old, &reg), cases[i].want);
    }
}

static void test_operators(void **state)
{
    struct ctld ctld = { .conf = read_conf("") };
    Pst__NodeRecord rec = PST__NODE_RECORD__INIT;
    struct node n = { .rec = &rec };
    Pst__NodeState now = PST__NODE_STATE__NODE_DOWN;
    uint32_t flags = NODE_BIT(POWERED_DOWN) | NODE_BIT(POWER_DOWN);

    (void)state;
    assert_false(power_is_on(&ctld));
    assert_int_equal(power_act(&ctld, PST__NODE_ACTION__NODE_ACT_POWER_UP, &n, &now, &flags),
                     ESLURM_INVALID_POWER_ACTION);
    conf_free(ctld.conf);
    ctld.conf = read_conf(PROGRAMS);
    assert_true(power_is_on(&ctld));
    assert_int_equal(power_act(&ctld, PST__NODE_ACTION__NODE_ACT_POWER_UP, &n, &now, &flags), 0);
    assert_int_equal(flags, NODE_BIT(POWERED_DOWN) | NODE_BIT(POWER_UP));
    assert_int_equal(
        power_act(&ctld, PST__NODE_ACTION__NODE_ACT_POWER_DOWN_FORCE, &n, &now, &flags), 0);
    assert_int_equal(flags, NODE_BIT(POWERED_DOWN) | NODE_BIT(POWER_DOWN) | NODE_BIT(DRAIN));
    assert_int_equal(now, PST__NODE_STATE__NODE_IDLE);
    flags = 0; /* it is up: nothing to do */
    assert_int_equal(power_act(&ctld, PST__NODE_ACTION__NODE_ACT_POWER_UP, &n, &now, &flags), 0);
    assert_int_equal(flags, 0);
    conf_free(ctld.conf);
}

static void test_jobs(void **state)
{
    struct ctld ctld = { .conf = read_conf(PROGRAMS "SuspendExcNodes=n1\n"),
                         .cluster = new_cluster() };
    struct cluster *c = ctld.cluster;
    _cleanup_(bitmap_free) struct bitmap *set = NULL;
    _cleanup_free_ char *text = NULL;
    Pst__Transaction *tx;
    Pst__JobRecord *r;
    int64_t until;

    (void)state;
    add_nodes(c, 4, 2);
    tx = tx_new(T0);
    SET(put_part(tx, "p", "n[0-3]"), resume_timeout_s, 90);
    SET(tx_node_patch(tx, EV(NODE_POWER), 1), state_flags, NODE_BIT(POWERING_UP));
    apply_ok(c, tx);
    add_job(c, 7);
    start_job(c, 7, make_alloc(0, 2, 2, 100), T0);
    tx = tx_new(T0);
    tx_job_patch(tx, EV(JOB_UPDATE), 7)->partition = tx_strdup("p"); /* texts of jobs are shared */
    apply_ok(c, tx);
    r = cluster_job(c, 7)->rec;
    assert_int_equal(pb_set_str(&r->alloc->nodes, "n[0-1]"), 0);
    assert_true(bootwait_any_awaited(c, r->alloc));
    assert_true(bootwait_needed(&ctld, r, r->alloc, &until));
    assert_in_range(until, core_now() + 80 * USEC_PER_SEC, core_now() + 90 * USEC_PER_SEC);
    assert_int_equal(bootwait_patience_s(&ctld, r->alloc), 90);
    assert_int_equal(bootwait_timeout_s(&ctld, c->nodes[0]), 90);
    assert_false(bootwait_holds_batch(&ctld, cluster_job(c, 7))); /* it does not say so */
    bootsteps_recheck(&ctld, cluster_job(c, 7));                  /* nor does it wait */
    SET(r, power_pending, true);
    assert_true(bootwait_awaits(&ctld, cluster_job(c, 7)));
    assert_false(bootwait_holds_grant(&ctld, cluster_job(c, 7))); /* salloc begins at once */
    assert_false(bootwait_holds_batch(&ctld, cluster_job(c, 7))); /* its own node is up */
    SET(r, wait_all_nodes, true);
    assert_true(bootwait_holds_batch(&ctld, cluster_job(c, 7)));
    assert_true(bootwait_holds_grant(&ctld, cluster_job(c, 7)));
    assert_int_equal(bitmap_new(5, &set), 0);
    bitmap_set(set, 1);
    assert_int_equal(resumefile_text(c, "n1", set, &text), 0);
    assert_string_equal(text,
                        "{\"all_nodes_resume\":\"n1\",\"jobs\":[{\"job_id\":7,\"extra\":null,"
                        "\"features\":null,\"nodes_alloc\":\"n[0-1]\",\"nodes_resume\":\"n1\","
                        "\"oversubscribe\":\"OK\",\"exclusive\":\"NO\",\"partition\":\"p\","
                        "\"reservation\":null}]}\n");
    assert_string_equal(power_except_text(&ctld, CONF_SUSPEND_EXC_NODES), "n1");
    tx = tx_new(T0);
    SET(tx_cluster(tx), suspend_exc_own, true);
    tx_cluster(tx)->suspend_exc_nodes = tx_strdup("");
    apply_ok(c, tx);
    assert_string_equal(power_except_text(&ctld, CONF_SUSPEND_EXC_NODES), ""); /* an operator's */
    cluster_free(c);
    conf_free(ctld.conf);
}

static bool exceeds(struct ctld *ctld, const char *names)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    assert_int_equal(hostlist_parse(names, &hl, NULL), 0);
    return power_exceeds(ctld, hl);
}

static void set_flags(struct cluster *c, uint32_t id, uint32_t flags)
{
    Pst__Transaction *tx = tx_new(T0);

    SET(tx_node_patch(tx, EV(NODE_POWER), id), state_flags, flags);
    apply_ok(c, tx);
}

/* max_powered_nodes, and what an operator asks for. */
static void test_limit(void **state)
{
    struct ctld ctld = { .conf = read_conf(PROGRAMS "SlurmctldParameters=max_powered_nodes=2\n"),
                         .cluster = new_cluster() };
    struct cluster *c = ctld.cluster;

    (void)state;
    add_nodes(c, 4, 2);
    for (uint32_t i = 0; i < 3; i++)
        set_flags(c, i, NODE_BIT(POWERED_DOWN)); /* n3 is up */
    assert_false(exceeds(&ctld, "n3"));
    assert_false(exceeds(&ctld, "n0"));
    assert_false(exceeds(&ctld, "n[0,3]"));
    assert_true(exceeds(&ctld, "n[0-1]"));
    assert_false(exceeds(&ctld, "nobody"));
    set_flags(c, 1, NODE_BIT(POWERED_DOWN) | NODE_BIT(POWER_UP)); /* asked for */
    assert_false(exceeds(&ctld, "n1"));
    assert_true(exceeds(&ctld, "n0"));
    set_flags(c, 3, NODE_BIT(EXTERNAL));
    assert_false(exceeds(&ctld, "n0"));
    conf_free(ctld.conf);
    ctld.conf = read_conf(PROGRAMS);
    assert_false(exceeds(&ctld, "n[0-3]"));
    cluster_free(c);
    conf_free(ctld.conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registration),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_limit),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
