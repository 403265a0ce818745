/* test_rest.c - whole requests over a socket: rows, callers, frames, long answers; no daemon */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/format/json_diag.h"
#include "cli/format/licenseuse.h"
#include "cli/format/sharetree.h"
#include "conf/conf.h"
#include "rest/rest.h"
#include "rest/restauth.h"
#include "rest/slurm/restbatch.h"
#include "rest/slurm/restconf.h"
#include "rest/slurm/restctld.h"
#include "rest/slurm/restutil.h"
#include "rest/slurm/restfigures.h"
#include "rest/slurm/restjobbody.h"
#include "rest/slurm/restjobchange.h"
#include "rest/slurm/restjobs.h"
#include "rest/restlink.h"
#include "rest/slurm/restkeys.h"
#include "rest/slurm/restnodechange.h"
#include "rest/slurm/restnodes.h"
#include "rest/rest_impl.h"
#include "rest/slurm/restoutput.h"
#include "rest/restopenapi.h"
#include "rest/restpump.h"
#include "rest/restschema.h"
#include "rest/resttake.h"
#include "rest/restreply.h"
#include "rest/slurm/restresources.h"
#include "rest/slurm/restresvchange.h"
#include "rest/restd/restrows.h"
#include "rest/restserve.h"
#include "rest/slurm/restsubmit.h"
#include "rest/slurm/resttopology.h"
#include "rest/restvalue.h"
#include "wire/errors.h"

#define LONG_ROWS 20000

/* ---- handlers of the test -------------------------------------------------------------------- */

static void answer_words(struct rest_call *call)
{
    int64_t us = 0;

    json_str(&call->js, "word", call->word);
    json_str(&call->js, "q", rest_query(call, "q"));
    json_bool(&call->js, "flag", rest_query_flag(call, "flags", "DETAIL"));
    json_bool(&call->js, "true", rest_query_true(call, "t"));
    json_str(&call->js, "token", call->caller->token);
    json_str(&call->js, "name", call->caller->name);
    json_str(&call->js, "header", rest_header(call, "Idempotency-Key"));
    if (rest_query_time(call, "update_time", &us))
        json_int(&call->js, "time", us);
}

static void answer_body(struct rest_call *call)
{
    json_str(&call->js, "name", call->body ? rest_text(call->body, "name") : "none");
}

static void answer_error(struct rest_call *call)
{
    rest_error(call, ESLURM_INVALID_PARTITION_NAME, "here()", "Batch job submission failed");
    rest_error_said(call, ESLURM_INVALID_JOB_ID, "said", "there()", "second");
    rest_warning(call, "#/job/x/", "Ignoring");
}

static void answer_long(struct rest_call *call)
{
    json_list(&call->js, "rows");
    for (int i = 0; i < LONG_ROWS && rest_flush(call) == 0; i++)
        json_str(&call->js, NULL, "a row of a long answer, which does not fit into one piece");
    json_list_end(&call->js);
}

static void answer_unchanged(struct rest_call *call)
{
    rest_unchanged(call);
}

static const struct rest_row own_rows[] = {
    { "GET", REST_SLURM, "words/{}", 0, answer_words, false },
    { "POST", REST_SLURM, "body", 0, answer_body, false },
    { "GET", REST_SLURM, "error", 0, answer_error, false },
    { "GET", REST_SLURM, "long", 0, answer_long, true },
    { "GET", REST_SLURM, "unchanged", 0, answer_unchanged, false },
    { 0 },
};
static const struct rest_row *const own_tables[] = { own_rows, NULL };

/* ---- asking ---------------------------------------------------------------------------------- */

static const char conf_text[] = "ClusterName=test\nSlurmctldHost=localhost\nSlurmctldPort=1\n"
                                "MessageTimeout=2\nNodeName=n1\nPartitionName=p Nodes=n1\n";

static struct rest *start(const struct rest_row *const *rows, bool jwt, bool local)
{
    static struct conf *conf;
    const struct conf_text file = { "slurm.conf", conf_text, strlen(conf_text) };
    struct rest_config config = {
        .rows = rows,
        .jwt = jwt,
        .local = local,
        .versions = UINT64_MAX,
        .plugins = ~0u,
    };
    struct err err = { .text = "" };
    struct rest *rest = NULL;

