/* test_admission.c - limits at submission: numbers of jobs, sizes under DenyOnLimit, odd numbers */
#include "model_util.h"

#include "ctld/policy/admission.h"
#include "model/account/assoc.h"

#define QOS 2u

static struct ctld ctld;

static int setup(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\nAccountingStorageEnforce=limits\n"
                               "NodeName=n0 CPUs=8\nPartitionName=all Nodes=n0\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };

    (void)state;
    ctld = (struct ctld){ .cluster = new_cluster() };
    return conf_load_text(&file, 1, CONF_FULL, &ctld.conf, NULL, NULL);
}

static int teardown(void **state)
{
    (void)state;
    conf_free(ctld.conf);
    cluster_free(ctld.cluster);
    return 0;
}

/* The QOS of all jobs here; `l` is copied. */
static void set_qos(Pst__Limits *l, bool deny)
{
    static uint64_t version;
    Pst__AcctChange change = PST__ACCT_CHANGE__INIT;
    Pst__QosRecord q = PST__QOS_RECORD__INIT;

    SET(&q, qos_id, QOS);
    q.name = (char *)"q";
    SET(&q, flags, deny ? 1u << PST__QOS_FLAG__QOS_DENY_ON_LIMIT : 0);
    q.limits = l;
    change.body_case = PST__ACCT_CHANGE__BODY_QOS;
    change.qos = &q;
    SET(&change, version, ++version);
    assert_int_equal(am_apply(ctld.cluster->am, &change, NULL), 0);
}

static const char *refusal(uint32_t cpus, uint32_t minutes, bool unlimited, uint32_t n)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    const char *word = "";

    SET(&r, uid, 1000);
    SET(&r, qos_id, QOS);
    SET(&r, num_tasks, cpus);
    SET(&r, min_nodes, 1);
    if (unlimited)
        SET(&r, time_unlimited, true);
    else
        SET(&r, time_limit_min, minutes);
    r.account = (char *)"a";
    return admission_check(&ctld, NULL, &r, n, false, &word) == 0 ? "" : word;
}

static void test_numbers(void **state)
{
    Pst__Limits l = PST__LIMITS__INIT;

    (void)state;
    SET(&l, max_submit_jobs_per_user, 3);
    set_qos(&l, false); /* numbers refuse without DenyOnLimit */
    assert_string_equal(refusal(1, 1, false, 3), "");
    assert_string_equal(refusal(1, 1, false, 4), "QOSMaxSubmitJobPerUserLimit");
    assert_string_equal(refusal(1, 1, false, UINT32_MAX), "QOSMaxSubmitJobPerUserLimit");
    SET(&l, max_submit_jobs_per_user, -1); /* none */
    set_qos(&l, false);
    assert_string_equal(refusal(1, 1, false, UINT32_MAX), "");
}

static void test_minutes(void **state)
{
    Pst__Limits l = PST__LIMITS__INIT;
    Pst__TresCount cpu = PST__TRES_COUNT__INIT, *list[] = { &cpu };

    (void)state;
    SET(&cpu, tres_id, AM_TRES_CPU);
    SET(&cpu, count, 10);
    l.max_tres_mins_per_job = list;
    l.n_max_tres_mins_per_job = 1;
    set_qos(&l, true);
    assert_string_equal(refusal(2, 5, false, 1), "");
    assert_string_equal(refusal(2, 6, false, 1), "QOSMaxCpuMinutesPerJobLimit");
    assert_string_equal(refusal(1, 0, true, 1), "QOSMaxCpuMinutesPerJobLimit");
    assert_string_equal(refusal(4000000, 4000000000u, false, 1), "QOSMaxCpuMinutesPerJobLimit");
    assert_string_equal(refusal(8, 0, false, 1), ""); /* no time at all: a client may say so */
    set_qos(&l, false);
    assert_string_equal(refusal(2, 6, false, 1), ""); /* the scheduler holds it back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_minutes, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
