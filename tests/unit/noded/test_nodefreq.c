/* test_nodefreq.c - which frequency a step is to have: its own, CpuFreqDef, or none */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "conf/conf.h"
#include "noded/plan/nodefreq.h"
#include "stepd/shared/spool.h"

static struct conf *read_conf(const char *more)
{
    struct conf_text file = { .name = "slurm.conf" };
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n CPUs=2\nPartitionName=p "
                   "Nodes=ALL\n%s",
                   more);
    file.text = text;
    file.len = strlen(text);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, &err), 0);
    return conf;
}

static void test_choice(void **state)
{
    static const char def[] = "CpuFreqDef=powersave\n",
                      batch[] = "LaunchParameters=batch_step_set_cpu_freq\n",
                      inter[] = "LaunchParameters=interactive_step_set_cpu_freq\n";
    static const struct {
        const char *conf;
        uint32_t step;
        const char *asked, *want;
        bool is_default;
    } rows[] = {
        { "", 0, NULL, NULL, false },
        { "", 0, "low", "low", false },
        { def, 0, "low", "low", false },
        { def, 0, NULL, "powersave", true },
        { def, STEP_ID_BATCH, NULL, NULL, false },
        { def, STEP_ID_BATCH, "low", NULL, false },
        { batch, STEP_ID_BATCH, "low", "low", false },
        { batch, STEP_ID_INTERACTIVE, "low", NULL, false },
        { inter, STEP_ID_INTERACTIVE, "low", "low", false },
        { inter, STEP_ID_BATCH, "low", NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct noded d = { .name = (char *)"n" };
        Pst__StepFile sf = PST__STEP_FILE__INIT;
        Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
        Pst__JobRecord job = PST__JOB_RECORD__INIT;
        Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;

        d.conf = read_conf(rows[i].conf);
        on.job = &job;
        sf.job = &on;
        sf.step_id = rows[i].step;
        job.cpu_freq = launch.cpu_freq = (char *)rows[i].asked;
        sf.launch = rows[i].step == STEP_ID_BATCH ? NULL : &launch;
        assert_int_equal(nodefreq_plan(&d, &sf), 0);
        assert_int_equal(sf.cpu_freq != NULL, rows[i].want != NULL);
        if (rows[i].want) {
            assert_string_equal(sf.cpu_freq, rows[i].want);
            assert_int_equal(sf.cpu_freq_default, rows[i].is_default);
            assert_string_equal(sf.cpu_governors, "OnDemand,Performance,UserSpace");
        }
        free(sf.cpu_freq);
        free(sf.cpu_governors);
        conf_free(d.conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_choice) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
