/* test_restwords.c - words of the schema as those of commands, and what steps are told */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rest/rest_impl.h"
#include "rest/slurm/restjobsteps.h"
#include "rest/slurm/restwords.h"

static void check_mail(const char *body, const char *want)
{
    json_t *desc = json_loads(body, 0, NULL);
    struct strbuf sb = STRBUF_INIT;

    assert_non_null(desc);
    restwords_mail(desc, &sb);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
    json_decref(desc);
}

static void test_mail(void **state)
{
    (void)state;
    check_mail("{}", "");
    check_mail("{\"mail_type\": null}", "");
    check_mail("{\"mail_type\": []}", "");
    check_mail("{\"mail_type\": [\"END\", \"TIME=80%\", 5, \"INVALID_DEPENDENCY\"]}",
               "END,TIME_LIMIT_80,INVALID_DEPEND");
    check_mail("{\"mail_type\": \"END,TIME=100%,,x\"}", "END,TIME_LIMIT,,x");
}

static void test_has(void **state)
{
    json_t *list = json_pack("[s,i,s]", "a", 5, "b"), *text = json_string("a");

    (void)state;
    assert_true(restwords_has(list, "b"));
    assert_false(restwords_has(list, "c"));
    assert_true(restwords_has(text, "a"));
    assert_false(restwords_has(text, "b"));
    assert_false(restwords_has(NULL, "a"));
    json_decref(list);
    json_decref(text);
}

/* What a body adds to the environment "A=b"; NULL: it is refused.  Variables end with "|". */
static void check_steps(const char *body, const char *binding, const char *env)
{
    static struct rest rest;
    struct rest_call call = { .rest = &rest, .version = 45 };
    json_t *desc = json_loads(body, 0, NULL);
    struct strbuf text = STRBUF_INIT, vars = STRBUF_INIT;
    char shown[256];

    call.notes = calloc(1, sizeof(*call.notes)); /* restreply_done() frees it */
    assert_non_null(call.notes);
    assert_non_null(desc);
    strbuf_addn(&vars, "A=b", 4);
    assert_int_equal(restjobsteps_binding(&call, desc, "#/job", &text), binding != NULL);
    assert_int_equal(restjobsteps_add(&call, desc, "#/job", &vars), env != NULL);
    assert_int_equal(rest_has_error(&call), !binding || !env);
    if (binding)
        assert_string_equal(strbuf_str(&text), binding);
    assert_true(vars.len < sizeof(shown));
    memcpy(shown, strbuf_str(&vars), vars.len);
    for (size_t i = 0; i < vars.len; i++)
        shown[i] = (char)(shown[i] ? shown[i] : '|');
    shown[vars.len] = '\0';
    if (env)
        assert_string_equal(shown, env);
    restreply_done(&call);
    strbuf_done(&text);
    strbuf_done(&vars);
    json_decref(desc);
}

static void test_steps(void **state)
{
    (void)state;
    check_steps("{}", "", "A=b|");
    check_steps("{\"cpu_binding\": \"cores\"}", "cores", "A=b|");
    check_steps(
        "{\"cpu_binding_flags\": [\"CPU_BIND_MAP\", \"VERBOSE\"], \"cpu_binding\": \"0,1\"}",
        "verbose,map_cpu:0,1", "A=b|");
    check_steps("{\"cpu_binding_flags\": [\"CPU_BIND_MASK\"]}", NULL, "A=b|");
    check_steps("{\"cpu_binding\": \"x\"}", NULL, "A=b|");
    check_steps("{\"memory_binding_type\": [\"PREFER\", \"MASK\"], \"memory_binding\": \"0x1\"}",
                "", "A=b|SLURM_MEM_BIND=prefer,mask_mem:0x1|");
    check_steps("{\"memory_binding\": \"nonsense:\"}", "", NULL);
    check_steps("{\"reserve_ports\": 0}", "", "A=b|");
    check_steps("{\"reserve_ports\": 65535}", "", "A=b|SLURM_RESV_PORTS=65535|");
    check_steps("{\"reserve_ports\": 65536}", "", NULL);
    check_steps("{\"reserve_ports\": -1}", "", NULL);
}

static void check_seconds(const char *json, const char *want)
{
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    struct strbuf sb = { 0 };

    assert_non_null(value);
    restwords_seconds(value, &sb);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
    json_decref(value);
}

/* Options count a number on its own in minutes. */
static void test_seconds(void **state)
{
    (void)state;
    check_seconds("0", "0:00");
    check_seconds("90", "1:30");
    check_seconds("\"90\"", "1:30");
    check_seconds("{\"set\": true, \"number\": 3600}", "60:00");
    check_seconds("{\"set\": false, \"number\": 3600}", "");
    check_seconds("\"5:00\"", "5:00");
    check_seconds("null", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mail),
        cmocka_unit_test(test_has),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_seconds),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
