/* test_jsondiag.c - numbers of sdiag --json and GET diag/: none is wider than declared */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/format/json_diag.h"

#define MUCH UINT64_C(5000000000)

/* A controller that has run for years: every counter has MUCH. */
static void make_reply(struct json *js, struct strbuf *sb, unsigned version)
{
    Pst__RpcStat rpc = PST__RPC_STAT__INIT, *rpcs[] = { &rpc };
    Pst__UserStat user = PST__USER_STAT__INIT, *users[] = { &user };
    Pst__DiagReply d = PST__DIAG_REPLY__INIT;
    uint64_t *all[] = {
        &d.jobs_submitted, &d.jobs_started,  &d.jobs_completed,    &d.jobs_cancelled,
        &d.jobs_failed,    &d.cycle_last_us, &d.cycle_max_us,      &d.cycle_total_us,
        &d.cycles,         &d.bf_started,    &d.cycle_depth_total, &d.bf_started_cycle,
        &d.bf_cycles,      &d.bf_last_us,    &d.bf_max_us,         &d.bf_total_us,
        &d.bf_depth_total, &d.acct_lag,      &d.bf_queue_total,    &d.bf_het_started,
        &rpc.count,        &rpc.total_us,    &user.count,          &user.total_us,
    };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        *all[i] = MUCH;
    d.cycles = d.bf_cycles = 1; /* so that means are as large */
    d.now_us = d.since_us = 1;
    rpc.name = user.name = (char *)"x";
    d.rpcs = rpcs;
    d.users = users;
    d.n_rpcs = d.n_users = 1;
    json_begin(js, sb, JSON_DENSE);
    js->version = version;
    json_diag(js, &d);
    json_end(js);
}

static uint64_t number_of(const char *text, const char *name)
{
    char key[64];
    const char *at;

    (void)snprintf(key, sizeof(key), "\"%s\":", name); /* fits */
    at = strstr(text, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 10);
}

static void test_widths(void **state)
{
    /* As others' clients of v0.0.42 to v0.0.45 declare them. */
    static const char *const wide[] = {
        "schedule_cycle_mean", "bf_cycle_mean", "bf_cycle_sum",
        "bf_depth_mean",       "total_time",    "bf_queue_len_mean"
    };
    static const char *const narrow[] = {
        "schedule_cycle_max",  "schedule_cycle_last",    "jobs_submitted",
        "jobs_failed",         "bf_depth_sum",           "bf_queue_len_sum",
        "bf_cycle_last",       "bf_backfilled_het_jobs", "count",
        "dbd_agent_queue_size"
    };

    (void)state;
    for (unsigned version = 42; version <= 45; version++) {
        struct json js;
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

        make_reply(&js, &sb, version);
        for (size_t i = 0; i < ARRAY_SIZE(wide); i++)
            assert_int_equal(number_of(strbuf_str(&sb), wide[i]), MUCH);
        for (size_t i = 0; i < ARRAY_SIZE(narrow); i++)
            assert_int_equal(number_of(strbuf_str(&sb), narrow[i]), INT32_MAX);
        assert_int_equal(number_of(strbuf_str(&sb), "schedule_cycle_sum"),
                         version < 44 ? INT32_MAX : MUCH);
    }
}

/* No version is named: the newest. */
static void test_newest(void **state)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    make_reply(&js, &sb, 0);
    assert_int_equal(number_of(strbuf_str(&sb), "schedule_cycle_sum"), MUCH);
    assert_int_equal(number_of(strbuf_str(&sb), "jobs_started"), INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_newest),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
