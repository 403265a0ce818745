/* test_luarecord.c - a record of the schema as a Lua script reads and writes it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "fields.h"
#include "lua/luaapi.h"
#include "lua/luascript.h"
#include "lua/record.h"

#include "folder_util.h"

static char dir[256], path[300];
static struct luascript *script;
static Pst__JobRecord *job;
static int64_t special;

static void get_special(lua_State *L, ProtobufCMessage *msg, void *ctx)
{
    assert_ptr_equal(msg, job);
    assert_ptr_equal(ctx, &special);
    lua.pushinteger(L, special);
}

static void set_special(lua_State *L, int index, ProtobufCMessage *msg, void *ctx)
{
    int64_t n = 0;

    assert_ptr_equal(msg, job);
    if (luarecord_number(L, index, "special", LUA_NUM64, &n))
        *(int64_t *)ctx = n;
    else
        *(int64_t *)ctx = -1;
}

static const struct luarecord_row rows[] = {
    { "name", LUA_TEXT, JOB_F_NAME, false, NULL, NULL },
    { "tasks", LUA_NUM32, JOB_F_NUM_TASKS, false, NULL, NULL },
    { "threads", LUA_NUM16, JOB_F_THREADS_PER_CORE, false, NULL, NULL },
    { "mem", LUA_NUM64, JOB_F_MEM_PER_NODE_MIB, false, NULL, NULL },
    { "nice", LUA_NUM32, JOB_F_NICE, false, NULL, NULL },
    { "requeue", LUA_NUM16, JOB_F_REQUEUE, false, NULL, NULL },
    { "begin_time", LUA_SECONDS, JOB_F_BEGIN_US, false, NULL, NULL },
    { "user_id", LUA_NUM32, JOB_F_UID, true, NULL, NULL },
    { "special", LUA_SPECIAL, 0, false, get_special, set_special },
};
static const struct luarecord_type type = { "job_desc", rows, ARRAY_SIZE(rows) };

static void drop_log(int level, const char *text)
{
    (void)level;
    (void)text;
}

static int open_script(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    folder_make(dir, sizeof(dir), "lua");
    (void)snprintf(path, sizeof(path), "%s/site.lua", dir);
    assert_int_equal(luascript_new(path, 1000000, drop_log, NULL, NULL, &script, &err), 0);
    job = calloc(1, sizeof(*job));
    assert_non_null(job);
    pst__job_record__init(job);
    special = 5;
    return 0;
}

static int close_script(void **state)
{
    (void)state;
    luascript_free(script);
    protobuf_c_message_free_unpacked(&job->base, NULL);
    folder_remove(dir);
    return 0;
}

/* function f(r) BODY end, called with the record. */
static int run_body(const char *body, bool writable, int64_t *ret, struct err *err)
{
    FILE *f = fopen(path, "we");
    lua_State *L = NULL;
    int r;

    assert_non_null(f);
    assert_true(fprintf(f, "function f(r) %s end", body) > 0);
    assert_int_equal(fclose(f), 0);
    err->text[0] = '\0';
    r = luascript_begin(script, "f", &L, err);
    if (r < 0)
        fail_msg("%s", err->text);
    luarecord_push(L, &type, &job->base, &special, writable);
    return luascript_run(script, 1, ret, err);
}

static void expect_result(const char *body, int64_t want)
{
    struct err err;
    int64_t n = 0;

    if (run_body(body, true, &n, &err) < 0)
        fail_msg("%s: %s", body, err.text);
    if (n != want)
        fail_msg("%s: %lld", body, (long long)n);
}

static void expect_refusal(const char *body, bool writable, const char *words)
{
    struct err err;
    int64_t n = 0;

    assert_int_equal(run_body(body, writable, &n, &err), -EINVAL);
    if (!strstr(err.text, words))
        fail_msg("%s: no word of %s", err.text, words);
}

/* Numbers that are not there read as NO_VAL of their size, times as 0, texts as nil. */
static void test_absent(void **state)
{
    (void)state;
    expect_result("return r.tasks == slurm.NO_VAL and 1 or 0", 1);
    expect_result("return r.threads == slurm.NO_VAL16 and 1 or 0", 1);
    expect_result("return r.mem == slurm.NO_VAL64 and 1 or 0", 1);
    expect_result("return r.requeue == slurm.NO_VAL16 and 1 or 0", 1);
    expect_result("return r.begin_time", 0);
    expect_result("return r.name == nil and 1 or 0", 1);
    expect_result("return r.no_such_field == nil and 1 or 0", 1);
    expect_result("return r.special", 5);
}

static void test_read(void **state)
{
    (void)state;
    assert_int_equal(pb_set_str(&job->name, "sleepy"), 0);
    job->has_num_tasks = job->has_requeue = job->has_begin_us = job->has_nice = 1;
    job->num_tasks = 4000000000u;
    job->requeue = 1;
    job->begin_us = INT64_C(1700000000999999);
    job->nice = -50;
    expect_result("return r.name == 'sleepy' and 1 or 0", 1);
    expect_result("return r.tasks", 4000000000);
    expect_result("return r.requeue", 1);
    expect_result("return r.begin_time", 1700000000);
    expect_result("return r.nice", -50);
}

