/* test_kubedoctor.c - what the doctor makes of answers, and how it tells */
#include "kube_util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/doctor/doctor.h"
#include "kube/doctor/doctorask.h"
#include "kube/doctor/doctorreport.h"
#include "kube/doctor/doctorrights.h"
#include "kube/doctor/podswait.h"

static void test_versions(void **state)
{
    static const struct {
        const char *text;
        bool read;
        int major, minor;
    } cases[] = {
        { "{\"major\":\"1\",\"minor\":\"33\"}", true, 1, 33 },
        { "{\"major\":\"1\",\"minor\":\"28+\"}", true, 1, 28 },
        { "{\"major\":1,\"minor\":28}", false, 0, 0 },
        { "{\"major\":\"1\",\"minor\":\"-3\"}", false, 0, 0 },
        { "{}", false, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *body = read_text(cases[i].text);
        int major, minor;

        assert_int_equal(doctor_read_version(body, &major, &minor), cases[i].read);
        assert_int_equal(major, cases[i].major);
        assert_int_equal(minor, cases[i].minor);
    }
    assert_int_equal(doctor_judge_clock(0), FINDING_OK);
    assert_int_equal(doctor_judge_clock(-5), FINDING_WARN);
    assert_int_equal(doctor_judge_clock(60), FINDING_FAIL);
}

static void test_objects(void **state)
{
    static const struct {
        const char *text;
        enum finding what;
        const char *said;
    } cases[] = {
        { "{}", FINDING_FAIL, "the operator has not looked at it: does one run?" },
        { "{\"metadata\":{\"generation\":2},\"status\":{\"observedGeneration\":1,\"conditions\":"
          "[{\"type\":\"Ready\",\"status\":\"True\",\"message\":\"m\"}]}}",
          FINDING_FAIL, "the operator has not looked at it: does one run?" },
        { "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"message\":"
          "\"fine\"}]}}",
          FINDING_OK, "fine" },
        { "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"message\":"
          "\"1 of 2\"}]}}",
          FINDING_WARN, "1 of 2" },
        { "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"message\":"
          "\"a\"},{\"type\":\"Degraded\",\"status\":\"True\",\"message\":\"broken\"}]}}",
          FINDING_FAIL, "broken" },
        { "{\"status\":{\"conditions\":7}}", FINDING_FAIL,
          "the operator has not looked at it: does one run?" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *object = read_text(cases[i].text);
        const char *text = NULL;

        assert_int_equal(doctor_judge_object(object, &text), cases[i].what);
        assert_string_equal(text, cases[i].said);
    }
}

static void test_report(void **state)
{
    struct doctorreport r;
    _cleanup_free_ char *lines = NULL, *json = NULL;
    _cleanup_json_ json_t *read = NULL;
    size_t size;
    FILE *out;

    (void)state;
    assert_int_equal(doctorreport_init(&r), 0);
    doctorreport_add(&r, FINDING_OK, "server", "a %d", 1);
    doctorreport_add(&r, FINDING_NOTE, "clock", "bell \a and \033[31m");
    assert_int_equal(doctorreport_status(&r), 0);
    doctorreport_add(&r, FINDING_FAIL, "rights", "%s", "no");
    doctorreport_add(&r, FINDING_OK, "server", "\377");
    assert_int_equal(doctorreport_status(&r), 1);
    out = open_memstream(&lines, &size);
    doctorreport_write(&r, false, out);
    (void)fclose(out);
    assert_string_equal(lines, "ok       server    a 1\n"
                               "note     clock     bell ? and ?[31m\n"
                               "failure  rights    no\n"
                               "ok       server    (a text that is no UTF-8)\n"
                               "2 ok, 1 notes, 0 warnings, 1 failures\n");
    out = open_memstream(&json, &size);
    doctorreport_write(&r, true, out);
    (void)fclose(out);
    read = read_text(json);
    assert_string_equal(kubejson_text(read, "result"), "failure");
    assert_int_equal(json_array_size(json_object_get(read, "checks")), 4);
    doctorreport_done(&r);
}

static void test_words(void **state)
{
    char word[64];

    (void)state;
    assert_true(doctorrights_word("a,b/c", 1, word));
    assert_string_equal(word, "b/c");
    assert_false(doctorrights_word("a,b", 2, word));
    for (size_t i = 0; i < doctorrights_count; i++)
        assert_true(doctorrights_word(doctorrights[i].verbs, 0, word));
}

/* Nobody listens: the first check says so, and no other is made. */
static void test_away(void **state)
{
    struct nobody n;
    struct doctorreport r;
    struct doctoranswer a;
    struct doctor d = { .report = &r, .operator_namespace = "o", .account = "o" };

    (void)state;
    assert_int_equal(doctorreport_init(&r), 0);
    nobody_begin(&n);
    d.ask.loop = n.loop;
    d.ask.server = n.server;
    doctorask_path(&d.ask, "GET", "/x", NULL, &a);
    assert_int_equal(a.status, 0);
    assert_true(a.text[0]);
    doctoranswer_done(&a);
    doctor_run(&d);
    assert_int_equal(json_array_size(r.list), 1);
    assert_int_equal(doctorreport_status(&r), 1);
    nobody_end(&n);
    doctorreport_done(&r);
}

/* What is not known is not "nothing is there". */
static void test_waited_pods(void **state)
{
    static const struct {
        const char *text;
        int r;
        size_t there, coming;
    } cases[] = {
        { "{\"items\":[]}", 0, 0, 0 },
        { "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":null}", 0, 0, 0 },
        { "{\"items\":null}", -EINVAL, 0, 0 },
        { "{\"kind\":\"Status\"}", -EINVAL, 0, 0 },
        { "{\"items\":[{\"spec\":{\"nodeName\":\"n\"}},{\"spec\":{}}]}", 0, 1, 1 },
        { "{\"items\":[{\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Failed\"}}]}", 0, 0,
          0 },
        { "{\"items\":[{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
          "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}]}",
          0, 1, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_json_ json_t *list = read_text(cases[i].text);
        struct podswait_counts n = { 0 };

        assert_int_equal(podswait_count(list, &n), cases[i].r);
        assert_int_equal(n.there, cases[i].there);
        assert_int_equal(n.coming, cases[i].coming);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions), cmocka_unit_test(test_objects),
        cmocka_unit_test(test_report),   cmocka_unit_test(test_words),
        cmocka_unit_test(test_away),     cmocka_unit_test(test_waited_pods),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
