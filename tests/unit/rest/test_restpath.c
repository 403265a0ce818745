/* test_restpath.c - paths and query words of requests */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rest/restpath.h"
#include "rest/slurm/restplan.h"
#include "rest/slurm/restsignin.h"
#include "rest/restd/restrows.h"

static void answer(struct rest_call *call)
{
}

static const struct rest_row slurm[] = {
    { "GET", REST_SLURM, "jobs", 0, answer, false },
    { "GET", REST_SLURM, "jobs/state", 0, answer, false },
    { "DELETE", REST_SLURM, "jobs", 0, answer, false },
    { "GET", REST_SLURM, "job/submit", 0, answer, false },
    { "GET", REST_SLURM, "job/{}", 0, answer, false },
    { "GET", REST_SLURM, "job/{}/requeue", 45, answer, false },
    { 0 },
};
static const struct rest_row other[] = {
    { "GET", REST_UTIL, "jobs", 0, answer, false },
    { 0 },
};
static const struct rest_row ours[] = {
    { "POST", REST_PENSTOCK, "jobs/submit", 0, answer, false },
    { 0 },
};
static const struct rest_row *const rows[] = { slurm, other, ours, NULL };

static void check(const char *method, const char *path, const struct rest_row *row,
                  const char *word)
{
    struct rest_path p;

    assert_int_equal(restpath_find(rows, method, path, &p), row ? 0 : -ENOENT);
    if (!row)
        return;
    assert_ptr_equal(p.row, row);
    assert_int_equal(p.has_word, word != NULL);
    if (word)
        assert_string_equal(p.word, word);
}

static void test_find(void **state)
{
    check("GET", "/slurm/v0.0.45/jobs", &slurm[0], NULL);
    check("GET", "/slurm/v0.0.45/jobs/", &slurm[0], NULL);
    check("GET", "//slurm//v0.0.42//jobs", &slurm[0], NULL);
    check("DELETE", "/slurm/v0.0.45/jobs", &slurm[2], NULL);
    check("GET", "/slurm/v0.0.45/jobs/state", &slurm[1], NULL);
    check("GET", "/slurm/v0.0.45/job/submit", &slurm[3], NULL);
    check("GET", "/slurm/v0.0.45/job/7", &slurm[4], "7");
    check("GET", "/slurm/v0.0.45/job/7_%5b1-2%5D", &slurm[4], "7_[1-2]");
    check("GET", "/slurm/v0.0.45/job/a%2Fb", &slurm[4], "a/b");
    check("GET", "/slurm/v0.0.45/job/7/requeue", &slurm[5], "7");
    check("GET", "/util/v0.0.45/jobs", &other[0], NULL);
    check("POST", "/penstock/v1/jobs/submit", &ours[0], NULL);
}

static void test_not_there(void **state)
{
    check("PUT", "/slurm/v0.0.45/jobs", NULL, NULL);
    check("GET", "/slurm/v0.0.44/job/7/requeue", NULL, NULL); /* since 45 */
    check("GET", "/slurm/v0.0.41/jobs", NULL, NULL);
    check("GET", "/slurm/v0.0.46/jobs", NULL, NULL);
    check("GET", "/slurm/v0.0.4x/jobs", NULL, NULL);
    check("GET", "/slurm/v0.0.145/jobs", NULL, NULL);
    check("GET", "/Slurm/v0.0.45/jobs", NULL, NULL);
    check("GET", "/slurm/v0.0.45/job", NULL, NULL);
    check("GET", "/slurm/v0.0.45/job/7/8", NULL, NULL);
    check("GET", "/slurm/v0.0.45/job/7/requeue/x", NULL, NULL);
    check("GET", "/slurm/v0.0.45", NULL, NULL);
    check("POST", "/penstock/v0.0.45/jobs/submit", NULL, NULL);
    check("POST", "/penstock/v2/jobs/submit", NULL, NULL);
    check("POST", "/slurm/v1/jobs/submit", NULL, NULL);
    check("GET", "/", NULL, NULL);
    check("GET", "", NULL, NULL);
    check("GET", "/a/b/c/d/e/f/g/h", NULL, NULL);
}