static void test_write(void **state)
{
    (void)state;
    expect_result("r.name = 'new' r.tasks = 7 r.threads = 2 r.mem = 1 << 40 r.nice = -3\n"
                  "r.requeue = 1 r.begin_time = 1700000000 r.special = 9 return 0",
                  0);
    assert_string_equal(job->name, "new");
    assert_true(job->has_num_tasks && job->num_tasks == 7);
    assert_true(job->has_threads_per_core && job->threads_per_core == 2);
    assert_true(job->has_mem_per_node_mib && job->mem_per_node_mib == UINT64_C(1) << 40);
    assert_true(job->has_nice && job->nice == -3);
    assert_true(job->has_requeue && job->requeue);
    assert_true(job->has_begin_us && job->begin_us == INT64_C(1700000000000000));
    assert_true(special == 9);
    expect_result(
        "r.name = nil r.tasks = slurm.NO_VAL r.threads = slurm.NO_VAL16\n"
        "r.mem = slurm.NO_VAL64 r.requeue = nil r.begin_time = 0 r.special = nil return 0",
        0);
    assert_null(job->name);
    assert_false(job->has_num_tasks || job->has_threads_per_core || job->has_mem_per_node_mib ||
                 job->has_requeue || job->has_begin_us);
    assert_true(special == -1);
    expect_result("r.tasks = slurm.NO_VAL16 return r.tasks", 65534); /* a number like others */
    expect_result("r.mem = slurm.NO_VAL16 return r.mem", 65534);
    expect_result("r.tasks = '12' return r.tasks", 12); /* as Lua takes numbers */
    expect_result("r.name = 5 return r.name == '5' and 1 or 0", 1);
    expect_result("r.name = '' return r.name == nil and 1 or 0", 1);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refusal("r.tasks = -1", true, "tasks: -1 is out of range");
    expect_refusal("r.tasks = 4294967296", true, "out of range");
    expect_refusal("r.threads = 65536", true, "threads: 65536 is out of range");
    expect_refusal("r.nice = 2147483648", true, "out of range");
    expect_refusal("r.begin_time = -1", true, "begin_time: -1 is no time");
    expect_refusal("r.begin_time = 1 << 62", true, "is no time");
    expect_refusal("r.tasks = 1.5", true, "tasks takes a whole number");
    expect_refusal("r.tasks = {}", true, "tasks takes a whole number");
    expect_refusal("r.name = {}", true, "string expected");
    expect_refusal("r.no_such_field = 1", true, "job_desc has no field no_such_field");
    expect_refusal("r.user_id = 0", true, "job_desc.user_id cannot be set");
    expect_refusal("r.name = 'x'", false, "job_desc.name cannot be set");
    assert_false(job->has_num_tasks || job->has_threads_per_core || job->has_nice ||
                 job->has_begin_us || job->has_uid);
    assert_null(job->name);
}

/* Kept from an older call, a record is of no use: what it showed has gone. */
static void test_stale(void **state)
{
    struct err err = { .text = "" };
    int64_t n = 0;
    lua_State *L = NULL;
    FILE *f = fopen(path, "we");

    (void)state;
    assert_non_null(f);
    assert_true(fputs("function f(r) kept = kept or r return kept.tasks end", f) > 0);
    assert_int_equal(fclose(f), 0);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(luascript_begin(script, "f", &L, &err), 0);
        luarecord_push(L, &type, &job->base, &special, true);
        assert_int_equal(luascript_run(script, 1, &n, &err), turn ? -EINVAL : 0);
    }
    assert_non_null(strstr(err.text, "this job_desc belongs to an earlier call"));
}

/* pairs(): what is there, in the order of the rows. */
static void test_pairs(void **state)
{
    (void)state;
    assert_int_equal(pb_set_str(&job->name, "a"), 0);
    job->has_num_tasks = 1;
    job->num_tasks = 3;
    expect_result("local all = '' for k, v in pairs(r) do all = all .. k .. '=' .. v .. ' ' end\n"
                  "return all == 'name=a tasks=3 special=5 ' and 1 or 0",
                  1);
}

int main(void)
{
#define WITH_SCRIPT(f) cmocka_unit_test_setup_teardown(f, open_script, close_script)
    const struct CMUnitTest tests[] = {
        WITH_SCRIPT(test_absent),  WITH_SCRIPT(test_read),  WITH_SCRIPT(test_write),
        WITH_SCRIPT(test_refused), WITH_SCRIPT(test_stale), WITH_SCRIPT(test_pairs),
    };
    struct err err = { .text = "" };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (lua_api_load(&err) < 0) {
        (void)printf("1..0 # skip %s\n", err.text);
        return 0;
    }
    return cmocka_run_group_tests_name("luarecord", tests, NULL, NULL);
}
