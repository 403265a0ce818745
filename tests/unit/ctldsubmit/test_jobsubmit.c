/* test_jobsubmit.c - job_submit.lua: what it reads of a request, what it changes, what it refuses
 *
 * One script has a function for each row of a table here; the job's name says which one runs. */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n0 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n"
    "PartitionName=other Nodes=ALL MaxTime=90\n";

static const char head[] = "local case = {}\n"
                           "function slurm_job_submit(d, parts, uid)\n"
                           "  local f = case[d.name]\n"
                           "  if f then return f(d, parts, uid) end\n"
                           "  return slurm.SUCCESS\n"
                           "end\n"
                           "function slurm_job_modify(d, job, parts, uid)\n"
                           "  if d.comment == 'no' then return slurm.ERROR end\n"
                           "  if d.comment then d.comment = d.comment .. job.name end\n"
                           "  return slurm.SUCCESS\n"
                           "end\n";

#define FAILED                                                                                     \
    "the site's job_submit.lua failed; its administrators find the reason in the log of slurmctld"

struct row {
    const char *name, *lua; /* body of function(d, parts, uid) */
    const char *job;        /* what the job asks for */
    int code;
    const char *has; /* of the job; or in the text of the refusal */
};
static const struct row rows[] = {
    { "limit", "d.time_limit = d.time_limit + 5", "'time_limit_min':10", 0, "'time_limit_min':15" },
    { "nolimit", "if d.time_limit ~= slurm.NO_VAL then return slurm.ERROR end d.time_limit = 7", "",
      0, "'time_limit_min':7" },
    { "badlimit", "d.time_limit = -1", "", SLURM_ERROR, FAILED },
    { "node memory", "d.pn_min_memory = d.pn_min_memory * 2", "'mem_per_node_mib':100", 0,
      "'mem_per_node_mib':200" },
    { "cpu memory", "d.pn_min_memory = d.pn_min_memory + 1", "'mem_per_cpu_mib':100", 0,
      "'mem_per_cpu_mib':101" },
    { "nice", "d.nice = d.nice + 3", "'nice':4", 0, "'nice':7" },
    { "badnice", "d.nice = 0", "", SLURM_ERROR, FAILED },
    { "whole", "d.shared = 0", "", 0, "'exclusive':1" },
    { "shared", "if d.shared ~= 0 then return slurm.ERROR end d.shared = 1", "'exclusive':1", 0,
      "'oversubscribe':true" },
    { "badshared", "d.shared = 5", "", SLURM_ERROR, FAILED },
    { "hold", "d.priority = 0", "", 0, "'priority':0" },
    { "badpriority", "d.priority = -3", "", SLURM_ERROR, FAILED },
    { "first", "d.bitflags = d.bitflags | slurm.EXPEDITED_REQUEUE", "", ESLURM_NOT_SUPPORTED,
      NULL },
    { "badflags", "d.bitflags = 1", "", SLURM_ERROR, FAILED },
    { "array", "d.array_inx = '0-2'", "", 0, "'array_tasks':'0-2'" },
    { "who", "d.comment = d.user_id .. ' ' .. uid .. ' ' .. d.group_id .. ' ' .. d.user_name", "",
      0, "'comment':'0 0 0 root'" },
    { "readonly", "d.user_id = 1", "", SLURM_ERROR, FAILED },
    { "unknown", "d.nosuchname = 1", "", SLURM_ERROR, FAILED },
    { "script", "d.comment = d.script:sub(1, 9)", "", 0, "'comment':'#!/bin/sh'" },
    { "parts", "d.partition = 'other' d.comment = tostring(parts.other.max_time)", "", 0,
      "'comment':'90'" },
    { "constants", "return slurm.ESLURM_INVALID_QOS", "", ESLURM_INVALID_QOS, NULL },
    { "message", "slurm.log_user('not today') return slurm.ERROR", "", SLURM_ERROR, "not today" },
    { "raises", "error('inside')", "", SLURM_ERROR, FAILED },
    { "endless", "while true do end", "", SLURM_ERROR, FAILED },
    { "jobs",
      "local n = 0 for id, j in pairs(slurm.jobs) do n = n + 1 end "
      "d.comment = (n > 0 and slurm.jobs[4000000] == nil) and 'some' or 'none'",
      "", 0, "'comment':'some'" },
    { "resvs",
      "local n = 0 for k in pairs(slurm.reservations) do n = n + 1 end "
      "d.comment = n .. tostring(slurm.reservations.x)",
      "", 0, "'comment':'0nil'" },
    { "plugins", "d.comment = d.spank_job_env.A .. tostring(d.spank_job_env.B)",
      "'spank_job_env':['A=1']", 0, "'comment':'1nil'" },
    { "account",
      "d.comment = tostring(d.default_account) .. tostring(d.default_qos) .. "
      "d.assoc_qos .. tostring(slurm.get_qos_priority('q'))",
      "", 0, "'comment':'rootnilnormalnil'" },
};

