/* test_nodecxi.c - what a step's file says of Slingshot */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/words/slingshot.h"
#include "noded/plan/nodecxi.h"

static const char slurm[] =
    "ClusterName=t\nSlurmctldHost=h\nSwitchType=switch/hpe_slingshot\n"
    "SwitchParameters=def_les=2,max_txqs=5,destroy_retries=9,no_adjust_limits\n"
    "SlurmdParameters=devices_root=/made/up\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n";

static void test_plan(void **state)
{
    struct conf_text file = { .name = "slurm.conf", .text = slurm, .len = sizeof(slurm) - 1 };
    struct noded d = { .name = (char *)"n1" };
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__StepRecord step = PST__STEP_RECORD__INIT;
    uint32_t vnis[] = { 1024, 2000 };

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &d.conf, NULL, NULL), 0);
    on.job = &job;
    on.cpus = 4;
    job.uid = 1000;
    job.network = (char *)"tcs=bulk_data,depth=3";
    sf.job = &on;
    assert_int_equal(nodecxi_plan(&d, &sf), 0);
    assert_null(sf.cxi); /* a batch step */
    sf.step = &step;
    assert_int_equal(nodecxi_plan(&d, &sf), 0);
    assert_null(sf.cxi); /* a step without a VNI */
    step.vnis = vnis;
    step.n_vnis = 2;
    assert_int_equal(nodecxi_plan(&d, &sf), 0);
    assert_int_equal(sf.cxi->uid, 1000);
    assert_int_equal(sf.cxi->n_vnis, 2);
    assert_int_equal(sf.cxi->vnis[1], 2000);
    assert_int_equal(sf.cxi->tcs, SLINGSHOT_BULK_DATA);
    assert_int_equal(sf.cxi->retries, 9);
    assert_false(sf.cxi->adjust);
    assert_string_equal(sf.cxi->root, "/made/up");
    assert_int_equal(sf.cxi->reserved[SLINGSHOT_LES], 6); /* 2 for each of 3 */
    assert_int_equal(sf.cxi->most[SLINGSHOT_TXQS], 5);
    assert_int_equal(sf.cxi->reserved[SLINGSHOT_TXQS], 5);
    pst__cxi_plan__free_unpacked(sf.cxi, NULL);
    sf.cxi = NULL;
    step.network = (char *)"depth=1"; /* the step's own counts, not the job's */
    assert_int_equal(nodecxi_plan(&d, &sf), 0);
    assert_int_equal(sf.cxi->reserved[SLINGSHOT_LES], 2);
    assert_int_equal(sf.cxi->tcs, SLINGSHOT_LOW_LATENCY | SLINGSHOT_BEST_EFFORT);
    pst__cxi_plan__free_unpacked(sf.cxi, NULL);
    conf_free(d.conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