static void test_bad_words(void **state)
{
    static const char *const bad[] = { "%", "%4", "%zz", "%00", "a%0" };
    char path[REST_WORD_MAX + 64] = "/slurm/v0.0.45/job/";
    struct rest_path p;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(path, sizeof(path), "/slurm/v0.0.45/job/%s", bad[i]);
        assert_int_equal(restpath_find(rows, "GET", path, &p), -EINVAL);
    }
    memset(path, 'x', sizeof(path) - 1);
    memcpy(path, "/slurm/v0.0.45/job/", 19);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(restpath_find(rows, "GET", path, &p), -EINVAL);
    path[19 + REST_WORD_MAX] = '\0';
    assert_int_equal(restpath_find(rows, "GET", path, &p), 0);
    assert_int_equal(strlen(p.word), REST_WORD_MAX);
}

static void test_query(void **state)
{
    char *text = NULL;

    assert_int_equal(restpath_unescape("a+b%2Bc%20d", 11, true, &text), 0);
    assert_string_equal(text, "a b+c d");
    free(text);
    assert_int_equal(restpath_unescape("a+b", 3, false, &text), 0);
    assert_string_equal(text, "a+b");
    free(text);
    assert_true(restpath_in_list("DETAIL,all", "ALL"));
    assert_true(restpath_in_list("ALL", "ALL"));
    assert_false(restpath_in_list("ALLES,X", "ALL"));
    assert_false(restpath_in_list("", "ALL"));
}

/* A word of the caller's never hides a path of words alone: that one stands first. */
static void test_rows_are_reached(void **state)
{
    static const char *const plugins[] = { "slurm/v0.0.45", "slurmdb/v0.0.45", "util/v0.0.45",
                                           "penstock/v1" };

    for (size_t t = 0; restrows[t]; t++)
        for (const struct rest_row *row = restrows[t]; row->method; row++) {
            char path[256], *word = NULL;
            struct rest_path p;

            assert_true(snprintf(path, sizeof(path), "/%s/%s", plugins[row->plugin], row->path) <
                        (int)sizeof(path));
            word = strstr(path, "{}");
            if (word)
                memcpy(word, "77", 2);
            assert_int_equal(restpath_find(restrows, row->method, path, &p), 0);
            assert_ptr_equal(p.row, row);
        }
}

/* Explain and plan have a word in the middle, and one that looks like it. */
static void test_plan_paths(void **state)
{
    struct rest_path p;

    assert_int_equal(restpath_find(restrows, "GET", "/penstock/v1/job/12_3/explain/", &p), 0);
    assert_ptr_equal(p.row, &rest_plan_rows[0]);
    assert_string_equal(p.word, "12_3");
    assert_int_equal(restpath_find(restrows, "POST", "/penstock/v1/job/plan", &p), 0);
    assert_ptr_equal(p.row, &rest_plan_rows[1]);
    assert_false(p.has_word);
    assert_int_equal(restpath_find(restrows, "POST", "/penstock/v1/job/7/explain", &p), -ENOENT);
    assert_int_equal(restpath_find(restrows, "GET", "/penstock/v1/job//explain", &p), -ENOENT);
    assert_int_equal(restpath_find(restrows, "GET", "/slurm/v0.0.45/job/7/explain", &p), -ENOENT);
}

/* Whoever has not said who he is may ask for one thing alone. */
static void test_open_rows(void **state)
{
    for (size_t i = 0; restrows[i]; i++)
        for (const struct rest_row *row = restrows[i]; row->method; row++)
            assert_int_equal(row->open, row == &rest_signin_rows[0]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),       cmocka_unit_test(test_open_rows),
        cmocka_unit_test(test_not_there),  cmocka_unit_test(test_bad_words),
        cmocka_unit_test(test_query),      cmocka_unit_test(test_rows_are_reached),
        cmocka_unit_test(test_plan_paths),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