    if (!conf)
        assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &conf, NULL, &err), 0);
    config.conf = conf;
    assert_int_equal(rest_new(&config, &rest, &err), 0);
    return rest;
}

static char answer[8u * 1024 * 1024];

static const char *ask(struct rest *rest, const char *text)
{
    struct err err = { .text = "" };
    size_t len = 0;
    ssize_t n;
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(rest_take(rest, sv[1], &err), 0);
    assert_int_equal(send(sv[0], text, strlen(text), MSG_NOSIGNAL), strlen(text));
    assert_int_equal(shutdown(sv[0], SHUT_WR), 0);
    while ((n = recv(sv[0], answer + len, sizeof(answer) - 1 - len, 0)) > 0)
        len += (size_t)n;
    answer[len] = '\0';
    assert_int_equal(close(sv[0]), 0);
    return answer;
}

#define HEAD " HTTP/1.1\r\nHost: x\r\n"
#define GET(path) "GET /slurm/v0.0.45/" path HEAD "X-SLURM-USER-TOKEN: a.b.c\r\n\r\n"

static void has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("no \"%s\" in: %.2000s", part, text ? text : "");
}

static void test_words(void **state)
{
    struct rest *rest = start(own_tables, true, false);
    const char *got =
        ask(rest, "GET /slurm/v0.0.44/words/a%20b?q=%41+x&flags=all,detail&t&update_time=5" HEAD
                  "Authorization: Bearer t.o.k\r\nX-SLURM-USER-NAME: bin\r\n"
                  "Idempotency-Key: k1\r\n\r\n");

    has(got, "HTTP/1.1 200 OK\r\n");
    has(got, "Content-Type: application/json\r\n");
    has(got, "\"word\": \"a b\",\n  \"q\": \"A x\",\n  \"flag\": true,\n  \"true\": true,\n"
             "  \"token\": \"t.o.k\",\n  \"name\": \"bin\",\n  \"header\": \"k1\",\n"
             "  \"time\": 5000000,\n  \"meta\": {");
    has(got, "\"data_parser\": \"data_parser\\/v0.0.44\"");
    has(got, "\"cluster\": \"test\"");
    has(got, "  \"errors\": [\n  ],\n  \"warnings\": [\n  ]\n}");
    got = ask(rest, GET("words/x?update_time=soon"));
    has(got, "HTTP/1.1 422 ");
    has(got, "update_time=soon is no time in seconds since 1970");
    has(ask(rest, GET("words/x?%zz=1")), "HTTP/1.1 400 ");
    rest = rest_free(rest);
}

static void test_who_asks(void **state)
{
    struct rest *rest = start(own_tables, true, false);
    const char nobody[] = "GET /slurm/v0.0.45/error" HEAD "\r\n";

    has(ask(rest, nobody), "\r\n\r\nAuthentication failure");
    has(ask(rest, nobody), "HTTP/1.1 401 ");
    rest = rest_free(rest);
    rest = start(own_tables, false, true); /* ourselves, at the other end of the socket */
    has(ask(rest, nobody), "HTTP/1.1 422 ");
    has(ask(rest, GET("words/x")), "\"token\": \"\"");
    rest = rest_free(rest);
}

static void test_bodies(void **state)
{
    struct rest *rest = start(own_tables, true, false);

#define POST(type, len, body)                                                                      \
    "POST /slurm/v0.0.45/body" HEAD "X-SLURM-USER-TOKEN: a\r\n" type "Content-Length: " len        \
    "\r\n\r\n" body
    has(ask(rest, POST("Content-Type: application/json\r\n", "12", "{\"name\":\"x\"}")),
        "\"name\": \"x\"");
    has(ask(rest,
            POST("Content-Type: application/json; charset=utf-8\r\n", "12", "{\"name\":\"x\"}")),
        "\"name\": \"x\"");
    has(ask(rest, POST("", "12", "{\"name\":\"x\"}")), "\"name\": \"x\"");
    has(ask(rest, POST("Content-Type: application/x-yaml\r\n", "7", "name: y")), "\"name\": \"y\"");
    has(ask(rest, POST("", "0", "")), "\"name\": \"none\"");
    has(ask(rest, POST("Content-Type: application/json\r\n", "9", "{bad json")),
        "\r\n\r\nFailure during parsing");
    has(ask(rest, POST("Content-Type: application/json\r\n", "9", "{bad json")), "HTTP/1.1 400 ");
    has(ask(rest, POST("Content-Type: text/html\r\n", "1", "x")), "HTTP/1.1 415 ");
    rest = rest_free(rest);
}

