/* test_json_out.c - the JSON and YAML writer, and that the objects made with it parse */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/jsonout.h"
#include "cli/format/fmt_sinfo.h"
#include "cli/format/json_job.h"

static void write_sample(struct json *js, struct strbuf *sb, enum json_style style)
{
    json_begin(js, sb, style);
    json_str(js, "path", "/srv/\"x\"\n");
    json_list(js, "jobs");
    json_map(js, NULL);
    json_int(js, "id", 7);
    json_set(js, "limit", 5);
    json_list(js, "empty");
    json_list_end(js);
    json_one(js, "state", "RUNNING");
    json_map_end(js);
    json_list_end(js);
    json_bool(js, "ok", true);
    json_str(js, "none", NULL);
    json_end(js);
}

static void test_pretty(void **state)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    write_sample(&js, &sb, JSON_PRETTY);
    assert_string_equal(strbuf_str(&sb), "{\n"
                                         "  \"path\": \"\\/srv\\/\\\"x\\\"\\n\",\n"
                                         "  \"jobs\": [\n"
                                         "    {\n"
                                         "      \"id\": 7,\n"
                                         "      \"limit\": {\n"
                                         "        \"set\": true,\n"
                                         "        \"infinite\": false,\n"
                                         "        \"number\": 5\n"
                                         "      },\n"
                                         "      \"empty\": [\n"
                                         "      ],\n"
                                         "      \"state\": [\n"
                                         "        \"RUNNING\"\n"
                                         "      ]\n"
                                         "    }\n"
                                         "  ],\n"
                                         "  \"ok\": true,\n"
                                         "  \"none\": \"\"\n"
                                         "}\n");
}

static void test_compact(void **state)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    write_sample(&js, &sb, JSON_DENSE);
    assert_string_equal(
        strbuf_str(&sb),
        "{\"path\":\"\\/srv\\/\\\"x\\\"\\n\",\"jobs\":[{\"id\":7,\"limit\":{\"set\":true,"
        "\"infinite\":false,\"number\":5},\"empty\":[],\"state\":[\"RUNNING\"]}],\"ok\":true,"
        "\"none\":\"\"}\n");
}

static void test_reals(void **state)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    json_begin(&js, &sb, JSON_DENSE);
    json_double(&js, "recorded", 1.0 / 52);
    json_double(&js, "tiny", 1.0 / 4294967294.0);
    json_double(&js, "short", 7.999963);
    json_double(&js, "whole", 3);
    json_end(&js);
    assert_string_equal(strbuf_str(&sb),
                        "{\"recorded\":0.019230769230769232,\"tiny\":2.3283064376228985e-10,"
                        "\"short\":7.999963,\"whole\":3.0}\n");
}

static void test_yaml(void **state)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    write_sample(&js, &sb, JSON_YAML);
    assert_string_equal(strbuf_str(&sb), "%YAML 1.1\n"
                                         "--- !!map\n"
                                         "!!str path: !!str \"\\/srv\\/\\\"x\\\"\\n\"\n"
                                         "!!str jobs: !!seq\n"
                                         "- !!map\n"
                                         "  !!str id: !!int 7\n"
                                         "  !!str limit: !!map\n"
                                         "    !!str set: !!bool true\n"
                                         "    !!str infinite: !!bool false\n"
                                         "    !!str number: !!int 5\n"
                                         "  !!str empty: !!seq []\n"
                                         "  !!str state: !!seq\n"
                                         "  - !!str RUNNING\n"
                                         "!!str ok: !!bool true\n"
                                         "!!str none: !!str\n"
                                         "...\n");
}

static void test_complex(void **state)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    json_begin(&js, &sb, JSON_DENSE);
    js.plain_null = true;
    json_set(&js, "a", 5);
    json_unset(&js, "b");
    json_infinite(&js, "c");
    json_end(&js);
    assert_string_equal(strbuf_str(&sb), "{\"a\":5,\"b\":null,\"c\":\"Infinity\"}\n");
}

static void test_exit_codes(void **state)
{
    struct json js;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    json_begin(&js, &sb, JSON_DENSE);
    json_exit_code(&js, "a", 9);
    json_exit_code(&js, "b", 3 << 8);
    json_end(&js);
    assert_non_null(strstr(strbuf_str(&sb), "\"a\":{\"status\":[\"SIGNALED\"]"));
    assert_non_null(strstr(strbuf_str(&sb), "\"name\":\"KILL\""));
    assert_non_null(strstr(strbuf_str(&sb),
                           "\"b\":{\"status\":[\"ERROR\"],\"return_code\":{\"set\":true,"
                           "\"infinite\":false,\"number\":3}"));
}

/* Strings with every byte come out as valid JSON: no raw control character, quotes paired. */
static void test_every_byte(void **state)
{
    struct json js;
    char text[256];
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    for (int i = 1; i < 256; i++)
        text[i - 1] = (char)i;
    text[255] = '\0';
    json_begin(&js, &sb, JSON_DENSE);
    json_str(&js, text, text);
    json_end(&js);
    for (const char *p = strbuf_str(&sb); *p; p++)
        assert_true((unsigned char)*p >= 0x20 || p[1] == '\0');
}

