/* test_tgserve.c - the queue of requests, the configuration and the metrics of the service */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topograph/serve/tgconfig.h"
#include "topograph/serve/tgmetrics.h"
#include "topograph/serve/tgqueue.h"

#define S INT64_C(1000000)

/* ---- the queue ------------------------------------------------------------------------------- */

static void put_text(struct tgqueue *q, const char *id, const char *text, int64_t now_us)
{
    char *copy = strdup(text);

    assert_int_equal(tgqueue_put(q, id, copy, strlen(copy), now_us), 0);
}

static void expect_state(struct tgqueue *q, const char *id, enum tgqueue_state want,
                         const char *want_body)
{
    const char *body = NULL;
    unsigned status;
    size_t len = 0;

    assert_int_equal(tgqueue_find(q, id, &status, &body, &len), want);
    if (want_body)
        assert_true(len == strlen(want_body) && (!len || memcmp(body, want_body, len) == 0));
}

static void expect_due(struct tgqueue *q, int64_t now_us, const char *want, int64_t want_due_us)
{
    char id[TGREQUEST_ID_SIZE], *text = NULL;
    int64_t due_us;
    size_t len;
    int got = tgqueue_take(q, now_us, id, &text, &len, &due_us);

    assert_int_equal(got, want != NULL);
    if (want)
        assert_string_equal(text, want);
    else
        assert_int_equal(due_us, want_due_us);
    free(text);
}

/* The same request again is one run, and the delay begins anew. */
static void test_delay(void **state)
{
    struct tgqueue *q;

    (void)state;
    assert_int_equal(tgqueue_new(15 * S, &q), 0);
    expect_due(q, 0, NULL, INT64_MAX);
    expect_state(q, "a", TGQUEUE_UNKNOWN, NULL);
    put_text(q, "a", "first", 0);
    put_text(q, "b", "other", 2 * S);
    put_text(q, "a", "second", 10 * S);
    expect_due(q, 16 * S, NULL, 17 * S);
    expect_due(q, 17 * S, "other", 0);
    tgqueue_finish(q, 200, strdup("of b"), 4);
    expect_due(q, 20 * S, NULL, 25 * S);
    expect_state(q, "a", TGQUEUE_WAITS, NULL);
    expect_due(q, 25 * S, "second", 0);
    expect_state(q, "a", TGQUEUE_WAITS, NULL); /* it runs */
    put_text(q, "a", "third", 26 * S);
    tgqueue_finish(q, 200, strdup("of a"), 4);
    expect_state(q, "a", TGQUEUE_WAITS, NULL); /* asked again meanwhile */
    expect_due(q, 60 * S, "third", 0);
    tgqueue_finish(q, 400, strdup("wrong"), 5);
    expect_state(q, "a", TGQUEUE_DONE, "wrong");
    expect_state(q, "b", TGQUEUE_DONE, "of b");
    tgqueue_free(q);
}

static void test_queue_limits(void **state)
{
    struct tgqueue *q;
    char id[TGREQUEST_ID_SIZE], *text = strdup("x");

    (void)state;
    assert_int_equal(tgqueue_new(0, &q), 0);
    for (unsigned i = 0; i < TGQUEUE_WAITING_MAX; i++) {
        (void)snprintf(id, sizeof(id), "%016x", i);
        put_text(q, id, "{}", i);
    }
    assert_int_equal(tgqueue_put(q, "one more", text, 1, 0), -EBUSY);
    put_text(q, id, "again is no more", 0);
    for (unsigned i = 0; i < TGQUEUE_WAITING_MAX; i++) {
        char got[TGREQUEST_ID_SIZE], *taken;
        int64_t due_us;
        size_t len;

        assert_int_equal(tgqueue_take(q, S, got, &taken, &len, &due_us), 1);
        free(taken);
        tgqueue_finish(q, 200, NULL, 0);
    }
    put_text(q, "one more", "{}", S);
    expect_due(q, S, "{}", 0);
    tgqueue_finish(q, 200, strdup("last"), 4); /* the 101st: the oldest is forgotten */
    expect_state(q, "one more", TGQUEUE_DONE, "last");
    expect_state(q, "0000000000000000", TGQUEUE_UNKNOWN, NULL);
    expect_state(q, "0000000000000001", TGQUEUE_DONE, "");
    assert_int_equal(tgqueue_put(q, "large", text, TGQUEUE_WAITING_BYTES + 1, 0), -EBUSY);
    free(text);
    tgqueue_free(q);
}

/* ---- the configuration ----------------------------------------------------------------------- */

#define NEEDED "http: {port: 49021}\nrequestAggregationDelay: 1m30s\n"