static void test_errors(void **state)
{
    struct rest *rest = start(own_tables, true, false);
    const char *got = ask(rest, GET("error"));

    has(got, "HTTP/1.1 422 ");
    has(got,
        "\r\n\r\n{\n  \"errors\": [\n    {\n      \"description\": \"Batch job submission failed\",\n"
        "      \"error_number\": 2000,\n      \"error\": \"Invalid partition name specified\",\n"
        "      \"source\": \"here()\"\n    },\n");
    has(got, "\"error\": \"said\"");
    has(got, "  \"warnings\": [\n    {\n      \"description\": \"Ignoring\",\n"
             "      \"source\": \"#\\/job\\/x\\/\"\n    }\n  ],\n  \"meta\": {\n");
    got = ask(rest, GET("unchanged"));
    has(got, "HTTP/1.1 304 ");
    assert_string_equal(strstr(got, "\r\n\r\n"), "\r\n\r\n");
    assert_int_equal(rest_status_of(0), 200);
    assert_int_equal(rest_status_of(ESLURM_INVALID_JOB_ID), 404);
    assert_int_equal(rest_status_of(SLURM_PROTOCOL_AUTHENTICATION_ERROR), 511);
    assert_int_equal(rest_status_of(EPST_UNREACHABLE), 503);
    assert_int_equal(rest_status_of(ESLURM_ACCESS_DENIED), 422);
    rest = rest_free(rest);
}

/* The body of an answer in chunks, without their sizes. */
static void join_chunks(const char *got, struct strbuf *body)
{
    const char *p = strstr(got, "\r\n\r\n");
    size_t len;

    assert_non_null(p);
    for (p += 4; (len = strtoul(p, NULL, 16)) > 0; p += len + 2) {
        p = strstr(p, "\r\n") + 2;
        assert_true(strlen(p) >= len + 2);
        strbuf_addn(body, p, len);
    }
}

static void test_long(void **state)
{
    struct rest *rest = start(own_tables, true, false);
    const char *got = ask(rest, GET("long"));
    struct strbuf body = STRBUF_INIT;
    size_t rows = 0;

    has(got, "Transfer-Encoding: chunked\r\n");
    join_chunks(got, &body);
    for (const char *p = strbuf_str(&body); (p = strstr(p, "a row of a long")); p++)
        rows++;
    assert_int_equal(rows, LONG_ROWS);
    has(strbuf_str(&body), "\"warnings\": [\n  ]\n}");
    strbuf_done(&body);
    rest = rest_free(rest);
}

/* Whoever goes away in the middle of a long answer ends it. */
static void test_gone(void **state)
{
    struct rest *rest = start(own_tables, true, false);
    struct err err = { .text = "" };
    char buf[100];
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(rest_take(rest, sv[1], &err), 0);
    assert_true(send(sv[0], GET("long"), strlen(GET("long")), MSG_NOSIGNAL) > 0);
    assert_true(recv(sv[0], buf, sizeof(buf), 0) > 0);
    (void)close(sv[0]);
    rest_wait(rest, 0);
    rest = rest_free(rest);
}

