/* test_jsonefficiency.c - what a run used of what it held, for programs */
#include "cli/format/jsonefficiency.h"

#include "json_util.h"

static void expect_json(const char *job, const char *want)
{
    Pst__AcctJob *a = (Pst__AcctJob *)from_json(&pst__acct_job__descriptor, job);
    _cleanup_free_ char *text = quoted(want);
    struct strbuf sb = STRBUF_INIT;
    struct json js;

    json_begin(&js, &sb, JSON_DENSE);
    json_list(&js, "l");
    efficiency_json(a, INT64_C(2000000000), &js);
    json_list_end(&js);
    json_end(&js);
    if (!strstr(strbuf_str(&sb), text))
        fail_msg("%s is not in %s", text, strbuf_str(&sb));
    strbuf_done(&sb);
    pst__acct_job__free_unpacked(a, NULL);
}

#define JOB                                                                                        \
    "{'job':{'job_id':7,'state':'JOB_COMPLETED','submit_us':1000000,'eligible_us':1000000,"        \
    "'start_us':11000000,'end_us':1011000000,'time_limit_min':30,"                                 \
    "'alloc':{'node_ids':[0],'total_cpus':4,'groups':[{'nodes':1,'cpus':4,'mem_mib':4096}]}},"     \
    "'steps':[{'job_id':7,'step_id':0,'num_tasks':1,'start_us':11000000,'end_us':1011000000,"      \
    "'usage':{'user_us':3000000000,'max_rss_kib':1048576}}]}"

static void test_figures(void **state)
{
    (void)state;
    expect_json(JOB, "'job_id':7,'state':'COMPLETED','wait_seconds':10,'elapsed_seconds':1000,"
                     "'limit_seconds':1800,'nodes':1,'cpus':4,'cpu_seconds':3000.0,'");
    expect_json(JOB, "'cpu_percent':75.0,'");
    expect_json(JOB, "'memory_mib':1024,'memory_held_mib':4096,'memory_percent':25.0,'");
    expect_json(JOB, "'gpus':0,'advice':'");
    expect_json(JOB, "'could_be_better':");
}

/* What cannot be told has no figure; a task of an array names its array. */
static void test_unmeasured(void **state)
{
    static const char task[] =
        "{'job':{'job_id':8,'array_job_id':5,'array_task_id':3,'state':'JOB_CANCELLED'}}";

    (void)state;
    expect_json(task, "{'job_id':8,'array_job_id':5,'array_task_id':3,'state':'CANCELLED',");
    expect_json(task, "'cpu_seconds':0.0,'memory_mib':0,'memory_held_mib':0,'gpus':0,");
    expect_json(task, "'could_be_better':false}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_unmeasured),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