static struct daemon shared;

static int setup_script(void **state)
{
    char path[96];
    FILE *f;

    (void)state;
    (void)daemon_new(&shared);
    (void)snprintf(path, sizeof(path), "%s/job_submit.lua", shared.dir);
    f = fopen(path, "we");
    assert_non_null(f);
    fputs(head, f);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        fprintf(f, "case['%s'] = function(d, parts, uid) do %s end return slurm.SUCCESS end\n",
                rows[i].name, rows[i].lua);
    fprintf(f, "case['env'] = function(d) d.comment = d.environment.A d.environment.B = 2 "
               "d.environment.A = nil return slurm.SUCCESS end\n");
    assert_int_equal(fclose(f), 0);
    write_conf(&shared, "JobSubmitPlugins=lua", cluster);
    daemon_start(&shared, NULL, NULL);
    return 0;
}

static int teardown_script(void **state)
{
    int status = daemon_stop(&shared, SIGTERM);

    (void)state;
    daemon_free(&shared);
    return status;
}

static bool run_row(const struct row *r)
{
    char json[512];
    uint32_t id = 0;
    int code;

    (void)snprintf(json, sizeof(json), "{'job':{'name':'%s'%s%s}}", r->name, *r->job ? "," : "",
                   r->job);
    code = submit_as(&shared, shared.client, json, &id);
    if (code != r->code ||
        (code && r->has ? !strstr(shared.text, r->has) : !code && !job_has(&shared, id, r->has))) {
        print_error("# %s: %d '%s'\n", r->name, code, shared.text);
        return false;
    }
    if (!code)
        assert_int_equal(act(&shared, id, "CANCEL"), 0);
    return true;
}

static void test_rows(void **state)
{
    uint32_t id = submit(&shared, "{'job':{'name':'there'}}"); /* for those that look at jobs */
    unsigned bad = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        bad += !run_row(&rows[i]);
    assert_int_equal(bad, 0);
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
}

/* A variable of the environment that the script took is gone when the job starts, another is there.
 */
static void test_environment(void **state)
{
    struct fake_node *n = node_up(&shared, "n0", "boot", NULL);
    uint32_t id = submit(&shared, "{'job':{'name':'env'},'environment':'QT0xAEM9MwA='}");
    Pst__LaunchBatch *launch;

    (void)state;
    assert_job(&shared, id, "'comment':'1'");
    launch = (Pst__LaunchBatch *)node_take(n, OP_LAUNCH_BATCH, id);
    assert_null(memmem(launch->environment.data, launch->environment.len, "A=1", 4));
    assert_non_null(memmem(launch->environment.data, launch->environment.len, "B=2", 4));
    assert_non_null(memmem(launch->environment.data, launch->environment.len, "C=3", 4));
    protobuf_c_message_free_unpacked(&launch->base, NULL);
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
    node_free(n);
}

/* A change goes through slurm_job_modify, which sees the job. */
static void test_modify(void **state)
{
    uint32_t id = submit(&shared, "{'job':{'name':'mod','begin_us':99999999999999999}}");

    (void)state;
    assert_int_equal(update(&shared, id, "'set':{'comment':'of '}"), 0);
    assert_job(&shared, id, "'comment':'of mod'");
    assert_int_equal(update(&shared, id, "'set':{'comment':'no'}"), SLURM_ERROR);
    assert_job(&shared, id, "'comment':'of mod'");
    assert_int_equal(act(&shared, id, "CANCEL"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
                                        cmocka_unit_test(test_environment),
                                        cmocka_unit_test(test_modify) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup_script, teardown_script);
}