/* Every handler, with a controller that is not there. */
static void test_no_daemon(void **state)
{
    static const char *const plugins[] = { "slurm/v0.0.45", "slurmdb/v0.0.45", "util/v0.0.45",
                                           "penstock/v1" };
    struct rest *rest = start(restrows, true, false);

    for (size_t t = 0; restrows[t]; t++)
        for (const struct rest_row *row = restrows[t]; row->method; row++) {
            char text[512], path[128];
            const char *word = strstr(row->path, "{}"), *got;

            (void)snprintf(path, sizeof(path), "%.*s%s%s", (int)strcspn(row->path, "{"), row->path,
                           word ? "1" : "", word ? word + 2 : "");
            if (strcmp(row->method, "GET") != 0)
                continue;
            (void)snprintf(text, sizeof(text),
                           "GET /%s/%s HTTP/1.1\r\nHost: x\r\nX-SLURM-USER-TOKEN: "
                           "eyJhIjoxfQ.eyJhIjoxfQ.eyJhIjoxfQ\r\n\r\n",
                           plugins[row->plugin], path);
            got = ask(rest, text);
            has(got, "\"meta\"");
            if (!strstr(got, "\"pings\""))
                has(got, "\"error_number\"");
        }
    rest = rest_free(rest);
}

static void test_pump(void **state)
{
    char folder[] = "/tmp/penstock-test-XXXXXX", path[64];
    struct rest *rest = start(own_tables, true, false);
    struct err err = { .text = "" };
    int in, out;
    ssize_t n;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/f", folder);
    in = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(in, GET("error") GET("words/x"), strlen(GET("error") GET("words/x"))),
                     strlen(GET("error") GET("words/x")));
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    assert_int_equal(unlink(path), 0);
    out = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(restpump_run(rest, in, out, &err), 0);
    assert_int_equal(lseek(out, 0, SEEK_SET), 0);
    n = read(out, answer, sizeof(answer) - 1);
    assert_true(n > 0);
    answer[n] = '\0';
    has(answer, "HTTP/1.1 422 ");
    has(answer, "HTTP/1.1 200 ");
    (void)close(in);
    (void)close(out);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    rest = rest_free(rest);
}

/* ---- fields as words ------------------------------------------------------------------------- */

static char words[1024];

static int take_word(void *ctx, const char *word, struct err *err)
{
    size_t len = strlen(words);

    if (strstr(word, "refuse me"))
        return err_set(err, -EINVAL, "no");
    (void)snprintf(words + len, sizeof(words) - len, "%s;", word);
    return 0;
}

static void answer_keys(struct rest_call *call)
{
    static const struct restkey keys[] = {
        { "text", "Text", RESTKEY_TEXT },
        { "list", "List", RESTKEY_TEXT },
        { "deep.number", "N", RESTKEY_NUMBER },
        { "deep.endless", "E", RESTKEY_NUMBER },
        { "deep.unset", "U", RESTKEY_NUMBER },
        { "deep.said", "S", RESTKEY_NUMBER },
        { "at", "At", RESTKEY_TIME },
        { "when", "When", RESTKEY_TIME },
        { "tres", "TRES", RESTKEY_TRES },
        { "bind", NULL, RESTKEY_NONE },
        { 0 },
    };

    words[0] = '\0';
    json_bool(&call->js, "taken",
              restkeys_apply(call, call->body, keys, take_word, NULL, "here()"));
}

static void test_keys(void **state)
{
    static const struct rest_row rows[] = { { "POST", REST_SLURM, "keys", 0, answer_keys, false },
                                            { 0 } };
    static const struct rest_row *const tables[] = { rows, NULL };
    static const char body[] =
        "{\"text\":\"a State=DOWN\",\"list\":[\"x\",\"y\"],\"deep\":{\"number\":{\"set\":true,"
        "\"number\":7},\"endless\":\"INFINITE\",\"unset\":{\"set\":false,\"number\":3},\"said\":\"1:30\"},\"at\":99,"
        "\"when\":\"now+1hour\",\"bind\":3,\"tres\":[{\"type\":\"cpu\",\"count\":4},{\"type\":\"gres\","
        "\"name\":\"gpu\",\"count\":2}]}";
    struct rest *rest = start(tables, true, false);
    char text[2048];
    const char *got;

#define ASK(json)                                                                                  \
    (snprintf(text, sizeof(text),                                                                  \
              "POST /slurm/v0.0.45/keys" HEAD                                                      \
              "X-SLURM-USER-TOKEN: a\r\nContent-Length: %zu\r\n\r\n%s",                            \
              strlen(json), json) > 0                                                              \
         ? ask(rest, text)                                                                         \
         : NULL)
    got = ASK(body);
    has(got, "\"taken\": true");
    has(got, "bind is taken, and has no effect here");
    assert_string_equal(words, "Text=a State=DOWN;List=x,y;N=7;E=UNLIMITED;S=1:30;At=uts99;"
                               "When=now+1hour;TRES=cpu=4,gres/gpu=2;");
    got = ASK("{\"text\":\"refuse me\",\"list\":\"later\"}");
    has(got, "\"taken\": false");
    has(got, "\"description\": \"Unable to take text\"");
    has(got, "\"error\": \"no\"");
    assert_string_equal(words, "");
    rest = rest_free(rest);
}

