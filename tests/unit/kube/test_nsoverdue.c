/* test_nsoverdue.c - which workers have waited too long, and for what */
#include "kube_cr_util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkworkers.h"
#include "kube/nodeset/nsoverdue.h"

#define NOW_S INT64_C(1800000000) /* 2027-01-15T08:00:00Z */

struct seen {
    bool overdue;
    char text[NSOVERDUE_TEXT];
    int64_t wake_s;
};

/* One worker: its metadata and status, and its node in Slurm, as they are merged into it. */
static void look_at(const char *more, const char *record, int64_t deadline_s, struct seen *ret)
{
    _cleanup_json_ json_t *controller = read_cr("Controller", "c", "{}"),
                          *set = read_cr("NodeSet", "w", "{\"controllerRef\":{\"name\":\"c\"}}"),
                          *pods = json_array(), *slurm = json_object(), *deadlines = json_object();
    struct mkbase_facts f = {
        .group = &opgroups[0], .cr = set, .controller = controller, .find = find_object
    };
    struct nsview v = { .f = &f,
                        .pods = pods,
                        .slurm = slurm,
                        .deadlines = deadlines,
                        .patience_s = 600,
                        .now_us = NOW_S * 1000000 };
    json_t *pod = mkworkers_pod(&f, 0, NULL), *said = read_text(more);

    assert_non_null(pod);
    assert_int_equal(
        json_object_update(json_object_get(pod, "metadata"), json_object_get(said, "metadata")), 0);
    if (json_object_get(said, "node"))
        (void)json_object_set(json_object_get(pod, "spec"), "nodeName",
                              json_object_get(said, "node"));
    (void)json_object_set(pod, "status", json_object_get(said, "status"));
    (void)json_array_append_new(pods, pod);
    if (record)
        (void)json_object_set_new(slurm, mkworkers_slurm_name(pod), read_text(record));
    if (deadline_s)
        (void)json_object_set_new(deadlines, mkworkers_slurm_name(pod), json_integer(deadline_s));
    json_decref(said);
    *ret = (struct seen){ false };
    ret->overdue = nsoverdue_find(&v, ret->text, &ret->wake_s);
}

static const char running[] =
    "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T01:00:00Z\"},\"node\":\"k\",\"status\":{"
    "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
    "\"lastTransitionTime\":\"2027-01-15T02:00:00Z\"}]}}";

static void test_pods(void **state)
{
    static const struct {
        const char *pod, *text; /* "": it is not overdue */
        int64_t wake_s;
    } cases[] = {
        { running, "", 0 },
        { "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:49:59Z\"},\"status\":{"
          "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
          "\"message\":\"0/3 nodes are available\"}]}}",
          "Pod w-0 has no node since 2027-01-15T07:49:59Z: 0/3 nodes are available", 0 },
        { "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:55:00Z\"},\"status\":{"
          "\"phase\":\"Pending\"}}",
          "", 301 },
        { "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T07:00:00Z\"},\"node\":\"k\","
          "\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"waiting\":{"
          "\"reason\":\"ImagePullBackOff\"}}}]}}",
          "Pod w-0 has not started since 2027-01-15T07:00:00Z: ImagePullBackOff", 0 },
        { "{\"metadata\":{},\"node\":\"k\",\"status\":{\"phase\":\"Running\",\"conditions\":[{"
          "\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"2027-01-15T07:30:00Z\""
          "}]}}",
          "Pod w-0 is not ready since 2027-01-15T07:30:00Z", 0 },
        { "{\"metadata\":{\"deletionTimestamp\":\"2027-01-15T07:20:00Z\"},\"node\":\"k\","
          "\"status\":{\"phase\":\"Running\"}}",
          "Pod w-0 was to have ended since 2027-01-15T07:20:00Z: its node or a finalizer holds it",
          0 },
        /* a deletion that was sent and not told yet */
        { "{\"metadata\":{\"deletionTimestamp\":\"1970-01-01T00:00:00Z\"},\"node\":\"k\","
          "\"status\":{\"phase\":\"Running\"}}",
          "", 0 },
        { "{\"metadata\":{\"creationTimestamp\":\"2027-01-15T01:00:00Z\"},\"node\":\"k\","
          "\"status\":{\"phase\":\"Failed\"}}",
          "", 0 },
        { "{\"metadata\":{\"creationTimestamp\":\"yesterday\"},\"status\":{\"phase\":\"Pending\"}}",
          "", 0 },
        { "{\"metadata\":{\"creationTimestamp\":7},\"status\":[]}", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct seen s;

        look_at(cases[i].pod, NULL, 0, &s);
        assert_string_equal(s.text, cases[i].text);
        assert_int_equal(s.overdue, *cases[i].text != '\0');
        assert_int_equal(s.wake_s, cases[i].wake_s);
    }
}

/* A worker that is to go waits for its jobs, as long as they may run. */
static void test_drains(void **state)
{
    static const char drained[] =
        "{\"state\":[\"MIXED\",\"DRAIN\",\"DYNAMIC_NORM\"],\"reason\":\"slurm-operator: Pod (default/w-0) is "
        "pending termination for scale-in\",\"reason_changed_at\":{\"set\":true,\"number\":"
        "1799990000},\"comment\":\"\",\"features\":[\"w\"]}";
    static const char other[] =
        "{\"state\":[\"MIXED\",\"DRAIN\",\"DYNAMIC_NORM\"],\"reason\":\"disk\",\"reason_changed_at\":{\"set\":true,"
        "\"number\":1799990000},\"comment\":\"\",\"features\":[\"w\"]}";
    static const struct {
        const char *record;
        int64_t deadline_s, wake_s;
        bool overdue;
    } cases[] = {
        { drained, 0, 0, true },              /* no job is told, and it is not free */
        { drained, INT64_MAX, 0, false },     /* a job without a limit */
        { drained, NOW_S + 100, 701, false }, /* a job that may run */
        { drained, NOW_S - 599, 2, false },   /* it should have ended just now */
        { drained, NOW_S - 600, 0, true },    /* and has not */
        { other, NOW_S - 6000, 0, false },    /* an administrator's */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct seen s;

        look_at(running, cases[i].record, cases[i].deadline_s, &s);
        assert_int_equal(s.overdue, cases[i].overdue);
        assert_int_equal(s.wake_s, cases[i].wake_s);
        if (s.overdue)
            assert_non_null(strstr(s.text, "Pod w-0 is to go, and has jobs to end since 2027-01-"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pods),
        cmocka_unit_test(test_drains),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