static void test_options(void **state)
{
    struct json_option o;

    (void)state;
    assert_int_equal(json_option_parse(&o, false, NULL), 0);
    assert_true(o.wanted && !o.list);
    assert_int_equal(json_option_parse(&o, false, "list"), 0);
    assert_true(o.list);
    assert_int_equal(json_option_parse(&o, false, "v0.0.42"), 0);
    assert_int_equal(json_option_parse(&o, true, "v0.0.45+complex"), 0);
    assert_true(o.complex && o.yaml);
    assert_int_equal(json_option_parse(&o, false, "nosuch"), -EINVAL);
    assert_int_equal(json_option_parse(&o, false, "v0.0.450"), -EINVAL);
}

/* Records without anything in them make whole objects. */
static void test_empty_records(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    Pst__StepRecord s = PST__STEP_RECORD__INIT;
    Pst__NodeRecord n = PST__NODE_RECORD__INIT;
    Pst__PartitionRecord p = PST__PARTITION_RECORD__INIT;
    Pst__AcctJob a = PST__ACCT_JOB__INIT;
    Pst__StepRecord *steps[] = { &s };
    struct job_row job = { .job = &j };
    struct step_row step = { .step = &s };
    struct sinfo_row row;
    struct json js;
    int depth = 0;
    bool in_string = false;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    a.job = &j;
    a.steps = steps;
    a.n_steps = 1;
    p.name = (char *)"p";
    n.name = (char *)"n";
    sinfo_row_init(&row, &p, 0, NULL);
    json_begin(&js, &sb, JSON_DENSE);
    json_list(&js, "all");
    json_job(&js, &job);
    json_step(&js, &step);
    json_node(&js, &n, &(struct show_node_of){ .tres = "cpu=1" });
    json_partition(&js, NULL, &p, "", NULL);
    json_acct_job(&js, &a, 0, NULL, NULL);
    json_sinfo(&js, &row, "cpu=4");
    json_list_end(&js);
    json_end(&js);
    assert_false(sb.failed);
    for (const char *q = strbuf_str(&sb); *q; q++) {
        if (*q == '"' && q[-1] != '\\')
            in_string = !in_string;
        if (!in_string)
            depth += *q == '{' || *q == '[' ? 1 : *q == '}' || *q == ']' ? -1 : 0;
    }
    assert_int_equal(depth, 0);
    assert_null(strstr(strbuf_str(&sb), ",,"));
    assert_null(strstr(strbuf_str(&sb), "{,"));
}

static void put_two(struct json *js)
{
    for (int i = 0; i < 2; i++) {
        json_map(js, NULL);
        json_map(js, "a");
        json_str(js, "b", "in it");
        json_map_end(js);
        json_set(js, "b", 7);
        json_words(js, "c", "x,y");
        json_str(js, "d", "last");
        json_map_end(js);
    }
}

/* Members that were not chosen leave nothing, also as the last ones; what is inside one that was
 * chosen stays. */
static void test_choice(void **state)
{
    static const char *const chosen[] = { "a,c", "b,nosuch,d", "nosuch" };
    static const char *const want[] = {
        "{\"l\":[{\"a\":{\"b\":\"in it\"},\"c\":[\"x\",\"y\"]},"
        "{\"a\":{\"b\":\"in it\"},\"c\":[\"x\",\"y\"]}],\"z\":1}\n",
        "{\"l\":[{\"b\":{\"set\":true,\"infinite\":false,\"number\":7},\"d\":\"last\"},"
        "{\"b\":{\"set\":true,\"infinite\":false,\"number\":7},\"d\":\"last\"}],\"z\":1}\n",
        "{\"l\":[{},{}],\"z\":1}\n"
    };

    for (size_t i = 0; i < ARRAY_SIZE(chosen); i++) {
        struct strbuf sb = STRBUF_INIT;
        struct json js;
        size_t len = 0;

        json_begin(&js, &sb, JSON_DENSE);
        json_choose(&js, chosen[i]);
        json_list(&js, "l");
        put_two(&js);
        json_list_end(&js);
        if (i == 0)
            assert_null(json_choice_unmet(&js, 0, &len));
        else
            assert_memory_equal(json_choice_unmet(&js, 0, &len), "nosuch", 6);
        assert_null(json_choice_unmet(&js, 1, &len));
        json_choose(&js, NULL);
        json_int(&js, "z", 1);
        json_end(&js);
        assert_string_equal(strbuf_str(&sb), want[i]);
        strbuf_done(&sb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pretty),        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_reals),         cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_complex),       cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_every_byte),    cmocka_unit_test(test_options),
        cmocka_unit_test(test_empty_records), cmocka_unit_test(test_choice),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