/* ---- bodies against the schema --------------------------------------------------------------- */

static void answer_checked(struct rest_call *call)
{
    char *text = json_dumps(call->body, JSON_COMPACT);

    json_str(&call->js, "body", text);
    free(text);
}

static const char *ask_checked(struct rest *rest, const char *json)
{
    char text[2048];

    (void)snprintf(text, sizeof(text),
                   "POST /slurm/v0.0.45/job/submit" HEAD "X-SLURM-USER-TOKEN: a\r\nContent-Length: "
                   "%zu\r\n\r\n%s",
                   strlen(json), json);
    return ask(rest, text);
}

static void test_schema(void **state)
{
    static const struct rest_row rows[] = {
        { "POST", REST_SLURM, "job/submit", 0, answer_checked, false }, { 0 }
    };
    static const struct rest_row *const tables[] = { rows, NULL };
    static const struct {
        const char *body, *part;
    } cases[] = {
        { "{\"job\":{\"nosuchfield\":1,\"name\":\"x\"}}",
          "\"description\": \"Ignoring unknown field \\\"nosuchfield\\\" of type 64 bit integer in "
          "DATA_PARSER_JOB_DESC_MSG\",\n      \"source\": \"#\\/job\\/nosuchfield\\/\"" },
        { "{\"job\":{\"nosuchfield\":1,\"name\":\"x\"}}",
          "{\\\"job\\\":{\\\"name\\\":\\\"x\\\"}}" },
        { "{\"job\":{\"name\":5,\"comment\":true}}",
          "{\\\"name\\\":\\\"5\\\",\\\"comment\\\":\\\"true\\\"}" },
        { "{\"job\":{\"name\":[1]}}", "Expected string but got list" },
        { "{\"job\":{\"name\":[1]}}", "\"source\": \"#\\/job\\/name\\/\"" },
        { "{\"job\":[]}", "Expected dictionary but got list" },
        { "{\"job\":{\"tasks\":\"4\"}}", "HTTP/1.1 200 " },
        { "{\"job\":{\"tasks\":\"four\"}}", "HTTP/1.1 422 " },
        { "{\"job\":{\"tasks\":\"4\"}}", "{\\\"tasks\\\":4}" },
        { "{\"job\":{\"tasks\":\"nan\"}}", "Expected integer but got string" },
        { "{\"job\":{\"tasks\":\"0x10\"}}", "Expected integer but got string" },
        { "{\"job\":{\"tasks\":\"1.5\"}}", "Expected integer but got string" },
        { "{\"job\":{\"hold\":\"1\"}}", "{\\\"hold\\\":true}" },
        { "{\"job\":{\"hold\":\"No\"}}", "{\\\"hold\\\":false}" },
        { "{\"job\":{\"hold\":\"perhaps\"}}", "Expected boolean but got string" },
        { "{\"job\":{\"argv\":[\"a\",7]}}", "{\\\"argv\\\":[\\\"a\\\",\\\"7\\\"]}" },
        { "{\"job\":{\"tasks\":null}}", "HTTP/1.1 200 " },
        { "{\"job\":{\"hold\":1,\"requeue\":0}}", "{\\\"hold\\\":true,\\\"requeue\\\":false}" },
        { "{\"job\":{\"nice\":true,\"site_factor\":-7.9}}",
          "{\\\"nice\\\":1,\\\"site_factor\\\":-7}" },
        { "{\"job\":{\"nice\":1e19}}", "Expected integer but got floating point number" },
        { "{\"job\":{\"time_limit\":5}}", "HTTP/1.1 200 " },
        { "{\"job\":{\"time_limit\":\"INFINITE\"}}", "HTTP/1.1 200 " },
        { "{\"job\":{\"time_limit\":{\"set\":true,\"number\":5}}}", "HTTP/1.1 200 " },
        { "{\"job\":{\"time_limit\":{\"number\":[]}}}",
          "\"source\": \"#\\/job\\/time_limit\\/number\\/\"" },
        { "{\"job\":{\"time_limit\":[]}}", "HTTP/1.1 422 " },
        { "{\"job\":{\"environment\":[\"A=b\",{}]}}",
          "\"source\": \"#\\/job\\/environment\\/1\\/\"" },
        { "{\"job\":{\"required_nodes\":\"n1,n2\"}}", "HTTP/1.1 200 " },
        { "{\"job\":{\"open_mode\":[\"append\"]}}", "HTTP/1.1 200 " },
        { "{\"job\":{\"open_mode\":[\"nosuch\"]}}", "Unknown flag \\\"nosuch\\\"" },
        { "{\"job\":{\"shared\":[\"!\"]}}", "HTTP/1.1 422 " },
        { "{\"jobs\":[{\"name\":\"a\"},{\"x\":{}}]}",
          "of type dictionary in DATA_PARSER_JOB_DESC_MSG" },
        { "5", "Expected dictionary but got 64 bit integer" },
    };
    struct rest *rest = start(tables, true, false);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        has(ask_checked(rest, cases[i].body), cases[i].part);
    rest = rest_free(rest);
}

