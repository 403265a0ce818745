/* test_completewait.c - which jobs hold up the starts of others, and until when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "ctld/core/service.h"
#include "ctld/schedlink/completewait.h"

extern const struct ctld_service completewait_service;

static struct conf *conf_with(const char *lines)
{
    struct conf_text file = { .name = "slurm.conf" };
    struct conf *conf = NULL;
    char text[512];

    (void)snprintf(
        text, sizeof(text),
        "ClusterName=t\nSlurmctldHost=h\n%sNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n", lines);
    file.text = text;
    file.len = strlen(text);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
    return conf;
}

static void job_ends(struct ctld *ctld, struct job *j, bool cleans)
{
    SET(j->rec, state_flags, cleans ? JOB_FLAG(COMPLETING) : 0);
    completewait_service.on_job(ctld, j, PST__EVENT_KIND__EV_JOB_END);
}

static void test_waits(void **state)
{
    struct conf *conf = conf_with("CompleteWait=10\n");
    Pst__JobRecord r1 = PST__JOB_RECORD__INIT, r2 = PST__JOB_RECORD__INIT;
    struct job one = { .rec = &r1 }, two = { .rec = &r2 };
    struct partition p = { .rec = NULL };
    struct ctld ctld = { .conf = conf };

    (void)state;
    SET(&r1, job_id, 1);
    SET(&r2, job_id, 2);
    job_ends(&ctld, &one, true); /* the journal is read */
    completewait_service.recovered(&ctld);
    assert_false(completewait_pauses(&ctld, &p));
    assert_false(completewait_moved(&ctld));
    job_ends(&ctld, &one, true);
    assert_true(completewait_pauses(&ctld, &p));
    assert_true(completewait_moved(&ctld));
    assert_false(completewait_moved(&ctld)); /* it was told */
    for (int i = 0; i < 40; i++)
        job_ends(&ctld, &two, true);
    SET(&r1, state_flags, 0);
    completewait_service.on_job(&ctld, &one, PST__EVENT_KIND__EV_JOB_CLEANED);
    assert_true(completewait_pauses(&ctld, &p)); /* for the other */
    completewait_service.on_job_gone(&ctld, &two);
    assert_false(completewait_pauses(&ctld, &p));
    assert_true(completewait_moved(&ctld));
    job_ends(&ctld, &one, false); /* it had nothing to clean */
    assert_false(completewait_pauses(&ctld, &p));
    job_ends(&ctld, &one, true);
    completewait_service.tick(&ctld, now_us() + 8 * USEC_PER_SEC);
    assert_true(completewait_pauses(&ctld, &p));
    completewait_service.tick(&ctld, now_us() + 11 * USEC_PER_SEC);
    assert_false(completewait_pauses(&ctld, &p));
    completewait_service.free(&ctld);
    conf_free(conf);
}

static void test_off(void **state)
{
    struct conf *conf = conf_with("");
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    struct job one = { .rec = &r };
    struct partition p = { .rec = NULL };
    struct ctld ctld = { .conf = conf };

    (void)state;
    SET(&r, job_id, 1);
    completewait_service.recovered(&ctld);
    job_ends(&ctld, &one, true);
    assert_false(completewait_pauses(&ctld, &p));
    assert_false(completewait_moved(&ctld));
    completewait_service.free(&ctld);
    conf_free(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_off),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