static void test_config(void **state)
{
    static const char text[] =
        NEEDED "provider: infiniband-bm\nproviderParams:\n  file: [a, b]\n  trimTiers: 1\n"
               "engine: slurm\nengineParams: {plugin: topology/block, blockSizes: [16, 32]}\n"
               "env: {PATH: /opt, X: 'y'}\npageSize: 100\n";
    struct tgconfig c;
    struct err err = { .text = "" };
    char *dump;

    (void)state;
    assert_int_equal(tgconfig_parse(text, strlen(text), &c, &err), 0);
    assert_int_equal(c.port, 49021);
    assert_int_equal(c.delay_us, 90 * S);
    assert_string_equal(c.ignored, "pageSize");
    assert_string_equal(json_string_value(json_object_get(c.env, "X")), "y");
    dump = json_dumps(c.defaults, JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(dump, "{\"engine\":{\"name\":\"slurm\",\"params\":{\"blockSizes\":[16,32],"
                              "\"plugin\":\"topology/block\"}},\"provider\":{\"name\":"
                              "\"infiniband-bm\",\"params\":{\"file\":[\"a\",\"b\"],\"trimTiers\":"
                              "1}}}");
    free(dump);
    tgconfig_done(&c);
}

static const struct {
    const char *text, *say;
} bad_configs[] = {
    { "", "http.port is missing" },
    { "http: {port: 1}\n", "requestAggregationDelay is missing" },
    { "http: {port: 70000}\n", "http.port: a port from 1 to 65535 is expected" },
    { "http: {port: 1, ssl: true}\n", "http.ssl: there is no TLS here; put a proxy before it" },
    { NEEDED "colour: red\n", "unknown key colour" },
    { NEEDED "providerParams: [1]\n", "providerParams: a mapping is expected" },
    { NEEDED "provider: {}\n", "provider: a name is expected" },
    { NEEDED "env: {A: 1}\n", "env: A is not a text" },
    { "requestAggregationDelay: 15\nhttp: {port: 1}\n",
      "requestAggregationDelay: a duration up to a day is expected, as 15s" },
    { "- a\n", "a mapping is expected" },
    { "a: [\n", NULL },
    { "a: &x [1, 2]\nb: *x\n", "unknown key a" },
};

static void test_bad_configs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad_configs); i++) {
        struct tgconfig c;
        struct err err = { .text = "" };

        assert_int_equal(tgconfig_parse(bad_configs[i].text, strlen(bad_configs[i].text), &c, &err),
                         -EINVAL);
        assert_true(err.text[0] != '\0');
        if (bad_configs[i].say)
            assert_string_equal(err.text, bad_configs[i].say);
    }
}

static void test_durations(void **state)
{
    static const struct {
        const char *text;
        int64_t us; /* -1: none */
    } cases[] = { { "15s", 15 * S }, { "500ms", S / 2 },   { "1m30s", 90 * S }, { "0", 0 },
                  { "0s", 0 },       { "24h", 86400 * S }, { "25h", -1 },       { "", -1 },
                  { "5", -1 },       { "s", -1 },          { "-1s", -1 },       { "1s5", -1 },
                  { "1d", -1 },      { "9999999999s", -1 } };
    int64_t us;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(tgconfig_duration(cases[i].text, &us), cases[i].us < 0 ? -EINVAL : 0);
        if (cases[i].us >= 0)
            assert_int_equal(us, cases[i].us);
    }
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void test_metrics(void **state)
{
    struct strbuf out = STRBUF_INIT;
    struct tgmetrics *m;

    (void)state;
    assert_int_equal(tgmetrics_new(&m), 0);
    tgmetrics_add(m, TGMETRIC_RUN, "provider=\"aws\"", 0.5);
    tgmetrics_add(m, TGMETRIC_RUN, "provider=\"aws\"", 7);
    tgmetrics_add(m, TGMETRIC_VALIDATION, "type=\"request\"", 1);
    tgmetrics_add(m, TGMETRIC_VALIDATION, "type=\"request\"", 1);
    tgmetrics_add(m, TGMETRIC_MISSING, "", 4);
    tgmetrics_add(m, TGMETRIC_MISSING, "", 3);
    tgmetrics_write(m, "1.2", &out);
    assert_non_null(strstr(strbuf_str(&out), "topograph_version{version=\"1.2\"} 1\n"));
    assert_non_null(
        strstr(strbuf_str(&out),
               "topograph_request_duration_seconds_bucket{provider=\"aws\",le=\"5\"} 1\n"
               "topograph_request_duration_seconds_bucket{provider=\"aws\",le=\"10\"} 2\n"));
    assert_non_null(strstr(strbuf_str(&out),
                           "topograph_request_duration_seconds_sum{provider=\"aws\"} 7.500000\n"
                           "topograph_request_duration_seconds_count{provider=\"aws\"} 2\n"));
    assert_non_null(
        strstr(strbuf_str(&out), "topograph_validation_error_total{type=\"request\"} 2\n"));
    assert_non_null(strstr(strbuf_str(&out), "topograph_missing_topology{} 3\n"));
    strbuf_done(&out);
    tgmetrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay),     cmocka_unit_test(test_queue_limits),
        cmocka_unit_test(test_config),    cmocka_unit_test(test_bad_configs),
        cmocka_unit_test(test_durations), cmocka_unit_test(test_metrics),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