static void test_documents(void **state)
{
    struct rest *rest = start(restrows, true, false);
    const char *got = ask(rest, "GET /openapi/v3" HEAD "X-SLURM-USER-TOKEN: a\r\n\r\n");

    has(got, "HTTP/1.1 200 ");
    has(got, "\"openapi\": \"3.0.3\"");
    has(got, "\"\\/slurm\\/v0.0.42\\/jobs\\/\": {");
    has(ask(rest, "GET /openapi.yaml" HEAD "X-SLURM-USER-TOKEN: a\r\n\r\n"), "%YAML 1.1");
    has(ask(rest, "GET /openapi" HEAD "\r\n"), "HTTP/1.1 401 ");
    has(ask(rest, "GET /openapi/v4" HEAD "X-SLURM-USER-TOKEN: a\r\n\r\n"), "HTTP/1.1 404 ");
    rest = rest_free(rest);
}

static const char *post_batch(struct rest *rest, const char *header, const char *body)
{
    static char text[4096];

    (void)snprintf(text, sizeof(text),
                   "POST /penstock/v1/jobs/submit" HEAD "X-SLURM-USER-TOKEN: "
                   "eyJhIjoxfQ.eyJhIjoxfQ.eyJhIjoxfQ\r\nContent-Type: application/json\r\n"
                   "%sContent-Length: %zu\r\n\r\n%s",
                   header, strlen(body), body);
    return ask(rest, text);
}

/* Nobody to submit to: each job is told what has become of it. */
static void test_batch(void **state)
{
    static const char *const bad[] = { "{}", "{\"jobs\": []}", "{\"jobs\": 7}", "[]" };
    struct rest *rest = start(restrows, true, false);
    const char *got;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        got = post_batch(rest, "", bad[i]);
        has(got, "HTTP/1.1 422 ");
        has(got, "#\\/jobs: a list of 1 to 10000 jobs is expected");
    }
    has(post_batch(rest, "Idempotency-Key: \x01\r\n", "{\"jobs\": [{}]}"), "HTTP/1.1 4");
    got = post_batch(rest, "Idempotency-Key: k\r\n",
                     "{\"jobs\": [{\"script\": \"#!\"}, {\"tasks\": []}, {\"script\": 7}, {}]}");
    has(got, "HTTP/1.1 503 ");
    has(got, "\"description\": \"The job was not submitted\"");
    has(got, "\"source\": \"#\\/jobs\\/1\\/tasks\\/\"");
    has(got, "\"submitted\": 0,\n  \"failed\": 4,");
    rest = rest_free(rest);
}

static void test_cores(void **state)
{
    static const struct {
        const char *cpus;
        unsigned threads, cores;
        const char *mask;
    } cases[] = {
        { "0-3,8", 1, 12, "0x10F" },
        { "0-3,8", 2, 8, "0x13" },
        { "0,2,4", 2, 3, "0x7" },
        { "1", 2, 8, "0x01" },
        { "", 1, 4, "0x0" },
        { NULL, 2, 0, "0x" },
        { "0-1,2-3", 0, 4, "0xF" },
        { "6-7,12", 4, 4, "0xA" },
        { "0-99999999999", 1, 4, "0xF" },
        { "65", 1, 66, "0x20000000000000000" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strbuf sb = STRBUF_INIT;

        restresources_cores(&sb, cases[i].cpus, cases[i].threads, cases[i].cores);
        assert_string_equal(strbuf_str(&sb), cases[i].mask);
        strbuf_done(&sb);
    }
}

static void test_refused(void **state)
{
    assert_true(rest_link_refused(-EACCES));
    assert_false(rest_link_refused(-ECONNREFUSED));
}

/* A message of one byte, with fd unless it is negative. */
static void hand_over(int sock, int fd)
{
    char byte = 0;
    struct iovec iov = { &byte, 1 };
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { .space = { 0 } };
    struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (fd >= 0) {
        mh.msg_control = control.space;
        mh.msg_controllen = sizeof(control.space);
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
    }
    assert_int_equal(sendmsg(sock, &mh, MSG_NOSIGNAL), 1);
}

/* Connections from another process: each is answered, one that is none disturbs nobody, and the end
 * of the other process ends us behind the answers. */
static void test_handed_over(void **state)
{
    struct rest *rest = start(own_tables, true, false);
    struct err err = { .text = "" };
    int sv[2], caller[2], file[2];
    size_t len = 0;
    ssize_t n;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(resttake_run(rest, sv[0], &err), -EINVAL);
    (void)close(sv[0]);
    (void)close(sv[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, caller), 0);
    assert_int_equal(pipe2(file, O_CLOEXEC), 0);
    assert_true(send(caller[0], GET("words/x"), strlen(GET("words/x")), MSG_NOSIGNAL) > 0);
    assert_int_equal(shutdown(caller[0], SHUT_WR), 0);
    hand_over(sv[0], -1);
    hand_over(sv[0], file[0]); /* no socket */
    hand_over(sv[0], caller[1]);
    (void)close(caller[1]);
    (void)close(sv[0]);
    assert_int_equal(resttake_run(rest, sv[1], &err), 0);
    while ((n = recv(caller[0], answer + len, sizeof(answer) - 1 - len, 0)) > 0)
        len += (size_t)n;
    answer[len] = '\0';
    has(answer, "HTTP/1.1 200 OK\r\n");
    (void)close(caller[0]);
    (void)close(file[0]);
    (void)close(file[1]);
    (void)close(sv[1]);
    rest = rest_free(rest);
}

/* A wrong number is refused before any daemon is asked. */
static void test_output_bytes(void **state)
{
    static const char *const wrong[] = { "", "0", "-1", "65537", "1e3", "99999999999999999999" };
    struct rest_notes *notes = calloc(1, sizeof(*notes));

    assert_non_null(notes);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct rest_pair query = { (char *)"bytes", (char *)(uintptr_t)wrong[i] };
        struct rest_call call = {
            .notes = notes, .query = &query, .n_query = 1, .word = "1", .status = 200
        };

        rest_output_rows[0].answer(&call);
        assert_int_equal(call.status, 422);
        assert_int_equal(notes->n_errors, i + 1);
    }
    for (size_t i = 0; i < notes->n_errors; i++) {
        free(notes->errors[i].description);
        free(notes->errors[i].source);
    }
    free(notes);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_bytes), cmocka_unit_test(test_words),
        cmocka_unit_test(test_who_asks),     cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_errors),       cmocka_unit_test(test_long),
        cmocka_unit_test(test_gone),         cmocka_unit_test(test_no_daemon),
        cmocka_unit_test(test_pump),         cmocka_unit_test(test_keys),
        cmocka_unit_test(test_cores),        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_documents),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_batch),        cmocka_unit_test(test_handed_over),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
